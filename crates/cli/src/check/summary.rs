//! What a check came to, for people and for scripts.

use super::CheckArgs;
use super::render::{Detail, render};
use crate::args::Format;
use crate::exit::Exit;
use crate::screen::Screen;
use landfall::SourceTexts;
use landfall::finding::text::count;
use landfall::finding::{Equivalence, Run, SearchSpace, Verdict};
use std::fmt::Write;
use std::path::PathBuf;

pub(super) fn print(run: &Run, args: &CheckArgs) -> Exit {
    let screen = Screen::new(args.color);
    let text = match args.format {
        Format::Json => landfall::json(run),
        Format::Human if args.quiet => String::new(),
        Format::Human => match screen.width() {
            Some(width) => super::fit::fit(&for_people(run, args, width), width),
            None => for_people(run, args, landfall::WIDTH),
        },
    };
    if let Err(error) = screen.out(&text) {
        screen.err(&format!("landfall: standard output: {error}\n"));
        return Exit::Internal;
    }
    match run.verdict {
        Verdict::Clean => Exit::Clean,
        Verdict::Findings => Exit::Findings,
        Verdict::Incomplete => Exit::Limit,
    }
}

fn for_people(run: &Run, args: &CheckArgs, width: usize) -> String {
    let mut out = String::new();
    let mut sources = SourceTexts::new(PathBuf::new());
    let detail = match args.verbose {
        true => Detail::Full,
        false => Detail::Short,
    };
    for finding in &run.findings {
        let _ = writeln!(out, "{}", render(finding, &mut sources, detail, width));
    }
    for warning in &run.warnings {
        let _ = writeln!(out, "warning: {warning}\n");
    }
    if run.hidden_races > 0 {
        let races = count(
            run.hidden_races,
            "persistency race is not listed, of a store",
            "persistency races are not listed, of stores",
        );
        let _ = writeln!(
            out,
            "note: {races} that findings above are about (--checks races lists them)\n"
        );
    }
    if run.plain_stores > 0 {
        let stores = count(
            run.plain_stores,
            "plain store could be torn by another compiler; this one made one instruction of it",
            "plain stores could be torn by another compiler; this one made one instruction of each",
        );
        let _ = writeln!(out, "note: {stores} (--checks races lists them)\n");
    }
    for (library, &warnings) in &run.in_libraries {
        let (are, them) = match warnings {
            1 => ("is", "it"),
            _ => ("are", "them"),
        };
        let warnings = count(warnings, "warning", "warnings");
        let _ = writeln!(
            out,
            "note: {warnings} about the inside of {library} {are} not listed (--checks crash,robustness,races,flushes lists {them})\n"
        );
    }
    let stats = &run.stats;
    let executions = count(stats.runs, "execution", "executions");
    let mut schedules = count(stats.schedules, "schedule", "schedules");
    let each = match (stats.equivalence, stats.schedules) {
        (Some(Equivalence::Reads), 1) => Some("the only way to read"),
        (Some(Equivalence::Reads), _) => Some("one for each way to read"),
        (Some(Equivalence::Values), 1) => Some("the only values to be read"),
        (Some(Equivalence::Values), _) => Some("one for all that read the same values"),
        (Some(Equivalence::Orders) | None, _) => None,
    };
    if let Some(each) = each {
        schedules = format!("{schedules} ({each})");
    }
    if let Some(all) = stats.symmetric {
        let verb = if stats.schedules == 1 {
            "stands"
        } else {
            "stand"
        };
        let all = match all {
            u64::MAX => "more than 18 billion billion".to_owned(),
            all => all.to_string(),
        };
        schedules = format!("{schedules} that {verb} for {all}");
    }
    let recoveries = count(stats.behaviours, "distinct recovery", "distinct recoveries");
    let (tried, all) = match run.space {
        SearchSpace::PowerFailures => {
            let failures = count(stats.cuts, "power failure", "power failures");
            let tried = format!("{failures} tried, {recoveries}");
            (tried, "every power failure of this run")
        }
        SearchSpace::PowerFailuresOfSchedules => {
            let tried = format!("{schedules}, {recoveries}");
            (tried, "every power failure of every schedule")
        }
        SearchSpace::Schedules => (schedules, "every schedule"),
    };
    let all = match run.timer_signals {
        0 => all.to_owned(),
        1 => format!("{all} with one signal of each timer"),
        signals => format!("{all} with {signals} signals of each timer"),
    };
    let built = stats.compile_seconds.map_or_else(String::new, |seconds| {
        format!(" after {seconds:.2} s of compiling")
    });
    let assumed = match stats.assumed {
        0 => String::new(),
        assumed => format!(
            ", {} ended by an assumption",
            count(assumed, "execution", "executions")
        ),
    };
    let skipped = match stats.skipped {
        0 => String::new(),
        skipped => format!(
            ", {} not run that would show a finding again (--all runs them)",
            count(skipped, "recovery", "recoveries")
        ),
    };
    let covered = format!(
        "{tried}{skipped}{assumed}, {executions}, {:.2} s{built}",
        stats.seconds
    );
    let eager = match stats.eager_states.as_str() {
        "" => String::new(),
        states => format!(" (one by one: {states} states)"),
    };
    let mut found = format!("{} found", run.findings.len());
    if run.allowed > 0 {
        let _ = write!(found, ", {} allowed", run.allowed);
    }
    if run.known_before > 0 {
        let _ = write!(found, ", {} known before", run.known_before);
    }
    let limits = || {
        let names: Vec<_> = run.limits.iter().map(|limit| limit.name()).collect();
        names.join(", ")
    };
    let verdict = match run.verdict {
        Verdict::Clean if run.findings.is_empty() && run.allowed == 0 && run.known_before == 0 => {
            format!("clean: {all} was tried")
        }
        Verdict::Clean => format!("clean ({found}): {all} was tried"),
        Verdict::Findings if run.limits.is_empty() => found,
        Verdict::Findings => format!("{found} (limit: {})", limits()),
        Verdict::Incomplete => format!("incomplete (limit: {})", limits()),
    };
    let _ = writeln!(out, "{verdict}: {covered}{eager}");
    if let Some(drawn) = &stats.drawn {
        let _ = writeln!(
            out,
            "drawn by ranks: a mistake of depth {} would be met with a probability of at least {:.1} % (threads and store buffers: {}, steps: up to {})",
            drawn.depth,
            drawn.probability * 100.0,
            drawn.processes,
            drawn.steps
        );
    }
    for assumption in &run.assumptions {
        let at = assumption.at.as_ref();
        let at = at.map_or_else(String::new, |at| format!(" ({})", at.colons()));
        let _ = writeln!(out, "assumed: {}{at}", assumption.message);
    }
    if let Some(why) = &run.not_judged {
        let _ = writeln!(
            out,
            "not judged: robustness, races, snapshots, flushes ({why})"
        );
    }
    let fallback = stats.isolation.as_ref().and_then(|i| i.fallback.as_ref());
    if let (true, Some(why)) = (args.verbose, fallback) {
        let _ = writeln!(out, "runs in forks: {why}");
    }
    out
}
