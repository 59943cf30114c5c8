//! How recoveries ended: thousands of behaviours as a few lines, each of which opens.

use super::summary::thousands;
use crate::html::Html;
use landfall_finding::RecoveryOutcome;

/// Places shown of one end.
const MOST_PLACES: usize = 100;

pub(super) fn outcomes(html: &mut Html, outcomes: &[RecoveryOutcome]) {
    if outcomes.is_empty() {
        return;
    }
    html.say("h3", &[], "How recoveries ended");
    let placed = outcomes.iter().any(|outcome| !outcome.at.is_empty());
    html.raw(match placed {
        true => "<p class=\"hint\">Distinct recoveries by their end; open one to see after which store the power failed.</p>",
        false => "<p class=\"hint\">Distinct recoveries by their end.</p>",
    });
    let all: u64 = outcomes.iter().map(|outcome| outcome.behaviours).sum();
    for outcome in outcomes {
        let class = match outcome.kind.as_str() {
            "well" => "outcome well",
            _ => "outcome badly",
        };
        html.element("details", &[("class", class)], |html| {
            html.element("summary", &[], |html| {
                html.say("strong", &[], &thousands(outcome.behaviours))
                    .text(" ");
                bar(html, outcome.behaviours, all);
                html.text(" ")
                    .say("span", &[("class", "end")], &outcome.text);
            });
            html.element("table", &[], |html| {
                let most = outcome.at.iter().map(|at| at.behaviours).max().unwrap_or(1);
                for at in outcome.at.iter().take(MOST_PLACES) {
                    html.element("tr", &[], |html| {
                        html.say("td", &[("class", "count")], &thousands(at.behaviours));
                        html.element("td", &[], |html| bar(html, at.behaviours, most));
                        let place = at.at.as_ref().map(|at| at.colons());
                        let place = place.as_deref().unwrap_or("before any store");
                        html.say("td", &[("class", "place")], place);
                    });
                }
            });
            if outcome.at.len() > MOST_PLACES {
                let more = outcome.at.len() - MOST_PLACES;
                html.say(
                    "p",
                    &[("class", "hint")],
                    &format!("and {more} other places"),
                );
            }
        });
    }
}

/// A share, drawn.
fn bar(html: &mut Html, part: u64, of: u64) {
    let width = format!("{:.1}", 100.0 * part as f64 / of.max(1) as f64);
    let attributes = [
        ("class", "bar"),
        ("viewBox", "0 0 100 8"),
        ("preserveAspectRatio", "none"),
        ("aria-hidden", "true"),
    ];
    html.element("svg", &attributes, |html| {
        html.element("rect", &[("width", &width), ("height", "8")], |_| {});
    });
}
