//! `cargo bench -p landfall-benches --bench check`: what trying every power failure costs.
//!
//! Executions are exact. Published numbers for the same shapes (PEERS.md): Jaaru needs 2N + 2 for the hash table and 3N + 2 for
//! the list, 34.9 s and 61.5 s at N = 1000, on another machine of this kind.

use landfall_benches::Table;
use landfall_explore::recovery::{Options, Searched, search};
use landfall_explore::subject::{Ended, Execution};
use landfall_explore::tree::Forest;
use landfall_model::image::Image;
use landfall_model::order::Platform;
use landfall_native::compiler::{self, Language};
use landfall_native::{Budget, Job, NativeSubject, Program, Server, translate};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    let directory = std::env::temp_dir().join(format!("landfall-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let result = tables(&directory);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn tables(directory: &Path) -> Fallible<()> {
    for (name, published) in [("crash_hash", 2), ("crash_list", 3)] {
        let mut table = Table::new(&["N", "executions", "published", "cuts", "seconds", "growth"]);
        let mut before: Option<f64> = None;
        for n in sizes() {
            let (runs, cuts, seconds) = check(directory, name, n)?;
            table.row(&[
                n.to_string(),
                runs.to_string(),
                (published * n + 2).to_string(),
                cuts.to_string(),
                format!("{seconds:.2}"),
                before.map_or(String::new(), |b| format!("{:.1}x", seconds / b)),
            ]);
            before = Some(seconds);
        }
        table.print(name);
    }
    Ok(())
}

/// `CHECK_SIZES=100,200` for others.
fn sizes() -> Vec<usize> {
    let asked = std::env::var("CHECK_SIZES").unwrap_or_else(|_| "625,1250,2500,5000,10000".into());
    asked.split(',').filter_map(|n| n.parse().ok()).collect()
}

fn check(directory: &Path, name: &str, n: usize) -> Fallible<(u64, usize, f64)> {
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
    let started = Instant::now();
    let mut server = Server::start(&Program::new(&binary))?;
    let first = server.run(&Job::default())?;
    let execution = Execution::new(translate(&first.events).0, Ended::Well);
    let log = execution.log(Platform::Adr);
    let mut subject = NativeSubject::new(&mut server, Job::default(), Budget::default());
    let mut found = Searched::default();
    let (mut tree, base) = (Forest::default(), Image::default());
    search(
        &mut subject,
        &mut tree,
        &base,
        &log,
        &Options::default(),
        &mut found,
    )?;
    if !subject.failed.is_empty() {
        return Err(format!("{name}: a recovery failed").into());
    }
    Ok((
        subject.runs + 1,
        found.cuts,
        started.elapsed().as_secs_f64(),
    ))
}
