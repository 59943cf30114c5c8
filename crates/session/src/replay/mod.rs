//! A found bug once more, from scratch, told event by event.

mod gdb;
mod narrate;

use crate::diagnose::finding::{kind, what};
use crate::error::{Error, ErrorKind};
use crate::names::address;
use crate::programs::{Failure, LoggedRun, Programs, Replayer, RunRole};
use crate::results::KeptFolder;
use crate::witness::{self, digest, image_lines};
use anyhow::Context;
use landfall_finding::{ImageLine, Place, RecordedFailure, RecordedOutcome, Witness};
use std::path::{Path, PathBuf};

/// A bug that was run again.
#[derive(Debug)]
pub struct Replay {
    witness: Witness,
    /// Where the check was made, or where we are if that is elsewhere.
    here: PathBuf,
    programs: Programs,
    failures: Vec<Failure>,
    replayer: Replayer,
    played: Played,
    _kept: KeptFolder,
}

/// Runs a bug again: `path` is a file that a check left.
pub fn replay(path: &Path) -> Result<Replay, Error> {
    Ok(again(path)?)
}

fn again(path: &Path) -> anyhow::Result<Replay> {
    let witness = witness::read(path)?;
    let bug = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // Paths are those of the check; on another machine they may mean something here.
    let mut here = witness.directory.path();
    if !here.is_dir() {
        here = std::env::current_dir()?;
    }
    let folder = bug.parent().unwrap_or(&here);
    let kept = crate::results::keep(folder).with_context(|| {
        format!(
            "{}: a check writes there: wait for it, or copy the folder before it begins",
            folder.display()
        )
    })?;
    let programs = witness::programs(&witness, &here)?;
    let failures = witness::failures(&witness)?;
    let mut replayer = Replayer::open(&programs)?;
    let played = play(&witness, &failures, &mut replayer)?;
    Ok(Replay {
        witness,
        here,
        programs,
        failures,
        replayer,
        played,
        _kept: kept,
    })
}

impl Replay {
    /// What differs from when it was found; none if the same happened.
    pub fn difference(&self) -> Option<&str> {
        self.played.difference.as_deref()
    }

    /// What happened, for people; every event, or those that matter.
    pub fn text(&self, everything: bool) -> String {
        narrate::Narration {
            witness: &self.witness,
            failures: &self.failures,
            runs: &self.played.runs,
            replayer: &self.replayer,
            everything,
        }
        .text()
    }

    /// Opens gdb on the failing execution, with these commands or with its prompt.
    pub fn debug(&self, commands: &[String]) -> Result<(), Error> {
        let input = self.witness.stdin.as_ref();
        let input = input.map(|given| self.here.join(given.file.path()));
        let (runs, failures) = (&self.played.runs, &self.failures);
        gdb::open(commands, &self.programs, input.as_deref(), runs, failures)
            .map_err(|error| Error::new(ErrorKind::Usage, format!("{error:#}")))
    }
}

/// The executions as far as they went, and where they left what the witness says.
#[derive(Debug)]
struct Played {
    runs: Vec<LoggedRun>,
    difference: Option<String>,
}

fn play(
    witness: &Witness,
    failures: &[Failure],
    replayer: &mut Replayer,
) -> anyhow::Result<Played> {
    let mut played = Played {
        runs: Vec::new(),
        difference: None,
    };
    if digest(replayer.base()) != witness.persistent_memory.at_first {
        let files = "the files that are persistent memory are not what they were";
        played.difference = Some(files.to_owned());
    }
    let mut found = replayer.base().clone();
    for (count, (failure, said)) in failures.iter().zip(&witness.failures).enumerate() {
        let run = replayer.run(found, count, true, RunRole::Crashes)?;
        if let Some(difference) = differs(&run, failure, said, replayer, count) {
            let first = played.difference.take().unwrap_or(difference);
            played.runs.push(run);
            played.difference = Some(first);
            return Ok(played);
        }
        found = run.left(failure);
        played.runs.push(run);
    }
    let run = replayer.run(found, failures.len(), true, RunRole::Last)?;
    let outcome = &run.execution.outcome;
    let ended = RecordedOutcome {
        kind: kind(outcome).to_string(),
        text: what(outcome, replayer.names(failures.len())),
    };
    if ended != witness.outcome && played.difference.is_none() {
        let (then, now) = (&witness.outcome.text, &ended.text);
        let number = failures.len() + 1;
        played.difference = Some(format!(
            "execution {number} ended with: {now}; when it was found: {then}"
        ));
    }
    played.runs.push(run);
    Ok(played)
}

/// How an execution that was to crash differs from the one that did.
fn differs(
    run: &LoggedRun,
    failure: &Failure,
    said: &RecordedFailure,
    replayer: &Replayer,
    count: usize,
) -> Option<String> {
    let number = count + 1;
    if !run.can_suffer(failure) {
        return Some(format!(
            "execution {number} does not get to the point of the power failure in the same way"
        ));
    }
    let image = run.left(failure);
    let left = image_lines(&image, replayer.base());
    if left == said.image {
        let whole = said.image_digest.as_ref();
        let same = whole.is_none_or(|said| *said == digest(&image));
        return (!same).then(|| format!("execution {number} leaves other bytes in memory"));
    }
    let missing = |line: &&ImageLine| !said.image.contains(line);
    let gone = said.image.iter().find(|line| !left.contains(line));
    let line = left.iter().find(missing).or(gone)?;
    let start = u64::from_str_radix(line.line.trim_start_matches("0x"), 16).unwrap_or_default();
    let entries = run.log.entries().iter().enumerate();
    let last = entries
        .take(failure.cut.0 as usize)
        .rfind(|(_, entry)| match entry {
            landfall_model::log::Entry::Store { piece, .. } => piece.addr.line().start().0 == start,
            landfall_model::log::Entry::Durable { .. } => false,
        });
    let place = last.and_then(|(entry, _)| {
        let event = run.event(landfall_model::log::Cut(entry as u32));
        replayer.names(count).place(event)
    });
    let stored = place.map_or_else(String::new, |at: Place| {
        format!(" (last stored at {})", at.colons())
    });
    Some(format!(
        "execution {number} leaves other bytes in the line at {}{stored}",
        address(start)
    ))
}
