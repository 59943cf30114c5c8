//! All executions of a bounded program at once, symbolically; what is refuted is looked for in a native run.

mod ask;
mod certificates;
mod guide;
mod native;
mod source;

pub use ask::{ProofRound, PropertyAnswer};

use crate::error::{Error, ErrorKind};
use crate::observer::{Observer, Progress};
use certificates::CertificateFolder;
use landfall_native::compiler::Language;
use landfall_prove::c::Refusal;
use landfall_prove::encode::CrashEncoding;
use landfall_prove::prove::{ProofVerdict, SameState};
use landfall_prove::solver::Solver;
use landfall_prove::witness::Refutation;
use source::ProofSource;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What to prove, and how.
#[derive(Clone, Debug)]
pub struct ProveOptions {
    /// Options for the compiler.
    pub compiler_flags: Vec<OsString>,
    /// What to prove.
    pub property: Property,
    /// As in SV-COMP: functions `__VERIFIER_…` mean what they do there, and stores reach memory at once.
    pub sv_comp: bool,
    /// Rounds of a loop that are looked at where its own conditions do not say how many there are.
    pub unroll: u32,
    /// How a power failure is put into the formula; all give the same answer.
    pub crash: CrashEncoding,
    /// Of robustness: when what a power failure left is what some execution showed.
    pub alike: SameState,
    /// Waits for a condition that may end for no reason in one execution.
    pub spurious: u32,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Who searches.
    pub solver: Solver,
    /// Gives up on a question after this many conflicts.
    pub conflicts: Option<u32>,
    /// Gives up after this time.
    pub time: Option<Duration>,
    /// A refuted program is built there, and the refutation looked for in a native run and kept for replay.
    pub out: Option<PathBuf>,
    /// What proves the answers is written there, for somebody who does not trust the solver.
    pub certificate: Option<PathBuf>,
}

impl Default for ProveOptions {
    fn default() -> ProveOptions {
        ProveOptions {
            compiler_flags: Vec::new(),
            property: Property::Both,
            sv_comp: false,
            unroll: 8,
            crash: CrashEncoding::FullAtFlushes,
            alike: SameState::Values,
            spurious: 1,
            arguments: Vec::new(),
            solver: Solver::Cadical,
            conflicts: None,
            time: None,
            out: None,
            certificate: None,
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
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// One for each property.
    pub answers: Vec<PropertyAnswer>,
    /// What could not be modelled.
    pub refusal: Option<Refusal>,
    /// How far loops were followed.
    pub rounds: Vec<ProofRound>,
    /// What a proof takes to hold, besides the memory model.
    pub assumptions: Vec<String>,
    /// Where the certificate is, or why there is none, if one was asked for.
    pub certificate: Option<Result<PathBuf, String>>,
}

/// Proves or refutes: a program in C or C++, or a litmus test.
pub fn prove(
    files: &[PathBuf],
    options: &ProveOptions,
    observer: &mut dyn Observer,
) -> Result<Answers, Error> {
    if let Some(folder) = &options.certificate {
        if options.solver != Solver::Cadical {
            let why = "--certificate needs --solver cadical: the other one does not say how it came to its answer";
            return Err(Error::usage(why.to_owned()));
        }
        certificates::prepare(folder).map_err(Error::usage)?;
    }
    let source = Arc::new(source::read(files, options)?);
    let mut answers = asked(files, &source, options, observer)?;
    if let (Some(out), Some(language)) = (&options.out, source.language()) {
        seen_natively(files, options, language, &mut answers.answers, out)?;
    }
    Ok(answers)
}

/// Asks, beside us: when the time is up what is known then is the answer, wherever the asking is.
fn asked(
    files: &[PathBuf],
    source: &Arc<ProofSource>,
    options: &ProveOptions,
    observer: &mut dyn Observer,
) -> Result<Answers, Error> {
    let (say, heard) = channel();
    let (files, of, with) = (files.to_vec(), source.clone(), options.clone());
    let ask = move || {
        // Whoever asked may have gone on without.
        let tell = |said: Said| _ = say.send(said);
        let mut folder = with.certificate.as_deref().map(CertificateFolder::new);
        let mut answers = ask::answers(&of, &with, folder.as_mut(), &tell);
        answers.certificate = folder.map(|folder| folder.finish(&files, &with, &answers));
        tell(Said::Done(answers));
    };
    // Terms and calls nest as deep as the program does.
    let thread = std::thread::Builder::new().stack_size(1 << 30);
    thread.spawn(ask).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("no memory to work in: {error}"),
        )
    })?;
    // The search ends by itself; what leads up to it may not.
    let patience = options.time.map(|time| time + (time / 20).max(GRACE));
    let end = patience.and_then(|patience| Instant::now().checked_add(patience));
    let mut known = Answers::default();
    loop {
        let said = match end {
            Some(end) => heard.recv_timeout(end.saturating_duration_since(Instant::now())),
            None => heard.recv().map_err(RecvTimeoutError::from),
        };
        match said {
            Ok(Said::Progress(progress)) => observer.progress(&progress),
            Ok(Said::Known(more)) => known = more,
            Ok(Said::Done(answers)) => return Ok(answers),
            Err(RecvTimeoutError::Timeout) => {
                observer.progress(&Progress::Done);
                return Ok(ask::give_up(options, known));
            }
            // The panic has spoken.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new(ErrorKind::Internal, "the proof went wrong"));
            }
        }
    }
}

/// How much later than the time allowed an answer may come.
const GRACE: Duration = Duration::from_secs(1);

/// What whoever asks has to say.
pub(crate) enum Said {
    Progress(Progress),
    /// What is known by now.
    Known(Answers),
    Done(Answers),
}

impl PropertyAnswer {
    /// It holds as far as loops were followed, and some execution goes further: that is no proof.
    pub fn is_bounded(&self) -> bool {
        let holds = match self.verdict {
            ProofVerdict::Proved => true,
            // What is asserted may lie further on.
            ProofVerdict::Nothing => self.property == "invariant",
            _ => false,
        };
        holds && !self.limits.is_empty()
    }

    /// The execution that refutes, if one does.
    pub fn refutation(&self) -> Option<&Refutation> {
        match &self.verdict {
            ProofVerdict::Refuted(witness) => Some(witness),
            _ => None,
        }
    }
}

fn seen_natively(
    files: &[PathBuf],
    options: &ProveOptions,
    language: Language,
    answers: &mut [PropertyAnswer],
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
