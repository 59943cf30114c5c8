//! One test: read, run with both definitions, held against what it expects.

use super::collect::FoundFile;
use super::engine::{self, Engine, Twin};
use super::listed::ListedVerdicts;
use super::report::show_outcome;
use super::report::{
    CrossCheck, FileReport, Judgement, Narrative, TestReport, TestVerdict, Unreadable,
};
use crate::args::LitmusArgs;
use landfall_litmus::expect::Expectation;
use landfall_litmus::print::to_lit;
use landfall_litmus::program::{LitmusOutcome, Test};
use landfall_litmus::verdicts;
use landfall_model::order::Platform;
use std::collections::BTreeSet;

#[derive(Debug)]
pub(super) struct LitmusJudge<'a> {
    /// Goes before what the test says.
    listed: Option<&'a ListedVerdicts>,
    /// Overrides what the test says.
    platform: Option<Platform>,
    states: usize,
    twin: Twin,
    narrate: bool,
}

impl<'a> LitmusJudge<'a> {
    pub(super) fn new(args: &LitmusArgs, listed: Option<&'a ListedVerdicts>) -> LitmusJudge<'a> {
        LitmusJudge {
            listed,
            platform: args.platform.map(Platform::from),
            states: args.states.get(),
            twin: if args.both {
                Twin::Insist
            } else {
                Twin::IfSmall
            },
            narrate: args.verbose,
        }
    }

    pub(super) fn report(&self, found: &FoundFile) -> FileReport {
        FileReport {
            file: found.path.clone(),
            found: self.read(found).map(|test| self.run(&test)),
        }
    }

    fn read(&self, found: &FoundFile) -> Result<Test, Unreadable> {
        let without_place = |message| Unreadable { at: None, message };
        if let Some(problem) = &found.problem {
            return Err(without_place(problem.clone()));
        }
        let text = landfall::read_litmus(&found.path).map_err(without_place)?;
        let mut test = engine::read(&found.path, &text)?;
        test.platform = self.platform.unwrap_or(test.platform);
        if let Some(listed) = self.listed
            && let Some(verdict) = listed.of(&found.path, &test.name).map_err(without_place)?
        {
            let why = |why| format!("{why}, so one verdict of a list says nothing about it");
            test.expect =
                verdicts::expect(&test, verdict).map_err(|reason| without_place(why(reason)))?;
            listed.counts();
        }
        Ok(test)
    }

    fn run(&self, test: &Test) -> TestReport {
        let mut report = TestReport {
            name: test.name.clone(),
            after_failure: test.observe.is_recovery(),
            places: place_names(test),
            outcomes: Vec::new(),
            states: 0,
            expectations: test.expect.iter().map(unjudged).collect(),
            cross_check: CrossCheck::NotRun,
            verdict: TestVerdict::Limit,
        };
        let engine = Engine::new(test, self.states);
        let explored = match engine.explore() {
            Ok(explored) => explored,
            Err(limit) => {
                report.states = limit.limit;
                return report;
            }
        };
        report.states = explored.states;
        report.outcomes = explored.outcomes.iter().cloned().collect();
        for (judgement, expectation) in report.expectations.iter_mut().zip(&test.expect) {
            judgement.holds = Some(expectation.holds(&explored.outcomes));
            judgement.narrative = self.narrative(expectation, &engine, &explored.outcomes);
        }
        let holds = |judgement: &Judgement| judgement.holds == Some(true);
        report.verdict = if report.expectations.is_empty() {
            TestVerdict::NoExpectation
        } else if report.expectations.iter().all(holds) {
            TestVerdict::AsExpected
        } else {
            TestVerdict::Differs
        };
        match engine.twin(self.twin) {
            Err(why) => report.cross_check = CrossCheck::TooLarge(why),
            Ok(outcomes) if outcomes == explored.outcomes => {
                report.cross_check = CrossCheck::Agrees;
            }
            Ok(outcomes) => {
                let places = &report.places;
                let message = disagreement(test, places, &explored.outcomes, &outcomes);
                report.verdict = TestVerdict::Internal(message);
            }
        }
        report
    }

    fn narrative(
        &self,
        expectation: &Expectation,
        engine: &Engine<'_>,
        outcomes: &BTreeSet<LitmusOutcome>,
    ) -> Option<Narrative> {
        if !self.narrate {
            return None;
        }
        let outcome = expectation.witnesses(outcomes).next()?;
        Some(Narrative {
            outcome: outcome.clone(),
            steps: engine.story(outcome)?,
        })
    }
}

fn unjudged(expectation: &Expectation) -> Judgement {
    Judgement {
        quantifier: expectation.quantifier.clone(),
        text: expectation.text.clone(),
        holds: None,
        narrative: None,
    }
}

fn place_names(test: &Test) -> Vec<String> {
    let places = test.observe.places().into_iter();
    places.map(|place| test.program.place_name(place)).collect()
}

/// Two definitions of one thing that differ: one of them is wrong, and only a developer can say which.
fn disagreement(
    test: &Test,
    places: &[String],
    operational: &BTreeSet<LitmusOutcome>,
    axiomatic: &BTreeSet<LitmusOutcome>,
) -> String {
    let only = |a: &BTreeSet<LitmusOutcome>, b: &BTreeSet<LitmusOutcome>| {
        let outcomes: Vec<String> = a.difference(b).map(|o| show_outcome(places, o)).collect();
        match outcomes.as_slice() {
            [] => "none".to_owned(),
            _ => outcomes.join("; "),
        }
    };
    format!(
        "the two definitions disagree.\n  Only operational: {}. Only axiomatic: {}.\n  \
         Please report it with this .lit file:\n\n{}\n",
        only(operational, axiomatic),
        only(axiomatic, operational),
        to_lit(test).trim_end(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The definitions do not disagree on any test we know, so the message cannot be provoked from outside.
    #[test]
    fn a_disagreement_names_both_sides_and_holds_the_test() {
        let text = "name: W\nlines: x\nT0: x = 1\nrecover: x\nallowed: x=1\n";
        let test = engine::read(Path::new("W.lit"), text).unwrap();
        let places = place_names(&test);
        let message = disagreement(
            &test,
            &places,
            &BTreeSet::from([vec![0], vec![1]]),
            &BTreeSet::from([vec![0]]),
        );
        assert!(
            message.contains("Only operational: x=1. Only axiomatic: none."),
            "{message}"
        );
        assert!(message.contains(text.trim_end()), "{message}");
    }
}
