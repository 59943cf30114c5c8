//! One finding: what, where, why, how to repair it, how to see it again.

use super::excerpt::{excerpt, first};
use super::{MOST_STORES, PageLines, lanes, timeline, turns};
use crate::html::Html;
use landfall_finding::{Finding, Place, Severity, StoreRole};

/// More of what a run printed is of no use in a page.
const MOST_OUTPUT: usize = 8_000;
const MOST_MESSAGE: usize = 2_000;

pub(super) fn heading(html: &mut Html, found: &Finding) {
    let class = format!("severity {}", found.severity.name());
    html.say("span", &[("class", &class)], found.severity.name())
        .text(" ");
    html.say("code", &[("class", "kind")], found.kind.name())
        .text(" ");
    html.say(
        "span",
        &[("class", "message")],
        first(&found.message, MOST_MESSAGE),
    );
    if let Some(at) = &found.at {
        html.text(" ")
            .say("span", &[("class", "place")], &at.colons());
    }
}

/// Buttons that show one kind only.
pub(super) fn filter(html: &mut Html, findings: &[Finding]) {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for found in findings {
        match kinds
            .iter_mut()
            .find(|(kind, _)| *kind == found.kind.name())
        {
            Some((_, count)) => *count += 1,
            None => kinds.push((found.kind.name(), 1)),
        }
    }
    let attributes = [
        ("class", "filter"),
        ("role", "group"),
        ("aria-label", "Show"),
    ];
    html.element("div", &attributes, |html| {
        let all = [
            ("type", "button"),
            ("data-kind", ""),
            ("aria-pressed", "true"),
        ];
        html.say("button", &all, "all");
        for (kind, count) in kinds {
            let one = [
                ("type", "button"),
                ("data-kind", kind),
                ("aria-pressed", "false"),
            ];
            html.say("button", &one, &format!("{kind} ({count})"));
        }
    });
}

pub(super) fn finding(html: &mut Html, found: &Finding, open: bool, sources: &PageLines<'_>) {
    let id = found.id.as_str();
    let mut attributes = vec![
        ("class", "finding"),
        ("id", id),
        ("data-kind", found.kind.name()),
    ];
    if open {
        attributes.push(("open", ""));
    }
    html.element("details", &attributes, |html| {
        html.element("summary", &[], |html| heading(html, found));
        places(html, found, sources);
        for note in &found.notes {
            html.say("p", &[("class", "note")], note);
        }
        if let Some(schedule) = &found.schedule {
            html.say("h3", &[], "How the threads took turns");
            turns::turns(html, schedule);
        }
        if let Some(timeline) = &found.timeline {
            html.say("h3", &[], "What happened");
            timeline::timeline(html, id, timeline, sources);
            if !timeline.lanes.is_empty() {
                html.say("h3", &[], "Cache lines when the power failed");
                lanes::lanes(html, id, &timeline.lanes);
            }
        }
        repairs(html, found);
        if !found.output.is_empty() {
            html.element("details", &[("class", "output")], |html| {
                html.say("summary", &[], "What the failing run printed");
                html.say("pre", &[], first(&found.output, MOST_OUTPUT));
            });
        }
        let shown = match found.executions {
            0 | 1 => "One execution showed this.".to_owned(),
            n => format!("{} executions showed this.", super::summary::thousands(n)),
        };
        html.say("p", &[("class", "count")], &shown);
        let replay = found.replay.clone().or_else(|| {
            let witness = found.witness.as_ref()?;
            Some(format!("landfall replay {witness}"))
        });
        if let Some(replay) = replay {
            html.say("h3", &[], "See it again");
            html.command(&replay);
        }
    });
}

fn places(html: &mut Html, found: &Finding, sources: &PageLines<'_>) {
    html.element("div", &[("class", "places")], |html| {
        let mut lost = 0;
        let listed = found.stores.iter().filter(|store| {
            let is_lost = store.role == StoreRole::Lost;
            lost += usize::from(is_lost);
            !is_lost || lost <= MOST_STORES
        });
        for store in listed {
            let Some(at) = &store.at else { continue };
            let bytes = match store.bytes {
                0 => String::new(),
                n => format!(" ({})", landfall_finding::text::bytes(n)),
            };
            let then = match found.crash_at.as_ref() == Some(at) {
                true => ", then the power failed",
                false => "",
            };
            match store.role {
                StoreRole::Lost => excerpt(
                    html,
                    "lost",
                    &format!("This store was lost{bytes}"),
                    at,
                    sources,
                ),
                StoreRole::Kept => excerpt(
                    html,
                    "kept",
                    &format!("This later store reached memory{bytes}{then}"),
                    at,
                    sources,
                ),
                StoreRole::Racing => excerpt(
                    html,
                    "lost",
                    &format!("This store may be found half done{bytes}"),
                    at,
                    sources,
                ),
                StoreRole::Unadded => excerpt(
                    html,
                    "lost",
                    &format!("Nothing added this to its transaction{bytes}"),
                    at,
                    sources,
                ),
            }
        }
        if lost > MOST_STORES {
            let more = lost - MOST_STORES;
            html.say(
                "p",
                &[],
                &format!("Lost stores in run.json besides: {more}."),
            );
        }
        let told = |at: &&Place| {
            let mut kept = found.stores_that(StoreRole::Kept);
            kept.all(|store| store.at.as_ref() != Some(*at))
        };
        if let Some(at) = found.crash_at.as_ref().filter(told) {
            excerpt(html, "crash", "The power failed here", at, sources);
        }
        if let Some(at) = &found.at {
            let title = match found.severity {
                Severity::Error => "Seen here",
                _ => "Here",
            };
            excerpt(html, "failed", title, at, sources);
        }
    });
}

fn repairs(html: &mut Html, found: &Finding) {
    if found.fix.is_empty() && found.diffs.is_empty() {
        return;
    }
    html.say("h3", &[], "Fix");
    html.element("ul", &[("class", "fixes")], |html| {
        for fix in &found.fix {
            html.say("li", &[], &fix.sentence());
        }
    });
    for diff in &found.diffs {
        html.say("p", &[], &diff.title);
        html.element("pre", &[("class", "diff")], |html| {
            for line in diff.text.lines() {
                let class = match line.as_bytes().first() {
                    _ if line.starts_with("--- ") || line.starts_with("+++ ") => "file",
                    Some(b'+') => "added",
                    Some(b'-') => "removed",
                    Some(b'@') => "where",
                    _ => "same",
                };
                html.element("span", &[("class", class)], |html| {
                    html.text(line).text("\n");
                });
            }
        });
    }
}
