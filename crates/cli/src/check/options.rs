//! The options of `check`, and what they come to.

use super::Refusal;
use crate::args::{Format, PlatformArg};
use crate::exit::Exit;
use landfall_model::order::Platform;
use landfall_native::compiler::{self, Compilation, Language};
use landfall_native::{Budget, Job, MallocMetadata};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Tries every power failure of a program's run, and runs its recovery on every state it can tell apart.
///
/// SOURCES are compiled first; -D -I -O -W -f -m -std= -l -L options are handed to the compiler. Without sources, the
/// program after `--` must have been built with `landfall cc` or `landfall c++`. Exit code: 0 searched exhaustively and
/// clean, 100 findings, 5 a limit was reached, 4 nothing to check, 101 the program did not build, 2 usage.
#[derive(clap::Args, Debug)]
pub(crate) struct Check {
    /// C or C++ sources
    #[arg(value_name = "SOURCE")]
    sources: Vec<PathBuf>,

    /// With sources: arguments of the program. Without: the program and its arguments
    #[arg(last = true, value_name = "PROGRAM ARGS")]
    command: Vec<OsString>,

    /// Where persistence begins: at the memory (adr) or at the caches (eadr)
    #[arg(long, value_enum, default_value_t = PlatformArg::Adr)]
    platform: PlatformArg,

    /// malloc is persistent memory
    #[arg(long)]
    pm_heap: bool,

    /// Stop after this many executions
    #[arg(long, value_name = "N")]
    runs: Option<u64>,

    /// Stop after this time (10s, 5m, 1h)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// Steps of one execution before it counts as a hang
    #[arg(long, value_name = "N", default_value_t = USUAL_EVENTS)]
    events: u64,

    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Where to put run.json and what is needed to see each bug again
    #[arg(long, value_name = "DIR", default_value = "landfall-out")]
    pub(crate) out: PathBuf,

    /// Options for the compiler, taken out of the command line before clap sees it.
    #[arg(skip)]
    pub(crate) compiler_flags: Vec<OsString>,
}

const USUAL_EVENTS: u64 = 50_000_000;

/// What is to be run.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
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

/// Takes the compiler's options out of a `check` command line, up to `--`.
pub(crate) fn take_compiler_flags(arguments: Vec<OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "--" {
            ours.push(argument);
            ours.extend(arguments);
            break;
        }
        let prefixes = [
            "-D",
            "-I",
            "-O",
            "-W",
            "-f",
            "-m",
            "-std=",
            "-l",
            "-L",
            "-U",
            "-g",
            "-pthread",
            "-ivfsoverlay",
        ];
        if !prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            ours.push(argument);
            continue;
        }
        let takes_value = ["-D", "-I", "-l", "-L", "-U", "-ivfsoverlay"].contains(&&*text);
        theirs.push(argument);
        if takes_value {
            theirs.extend(arguments.next());
        }
    }
    (ours, theirs)
}

impl Check {
    pub(super) fn platform(&self) -> Platform {
        self.platform.into()
    }

    pub(super) fn malloc(&self) -> Option<MallocMetadata> {
        self.pm_heap.then_some(MallocMetadata::Modelled)
    }

    pub(super) fn job(&self) -> Job {
        let mut job = Job::default();
        job.limits.events = self.events;
        job
    }

    /// The budget of a run, where it is not the default.
    pub(super) fn unusual_events(&self) -> Option<u64> {
        (self.events != USUAL_EVENTS).then_some(self.events)
    }

    pub(super) fn budget(&self, started: Instant) -> Budget {
        Budget {
            runs: self.runs,
            until: self.time.map(|time| started + time),
        }
    }

    /// Builds the sources, or finds the program.
    pub(super) fn target(&self) -> Result<Target, Refusal> {
        if self.sources.is_empty() {
            let mut command = self.command.iter().cloned();
            let Some(program) = command.next() else {
                return Err(Refusal::new(
                    Exit::Usage,
                    "nothing to check: name sources, or a program after `--` (landfall check --help)",
                ));
            };
            let program = PathBuf::from(program);
            if !program.exists() {
                let why = format!("{}: no such program", program.display());
                return Err(Refusal::new(Exit::Usage, why));
            }
            self.clear_out()?;
            return Ok(Target {
                program,
                arguments: command.collect(),
            });
        }
        self.clear_out()?;
        let program = self.out.join("program");
        self.compile(&program)?;
        Ok(Target {
            program,
            arguments: self.command.clone(),
        })
    }

    /// Makes the output directory and removes what an earlier check left there: bugs of another day would mislead.
    fn clear_out(&self) -> Result<(), Refusal> {
        let failed = |e| Refusal::new(Exit::Usage, format!("{}: {e}", self.out.display()));
        std::fs::create_dir_all(&self.out).map_err(failed)?;
        for entry in std::fs::read_dir(&self.out).map_err(failed)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let bug = name
                .strip_prefix('B')
                .and_then(|n| n.strip_suffix(".image"));
            if bug.is_some_and(|n| n.parse::<u32>().is_ok()) || name == "run.json" {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn compile(&self, program: &Path) -> Result<(), Refusal> {
        for source in &self.sources {
            if !source.is_file() {
                let why = format!("{}: no such source file", source.display());
                return Err(Refusal::new(Exit::Usage, why));
            }
        }
        let plus = |source: &PathBuf| {
            let extension = source.extension().and_then(OsStr::to_str);
            matches!(extension, Some("cc" | "cpp" | "cxx" | "C" | "c++"))
        };
        let language = match self.sources.iter().any(plus) {
            true => Language::Cxx,
            false => Language::C,
        };
        let mut arguments: Vec<OsString> = self.compiler_flags.clone();
        arguments.extend(self.sources.iter().map(|s| s.clone().into_os_string()));
        arguments.extend(["-o".into(), program.as_os_str().to_owned()]);
        let Compilation {
            mut command,
            remarks,
        } = compiler::command(language, &arguments).map_err(|e| Refusal::new(Exit::Usage, e))?;
        for remark in remarks {
            eprintln!("landfall: {remark}");
        }
        let status = command.status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(Refusal::new(Exit::Build, "the program did not build")),
            Err(error) => Err(Refusal::new(Exit::Build, format!("the compiler: {error}"))),
        }
    }
}
