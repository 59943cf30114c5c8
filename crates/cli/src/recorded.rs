//! What run.json keeps of a check so that it can be done again: the command, where it was typed, and the files its findings are
//! about.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recorded {
    pub(crate) directory: PathBuf,
    /// After `landfall`; paths start in `directory`.
    pub(crate) arguments: Vec<String>,
    /// A digest of every file that a finding names, by its name there.
    pub(crate) files: BTreeMap<String, String>,
    /// It has blocks of the persistent heap, whose places are the allocator's choice.
    #[serde(default = "perhaps")]
    pub(crate) allocates: bool,
}

/// Of a run.json that does not say.
fn perhaps() -> bool {
    true
}

impl Recorded {
    /// Of the command that is running now. None where it cannot be written down as text.
    pub(crate) fn now(findings: &[Value], allocates: bool) -> Option<Recorded> {
        let arguments = std::env::args_os().skip(1);
        let arguments = arguments.map(|a| a.into_string().ok());
        let mut files = BTreeMap::new();
        for finding in findings {
            collect(finding, &mut files);
        }
        Some(Recorded {
            directory: std::env::current_dir().ok()?,
            arguments: arguments.collect::<Option<_>>()?,
            files,
            allocates,
        })
    }
}

/// The command that is running now, as one would type it again.
pub(crate) fn command() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(&word));
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

/// Every `"file": …` below, with its digest.
pub(crate) fn collect(value: &Value, files: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(file)) = fields.get("file")
                && !files.contains_key(file)
                && let Ok(bytes) = std::fs::read(file)
            {
                files.insert(file.clone(), digest(&bytes));
            }
            fields.values().for_each(|v| collect(v, files));
        }
        Value::Array(values) => values.iter().for_each(|v| collect(v, files)),
        _ => {}
    }
}

/// FNV-1a: enough to notice an edit.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_fnv_1a() {
        assert_eq!(digest(b""), "cbf29ce484222325");
        assert_eq!(digest(b"a"), "af63dc4c8601ec8c");
    }

    #[test]
    fn files_are_found_wherever_a_finding_names_them() {
        let file = file!().rsplit('/').next().unwrap();
        let here = format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR"));
        let finding = serde_json::json!({"stores": [{"at": {"file": here, "line": 1}}, {"at": {"file": "no such file"}}]});
        let mut files = BTreeMap::new();
        collect(&finding, &mut files);
        assert_eq!(files.keys().collect::<Vec<_>>(), [&here]);
    }
}
