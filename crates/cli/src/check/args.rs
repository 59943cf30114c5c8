//! The options of `check`. What `--help` says is written here and nowhere else.

use super::sealing::Directives;
use crate::args::{Colour, Format, PlatformArg};
use landfall::finding::{Allowed, Equivalence, RaceEffect, Severity};
use landfall::{
    CheckKind, MemoryModel, Options, PmFill, PreemptAt, RaceOrder, ScheduleDraw, ScheduleOrder,
    Stdin, Target, TransactionCache, TransactionFailures,
};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Tries every power failure of a program's run, and runs its recovery on every state it can tell apart.
///
/// SOURCES are compiled first; -D -I -O -W -f -m -std= -l -L and other options of the compiler are handed to it. Without sources, the
/// program after `--` must have been built with `landfall cc` or `landfall c++`. A file landfall.toml in the working directory
/// may hold the same settings, by their long names. Exit code: 0 searched exhaustively and clean, 100 findings, 5 a limit was
/// reached, 4 nothing to check, 101 the program did not build, 102 the program is not deterministic, 2 usage.
#[derive(clap::Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct CheckArgs {
    /// C or C++ sources
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,

    /// With sources: arguments of the program. Without: the program and its arguments
    #[arg(last = true, value_name = "PROGRAM ARGS")]
    pub(crate) command: Vec<OsString>,

    /// What to look for [default: all that apply]
    #[arg(
        long,
        value_name = "CHECKS",
        value_enum,
        value_delimiter = ',',
        help_heading = "What to report"
    )]
    pub(crate) checks: Vec<CheckArg>,

    /// With races: look at flushes before the power failure itself, not before what recovery has read (the published baseline)
    #[arg(long, help_heading = "What to report")]
    pub(crate) no_prefix: bool,

    /// With races: volatile stores of up to 8 bytes are atomic
    #[arg(long, help_heading = "What to report")]
    pub(crate) volatile_atomic: bool,

    /// Findings from this severity on make the check fail: error, warning or perf; with race=EFFECT, data races only from this effect on:
    /// fails, output, state or nothing
    #[arg(long, value_name = "SEVERITY[,race=EFFECT]", default_value = "warning", value_parser = fail_on, help_heading = "What to report")]
    pub(crate) fail_on: FailOn,

    /// Do not report findings of this kind, or of this kind at this place: KIND[:FILE[:LINE]]
    #[arg(
        long,
        value_name = "KIND[:FILE[:LINE]]",
        help_heading = "What to report"
    )]
    pub(crate) allow: Vec<Allowed>,

    /// Report only what is new: an earlier run.json, whose findings are known
    #[arg(long, value_name = "RUN", help_heading = "What to report")]
    pub(crate) baseline: Option<PathBuf>,

    /// Files mapped from this directory are persistent memory
    #[arg(long, value_name = "DIR", help_heading = "Persistent memory")]
    pub(crate) pm_dir: Option<PathBuf>,

    /// Prepares the pools in --pm-dir: a command, or a source, that is run once before everything else, on a copy of that directory
    #[arg(
        long,
        value_name = "CMD",
        requires = "pm_dir",
        help_heading = "Persistent memory"
    )]
    pub(crate) pm_init: Option<String>,

    /// Who talks to the program, if it is a server: a script of what a client sends, what it expects, and what it asks for after a
    /// power failure
    #[arg(long, value_name = "FILE", help_heading = "Persistent memory")]
    pub(crate) client: Option<PathBuf>,

    /// Compile with PMDK's headers and link its libraries, as `landfall pmdk build` made them
    #[arg(long, help_heading = "Persistent memory")]
    pub(crate) pmdk: bool,

    /// malloc is persistent memory
    #[arg(long, help_heading = "Persistent memory")]
    pub(crate) pm_heap: bool,

    /// What blocks hold that were never used before: zero, garbage (lf_alloc, malloc), or one after the other [default: garbage
    /// from malloc, zero from lf_alloc]
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        help_heading = "Persistent memory"
    )]
    pub(crate) pm_fill: Option<PmFillArg>,

    /// Move every block of the persistent heap (lf_alloc, --pm-heap) by so many bytes, a multiple of 16: other things share a cache
    /// line then
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = offset, help_heading = "Persistent memory")]
    pub(crate) heap_offset: u16,

    /// What runs after a power failure: a program and its arguments, or a source [default: the same command again]
    #[arg(long, value_name = "CMD", help_heading = "Persistent memory")]
    pub(crate) recover: Option<String>,

    /// Power failures that may follow one another: with 2 the power may fail during recovery, too
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16), help_heading = "Persistent memory")]
    pub(crate) failures: u32,

    /// Where persistence begins: at the memory (adr) or at the caches (eadr)
    #[arg(long, value_enum, default_value_t = PlatformArg::Adr, help_heading = "Persistent memory")]
    pub(crate) platform: PlatformArg,

    /// Parts of one memcpy, memset or the like may persist in any order, also inside a cache line: libc promises none
    #[arg(long, help_heading = "Persistent memory")]
    pub(crate) tear: bool,

    /// Stop searching after this time (10s, 5m, 1h); building the program does not count
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Search")]
    pub(crate) time: Option<Duration>,

    /// Stop after this many executions
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) runs: Option<u64>,

    /// Steps of one execution before it is stopped: it hangs if it was in the same state before, otherwise that is a limit
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50_000_000,
        help_heading = "Search"
    )]
    pub(crate) events: u64,

    /// Processes that run recoveries at the same time [default: one per processor]
    #[arg(short, long, value_name = "N", help_heading = "Search")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Run recoveries, too, that would only show a finding again
    #[arg(long, help_heading = "Search")]
    pub(crate) all: bool,

    /// Try every mixture of old and new lines of records behind a checksum (lf_checksum_begin)
    #[arg(long, help_heading = "Search")]
    pub(crate) no_checksum_assumption: bool,

    /// Explore each power failure by itself, as published tools do: the same findings, more executions
    #[arg(long, help_heading = "Search")]
    pub(crate) no_share: bool,

    /// Try every image of every power failure, whatever recovery reads of it, as Yat does: for tiny programs
    #[arg(long, help_heading = "Search")]
    pub(crate) eager: bool,

    /// Try so many random power failures instead of all, or with threads so many random schedules: for programs too large to search
    #[arg(long, value_name = "N", conflicts_with_all = ["eager", "no_share"], help_heading = "Search")]
    pub(crate) random: Option<u32>,

    /// With --random and threads: how schedules are drawn. At each choice anew (uniform); by ranks of threads and store buffers (pct=D),
    /// which finds what takes D steps in the right order with a probability that is printed; by ranks of steps (pos)
    #[arg(long, value_name = "HOW", value_parser = draw, requires = "random", help_heading = "Search")]
    pub(crate) draw: Option<ScheduleDraw>,

    /// With --random: which ones
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "Search")]
    pub(crate) seed: u64,

    /// Values that lf_nondet and the like return, each of them tried: 0,1,-1 or 0..7, the first by default. All others are a limit
    #[arg(
        long,
        value_name = "VALUES",
        value_parser = values,
        default_value = "0,1,-1",
        allow_hyphen_values = true,
        help_heading = "Search"
    )]
    pub(crate) nondet: NondetValues,

    /// So many waits of one execution, on a condition or a futex, may end for no reason (a spurious wake-up): 1, or 0 with --sv-comp
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) spurious: Option<u32>,

    /// So often a timer that repeats goes off in one execution; a handler may run at any step
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Search"
    )]
    pub(crate) signals: u32,

    /// A program of SV-COMP: functions __VERIFIER_… mean what they do there, reach_error is what is looked for (other --checks only
    /// if named), abort is an assumption, any exit code is as good as 0
    #[arg(long, help_heading = "Search")]
    pub(crate) sv_comp: bool,

    /// Only count the states that a tool without a look at reads would have to try
    #[arg(long, help_heading = "Search")]
    pub(crate) count_eager: bool,

    /// How stores reach memory: through a store buffer for each thread (tso), or at once (sc) [default: tso; with --sv-comp, sc]
    #[arg(long, value_enum, help_heading = "Threads")]
    pub(crate) model: Option<ModelArg>,

    /// Where threads may be preempted: at synchronisation and where plain accesses race (auto), at synchronisation only (sync), at
    /// every shared access (everywhere)
    #[arg(long, value_enum, default_value_t = PreemptArg::Auto, help_heading = "Threads")]
    pub(crate) preempt: PreemptArg,

    /// Schedules with few preemptions first, up to K: preemptions[=K] [default: all]
    #[arg(long, value_name = "preemptions[=K]", value_parser = bound, help_heading = "Threads")]
    pub(crate) bound: Option<u32>,

    #[command(flatten)]
    pub(crate) directives: Directives,

    /// What tells two schedules apart: the order of steps that depend on each other (orders), or only which store each read returns
    /// (reads), or which value (values), where nothing else can matter
    #[arg(
        long,
        value_enum,
        default_value_t = EquivalenceArg::Orders,
        conflicts_with_all = ["bound", "within", "without", "random"],
        help_heading = "Threads"
    )]
    pub(crate) equivalence: EquivalenceArg,

    /// Why hardware transactions are aborted, besides for what they do themselves: for every reason that processors have (full), or for no
    /// reason (retry)
    #[arg(long, value_enum, default_value_t = HtmArg::Full, help_heading = "Threads")]
    pub(crate) htm: HtmArg,

    /// The cache that holds what a hardware transaction writes: so many sets of so many lines
    #[arg(
        long,
        value_name = "SETSxWAYS",
        value_parser = cache,
        default_value = "64x8",
        help_heading = "Threads"
    )]
    pub(crate) htm_cache: TransactionCache,

    /// Tell threads apart that run the same function on the same argument and never look at who they are; otherwise schedules that
    /// differ only in which of them does what are tried once
    #[arg(long, help_heading = "Threads")]
    pub(crate) no_symmetry: bool,

    /// Which schedules come first: those in which a thread goes on while it can (quiet), or those in which it is preempted wherever it
    /// can be, and stores wait in their buffers (preempt-first). The whole search is the same
    #[arg(long, value_enum, default_value_t = OrderArg::Quiet, conflicts_with_all = ["bound", "within", "without"], help_heading = "Threads")]
    pub(crate) order: OrderArg,

    /// Volatile words, and words that inline assembly accesses, are atomic, as kernels write them
    #[arg(long, help_heading = "Threads")]
    pub(crate) asm_atomic: bool,

    /// The sources are a kernel's: compile them with <landfall/kernel.h>, a machine with interrupts, contexts and processors
    #[arg(long, help_heading = "Threads")]
    pub(crate) kernel: bool,

    /// A lock that was checked is taken for granted: MINE=pthread_mutex, or FUNCTION=pthread_mutex_lock, puts the other in its place
    #[arg(long, value_name = "MINE=THEIRS", value_parser = rule, help_heading = "Threads")]
    pub(crate) replace: Vec<String>,

    /// A recovery that creates threads runs under every schedule, too; otherwise under one
    #[arg(long, help_heading = "Threads")]
    pub(crate) recover_schedules: bool,

    /// What orders two accesses, for data races: all synchronisation (happens-before), or only locks held by both and thread
    /// creation (limited)
    #[arg(long, value_enum, default_value_t = RacesArg::HappensBefore, help_heading = "Threads")]
    pub(crate) races: RacesArg,

    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Human, help_heading = "Output")]
    pub(crate) format: Format,

    /// Where to put run.json, report.html and what is needed to see each bug again [default: landfall-out, or one beside it
    /// while another check writes there]
    #[arg(long = "out", value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    /// Also write the findings as SARIF 2.1.0, for code-scanning views
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) sarif: Option<PathBuf>,

    /// Also write the findings as JUnit XML, for CI views
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,

    /// Say more about each finding: call stacks, and reads that could have returned something else
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,

    /// Print nothing: the exit code tells
    #[arg(long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, help_heading = "Output")]
    pub(crate) color: Colour,

    /// Options for the compiler, taken out of the command line before clap sees it.
    #[arg(skip)]
    pub(crate) compiler_flags: Vec<OsString>,
}

/// What a check looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum CheckArg {
    /// Recoveries that fail
    Crash,
    /// Recoveries that see what no crash under strict persistency shows
    Robustness,
    /// Recoveries that may read half a store
    Races,
    /// Recoveries that see a store of a transaction which does not answer for it
    Snapshots,
    /// Flushes and fences that do nothing
    Flushes,
    /// Plain accesses of several threads that nothing orders
    DataRaces,
    /// Locks used against their rules
    Locks,
    /// Memory of the heap used after it was freed, freed twice, or past its end
    Heap,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum PmFillArg {
    Zero,
    Garbage,
    Both,
}

impl From<PmFillArg> for PmFill {
    fn from(asked: PmFillArg) -> PmFill {
        match asked {
            PmFillArg::Zero => PmFill::Zero,
            PmFillArg::Garbage => PmFill::Garbage,
            PmFillArg::Both => PmFill::Both,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum ModelArg {
    Tso,
    Sc,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum PreemptArg {
    Auto,
    Sync,
    Everywhere,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum OrderArg {
    Quiet,
    PreemptFirst,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum EquivalenceArg {
    Orders,
    Reads,
    Values,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum HtmArg {
    Full,
    Retry,
}

fn cache(text: &str) -> Result<TransactionCache, String> {
    let (sets, ways) = text.split_once('x').ok_or("sets x ways, such as 64x8")?;
    let number = |word: &str| word.parse().map_err(|_| format!("`{word}` is no number"));
    let cache = TransactionCache {
        sets: number(sets)?,
        ways: number(ways)?,
    };
    match (1..=4096).contains(&cache.sets) && cache.ways != 0 {
        true => Ok(cache),
        false => Err("a cache has 1 to 4096 sets, and a way at least".to_owned()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum RacesArg {
    HappensBefore,
    Limited,
}

fn draw(text: &str) -> Result<ScheduleDraw, String> {
    let depth = |number: &str| {
        let depth = number.parse().ok().filter(|depth| (1..=8).contains(depth));
        depth.ok_or_else(|| "pct=D with a depth D from 1 to 8".to_owned())
    };
    match (text, text.strip_prefix("pct=")) {
        ("uniform", _) => Ok(ScheduleDraw::Uniform),
        ("pct", _) => Ok(ScheduleDraw::Pct(3)),
        ("pos", _) => Ok(ScheduleDraw::Pos),
        (_, Some(number)) => depth(number).map(ScheduleDraw::Pct),
        _ => Err("uniform, pct, pct=D or pos".to_owned()),
    }
}

fn bound(text: &str) -> Result<u32, String> {
    match text.strip_prefix("preemptions") {
        Some("") => Ok(u32::MAX),
        Some(rest) => rest
            .strip_prefix('=')
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| "preemptions, or preemptions=K with a number K".to_owned()),
        None => Err("preemptions, or preemptions=K".to_owned()),
    }
}

/// What a call returns that asks for any value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NondetValues(pub(crate) Vec<i64>);

fn values(text: &str) -> Result<NondetValues, String> {
    const MOST: i64 = 256;
    let wrong = || "numbers like 0,1,-1 or 0..7, at most 256".to_owned();
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
    let mut values = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
                if last < first || last.saturating_sub(first) >= MOST {
                    return Err(wrong());
                }
                values.extend(first..=last);
            }
            None => values.push(number(part)?),
        }
    }
    let mut seen = std::collections::HashSet::new();
    values.retain(|&value| seen.insert(value));
    match values.len() as i64 {
        1..=MOST => Ok(NondetValues(values)),
        _ => Err(wrong()),
    }
}

/// A lock of the program's, and what takes its place.
fn rule(text: &str) -> Result<String, String> {
    let known = |theirs: &str| {
        let families = ["pthread_mutex", "pthread_spin", "pthread_rwlock"];
        families.iter().any(|family| {
            let rest = theirs.strip_prefix(family);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    };
    match text.split_once('=') {
        Some((mine, theirs)) if !mine.is_empty() && !text.contains(';') && known(theirs) => {
            Ok(text.to_owned())
        }
        _ => Err(
            "MINE=pthread_mutex, pthread_spin or pthread_rwlock, or a function of theirs"
                .to_owned(),
        ),
    }
}

fn offset(text: &str) -> Result<u16, String> {
    let bytes = text.parse::<u16>().ok().filter(|bytes| bytes % 16 == 0);
    let bytes = bytes.filter(|&bytes| bytes <= 4096);
    bytes.ok_or_else(|| "a multiple of 16, up to 4096".to_owned())
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        other => return Err(format!("unknown unit `{other}`; s, m, h or d")),
    };
    let number: f64 = digits
        .parse()
        .map_err(|_| "a number and s, m, h or d".to_owned())?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| "not a length of time".to_owned())
}

/// What makes a check fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FailOn {
    severity: Severity,
    race: RaceEffect,
}

fn fail_on(text: &str) -> Result<FailOn, String> {
    let mut found = FailOn {
        severity: Severity::Warning,
        race: RaceEffect::Nothing,
    };
    for part in text.split(',') {
        match part.strip_prefix("race=") {
            Some(effect) => found.race = effect.parse()?,
            None => found.severity = part.parse()?,
        }
    }
    Ok(found)
}

impl CheckArg {
    fn kind(self) -> CheckKind {
        match self {
            CheckArg::Crash => CheckKind::Crash,
            CheckArg::Robustness => CheckKind::Robustness,
            CheckArg::Races => CheckKind::Races,
            CheckArg::Snapshots => CheckKind::Snapshots,
            CheckArg::Flushes => CheckKind::Flushes,
            CheckArg::DataRaces => CheckKind::DataRaces,
            CheckArg::Locks => CheckKind::Locks,
            CheckArg::Heap => CheckKind::Heap,
        }
    }
}

impl CheckArgs {
    pub(crate) fn target(&self) -> Target {
        Target {
            sources: self.sources.clone(),
            command: self.command.clone(),
            compiler_flags: self.compiler_flags.clone(),
        }
    }

    /// As the library takes them; `arguments` are what was typed after `landfall`.
    pub(crate) fn options(&self, arguments: Vec<String>) -> Options {
        Options {
            checks: match self.checks.is_empty() && self.sv_comp {
                true => vec![CheckKind::Crash],
                false => self.checks.iter().map(|check| check.kind()).collect(),
            },
            no_prefix: self.no_prefix,
            volatile_atomic: self.volatile_atomic,
            fail_on: self.fail_on.severity,
            fail_on_race: self.fail_on.race,
            allow: self.allow.clone(),
            baseline: self.baseline.clone(),
            pm_dir: self.pm_dir.clone(),
            pm_init: self.pm_init.clone(),
            client: self.client.clone(),
            pmdk: self.pmdk,
            pm_heap: self.pm_heap,
            pm_fill: self.pm_fill.map(Into::into),
            heap_offset: self.heap_offset,
            recover: self.recover.clone(),
            failures: self.failures,
            platform: self.platform.into(),
            tear: self.tear,
            time: self.time,
            runs: self.runs,
            events: self.events,
            jobs: self.jobs,
            all: self.all,
            no_checksum_assumption: self.no_checksum_assumption,
            no_share: self.no_share,
            eager: self.eager,
            random: self.random,
            draw: self.draw.unwrap_or(ScheduleDraw::Uniform),
            seed: self.seed,
            count_eager: self.count_eager,
            model: match (self.model, self.sv_comp) {
                (Some(ModelArg::Tso), _) | (None, false) => MemoryModel::Tso,
                (Some(ModelArg::Sc), _) | (None, true) => MemoryModel::Sc,
            },
            sv_comp: self.sv_comp,
            asm_atomic: self.asm_atomic,
            kernel: self.kernel,
            replace: self.replace.clone(),
            nondet: self.nondet.0.clone(),
            signals: self.signals,
            spurious: self.spurious.unwrap_or(u32::from(!self.sv_comp)),
            preempt: match self.preempt {
                PreemptArg::Auto => PreemptAt::Auto,
                PreemptArg::Sync => PreemptAt::Sync,
                PreemptArg::Everywhere => PreemptAt::Everywhere,
            },
            bound: self.bound,
            equivalence: match self.equivalence {
                EquivalenceArg::Orders => Equivalence::Orders,
                EquivalenceArg::Reads => Equivalence::Reads,
                EquivalenceArg::Values => Equivalence::Values,
            },
            htm: match self.htm {
                HtmArg::Full => TransactionFailures::Full,
                HtmArg::Retry => TransactionFailures::Retry,
            },
            htm_cache: self.htm_cache,
            symmetry: !self.no_symmetry,
            directives: self.directives.0.clone(),
            order: match self.order {
                OrderArg::Quiet => ScheduleOrder::Quiet,
                OrderArg::PreemptFirst => ScheduleOrder::PreemptFirst,
            },
            recover_schedules: self.recover_schedules,
            races: match self.races {
                RacesArg::HappensBefore => RaceOrder::HappensBefore,
                RacesArg::Limited => RaceOrder::Limited,
            },
            asked_out: self.out.clone(),
            sarif: self.sarif.clone(),
            junit: self.junit.clone(),
            stdin: Stdin::Process,
            arguments,
            ..Options::default()
        }
    }
}
