//! `landfall prove`: all executions of a bounded program at once, symbolically.

use crate::args::{Colour, Format};
use crate::exit::Exit;
use crate::screen::{Screen, plain};
use clap::ValueEnum;
use landfall_prove::encode::CrashEncoding;
use landfall_prove::litmus::translate;
use landfall_prove::program::Program;
use landfall_prove::prove::{self, Options, Sizes, Verdict};
use landfall_prove::solver::{SearchOptions, Solver};
use landfall_prove::witness::{Fate, Witness};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Proves or refutes, for all executions and all power failures at once.
///
/// For a litmus test the invariant is what its file forbids; robust means that a power failure leaves only what some execution
/// showed in one instant. Exit code: 0 proved, 100 refuted, 5 not decided within the limit, 4 nothing to prove, 2 the file
/// cannot be read, 1 internal error.
#[derive(clap::Args, Debug)]
pub(crate) struct ProveArgs {
    /// A litmus test (.lit, or herd7's .litmus)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What to prove
    #[arg(long, value_enum, default_value_t = PropertyArg::Both)]
    property: PropertyArg,

    /// How a power failure is put into the formula; all give the same answer
    #[arg(long, value_enum, default_value_t = CrashArg::FullFlush)]
    crash: CrashArg,

    /// Who searches
    #[arg(long, value_enum, default_value_t = SolverArg::Cadical)]
    solver: SolverArg,

    /// Give up on a question after this many conflicts (cadical only)
    #[arg(long, value_name = "N")]
    conflicts: Option<u32>,

    /// Give up after this time (10s, 5m, 1h; cadical only)
    #[arg(long, value_name = "TIME", value_parser = crate::check::duration)]
    time: Option<Duration>,

    /// Write the execution that refutes as a graph, for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,

    /// Show how large the question was and what the search took
    #[arg(short, long)]
    verbose: bool,

    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    color: Colour,
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

/// One property, answered.
struct Answer {
    property: &'static str,
    verdict: Verdict,
    sizes: Sizes,
    took: Duration,
    /// Of a proof: where loops were cut, and some execution would have gone on.
    limits: Vec<String>,
}

pub(crate) fn run(args: &ProveArgs) -> Exit {
    let screen = Screen::new(args.color);
    let file = plain(&args.file.to_string_lossy());
    let program = match read(&args.file) {
        Ok(program) => program,
        Err(why) => {
            screen.err(&format!("error: {file}{}\n", plain(&why)));
            return Exit::Usage;
        }
    };
    let answers = answers(&program, args);
    if let Some(path) = &args.dot
        && let Err(error) = write_graph(path, &answers)
    {
        let path = plain(&path.to_string_lossy());
        screen.err(&format!("error: cannot write {path}: {error}\n"));
        return Exit::Usage;
    }
    let text = match args.format {
        Format::Human => human(&file, &answers, args.verbose),
        Format::Json => machine(&file, args, &answers),
    };
    match screen.out(&text) {
        Ok(()) => exit(&answers),
        Err(error) => {
            screen.err(&format!("error: cannot print the answer: {error}\n"));
            Exit::Internal
        }
    }
}

fn read(path: &Path) -> Result<Program, String> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("lit" | "litmus") => Ok(translate(&crate::litmus::read(path)?).program),
        _ => Err(": not a .lit or .litmus file, which is what can be proved".to_owned()),
    }
}

fn answers(program: &Program, args: &ProveArgs) -> Vec<Answer> {
    let options = Options {
        crash: args.crash.into(),
        search: SearchOptions {
            solver: match args.solver {
                SolverArg::Cadical => Solver::Cadical,
                SolverArg::Batsat => Solver::Batsat,
            },
            max_conflicts: args.conflicts,
            until: args.time.and_then(|time| Instant::now().checked_add(time)),
            ..SearchOptions::default()
        },
        ..Options::default()
    };
    let mut answers = Vec::new();
    let mut ask = |property, question: fn(&Program, &Options) -> prove::Answered| {
        let start = Instant::now();
        let answered = question(program, &options);
        let limits = match answered.verdict {
            Verdict::Proved => limits(program, &options),
            _ => Vec::new(),
        };
        answers.push(Answer {
            property,
            verdict: answered.verdict,
            sizes: answered.sizes,
            took: start.elapsed(),
            limits,
        });
    };
    if args.property != PropertyArg::Robust {
        ask("invariant", prove::invariant);
    }
    if args.property != PropertyArg::Invariant {
        ask("robust", prove::robust);
    }
    answers
}

fn limits(program: &Program, options: &Options) -> Vec<String> {
    let bounds = prove::bounds(program, options);
    [bounds.exceeded, bounds.undecided].concat()
}

fn exit(answers: &[Answer]) -> Exit {
    let some = |wanted: fn(&Verdict) -> bool| answers.iter().any(|a| wanted(&a.verdict));
    if some(|v| matches!(v, Verdict::Refuted(_))) {
        Exit::Findings
    } else if some(|v| matches!(v, Verdict::Unknown(_))) {
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

fn write_graph(path: &Path, answers: &[Answer]) -> std::io::Result<()> {
    match answers.iter().find_map(refutation) {
        Some(witness) => std::fs::write(path, witness.to_dot()),
        None => Ok(()),
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Proved => "proved",
        Verdict::Refuted(_) => "refuted",
        Verdict::Unknown(_) => "unknown",
        Verdict::Nothing => "nothing",
    }
}

fn human(file: &str, answers: &[Answer], verbose: bool) -> String {
    let mut out = String::new();
    for Answer {
        property,
        verdict,
        sizes,
        took,
        limits,
    } in answers
    {
        let _ = match verdict {
            Verdict::Nothing if *property == "robust" => {
                writeln!(
                    out,
                    "{file}: {property}: nothing to prove, no recovery reads"
                )
            }
            Verdict::Nothing => writeln!(
                out,
                "{file}: {property}: nothing to prove, nothing is forbidden"
            ),
            Verdict::Unknown(why) => writeln!(out, "{file}: {property}: unknown, {why}"),
            decided => writeln!(out, "{file}: {property}: {}", word(decided)),
        };
        for limit in limits {
            let _ = writeln!(out, "  only up to a bound: {}", plain(limit));
        }
        if let Verdict::Refuted(witness) = verdict {
            for line in witness.to_string().lines() {
                let _ = writeln!(out, "  {}", plain(line));
            }
        }
        if verbose && sizes.questions > 0 {
            let _ = writeln!(
                out,
                "  {} events, {} variables, {} clauses, {} edges; {} conflicts, {} by the theory; {:.3} s",
                sizes.events,
                sizes.variables,
                sizes.clauses,
                sizes.fixed_edges + sizes.guarded_edges,
                sizes.effort.conflicts,
                sizes.effort.theory.conflicts,
                took.as_secs_f64()
            );
        }
    }
    out
}

fn machine(file: &str, args: &ProveArgs, answers: &[Answer]) -> String {
    let overall = match exit(answers) {
        Exit::Findings => "refuted",
        Exit::Limit => "unknown",
        Exit::Clean => "proved",
        _ => "nothing",
    };
    let properties: Vec<Value> = answers.iter().map(one).collect();
    let answer = json!({
        "tool": "landfall",
        "version": env!("CARGO_PKG_VERSION"),
        "file": file,
        "verdict": overall,
        "crash": CrashEncoding::from(args.crash).name(),
        "properties": properties,
    });
    format!("{answer:#}\n")
}

fn one(answer: &Answer) -> Value {
    let (sizes, theory) = (&answer.sizes, &answer.sizes.effort.theory);
    let mut value = json!({
        "property": answer.property,
        "verdict": word(&answer.verdict),
        "bounds": answer.limits,
        "stats": {
            "events": sizes.events,
            "variables": sizes.variables,
            "clauses": sizes.clauses,
            "edges": sizes.fixed_edges + sizes.guarded_edges,
            "questions": sizes.questions,
            "conflicts": sizes.effort.conflicts,
            "theory": {
                "edges": theory.edges,
                "conflicts": theory.conflicts,
                "propagations": theory.propagations,
                "explanations": theory.explanations,
            },
            "seconds": answer.took.as_secs_f64(),
        },
    });
    match &answer.verdict {
        Verdict::Unknown(why) => value["why"] = json!(why),
        Verdict::Refuted(witness) => value["witness"] = graph(witness),
        _ => {}
    }
    value
}

fn graph(witness: &Witness) -> Value {
    let steps = witness.steps.iter().map(|step| {
        json!({
            "event": step.event.0,
            "thread": witness.threads[step.thread.index()],
            "text": step.label,
            "read": step.read.map(|(value, source)| json!({"value": value as i64, "from": source.map(|e| e.0)})),
            "written": step.written.map(|value| value as i64),
            "fate": match step.fate {
                Fate::Passed => None,
                Fate::Survived => Some("survived"),
                Fate::Lost => Some("lost"),
            },
            "before_failure": step.before_failure,
        })
    });
    let found = witness.found.iter().map(|found| {
        json!({"name": found.name, "value": found.value as i64, "from": found.source.map(|e| e.0)})
    });
    let pairs = |pairs: &[(u32, u32)]| json!(pairs);
    let coherence: Vec<(u32, u32)> = witness.coherence.iter().map(|(a, b)| (a.0, b.0)).collect();
    json!({
        "broken": witness.broken,
        "inputs": witness.inputs.iter().map(|(name, value)| json!({"name": name, "value": *value as i64})).collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
        "co": pairs(&coherence),
        "flushed": witness.flushed.iter().map(|(flush, line)| json!({"event": flush.0, "line": line.0})).collect::<Vec<_>>(),
        "found": found.collect::<Vec<_>>(),
        "failed": witness.failed,
    })
}
