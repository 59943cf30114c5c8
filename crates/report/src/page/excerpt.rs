//! A few lines of source around a place.

use super::Lines;
use crate::Place;
use crate::html::Html;

const AROUND: u32 = 2;
/// Longer lines are cut: minified or generated code.
pub(super) const LONGEST: usize = 400;

/// `role` says what the place is in the story: `failed`, `crash`, `kept`, `lost`.
pub(super) fn excerpt(
    html: &mut Html,
    role: &'static str,
    title: &str,
    at: &Place,
    sources: &Lines<'_>,
) {
    html.element("figure", &[("class", role)], |html| {
        html.element("figcaption", &[], |html| {
            html.say("strong", &[], title).text(" ");
            html.say("span", &[("class", "place")], &at.colons());
            if !at.function.is_empty() {
                html.text(" in ").say("code", &[], &at.function);
            }
        });
        let Some(lines) = sources.get(at.file.as_str()) else {
            html.say("p", &[("class", "missing")], "The source was not at hand.");
            return;
        };
        let first = at.line.saturating_sub(AROUND).max(1);
        html.element("pre", &[("class", "source")], |html| {
            let wanted = lines.iter().enumerate().skip(first as usize - 1);
            for (index, line) in wanted.take(2 * AROUND as usize + 1) {
                let number = index as u32 + 1;
                let class = if number == at.line { "here" } else { "near" };
                html.element("span", &[("class", class)], |html| {
                    html.say("span", &[("class", "number")], &format!("{number:>4} "));
                    html.text(cut(line)).text("\n");
                });
            }
        });
    });
}

pub(super) fn cut(line: &str) -> &str {
    first(line, LONGEST)
}

/// At most this many characters.
pub(super) fn first(text: &str, most: usize) -> &str {
    let end = text
        .char_indices()
        .nth(most)
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}
