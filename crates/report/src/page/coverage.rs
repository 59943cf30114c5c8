//! Crash coverage: the source, line by line, with what was stored, flushed, cut and recovered there.

use super::excerpt::cut;
use super::summary::thousands;
use crate::Sources;
use crate::html::Html;
use landfall_finding::{Coverage, LineCoverage};
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
            "<p>Per line: stores to persistent memory, flushes and fences, the power failures that were tried while a store was not yet \
             safe (or right before a flush or fence), and how many values recoveries found in what was stored there. For lines that \
             recovered: first reads, and how many values they returned.</p><ul class=\"key\">\
             <li><span class=\"unread\">No recovery read what was stored here</span>: nothing checked it.</li>\
             <li><span class=\"uncut\">No power failure was tried here</span> while the store could be lost.</li>\
             <li><span class=\"silent\">Nothing was seen here</span>: the line could access memory, but in no run did it store to persistent memory or read \
             something that was not read before.</li></ul>",
        );
        for (file, lines) in &coverage.0 {
            html.element("details", &[("class", "file")], |html| {
                html.element("summary", &[], |html| {
                    html.say("code", &[], file).text(" ");
                    html.text(&overview(lines));
                });
                one_file(html, lines, sources.get(file).map(String::as_str));
            });
        }
    });
}

/// What is in a file, in a line.
fn overview(lines: &BTreeMap<u32, LineCoverage>) -> String {
    let storing = lines.values().filter(|line| line.stores > 0);
    let unread = storing.clone().filter(|line| line.found == 0).count() as u64;
    let reading = lines.values().filter(|line| line.reads > 0).count() as u64;
    let mut text = format!(
        "{} lines store, {} lines recover",
        thousands(storing.count() as u64),
        thousands(reading)
    );
    if unread > 0 {
        text.push_str(&format!(", {} stored for nobody", thousands(unread)));
    }
    text
}

fn one_file(html: &mut Html, lines: &BTreeMap<u32, LineCoverage>, source: Option<&str>) {
    html.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Lines\"><table class=\"coverage\"><thead><tr>");
    for name in [
        "line", "stores", "flushes", "fences", "failures", "found", "reads", "values", "source",
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
                "<tr><td colspan=\"9\" class=\"omitted\">more lines are in run.json</td></tr>",
            );
            break;
        }
        let near = number.saturating_sub(AROUND)..=number.saturating_add(AROUND);
        if lines.range(near).next().is_none() {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) && shown > 0 {
            html.raw("<tr><td colspan=\"9\" class=\"omitted\">⋮</td></tr>");
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
        Some(line) if *line == LineCoverage::default() => "silent",
        Some(line) if line.stores > 0 && line.found == 0 => "unread",
        Some(line) if line.stores > 0 && line.cuts == 0 => "uncut",
        Some(_) => "covered",
    };
    html.element("tr", &[("class", class)], |html| {
        html.say("td", &[("class", "number")], &number.to_string());
        let counts = line.map_or([0; 7], |line| {
            [
                line.stores,
                line.flushes,
                line.fences,
                line.cuts,
                line.found,
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
            let (indent, text) = code.split_at(code.len() - code.trim_start().len());
            html.text(indent).say("code", &[], cut(text));
        });
    });
}
