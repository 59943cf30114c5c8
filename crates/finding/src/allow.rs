//! `--allow KIND[:FILE[:LINE]]`: findings that are known and not to be reported.

use crate::{Finding, Kind, Place};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Findings of one kind, everywhere or at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allowed {
    kind: Kind,
    file: Option<String>,
    line: Option<u32>,
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowed, String> {
        let (kind, place) = match text.split_once(':') {
            Some((kind, place)) => (kind, Some(place)),
            None => (text, None),
        };
        let kind = kind.parse()?;
        let (file, line) = match place.and_then(|place| place.rsplit_once(':')) {
            Some((file, line)) => {
                let number = line.parse().map_err(|_| format!("no line `{line}`"))?;
                (Some(file.to_owned()), Some(number))
            }
            None => (place.map(str::to_owned), None),
        };
        Ok(Allowed { kind, file, line })
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(file) = &self.file {
            write!(f, ":{file}")?;
        }
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

impl Serialize for Allowed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Allowed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Allowed, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Allowed {
    /// Whether a finding is of this kind and has to do with this place: where it fails or reads, a store of its story, either side
    /// of a race.
    pub fn covers(&self, finding: &Finding) -> bool {
        let mut places = (finding.at.iter())
            .chain(&finding.other)
            .chain(finding.stores.iter().filter_map(|store| store.at.as_ref()));
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
