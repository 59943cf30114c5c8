//! Many schedules in one process tree take no more memory and no more descriptors than few. (A million: `benches/schedule_native.rs`.)

use crate::support::Scratch;
use landfall_explore::schedule::{Options, Search};
use landfall_native::compiler::{self, Language};
use landfall_native::{Job, Model, NativeThreads, Program, Server};
use std::path::Path;

const SCHEDULES: u64 = 20_000;

/// A process and those it started.
fn tree(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(path).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|n| n.parse().ok());
    std::iter::once(process)
        .chain(children.flat_map(tree))
        .collect()
}

/// Descriptors and resident kilobytes of processes.
fn usage(processes: &[u32]) -> (usize, u64) {
    let descriptors = processes
        .iter()
        .filter_map(|process| std::fs::read_dir(format!("/proc/{process}/fd")).ok())
        .map(Iterator::count);
    let resident = processes.iter().filter_map(|process| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    (descriptors.sum(), resident.sum())
}

#[test]
fn many_schedules_leave_nothing_behind() {
    let scratch = Scratch::new("schedule-scale");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schedules/fetch_add.c");
    let path = scratch.0.join("fetch_add");
    let arguments = [
        "-w".into(),
        "-O1".into(),
        source.into(),
        "-o".into(),
        path.clone().into(),
    ];
    let mut clang = compiler::command(Language::C, &arguments).expect("clang is installed");
    assert!(clang.command.status().expect("clang runs").success());
    let program = Program::new(&path).arguments(["8".to_owned()]);
    let mut server = Server::start(&program).expect("serves");
    let mut threads = NativeThreads::new(&mut server, Job::default(), 9, Model::Tso);
    threads.run_everything();
    let options = Options {
        executions: SCHEDULES,
        ..Options::default()
    };
    let mut search = Search::new(&threads, options).expect("few threads");
    let mut early = (0, 0);
    while search.next(&mut threads).expect("runs") {
        if search.counts.executions == SCHEDULES / 10 {
            let mut processes = tree(threads.server().process());
            processes.push(std::process::id());
            early = usage(&processes);
        }
    }
    assert_eq!(search.counts.executions, SCHEDULES);
    let (forks, restarts) = threads.server().runs();
    assert!(restarts >= SCHEDULES && forks < 100, "{forks} forks");
    let mut processes = tree(threads.server().process());
    processes.push(std::process::id());
    let late = usage(&processes);
    assert!(late.0 <= early.0, "descriptors: {early:?}, {late:?}");
    // What is written for the first time is resident from then on: slots of runs ahead, pages that few schedules touch.
    assert!(
        late.1 < early.1 + (32 << 10),
        "kilobytes: {early:?}, {late:?}"
    );
}
