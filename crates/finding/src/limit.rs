//! Why a search did not look at everything. A verdict with any of these is no proof; each has one name, in run.json and in
//! `limit: …`, and the names are promises.

use crate::kind::named;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

named! {
    /// Why not everything was looked at.
    Limit: "limit" {
        Time = "time": "the time allowed (--time)",
        Runs = "runs": "the number of executions allowed (--runs)",
        /// Ctrl-C, or SIGTERM.
        Interrupt = "interrupt": "Ctrl-C",
        Random = "random": "the number of random tries (--random)",
        CountEager = "count-eager": "--count-eager, which counts and runs nothing",
        /// Recoveries that have read what many failing ones had read.
        Again = "again": "recoveries that would show a finding again (--all)",
        /// An execution that computes for longer than it may, and could have gone on.
        Events = "events": "the number of events allowed in one execution (--events)",
        /// Code that is not instrumented ran for longer than it may.
        Processor = "processor": "the time that code without instrumentation may take in one execution",
        Nondet = "nondet": "the values tried where the program asks for any (--nondet)",
        Signals = "signals": "how often a timer that repeats goes off (--signals)",
        Spurious = "spurious": "the number of waits that were tried with a wake-up for no reason (--spurious)",
        Bound = "bound": "the number of preemptions allowed (--bound)",
        Sealed = "sealed": "functions in which threads are left alone (--within, --without)",
        Preempt = "preempt": "--preempt sync, though plain accesses race",
        RecoverSchedules = "recover-schedules": "recoveries with threads, each under one schedule (use --recover-schedules)",
        /// A schedule has more steps than are searched.
        Steps = "steps": "the number of steps in one schedule",
        Timeouts = "timeouts": "the number of timeouts of a thread in one execution",
        NonTemporal = "non-temporal": "the number of non-temporal stores that are told apart between two fences",
        /// Code that was not compiled with `landfall cc`.
        Foreign = "foreign": "code that was not compiled with `landfall cc`",
        /// What threads do to each other that is no step of a schedule.
        Unseen = "unseen": "what threads did to each other in ways that are no steps of a schedule",
        /// A recovery was too long for power failures in it.
        RecoveryEvents = "recovery-events": "recoveries too long for power failures in them",
        /// What recoveries read or flush was too much to judge.
        Judging = "judging": "recoveries that read or flush too much to be judged",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_one_name() {
        for &limit in Limit::ALL {
            assert_eq!(Limit::named(limit.name()), Some(limit));
        }
        assert_eq!(Limit::named("interrupted"), None);
    }

    #[test]
    fn each_is_explained() {
        let page = include_str!("../../../docs/formats.md");
        for limit in Limit::ALL {
            let row = format!("| `{}` |", limit.name());
            assert!(page.contains(&row), "docs/formats.md has no row {row}");
        }
    }
}
