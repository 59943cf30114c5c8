//! The timeline: a column per thread, rows in the order they happened, the power failure as a line across.

use super::PageLines;
use super::excerpt::{cut, first};
use crate::html::Html;
use landfall_finding::{Phase, Place, Row, Timeline};

/// Whoever made the timeline has left out what does not matter; this only bounds the page.
const MOST_ROWS: usize = 1_000;

/// Characters of a source line beside a row.
const MOST_SOURCE: usize = 60;

pub(super) fn timeline(
    html: &mut Html,
    finding: &str,
    timeline: &Timeline,
    sources: &PageLines<'_>,
) {
    let columns = timeline.threads.len().max(1);
    let readers = readers(timeline);
    html.raw(
        "<p class=\"hint\">From top to bottom as it happened: each row is one step, in the column of its thread. \
         Hover over a row or focus it to see which store a read found, and who read a store.</p>",
    );
    html.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">");
    html.element("table", &[("class", "timeline")], |html| {
        html.raw("<thead><tr><th scope=\"col\">#</th>");
        if timeline.threads.is_empty() {
            html.raw("<th scope=\"col\">what it did</th>");
        }
        for thread in &timeline.threads {
            html.say("th", &[("scope", "col")], thread);
        }
        html.raw("<th scope=\"col\">where</th></tr></thead>");
        html.element("tbody", &[], |html| {
            for (index, row) in timeline.rows.iter().take(MOST_ROWS).enumerate() {
                match row.phase {
                    Phase::Failure | Phase::Omitted => across(html, row, columns),
                    Phase::Before | Phase::Recovery => {
                        let id = format!("{finding}-row");
                        one_row(html, (&id, index), row, columns, &readers[index], sources);
                    }
                }
            }
        });
    });
    html.raw("</div>");
}

/// For each row, the rows that read what it stored.
fn readers(timeline: &Timeline) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); timeline.rows.len()];
    for (index, row) in timeline.rows.iter().enumerate() {
        for &from in row.read.iter().flat_map(|read| &read.from) {
            if let Some(readers) = readers.get_mut(from as usize) {
                readers.push(index);
            }
        }
    }
    readers
}

/// A row that belongs to no thread.
fn across(html: &mut Html, row: &Row, columns: usize) {
    let across = (columns + 2).to_string();
    let (class, text) = match row.phase {
        Phase::Failure => ("failure", format!("⚡ {}", row.text)),
        _ => ("omitted", row.text.clone()),
    };
    html.element("tr", &[], |html| {
        html.say("td", &[("colspan", &across), ("class", class)], &text);
    });
}

fn one_row(
    html: &mut Html,
    (prefix, index): (&str, usize),
    row: &Row,
    columns: usize,
    readers: &[usize],
    sources: &PageLines<'_>,
) {
    let id = format!("{prefix}{index}");
    let from = row.read.iter().flat_map(|read| &read.from);
    let from = from.map(|from| format!("{prefix}{from}"));
    let others = readers.iter().map(|reader| format!("{prefix}{reader}"));
    let related = from.chain(others).collect::<Vec<_>>().join(" ");
    let class = match (row.phase, row.role.as_deref()) {
        (_, Some("lost")) => "lost",
        (_, Some("kept")) => "kept",
        (_, Some("failed")) => "failed",
        (Phase::Recovery, _) => "recovery",
        _ => "before",
    };
    let attributes = [
        ("id", id.as_str()),
        ("class", class),
        ("tabindex", "0"),
        ("data-related", &related),
    ];
    html.element("tr", &attributes, |html| {
        html.say("td", &[("class", "number")], &(index + 1).to_string());
        for column in 0..columns {
            if column == (row.thread as usize).min(columns - 1) {
                html.element("td", &[("class", "did")], |html| did(html, row, readers));
            } else {
                html.raw("<td></td>");
            }
        }
        match &row.at {
            Some(at) => place(html, at, sources),
            None => _ = html.raw("<td></td>"),
        }
    });
}

/// A place by its file's own name, with its text.
fn place(html: &mut Html, at: &Place, sources: &PageLines<'_>) {
    let attributes = [("class", "place"), ("title", &at.colons())];
    html.element("td", &attributes, |html| {
        let name = at.file.rsplit('/').next().unwrap_or_default();
        html.text(&format!("{name}:{} ", at.line));
        let text = sources.get(at.file.as_str()).and_then(|lines| {
            let line = lines.get(at.line.checked_sub(1)? as usize)?;
            Some(first(line.trim(), MOST_SOURCE))
        });
        html.say("code", &[], text.unwrap_or_default());
    });
}

fn did(html: &mut Html, row: &Row, readers: &[usize]) {
    if let Some(why) = &row.why {
        html.say("span", &[("class", "why")], why);
    }
    html.say("span", &[("class", "op")], &row.kind).text(" ");
    html.say("code", &[], cut(&row.text));
    match row.role.as_deref() {
        Some("lost") => html.raw(" <strong class=\"tag\">lost</strong>"),
        Some("kept") => html.raw(" <strong class=\"tag\">reached memory</strong>"),
        Some("failed") => html.raw(" <strong class=\"tag\">goes wrong here</strong>"),
        _ => html,
    };
    if let Some(read) = &row.read {
        let from: Vec<String> = read.from.iter().map(|row| format!("{}", row + 1)).collect();
        if !from.is_empty() {
            let text = format!(" (stored in row {})", from.join(", "));
            html.say("span", &[("class", "from")], &text);
        }
        if !read.others.is_empty() {
            html.element("ul", &[("class", "others")], |html| {
                for other in &read.others {
                    html.say("li", &[], &format!("could also have been {other}"));
                }
            });
        }
    }
    if !readers.is_empty() {
        let rows: Vec<String> = readers.iter().map(|row| format!("{}", row + 1)).collect();
        let text = match rows.as_slice() {
            [row] => format!(" read in row {row}"),
            rows => format!(" read in rows {}", rows.join(", ")),
        };
        html.say("span", &[("class", "readers")], &text);
    } else if matches!(row.kind.as_str(), "store" | "copy") {
        html.say("span", &[("class", "readers")], " nobody read it");
    }
}
