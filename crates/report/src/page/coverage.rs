//! Crash coverage: the source, line by line, with what was stored, flushed, cut and recovered there.

use super::excerpt::cut;
use super::summary::thousands;
use crate::html::Html;
use crate::{Coverage, LineCoverage, Sources};
use std::collections::BTreeMap;

/// Lines without anything are shown this far around lines with something.
const AROUND: u32 = 3;
/// Files with more lines of interest are cut there; run.json has them all.
const MOST_LINES: usize = 2_000;

pub(super) fn coverage(html: &mut Html, coverage: &Coverage, sources: &Sources) {
    let attributes = [("id", "coverage"), ("aria-labelledby", "coverage-title")];
    html.element("section", &attributes, |html| {
        html.say("h2", &[("id", "coverage-title")], "Crash coverage");
        html.raw(
            "<p>Per line: stores to persistent memory, write-backs, power failures tried right before them, first reads by \
             recoveries, and how many different values those returned. A store that no recovery read \
             <span class=\"unread\">stands out</span>: nothing checked it.</p>",
        );
        for (file, lines) in &coverage.0 {
            html.element("details", &[("class", "file")], |html| {
                html.element("summary", &[], |html| {
                    html.say("code", &[], file).text(" ");
                    let stores: u64 = lines.values().map(|line| line.stores).sum();
                    let cuts: u64 = lines.values().map(|line| line.cuts).sum();
                    html.text(&format!(
                        "{} stores, {} power failures",
                        thousands(stores),
                        thousands(cuts)
                    ));
                });
                one_file(html, lines, sources.get(file).map(String::as_str));
            });
        }
    });
}

fn one_file(html: &mut Html, lines: &BTreeMap<u32, LineCoverage>, source: Option<&str>) {
    html.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Lines\"><table class=\"coverage\"><thead><tr>");
    for name in [
        "line", "stores", "flushes", "fences", "failures", "reads", "values", "source",
    ] {
        html.say("th", &[("scope", "col")], name);
    }
    html.raw("</tr></thead><tbody>");
    let text: Vec<&str> = source.map_or_else(Vec::new, |text| text.lines().collect());
    let last = (text.len() as u32).max(lines.keys().next_back().copied().unwrap_or(0));
    let (mut shown, mut skipped) = (0, false);
    for number in 1..=last {
        if shown == MOST_LINES || html.len() > super::COVERAGE_BYTES {
            html.raw(
                "<tr><td colspan=\"8\" class=\"omitted\">more lines are in run.json</td></tr>",
            );
            break;
        }
        let near = number.saturating_sub(AROUND)..=number.saturating_add(AROUND);
        if lines.range(near).next().is_none() {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) && shown > 0 {
            html.raw("<tr><td colspan=\"8\" class=\"omitted\">⋮</td></tr>");
        }
        shown += 1;
        let code = text.get(number as usize - 1).copied().unwrap_or("");
        one_line(html, number, lines.get(&number), code);
    }
    html.raw("</tbody></table></div>");
}

fn one_line(html: &mut Html, number: u32, line: Option<&LineCoverage>, code: &str) {
    let class = match line {
        None => "idle",
        Some(line) if line.stores > 0 && line.values == 0 => "unread",
        Some(line) if line.stores > 0 && line.cuts == 0 => "uncut",
        Some(_) => "covered",
    };
    html.element("tr", &[("class", class)], |html| {
        html.say("td", &[("class", "number")], &number.to_string());
        let counts = line.map_or([0; 6], |line| {
            [
                line.stores,
                line.flushes,
                line.fences,
                line.cuts,
                line.reads,
                line.values,
            ]
        });
        for count in counts {
            let text = if count == 0 {
                String::new()
            } else {
                thousands(count)
            };
            html.say("td", &[("class", "count")], &text);
        }
        html.element("td", &[("class", "code")], |html| {
            html.say("code", &[], cut(code));
        });
    });
}
