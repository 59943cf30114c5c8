//! How threads took turns.

use crate::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A thread runs until another one does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Turn {
    /// By name.
    pub thread: String,
    /// Why its turn began.
    pub reason: TurnReason,
    /// What the reason is about.
    pub object: Option<String>,
    /// What it did.
    pub deeds: Vec<TurnLine>,
}

/// Why a thread got its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TurnReason {
    /// It is the first, or goes on.
    Start,
    /// Its buffered store reaches memory only now.
    Commit,
    /// The one before waits for the object.
    Wait,
    /// The one before ended.
    End,
    /// The one before could have gone on, with an access to the object.
    Race,
    /// The one before could have gone on, with the lock or the like.
    Sync,
    /// The one before could have gone on.
    Preempted,
}

/// Something a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TurnLine {
    /// `file:line`.
    pub at: Option<String>,
    /// The source line, or what was done in words.
    pub text: String,
    /// Who called, innermost first: the place itself, then its callers. Left out where nobody did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Place>,
    /// Here the program fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fails: bool,
}
