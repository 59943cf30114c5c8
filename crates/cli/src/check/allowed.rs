//! `--allow KIND[:FILE[:LINE]]`: findings that are known and not to be reported.

use super::finding::Finding;
use crate::names::Place;
use std::path::Path;
use std::str::FromStr;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Allowed {
    kind: String,
    file: Option<String>,
    line: Option<u32>,
}

/// INTERFACE.md's kinds.
pub(crate) const KINDS: [&str; 16] = [
    "assertion",
    "segfault",
    "abort",
    "exit",
    "hang",
    "deadlock",
    "robustness",
    "persistency-race",
    "data-race",
    "use-after-free",
    "double-free",
    "heap-overflow",
    "lock-misuse",
    "redundant-flush",
    "redundant-fence",
    "uncontrolled",
];

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowed, String> {
        let (kind, place) = match text.split_once(':') {
            Some((kind, place)) => (kind, Some(place)),
            None => (text, None),
        };
        if !KINDS.contains(&kind) {
            return Err(format!("no kind `{kind}`; there are: {}", KINDS.join(" ")));
        }
        let (file, line) = match place.and_then(|place| place.rsplit_once(':')) {
            Some((file, line)) => {
                let number = line.parse().map_err(|_| format!("no line `{line}`"))?;
                (Some(file.to_owned()), Some(number))
            }
            None => (place.map(str::to_owned), None),
        };
        Ok(Allowed {
            kind: kind.to_owned(),
            file,
            line,
        })
    }
}

impl Allowed {
    /// Whether a finding is of this kind and has to do with this place: where it fails or reads, a store of its story, either side
    /// of a race.
    pub(super) fn covers(&self, finding: &Finding) -> bool {
        let stores = (finding.lost.iter())
            .chain(&finding.also_lost)
            .chain(&finding.kept)
            .chain(&finding.racing);
        let mut places = (finding.at.iter())
            .chain(&finding.other)
            .chain(stores.filter_map(|s| s.at.as_ref()));
        let at = |place: &Place| {
            let file = self.file.as_deref();
            file.is_none_or(|file| Path::new(&place.file).ends_with(file))
                && self.line.is_none_or(|line| place.line == line)
        };
        finding.kind == self.kind && (self.file.is_none() || places.any(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_files_and_lines() {
        let exit: Allowed = "exit".parse().unwrap();
        assert_eq!((exit.file, exit.line), (None, None));
        let file: Allowed = "hang:src/a.c".parse().unwrap();
        assert_eq!(file.file.as_deref(), Some("src/a.c"));
        let line: Allowed = "hang:a.c:12".parse().unwrap();
        assert_eq!((line.file.as_deref(), line.line), (Some("a.c"), Some(12)));
        assert!("crash".parse::<Allowed>().is_err());
        assert!("hang:a.c:x".parse::<Allowed>().is_err());
    }
}
