//! Code of libraries that is rewritten to call the runtime does what it did, and leaves the trace that traps leave.

use crate::support::Scratch;
use landfall_native::compiler::{self, Language};
use landfall_native::{
    Execution, Isolation, Job, Outcome, Program, Record, RecordKind, Server, first_difference,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program and its library, which one compiler or another has built.
fn built(scratch: &Scratch, library_compiler: &str, level: &str) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rewritten");
    let library = scratch.0.join("library.so");
    let status = Command::new(library_compiler)
        .args(["-shared", "-fPIC", "-w", "-g", level, "-o"])
        .args([&library, &sources.join("library.c")])
        .status();
    assert!(status.expect("there is a compiler").success());
    let program = scratch.0.join("program");
    let arguments: [OsString; 4] = [
        sources.join("main.c").into(),
        library.into(),
        "-o".into(),
        program.clone().into(),
    ];
    let mut command = compiler::command(Language::C, &arguments)
        .expect("clang is installed")
        .command;
    assert!(command.status().expect("it runs").success());
    program
}

fn server(program: &Path, isolation: Isolation, arguments: &[&str]) -> Server {
    let mut program = Program::new(program).arguments(arguments.iter().copied());
    program.isolation = isolation;
    Server::start(&program).expect("starts")
}

/// Runs of one server: the first is trapped everywhere, later ones hardly.
fn trapped_and_rewritten(server: &mut Server, job: &Job) -> (Execution, Execution) {
    let before = server.traps();
    let trapped = server.run(job).expect("runs");
    let of_first = server.traps() - before;
    server.run(job).expect("runs");
    let before = server.traps();
    let rewritten = server.run(job).expect("runs");
    let of_last = server.traps() - before;
    assert!(of_first > 100, "{of_first}");
    assert!(of_last * 10 < of_first, "{of_first} {of_last}");
    (trapped, rewritten)
}

#[test]
fn rewritten_code_leaves_the_trace_that_traps_leave() {
    for (compiler, level) in [
        ("cc", "-O1"),
        ("cc", "-O3"),
        ("clang-19", "-O0"),
        ("clang-19", "-O2"),
    ] {
        let scratch = Scratch::new("rewritten");
        let program = built(&scratch, compiler, level);
        let plain = Command::new(&program).output().expect("runs by itself");
        for isolation in [Isolation::Fork, Isolation::Restart] {
            let mut server = server(&program, isolation, &[]);
            for image in [
                &[][..],
                &[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2],
            ] {
                let mut job = Job::default();
                job.image.write(0, image);
                let (first, later) = match image {
                    [] => trapped_and_rewritten(&mut server, &job),
                    _ => {
                        let later = server.run(&job).expect("runs");
                        let mut fresh = self::server(&program, isolation, &[]);
                        (fresh.run(&job).expect("runs"), later)
                    }
                };
                let label = format!("{compiler} {level} {isolation:?} {image:?}");
                assert_eq!(first.outcome, Outcome::Exited { code: 0 }, "{label}");
                assert_eq!(first.stdout, later.stdout, "{label}");
                let differs = first_difference(&first.events, &later.events);
                assert_eq!(
                    first.events.len(),
                    later.events.len(),
                    "{label}: {differs:?}"
                );
                assert!(differs.is_none(), "{label}: {differs:?}");
                assert_eq!(first.foreign, later.foreign, "{label}");
                if image.is_empty() {
                    assert_eq!(first.stdout, plain.stdout, "{label}");
                }
            }
        }
    }
}

#[test]
fn fences_of_libraries_are_seen() {
    let scratch = Scratch::new("rewritten-fences");
    let program = built(&scratch, "cc", "-O1");
    let mut server = server(&program, Isolation::Restart, &[]);
    let execution = server.run(&Job::default()).expect("runs");
    let of = |kind: RecordKind| {
        let same = |record: &&Record| record.kind == kind;
        execution.events.iter().filter(same).count()
    };
    // One in each turn, and a locked instruction on memory of the library's own.
    assert_eq!(of(RecordKind::Sfence), 12);
    assert_eq!(of(RecordKind::Mfence), 12);
}

#[test]
fn a_fault_is_where_it_was() {
    let scratch = Scratch::new("rewritten-fault");
    let program = built(&scratch, "cc", "-O1");
    let mut server = server(&program, Isolation::Restart, &["fault"]);
    let first = server.run(&Job::default()).expect("runs");
    for _ in 0..2 {
        let later = server.run(&Job::default()).expect("runs");
        assert!(
            matches!(first.outcome, Outcome::Signal { .. }),
            "{:?}",
            first.outcome
        );
        assert_eq!(first.outcome, later.outcome);
        assert_eq!(first.stack, later.stack);
    }
}

#[test]
fn who_is_trapped_often_is_rewritten_before_the_run_ends() {
    let scratch = Scratch::new("rewritten-first");
    let program = built(&scratch, "cc", "-O2");
    for isolation in [Isolation::Fork, Isolation::Auto] {
        let job = Job::default();
        // Nothing is rewritten for runs that are handed over as they are.
        let mut trapped = server(&program, isolation, &["often"]);
        let (end, expected) = trapped.run_raw(&job, <[u8]>::to_vec).expect("runs");
        let mut first = server(&program, isolation, &["often"]);
        let execution = first.run(&job).expect("runs");
        let traps = first.traps();
        assert_eq!(
            (&execution.outcome, &end),
            (&end, &Outcome::Exited { code: 0 })
        );
        assert!(traps * 2 < trapped.traps(), "{traps} {}", trapped.traps());
        let (_, found) = first.run_raw(&job, <[u8]>::to_vec).expect("runs");
        assert!(found == expected, "{} {}", found.len(), expected.len());
    }
}
