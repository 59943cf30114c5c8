//! The search over time, as charts drawn here: no script, no library.

use super::summary::thousands;
use crate::html::Html;
use landfall_finding::{Run, Sample};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 160.0;
/// More points than this cannot be told apart.
const MOST_POINTS: usize = 200;

/// A name, its colour, its value in a sample.
type ChartLine = (&'static str, &'static str, fn(&Sample) -> Option<f64>);

/// Is a chart of what there is, or of a guess at what there will be?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Known,
    Guess,
}

const CHARTS: [(&str, Of, &[ChartLine]); 3] = [
    (
        "Executions and distinct behaviours",
        Of::Known,
        &[
            ("executions", "c1", |s| Some(s.runs as f64)),
            ("behaviours", "c2", |s| Some(s.behaviours as f64)),
        ],
    ),
    (
        "Size of the trees",
        Of::Known,
        &[
            ("recovery tree", "c1", |s| Some(s.nodes as f64)),
            ("schedule tree", "c2", |s| Some(s.schedules as f64)),
        ],
    ),
    (
        "Estimated executions in all, and done",
        Of::Guess,
        &[
            ("estimate", "c3", |s| s.estimate),
            ("done so far", "c1", |s| Some(s.runs as f64)),
        ],
    ),
];

pub(super) fn progress(html: &mut Html, run: &Run) {
    let attributes = [("id", "search"), ("aria-labelledby", "search-title")];
    html.element("section", &attributes, |html| {
        html.say("h2", &[("id", "search-title")], "Search");
        super::outcomes::outcomes(html, &run.outcomes);
        html.say("h3", &[], "Over time");
        html.raw("<div class=\"charts\">");
        for (title, of, lines) in CHARTS {
            let told =
                |line: &ChartLine| run.progress.iter().any(|s| line.2(s).unwrap_or(0.0) > 0.0);
            let lines: Vec<&ChartLine> = lines.iter().filter(|line| told(line)).collect();
            // An estimate needs both sides to mean something.
            if lines.is_empty() || of == Of::Guess && lines.len() < 2 {
                continue;
            }
            let truth = (of == Of::Guess && run.complete)
                .then(|| run.progress.last().map(|last| last.runs as f64))
                .flatten();
            chart(html, title, &lines, &run.progress, truth);
        }
        html.raw("</div>");
    });
}

/// `truth` is what an estimate is to be held against: a line across.
fn chart(
    html: &mut Html,
    title: &str,
    lines: &[&ChartLine],
    samples: &[Sample],
    truth: Option<f64>,
) {
    let every = samples.len().div_ceil(MOST_POINTS).max(1);
    let end = samples.last().map_or(0.0, |s| s.seconds).max(1e-9);
    let values = samples
        .iter()
        .flat_map(|s| lines.iter().filter_map(|line| line.2(s)));
    let most = values.filter(|v| v.is_finite()).fold(1.0, f64::max);
    html.element("figure", &[("class", "chart")], |html| {
        html.say("figcaption", &[], title);
        let size = format!("0 0 {} {}", WIDTH + 90.0, HEIGHT + 30.0);
        let label = format!(
            "{title}, up to {} after {}",
            thousands(most as u64),
            time(end)
        );
        let attributes = [
            ("viewBox", size.as_str()),
            ("role", "img"),
            ("aria-label", &label),
        ];
        html.element("svg", &attributes, |html| {
            let frame = format!("M0 0V{HEIGHT}H{WIDTH}");
            html.element("path", &[("class", "axis"), ("d", &frame)], |_| {});
            let mut legend = 14.0;
            for (name, class, value) in lines {
                let mut path = String::new();
                let last = samples.len() - 1;
                let kept = samples
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| i % every == 0 || *i == last);
                for (_, sample) in kept {
                    let Some(value) = value(sample).filter(|v| v.is_finite()) else {
                        continue;
                    };
                    let (x, y) = (sample.seconds / end * WIDTH, HEIGHT * (1.0 - value / most));
                    let command = if path.is_empty() { 'M' } else { 'L' };
                    let _ = write!(path, "{command}{x:.1} {y:.1}");
                }
                html.element("path", &[("class", class), ("d", &path)], |_| {});
                let at = legend.to_string();
                let x = (WIDTH + 6.0).to_string();
                html.say("text", &[("class", class), ("x", &x), ("y", &at)], name);
                legend += 18.0;
            }
            if let Some(truth) = truth {
                let y = HEIGHT * (1.0 - truth / most);
                let path = format!("M0 {y:.1}H{WIDTH}");
                html.element("path", &[("class", "c2"), ("d", &path)], |_| {});
                let (x, at) = ((WIDTH + 6.0).to_string(), legend.to_string());
                html.say(
                    "text",
                    &[("class", "c2"), ("x", &x), ("y", &at)],
                    "in the end",
                );
            }
            let below = (HEIGHT + 18.0).to_string();
            html.say("text", &[("x", "0"), ("y", &below)], "0");
            let right = WIDTH.to_string();
            let attributes = [("x", right.as_str()), ("y", &below), ("text-anchor", "end")];
            html.say("text", &attributes, &time(end));
            html.say("text", &[("x", "4"), ("y", "14")], &thousands(most as u64));
        });
    });
}

/// Short searches in milliseconds.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", 1000.0 * s),
        s => format!("{s:.1} s"),
    }
}
