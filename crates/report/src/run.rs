//! run.json as values (INTERFACE.md). Fields beyond the promised ones are optional: a report can be made from any run.json.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    pub tool: String,
    pub version: String,
    pub verdict: String,
    pub complete: bool,
    pub limits: Vec<String>,
    pub findings: Vec<Finding>,
    pub stats: Stats,
    /// What was looked for, and within which bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Things worth knowing that are no findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What was typed, ready to be typed again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    #[serde(skip_serializing_if = "Coverage::is_empty")]
    pub coverage: Coverage,
    /// The search over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<Sample>,
    /// How recoveries ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
}

/// Distinct recoveries that ended in the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// `well`, or the kind of a finding.
    pub kind: String,
    pub text: String,
    pub behaviours: u64,
    /// By the last store before the power failed.
    pub at: Vec<AtPlace>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AtPlace {
    pub at: Option<Place>,
    pub behaviours: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scope {
    /// As `--checks` names them.
    pub checks: Vec<String>,
    /// Power failures that may follow one another.
    pub failures: u32,
    /// `adr` or `eadr`.
    pub platform: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    pub schedules: u64,
    pub cuts: u64,
    pub runs: u64,
    pub behaviours: u64,
    pub events: u64,
    pub seconds: f64,
    pub eager_states: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<serde_json::Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub function: String,
}

impl Place {
    /// `file:line:column`, or without the column where none is known.
    pub fn colons(&self) -> String {
        match self.column {
            0 => format!("{}:{}", self.file, self.line),
            column => format!("{}:{}:{column}", self.file, self.line),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    pub id: String,
    pub kind: String,
    pub severity: String,
    pub message: String,
    pub at: Option<Place>,
    pub crash_at: Option<Place>,
    pub stores: Vec<Store>,
    pub fix: Vec<Fix>,
    pub executions: u64,
    pub witness: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// How the threads took turns, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Turn>,
    /// Fixes that were tried and made the check pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<Diff>,
    /// What the failing run printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Store {
    /// `lost` or `kept`.
    pub role: String,
    pub at: Option<Place>,
    pub bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fix {
    pub action: String,
    pub after: Option<Place>,
    pub before: Option<Place>,
    pub bytes: Option<u64>,
    /// Bytes between the two stores, where bringing them together would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<u64>,
    /// In which thread, where several ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
    pub primary: bool,
}

impl Fix {
    /// For people.
    pub fn sentence(&self) -> String {
        let bytes = match self.bytes {
            None | Some(0) => String::new(),
            Some(1) => " the byte stored".to_owned(),
            Some(n) => format!(" the {n} bytes stored"),
        };
        let mut text = match self.action.as_str() {
            "flush+fence" => format!("Flush and fence{bytes}"),
            "flush" => format!("Flush{bytes}"),
            "fence" => "Fence".to_owned(),
            "atomic" => format!("Store{} in one atomic access", bytes.replace(" stored", "")),
            "separate-store" => {
                "Copy and persist the rest first, then store what commits it by itself".to_owned()
            }
            "align" => "Align the two to 64 bytes, so that they share a cache line".to_owned(),
            "co-locate" => "Put the two on one cache line".to_owned(),
            "remove" => "Remove it".to_owned(),
            other => other.to_owned(),
        };
        if let Some(apart) = self.apart {
            text.push_str(&format!(" (they are {apart} bytes apart)"));
        }
        match self.thread {
            None => {}
            Some(0) => text.push_str(" in main"),
            Some(n) => text.push_str(&format!(" in thread {n}")),
        }
        let mut place = |word: &str, at: &Option<Place>| {
            if let Some(at) = at {
                text.push_str(&format!("{word} {}", at.colons()));
            }
        };
        match self.action.as_str() {
            "atomic" | "separate-store" | "remove" => place(", at", &self.after),
            _ => {
                place(" after", &self.after);
                place(", before", &self.before);
            }
        }
        match (self.primary, self.thread) {
            (true, _) => {}
            (false, Some(_)) => text.push_str(" (it has seen the store)"),
            (false, None) => text.push_str(" (another way)"),
        }
        text + "."
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Diff {
    pub title: String,
    pub text: String,
}

/// A thread runs until another one does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    pub thread: String,
    /// Why its turn began: `start`, `commit`, `wait`, `end`, `race`, `sync`, `preempted`.
    pub reason: String,
    /// What the reason is about.
    pub object: Option<String>,
    pub deeds: Vec<Deed>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Deed {
    /// `file:line`.
    pub at: Option<String>,
    pub text: String,
}

/// One failing execution, in the order it happened, around what matters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// Names of the columns.
    pub threads: Vec<String>,
    pub rows: Vec<Row>,
    pub lanes: Vec<Lane>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the power failed.
    #[default]
    Before,
    /// The power failure itself: a line across.
    Failure,
    Recovery,
    /// Events left out, `text` says how many.
    Omitted,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    pub phase: Phase,
    /// Index into the timeline's threads.
    pub thread: u32,
    /// `store`, `flush`, `fence`, `read`, `switch`, `outcome` …
    pub kind: String,
    pub text: String,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Read>,
}

/// What a read returned, and what it could have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Read {
    /// Rows of the stores it read from.
    pub from: Vec<u32>,
    /// Values it could have returned instead, with their stores.
    pub others: Vec<String>,
}

/// A cache line's story.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lane {
    pub name: String,
    pub versions: Vec<LaneVersion>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LaneVersion {
    pub text: String,
    pub state: Survival,
    /// The row of the store that made it; none for the content at the start.
    pub row: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// By file, by line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Coverage(pub BTreeMap<String, BTreeMap<u32, LineCoverage>>);

impl Coverage {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LineCoverage {
    pub stores: u64,
    pub flushes: u64,
    pub fences: u64,
    /// Power failures tried right before something of this line took effect.
    pub cuts: u64,
    /// Distinct values that recoveries found in what this line stored.
    pub found: u64,
    /// First reads of this line, by recoveries.
    pub reads: u64,
    /// Distinct values those returned.
    pub values: u64,
}

/// The search at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    pub seconds: f64,
    pub runs: u64,
    pub behaviours: u64,
    /// Nodes of the recovery tree.
    pub nodes: u64,
    /// Nodes of the schedule tree.
    pub schedules: u64,
    /// How many executions were expected in all, then.
    pub estimate: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixes_are_sentences() {
        let at = |line| {
            Some(Place {
                file: "a.c".into(),
                line,
                ..Place::default()
            })
        };
        let fix = |action: &str| Fix {
            action: action.into(),
            after: at(1),
            before: at(2),
            bytes: Some(8),
            primary: true,
            ..Fix::default()
        };
        let told = |action| fix(action).sentence();
        assert_eq!(
            told("flush+fence"),
            "Flush and fence the 8 bytes stored after a.c:1, before a.c:2."
        );
        assert_eq!(
            told("atomic"),
            "Store the 8 bytes in one atomic access, at a.c:1."
        );
        let elsewhere = Fix {
            thread: Some(1),
            primary: false,
            ..fix("flush+fence")
        };
        assert_eq!(
            elsewhere.sentence(),
            "Flush and fence the 8 bytes stored in thread 1 after a.c:1, before a.c:2 (it has seen the store)."
        );
        let near = Fix {
            action: "align".into(),
            apart: Some(56),
            ..Fix::default()
        };
        assert_eq!(
            near.sentence(),
            "Align the two to 64 bytes, so that they share a cache line (they are 56 bytes apart) (another way)."
        );
    }

    /// What INTERFACE.md promises, and no more, is enough.
    #[test]
    fn the_promised_object_is_read() {
        let text = r#"{ "tool": "landfall", "version": "1", "verdict": "findings", "complete": true, "limits": ["time"],
            "findings": [ { "id": "B1", "kind": "assertion", "severity": "error", "message": "m",
              "at": {"file": "queue.c", "line": 88, "column": 5, "function": "check"}, "crash_at": null,
              "stores": [ {"role": "lost", "at": null, "bytes": 8}, {"role": "kept", "at": null} ],
              "fix": [ {"action": "flush+fence", "after": null, "before": null, "bytes": 8, "primary": true} ],
              "executions": 12, "witness": "landfall-out/B1.json" } ],
            "stats": { "schedules": 1, "cuts": 9, "runs": 10, "behaviours": 10, "events": 123, "seconds": 0.41,
                       "eager_states": "5.4e15" } }"#;
        let run: Run = serde_json::from_str(text).unwrap();
        assert_eq!(
            run.findings[0].at.as_ref().unwrap().colons(),
            "queue.c:88:5"
        );
        assert_eq!(run.findings[0].stores[1].bytes, None);
        assert_eq!(run.stats.eager_states, "5.4e15");
        let again: Run = serde_json::from_str(&serde_json::to_string(&run).unwrap()).unwrap();
        assert_eq!(again, run);
    }
}
