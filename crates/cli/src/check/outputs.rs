//! What a check leaves on disk: run.json, report.html, and SARIF and JUnit where they are asked for.

use super::Refusal;
use super::options::Check;
use crate::exit::Exit;
use crate::recorded::Recorded;
use landfall_native::Deadline;
use landfall_report::{Run, Sources};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Findings that get a patch suggested: reading sources takes time.
const MOST_SUGGESTED: usize = 100;

/// Stores that a suggested patch may be about: each is looked for in its file.
const MOST_STORES: usize = 20;

/// Patches that nobody has tried yet, one for each finding that a patch could help.
pub(super) fn suggest(findings: &mut [Value], recorded: Option<&Recorded>, until: Deadline) {
    let Some(recorded) = recorded else { return };
    if findings.is_empty() || until.reached().is_some() {
        return;
    }
    let Ok(suggestions) = crate::fix::Suggestions::open(recorded) else {
        return;
    };
    for finding in findings.iter_mut().take(MOST_SUGGESTED) {
        if until.reached().is_some() {
            return;
        }
        let stores = finding["stores"].as_array().map_or(0, Vec::len);
        if stores > MOST_STORES {
            continue;
        }
        if let Some((what, text)) = suggestions.first(finding) {
            let title = format!("{what} (not tried: `landfall fix` builds and checks it)");
            finding["diffs"] = json!([{"title": title, "text": text}]);
        }
    }
}

/// A digest of every source file that the report shows, by its name there.
pub(super) fn sources_of(run: &Value) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    crate::recorded::collect(&run["findings"], &mut files);
    for file in run["coverage"]
        .as_object()
        .into_iter()
        .flat_map(|c| c.keys())
    {
        if let Ok(bytes) = std::fs::read(file) {
            files.insert(file.clone(), crate::recorded::digest(&bytes));
        }
    }
    files
}

/// Writes all of it, and returns the text of run.json.
pub(super) fn save(run: &Value, options: &Check) -> Result<String, Refusal> {
    let failed = |why| Refusal::new(Exit::Internal, format!("run.json: {why}"));
    let text = serde_json::to_string_pretty(run).map_err(failed)? + "\n";
    listed(&options.out, "run.json", &text)?;
    let read = Run::deserialize(run).map_err(failed)?;
    let page = landfall_report::page(&read, &texts(run, Path::new("")).found);
    listed(&options.out, "report.html", &page)?;
    if let Some(path) = &options.sarif {
        write(path, &landfall_report::sarif(&read))?;
    }
    if let Some(path) = &options.junit {
        write(path, &landfall_report::junit(&read))?;
    }
    Ok(text)
}

fn listed(folder: &Path, name: &str, text: &str) -> Result<(), Refusal> {
    let failed = |why| format!("{}: {why}", folder.join(name).display());
    crate::out::write_listed(folder, name, text.as_bytes())
        .map_err(|why| Refusal::new(Exit::Usage, failed(why)))
}

fn write(path: &Path, text: &str) -> Result<(), Refusal> {
    crate::out::write(path, text.as_bytes())
        .map_err(|why| Refusal::new(Exit::Usage, format!("{}: {why}", path.display())))
}

/// Source files as they were when the program was checked.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) found: Sources,
    /// Those that are not what they were.
    pub(crate) changed: Vec<String>,
}

/// Reads what `sources_of` recorded; names start in `directory`.
pub(crate) fn texts(run: &Value, directory: &Path) -> Texts {
    let mut texts = Texts::default();
    let recorded = run["sources"].as_object();
    for (file, known) in recorded.into_iter().flatten() {
        match std::fs::read(directory.join(file)) {
            Ok(bytes) if *known == crate::recorded::digest(&bytes).as_str() => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                texts.found.insert(file.clone(), text);
            }
            _ => texts.changed.push(file.clone()),
        }
    }
    texts
}
