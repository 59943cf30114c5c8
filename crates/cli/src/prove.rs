//! `landfall prove`: all executions of a bounded program at once, symbolically.

mod show;

use crate::args::{Colour, Format};
use crate::check::Watcher;
use crate::exit::Exit;
use crate::screen::{Screen, plain};
use clap::ValueEnum;
use landfall::{Answers, Property, ProveOptions};
use landfall_prove::encode::CrashEncoding;
use landfall_prove::prove::{ProofVerdict, SameState};
use landfall_prove::solver::Solver;
use landfall_prove::witness::Refutation;
use std::path::PathBuf;
use std::time::Duration;

/// Proves or refutes, for all executions and all power failures at once.
///
/// FILE is a C or C++ program as `landfall check` takes it: `main` with `lf_failures() == 0` is the program, with
/// `lf_failures() == 1` what runs after a power failure. Or it is a litmus test, whose invariant is what its file forbids.
/// Robust means that a power failure leaves only what some execution showed in one instant. Compiler options (-D, -I, -O, -m …)
/// are passed on. Exit code: 0 proved, 100 refuted, 5 not decided, not modelled, or proved only as far as loops were followed
/// (--unroll), 4 nothing to prove, 101 the program does not compile, 2 the file cannot be read, 1 internal error.
#[derive(clap::Args, Debug)]
pub(crate) struct ProveArgs {
    /// A program (.c, .cc), or a litmus test (.lit, or herd7's .litmus)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What to prove
    #[arg(long, value_enum, default_value_t = PropertyArg::Both)]
    property: PropertyArg,

    /// A program of SV-COMP: functions __VERIFIER_… and reach_error mean what they do there, abort is an assumption, any exit code is
    /// as good as 0, and stores reach memory at once
    #[arg(long)]
    sv_comp: bool,

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

    /// Write down what proves the answer, for `landfall verify`
    #[arg(long, value_name = "DIR")]
    certificate: Option<PathBuf>,

    /// Show how large the question was and what the search took
    #[arg(short, long)]
    verbose: bool,

    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    color: Colour,

    /// When what a power failure left is what some execution showed (--property robust)
    #[arg(long, value_enum, default_value_t = AlikeArg::Values)]
    alike: AlikeArg,

    /// Waits for a condition that may end for no reason in one execution
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    spurious: u32,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<std::ffi::OsString>,

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
    /// Graphs of what happened before it; it comes right before something becomes durable
    PartialFlush,
    /// Graphs of whole executions; a flush counts if a survivor says it happened
    Full,
    /// Graphs of whole executions; what happened is asked of stretches between what makes something durable
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
enum AlikeArg {
    /// It has the same values
    Values,
    /// The values come from the same stores, as `landfall check` asks
    Stores,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum SolverArg {
    Cadical,
    /// Pure Rust, slower: for a second opinion
    Batsat,
}

type Draw = fn(&Refutation) -> String;

impl ProveArgs {
    fn options(&self) -> ProveOptions {
        ProveOptions {
            compiler_flags: self.compiler_flags.clone(),
            property: match self.property {
                PropertyArg::Invariant => Property::Invariant,
                PropertyArg::Robust => Property::Robust,
                PropertyArg::Both => Property::Both,
            },
            sv_comp: self.sv_comp,
            unroll: self.unroll,
            crash: self.crash.into(),
            alike: match self.alike {
                AlikeArg::Values => SameState::Values,
                AlikeArg::Stores => SameState::Stores,
            },
            spurious: self.spurious,
            arguments: self.arguments.clone(),
            solver: match self.solver {
                SolverArg::Cadical => Solver::Cadical,
                SolverArg::Batsat => Solver::Batsat,
            },
            conflicts: self.conflicts,
            time: self.time,
            out: self.out.clone(),
            certificate: self.certificate.clone(),
        }
    }
}

pub(crate) fn run(args: &ProveArgs) -> Exit {
    let screen = Screen::new(args.color);
    let names: Vec<_> = args.files.iter().map(|f| f.to_string_lossy()).collect();
    let file = plain(&names.join(" "));
    let mut watcher = Watcher::of_line(args.format == Format::Human);
    let answers = match landfall::prove(&args.files, &args.options(), &mut watcher) {
        Ok(answers) => answers,
        Err(error) => {
            screen.err(&format!("error: {}\n", plain(&error.to_string())));
            return error.kind().into();
        }
    };
    let graphs: [(_, Draw); 2] = [
        (&args.dot, Refutation::to_dot),
        (&args.svg, Refutation::to_svg),
    ];
    for (path, draw) in graphs {
        let refuted = answers
            .answers
            .iter()
            .find_map(|answer| answer.refutation());
        if let (Some(path), Some(witness)) = (path, refuted)
            && let Err(error) = landfall::write(path, draw(witness).as_bytes())
        {
            let path = plain(&path.to_string_lossy());
            screen.err(&format!("error: cannot write {path}: {error}\n"));
            return Exit::Usage;
        }
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

fn exit(answers: &Answers) -> Exit {
    let some =
        |wanted: fn(&ProofVerdict) -> bool| answers.answers.iter().any(|a| wanted(&a.verdict));
    if some(|v| matches!(v, ProofVerdict::Refuted(_))) {
        Exit::Findings
    } else if answers.refusal.is_some()
        || some(|v| matches!(v, ProofVerdict::Unknown(_)))
        || answers.answers.iter().any(|a| a.is_bounded())
    {
        Exit::Limit
    } else if some(|v| matches!(v, ProofVerdict::Proved)) {
        Exit::Clean
    } else {
        Exit::Nothing
    }
}
