//! What a check leaves on disk: run.json, report.html, and SARIF and JUnit where they are asked for.

use crate::error::Error;
use crate::fix::Suggestions;
use crate::options::Asked;
use landfall_finding::{CheckRecord, Diff, Finding, Run, digest};
use landfall_native::Deadline;
use landfall_report::Sources;
use std::collections::BTreeMap;
use std::path::Path;

/// Findings that get a patch suggested: reading sources takes time.
const MOST_SUGGESTED: usize = 100;

/// Stores that a suggested patch may be about: each is looked for in its file.
const MOST_STORES: usize = 20;

/// Patches that nobody has tried yet, one for each finding that a patch could help.
pub(crate) fn suggest(findings: &mut [Finding], record: Option<&CheckRecord>, until: Deadline) {
    let Some(record) = record else { return };
    if findings.is_empty() || until.reached().is_some() {
        return;
    }
    let Ok(suggestions) = Suggestions::open(record) else {
        return;
    };
    for finding in findings.iter_mut().take(MOST_SUGGESTED) {
        if until.reached().is_some() {
            return;
        }
        if finding.stores.len() > MOST_STORES {
            continue;
        }
        if let Some((what, text)) = suggestions.first(finding) {
            let title = format!("{what} (not tried: `landfall fix` builds and checks it)");
            finding.diffs = vec![Diff { title, text }];
        }
    }
}

/// A digest of every source file that the report shows, by its name there.
pub(crate) fn sources_of(run: &Run, options: &Asked) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for finding in &run.findings {
        crate::record::collect(finding, options, &mut files);
    }
    for file in run.coverage.0.keys() {
        if let Ok(bytes) = std::fs::read(options.located(Path::new(file))) {
            files.insert(file.clone(), digest(&bytes));
        }
    }
    files
}

/// A run as text, its fields in alphabetical order.
pub fn json(run: &Run) -> String {
    // A value of these types is always an object with texts as keys.
    let value = serde_json::to_value(run).unwrap_or_default();
    format!("{value:#}\n")
}

/// Writes the files of a check.
pub(crate) fn save(run: &Run, options: &Asked) -> Result<(), Error> {
    listed(&options.out, "run.json", &json(run))?;
    let page = landfall_report::page(run, &texts(run, &options.located(Path::new(""))).found);
    listed(&options.out, "report.html", &page)?;
    if let Some(path) = &options.sarif {
        write(&options.located(path), &landfall_report::sarif(run))?;
    }
    if let Some(path) = &options.junit {
        write(&options.located(path), &landfall_report::junit(run))?;
    }
    Ok(())
}

fn listed(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let failed = |why| format!("{}: {why}", folder.join(name).display());
    crate::results::write_listed(folder, name, text.as_bytes())
        .map_err(|why| Error::usage(failed(why)))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    crate::results::write(path, text.as_bytes())
        .map_err(|why| Error::usage(format!("{}: {why}", path.display())))
}

/// Source files as they were when the program was checked.
#[derive(Debug, Default)]
pub struct Texts {
    /// By their names in the run.
    pub found: Sources,
    /// Those that are not what they were.
    pub changed: Vec<String>,
}

/// The source files that a run is about; their names start in `directory`.
pub fn texts(run: &Run, directory: &Path) -> Texts {
    let mut texts = Texts::default();
    for (file, known) in &run.sources {
        match std::fs::read(directory.join(file)) {
            Ok(bytes) if *known == digest(&bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                texts.found.insert(file.clone(), text);
            }
            _ => texts.changed.push(file.clone()),
        }
    }
    texts
}
