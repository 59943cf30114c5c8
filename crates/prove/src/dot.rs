//! A witness as a graph in the DOT language: a column per thread, and what connects them.

use crate::program::GuardedEventId;
use crate::witness::{Fate, Witness};
use std::fmt::Write;

impl Witness {
    /// The execution graph: `po` down each column, `rf`, `co`, `fb`, and what was recovered.
    pub fn to_dot(&self) -> String {
        let mut out = String::from(
            "digraph execution {\n  rankdir=TB; node [shape=box, fontname=monospace]; edge [fontname=monospace];\n",
        );
        for (number, name) in self.threads.iter().enumerate() {
            let _ = writeln!(
                out,
                "  subgraph cluster_{number} {{ label={}; ",
                quoted(name)
            );
            let mut previous: Option<GuardedEventId> = None;
            let mut steps: Vec<_> = self
                .steps
                .iter()
                .filter(|step| step.thread.index() == number)
                .collect();
            steps.sort_by_key(|step| step.event);
            for step in steps {
                let mut label = step.label.clone();
                if let Some((value, _)) = step.read {
                    let _ = write!(label, "\nreads {}", value as i64);
                }
                let style = match step.fate {
                    Fate::Survived => ", style=filled, fillcolor=palegreen",
                    Fate::Lost => ", style=filled, fillcolor=mistyrose",
                    Fate::Passed => "",
                };
                let id = node(step.event);
                let _ = writeln!(out, "    {id} [label={}{style}];", quoted(&label));
                if let Some(previous) = previous {
                    let _ = writeln!(out, "    {} -> {id} [label=po];", node(previous));
                }
                previous = Some(step.event);
            }
            out += "  }\n";
        }
        let mut edge = |from: String, to: String, label: &str, colour: &str| {
            let _ = writeln!(
                out,
                "  {from} -> {to} [label={label}, color={colour}, fontcolor={colour}, constraint=false];"
            );
        };
        for step in &self.steps {
            if let Some((_, Some(source))) = step.read {
                edge(node(source), node(step.event), "rf", "darkgreen");
            }
        }
        for &(a, b) in &self.coherence {
            edge(node(a), node(b), "co", "brown");
        }
        for (number, found) in self.found.iter().enumerate() {
            if let Some(source) = found.source {
                edge(node(source), format!("found{number}"), "rf", "darkgreen");
            }
            for step in &self.steps {
                let flushes = self
                    .flushed
                    .iter()
                    .any(|&(flush, line)| flush == step.event && found.line == Some(line));
                if flushes {
                    edge(node(step.event), format!("found{number}"), "fb", "blue");
                }
            }
        }
        for (number, found) in self.found.iter().enumerate() {
            let label = format!("{} = {}", found.name, found.value as i64);
            let _ = writeln!(
                out,
                "  found{number} [shape=ellipse, label={}];",
                quoted(&label)
            );
        }
        out += "}\n";
        out
    }
}

fn node(event: GuardedEventId) -> String {
    format!("e{}", event.0)
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out += "\\n",
            c => out.push(c),
        }
    }
    out + "\""
}
