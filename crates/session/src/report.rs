//! What a search has come to so far, and in the end the run.

use crate::error::Error;
use crate::known::{KnownCauses, Where};
use crate::names::ProgramNames;
use crate::options::{Asked, Stdin, Target};
use landfall_finding::text::count;
use landfall_finding::{
    Assumption, AssumptionKind, Coverage, DrawnSchedules, Equivalence, Finding, Isolation, Limit,
    Place, RecoveryOutcome, Run, Sample, SearchSpace, Stats, StdinFile, Verdict, Word,
};
use landfall_native::{Cut, Foreign, Outcome, Server, Symbols};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Instant;

#[derive(Clone, Debug, Default)]
pub(crate) struct SearchReport {
    pub(crate) findings: Vec<Finding>,
    /// Known and allowed.
    allowed: Vec<Finding>,
    /// Both, by what tells their causes apart.
    known: KnownCauses,
    limits: Vec<Limit>,
    /// Power failures of those schedules were tried, too.
    pub(crate) crashes: bool,
    /// Schedules tried; none for a program with one thread.
    pub(crate) schedules: u64,
    /// What tells them apart.
    pub(crate) equivalence: Equivalence,
    /// What schedules drawn by ranks promise.
    pub(crate) drawn: Option<DrawnSchedules>,
    /// How many there would be if threads that are alike were told apart.
    pub(crate) stand_for: u64,
    /// Executions that an assumption ended.
    pub(crate) assumed: u64,
    /// Beginnings of executions, in which a thread looked in vain.
    pub(crate) in_vain: u64,
    /// The program has threads.
    pub(crate) threaded: bool,
    pub(crate) cuts: usize,
    pub(crate) runs: u64,
    pub(crate) behaviours: usize,
    /// Recoveries that would show a finding again, and were not run.
    pub(crate) skipped: u64,
    pub(crate) events: u64,
    pub(crate) eager_states: String,
    /// Bytes of standard input that every run got.
    pub(crate) stdin: Option<u64>,
    /// To build the program; none where it was built before.
    pub(crate) compile_seconds: Option<f64>,
    pub(crate) isolation: Isolation,
    /// Somebody asked the persistent heap for a block.
    allocates: bool,
    assumptions: Vec<Assumption>,
    warnings: Vec<String>,
    /// Persistency races that are not listed: a worse finding is about the same store.
    hidden_races: u64,
    /// Plain stores that this compiler made one instruction of: another one could tear them.
    plain_stores: u64,
    /// So often timers that repeat went off in each execution; 0 where there are none.
    pub(crate) timer_signals: u64,
    /// Findings inside of libraries, by name.
    in_libraries: BTreeMap<String, u64>,
    /// Code that was not compiled with `landfall cc` touched persistent memory.
    foreign: bool,
    /// Why recoveries were not judged, though nobody asked for less.
    pub(crate) not_judged: Option<String>,
    pub(crate) coverage: Coverage,
    /// The search over time.
    pub(crate) progress: Vec<Sample>,
    pub(crate) outcomes: Vec<RecoveryOutcome>,
}

impl SearchReport {
    /// Counts a failure that is on the list already.
    pub(crate) fn is_known(&mut self, finding: &Finding) -> bool {
        let known = self.known.same_cause(finding);
        self.count(known, finding)
    }

    /// Counts a failure with one that ended in the same way at the same place, whatever was lost.
    pub(crate) fn ends_there(&mut self, finding: &Finding) -> bool {
        let known = self.known.ends_there(finding);
        self.count(known, finding)
    }

    fn count(&mut self, known: Option<Where>, finding: &Finding) -> bool {
        let Some(at) = known else { return false };
        let known = match at {
            Where::Listed(number) => &mut self.findings[number],
            Where::Allowed(number) => &mut self.allowed[number],
        };
        self.known.count(at, known, finding);
        true
    }

    /// Counts a symptom with the finding that says of the store at this place that no transaction answers for it.
    pub(crate) fn counts_with(&mut self, unadded: &Place, symptom: &Finding) -> bool {
        let known = self.known.unadded(unadded);
        self.count(known, symptom)
    }

    /// A finding on the list shows like this one, too: others like it are counted there.
    pub(crate) fn shows_as(&mut self, finding: &Finding, symptom: &Finding) {
        if let Some(at) = self.known.same_cause(finding) {
            self.known.shows_as(symptom, at);
        }
    }

    /// Also those that are allowed.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(&self.allowed)
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        let at = Where::Listed(self.findings.len());
        self.known.add(&finding, at);
        self.findings.push(finding);
    }

    /// Counts it, and does not list it.
    pub(crate) fn allow(&mut self, finding: Finding) {
        let at = Where::Allowed(self.allowed.len());
        self.known.add(&finding, at);
        self.allowed.push(finding);
    }

    /// A worse finding is about the same store as this race.
    pub(crate) fn hide_race(&mut self) {
        self.hidden_races += 1;
    }

    /// Another compiler could tear this store; the one that was used did not.
    pub(crate) fn plain_store(&mut self) {
        self.plain_stores += 1;
    }

    /// All of a finding is inside of this library.
    pub(crate) fn in_library(&mut self, name: &str) {
        *self.in_libraries.entry(name.to_owned()).or_default() += 1;
    }

    /// Something worth knowing that is no finding.
    pub(crate) fn warn(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    /// Something is taken to hold.
    pub(crate) fn assume(&mut self, assumption: Assumption) {
        if !self.assumptions.contains(&assumption) {
            self.assumptions.push(assumption);
        }
    }

    /// Not everything is looked at, for this reason.
    pub(crate) fn limit(&mut self, limit: Limit) {
        if !self.limits.contains(&limit) {
            self.limits.push(limit);
        }
    }

    /// Not everything is looked at, if there is a reason here.
    pub(crate) fn limited(&mut self, limit: Option<Limit>) {
        if let Some(limit) = limit {
            self.limit(limit);
        }
    }

    /// A search in which every execution was ended by an assumption has seen none to its end.
    pub(crate) fn explain_assumptions(&mut self) {
        if self.threaded && self.schedules == 0 && self.assumed > 0 {
            self.warn("every execution was ended by an assumption that does not hold: none was seen to its end");
        }
    }

    /// Was everything looked at, as far as is known?
    pub(crate) fn is_complete(&self) -> bool {
        self.limits.is_empty()
    }

    /// Counts where the runs of a server happened.
    pub(crate) fn add_server(&mut self, server: &Server) {
        let (forks, restarts) = server.runs();
        self.isolation.forks += forks;
        self.isolation.restarts += restarts;
        self.isolation.fallback = self.isolation.fallback.take().or(server.fallback());
        self.allocates |= server.allocates();
        if server.time_jumped() {
            self.assume(Assumption {
                kind: AssumptionKind::Time,
                message: "where a loop with threads only looks at the clock, a second passes, then an hour, then ten years; other times were not tried".to_owned(),
                at: None,
            });
        }
    }

    /// An execution was ended by a limit, there: what it would have done is not known.
    pub(crate) fn unfinished(&mut self, outcome: &Outcome, whose: &str, at: Option<&Place>) {
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

    /// Executions under a schedule were ended by limits: what they would have done is not known.
    pub(crate) fn cut(&mut self, cut: &Cut, whose: &str, names: &ProgramNames) {
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
    pub(crate) fn uncut(&mut self, recoveries: u32) {
        self.limit(Limit::RecoveryEvents);
        self.warn(&format!(
            "{} did more than 4 million things each: power failures in them were not tried",
            count(u64::from(recoveries), "recovery", "recoveries")
        ));
    }

    /// Was code seen that was not compiled with `landfall cc`?
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// A program that reads what nobody types is told so.
    pub(crate) fn note_input(&mut self, asked: bool, options: &Asked) {
        let typed = options.stdin == Stdin::Process && std::io::stdin().is_terminal();
        if asked && typed {
            self.warn("the program reads its standard input, which is a terminal here: it got nothing; give it a file, as in `< FILE`");
        }
    }

    pub(crate) fn note_foreign(
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

    /// Comes to a verdict.
    pub(crate) fn finish(
        mut self,
        target: &Target,
        options: &Asked,
        started: Instant,
    ) -> Result<Run, Error> {
        let known_before = options.known.remove(&mut self.findings);
        let counts = |finding: &&Finding| {
            let harmless = (finding.effect).is_some_and(|effect| effect < options.fail_on_race);
            finding.severity >= options.fail_on && !harmless
        };
        let fails = self.findings.iter().any(|finding| counts(&finding));
        // What looks in vain is left to another execution; where all of them do so, that one was not found.
        let none_ended = self.threaded && self.schedules == 0 && self.assumed == 0;
        if none_ended && self.in_vain > 0 && self.findings.is_empty() && self.limits.is_empty() {
            self.limit(Limit::Steps);
            self.warn("no schedule came to an end: in each of them some thread went round a loop in vain and was left there; please report the program");
        }
        let complete = self.limits.is_empty();
        let verdict = match (fails, complete) {
            (true, _) => Verdict::Findings,
            (false, true) => Verdict::Clean,
            (false, false) => Verdict::Incomplete,
        };
        let mut findings = self.findings;
        let seconds = started.elapsed().as_secs_f64();
        let check = crate::record::record(target, options, &findings, self.allocates);
        let until = options.last_call(started);
        crate::outputs::suggest(&mut findings, check.as_ref(), until);
        let mut run = Run {
            tool: "landfall".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            verdict,
            complete,
            limits: self.limits,
            findings,
            stats: Stats {
                schedules: match self.threaded {
                    true => self.schedules,
                    false => 1,
                },
                equivalence: self.threaded.then_some(self.equivalence),
                drawn: self.drawn.take(),
                symmetric: (self.stand_for > self.schedules).then_some(self.stand_for),
                assumed: self.assumed,
                in_vain: self.in_vain,
                cuts: self.cuts as u64,
                runs: self.runs,
                behaviours: self.behaviours as u64,
                skipped: self.skipped,
                events: self.events,
                seconds,
                compile_seconds: self.compile_seconds,
                eager_states: self.eager_states,
                isolation: Some(self.isolation),
            },
            scope: Some(options.scope()),
            space: match (self.threaded, self.crashes) {
                (false, _) => SearchSpace::PowerFailures,
                (true, true) => SearchSpace::PowerFailuresOfSchedules,
                (true, false) => SearchSpace::Schedules,
            },
            allowed: self.allowed.len(),
            hidden_races: self.hidden_races,
            plain_stores: self.plain_stores,
            timer_signals: self.timer_signals,
            known_before,
            in_libraries: self.in_libraries,
            not_judged: self.not_judged,
            assumptions: self.assumptions,
            warnings: self.warnings,
            check,
            command: crate::record::command(&options.arguments),
            coverage: self.coverage,
            progress: self.progress,
            outcomes: self.outcomes,
            stdin: self.stdin.map(|bytes| StdinFile {
                file: Word::new(options.out.join(crate::setup::INPUT).as_os_str()),
                bytes,
            }),
            sources: std::collections::BTreeMap::new(),
        };
        run.sources = crate::outputs::sources_of(&run, options);
        crate::outputs::save(&run, options)?;
        Ok(run)
    }
}
