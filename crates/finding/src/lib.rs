//! What Landfall finds, as values: [`Run`] is what a check comes to (run.json), [`Finding`] is one thing that is wrong, and
//! [`Witness`] is all that is needed to see it happen again.
//!
//! There is one form of each. The search makes it, files hold it (serde), the terminal, the page, SARIF, JUnit, `--allow` and
//! `landfall fix` read it, and the JSON schema is generated from it. A new kind of finding is one line in [`kind`]; tests see to it that it
//! has a page and that the schema names it.

#![warn(missing_docs)]

mod allow;
mod finding;
mod kind;
mod limit;
mod place;
mod record;
mod run;
mod schedule;
pub mod text;
mod timeline;
mod witness;

pub use allow::Allowed;
pub use finding::{
    ACKNOWLEDGED, Action, Diff, Finding, Fix, Gap, GapKind, Member, Preemptions, ReadAlternative,
    ReadChoice, Store, StoreRole, ValueSource,
};
pub use kind::{Kind, RaceEffect, Severity};
pub use limit::Limit;
pub use place::Place;
pub use record::{CheckRecord, Digest, digest};
pub use run::{
    Assumption, AssumptionKind, Coverage, DrawnSchedules, Equivalence, Isolation, LineCoverage,
    OutcomePlace, RecoveryOutcome, Run, Sample, Scope, SearchSpace, Stats, StdinFile, Verdict,
};
pub use schedule::{Turn, TurnLine, TurnReason};
pub use timeline::{Lane, LaneVersion, Phase, Row, RowRead, Survival, Timeline};
pub use witness::{
    BuildCommand, ImageLine, OldLine, ProgramFile, RecordedClient, RecordedFailure, RecordedInput,
    RecordedMemory, RecordedOutcome, RecordedSignals, RecordedStop, RecordedThreads,
    RecordedTransactions, Witness, Word,
};

/// The JSON schema of run.json (draft 7), generated from [`Run`].
pub fn run_schema() -> String {
    let settings = schemars::generate::SchemaSettings::draft07().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Run>();
    let value = schema.to_value();
    format!("{value:#}\n")
}
