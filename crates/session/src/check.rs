//! One check, from what is asked to what was found.

use crate::error::Error;
use crate::observer::{CheckWatch, Observer};
use crate::options::{Cancel, CheckKind, Options, Stdin, Target};
use crate::search::search;
use crate::setup::{self, Setup};
use landfall_finding::{Allowed, Run};
use landfall_native::{Deadline, Input};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Checks a program: every power failure, every schedule, within what the options say.
///
/// Results are also written into the folder for them ([`Options::asked_out`]).
pub fn check(
    target: &Target,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Run, Error> {
    checked(target, options, observer, None)
}

/// Checks a program. In tests `counted` says when the search ends, and the telling.
pub(crate) fn checked(
    target: &Target,
    options: &Options,
    observer: &mut dyn Observer,
    counted: Option<(Deadline, Deadline)>,
) -> Result<Run, Error> {
    let watch = CheckWatch::new(observer);
    let watch = &watch;
    let began = Instant::now();
    let (_claimed, mut options) = setup::claim(target, options.clone(), watch)?;
    options.counted = counted;
    let options = &options;
    if options.judges()
        && let Some(option) = options.leaves_no_tree()
    {
        let why = format!(
            "robustness, races, snapshots and flushes cannot be judged with {option}: leave it out, or ask for --checks crash"
        );
        return Err(Error::usage(why));
    }
    let setup = Setup {
        target,
        options,
        watch,
    };
    let mut built = setup.target()?;
    let compiling = began.elapsed().as_secs_f64();
    // Building the program is not part of the search.
    let started = Instant::now();
    built.programs.job.limits.until = options.deadline(started);
    let compile_seconds = built.build.is_some().then_some(compiling);
    let mut report = search(options, built, started, watch)?;
    report.compile_seconds = compile_seconds;
    report.stdin = options.input.as_ref().map(Input::length);
    report.finish(target, options, started)
}

/// A check that is put together step by step.
///
/// ```no_run
/// # fn main() -> Result<(), landfall::Error> {
/// let run = landfall::Check::new("queue.c").failures(2).run()?;
/// for finding in &run.findings {
///     println!("{}: {}", finding.kind, finding.message);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// What is checked.
    pub target: Target,
    /// How.
    pub options: Options,
}

impl Check {
    /// Of this C or C++ source.
    pub fn new(source: impl Into<PathBuf>) -> Check {
        Check {
            target: Target::sources([source]),
            options: Options::default(),
        }
    }

    /// Of that.
    pub fn of(target: Target) -> Check {
        Check {
            target,
            options: Options::default(),
        }
    }

    /// Power failures that may follow one another.
    pub fn failures(mut self, failures: u32) -> Check {
        self.options.failures = failures;
        self
    }

    /// What to look for, instead of all that applies.
    pub fn checks(mut self, checks: impl IntoIterator<Item = CheckKind>) -> Check {
        self.options.checks = checks.into_iter().collect();
        self
    }

    /// Ends the search after this time.
    pub fn time(mut self, time: Duration) -> Check {
        self.options.time = Some(time);
        self
    }

    /// Findings that are known and not to be reported.
    pub fn allow(mut self, allowed: Allowed) -> Check {
        self.options.allow.push(allowed);
        self
    }

    /// Where the results go.
    pub fn out(mut self, folder: impl Into<PathBuf>) -> Check {
        self.options.asked_out = Some(folder.into());
        self
    }

    /// What the program reads from its standard input.
    pub fn stdin(mut self, file: impl Into<PathBuf>) -> Check {
        self.options.stdin = Stdin::File(file.into());
        self
    }

    /// Something that ends it from elsewhere.
    pub fn cancelled_by(mut self, cancel: Cancel) -> Check {
        self.options.cancel = Some(cancel);
        self
    }

    /// Runs it.
    pub fn run(&self) -> Result<Run, Error> {
        self.watched(&mut ())
    }

    /// Runs it while somebody watches.
    pub fn watched(&self, observer: &mut dyn Observer) -> Result<Run, Error> {
        check(&self.target, &self.options, observer)
    }
}
