//! A finding as rows and cache lines, for the page: the one view of an execution that is not the finding itself.

use crate::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One failing execution, in the order it happened, around what matters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Timeline {
    /// Names of the columns.
    pub threads: Vec<String>,
    /// In the order it happened.
    pub rows: Vec<Row>,
    /// The cache lines that matter.
    pub lanes: Vec<Lane>,
}

/// A part of the story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the power failed.
    #[default]
    Before,
    /// The power failure itself: a line across.
    Failure,
    /// After it.
    Recovery,
    /// Events left out, `text` says how many.
    Omitted,
}

/// One thing that happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Row {
    /// In which part of the story.
    pub phase: Phase,
    /// Index into the timeline's threads.
    pub thread: u32,
    /// `store`, `flush`, `fence`, `read`, `switch`, `outcome` …
    pub kind: String,
    /// The rest of the sentence.
    pub text: String,
    /// Where in the source.
    pub at: Option<Place>,
    /// Why this thread runs now: lock, race on `x`, commit of `y`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// `lost`, `kept` or `failed`: what the finding says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Index into the timeline's lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// Of a read, where its value comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<RowRead>,
}

/// What a read returned, and what it could have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct RowRead {
    /// Rows of the stores it read from.
    pub from: Vec<u32>,
    /// Values it could have returned instead, with their stores.
    pub others: Vec<String>,
}

/// A cache line's story.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Lane {
    /// Where it lies.
    pub name: String,
    /// From old to new.
    pub versions: Vec<LaneVersion>,
}

/// What a line held after one store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct LaneVersion {
    /// The rest of the sentence.
    pub text: String,
    /// What became of it.
    pub state: Survival,
    /// The row of the store that made it; none for the content at the start.
    pub row: Option<u32>,
}

/// What became of a version of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Survival {
    /// Older than what was written back for certain: no power failure could leave it.
    Overwritten,
    /// Could have survived, did not.
    #[default]
    Possible,
    /// What the recovery found.
    Survived,
    /// Newer than what survived.
    Lost,
}
