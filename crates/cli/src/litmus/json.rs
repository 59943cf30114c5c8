//! The same reports for programs: one object, one test per line. The names are a promise to scripts.

use super::report::{CrossCheck, FileReport, Summary, TestReport, TestVerdict, Unreadable};
use crate::exit::Exit;
use landfall_litmus::expect::Quantifier;
use landfall_litmus::program::Value;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;

pub(super) fn render(reports: &[FileReport], summary: &Summary) -> String {
    let verdict = match summary.exit() {
        Exit::Clean => "clean",
        Exit::Findings => "findings",
        Exit::Limit => "incomplete",
        _ => "error",
    };
    let tests: Vec<String> = reports
        .iter()
        .map(|report| text(&JsonLine::of(report)))
        .collect();
    let counts = json!({
        "tests": summary.tests,
        "ok": summary.as_expected,
        "differs": summary.differ,
        "limit": summary.limit,
        "none": summary.no_expectation,
        "unreadable": summary.unreadable,
        "internal": summary.internal,
        "cross_checked": summary.agree,
        "too_large": summary.too_large,
    });
    format!(
        "{{\"tool\":\"landfall\",\"version\":{},\"verdict\":\"{verdict}\",\"tests\":[\n{}\n],\n\"summary\":{}}}\n",
        text(&env!("CARGO_PKG_VERSION")),
        tests.join(",\n"),
        text(&counts),
    )
}

/// Strings, numbers and lists of them: there is nothing here that JSON could not hold.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("plain data: {error}"))
}

#[derive(serde::Serialize)]
struct JsonLine<'a> {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    outcomes: Vec<OutcomeLine<'a>>,
    states: usize,
    expectations: Vec<ExpectationLine<'a>>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cross_check: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorLine<'a>>,
}

#[derive(serde::Serialize)]
struct ExpectationLine<'a> {
    quantifier: &'static str,
    text: &'a str,
    holds: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<&'a [String]>,
}

#[derive(serde::Serialize)]
struct ErrorLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    message: &'a str,
}

/// `{"x": 1, "T0:a": 0}`, in the order in which the test observes.
struct OutcomeLine<'a>(&'a [String], &'a [Value]);

impl Serialize for OutcomeLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.1.len()))?;
        for (place, value) in self.0.iter().zip(self.1) {
            map.serialize_entry(place, value)?;
        }
        map.end()
    }
}

impl<'a> JsonLine<'a> {
    fn of(report: &'a FileReport) -> JsonLine<'a> {
        let file = report.file.display().to_string();
        match &report.found {
            Ok(test) => JsonLine::of_test(file, test),
            Err(unreadable) => JsonLine::of_unreadable(file, unreadable),
        }
    }

    fn of_test(file: String, test: &'a TestReport) -> JsonLine<'a> {
        let (verdict, message) = match &test.verdict {
            TestVerdict::AsExpected => ("ok", None),
            TestVerdict::Differs => ("differs", None),
            TestVerdict::NoExpectation => ("none", None),
            TestVerdict::Limit => ("limit", None),
            TestVerdict::Internal(message) => ("internal", Some(message)),
        };
        JsonLine {
            file,
            name: Some(&test.name),
            outcomes: (test.outcomes.iter())
                .map(|outcome| OutcomeLine(&test.places, outcome))
                .collect(),
            states: test.states,
            expectations: (test.expectations.iter())
                .map(|judgement| ExpectationLine {
                    quantifier: match judgement.quantifier {
                        Quantifier::Exists => "exists",
                        Quantifier::Never => "never",
                        Quantifier::Always => "always",
                    },
                    text: &judgement.text,
                    holds: judgement.holds,
                    execution: (judgement.narrative.as_ref()).map(|n| n.steps.as_slice()),
                })
                .collect(),
            verdict,
            cross_check: match test.cross_check {
                CrossCheck::Agrees => Some("agrees"),
                CrossCheck::TooLarge(_) => Some("too-large"),
                CrossCheck::NotRun => None,
            },
            error: message.map(|message| ErrorLine {
                line: None,
                column: None,
                message,
            }),
        }
    }

    fn of_unreadable(file: String, unreadable: &'a Unreadable) -> JsonLine<'a> {
        JsonLine {
            file,
            name: None,
            outcomes: Vec::new(),
            states: 0,
            expectations: Vec::new(),
            verdict: "unreadable",
            cross_check: None,
            error: Some(ErrorLine {
                line: unreadable.at.map(|(line, _)| line),
                column: unreadable.at.map(|(_, column)| column),
                message: &unreadable.message,
            }),
        }
    }
}
