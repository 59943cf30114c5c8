//! The page: one file, no network, no framework. What matters is there without its script; the script copies, highlights and
//! switches colours.

mod coverage;
mod excerpt;
mod finding;
mod lanes;
mod outcomes;
mod progress;
mod summary;
mod timeline;
mod turns;

use crate::html::Html;
use crate::{Run, Sources};
use std::collections::BTreeMap;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page stays under 5 MB: past these sizes findings are listed by their heading only, then counted, and coverage ends.
const DETAILS_BYTES: usize = 3_000_000;
const HEADINGS_BYTES: usize = 4_000_000;
const COVERAGE_BYTES: usize = 4_800_000;

/// Stores of one finding that are shown in the source.
const MOST_STORES: usize = 20;

/// Source files by name, line by line: thousands of places are looked up.
type Lines<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// The whole page. `sources` are the files that places name, as they were when the program was checked; what is not there is
/// shown without its text.
pub fn page(run: &Run, sources: &Sources) -> String {
    let mut html = Html::default();
    html.raw("<!DOCTYPE html>\n");
    html.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |html| head(html, run));
        html.element("body", &[], |html| body(html, run, sources));
    });
    html.raw("\n");
    html.finish()
}

fn head(html: &mut Html, run: &Run) {
    html.raw("<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    // Belt and braces: even if something got through, nothing but our own script would run, and nothing could be loaded.
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">");
    html.say(
        "title",
        &[],
        &format!("Landfall: {}", summary::verdict(run)),
    );
    html.raw("<style>").raw(STYLE).raw("</style>");
}

fn body(html: &mut Html, run: &Run, sources: &Sources) {
    html.raw("<a class=\"skip\" href=\"#findings\">Skip to the findings</a>");
    html.element("header", &[], |html| {
        html.say("h1", &[], "Landfall");
        html.raw("<nav aria-label=\"Sections\"><a href=\"#summary\">Summary</a><a href=\"#findings\">Findings</a>");
        if !run.coverage.is_empty() {
            html.raw("<a href=\"#coverage\">Crash coverage</a>");
        }
        if !run.progress.is_empty() {
            html.raw("<a href=\"#search\">Search</a>");
        }
        html.raw("</nav><button type=\"button\" id=\"theme\" aria-label=\"Switch between light and dark\">light/dark</button>");
    });
    html.element("main", &[], |html| {
        summary::summary(html, run);
        findings(html, run, sources);
        if !run.coverage.is_empty() {
            coverage::coverage(html, &run.coverage, sources);
        }
        if !run.progress.is_empty() {
            progress::progress(html, run);
        }
    });
    html.element("footer", &[], |html| {
        html.text(&format!("landfall {}", run.version));
    });
    html.raw("<div id=\"said\" role=\"status\" aria-live=\"polite\"></div><script>")
        .raw(SCRIPT)
        .raw("</script>");
}

fn findings(html: &mut Html, run: &Run, sources: &Sources) {
    let lines = |(file, text)| -> (&str, Vec<&str>) {
        let (file, text): (&String, &String) = (file, text);
        (file, text.lines().collect())
    };
    let sources: Lines<'_> = sources.iter().map(lines).collect();
    html.element(
        "section",
        &[("id", "findings"), ("aria-labelledby", "findings-title")],
        |html| {
            html.say("h2", &[("id", "findings-title")], "Findings");
            if run.findings.is_empty() {
                html.say("p", &[("class", "none")], "None.");
                return;
            }
            if run.findings.len() > 1 {
                finding::filter(html, &run.findings);
            }
            let mut rest = run.findings.iter().enumerate().peekable();
            while let Some((index, found)) = rest.next_if(|_| html.len() < DETAILS_BYTES) {
                finding::finding(html, found, index == 0, &sources);
            }
            if rest.peek().is_none() {
                return;
            }
            let more = format!(
                "{} more, by their headings; run.json has all there is to know of them.",
                rest.len()
            );
            html.say("p", &[], &more);
            html.element("ul", &[("class", "rest")], |html| {
                while let Some((_, found)) = rest.next_if(|_| html.len() < HEADINGS_BYTES) {
                    html.element("li", &[], |html| finding::heading(html, found));
                }
                if rest.len() > 0 {
                    html.say("li", &[], &format!("and {} others", rest.len()));
                }
            });
        },
    );
}
