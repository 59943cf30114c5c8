//! A witness as a picture: a column per thread, time downwards, and what connects events.

use crate::program::ProofEventId;
use crate::witness::{Fate, Refutation};
use std::collections::HashMap;
use std::fmt::Write;

const WIDTH: usize = 330;
const GAP: usize = 90;
const ROW: usize = 46;
const BOX: usize = 30;
const TOP: usize = 50;
/// Letters that fit a box.
const LETTERS: usize = 46;

impl Refutation {
    /// The execution graph as SVG: `po` down each column, `rf`, `co`, `fb`, and below the power failure what was recovered.
    pub fn to_svg(&self) -> String {
        let columns: Vec<usize> = {
            let used = |t: &usize| self.steps.iter().any(|step| step.thread.index() == *t);
            (0..self.threads.len()).filter(used).collect()
        };
        let column = |thread: usize| columns.iter().position(|&t| t == thread).unwrap_or(0);
        let left = |column: usize| 20 + column * (WIDTH + GAP);
        let mut places: HashMap<ProofEventId, (usize, usize)> = HashMap::new();
        for (row, step) in self.steps.iter().enumerate() {
            places.insert(
                step.event,
                (left(column(step.thread.index())), TOP + row * ROW),
            );
        }
        let below = TOP + self.steps.len() * ROW + 30;
        let across = columns.len().max(1);
        let rows = self.found.len().div_ceil(across);
        let (width, height) = (left(across) + 20, below + rows * ROW + 40);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"monospace\" font-size=\"11\">\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"context-stroke\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (number, &thread) in columns.iter().enumerate() {
            let name = escaped(&self.threads[thread]);
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"30\" font-weight=\"bold\">{name}</text>",
                left(number)
            );
        }
        for &thread in &columns {
            let mut own: Vec<ProofEventId> = self
                .steps
                .iter()
                .filter(|s| s.thread.index() == thread)
                .map(|s| s.event)
                .collect();
            own.sort_unstable();
            for pair in own.windows(2) {
                let (a, b) = (places[&pair[0]], places[&pair[1]]);
                arrow(
                    &mut out,
                    (a.0 + 12, a.1 + BOX),
                    (b.0 + 12, b.1),
                    "gray",
                    "po",
                );
            }
        }
        for step in &self.steps {
            let (x, y) = places[&step.event];
            let fill = match step.fate {
                Fate::Survived => "#d6f5d6",
                Fate::Lost => "#fbdcdc",
                Fate::Passed => "#f4f4f4",
            };
            let mut text = step.label.clone();
            if let Some((value, _)) = step.read {
                let _ = write!(text, " → {}", value as i64);
            }
            boxed(&mut out, (x, y), fill, &text);
            if let Some((_, Some(source))) = step.read
                && let Some(&from) = places.get(&source)
            {
                arrow(
                    &mut out,
                    side(from, x),
                    side((x, y), from.0),
                    "darkgreen",
                    "rf",
                );
            }
        }
        for (a, b) in &self.coherence {
            if let (Some(&from), Some(&to)) = (places.get(a), places.get(b)) {
                arrow(&mut out, side(from, to.0), side(to, from.0), "brown", "co");
            }
        }
        if self.needs_failure() {
            let y = below - 22;
            let _ = writeln!(
                out,
                "<line x1=\"10\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"crimson\" stroke-dasharray=\"6 4\"/><text x=\"20\" y=\"{}\" fill=\"crimson\">power failure</text>",
                width - 10,
                y - 4
            );
        }
        for (number, found) in self.found.iter().enumerate() {
            let place = (left(number % across), below + number / across * ROW);
            let text = format!("{} = {}", found.name, found.value as i64);
            boxed(&mut out, place, "#e8f0fe", &text);
            if let Some(from) = found.source.and_then(|source| places.get(&source)) {
                arrow(
                    &mut out,
                    (from.0 + WIDTH, from.1 + BOX / 2),
                    (place.0 + WIDTH, place.1 + 8),
                    "darkgreen",
                    "rf",
                );
            }
            for (flush, line) in &self.flushed {
                if found.line == Some(*line)
                    && let Some(from) = places.get(flush)
                {
                    arrow(
                        &mut out,
                        (from.0 + WIDTH, from.1 + BOX / 2),
                        (place.0 + WIDTH, place.1 + 20),
                        "royalblue",
                        "fb",
                    );
                }
            }
        }
        out + "</svg>\n"
    }
}

/// The side of a box that looks towards another column; its own right edge within one.
fn side((x, y): (usize, usize), towards: usize) -> (usize, usize) {
    let edge = match towards < x {
        true => x,
        false => x + WIDTH,
    };
    (edge, y + BOX / 2)
}

fn boxed(out: &mut String, (x, y): (usize, usize), fill: &str, text: &str) {
    let short: String = match text.chars().count() > LETTERS {
        true => text.chars().take(LETTERS - 1).chain(['…']).collect(),
        false => text.to_owned(),
    };
    let _ = writeln!(
        out,
        "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{BOX}\" rx=\"4\" fill=\"{fill}\" stroke=\"#888\"/><text x=\"{}\" y=\"{}\">{}</text></g>",
        escaped(text),
        x + 8,
        y + 19,
        escaped(&short)
    );
}

/// A curve that leaves room for boxes in between.
fn arrow(out: &mut String, from: (usize, usize), to: (usize, usize), colour: &str, name: &str) {
    let same = from.0 == to.0 && name != "po";
    let bend = if same { 60 } else { 0 };
    let (mx, my) = ((from.0 + to.0) / 2 + bend, (from.1 + to.1) / 2);
    let _ = writeln!(
        out,
        "<path d=\"M{} {} Q{mx} {my} {} {}\" fill=\"none\" stroke=\"{colour}\" marker-end=\"url(#tip)\"/><text x=\"{}\" y=\"{my}\" fill=\"{colour}\" font-size=\"9\">{name}</text>",
        from.0,
        from.1,
        to.0,
        to.1,
        mx.saturating_sub(bend / 2) + 2
    );
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
