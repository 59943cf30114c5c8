//! What is to be checked, and how.

use crate::baseline::Baseline;
use landfall_check::races::Window;
use landfall_explore::recovery::Options as SearchOptions;
use landfall_explore::schedule::data_races::Relation;
use landfall_explore::schedule::saturate::Preempt;
use landfall_explore::schedule::seal::Directive;
use landfall_finding::{Allowed, Equivalence, RaceEffect, Severity};
use landfall_model::order::Platform;
use landfall_native::{
    Atomics, Budget, ClientScript, Deadline, FreshBlocks, Htm, HtmCache, HtmFailures, Input, Model,
    Moment, Policy,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A program: sources that are built first, or one that was built with `landfall cc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Target {
    /// C or C++ sources.
    pub sources: Vec<PathBuf>,
    /// With sources: arguments of the program. Without: the program and its arguments.
    #[serde(with = "words")]
    pub command: Vec<OsString>,
    /// Options for the compiler.
    #[serde(with = "words")]
    pub compiler_flags: Vec<OsString>,
}

impl Target {
    /// These sources, built to a program without arguments.
    pub fn sources(sources: impl IntoIterator<Item = impl Into<PathBuf>>) -> Target {
        Target {
            sources: sources.into_iter().map(Into::into).collect(),
            ..Target::default()
        }
    }

    /// A program that was built with `landfall cc`, and its arguments.
    pub fn program(command: impl IntoIterator<Item = impl Into<OsString>>) -> Target {
        Target {
            command: command.into_iter().map(Into::into).collect(),
            ..Target::default()
        }
    }
}

/// Words that are written down as text, or not at all.
mod words {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
    use std::ffi::OsString;

    pub(super) fn serialize<S: Serializer>(words: &[OsString], to: S) -> Result<S::Ok, S::Error> {
        let words = words.iter().map(|word| word.to_str());
        let words = words.collect::<Option<Vec<&str>>>();
        let words = words.ok_or_else(|| ser::Error::custom("an argument is no text"))?;
        words.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<OsString>, D::Error> {
        let words = Vec::<String>::deserialize(from)?;
        Ok(words.into_iter().map(OsString::from).collect())
    }
}

/// How a program is checked. The defaults are those of `landfall check`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// What to look for; all that apply if nothing is named.
    pub checks: Vec<CheckKind>,
    /// With races: look at flushes before the power failure itself, not before what recovery has read.
    pub no_prefix: bool,
    /// With races: volatile stores of up to 8 bytes are atomic.
    pub volatile_atomic: bool,
    /// Findings from this severity on make the check fail.
    pub fail_on: Severity,
    /// Data races count only from this effect on, or if it is not known.
    #[serde(default = "every_race")]
    pub fail_on_race: RaceEffect,
    /// Findings that are not reported.
    pub allow: Vec<Allowed>,
    /// A run.json: what it lists is known, and not reported again.
    pub baseline: Option<PathBuf>,
    /// Files mapped from this directory are persistent memory.
    pub pm_dir: Option<PathBuf>,
    /// What prepares the files in that directory before the program runs: a program and its arguments, or a source. It works on a copy.
    pub pm_init: Option<String>,
    /// The script of a client that talks to the program.
    pub client: Option<PathBuf>,
    /// Sources are compiled against PMDK as `landfall pmdk build` made it, and linked with it.
    pub pmdk: bool,
    /// malloc is persistent memory.
    pub pm_heap: bool,
    /// What blocks hold that were never used before; otherwise garbage, where they come from malloc.
    pub pm_fill: Option<PmFill>,
    /// By how many bytes every block of the persistent heap is moved, a multiple of 16.
    pub heap_offset: u16,
    /// What runs after a power failure: a program and its arguments, or a source. Otherwise the same command again.
    pub recover: Option<String>,
    /// Power failures that may follow one another.
    pub failures: u32,
    /// Where persistence begins: at the memory, or at the caches.
    pub platform: Platform,
    /// Parts of one memcpy, memset or the like may persist in any order.
    pub tear: bool,
    /// The search stops after this time.
    pub time: Option<Duration>,
    /// The search stops after this many executions.
    pub runs: Option<u64>,
    /// Steps of one execution before it is stopped.
    pub events: u64,
    /// Processes that run recoveries at the same time; otherwise one per processor.
    pub jobs: Option<NonZeroUsize>,
    /// Run recoveries, too, that would only show a finding again.
    pub all: bool,
    /// Try every mixture of old and new lines of records behind a checksum.
    pub no_checksum_assumption: bool,
    /// Explore each power failure by itself.
    pub no_share: bool,
    /// Try every image of every power failure.
    pub eager: bool,
    /// So many random power failures, or schedules, instead of all.
    pub random: Option<u32>,
    /// How random schedules are drawn.
    pub draw: ScheduleDraw,
    /// Which random ones.
    pub seed: u64,
    /// Only count the states that a tool without a look at reads would have to try.
    pub count_eager: bool,
    /// How stores reach memory.
    pub model: MemoryModel,
    /// Where threads may be preempted.
    pub preempt: PreemptAt,
    /// The most preemptions in one schedule, fewest first; all of them if there is no most.
    pub bound: Option<u32>,
    /// What tells two schedules apart, where the program allows it.
    #[serde(default)]
    pub equivalence: Equivalence,
    /// Why hardware transactions are aborted, besides for what they do themselves.
    #[serde(default)]
    pub htm: TransactionFailures,
    /// The cache that holds what they write.
    #[serde(default)]
    pub htm_cache: TransactionCache,
    /// Schedules that differ only in which of several threads that are alike does what are tried once.
    pub symmetry: bool,
    /// Functions in which threads may be preempted, and in which not; the last one that matches decides.
    pub directives: Vec<(PreemptIn, String)>,
    /// Which schedules come first.
    pub order: ScheduleOrder,
    /// A recovery that creates threads runs under every schedule, too.
    pub recover_schedules: bool,
    /// Functions of SV-COMP mean what they do there: `reach_error` is what is looked for, `abort` ends an execution like an
    /// assumption, and any exit code is as good as 0.
    pub sv_comp: bool,
    /// Words that are volatile, or accessed by inline assembly, are atomic.
    pub asm_atomic: bool,
    /// Sources are those of a kernel: they are compiled with the machine of `<landfall/kernel.h>`, and assembly that asks for interrupts
    /// means that machine's.
    pub kernel: bool,
    /// Locks that are taken for granted, and what takes their place: `MINE=pthread_mutex`.
    #[serde(default)]
    pub replace: Vec<String>,
    /// The values that calls return which ask for any value (`lf_nondet`), the first by default.
    pub nondet: Vec<i64>,
    /// So many waits of one execution, on conditions and futexes, may end for no reason. (Not with [`random`](Self::random).)
    pub spurious: u32,
    /// How often a timer that repeats goes off in one execution.
    pub signals: u32,
    /// What orders two accesses, for data races.
    pub races: RaceOrder,
    /// Where run.json, report.html and what is needed to see each bug again go. Otherwise a folder `landfall-out`, or one beside it
    /// while another check writes there.
    pub asked_out: Option<PathBuf>,
    /// The findings as SARIF 2.1.0 go there, too.
    pub sarif: Option<PathBuf>,
    /// The findings as JUnit XML go there, too.
    pub junit: Option<PathBuf>,
    /// Where the check is made: relative paths start there. Otherwise the working directory.
    pub directory: Option<PathBuf>,
    /// What was typed, for the record.
    pub arguments: Vec<String>,
    /// What the program reads from its standard input.
    pub stdin: Stdin,
    /// Nobody needs to see what the compiler says.
    pub quiet_compiler: bool,
    /// Ends the check.
    #[serde(skip)]
    pub cancel: Option<Cancel>,
}

/// Of older files: all data races count.
fn every_race() -> RaceEffect {
    RaceEffect::Nothing
}

impl Default for Options {
    fn default() -> Options {
        Options {
            checks: Vec::new(),
            no_prefix: false,
            volatile_atomic: false,
            fail_on: Severity::Warning,
            fail_on_race: RaceEffect::Nothing,
            allow: Vec::new(),
            baseline: None,
            pm_dir: None,
            pm_init: None,
            client: None,
            pmdk: false,
            pm_heap: false,
            pm_fill: None,
            heap_offset: 0,
            recover: None,
            failures: 1,
            platform: Platform::Adr,
            tear: false,
            time: None,
            runs: None,
            events: 50_000_000,
            jobs: None,
            all: false,
            no_checksum_assumption: false,
            no_share: false,
            eager: false,
            random: None,
            draw: ScheduleDraw::Uniform,
            seed: 1,
            count_eager: false,
            model: MemoryModel::Tso,
            preempt: PreemptAt::Auto,
            bound: None,
            equivalence: Equivalence::Orders,
            htm: TransactionFailures::Full,
            htm_cache: TransactionCache::default(),
            symmetry: true,
            directives: Vec::new(),
            order: ScheduleOrder::Quiet,
            recover_schedules: false,
            sv_comp: false,
            asm_atomic: false,
            kernel: false,
            replace: Vec::new(),
            nondet: vec![0, 1, -1],
            spurious: 1,
            signals: 1,
            races: RaceOrder::HappensBefore,
            asked_out: None,
            sarif: None,
            junit: None,
            directory: None,
            arguments: Vec::new(),
            stdin: Stdin::Nothing,
            quiet_compiler: false,
            cancel: None,
        }
    }
}

/// Options of a check that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    options: Options,
    /// The folder for results.
    pub(crate) out: PathBuf,
    /// What the program reads from its standard input.
    pub(crate) input: Option<Input>,
    /// Who talks to it.
    pub(crate) talks: Option<ClientScript>,
    /// What is known already.
    pub(crate) known: Baseline,
    /// In tests: when the search ends, and the telling, by work rather than by time.
    pub(crate) counted: Option<(Deadline, Deadline)>,
}

impl Asked {
    pub(crate) fn new(options: Options, out: PathBuf) -> Asked {
        Asked {
            options,
            out,
            input: None,
            talks: None,
            known: Baseline::default(),
            counted: None,
        }
    }

    pub(crate) fn budget(&self, started: Instant) -> Budget {
        Budget {
            runs: self.runs,
            until: self.deadline(started),
        }
    }

    /// When the search ends. It started when the program was built.
    pub(crate) fn deadline(&self, started: Instant) -> Deadline {
        if let Some((search, _)) = self.counted {
            return search;
        }
        let deadline = Deadline::new(self.time.map(|time| started + time));
        match self.cancel {
            Some(Cancel(moment)) => deadline.or_when(moment),
            None => deadline,
        }
    }

    /// When nothing is run any more for what was found until then: the rest of the time that is left goes to printing.
    pub(crate) fn last_call(&self, started: Instant) -> Deadline {
        self.after(started, 3)
    }

    /// So many tenths of the time that is left after the search.
    pub(crate) fn after(&self, started: Instant, tenths: u32) -> Deadline {
        const LEAST: Duration = Duration::from_secs(2);
        if let Some((_, telling)) = self.counted {
            return telling;
        }
        let after = self.time.map_or(LEAST, |time| (time / 10).max(LEAST));
        self.deadline(started).later(after * tenths / 10)
    }
}

impl std::ops::Deref for Asked {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.options
    }
}

/// Ends checks from elsewhere: another thread, an observer. They report what they know then, with the limit `interrupt`.
#[derive(Clone, Copy, Debug)]
pub struct Cancel(pub(crate) &'static Moment);

impl Cancel {
    /// One that is not asked for yet. It takes a word for ever.
    #[allow(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Cancel {
        Cancel(Box::leak(Box::new(Moment::new())))
    }

    /// From now on it is asked for.
    pub fn cancel(self) {
        self.0.come();
    }
}

/// What a program reads from its standard input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    /// Nothing.
    Nothing,
    /// What this process reads from its own, to the end, unless that is a terminal.
    Process,
    /// This file.
    File(PathBuf),
}

/// What a check looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// Recoveries that fail.
    Crash,
    /// Recoveries that see what no crash under strict persistency shows.
    Robustness,
    /// Recoveries that may read half a store.
    Races,
    /// Recoveries that see a store of a transaction which does not answer for it.
    Snapshots,
    /// Flushes and fences that do nothing.
    Flushes,
    /// Plain accesses of several threads that nothing orders.
    DataRaces,
    /// Locks used against their rules.
    Locks,
    /// Memory of the heap used after it was freed, freed twice, or past its end.
    Heap,
}

impl CheckKind {
    /// All of them.
    pub const ALL: [CheckKind; 8] = [
        CheckKind::Crash,
        CheckKind::Robustness,
        CheckKind::Races,
        CheckKind::Snapshots,
        CheckKind::Flushes,
        CheckKind::DataRaces,
        CheckKind::Locks,
        CheckKind::Heap,
    ];

    /// As `--checks` names it.
    pub fn name(self) -> &'static str {
        match self {
            CheckKind::Crash => "crash",
            CheckKind::Robustness => "robustness",
            CheckKind::Races => "races",
            CheckKind::Snapshots => "snapshots",
            CheckKind::Flushes => "flushes",
            CheckKind::DataRaces => "data-races",
            CheckKind::Locks => "locks",
            CheckKind::Heap => "heap",
        }
    }
}

/// Why hardware transactions are aborted, besides for what they do themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionFailures {
    /// For every reason that processors have.
    #[default]
    Full,
    /// For no reason, and that is not told apart from others.
    Retry,
    /// Because of conflicts alone, byte by byte, as where transactions are software.
    Stm,
}

/// A cache of so many sets of so many lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionCache {
    /// How many sets.
    pub sets: u32,
    /// Lines in each.
    pub ways: u32,
}

impl Default for TransactionCache {
    /// 32 KiB, eight ways.
    fn default() -> TransactionCache {
        TransactionCache { sets: 64, ways: 8 }
    }
}

/// What blocks of the persistent heap hold that were never used before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PmFill {
    /// Nothing but zeros.
    Zero,
    /// Garbage, from `lf_alloc` as well.
    Garbage,
    /// First garbage, then zeros.
    Both,
}

/// How stores reach memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryModel {
    /// Through a store buffer for each thread.
    Tso,
    /// At once.
    Sc,
}

/// Where threads may be preempted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreemptAt {
    /// At synchronisation and where plain accesses race.
    Auto,
    /// At synchronisation only.
    Sync,
    /// At every shared access.
    Everywhere,
}

/// Whether threads may be preempted while a function is on their call stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreemptIn {
    /// There, and nowhere else.
    Within,
    /// Never there.
    Without,
}

impl From<PreemptIn> for Directive {
    fn from(place: PreemptIn) -> Directive {
        match place {
            PreemptIn::Within => Directive::Within,
            PreemptIn::Without => Directive::Without,
        }
    }
}

/// How random schedules are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleDraw {
    /// At each choice anew, all who can go on are alike.
    Uniform,
    /// By ranks of threads and store buffers, lowered at one step less than this (probabilistic concurrency testing).
    Pct(u32),
    /// By ranks of steps (partial-order sampling).
    Pos,
}

/// Which schedules come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleOrder {
    /// Those in which a thread goes on while it can.
    Quiet,
    /// Those in which it is preempted wherever it can be, and stores wait in their buffers.
    PreemptFirst,
}

/// What orders two accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaceOrder {
    /// All synchronisation.
    HappensBefore,
    /// Only locks held by both, and thread creation.
    Limited,
}

impl Options {
    /// Where the check is made.
    pub(crate) fn here(&self) -> PathBuf {
        match &self.directory {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().unwrap_or_default(),
        }
    }

    /// Did somebody end it?
    pub(crate) fn is_cancelled(&self) -> bool {
        (self.cancel).is_some_and(|Cancel(moment)| moment.ago().is_some())
    }

    /// A path that starts where the check is made.
    pub(crate) fn located(&self, path: &Path) -> PathBuf {
        match &self.directory {
            Some(directory) => directory.join(path),
            None => path.to_owned(),
        }
    }

    pub(crate) fn checks(&self, what: CheckKind) -> bool {
        match self.checks.is_empty() {
            true => {
                let tree = matches!(
                    what,
                    CheckKind::Robustness
                        | CheckKind::Races
                        | CheckKind::Snapshots
                        | CheckKind::Flushes
                );
                // With one thread, looking at every access to the heap costs too much to do it unasked.
                what != CheckKind::Heap && (!tree || self.leaves_no_tree().is_none())
            }
            false => self.checks.contains(&what),
        }
    }

    fn names_of_checks(&self) -> Vec<String> {
        let asked = CheckKind::ALL.iter().filter(|&&c| self.checks(c));
        asked.map(|check| check.name().to_owned()).collect()
    }

    /// With threads every access is looked at anyway, so the heap is too, unless something else is asked for.
    pub(crate) fn looks_at_heap_of_threads(&self) -> bool {
        self.checks.is_empty() || self.checks(CheckKind::Heap)
    }

    /// Is there anything to judge besides failures?
    pub(crate) fn judges(&self) -> bool {
        let judged = [
            CheckKind::Robustness,
            CheckKind::Races,
            CheckKind::Snapshots,
            CheckKind::Flushes,
        ];
        judged.into_iter().any(|what| self.checks(what))
    }

    /// What persistency races are looked for in, if they are.
    pub(crate) fn races(&self) -> Option<Window> {
        let window = match self.no_prefix {
            true => Window::Cut,
            false => Window::Prefix,
        };
        self.checks(CheckKind::Races).then_some(window)
    }

    pub(crate) fn atomics(&self) -> Atomics {
        match self.volatile_atomic {
            true => Atomics::AtomicOrVolatile,
            false => Atomics::Atomic,
        }
    }

    /// The option that leaves no tree of all recoveries to judge, or one of other stores than the program made, if one was given:
    /// "clean" would be a lie.
    pub(crate) fn leaves_no_tree(&self) -> Option<&'static str> {
        match self {
            Options { tear: true, .. } => Some("--tear"),
            Options { eager: true, .. } => Some("--eager"),
            Options { no_share: true, .. } => Some("--no-share"),
            Options {
                recover_schedules: true,
                ..
            } => Some("--recover-schedules"),
            _ => None,
        }
    }

    pub(crate) fn platform_name(&self) -> &'static str {
        match self.platform {
            Platform::Adr => "adr",
            Platform::Eadr => "eadr",
        }
    }

    pub(crate) fn search(&self) -> SearchOptions {
        SearchOptions {
            failures: self.failures,
            share: !self.no_share,
            eager: self.eager,
            platform: self.platform,
            tear: self.tear,
            checksums: !self.no_checksum_assumption,
            ..SearchOptions::default()
        }
    }

    /// How hardware transactions are aborted.
    pub(crate) fn transactions(&self) -> Htm {
        Htm {
            failures: match self.htm {
                TransactionFailures::Full => HtmFailures::Full,
                TransactionFailures::Retry => HtmFailures::Retry,
                TransactionFailures::Stm => HtmFailures::Stm,
            },
            cache: HtmCache {
                sets: self.htm_cache.sets,
                ways: self.htm_cache.ways,
            },
        }
    }

    /// What fresh blocks hold, in one search after the other.
    pub(crate) fn fresh_blocks(&self) -> &'static [FreshBlocks] {
        match self.pm_fill {
            None if self.pm_heap => &[FreshBlocks::GarbageOfMalloc],
            None | Some(PmFill::Zero) => &[FreshBlocks::Zero],
            Some(PmFill::Garbage) => &[FreshBlocks::Garbage],
            Some(PmFill::Both) => &[FreshBlocks::Garbage, FreshBlocks::Zero],
        }
    }

    pub(crate) fn model(&self) -> Model {
        match self.model {
            MemoryModel::Tso => Model::Tso,
            MemoryModel::Sc => Model::Sc,
        }
    }

    pub(crate) fn preempt(&self) -> Preempt {
        match self.preempt {
            PreemptAt::Auto => Preempt::Auto,
            PreemptAt::Sync => Preempt::Sync,
            PreemptAt::Everywhere => Preempt::Everywhere,
        }
    }

    /// The most preemptions in one schedule, if there is a most.
    pub(crate) fn bound(&self) -> Option<u32> {
        self.bound
    }

    pub(crate) fn policy(&self) -> Policy {
        match self.order {
            ScheduleOrder::Quiet => Policy::Quiet,
            ScheduleOrder::PreemptFirst => Policy::PreemptFirst,
        }
    }

    pub(crate) fn relation(&self) -> Relation {
        match self.races {
            RaceOrder::HappensBefore => Relation::Pure,
            RaceOrder::Limited => Relation::Limited,
        }
    }

    /// What is looked for, and within which bounds.
    pub(crate) fn scope(&self) -> landfall_finding::Scope {
        landfall_finding::Scope {
            checks: self.names_of_checks(),
            failures: self.failures,
            platform: self.platform_name().to_owned(),
        }
    }

    /// Servers that run recoveries.
    pub(crate) fn workers(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.jobs.map_or_else(processors, NonZeroUsize::get)
    }

    /// Steps that threads take in one execution: fewer than events by far, and what is searched of them costs more.
    pub(crate) fn most_steps(&self) -> usize {
        const PER_STEP: u64 = 500;
        (self.events / PER_STEP).clamp(100_000, 1_000_000) as usize
    }
}
