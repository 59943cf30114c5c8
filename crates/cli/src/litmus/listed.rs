//! The list of `--expect`: which of its verdicts is about which test.

use landfall_litmus::verdicts::{self, Listed, ListedVerdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(super) struct ListedVerdicts {
    /// As the user calls it.
    name: String,
    listed: Vec<Listed>,
    /// By what a test is called, or by the last part of its file's path.
    index: BTreeMap<String, Vec<usize>>,
    /// Tests that it names, and those of them that it says something about.
    named: AtomicUsize,
    used: AtomicUsize,
}

impl ListedVerdicts {
    /// The error is a sentence that begins with the list's name.
    pub(super) fn read(path: &Path) -> Result<ListedVerdicts, String> {
        let name = path.display().to_string();
        let text = landfall::read_litmus(path).map_err(|why| format!("{name}: {why}"))?;
        let listed = verdicts::read(&text).map_err(|error| format!("{name}:{error}"))?;
        let mut index: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, line) in listed.iter().enumerate() {
            index.entry(last_part(&line.test)).or_default().push(at);
            if last_part(&line.test) != line.test {
                // A name with a slash in it, such as iwp2.3.a/amd4.
                index.entry(line.test.clone()).or_default().push(at);
            }
        }
        Ok(ListedVerdicts {
            name,
            listed,
            index,
            named: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
        })
    }

    /// What the list says of a test; none where it does not name it.
    pub(super) fn of(&self, file: &Path, test: &str) -> Result<Option<ListedVerdict>, String> {
        let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let keys = [
            whole
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            test.to_owned(),
        ];
        let about = |line: &&Listed| {
            line.test == test || whole.ends_with(line.test.trim_start_matches("./"))
        };
        let lines = keys.iter().filter_map(|key| self.index.get(key)).flatten();
        let mut lines = lines.map(|&at| &self.listed[at]).filter(about);
        let Some(first) = lines.next() else {
            return Ok(None);
        };
        self.named.fetch_add(1, Ordering::Relaxed);
        if let Some(other) = lines.find(|line| line.verdict != first.verdict) {
            return Err(format!(
                "{}:{} and line {} give it different verdicts",
                self.name, first.line, other.line
            ));
        }
        Ok(Some(first.verdict))
    }

    /// What it says of a test is what that is held against.
    pub(super) fn counts(&self) {
        self.used.fetch_add(1, Ordering::Relaxed);
    }

    /// How many of the tests it named; a sentence.
    pub(super) fn coverage(&self, tests: usize) -> String {
        let used = self.used.load(Ordering::Relaxed);
        let name = crate::screen::plain(&self.name);
        format!(
            "{name}: verdicts for {used} of {}.\n",
            super::table::tests(tests)
        )
    }

    /// Why a list that is about none of the tests is no list for them.
    pub(super) fn about_none(&self) -> Option<String> {
        let none = self.named.load(Ordering::Relaxed) == 0;
        none.then(|| {
            let name = &self.name;
            format!("{name}: no line of it names one of these tests, by its name or its file")
        })
    }
}

fn last_part(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}
