//! `--baseline RUN`: what an earlier check found already is known, and only what is new is reported.

use landfall_finding::{Finding, Run};
use std::collections::BTreeMap;
use std::path::Path;

/// Findings of an earlier run, by what stays the same while a program is worked on: files and functions, not lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline(BTreeMap<Vec<String>, usize>);

impl Baseline {
    /// Of a run.json.
    pub(crate) fn read(path: &Path) -> Result<Baseline, String> {
        let failed = |why: String| format!("--baseline {}: {why}", path.display());
        let text = std::fs::read(path).map_err(|e| failed(e.to_string()))?;
        let run: Run = serde_json::from_slice(&text)
            .map_err(|_| failed("not a run.json of landfall check".to_owned()))?;
        Ok(Baseline::of(&run.findings))
    }

    fn of(findings: &[Finding]) -> Baseline {
        let mut known = BTreeMap::new();
        for finding in findings {
            *known.entry(key(finding)).or_default() += 1;
        }
        Baseline(known)
    }

    /// Takes out what was known before, each as often as it was there; says how many those are.
    pub(crate) fn remove(&self, findings: &mut Vec<Finding>) -> u64 {
        let mut left = self.0.clone();
        let before = findings.len();
        findings.retain(|finding| match left.get_mut(&key(finding)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
        (before - findings.len()) as u64
    }
}

fn key(finding: &Finding) -> Vec<String> {
    let mut key = vec![finding.kind.to_string(), finding.message.clone()];
    let stores = finding.stores.iter().map(|store| store.at.as_ref());
    let places = [finding.at.as_ref(), finding.other.as_ref()];
    for place in places.into_iter().chain(stores) {
        key.push(place.map_or_else(String::new, |at| format!("{}\n{}", at.file, at.function)));
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use landfall_finding::{Kind, Place};

    fn finding(function: &str, line: u32) -> Finding {
        let mut finding = Finding::of_failure(Kind::Exit, "exited with 1", 1);
        finding.at = Some(Place {
            file: "a.c".to_owned(),
            function: function.to_owned(),
            line,
            ..Place::default()
        });
        finding
    }

    #[test]
    fn what_moved_is_known_and_one_more_is_new() {
        let baseline = Baseline::of(&[finding("f", 3)]);
        let mut found = vec![finding("f", 5), finding("f", 9), finding("g", 3)];
        assert_eq!(baseline.remove(&mut found), 1);
        let left: Vec<_> = found.iter().filter_map(|f| f.at.as_ref()).collect();
        let left: Vec<_> = left
            .iter()
            .map(|at| (at.function.as_str(), at.line))
            .collect();
        assert_eq!(left, [("f", 9), ("g", 3)]);
    }
}
