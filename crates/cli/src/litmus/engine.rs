//! One test in the hands of the two definitions.

use super::report::Unreadable;
use landfall_litmus::axiomatic::{self, GraphLimit};
use landfall_litmus::operational::{self, ExploreOptions, Explored, StateLimit};
use landfall_litmus::program::{LitmusOutcome, Test};
use landfall_litmus::{Model, parse};
use std::collections::BTreeSet;
use std::path::Path;

/// Beyond this many execution graphs the comparison would take much longer than the answer.
const SMALL: usize = 200_000;

/// When to ask the axiomatic definition too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Twin {
    IfSmall,
    Insist,
}

pub(super) fn read(file: &Path, text: &str) -> Result<Test, Unreadable> {
    parse::parse(&file.to_string_lossy(), text).map_err(|error| Unreadable {
        at: Some((error.line, error.column)),
        message: format!("found {}, expected {}", error.found, error.expected),
    })
}

#[derive(Debug)]
pub(super) struct Engine<'a> {
    test: &'a Test,
    model: Model,
    options: ExploreOptions,
}

impl<'a> Engine<'a> {
    pub(super) fn new(test: &'a Test, max_states: usize) -> Engine<'a> {
        Engine {
            test,
            model: Model::px86(test.platform),
            options: ExploreOptions {
                max_states,
                ..ExploreOptions::default()
            },
        }
    }

    pub(super) fn explore(&self) -> Result<Explored, StateLimit> {
        let Test {
            program, observe, ..
        } = self.test;
        operational::explore(program, observe, &self.model, &self.options)
    }

    /// What the axiomatic definition allows, or why it was not asked to the end.
    pub(super) fn twin(&self, twin: Twin) -> Result<BTreeSet<LitmusOutcome>, String> {
        let max_graphs = match twin {
            Twin::IfSmall => SMALL,
            Twin::Insist => usize::MAX,
        };
        let Test {
            program, observe, ..
        } = self.test;
        axiomatic::outcomes(program, observe, &self.model, max_graphs).map_err(
            |limit| match limit {
                GraphLimit::Graphs(_) => format!("{limit}; --both compares them all the same"),
                GraphLimit::Events(_) => limit.to_string(),
            },
        )
    }

    /// One execution with this outcome, a line per step.
    pub(super) fn story(&self, outcome: &LitmusOutcome) -> Option<Vec<String>> {
        let Test {
            program, observe, ..
        } = self.test;
        let witness = operational::witness(program, observe, &self.model, outcome, &self.options);
        // Breadth first it may hit the limit that the search itself just missed; then there is no story to tell.
        let witness = witness.ok().flatten()?;
        Some(witness.to_string().lines().map(str::to_owned).collect())
    }
}
