//! What a check found, for people and for scripts (INTERFACE.md).

use super::Refusal;
use super::finding::{Finding, Severity};
use super::known::{Known, Where};
use super::options::Check;
use super::render::{Detail, render};
use crate::args::Format;
use crate::exit::Exit;
use crate::names::{Names, Place};
use crate::screen::Screen;
use crate::source::Sources;
use landfall_explore::limit::Limit;
use landfall_native::{Cut, Deadline, Foreign, Outcome, Server, Symbols};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Instant;

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
    /// Known and allowed.
    allowed: Vec<Finding>,
    /// Both, by what tells their causes apart.
    known: Known,
    limits: Vec<Limit>,
    /// Power failures of those schedules were tried, too.
    pub(crate) crashes: bool,
    /// Schedules tried; none for a program with one thread.
    pub(crate) schedules: u64,
    pub(crate) cuts: usize,
    pub(crate) runs: u64,
    pub(crate) behaviours: usize,
    pub(crate) events: u64,
    pub(crate) eager_states: String,
    pub(crate) seconds: f64,
    /// Bytes of standard input that every run got.
    pub(super) stdin: Option<u64>,
    /// To build the program; none where it was built before.
    pub(crate) compile_seconds: Option<f64>,
    pub(crate) isolation: Isolation,
    warnings: Vec<String>,
    /// Persistency races that are not listed: a worse finding is about the same store.
    hidden_races: u64,
    /// Code that was not compiled with `landfall cc` touched persistent memory.
    foreign: bool,
    /// Why recoveries were not judged, though nobody asked for less.
    pub(super) not_judged: Option<String>,
    pub(crate) coverage: landfall_report::Coverage,
    /// The search over time.
    pub(crate) progress: Vec<landfall_report::Sample>,
    pub(crate) scope: landfall_report::Scope,
    pub(crate) outcomes: Vec<landfall_report::Outcome>,
    /// What is kept, once there is a verdict.
    text: String,
}

/// Where the runs of the search happened.
#[derive(Debug, Default)]
pub(crate) struct Isolation {
    forks: u64,
    restarts: u64,
    /// Why runs that could have happened in place happened in forks.
    fallback: Option<String>,
    /// Somebody asked the persistent heap for a block.
    allocates: bool,
}

impl Isolation {
    pub(super) fn add(&mut self, server: &Server) {
        let (forks, restarts) = server.runs();
        self.forks += forks;
        self.restarts += restarts;
        self.fallback = self.fallback.take().or(server.fallback());
        self.allocates |= server.allocates();
    }
}

pub(super) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

impl Report {
    /// Counts a failure that is on the list already.
    pub(super) fn is_known(&mut self, finding: &Finding) -> bool {
        let known = self.known.same_cause(finding);
        self.count(known, finding)
    }

    /// Counts a failure with one that ended in the same way at the same place, whatever was lost.
    pub(super) fn ends_there(&mut self, finding: &Finding) -> bool {
        let known = self.known.ends_there(finding);
        self.count(known, finding)
    }

    fn count(&mut self, known: Option<Where>, finding: &Finding) -> bool {
        let Some(at) = known else { return false };
        let known = match at {
            Where::Listed(number) => &mut self.findings[number],
            Where::Allowed(number) => &mut self.allowed[number],
        };
        let more = known.count(finding);
        let first = known.also_lost.len() - more;
        for lost in &known.also_lost[first..] {
            self.known.also_lost(lost, at);
        }
        true
    }

    /// Also those that are allowed.
    pub(super) fn all(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(&self.allowed)
    }

    pub(super) fn add(&mut self, finding: Finding) {
        let at = Where::Listed(self.findings.len());
        self.known.add(&finding, at);
        self.findings.push(finding);
    }

    /// Counts it, and does not list it.
    pub(super) fn allow(&mut self, finding: Finding) {
        let at = Where::Allowed(self.allowed.len());
        self.known.add(&finding, at);
        self.allowed.push(finding);
    }

    /// A worse finding is about the same store as this race.
    pub(super) fn hide_race(&mut self) {
        self.hidden_races += 1;
    }

    /// Something worth knowing that is no finding.
    pub(super) fn warn(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    /// Not everything is looked at, for this reason.
    pub(super) fn limit(&mut self, limit: Limit) {
        if !self.limits.contains(&limit) {
            self.limits.push(limit);
        }
    }

    /// The same, if there is such a reason.
    pub(super) fn limited(&mut self, limit: Option<Limit>) {
        if let Some(limit) = limit {
            self.limit(limit);
        }
    }

    /// Was everything looked at, as far as is known?
    pub(super) fn is_complete(&self) -> bool {
        self.limits.is_empty()
    }

    fn limit_names(&self) -> Vec<&'static str> {
        self.limits.iter().map(|limit| limit.name()).collect()
    }

    /// An execution was ended by a limit, there: what it would have done is not known.
    pub(super) fn unfinished(&mut self, outcome: &Outcome, whose: &str, at: Option<&Place>) {
        let Some(limit) = outcome.limit() else { return };
        self.limit(limit);
        let place = at.map_or_else(String::new, |at| format!(" at {}", at.colons()));
        let text = match limit {
            Limit::Events => format!(
                "{whose} was stopped{place}, after as many steps as it may take: it may compute for long, or never end; allow more with --events"
            ),
            _ => format!(
                "{whose} was stopped{place}: code without instrumentation, or the system, took too long there"
            ),
        };
        self.warn(&text);
    }

    /// The same for executions under a schedule.
    pub(super) fn cut(&mut self, cut: &Cut, whose: &str, names: &Names) {
        if cut.steps {
            self.limit(Limit::Steps);
            self.warn(&format!(
                "{whose} was stopped after as many steps of its threads as are searched: it may go on for long, or one thread may keep others from their turn for ever; allow more with --events"
            ));
        }
        if let Some(unfinished) = &cut.unfinished {
            let at = match &unfinished.outcome {
                Outcome::Exhausted {
                    site: Some(site), ..
                } => names.site(*site).filter(|at| at.line > 0),
                _ => None,
            };
            self.unfinished(&unfinished.outcome, whose, at.as_ref());
        }
    }

    /// So many recoveries were too long for power failures in them.
    pub(super) fn uncut(&mut self, recoveries: u32) {
        self.limit(Limit::RecoveryEvents);
        self.warn(&format!(
            "{} did more than 4 million things each: power failures in them were not tried",
            count(u64::from(recoveries), "recovery", "recoveries")
        ));
    }

    /// Was code seen that was not compiled with `landfall cc`?
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// A program that reads what nobody types is told so.
    pub(super) fn note_input(&mut self, asked: bool, options: &Check) {
        if asked && options.stdin.is_none() && std::io::stdin().is_terminal() {
            self.warn("the program reads its standard input, which is a terminal here: it got nothing; give it a file, as in `< FILE`");
        }
    }

    pub(super) fn note_foreign(
        &mut self,
        when: &str,
        foreign: Option<&Foreign>,
        symbols: &Symbols,
    ) {
        if let Some(foreign) = foreign {
            let text = foreign.describe(symbols);
            self.foreign = true;
            self.warnings.push(format!("{when}{text}"));
        }
    }

    /// Comes to a verdict and writes run.json.
    pub(super) fn finish(&mut self, options: &Check, started: Instant) -> Result<(), Refusal> {
        let worst = self.findings.iter().map(|f| f.severity).max();
        let fails = worst.is_some_and(|worst: Severity| worst >= options.fail_on);
        self.verdict = match (fails, self.limits.is_empty()) {
            (true, _) => Verdict::Findings,
            (false, true) => Verdict::Clean,
            (false, false) => Verdict::Incomplete,
        };
        self.seconds = started.elapsed().as_secs_f64();
        self.scope = options.scope();
        let mut run = self.object(options.last_call(started));
        if let Some(bytes) = self.stdin {
            let file = options.out.join(super::target::INPUT);
            run["stdin"] = json!({"file": file.display().to_string(), "bytes": bytes});
        }
        self.text = super::outputs::save(&run, options)?;
        Ok(())
    }

    fn object(&self, until: Deadline) -> Value {
        let verdict = match self.verdict {
            Verdict::Clean => "clean",
            Verdict::Findings => "findings",
            Verdict::Incomplete => "incomplete",
        };
        let Isolation {
            forks,
            restarts,
            fallback,
            allocates,
        } = &self.isolation;
        let mut findings: Vec<Value> = self.findings.iter().map(Finding::json).collect();
        let check = crate::recorded::Recorded::now(&findings, *allocates);
        super::outputs::suggest(&mut findings, check.as_ref(), until);
        for (object, finding) in findings.iter_mut().zip(&self.findings) {
            finding.tell_more(object);
        }
        let mut run = json!({
            "scope": self.scope,
            "tool": "landfall", "version": env!("CARGO_PKG_VERSION"), "verdict": verdict,
            "complete": self.limits.is_empty(), "limits": self.limit_names(),
            "check": check, "allowed": self.allowed.len(),
            "hidden_races": self.hidden_races,
            "warnings": self.warnings, "not_judged": self.not_judged,
            "stats": {
                "schedules": self.schedules.max(1), "cuts": self.cuts, "runs": self.runs, "behaviours": self.behaviours,
                "events": self.events, "seconds": self.seconds,
                "compile_seconds": self.compile_seconds, "eager_states": self.eager_states,
                "isolation": {"forks": forks, "restarts": restarts, "fallback": fallback},
            },
            "command": crate::recorded::command(), "coverage": self.coverage, "progress": self.progress,
            "outcomes": self.outcomes,
        });
        // Moved, not copied: there may be very many.
        run["findings"] = Value::Array(findings);
        run["sources"] = json!(super::outputs::sources_of(&run));
        run
    }

    pub(super) fn print(&self, options: &Check) -> Exit {
        let screen = Screen::new(options.color);
        let text = match options.format {
            Format::Json => Cow::Borrowed(self.text.as_str()),
            Format::Human if options.quiet => Cow::default(),
            Format::Human => Cow::Owned(match screen.width() {
                Some(width) => super::fit::fit(&self.for_people(options, width), width),
                None => self.for_people(options, super::table::WIDTH),
            }),
        };
        if let Err(error) = screen.out(&text) {
            screen.err(&format!("landfall: standard output: {error}\n"));
            return Exit::Internal;
        }
        match self.verdict {
            Verdict::Clean => Exit::Clean,
            Verdict::Findings => Exit::Findings,
            Verdict::Incomplete => Exit::Limit,
        }
    }

    fn for_people(&self, options: &Check, width: usize) -> String {
        let mut out = String::new();
        let mut sources = Sources::default();
        let detail = match options.verbose {
            true => Detail::Full,
            false => Detail::Short,
        };
        for finding in &self.findings {
            let _ = writeln!(out, "{}", render(finding, &mut sources, detail, width));
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "warning: {warning}\n");
        }
        if self.hidden_races > 0 {
            let races = count(
                self.hidden_races,
                "persistency race is not listed, of a store",
                "persistency races are not listed, of stores",
            );
            let _ = writeln!(
                out,
                "note: {races} that findings above are about (--checks races lists them)\n"
            );
        }
        let executions = count(self.runs, "execution", "executions");
        let schedules = count(self.schedules, "schedule", "schedules");
        let crashes = format!(
            "{} tried, {}",
            count(self.cuts as u64, "power failure", "power failures"),
            count(
                self.behaviours as u64,
                "distinct recovery",
                "distinct recoveries"
            ),
        );
        let (tried, all) = match (self.schedules, self.cuts) {
            (0, _) => (crashes, "every power failure of this run"),
            _ if self.crashes => {
                let recoveries = self.behaviours as u64;
                let recoveries = count(recoveries, "distinct recovery", "distinct recoveries");
                let tried = format!("{schedules}, {recoveries}");
                (tried, "every power failure of every schedule")
            }
            _ => (schedules, "every schedule"),
        };
        let built = self.compile_seconds.map_or_else(String::new, |seconds| {
            format!(" after {seconds:.2} s of compiling")
        });
        let covered = format!("{tried}, {executions}, {:.2} s{built}", self.seconds);
        let eager = match self.eager_states.as_str() {
            "" => String::new(),
            states => format!(" (one by one: {states} states)"),
        };
        let found = match (self.findings.len(), self.allowed.len()) {
            (found, 0) => format!("{found} found"),
            (found, allowed) => format!("{found} found, {allowed} allowed"),
        };
        let verdict = match self.verdict {
            Verdict::Clean if self.findings.is_empty() && self.allowed.is_empty() => {
                format!("clean: {all} was tried")
            }
            Verdict::Clean => format!("clean ({found}): {all} was tried"),
            Verdict::Findings if self.limits.is_empty() => found,
            Verdict::Findings => format!("{found} (limit: {})", self.limit_names().join(", ")),
            Verdict::Incomplete => format!("incomplete (limit: {})", self.limit_names().join(", ")),
        };
        let _ = writeln!(out, "{verdict}: {covered}{eager}");
        if let Some(why) = &self.not_judged {
            let _ = writeln!(out, "not judged: robustness, races, flushes ({why})");
        }
        if let (true, Some(why)) = (options.verbose, &self.isolation.fallback) {
            let _ = writeln!(out, "runs in forks: {why}");
        }
        out
    }
}
