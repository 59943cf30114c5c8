//! `landfall replay`: a found bug once more, from scratch, told event by event.

mod gdb;
mod narrate;

use crate::args::Colour;
use crate::check::finding::{kind, what};
use crate::exit::Exit;
use crate::names::{Place, address};
use crate::scene::{Act, Failure, Part, Stage};
use crate::screen::Screen;
use crate::witness::{Ended, PowerFailure, Witness, digest, image_lines};
use anyhow::Context;
use std::path::PathBuf;

/// Runs a found bug again, and tells what happens.
///
/// BUG is a file that `landfall check` left in its output directory. Everything is run from scratch: the program, each power
/// failure, the recovery. Exit code: 100 the same failure happened, 102 something else happened (the first difference is
/// named), 2 the file or the program cannot be used.
#[derive(clap::Args, Debug)]
pub(crate) struct Replay {
    /// A bug found by `landfall check`: landfall-out/B1.json
    #[arg(value_name = "BUG")]
    bug: PathBuf,

    /// Open gdb on the failing execution, at the point where it fails
    #[arg(long)]
    gdb: bool,

    /// With --gdb: a command for gdb, instead of its prompt (more than one in this order)
    #[arg(long, value_name = "COMMAND", requires = "gdb")]
    ex: Vec<String>,

    /// Tell every event
    #[arg(short, long)]
    verbose: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    color: Colour,
}

pub(crate) fn run(options: &Replay) -> Exit {
    match replay(options) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("landfall: {error:#}");
            Exit::Usage
        }
    }
}

fn replay(options: &Replay) -> anyhow::Result<Exit> {
    let witness = Witness::read(&options.bug)?;
    let bug = std::fs::canonicalize(&options.bug).unwrap_or_else(|_| options.bug.clone());
    // Paths are those of the check; on another machine they may mean something here.
    let directory = witness.directory.path();
    if directory.is_dir() {
        std::env::set_current_dir(&directory)?;
    }
    let folder = bug.parent().unwrap_or(&directory);
    let _kept = crate::out::keep(folder).with_context(|| {
        format!(
            "{}: a check writes there: wait for it, or copy the folder before it begins",
            folder.display()
        )
    })?;
    let scene = witness.scene()?;
    let failures = witness.failures()?;
    let mut stage = Stage::open(&scene)?;
    let played = play(&witness, &failures, &mut stage)?;
    if options.gdb {
        if let Some(difference) = &played.difference {
            eprintln!("landfall: not the same: {difference}");
            return Ok(Exit::Uncontrolled);
        }
        let input = witness.stdin.as_ref().map(|given| given.file.path());
        return gdb::open(options, &scene, input.as_deref(), &played.acts, &failures);
    }
    let screen = Screen::new(options.color);
    let told = narrate::Narration {
        witness: &witness,
        failures: &failures,
        acts: &played.acts,
        stage: &stage,
        everything: options.verbose,
    };
    screen.out(&told.text())?;
    match played.difference {
        None => {
            let name = options.bug.display();
            screen.out(&format!("reproduced: the same failure as in {name}\n"))?;
            Ok(Exit::Findings)
        }
        Some(difference) => {
            screen.err(&format!(
                "landfall: {}: not the same: {difference}\n",
                bug.display()
            ));
            Ok(Exit::Uncontrolled)
        }
    }
}

/// The executions as far as they went, and where they left what the witness says.
#[derive(Debug)]
struct Played {
    acts: Vec<Act>,
    difference: Option<String>,
}

fn play(witness: &Witness, failures: &[Failure], stage: &mut Stage) -> anyhow::Result<Played> {
    let mut played = Played {
        acts: Vec::new(),
        difference: None,
    };
    if digest(stage.base()) != witness.persistent_memory.at_first {
        let files = "the files that are persistent memory are not what they were";
        played.difference = Some(files.to_owned());
    }
    let mut found = stage.base().clone();
    for (count, (failure, said)) in failures.iter().zip(&witness.failures).enumerate() {
        let act = stage.act(found, count, true, Part::Crashes)?;
        if let Some(difference) = differs(&act, failure, said, stage, count) {
            let first = played.difference.take().unwrap_or(difference);
            played.acts.push(act);
            played.difference = Some(first);
            return Ok(played);
        }
        found = act.left(failure);
        played.acts.push(act);
    }
    let act = stage.act(found, failures.len(), true, Part::Last)?;
    let outcome = &act.execution.outcome;
    let ended = Ended {
        kind: kind(outcome).to_owned(),
        text: what(outcome, stage.names(failures.len())),
    };
    if ended != witness.outcome && played.difference.is_none() {
        let (then, now) = (&witness.outcome.text, &ended.text);
        let number = failures.len() + 1;
        played.difference = Some(format!(
            "execution {number} ended with: {now}; when it was found: {then}"
        ));
    }
    played.acts.push(act);
    Ok(played)
}

/// How an execution that was to crash differs from the one that did.
fn differs(
    act: &Act,
    failure: &Failure,
    said: &PowerFailure,
    stage: &Stage,
    count: usize,
) -> Option<String> {
    let number = count + 1;
    if !act.can_suffer(failure) {
        return Some(format!(
            "execution {number} does not get to the point of the power failure in the same way"
        ));
    }
    let image = act.left(failure);
    let left = image_lines(&image, stage.base());
    if left == said.image {
        let whole = said.image_digest.as_ref();
        let same = whole.is_none_or(|said| *said == digest(&image));
        return (!same).then(|| format!("execution {number} leaves other bytes in memory"));
    }
    let missing = |line: &&crate::witness::ImageLine| !said.image.contains(line);
    let gone = said.image.iter().find(|line| !left.contains(line));
    let line = left.iter().find(missing).or(gone)?;
    let start = u64::from_str_radix(line.line.trim_start_matches("0x"), 16).unwrap_or_default();
    let entries = act.log.entries().iter().enumerate();
    let last = entries
        .take(failure.cut.0 as usize)
        .rfind(|(_, entry)| match entry {
            landfall_model::log::Entry::Store { piece, .. } => piece.addr.line().start().0 == start,
            landfall_model::log::Entry::Durable { .. } => false,
        });
    let place = last.and_then(|(entry, _)| {
        let event = act.event(landfall_model::log::Cut(entry as u32));
        stage.names(count).place(event)
    });
    let stored = place.map_or_else(String::new, |at: Place| {
        format!(" (last stored at {})", at.colons())
    });
    Some(format!(
        "execution {number} leaves other bytes in the line at {}{stored}",
        address(start)
    ))
}
