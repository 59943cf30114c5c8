//! What a check found, for people and for scripts (INTERFACE.md).

use super::Refusal;
use super::finding::Finding;
use super::options::Check;
use super::render::{Sources, render};
use crate::args::Format;
use crate::exit::Exit;
use landfall_model::line::Line;
use landfall_model::log::{Entry, Log};
use landfall_native::{Event, Execution, Op, Symbols};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Verdict {
    #[default]
    Clean,
    Findings,
    Incomplete,
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) verdict: Verdict,
    pub(crate) findings: Vec<Finding>,
    pub(crate) limits: Vec<&'static str>,
    pub(crate) cuts: usize,
    pub(crate) runs: u64,
    pub(crate) behaviours: usize,
    pub(crate) events: u64,
    pub(crate) eager_states: String,
    warnings: Vec<String>,
}

fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

pub(super) fn touches_memory(event: &Event) -> bool {
    matches!(event.op, Op::Store | Op::Read)
}

/// How many images a tool that enumerates them would have to try: too many for a machine integer.
pub(super) fn eager_states(log: &Log) -> String {
    // Digits of the product over all lines of their feasible versions, kept up to date along the log.
    let mut feasible: HashMap<Line, (u32, u32)> = HashMap::new();
    let mut product = 0.0;
    let mut digits: Vec<f64> = Vec::new();
    let cuts: HashSet<u32> = log.sufficient_cuts().iter().map(|cut| cut.0).collect();
    for (at, entry) in log.entries().iter().enumerate() {
        if cuts.contains(&(at as u32)) {
            digits.push(product);
        }
        let line = match entry {
            Entry::Store { piece, .. } => piece.addr.line(),
            Entry::Durable { line, .. } => *line,
        };
        let (first, newest) = feasible.entry(line).or_insert((0, 0));
        let before = f64::from(*newest - *first + 1).log10();
        match entry {
            Entry::Store { .. } => *newest += 1,
            Entry::Durable { version, .. } => *first = version.0,
        }
        product += f64::from(*newest - *first + 1).log10() - before;
    }
    if cuts.contains(&log.end().0) {
        digits.push(product);
    }
    let most = digits.iter().copied().fold(0.0, f64::max);
    let total = most
        + digits
            .iter()
            .map(|d| 10f64.powf(d - most))
            .sum::<f64>()
            .log10();
    if total < 6.0 {
        return format!("{:.0}", 10f64.powf(total));
    }
    format!("{:.1}e{}", 10f64.powf(total.fract()), total.trunc())
}

impl Report {
    /// Counts a failure that is on the list already.
    pub(super) fn is_known(&mut self, finding: &Finding) -> bool {
        match self.findings.iter_mut().find(|f| f.same_cause(finding)) {
            Some(known) => {
                known.executions += 1;
                true
            }
            None => false,
        }
    }

    pub(super) fn add(&mut self, mut finding: Finding) {
        if finding.id.is_empty() {
            finding.id = format!("B{}", self.findings.len() + 1);
        }
        self.findings.push(finding);
    }

    pub(super) fn note_foreign(&mut self, execution: &Execution, symbols: &Symbols) {
        if let Some(foreign) = &execution.foreign {
            self.warnings.push(foreign.describe(symbols));
        }
    }

    pub(super) fn settle(&mut self) {
        self.verdict = match (self.findings.is_empty(), self.limits.is_empty()) {
            (false, _) => Verdict::Findings,
            (true, true) => Verdict::Clean,
            (true, false) => Verdict::Incomplete,
        };
    }

    fn json(&self, took: Duration) -> Value {
        let verdict = match self.verdict {
            Verdict::Clean => "clean",
            Verdict::Findings => "findings",
            Verdict::Incomplete => "incomplete",
        };
        let findings: Vec<Value> = self.findings.iter().map(Finding::json).collect();
        let check = crate::recorded::Recorded::now(&findings);
        json!({
            "tool": "landfall", "version": env!("CARGO_PKG_VERSION"), "verdict": verdict,
            "complete": self.limits.is_empty(), "limits": self.limits,
            "findings": findings, "warnings": self.warnings, "check": check,
            "stats": {
                "schedules": 1, "cuts": self.cuts, "runs": self.runs, "behaviours": self.behaviours,
                "events": self.events, "seconds": took.as_secs_f64(), "eager_states": self.eager_states,
            },
        })
    }

    /// Writes run.json.
    pub(super) fn save(&self, options: &Check, took: Duration) -> Result<(), Refusal> {
        let path = options.out.join("run.json");
        let failed = |e| Refusal::new(Exit::Usage, format!("{}: {e}", path.display()));
        std::fs::create_dir_all(&options.out).map_err(failed)?;
        let text = format!("{:#}\n", self.json(took));
        std::fs::write(&path, text).map_err(failed)
    }

    pub(super) fn print(&self, options: &Check, took: Duration) -> Exit {
        match options.format {
            Format::Json => println!("{:#}", self.json(took)),
            Format::Human => self.print_for_people(took),
        }
        match self.verdict {
            Verdict::Clean => Exit::Clean,
            Verdict::Findings => Exit::Findings,
            Verdict::Incomplete => Exit::Limit,
        }
    }

    fn print_for_people(&self, took: Duration) {
        let mut sources = Sources::default();
        for finding in &self.findings {
            println!("{}", render(finding, &mut sources));
        }
        for warning in &self.warnings {
            println!("warning: {warning}\n");
        }
        let covered = format!(
            "{} tried, {}, {}, {:.2} s",
            count(self.cuts as u64, "power failure", "power failures"),
            count(
                self.behaviours as u64,
                "distinct recovery",
                "distinct recoveries"
            ),
            count(self.runs, "execution", "executions"),
            took.as_secs_f64()
        );
        let eager = match self.eager_states.as_str() {
            "" => String::new(),
            states => format!(" (one by one: {states} states)"),
        };
        match self.verdict {
            Verdict::Clean => {
                println!("clean: every power failure of this run was tried: {covered}{eager}")
            }
            Verdict::Findings => println!("{} found: {covered}{eager}", self.findings.len()),
            Verdict::Incomplete => println!(
                "incomplete (limit: {}): {covered}{eager}",
                self.limits.join(", ")
            ),
        }
    }
}
