//! What was found, what was covered, and what was not.

use crate::html::Html;
use landfall_finding::{Equivalence, Run, Scope, Verdict};

/// The verdict as a sentence's beginning.
pub(super) fn verdict(run: &Run) -> String {
    match (run.verdict, run.findings.len()) {
        (Verdict::Clean, _) => "nothing found, everything tried".to_owned(),
        (Verdict::Incomplete, _) => "nothing found, but not everything was tried".to_owned(),
        (Verdict::Findings, 1) => "1 finding".to_owned(),
        (Verdict::Findings, n) => format!("{n} findings"),
    }
}

/// 1234567 as 1,234,567.
pub(super) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn covered(run: &Run) -> String {
    let stats = &run.stats;
    if stats.cuts == 0 && (stats.schedules > 1 || stats.symmetric.is_some()) {
        let renamed = stats.symmetric.map_or_else(String::new, |all| {
            let all = match all {
                u64::MAX => "more than 18 billion billion".to_owned(),
                all => thousands(all),
            };
            format!(" (they stand for {all}: threads are alike)")
        });
        let ways = match stats.equivalence {
            Some(Equivalence::Reads) => " (one for each way in which reads find stores)",
            Some(Equivalence::Values) => " (one for all in which reads return the same values)",
            _ => "",
        };
        return format!(
            "{}{renamed}{ways} of its threads were tried, in {}. No power failure was.",
            plural(stats.schedules, "schedule", "schedules"),
            plural(stats.runs, "execution", "executions"),
        );
    }
    let failures = match stats.cuts {
        0 => "No power failure was tried".to_owned(),
        1 => "1 power failure was tried".to_owned(),
        n => format!("{} power failures were tried", thousands(n)),
    };
    let mut text = format!(
        "{failures}, in {} of the program, which showed {} of the recovery.",
        plural(stats.runs, "execution", "executions"),
        plural(
            stats.behaviours,
            "distinct behaviour",
            "distinct behaviours"
        ),
    );
    if stats.schedules > 1 {
        text.push_str(&format!(
            " {} thread schedules were run.",
            thousands(stats.schedules)
        ));
    }
    if !stats.eager_states.is_empty() {
        text.push_str(&format!(
            " One by one that would have been {} states of memory.",
            stats.eager_states
        ));
    }
    text
}

fn looked_for(scope: &Scope) -> String {
    let names = scope.checks.iter().map(|check| match check.as_str() {
        "crash" => "recoveries that fail",
        "robustness" => "recoveries that see a store without an earlier one",
        "races" => "recoveries that may read half a store",
        "snapshots" => "stores that their transaction does not answer for",
        "flushes" => "flushes and fences that do nothing",
        "data-races" => "data races",
        "heap" => "misuse of the heap",
        "locks" => "misuse of locks, deadlocks",
        other => other,
    });
    let failures = match scope.failures {
        0 | 1 => "one power failure".to_owned(),
        n => format!("up to {n} power failures in a row"),
    };
    let where_to = match scope.platform.as_str() {
        "eadr" => "caches survive (eADR)",
        _ => "caches are lost (ADR)",
    };
    let names: Vec<&str> = names.collect();
    capital(&format!(
        "{}; with {failures}; {where_to}.",
        names.join(", ")
    ))
}

fn not_covered(run: &Run) -> String {
    if run.complete && run.limits.is_empty() && run.stats.cuts == 0 && run.stats.schedules > 1 {
        return "For this input and these arguments no schedule was left out: every way in which the threads can take turns was tried, or \
                leads to the same as one that was. Other inputs and arguments are other checks."
            .to_owned();
    }
    if run.complete && run.limits.is_empty() {
        return "For this input and these arguments nothing was left out: every state that a power failure can leave on x86 was \
                considered. Other inputs and arguments are other checks."
            .to_owned();
    }
    let limits: Vec<&str> = (run.limits.iter()).map(|limit| limit.meaning()).collect();
    format!(
        "The search was ended by {}. What it had not reached is not known to be right.",
        limits.join(" and ")
    )
}

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(n), if n == 1 { one } else { many })
}

pub(super) fn summary(html: &mut Html, run: &Run) {
    let attributes = [("id", "summary"), ("aria-labelledby", "summary-title")];
    html.element("section", &attributes, |html| {
        let class = format!("verdict {}", class_of(run.verdict));
        html.say(
            "h2",
            &[("id", "summary-title"), ("class", &class)],
            &capital(&verdict(run)),
        );
        html.element("dl", &[], |html| {
            html.say("dt", &[], "Covered").say("dd", &[], &covered(run));
            if let Some(scope) = &run.scope {
                html.say("dt", &[], "Looked for")
                    .say("dd", &[], &looked_for(scope));
            }
            html.say("dt", &[], "Not covered")
                .say("dd", &[], &not_covered(run));
            for assumption in &run.assumptions {
                let at = assumption.at.as_ref();
                let at = at.map_or_else(String::new, |at| format!(" ({})", at.colons()));
                let text = format!("{}{at}", assumption.message);
                html.say("dt", &[], "Assumed").say("dd", &[], &text);
            }
            for warning in &run.warnings {
                html.say("dt", &[], "Mind").say("dd", &[], warning);
            }
            if !run.command.is_empty() {
                html.say("dt", &[], "Again").element("dd", &[], |html| {
                    html.command(&run.command);
                });
            }
        });
        let numbers = [
            ("schedules", thousands(run.stats.schedules)),
            ("power failures", thousands(run.stats.cuts)),
            ("executions", thousands(run.stats.runs)),
            ("behaviours", thousands(run.stats.behaviours)),
            ("events", thousands(run.stats.events)),
            ("seconds", format!("{:.2}", run.stats.seconds)),
        ];
        html.element("ul", &[("class", "numbers")], |html| {
            for (name, value) in &numbers {
                html.element("li", &[], |html| {
                    html.say("strong", &[], value).text(" ").text(name);
                });
            }
        });
    });
}

/// A class of the style sheet.
fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Clean => "clean",
        Verdict::Findings => "found",
        Verdict::Incomplete => "unsure",
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let all: Vec<String> = [0, 12, 123, 1234, 1_234_567].map(thousands).into();
        assert_eq!(all, ["0", "12", "123", "1,234", "1,234,567"]);
    }
}
