//! The options of `check`. What `--help` says is written here and nowhere else.

use super::allowed::Allowed;
use super::finding::Severity;
use super::sealing::Directives;
use crate::args::{Colour, Format, PlatformArg};
use crate::progress::Live;
use clap::ValueEnum;
use landfall_check::races::Window;
use landfall_explore::recovery::Options;
use landfall_explore::schedule::data_races::Relation;
use landfall_explore::schedule::saturate::Preempt;
use landfall_native::{Atomics, Budget, Deadline, Input, Model, Policy};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Tries every power failure of a program's run, and runs its recovery on every state it can tell apart.
///
/// SOURCES are compiled first; -D -I -O -W -f -m -std= -l -L and other options of the compiler are handed to it. Without sources, the
/// program after `--` must have been built with `landfall cc` or `landfall c++`. A file landfall.toml in the working directory
/// may hold the same settings, by their long names. Exit code: 0 searched exhaustively and clean, 100 findings, 5 a limit was
/// reached, 4 nothing to check, 101 the program did not build, 102 the program is not deterministic, 2 usage.
#[derive(clap::Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct Check {
    /// C or C++ sources
    #[arg(value_name = "SOURCE")]
    pub(super) sources: Vec<PathBuf>,

    /// With sources: arguments of the program. Without: the program and its arguments
    #[arg(last = true, value_name = "PROGRAM ARGS")]
    pub(super) command: Vec<OsString>,

    /// What to look for [default: all that apply]
    #[arg(
        long,
        value_name = "CHECKS",
        value_enum,
        value_delimiter = ',',
        help_heading = "What to report"
    )]
    pub(super) checks: Vec<Judged>,

    /// With races: look at flushes before the power failure itself, not before what recovery has read (the published baseline)
    #[arg(long, help_heading = "What to report")]
    pub(super) no_prefix: bool,

    /// With races: volatile stores of up to 8 bytes are atomic
    #[arg(long, help_heading = "What to report")]
    pub(super) volatile_atomic: bool,

    /// Findings from this severity on make the check fail
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = Severity::Warning, help_heading = "What to report")]
    pub(super) fail_on: Severity,

    /// Do not report findings of this kind, or of this kind at this place: KIND[:FILE[:LINE]]
    #[arg(
        long,
        value_name = "KIND[:FILE[:LINE]]",
        help_heading = "What to report"
    )]
    pub(super) allow: Vec<Allowed>,

    /// Files mapped from this directory are persistent memory
    #[arg(long, value_name = "DIR", help_heading = "Persistent memory")]
    pub(super) pm_dir: Option<PathBuf>,

    /// malloc is persistent memory
    #[arg(long, help_heading = "Persistent memory")]
    pub(super) pm_heap: bool,

    /// Move every block of the persistent heap (lf_alloc, --pm-heap) by so many bytes, a multiple of 16: other things share a cache
    /// line then
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = offset, help_heading = "Persistent memory")]
    pub(super) heap_offset: u16,

    /// What runs after a power failure: a program and its arguments, or a source [default: the same command again]
    #[arg(long, value_name = "CMD", help_heading = "Persistent memory")]
    pub(super) recover: Option<String>,

    /// Power failures that may follow one another: with 2 the power may fail during recovery, too
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16), help_heading = "Persistent memory")]
    pub(super) failures: u32,

    /// Where persistence begins: at the memory (adr) or at the caches (eadr)
    #[arg(long, value_enum, default_value_t = PlatformArg::Adr, help_heading = "Persistent memory")]
    pub(super) platform: PlatformArg,

    /// Parts of one memcpy, memset or the like may persist in any order, also inside a cache line: libc promises none
    #[arg(long, help_heading = "Persistent memory")]
    pub(super) tear: bool,

    /// Stop searching after this time (10s, 5m, 1h); building the program does not count
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Search")]
    pub(super) time: Option<Duration>,

    /// In tests: when the search ends, and the telling, by work rather than by time
    #[arg(skip)]
    pub(super) counted: Option<Box<(Deadline, Deadline)>>,

    /// Stop after this many executions
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(super) runs: Option<u64>,

    /// Steps of one execution before it is stopped: it hangs if it was in the same state before, otherwise that is a limit
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50_000_000,
        help_heading = "Search"
    )]
    pub(super) events: u64,

    /// Processes that run recoveries at the same time [default: one per processor]
    #[arg(short, long, value_name = "N", help_heading = "Search")]
    pub(super) jobs: Option<NonZeroUsize>,

    /// Explore each power failure by itself, as published tools do: the same findings, more executions
    #[arg(long, help_heading = "Search")]
    pub(super) no_share: bool,

    /// Try every image of every power failure, whatever recovery reads of it, as Yat does: for tiny programs
    #[arg(long, help_heading = "Search")]
    pub(super) eager: bool,

    /// Try so many random power failures instead of all, or with threads so many random schedules: for programs too large to search
    #[arg(long, value_name = "N", conflicts_with_all = ["eager", "no_share"], help_heading = "Search")]
    pub(super) random: Option<u32>,

    /// With --random: which ones
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "Search")]
    pub(super) seed: u64,

    /// Only count the states that a tool without a look at reads would have to try
    #[arg(long, help_heading = "Search")]
    pub(super) count_eager: bool,

    /// How stores reach memory: through a store buffer for each thread (tso), or at once (sc)
    #[arg(long, value_enum, default_value_t = ModelArg::Tso, help_heading = "Threads")]
    pub(super) model: ModelArg,

    /// Where threads may be preempted: at synchronisation and where plain accesses race (auto), at synchronisation only (sync), at
    /// every shared access (everywhere)
    #[arg(long, value_enum, default_value_t = PreemptArg::Auto, help_heading = "Threads")]
    pub(super) preempt: PreemptArg,

    /// Schedules with few preemptions first, up to K: preemptions[=K] [default: all]
    #[arg(long, value_name = "preemptions[=K]", value_parser = bound, help_heading = "Threads")]
    pub(super) bound: Option<u32>,

    #[command(flatten)]
    pub(super) directives: Directives,

    /// Which schedules come first: those in which a thread goes on while it can (quiet), or those in which it is preempted wherever it
    /// can be, and stores wait in their buffers (preempt-first). The whole search is the same
    #[arg(long, value_enum, default_value_t = OrderArg::Quiet, conflicts_with_all = ["bound", "within", "without"], help_heading = "Threads")]
    pub(super) order: OrderArg,

    /// A recovery that creates threads runs under every schedule, too; otherwise under one
    #[arg(long, help_heading = "Threads")]
    pub(super) recover_schedules: bool,

    /// What orders two accesses, for data races: all synchronisation (happens-before), or only locks held by both and thread
    /// creation (limited)
    #[arg(long, value_enum, default_value_t = RacesArg::HappensBefore, help_heading = "Threads")]
    pub(super) races: RacesArg,

    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Human, help_heading = "Output")]
    pub(crate) format: Format,

    /// Where to put run.json, report.html and what is needed to see each bug again [default: landfall-out, or one beside it
    /// while another check writes there]
    #[arg(long = "out", value_name = "DIR", help_heading = "Output")]
    pub(super) asked_out: Option<PathBuf>,

    /// The same, once it is claimed.
    #[arg(skip)]
    pub(crate) out: PathBuf,

    /// What the program reads from its standard input.
    #[arg(skip)]
    pub(super) stdin: Option<Input>,

    /// Also write the findings as SARIF 2.1.0, for code-scanning views
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) sarif: Option<PathBuf>,

    /// Also write the findings as JUnit XML, for CI views
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) junit: Option<PathBuf>,

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
pub(crate) enum Judged {
    /// Recoveries that fail
    Crash,
    /// Recoveries that see what no crash under strict persistency shows
    Robustness,
    /// Recoveries that may read half a store
    Races,
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
pub(crate) enum RacesArg {
    HappensBefore,
    Limited,
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
        other => return Err(format!("unknown unit `{other}`; s, m or h")),
    };
    let number: f64 = digits
        .parse()
        .map_err(|_| "a number and s, m or h".to_owned())?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| "not a length of time".to_owned())
}

impl Check {
    pub(super) fn checks(&self, what: Judged) -> bool {
        match self.checks.is_empty() {
            true => {
                let tree = matches!(what, Judged::Robustness | Judged::Races | Judged::Flushes);
                // With one thread, looking at every access to the heap costs too much to do it unasked.
                what != Judged::Heap && (!tree || self.leaves_no_tree().is_none())
            }
            false => self.checks.contains(&what),
        }
    }

    fn names_of_checks(&self) -> Vec<String> {
        let asked = Judged::value_variants().iter().filter(|&&c| self.checks(c));
        let names =
            asked.filter_map(|check| Some(check.to_possible_value()?.get_name().to_owned()));
        names.collect()
    }

    /// With threads every access is looked at anyway, so the heap is too, unless something else is asked for.
    pub(super) fn looks_at_heap_of_threads(&self) -> bool {
        self.checks.is_empty() || self.checks(Judged::Heap)
    }

    /// Is there anything to judge besides failures?
    pub(super) fn judges(&self) -> bool {
        let judged = [Judged::Robustness, Judged::Races, Judged::Flushes];
        judged.into_iter().any(|what| self.checks(what))
    }

    /// What persistency races are looked for in, if they are.
    pub(super) fn races(&self) -> Option<Window> {
        let window = match self.no_prefix {
            true => Window::Cut,
            false => Window::Prefix,
        };
        self.checks(Judged::Races).then_some(window)
    }

    pub(super) fn atomics(&self) -> Atomics {
        match self.volatile_atomic {
            true => Atomics::AtomicOrVolatile,
            false => Atomics::Atomic,
        }
    }

    /// The option that leaves no tree of all recoveries to judge, or one of other stores than the program made, if one was given:
    /// "clean" would be a lie.
    pub(super) fn leaves_no_tree(&self) -> Option<&'static str> {
        match self {
            Check { tear: true, .. } => Some("--tear"),
            Check { eager: true, .. } => Some("--eager"),
            Check { no_share: true, .. } => Some("--no-share"),
            Check {
                recover_schedules: true,
                ..
            } => Some("--recover-schedules"),
            _ => None,
        }
    }

    pub(super) fn platform_name(&self) -> &'static str {
        match self.platform {
            PlatformArg::Adr => "adr",
            PlatformArg::Eadr => "eadr",
        }
    }

    pub(super) fn search(&self) -> Options {
        Options {
            failures: self.failures,
            share: !self.no_share,
            eager: self.eager,
            platform: self.platform.into(),
            tear: self.tear,
            ..Options::default()
        }
    }

    pub(super) fn model(&self) -> Model {
        match self.model {
            ModelArg::Tso => Model::Tso,
            ModelArg::Sc => Model::Sc,
        }
    }

    pub(super) fn preempt(&self) -> Preempt {
        match self.preempt {
            PreemptArg::Auto => Preempt::Auto,
            PreemptArg::Sync => Preempt::Sync,
            PreemptArg::Everywhere => Preempt::Everywhere,
        }
    }

    /// The most preemptions in one schedule, if there is a most.
    pub(super) fn bound(&self) -> Option<u32> {
        self.bound
    }

    pub(super) fn policy(&self) -> Policy {
        match self.order {
            OrderArg::Quiet => Policy::Quiet,
            OrderArg::PreemptFirst => Policy::PreemptFirst,
        }
    }

    pub(super) fn relation(&self) -> Relation {
        match self.races {
            RacesArg::HappensBefore => Relation::Pure,
            RacesArg::Limited => Relation::Limited,
        }
    }

    /// What is looked for, and within which bounds.
    pub(super) fn scope(&self) -> landfall_report::Scope {
        landfall_report::Scope {
            checks: self.names_of_checks(),
            failures: self.failures,
            platform: self.platform_name().to_owned(),
        }
    }

    /// A live line is for people who look at it.
    pub(super) fn live(&self) -> Live {
        match !self.quiet && self.format == Format::Human && std::io::stderr().is_terminal() {
            true => Live::Shown,
            false => Live::Silent,
        }
    }

    /// Servers that run recoveries.
    pub(super) fn workers(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.jobs.map_or_else(processors, NonZeroUsize::get)
    }

    pub(super) fn budget(&self, started: Instant) -> Budget {
        Budget {
            runs: self.runs,
            until: self.deadline(started),
        }
    }

    /// Steps that threads take in one execution: fewer than events by far, and what is searched of them costs more.
    pub(super) fn most_steps(&self) -> usize {
        const PER_STEP: u64 = 500;
        (self.events / PER_STEP).clamp(100_000, 1_000_000) as usize
    }

    /// When the search ends. It started when the program was built.
    pub(super) fn deadline(&self, started: Instant) -> Deadline {
        if let Some((search, _)) = self.counted.as_deref() {
            return *search;
        }
        Deadline::new(self.time.map(|time| started + time))
    }

    /// When nothing is run any more for what was found until then: the rest of the time that is left goes to printing.
    pub(super) fn last_call(&self, started: Instant) -> Deadline {
        self.after(started, 3)
    }

    /// So many tenths of the time that is left after the search.
    pub(super) fn after(&self, started: Instant, tenths: u32) -> Deadline {
        const LEAST: Duration = Duration::from_secs(2);
        if let Some((_, telling)) = self.counted.as_deref() {
            return *telling;
        }
        let after = self.time.map_or(LEAST, |time| (time / 10).max(LEAST));
        self.deadline(started).later(after * tenths / 10)
    }
}
