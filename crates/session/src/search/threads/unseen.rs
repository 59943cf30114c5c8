//! What threads did to each other that is no step of a schedule: a limit, with the place of each.

use crate::names::ProgramNames;
use crate::report::SearchReport;
use landfall_finding::Limit;
use landfall_native::{NativeThreads, Unseen, UnseenKind};

/// Places that are named; more are only counted.
const MOST: usize = 10;

/// `handed`: calls by which threads handed memory that others use to functions which nobody knows.
pub(crate) fn report(
    native: &NativeThreads<'_>,
    handed: &[u32],
    names: &ProgramNames,
    report: &mut SearchReport,
) {
    let mut told: Vec<String> = Vec::new();
    let handed = handed.iter().map(|&site| Unseen {
        what: UnseenKind::Handed,
        origin: native.origin(site),
    });
    for unseen in native.unseen().chain(handed) {
        report.limit(Limit::Unseen);
        let place = names.origin(unseen.origin);
        let place = place.map_or_else(String::new, |place| format!("{}: ", place.colons()));
        let function = names.function(unseen.origin).unwrap_or_default();
        let text = format!("{place}{}", sentence(unseen.what, function));
        if !told.contains(&text) {
            told.push(text);
        }
    }
    for text in told.iter().take(MOST) {
        report.warn(text);
    }
    if told.len() > MOST {
        report.warn(&format!("and {} more such places", told.len() - MOST));
    }
}

fn sentence(what: UnseenKind, function: &str) -> String {
    let call = match function {
        "system_call" => "a system call".to_owned(),
        name => format!("`{name}`"),
    };
    let (what, why) = match what {
        UnseenKind::Assembly => {
            return "this assembly is not taken apart: what it does to memory that threads share is no step of a schedule; use atomics of C or C++, or `lock`ed instructions".to_owned();
        }
        UnseenKind::Mapping => (
            " while several threads are alive",
            "others may still use that memory, and other orders were not tried; do it when they are joined",
        ),
        UnseenKind::Signal => (
            " while several threads are alive",
            "another thread might have got the signal, or later",
        ),
        UnseenKind::Timer => (
            "",
            "a timer that goes off while several threads are alive was not tried at every moment",
        ),
        UnseenKind::File => (
            "",
            "several threads use this file, pipe or socket, and other orders were not tried",
        ),
        UnseenKind::Library => (
            "",
            "several threads use what libc keeps for it, and other orders were not tried",
        ),
        UnseenKind::Handed => (
            "",
            "a function of a library is handed memory that another thread uses at the same time, and what it does there is not seen",
        ),
    };
    format!("{call}{what}: {why}")
}
