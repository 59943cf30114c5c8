//! `landfall litmus`: collect the files, judge each test, print what was found.

mod collect;
mod engine;
mod json;
mod judge;
mod progress;
mod report;
mod table;
mod workers;

use crate::args::{Format, LitmusArgs};
use crate::exit::Exit;
use crate::screen::{Screen, plain};
use report::{Report, Summary};
use std::fmt::Write;

pub(crate) fn run(args: &LitmusArgs) -> Exit {
    let screen = Screen::new(args.color);
    let found = collect::collect(&args.paths);
    let judge = judge::Judge::new(args);
    let reports = workers::run(&found, args.jobs, |found| judge.report(found));
    let summary = Summary::of(&reports);
    let exit = summary.exit();

    let (results, closing) = match args.format {
        Format::Json => (json::render(&reports, &summary), String::new()),
        // With nothing to tabulate the complaints say it all.
        Format::Human if summary.unreadable == summary.tests => Default::default(),
        Format::Human => table::render(&reports, &summary, args.verbose),
    };
    let printed = screen.out(&results).and_then(|()| {
        screen.err(&complaints(&reports));
        screen.out(&closing)
    });
    match printed {
        Ok(()) => exit,
        Err(error) => {
            screen.err(&format!("error: cannot print the results: {error}\n"));
            Exit::Internal
        }
    }
}

/// One test, or why there is none, as it follows the file's name: `:line:column: why`.
pub(crate) fn read(path: &std::path::Path) -> Result<landfall_litmus::program::Test, String> {
    let text = collect::read(path).map_err(|why| format!(": {why}"))?;
    engine::read(path, &text).map_err(|unreadable| match unreadable.at {
        Some((line, column)) => format!(":{line}:{column}: {}", unreadable.message),
        None => format!(": {}", unreadable.message),
    })
}

/// Each file that could not be read or understood, as `file:line:column: why`.
fn complaints(reports: &[Report]) -> String {
    let mut out = String::new();
    for report in reports {
        let file = plain(&report.file.to_string_lossy());
        if let Err(unreadable) = &report.found {
            let message = plain(&unreadable.message);
            let _ = match unreadable.at {
                Some((line, column)) => writeln!(out, "error: {file}:{line}:{column}: {message}"),
                None => writeln!(out, "error: {file}: {message}"),
            };
        }
    }
    out
}
