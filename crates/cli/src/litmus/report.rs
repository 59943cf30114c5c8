//! What is known about each test after the run: plain data, which the table and the JSON only spell out.

use crate::exit::Exit;
use landfall_litmus::expect::Quantifier;
use landfall_litmus::program::Value;
use std::path::PathBuf;

#[derive(Debug)]
pub(super) struct FileReport {
    pub(super) file: PathBuf,
    pub(super) found: Result<TestReport, Unreadable>,
}

#[derive(Debug)]
pub(super) struct Unreadable {
    /// Line and column, where the file could be read but not understood.
    pub(super) at: Option<(usize, usize)>,
    pub(super) message: String,
}

#[derive(Debug)]
pub(super) struct TestReport {
    pub(super) name: String,
    pub(super) after_failure: bool,
    /// What is observed, as outcomes write it: `x`, `T0:a`.
    pub(super) places: Vec<String>,
    pub(super) outcomes: Vec<Vec<Value>>,
    pub(super) states: usize,
    pub(super) expectations: Vec<Judgement>,
    pub(super) cross_check: CrossCheck,
    pub(super) verdict: TestVerdict,
}

#[derive(Debug)]
pub(super) struct Judgement {
    pub(super) quantifier: Quantifier,
    pub(super) text: String,
    /// `None` where a limit was reached: not all outcomes are known.
    pub(super) holds: Option<bool>,
    pub(super) narrative: Option<Narrative>,
}

/// One execution that speaks for an `exists`, or against a `never` or `always`.
#[derive(Debug)]
pub(super) struct Narrative {
    pub(super) outcome: Vec<Value>,
    pub(super) steps: Vec<String>,
}

/// What the axiomatic definition says about the outcomes the operational one found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CrossCheck {
    Agrees,
    /// Not compared, and why.
    TooLarge(String),
    /// Not reached: the operational definition gave no answer to compare.
    NotRun,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TestVerdict {
    AsExpected,
    Differs,
    NoExpectation,
    Limit,
    /// An error of ours, in words to report.
    Internal(String),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) tests: usize,
    pub(super) as_expected: usize,
    pub(super) differ: usize,
    pub(super) no_expectation: usize,
    pub(super) limit: usize,
    pub(super) internal: usize,
    pub(super) unreadable: usize,
    pub(super) agree: usize,
    pub(super) too_large: usize,
}

impl Summary {
    pub(super) fn of(reports: &[FileReport]) -> Summary {
        let mut summary = Summary {
            tests: reports.len(),
            ..Summary::default()
        };
        for report in reports {
            let Ok(test) = &report.found else {
                summary.unreadable += 1;
                continue;
            };
            match &test.verdict {
                TestVerdict::AsExpected => summary.as_expected += 1,
                TestVerdict::Differs => summary.differ += 1,
                TestVerdict::NoExpectation => summary.no_expectation += 1,
                TestVerdict::Limit => summary.limit += 1,
                TestVerdict::Internal(_) => summary.internal += 1,
            }
            match test.cross_check {
                CrossCheck::Agrees => summary.agree += 1,
                CrossCheck::TooLarge(_) => summary.too_large += 1,
                CrossCheck::NotRun => {}
            }
        }
        summary
    }

    /// An error of ours outweighs everything. Input nobody could read outweighs what was found in the rest; a finding
    /// outweighs a limit.
    pub(super) fn exit(&self) -> Exit {
        if self.internal > 0 {
            Exit::Internal
        } else if self.unreadable > 0 {
            Exit::Usage
        } else if self.differ > 0 {
            Exit::Findings
        } else if self.limit > 0 {
            Exit::Limit
        } else {
            Exit::Clean
        }
    }
}

/// `f=1 x=0`.
pub(super) fn show_outcome(places: &[String], outcome: &[Value]) -> String {
    let pairs: Vec<String> = places
        .iter()
        .zip(outcome)
        .map(|(place, value)| format!("{place}={value}"))
        .collect();
    pairs.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_outweigh_one_another() {
        let mut summary = Summary::default();
        assert_eq!(summary.exit(), Exit::Clean);
        summary.limit = 1;
        assert_eq!(summary.exit(), Exit::Limit);
        summary.differ = 1;
        assert_eq!(summary.exit(), Exit::Findings);
        summary.unreadable = 1;
        assert_eq!(summary.exit(), Exit::Usage);
        summary.internal = 1;
        assert_eq!(summary.exit(), Exit::Internal);
    }
}
