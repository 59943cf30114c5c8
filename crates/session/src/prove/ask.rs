//! Asking: each property, with loops unrolled further and further until no execution goes beyond.

use crate::observer::Progress;
use crate::prove::source::ProofSource;
use crate::prove::{Answers, Property, ProveOptions, Said};
use landfall_prove::program::ProofProgram;
use landfall_prove::prove::{self, ProofOptions, ProofVerdict, Sizes};
use landfall_prove::solver::SearchOptions;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One property, answered.
#[derive(Clone, Debug)]
pub struct PropertyAnswer {
    /// `invariant` or `robust`.
    pub property: &'static str,
    /// The answer.
    pub verdict: ProofVerdict,
    /// How large the question was.
    pub sizes: Sizes,
    /// How long it took.
    pub took: Duration,
    /// Of a proof: where loops were cut, and some execution would have gone on.
    pub limits: Vec<String>,
    /// Of a refutation: the file that replays it, or why there is none.
    pub native: Option<Result<PathBuf, String>>,
}

/// One bound, and how long its parts took.
#[derive(Clone, Debug)]
pub struct ProofRound {
    /// Rounds of loops.
    pub unroll: u32,
    /// Of the program, with loops so far.
    pub events: usize,
    /// To follow the program.
    pub translating: Duration,
    /// To answer.
    pub searching: Duration,
    /// To see whether loops go on.
    pub bounding: Duration,
}

type Question = fn(&ProofProgram, &ProofOptions) -> prove::Answered;

pub(crate) fn answers(source: &ProofSource, args: &ProveOptions, tell: &dyn Fn(Said)) -> Answers {
    let options = options(args);
    let mut all = Answers::default();
    let mut before = Answers::default();
    for unroll in bounds(source, args) {
        if source.has_loops() {
            tell(Said::Progress(Progress::Loops { rounds: unroll }));
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
        let settled: Vec<PropertyAnswer> = std::mem::take(&mut all.answers)
            .into_iter()
            .filter(|answer| !may_change(answer))
            .collect();
        all.answers = ask(&program, args, &options, settled, &mut |answer| {
            // What holds so far may not hold further on; what does not hold never will.
            if matches!(answer.verdict, ProofVerdict::Refuted(_)) {
                before.answers.retain(|a| a.property != answer.property);
                before.answers.push(answer.clone());
                tell(Said::Known(before.clone()));
            }
        });
        let searching = start.elapsed();
        let start = Instant::now();
        let mut limits = Vec::new();
        if all.answers.iter().any(may_change) {
            let bounds = prove::bounds(&program, &options);
            limits = [bounds.exceeded, bounds.undecided].concat();
        }
        all.rounds.push(ProofRound {
            unroll,
            events: program.events.len(),
            translating,
            searching,
            bounding: start.elapsed(),
        });
        for answer in all.answers.iter_mut().filter(|a| may_change(a)) {
            answer.limits.clone_from(&limits);
        }
        before = all.clone();
        tell(Said::Known(before.clone()));
        let late = options.search.until.is_some_and(|u| Instant::now() >= u);
        if limits.is_empty() || late || !all.answers.iter().any(may_change) {
            break;
        }
    }
    if source.has_loops() {
        tell(Said::Progress(Progress::Done));
    }
    all
}

/// Could it be another answer with loops unrolled further?
fn may_change(answer: &PropertyAnswer) -> bool {
    matches!(answer.verdict, ProofVerdict::Proved | ProofVerdict::Nothing)
}

/// The bounds to try, one after the other.
fn bounds(source: &ProofSource, args: &ProveOptions) -> Vec<u32> {
    if !source.has_loops() {
        return vec![1];
    }
    let doubling = std::iter::successors(Some(2u32), |k| k.checked_mul(2));
    let mut all: Vec<u32> = doubling.take_while(|&k| k < args.unroll).collect();
    all.push(args.unroll);
    all
}

fn options(args: &ProveOptions) -> ProofOptions {
    ProofOptions {
        crash: args.crash,
        search: SearchOptions {
            solver: args.solver,
            max_conflicts: args.conflicts,
            until: args.time.and_then(|time| Instant::now().checked_add(time)),
            ..SearchOptions::default()
        },
        ..ProofOptions::default()
    }
}

/// What is settled is not asked again.
fn ask(
    program: &ProofProgram,
    args: &ProveOptions,
    options: &ProofOptions,
    mut settled: Vec<PropertyAnswer>,
    heard: &mut dyn FnMut(&PropertyAnswer),
) -> Vec<PropertyAnswer> {
    let mut answer = |(property, question): (&'static str, Question)| {
        if let Some(at) = settled.iter().position(|a| a.property == property) {
            return settled.swap_remove(at);
        }
        let start = Instant::now();
        let answered = question(program, options);
        let answer = PropertyAnswer {
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

fn questions(args: &ProveOptions) -> impl Iterator<Item = (&'static str, Question)> {
    let all: [(_, Question, _); 2] = [
        ("invariant", prove::invariant, Property::Robust),
        ("robust", prove::robust, Property::Invariant),
    ];
    let asked = args.property;
    let wanted = all.into_iter().filter(move |(.., other)| asked != *other);
    wanted.map(|(property, question, _)| (property, question))
}

/// What was asked and has no answer yet is not known: there is no more time.
pub(crate) fn give_up(args: &ProveOptions, mut known: Answers) -> Answers {
    let late = |property| PropertyAnswer {
        property,
        verdict: ProofVerdict::Unknown("the time was up".to_owned()),
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
