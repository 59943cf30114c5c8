//! What run.json keeps of a check so that it can be made again: what was asked for, where, and the files its findings are about.

use crate::options::{Options, Target};
use landfall_finding::{CheckRecord, Finding, Place, digest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// What was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CheckRequest {
    #[serde(flatten)]
    pub(crate) target: Target,
    pub(crate) options: Options,
}

/// How a check was made. None where that cannot be written down as text.
pub(crate) fn record(
    target: &Target,
    options: &Options,
    findings: &[Finding],
    allocates: bool,
) -> Option<CheckRecord> {
    let mut files = BTreeMap::new();
    for finding in findings {
        collect(finding, options, &mut files);
    }
    let request = CheckRequest {
        target: target.clone(),
        options: Options {
            arguments: Vec::new(),
            // Whoever makes the check again asks about one finding.
            baseline: None,
            ..options.clone()
        },
    };
    Some(CheckRecord {
        directory: options.here(),
        arguments: options.arguments.clone(),
        request: serde_json::to_value(request).ok()?,
        files,
        allocates,
    })
}

/// What was typed, as one would type it again.
pub(crate) fn command(arguments: &[String]) -> String {
    let words = arguments.iter().map(|word| quoted(OsStr::new(word)));
    std::iter::once("landfall".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Digests of the files that a finding names.
pub(crate) fn collect(finding: &Finding, options: &Options, files: &mut BTreeMap<String, String>) {
    let stores = finding.stores.iter();
    let of_stores = stores.flat_map(|store| store.at.iter().chain(&store.stack));
    let of_fixes = (finding.fix.iter()).flat_map(|fix| fix.after.iter().chain(&fix.before));
    let of_reads = finding.reads.iter().flat_map(|read| {
        let others = read
            .others
            .iter()
            .filter_map(|other| other.from.at.as_ref());
        read.at.iter().chain(&read.from.at).chain(others)
    });
    let rows = finding.timeline.iter().flat_map(|timeline| &timeline.rows);
    let places = (finding.at.iter())
        .chain(&finding.other)
        .chain(&finding.stack)
        .chain(&finding.crash_at)
        .chain(finding.gap.iter().filter_map(|gap| gap.flush.as_ref()))
        .chain(of_stores)
        .chain(of_fixes)
        .chain(of_reads)
        .chain(rows.filter_map(|row| row.at.as_ref()));
    for Place { file, .. } in places {
        if !files.contains_key(file)
            && let Ok(bytes) = std::fs::read(options.located(Path::new(file)))
        {
            files.insert(file.clone(), digest(&bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use landfall_finding::{Kind, Store, StoreRole};

    #[test]
    fn files_are_found_wherever_a_finding_names_them() {
        let here = format!("{}/src/record.rs", env!("CARGO_MANIFEST_DIR"));
        let store = |file: &str| Store {
            role: StoreRole::Lost,
            at: Some(Place {
                file: file.to_owned(),
                line: 1,
                ..Place::default()
            }),
            bytes: 8,
            address: String::new(),
            offset: 0,
            inside: false,
            stack: Vec::new(),
            member: None,
            thread: None,
        };
        let mut finding = Finding::of_failure(Kind::Exit, "exited with 1", 1);
        finding.stores = vec![store(&here), store("no such file")];
        let mut files = BTreeMap::new();
        collect(&finding, &Options::default(), &mut files);
        assert_eq!(files.keys().collect::<Vec<_>>(), [&here]);
    }

    #[test]
    fn what_was_asked_for_is_read_back() {
        let target = Target::sources(["a.c"]);
        let options = Options {
            failures: 2,
            heap_offset: 16,
            ..Options::default()
        };
        let record = record(&target, &options, &[], false).unwrap();
        let request: CheckRequest = serde_json::from_value(record.request).unwrap();
        assert_eq!(request.target, target);
        assert_eq!(
            (request.options.failures, request.options.heap_offset),
            (2, 16)
        );
    }

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        let words = ["check".to_owned(), "a b.c".to_owned(), "it's".to_owned()];
        assert_eq!(command(&words), r"landfall check 'a b.c' 'it'\''s'");
    }
}
