//! Programs with one thread: run once, then try every power failure of that run and look at what recovery makes of it.

use crate::diagnose::checkers::RecoveryJudging;
use crate::diagnose::diagnosis::Diagnosis;
use crate::diagnose::doubtful::Doubts;
use crate::diagnose::finding;
use crate::diagnose::transactions::Transactions;
use crate::error::{Error, ErrorKind};
use crate::names::ProgramNames;
use crate::observer::{CheckWatch, Notices};
use crate::options::Asked;
use crate::programs::LoggedRun;
use crate::progress::Watched;
use crate::report::SearchReport;
use crate::search::first::FirstRun;
use crate::setup::BuiltTarget;
use crate::view::{coverage, outcomes};
use landfall_explore::recovery::{Behaviour, SearchError, Searched, eager, random, search_watched};
use landfall_explore::subject::{Ended, SubjectError};
use landfall_explore::tree::Forest;
use landfall_finding::text::count;
use landfall_finding::{Assumption, AssumptionKind, Limit};
use landfall_model::crash::PowerFailure;
use landfall_model::log::Cut;
use landfall_native::{Covered, MistakesOf, NativeSubject, Notice, Origin, Outcome, Server};
use std::cmp::Reverse;
use std::time::Instant;

/// Searches a program that creates no threads.
pub(super) fn check<'w>(
    options: &Asked,
    target: &BuiltTarget,
    first: FirstRun,
    (earlier, started): (&SearchReport, Instant),
    watch: &'w CheckWatch<'w>,
) -> Result<SearchReport, Error> {
    let programs = &target.programs;
    if let Some(refusal) = first.refusal() {
        return Err(refusal);
    }
    let mut report = first.report(options, earlier);
    report.runs += 1;
    report.assumed += u64::from(first.execution.outcome == Outcome::Assumed);
    let asked = first.persists(programs);
    let FirstRun {
        mut server,
        execution: crash_free,
        base,
    } = first;
    let mut bugs = Diagnosis::new(target, options, started);
    if crash_free.outcome.limit().is_some() {
        match programs.job.limits.until.reached() {
            Some(reached) => report.limit(reached),
            None => {
                let at = finding::failing_place(&crash_free, &ProgramNames::of(&server));
                report.unfinished(&crash_free.outcome, "the program", at.as_ref());
            }
        }
        return Ok(report);
    }
    if !crash_free.outcome.is_ok() {
        bugs.without_failure(&crash_free, &mut report)?;
        return Ok(report);
    }
    if !asked && options.sv_comp {
        report.add_server(&server);
        return Ok(report);
    }
    if !asked {
        return Err(Error::new(
            ErrorKind::Nothing,
            "there is nothing to check: the program creates no threads and asks for no persistent memory; use lf_pm or lf_alloc from landfall.h, --pm-dir DIR for files that are persistent, or --pm-heap for malloc",
        ));
    }
    let run = LoggedRun::new(base, crash_free, programs);
    report.eager_states = eager::count(&run.log).to_string();
    if options.count_eager {
        report.cuts = run.log.sufficient_cuts().len();
        report.limit(Limit::CountEager);
        report.add_server(&server);
        return Ok(report);
    }

    bugs.transactions = Transactions::of(&run, &ProgramNames::of(&server), programs);
    let mut recovery = match &programs.recover {
        Some(recover) => Some(Server::start(recover).map_err(Error::cannot_run)?),
        None => None,
    };
    let mut found = Searched::default();
    let again = programs.recover.as_ref().unwrap_or(&programs.program);
    let mut notices = Notices::new(watch, recovery.as_ref().unwrap_or(&server), started);
    let after = recovery.as_mut().unwrap_or(&mut server);
    let mut judging = RecoveryJudging::new(options, &run, programs, bugs.transactions.as_ref());
    let mut subject = NativeSubject::new(after, programs.job.clone(), options.budget(started))
        .with_workers(again, options.workers())
        .map_err(Error::cannot_run)?
        .covering();
    subject.watching = judging.watching.take();
    if !options.all {
        subject.mistakes = Some(mistakes(&run, bugs.transactions.as_ref()));
    }
    subject.notice = Some(Notice(Box::new(move |failed| notices.failed(failed))));
    let mut forest = Forest::default();
    let mut watched = Watched::new(subject, &run.log, watch);
    let mut nobody = ();
    let ended = match options.random {
        Some(tries) => {
            report.limit(Limit::Random);
            let search = options.search();
            let (base, log) = (&run.found, &run.log);
            let tries = random::Tries {
                count: tries,
                seed: options.seed,
            };
            random::search(
                &mut watched,
                &mut forest,
                base,
                log,
                &search,
                tries,
                &mut found,
            )
        }
        None => search_watched(
            &mut watched,
            &mut forest,
            &run.found,
            &run.log,
            &options.search(),
            match &mut judging.judge {
                Some(judge) => judge,
                None => &mut nobody,
            },
            &mut found,
        ),
    };
    let (mut subject, mut history) = watched.done(
        found.behaviours.len(),
        ended.is_ok() && options.random.is_none(),
    );
    judging.watching = subject.watching.take();
    if subject.flushes_unjudged {
        report.limit(Limit::Judging);
        report.warn(
            "flushes were not judged: a recovery did too much to keep track of what it flushed",
        );
    }
    let failed = std::mem::take(&mut subject.failed);
    let stopped_by = subject.stopped_by;
    let covered = subject.covered();
    report.runs += subject.runs;
    report.events += subject.events;
    report.assumed += subject.assumed;
    report.cuts += found.cuts;
    report.behaviours += found.behaviours.len();
    if found.uncut > 0 {
        report.uncut(found.uncut);
    }
    if found.skipped > 0 {
        report.skipped += u64::from(found.skipped);
        report.limit(Limit::Again);
    }
    if found.checksums_assumed {
        report.assume(Assumption {
            kind: AssumptionKind::Checksum,
            message: "a checksum accepts only what memory holds at some moment; of other mixtures of old and new lines a few were tried (--no-checksum-assumption tries all)".to_owned(),
            at: None,
        });
    }
    if found.contradictions > 0 {
        report.warn(&format!(
            "{} read what another had read and then went another way: the recovery is not deterministic, and they were not judged",
            count(found.contradictions.into(), "recovery", "recoveries")
        ));
    }
    let foreign = subject.foreign.take();
    let unfinished = subject.unfinished.take();
    drop(subject);
    if run.execution.foreign.is_none() {
        let symbols = recovery.as_ref().unwrap_or(&server).symbols();
        report.note_foreign("in a recovery, ", foreign.as_ref(), &symbols);
    }
    let names = ProgramNames::of(&server);
    let after = recovery.as_ref().map(ProgramNames::of);
    let after = after.as_ref().unwrap_or(&names);
    if let Some(unfinished) = unfinished {
        let at = finding::failing_place(&unfinished, after);
        report.unfinished(&unfinished.outcome, "a recovery", at.as_ref());
    }
    if options.random.is_some() {
        // Of random power failures those are known that showed something.
        let behaviours = found.behaviours.iter();
        history.cuts = behaviours.filter_map(|b| b.crashes.first_cut()).collect();
        history.cuts.sort_unstable();
        history.cuts.dedup();
    }
    report.coverage = coverage::coverage(&run, &names, &history.cuts, &covered, after);
    let advisable = match options.no_checksum_assumption {
        true => None,
        false => many_lines_at_once(&covered, report.behaviours),
    };
    if let Some((lines, origin)) = advisable {
        let place = after.origin(origin);
        report.warn(&format!(
            "most recoveries differ in which of {lines} lines, read at {}, are old: if that computes a checksum, put lf_checksum_begin() before it and lf_checksum_end(accepted) behind the comparison, and a few recoveries stand for all that reject",
            place.map_or_else(|| "an unknown place".to_owned(), |at| at.colons())
        ));
    }
    report.progress = history.samples;
    report.outcomes = outcomes::outcomes(&run, &names, after, &found.behaviours, &failed);
    report.add_server(&server);
    if let Some(recovery) = &recovery {
        report.add_server(recovery);
    }
    match ended {
        Ok(()) => {}
        Err(SearchError::Subject(SubjectError::Stopped)) => {
            report.limited(stopped_by);
        }
        Err(SearchError::Subject(error)) => return Err(Error::new(ErrorKind::Internal, error)),
        Err(SearchError::Diverged {
            difference,
            crashes,
        }) => return Err(bugs.diverged(difference, &crashes)),
    }
    judging.finish(&forest, stopped_by.is_none(), &mut bugs.transactions);
    // In an order that does not depend on how the search came to them.
    let mut failing: Vec<(&Behaviour, u32)> = (found.behaviours.iter())
        .filter_map(|behaviour| match behaviour.ended {
            Ended::Badly(number) => Some((behaviour, number)),
            Ended::Well => None,
        })
        .collect();
    // What hangs takes long to run again, and is mostly what others show sooner.
    let hangs = |number: u32| failed[number as usize].outcome.is_endless();
    failing.sort_by_cached_key(|(behaviour, number)| (hangs(*number), plainness(behaviour, &run)));
    let mut doubts = Doubts::default();
    let reads = |behaviour: &Behaviour| {
        let tree = forest.known(behaviour.crashes.count() as u32)?;
        Some(tree.path_of(behaviour.run))
    };
    for (behaviour, number) in failing {
        if doubts.explain(&mut bugs, (&run, behaviour), reads, &mut report)? {
            continue;
        }
        let failed = &failed[number as usize];
        bugs.after_failures(&run, behaviour, failed, &mut report)?;
    }
    let well = |behaviour: &&Behaviour| behaviour.ended == Ended::Well;
    for behaviour in found.behaviours.iter().filter(well) {
        doubts.explain(&mut bugs, (&run, behaviour), reads, &mut report)?;
    }
    let complete = report.is_complete();
    judging.report(complete, &mut bugs, &mut report)?;
    if found.checksums_refuted && report.all().next().is_none() {
        report.warn(
            "a checksum accepted a record that memory never held as a whole: every mixture of its lines was tried",
        );
    }
    report.runs += bugs.runs();
    Ok(report)
}

/// Distinct recoveries, and lines that one place reads, from which on they are worth a word.
const MANY: (usize, usize) = (1000, 4);

/// The place that reads most lines that were found old and new, if there are many recoveries: maybe a checksum.
fn many_lines_at_once(covered: &Covered, behaviours: usize) -> Option<(usize, Origin)> {
    if behaviours < MANY.0 {
        return None;
    }
    let places = covered.places();
    let places = places.map(|(origin, read)| (covered.mixed_lines(read), origin));
    places
        .filter(|&(lines, _)| lines >= MANY.1)
        .max_by_key(|&(lines, origin)| (lines, Reverse((origin.site, origin.caller))))
}

/// A mistake by what recoveries read: the place of the first store that was missed though a later one was found, or the transaction
/// that does not answer for a store.
fn mistakes<'a>(run: &LoggedRun, transactions: Option<&Transactions>) -> MistakesOf<'a> {
    let places: Vec<u64> = (0..run.log.end().0)
        .map(|entry| run.event(Cut(entry)).origin)
        .map(|origin| u64::from(origin.site) << 32 | u64::from(origin.caller))
        .collect();
    let told_by = transactions.map(Transactions::told_by);
    MistakesOf(Box::new(move |seen| {
        let groups = told_by.iter().flat_map(|told_by| told_by(seen));
        let groups = groups.map(|group| u64::MAX - group as u64);
        let lost = seen.overtaken();
        let lost = lost.and_then(|entry| places.get(entry.0 as usize).copied());
        groups.chain(lost).collect()
    }))
}

/// The plainest crash of a cause is the one that is told: fewer failures, then fewer lines that are older than they could be,
/// then fewer stores lost on them, then earlier cuts.
fn plainness(behaviour: &Behaviour, first: &LoggedRun) -> impl Ord + use<> {
    let crashes = behaviour.crashes.unpacked();
    let old: usize = crashes.iter().map(|crash| crash.old.len()).sum();
    let lost = |crash: &PowerFailure| -> u32 {
        let newest = |line| first.log.newest(line, crash.cut).0;
        let old = crash.old.iter();
        old.map(|&(line, version)| newest(line) - version.0).sum()
    };
    let lost = crashes.first().map(lost);
    let exactly: Vec<_> = (crashes.iter())
        .map(|crash| (crash.cut, crash.old.clone()))
        .collect();
    (crashes.len(), old, lost, exactly)
}
