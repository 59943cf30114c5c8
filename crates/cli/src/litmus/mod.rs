//! `landfall litmus`: collect the files, judge each test, print what was found.

mod collect;
mod engine;
mod json;
mod judge;
mod listed;
mod progress;
mod report;
mod table;
mod workers;

use crate::args::{Format, LitmusArgs};
use crate::exit::Exit;
use crate::screen::{Screen, plain};
use listed::ListedVerdicts;
use report::{FileReport, Summary};
use std::fmt::Write;

pub(crate) fn run(args: &LitmusArgs) -> Exit {
    let screen = Screen::new(args.color);
    let found = collect::collect(&args.paths);
    let listed = match args.expect.as_deref().map(ListedVerdicts::read).transpose() {
        Ok(listed) => listed,
        Err(why) => {
            screen.err(&format!("error: {}\n", plain(&why)));
            return Exit::Usage;
        }
    };
    let judge = judge::LitmusJudge::new(args, listed.as_ref());
    let reports = workers::run(&found, args.jobs, |found| judge.report(found));
    let summary = Summary::of(&reports);
    let exit = summary.exit();
    let readable = summary.tests - summary.unreadable;
    if let Some(why) = listed.as_ref().and_then(ListedVerdicts::about_none)
        && readable > 0
    {
        screen.err(&complaints(&reports));
        screen.err(&format!("error: {}\n", plain(&why)));
        return Exit::Usage;
    }

    let (results, mut closing) = match args.format {
        Format::Json => (json::render(&reports, &summary), String::new()),
        // With nothing to tabulate the complaints say it all.
        Format::Human if summary.unreadable == summary.tests => Default::default(),
        Format::Human => table::render(&reports, &summary, args.verbose),
    };
    if let (Some(listed), Format::Human) = (&listed, args.format) {
        closing.insert_str(0, &listed.coverage(readable));
    }
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

/// Each file that could not be read or understood, as `file:line:column: why`.
fn complaints(reports: &[FileReport]) -> String {
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
