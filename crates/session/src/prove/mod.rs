//! All executions of a bounded program at once, symbolically; what is refuted is looked for in a native run.

mod ask;
mod guide;
mod native;
mod source;

pub use ask::{Answer, Round};

use crate::error::{Error, ErrorKind};
use crate::observer::{Observer, Watch};
use landfall_native::compiler::Language;
use landfall_prove::c::Refusal;
use landfall_prove::encode::CrashEncoding;
use landfall_prove::prove::Verdict;
use landfall_prove::solver::Solver;
use landfall_prove::witness::Witness;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to prove, and how.
#[derive(Clone, Debug)]
pub struct ProveOptions {
    /// Options for the compiler.
    pub compiler_flags: Vec<OsString>,
    /// What to prove.
    pub property: Property,
    /// Rounds of a loop that are looked at where its own conditions do not say how many there are.
    pub unroll: u32,
    /// How a power failure is put into the formula; all give the same answer.
    pub crash: CrashEncoding,
    /// Who searches.
    pub solver: Solver,
    /// Gives up on a question after this many conflicts.
    pub conflicts: Option<u32>,
    /// Gives up after this time.
    pub time: Option<Duration>,
    /// A refuted program is built there, and the refutation looked for in a native run and kept for replay.
    pub out: Option<PathBuf>,
}

impl Default for ProveOptions {
    fn default() -> ProveOptions {
        ProveOptions {
            compiler_flags: Vec::new(),
            property: Property::Both,
            unroll: 8,
            crash: CrashEncoding::FullAtFlushes,
            solver: Solver::Cadical,
            conflicts: None,
            time: None,
            out: None,
        }
    }
}

/// What to prove.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// Assertions hold, before a power failure and after it.
    Invariant,
    /// A power failure leaves only what some execution showed in one instant.
    Robust,
    /// Both.
    Both,
}

/// All that was found out about a program.
#[derive(Debug)]
pub struct Answers {
    /// One for each property.
    pub answers: Vec<Answer>,
    /// What could not be modelled.
    pub refusal: Option<Refusal>,
    /// How far loops were followed.
    pub rounds: Vec<Round>,
}

/// Proves or refutes: a program in C or C++, or a litmus test.
pub fn prove(
    files: &[PathBuf],
    options: &ProveOptions,
    observer: &mut dyn Observer,
) -> Result<Answers, Error> {
    let source = source::read(files, options)?;
    // Terms and calls nest as deep as the program does.
    let watch = Watch::new(observer);
    let (asked, rounds) = std::sync::mpsc::channel();
    let source = &source;
    let answers = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1 << 30);
        let thread = thread.spawn_scoped(scope, move || ask::answers(source, options, &asked));
        let thread = thread.map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("no memory to work in: {error}"),
            )
        })?;
        for progress in rounds {
            watch.progress(&progress);
        }
        thread
            .join()
            .map_err(|_| Error::new(ErrorKind::Internal, "the proof went wrong"))
    });
    let mut answers = answers?;
    if let (Some(out), Some(language)) = (&options.out, source.language()) {
        seen_natively(files, options, language, &mut answers.answers, out)?;
    }
    Ok(answers)
}

impl Answer {
    /// The execution that refutes, if one does.
    pub fn refutation(&self) -> Option<&Witness> {
        match &self.verdict {
            Verdict::Refuted(witness) => Some(witness),
            _ => None,
        }
    }
}

fn seen_natively(
    files: &[PathBuf],
    options: &ProveOptions,
    language: Language,
    answers: &mut [Answer],
    out: &Path,
) -> anyhow::Result<()> {
    for answer in answers {
        if let Some(witness) = answer.refutation() {
            let seen = native::replayable(files, options, language, witness, answer.property, out)?;
            answer.native = Some(seen);
        }
    }
    Ok(())
}
