//! What a check came to: run.json.

use crate::{Finding, Limit, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `landfall check` writes into --out and prints with --format json. Later versions may add fields and rename none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Run {
    /// Who wrote it: `landfall`.
    #[serde(default)]
    pub tool: String,
    /// Of which version.
    #[serde(default)]
    pub version: String,
    /// What it comes to.
    pub verdict: Verdict,
    /// No limit ended the search.
    #[serde(default)]
    pub complete: bool,
    /// Why not everything was looked at.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// What is wrong, one for each cause.
    pub findings: Vec<Finding>,
    /// How much was done.
    #[serde(default)]
    pub stats: Stats,
    /// What was looked for, and within which bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What was tried every one of.
    #[serde(default)]
    pub space: SearchSpace,
    /// Findings that --allow covers.
    #[serde(default)]
    pub allowed: usize,
    /// Persistency races that are not listed: a worse finding is about the same store.
    #[serde(default)]
    pub hidden_races: u64,
    /// Plain stores of up to 8 bytes that recoveries read, and that another compiler could tear: this one made one instruction of
    /// each. They are findings where races are asked for by name.
    #[serde(default, skip_serializing_if = "is_none")]
    pub plain_stores: u64,
    /// A timer repeats, and so often at most it went off in each execution at a time of its own choosing.
    #[serde(default, skip_serializing_if = "is_none")]
    pub timer_signals: u64,
    /// Warnings that are all about the inside of a library, by its name. They are findings where checks are named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub in_libraries: BTreeMap<String, u64>,
    /// Findings of the run that `--baseline` names.
    #[serde(default, skip_serializing_if = "is_none")]
    pub known_before: u64,
    /// The option for which recoveries were not judged, though nobody asked for fewer checks.
    #[serde(default)]
    pub not_judged: Option<String>,
    /// What was taken to hold without a look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<Assumption>,
    /// Things worth knowing that are no findings.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// How the check was made, so that it can be made again; null where that is no text.
    #[serde(default)]
    pub check: Option<crate::record::CheckRecord>,
    /// What was typed, ready to be typed again.
    #[serde(default)]
    pub command: String,
    /// What happened in each line of the source.
    #[serde(default)]
    pub coverage: Coverage,
    /// The search over time.
    #[serde(default)]
    pub progress: Vec<Sample>,
    /// How distinct recoveries ended.
    #[serde(default)]
    pub outcomes: Vec<RecoveryOutcome>,
    /// What every execution read from its standard input, if there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<StdinFile>,
    /// Digests of the files that the report shows, by their names there.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

/// What a check comes to.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All was looked at, and nothing is wrong that counts.
    #[default]
    Clean,
    /// Nothing was found, and not all was looked at.
    Incomplete,
    /// Something is wrong.
    Findings,
}

impl Verdict {
    /// As in the file.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::Incomplete => "incomplete",
            Verdict::Findings => "findings",
        }
    }
}

/// What a check tries every one of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchSpace {
    /// Power failures of the one run there is.
    #[default]
    PowerFailures,
    /// Thread schedules.
    Schedules,
    /// Power failures of every thread schedule.
    PowerFailuresOfSchedules,
}

/// What was taken to hold without a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Assumption {
    /// Why.
    pub kind: AssumptionKind,
    /// In words.
    pub message: String,
    /// What it is about, if that has a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

/// Why something is taken to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AssumptionKind {
    /// The program trusts a function (`lf_trusted`).
    Trusted,
    /// A lock was replaced (`--replace`).
    Replaced,
    /// A record behind a checksum is accepted only as a whole (`lf_checksum_begin`).
    Checksum,
    /// The client of a server with threads acts at some moments only (`--client`).
    Client,
    /// Time goes on for a loop that looks at the clock as we let it.
    Time,
}

/// A file that was given to every execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StdinFile {
    /// A copy of it, beside this file.
    pub file: crate::Word,
    /// How long it is.
    pub bytes: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Distinct recoveries that ended in the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct RecoveryOutcome {
    /// `well`, or the kind of a finding.
    pub kind: String,
    /// In words.
    pub text: String,
    /// How many.
    pub behaviours: u64,
    /// By the last store before the power failed, the most frequent first.
    pub at: Vec<OutcomePlace>,
}

/// Distinct recoveries after power failures at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct OutcomePlace {
    /// The last store; none before the first.
    pub at: Option<Place>,
    /// How many.
    pub behaviours: u64,
}

/// What was looked for, and within which bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Scope {
    /// As `--checks` names them.
    pub checks: Vec<String>,
    /// Power failures that may follow one another.
    pub failures: u32,
    /// `adr` or `eadr`.
    pub platform: String,
}

/// How much was done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Stats {
    /// Thread schedules; one for a program with one thread.
    pub schedules: u64,
    /// What tells two schedules apart; null for a program with one thread.
    pub equivalence: Option<Equivalence>,
    /// How many schedules they stand for, where threads that are alike were explored up to renaming; null where none are. The largest number stands for any that is too large.
    pub symmetric: Option<u64>,
    /// Executions that an assumption ended; they are not among the schedules.
    pub assumed: u64,
    /// Executions that were left where a thread waits in a loop in vain: others show what follows. They are not among the schedules.
    pub in_vain: u64,
    /// Power failures of the first execution that were tried.
    pub cuts: u64,
    /// Executions, those before the power failure included.
    pub runs: u64,
    /// Distinct recoveries.
    pub behaviours: u64,
    /// Recoveries that were not run because what they had read tells of a mistake that many failing ones have shown (`--all`).
    pub skipped: u64,
    /// Events of all executions.
    pub events: u64,
    /// How long the search took, and what follows it.
    pub seconds: f64,
    /// To build the program, before the search began; null where it was built before.
    pub compile_seconds: Option<f64>,
    /// States that a search without a look at reads would try; a decimal number.
    pub eager_states: String,
    /// Where executions happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// What schedules drawn by ranks (`--draw pct`) promise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<DrawnSchedules>,
}

/// What schedules drawn by ranks promise: a mistake that takes `depth` steps in the right order was seen in each of them with a probability
/// of at least 1 / (processes * steps ^ (depth - 1)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DrawnSchedules {
    /// Steps that must come in the right order.
    pub depth: u32,
    /// Threads and their store buffers.
    pub processes: u32,
    /// Of the longest schedule.
    pub steps: u32,
    /// In all schedules together.
    pub probability: f64,
}

/// What tells two executions of threads apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Equivalence {
    /// In which order steps come that depend on each other.
    #[default]
    Orders,
    /// Which store each read returns.
    Reads,
    /// Which value each read returns.
    Values,
}

/// Where executions happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Isolation {
    /// In processes of their own.
    pub forks: u64,
    /// In place, one after the other.
    pub restarts: u64,
    /// Why those that could have happened in place happened in forks.
    pub fallback: Option<String>,
}

/// By file, by line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Coverage(pub BTreeMap<String, BTreeMap<u32, LineCoverage>>);

impl Coverage {
    /// Is nothing known?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What happened in a line of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct LineCoverage {
    /// To persistent memory.
    pub stores: u64,
    /// Flushes.
    pub flushes: u64,
    /// Fences.
    pub fences: u64,
    /// Power failures tried while what it stored was not safe.
    pub cuts: u64,
    /// Distinct values that recoveries found in what it stored.
    pub found: u64,
    /// First reads by recoveries.
    pub reads: u64,
    /// Distinct values those returned.
    pub values: u64,
}

/// The search at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Sample {
    /// Since it began.
    pub seconds: f64,
    /// Executions.
    pub runs: u64,
    /// Distinct recoveries.
    pub behaviours: u64,
    /// Size of the recovery tree.
    pub nodes: u64,
    /// Thread schedules.
    pub schedules: u64,
    /// Executions expected in all, then.
    pub estimate: Option<f64>,
}
