//! Asking: each property, with loops unrolled further and further until no execution goes beyond.

use crate::observer::Progress;
use crate::prove::certificates::{CertificateFolder, PartOfFolder};
use crate::prove::source::ProofSource;
use crate::prove::{Answers, Property, ProveOptions, Said};
use landfall_prove::certificate::Certificates;
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
    /// Of a proof: where loops were cut, and some execution would have gone on. It holds up to there and no further.
    pub limits: Vec<String>,
    /// Rounds of loops that were looked at.
    pub unroll: u32,
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

type Question = fn(&ProofProgram, &ProofOptions, &mut dyn Certificates) -> prove::Answered;

pub(crate) fn answers(
    source: &ProofSource,
    args: &ProveOptions,
    mut folder: Option<&mut CertificateFolder>,
    tell: &dyn Fn(Said),
) -> Answers {
    let options = options(args);
    let mut all = Answers::default();
    let mut before = Answers::default();
    for unroll in bounds(source, args) {
        let proved = std::mem::take(&mut all.answers);
        if source.has_loops() {
            tell(Said::Progress(Progress::Loops { rounds: unroll }));
        }
        let start = Instant::now();
        let program = match source.program(unroll) {
            Ok(program) => program,
            Err(refusal) => {
                all.refusal = Some(refusal);
                all.answers = proved;
                break;
            }
        };
        let translating = start.elapsed();
        all.assumptions = program.assumptions.iter().cloned().collect();
        let start = Instant::now();
        let settled = proved.iter().filter(|answer| !may_change(answer));
        let settled = settled.cloned().collect();
        let with = (args, &options, unroll);
        all.answers = ask(
            &program,
            with,
            (settled, folder.as_deref_mut()),
            &mut |answer| {
                // What holds so far may not hold further on; what does not hold never will.
                if matches!(answer.verdict, ProofVerdict::Refuted(_)) {
                    before.answers.retain(|a| a.property != answer.property);
                    before.answers.push(answer.clone());
                    tell(Said::Known(before.clone()));
                }
            },
        );
        let searching = start.elapsed();
        // What was proved with fewer rounds stays so where more are not decided.
        let mut too_far = false;
        for answer in &mut all.answers {
            let fewer = proved.iter().find(|a| a.property == answer.property);
            if let (ProofVerdict::Unknown(_), Some(fewer)) = (&answer.verdict, fewer)
                && may_change(fewer)
            {
                answer.clone_from(fewer);
                too_far = true;
            }
        }
        let start = Instant::now();
        let mut limits = Vec::new();
        let here = |answer: &PropertyAnswer| may_change(answer) && answer.unroll == unroll;
        if all.answers.iter().any(here) {
            // Which loops they all are is of interest where no further round is asked about.
            let asked = ProofOptions {
                one_bound: unroll < args.unroll,
                ..options
            };
            let mut part = PartOfFolder::new(folder.as_deref_mut(), "bounds", unroll);
            let bounds = prove::certified_bounds(&program, &asked, &mut part);
            limits = [bounds.exceeded, bounds.undecided].concat();
        }
        all.rounds.push(ProofRound {
            unroll,
            events: program.events.len(),
            translating,
            searching,
            bounding: start.elapsed(),
        });
        for answer in all.answers.iter_mut().filter(|a| here(a)) {
            answer.limits.clone_from(&limits);
        }
        before = all.clone();
        tell(Said::Known(before.clone()));
        let late = options.search.until.is_some_and(|u| Instant::now() >= u);
        if limits.is_empty() || late || too_far || !all.answers.iter().any(may_change) {
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
    // 2, 3, 4, 6, 8, 12, …: what a proof takes grows so fast with them that one too many costs more than all fewer ones.
    let powers = std::iter::successors(Some(2u32), |k| k.checked_mul(2));
    let steps = powers.flat_map(|k| [k, k.saturating_add(k / 2)]);
    let mut all: Vec<u32> = steps.take_while(|&k| k < args.unroll).collect();
    all.push(args.unroll);
    all
}

fn options(args: &ProveOptions) -> ProofOptions {
    ProofOptions {
        crash: args.crash,
        alike: args.alike,
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
    (args, options, unroll): (&ProveOptions, &ProofOptions, u32),
    (mut settled, mut folder): (Vec<PropertyAnswer>, Option<&mut CertificateFolder>),
    heard: &mut dyn FnMut(&PropertyAnswer),
) -> Vec<PropertyAnswer> {
    let mut answer = |(property, question): (&'static str, Question)| {
        if let Some(at) = settled.iter().position(|a| a.property == property) {
            return settled.swap_remove(at);
        }
        let start = Instant::now();
        let mut part = PartOfFolder::new(folder.as_deref_mut(), property, unroll);
        let answered = question(program, options, &mut part);
        let answer = PropertyAnswer {
            property,
            verdict: answered.verdict,
            sizes: answered.sizes,
            took: start.elapsed(),
            limits: Vec::new(),
            unroll,
            native: None,
        };
        heard(&answer);
        answer
    };
    questions(args).map(&mut answer).collect()
}

fn questions(args: &ProveOptions) -> impl Iterator<Item = (&'static str, Question)> {
    let all: [(_, Question, _); 2] = [
        ("invariant", prove::certified_invariant, Property::Robust),
        ("robust", prove::certified_robust, Property::Invariant),
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
        unroll: 0,
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
