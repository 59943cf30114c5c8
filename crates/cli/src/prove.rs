//! `landfall prove`: all executions of a bounded program at once, symbolically.

mod ask;
mod guide;
mod native;
mod show;
mod source;

use crate::args::{Colour, Format};
use crate::exit::Exit;
use crate::screen::{Screen, plain};
use ask::Answer;
use clap::ValueEnum;
use landfall_native::compiler::Language;
use landfall_prove::c::Refusal;
use landfall_prove::encode::CrashEncoding;
use landfall_prove::prove::Verdict;
use landfall_prove::witness::Witness;
use source::Source;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Proves or refutes, for all executions and all power failures at once.
///
/// FILE is a C or C++ program as `landfall check` takes it: `main` with `lf_failures() == 0` is the program, with
/// `lf_failures() == 1` what runs after a power failure. Or it is a litmus test, whose invariant is what its file forbids.
/// Robust means that a power failure leaves only what some execution showed in one instant. Compiler options (-D, -I, -O, -m …)
/// are passed on. Exit code: 0 proved, 100 refuted, 5 not decided (or not modelled), 4 nothing to prove, 101 the program does
/// not compile, 2 the file cannot be read, 1 internal error.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ProveArgs {
    /// A program (.c, .cc), or a litmus test (.lit, or herd7's .litmus)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What to prove
    #[arg(long, value_enum, default_value_t = PropertyArg::Both)]
    property: PropertyArg,

    /// Rounds of a loop that are looked at where its own conditions do not say how many there are
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    unroll: u32,

    /// How a power failure is put into the formula; all give the same answer
    #[arg(long, value_enum, default_value_t = CrashArg::FullFlush)]
    crash: CrashArg,

    /// Who searches
    #[arg(long, value_enum, default_value_t = SolverArg::Cadical)]
    solver: SolverArg,

    /// Give up on a question after this many conflicts (cadical only)
    #[arg(long, value_name = "N")]
    conflicts: Option<u32>,

    /// Give up after this time (10s, 5m, 1h)
    #[arg(long, value_name = "TIME", value_parser = crate::check::duration)]
    time: Option<Duration>,

    /// Write the execution that refutes as a graph, for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,

    /// Draw the execution that refutes, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Build a refuted program here, look for the refutation in a native run, and keep it for `landfall replay`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Show how large the question was and what the search took
    #[arg(short, long)]
    verbose: bool,

    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    color: Colour,

    #[arg(skip)]
    pub(crate) compiler_flags: Vec<std::ffi::OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PropertyArg {
    /// Assertions hold, before a power failure and after it
    Invariant,
    /// A power failure leaves only what some execution showed in one instant
    Robust,
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum CrashArg {
    /// Graphs of what happened before it; it may come anywhere
    Partial,
    /// The same, right before something becomes durable
    PartialFlush,
    /// Graphs of whole executions; a flush counts if a survivor says it happened
    Full,
    /// The same, by stretches between what makes something durable
    FullFlush,
}

impl From<CrashArg> for CrashEncoding {
    fn from(arg: CrashArg) -> CrashEncoding {
        match arg {
            CrashArg::Partial => CrashEncoding::Partial,
            CrashArg::PartialFlush => CrashEncoding::PartialAtFlushes,
            CrashArg::Full => CrashEncoding::Full,
            CrashArg::FullFlush => CrashEncoding::FullAtFlushes,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum SolverArg {
    Cadical,
    /// Pure Rust, slower: for a second opinion
    Batsat,
}

/// All that was found out about a file.
#[derive(Clone, Default)]
struct Answers {
    answers: Vec<Answer>,
    /// What could not be modelled.
    refusal: Option<Refusal>,
    rounds: Vec<ask::Round>,
}

type Draw = fn(&Witness) -> String;

pub(crate) fn run(args: &ProveArgs) -> Exit {
    let screen = Screen::new(args.color);
    let names: Vec<_> = args.files.iter().map(|f| f.to_string_lossy()).collect();
    let file = plain(&names.join(" "));
    let source = match source::read(args) {
        Ok(source) => source,
        Err(failure) => {
            if !failure.why.is_empty() {
                screen.err(&format!("error: {file}{}\n", plain(&failure.why)));
            }
            return failure.exit;
        }
    };
    let source = Arc::new(source);
    let answers = match asked(&source, args, screen) {
        Ok(Some(answers)) => answers,
        Ok(None) => return Exit::Internal, // the panic has spoken
        Err(error) => {
            screen.err(&format!("error: no memory to work in: {error}\n"));
            return Exit::Internal;
        }
    };
    let graphs: [(_, Draw); 2] = [(&args.dot, Witness::to_dot), (&args.svg, Witness::to_svg)];
    for (path, draw) in graphs {
        let refuted = answers.answers.iter().find_map(refutation);
        if let (Some(path), Some(witness)) = (path, refuted)
            && let Err(error) = crate::out::write(path, draw(witness).as_bytes())
        {
            let path = plain(&path.to_string_lossy());
            screen.err(&format!("error: cannot write {path}: {error}\n"));
            return Exit::Usage;
        }
    }
    let mut answers = answers;
    if let (Some(out), Some(language)) = (&args.out, source.language())
        && let Err(error) = seen_natively(args, language, &mut answers.answers, out)
    {
        screen.err(&format!("error: {}\n", plain(&format!("{error:#}"))));
        return Exit::Usage;
    }
    let text = match args.format {
        Format::Human => show::human(&file, &answers, args.verbose),
        Format::Json => show::machine(&file, args, &answers),
    };
    match screen.out(&text) {
        Ok(()) => exit(&answers),
        Err(error) => {
            screen.err(&format!("error: cannot print the answer: {error}\n"));
            Exit::Internal
        }
    }
}

/// Asks, beside us: when the time is up what is known then is the answer, wherever the asking is. None if it fell over.
fn asked(
    source: &Arc<Source>,
    args: &ProveArgs,
    screen: Screen,
) -> std::io::Result<Option<Answers>> {
    let known = Arc::new(Mutex::new(Answers::default()));
    let (done, answered) = channel();
    let (heard, of, with) = (known.clone(), source.clone(), args.clone());
    let ask = move || {
        let know = |answers: &Answers| {
            if let Ok(mut known) = heard.lock() {
                known.clone_from(answers);
            }
        };
        // Whoever asked may have gone on without.
        let _ = done.send(ask::answers(&of, &with, screen, &know));
    };
    // Terms and calls nest as deep as the program does.
    let thread = std::thread::Builder::new().stack_size(1 << 30);
    thread.spawn(ask)?;
    // The search ends by itself; what leads up to it may not.
    let patience = args.time.map(|time| time + (time / 20).max(GRACE));
    let answered = match patience {
        Some(patience) => answered.recv_timeout(patience),
        None => answered.recv().map_err(RecvTimeoutError::from),
    };
    Ok(match answered {
        Ok(answers) => Some(answers),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => {
            let known = known.lock().map(|known| known.clone());
            Some(ask::give_up(args, known.unwrap_or_default()))
        }
    })
}

/// How much later than `--time` an answer may come.
const GRACE: Duration = Duration::from_secs(1);

fn exit(answers: &Answers) -> Exit {
    let some = |wanted: fn(&Verdict) -> bool| answers.answers.iter().any(|a| wanted(&a.verdict));
    if some(|v| matches!(v, Verdict::Refuted(_))) {
        Exit::Findings
    } else if answers.refusal.is_some() || some(|v| matches!(v, Verdict::Unknown(_))) {
        Exit::Limit
    } else if some(|v| matches!(v, Verdict::Proved)) {
        Exit::Clean
    } else {
        Exit::Nothing
    }
}

fn refutation(answer: &Answer) -> Option<&Witness> {
    match &answer.verdict {
        Verdict::Refuted(witness) => Some(witness),
        _ => None,
    }
}

fn seen_natively(
    args: &ProveArgs,
    language: Language,
    answers: &mut [Answer],
    out: &Path,
) -> anyhow::Result<()> {
    for answer in answers {
        if let Some(witness) = refutation(answer) {
            let seen = native::replayable(args, language, witness, answer.property, out)?;
            answer.native = Some(seen);
        }
    }
    Ok(())
}
