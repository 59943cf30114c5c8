//! JUnit XML: the check is a suite, each finding a failing case, so that a CI view shows it as a failed test.

use landfall_finding::{Finding, Limit, Place, Run, Severity, StoreRole};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

pub fn junit(run: &Run) -> String {
    let mut suite = TestSuite::new("landfall check");
    let took = Duration::try_from_secs_f64(run.stats.seconds).unwrap_or_default();
    suite.set_time(took);
    for found in &run.findings {
        suite.add_test_case(case(found));
    }
    if run.findings.is_empty() {
        // A suite without cases is taken by some views as "did not run".
        let status = if run.complete {
            TestCaseStatus::success()
        } else {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("incomplete: {}", names(&run.limits)));
            status
        };
        let mut case = TestCase::new("every power failure", status);
        case.set_classname("landfall").set_time(took);
        suite.add_test_case(case);
    }
    let mut report = Report::new("landfall");
    report.set_time(took);
    report.add_test_suite(suite);
    report.to_string().unwrap_or_default()
}

fn names(limits: &[Limit]) -> String {
    let names: Vec<_> = limits.iter().map(|limit| limit.name()).collect();
    names.join(", ")
}

fn case(found: &Finding) -> TestCase {
    let kind = match found.severity {
        Severity::Error => NonSuccessKind::Error,
        _ => NonSuccessKind::Failure,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status
        .set_type(found.kind.name())
        .set_message(found.message.as_str())
        .set_description(description(found));
    let place = found.at.as_ref().map_or_else(String::new, Place::colons);
    let mut case = TestCase::new(format!("{} {} {place}", found.id, found.kind), status);
    case.set_classname("landfall");
    if !found.output.is_empty() {
        case.set_system_out(found.output.as_str());
    }
    case
}

fn description(found: &Finding) -> String {
    let mut lines = vec![found.message.clone()];
    let mut tell = |what: &str, at: &Option<Place>| {
        if let Some(at) = at {
            lines.push(format!("{what}: {}", at.colons()));
        }
    };
    tell("seen at", &found.at);
    for store in &found.stores {
        match store.role {
            StoreRole::Kept => tell("this store reached memory", &store.at),
            StoreRole::Lost => tell("this earlier store was lost", &store.at),
            StoreRole::Racing => tell("store", &store.at),
            StoreRole::Unadded => tell("not added to its transaction", &store.at),
        }
    }
    tell("the power failed at", &found.crash_at);
    if let Some(witness) = &found.witness {
        lines.push(format!("replay: landfall replay {witness}"));
    }
    lines.join("\n")
}
