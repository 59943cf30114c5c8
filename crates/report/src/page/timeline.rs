//! The timeline: a column per thread, rows in the order they happened, the power failure as a line across.

use super::excerpt::cut;
use crate::html::Html;
use crate::{Phase, Row, Timeline};

/// Whoever made the timeline has left out what does not matter; this only bounds the page.
const MOST_ROWS: usize = 1_000;

pub(super) fn timeline(html: &mut Html, finding: &str, story: &Timeline) {
    let columns = story.threads.len().max(1);
    let readers = readers(story);
    html.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">");
    html.element("table", &[("class", "timeline")], |html| {
        html.raw("<thead><tr><th scope=\"col\">#</th>");
        if story.threads.is_empty() {
            html.raw("<th scope=\"col\">what it did</th>");
        }
        for thread in &story.threads {
            html.say("th", &[("scope", "col")], thread);
        }
        html.raw("<th scope=\"col\">where</th></tr></thead>");
        html.element("tbody", &[], |html| {
            for (index, row) in story.rows.iter().take(MOST_ROWS).enumerate() {
                one_row(html, finding, index, row, columns, &readers[index]);
            }
        });
    });
    html.raw("</div>");
}

/// For each row, the rows that read what it stored.
fn readers(story: &Timeline) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); story.rows.len()];
    for (index, row) in story.rows.iter().enumerate() {
        for &from in row.read.iter().flat_map(|read| &read.from) {
            if let Some(readers) = readers.get_mut(from as usize) {
                readers.push(index);
            }
        }
    }
    readers
}

fn one_row(
    html: &mut Html,
    finding: &str,
    index: usize,
    row: &Row,
    columns: usize,
    readers: &[usize],
) {
    let across = (columns + 2).to_string();
    match row.phase {
        Phase::Failure => {
            let attributes = [("colspan", across.as_str()), ("class", "failure")];
            html.element("tr", &[], |html| {
                html.say("td", &attributes, &format!("⚡ {}", row.text));
            });
        }
        Phase::Omitted => {
            let attributes = [("colspan", across.as_str()), ("class", "omitted")];
            html.element("tr", &[], |html| {
                html.say("td", &attributes, &row.text);
            });
        }
        Phase::Before | Phase::Recovery => {
            let id = format!("{finding}-row{index}");
            let from: Vec<String> = row
                .read
                .iter()
                .flat_map(|read| &read.from)
                .map(|from| format!("{finding}-row{from}"))
                .collect();
            let readers: Vec<String> = readers
                .iter()
                .map(|reader| format!("{finding}-row{reader}"))
                .collect();
            let related = [from, readers].concat().join(" ");
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
                        html.element("td", &[("class", "did")], |html| did(html, row));
                    } else {
                        html.raw("<td></td>");
                    }
                }
                let at = row.at.as_ref().map_or_else(String::new, |at| at.colons());
                html.say("td", &[("class", "place")], &at);
            });
        }
    }
}

fn did(html: &mut Html, row: &Row) {
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
}
