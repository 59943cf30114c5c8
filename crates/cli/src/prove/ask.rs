//! Asking: each property, with loops unrolled further and further until no execution goes beyond.

use super::source::Source;
use super::{Answers, PropertyArg, ProveArgs, SolverArg};
use crate::args::Format;
use crate::screen::Screen;
use landfall_prove::program::Program;
use landfall_prove::prove::{self, Options, Sizes, Verdict};
use landfall_prove::solver::{SearchOptions, Solver};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One property, answered.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) property: &'static str,
    pub(super) verdict: Verdict,
    pub(super) sizes: Sizes,
    pub(super) took: Duration,
    /// Of a proof: where loops were cut, and some execution would have gone on.
    pub(super) limits: Vec<String>,
    /// Of a refutation: the file that replays it, or why there is none.
    pub(super) native: Option<Result<PathBuf, String>>,
}

/// One bound, and how long its parts took.
#[derive(Clone)]
pub(super) struct Round {
    pub(super) unroll: u32,
    pub(super) events: usize,
    pub(super) translating: Duration,
    pub(super) searching: Duration,
    pub(super) bounding: Duration,
}

type Question = fn(&Program, &Options) -> prove::Answered;

/// `known` hears what is known by then, each time that is more.
pub(super) fn answers(
    source: &Source,
    args: &ProveArgs,
    screen: Screen,
    known: &dyn Fn(&Answers),
) -> Answers {
    let options = options(args);
    let mut all = Answers::default();
    let mut before = Answers::default();
    let shown = args.format == Format::Human && std::io::stderr().is_terminal();
    for unroll in bounds(source, args) {
        if shown && source.has_loops() {
            screen.err(&format!("\r\x1b[Kloops up to {unroll} …"));
        }
        let start = Instant::now();
        let program = match source.program(unroll) {
            Ok(program) => program,
            Err(refusal) => {
                all.refusal = Some(refusal);
                break;
            }
        };
        let translating = start.elapsed();
        let start = Instant::now();
        let settled: Vec<Answer> = std::mem::take(&mut all.answers)
            .into_iter()
            .filter(|answer| !matches!(answer.verdict, Verdict::Proved))
            .collect();
        all.answers = ask(&program, args, &options, settled, &mut |answer| {
            // What holds so far may not hold further on; what does not hold never will.
            if matches!(answer.verdict, Verdict::Refuted(_)) {
                before.answers.retain(|a| a.property != answer.property);
                before.answers.push(answer.clone());
                known(&before);
            }
        });
        let searching = start.elapsed();
        let start = Instant::now();
        let mut limits = Vec::new();
        let proved = |a: &Answer| matches!(a.verdict, Verdict::Proved);
        if all.answers.iter().any(proved) {
            let bounds = prove::bounds(&program, &options);
            limits = [bounds.exceeded, bounds.undecided].concat();
        }
        all.rounds.push(Round {
            unroll,
            events: program.events.len(),
            translating,
            searching,
            bounding: start.elapsed(),
        });
        for answer in all.answers.iter_mut().filter(|a| proved(a)) {
            answer.limits.clone_from(&limits);
        }
        before = all.clone();
        known(&before);
        let late = options.search.until.is_some_and(|u| Instant::now() >= u);
        if limits.is_empty() || late || !all.answers.iter().any(proved) {
            break;
        }
    }
    if shown && source.has_loops() {
        screen.err("\r\x1b[K");
    }
    all
}

/// The bounds to try, one after the other.
fn bounds(source: &Source, args: &ProveArgs) -> Vec<u32> {
    if !source.has_loops() {
        return vec![1];
    }
    let doubling = std::iter::successors(Some(2u32), |k| k.checked_mul(2));
    let mut all: Vec<u32> = doubling.take_while(|&k| k < args.unroll).collect();
    all.push(args.unroll);
    all
}

fn options(args: &ProveArgs) -> Options {
    Options {
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
    }
}

/// What is settled is not asked again.
fn ask(
    program: &Program,
    args: &ProveArgs,
    options: &Options,
    mut settled: Vec<Answer>,
    heard: &mut dyn FnMut(&Answer),
) -> Vec<Answer> {
    let mut answer = |(property, question): (&'static str, Question)| {
        if let Some(at) = settled.iter().position(|a| a.property == property) {
            return settled.swap_remove(at);
        }
        let start = Instant::now();
        let answered = question(program, options);
        let answer = Answer {
            property,
            verdict: answered.verdict,
            sizes: answered.sizes,
            took: start.elapsed(),
            limits: Vec::new(),
            native: None,
        };
        heard(&answer);
        answer
    };
    questions(args).map(&mut answer).collect()
}

fn questions(args: &ProveArgs) -> impl Iterator<Item = (&'static str, Question)> {
    let all: [(_, Question, _); 2] = [
        ("invariant", prove::invariant, PropertyArg::Robust),
        ("robust", prove::robust, PropertyArg::Invariant),
    ];
    let asked = args.property;
    let wanted = all.into_iter().filter(move |(.., other)| asked != *other);
    wanted.map(|(property, question, _)| (property, question))
}

/// What was asked and has no answer yet is not known: there is no more time.
pub(super) fn give_up(args: &ProveArgs, mut known: Answers) -> Answers {
    let late = |property| Answer {
        property,
        verdict: Verdict::Unknown("the time was up".to_owned()),
        sizes: Sizes::default(),
        took: args.time.unwrap_or_default(),
        limits: Vec::new(),
        native: None,
    };
    let mut answers = Vec::new();
    for (property, _) in questions(args) {
        let at = known.answers.iter().position(|a| a.property == property);
        answers.push(at.map_or_else(|| late(property), |at| known.answers.swap_remove(at)));
    }
    known.answers = answers;
    known
}
