//! What run.json keeps of a check so that it can be made again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a check was made, and of which files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CheckRecord {
    /// Where it was made: paths start there.
    pub directory: PathBuf,
    /// What was typed after `landfall`.
    pub arguments: Vec<String>,
    /// What was to be checked and how, as the library takes it.
    #[serde(default)]
    pub request: serde_json::Value,
    /// A digest of every file that a finding names, by its name there.
    pub files: BTreeMap<String, String>,
    /// It has blocks of the persistent heap, whose places are the allocator's choice.
    #[serde(default = "perhaps")]
    pub allocates: bool,
}

/// Of a run.json that does not say.
fn perhaps() -> bool {
    true
}

/// FNV-1a of a file, to notice that it was edited.
pub fn digest(bytes: &[u8]) -> String {
    let mut digest = Digest::default();
    digest.add(bytes);
    digest.text()
}

/// FNV-1a: enough to notice a difference that nobody made on purpose.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// More of what it is a digest of.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Sixteen digits.
    pub fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_fnv_1a() {
        assert_eq!(digest(b""), "cbf29ce484222325");
        assert_eq!(digest(b"a"), "af63dc4c8601ec8c");
    }
}
