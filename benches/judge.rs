//! `cargo bench -p landfall-benches --bench judge`: what the checkers add to the crash search, measured in one run.
//!
//! The issue allows 1.3 times the search alone. The checkers run nothing: both columns have the same executions.

use landfall_benches::Table;
use landfall_check::checker::Fate;
use landfall_check::walk::Limits;
use landfall_check::{Checker, Races, Robustness, Wasted};
use landfall_explore::judge::Judge;
use landfall_explore::recovery::{Options, Searched, search, search_watched};
use landfall_explore::subject::{Ended, Execution};
use landfall_explore::tree::Forest;
use landfall_model::image::Image;
use landfall_model::order::Platform;
use landfall_native::compiler::{self, Language};
use landfall_native::{
    Atomics, Budget, Job, NativeSubject, Places, Program, Server, Watching, translate,
};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    let directory = std::env::temp_dir().join(format!("landfall-judge-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let result = tables(&directory);
    std::fs::remove_dir_all(&directory)?;
    result
}

/// `CHECK_SIZES=100,200` for others.
fn sizes() -> Vec<usize> {
    let asked = std::env::var("CHECK_SIZES").unwrap_or_else(|_| "500,1000,2000,4000".into());
    asked.split(',').filter_map(|n| n.parse().ok()).collect()
}

fn tables(directory: &Path) -> Fallible<()> {
    for name in ["crash_hash", "crash_list"] {
        let mut table = Table::new(&["N", "executions", "search", "judged", "ratio", "findings"]);
        for n in sizes() {
            let binary = build(directory, name, n)?;
            let (mut alone, mut judged) = (f64::MAX, f64::MAX);
            let (mut runs, mut findings) = (0, 0);
            // The best of three each, taken in turn: the machine may be busy.
            for _ in 0..3 {
                let (seconds, executions, _) = check(&binary, false)?;
                alone = alone.min(seconds);
                let (seconds, same, found) = check(&binary, true)?;
                judged = judged.min(seconds);
                if executions != same {
                    return Err("the checkers ran something".into());
                }
                (runs, findings) = (executions, found);
            }
            table.row(&[
                n.to_string(),
                runs.to_string(),
                format!("{alone:.3}"),
                format!("{judged:.3}"),
                format!("{:.2}x", judged / alone),
                findings.to_string(),
            ]);
        }
        table.print(name);
    }
    Ok(())
}

fn build(directory: &Path, name: &str, n: usize) -> Fallible<std::path::PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.c"));
    let binary = directory.join(name);
    let arguments = [
        "-O2".into(),
        format!("-DN={n}").into(),
        source.into(),
        "-o".into(),
        binary.clone().into(),
    ];
    let mut clang = compiler::command(Language::C, &arguments)?.command;
    if !clang.status()?.success() {
        return Err(format!("{name}.c does not build").into());
    }
    Ok(binary)
}

/// Seconds, executions, findings.
fn check(binary: &Path, judged: bool) -> Fallible<(f64, u64, usize)> {
    let mut server = Server::start(&Program::new(binary))?;
    let started = Instant::now();
    let first = server.run(&Job::default())?;
    let log = Execution::new(translate(&first.events), Ended::Well).log(Platform::Adr);
    let mut subject = NativeSubject::new(&mut server, Job::default(), Budget::default());
    let (mut forest, mut found) = (Forest::default(), Searched::default());
    let (base, options) = (Image::default(), Options::default());
    let mut findings = 0;
    if judged {
        let mut places = Places::default();
        let ready =
            landfall_native::judge(&first.events, Atomics::Atomic, Platform::Adr, &mut places);
        let mut wasted = Wasted::default();
        wasted.logged(ready.events(), Fate::MayCrash);
        subject.watching = Some(Watching {
            places,
            wasted: Some(wasted),
            atomics: Atomics::Atomic,
            platform: Platform::Adr,
        });
        let checkers: Vec<Box<dyn Checker>> =
            vec![Box::<Robustness>::default(), Box::<Races>::default()];
        let limits = Limits::default();
        let mut judge = Judge::new(base.clone(), ready, checkers, limits);
        search_watched(
            &mut subject,
            &mut forest,
            &base,
            &log,
            &options,
            &mut judge,
            &mut found,
        )?;
        let (mut checkers, walked) = judge.finish(&forest);
        if !walked.is_complete() {
            return Err("not everything was judged".into());
        }
        let watching = subject.watching.take();
        if let Some(mut wasted) = watching.and_then(|watching| watching.wasted) {
            wasted.search_complete();
            checkers.push(Box::new(wasted));
        }
        findings = checkers.iter().map(|c| c.findings().len()).sum();
    } else {
        search(&mut subject, &mut forest, &base, &log, &options, &mut found)?;
    }
    Ok((started.elapsed().as_secs_f64(), subject.runs + 1, findings))
}
