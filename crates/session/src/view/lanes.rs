//! Cache lines at a power failure, for the report: the versions of each, how far it was written back for certain, what survived.

use crate::names::address;
use crate::programs::LoggedRun;
use crate::sources::SourceTexts;
use crate::view::timeline::{TimelineBuilder, value, whole};
use landfall_finding::{Lane, LaneVersion, Survival};
use landfall_model::line::{Addr, Line};
use landfall_model::log::{Cut, Version};
use landfall_native::RecordKind;
use std::collections::{BTreeSet, HashMap};

/// Lines shown of one power failure.
const MOST_LANES: usize = 8;
/// Versions shown of one line: the ones around what survived.
const MOST_VERSIONS: usize = 12;

/// Which lines of which power failure are shown, and which are followed through the execution before it.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    shown: Vec<(usize, Line)>,
    followed: Vec<BTreeSet<Line>>,
}

impl Lanes {
    pub(crate) fn choose(teller: &TimelineBuilder<'_>) -> Lanes {
        let mut lanes = Lanes::default();
        for (number, failure) in teller.failures.iter().enumerate() {
            let run = &teller.runs[number];
            let later = teller.runs[number + 1..].iter();
            let mut followed: BTreeSet<Line> = later
                .flat_map(|run| &run.execution.events)
                .filter(|event| event.kind == RecordKind::Read)
                .map(|event| Addr(event.offset).line())
                .collect();
            let told = teller.story.filter(|story| story.run == number);
            let entries = told.into_iter().flat_map(|s| [s.lost, s.kept]);
            let line_of = |entry: Cut| Addr(run.event(entry).offset).line();
            let about: Vec<Line> = entries.flatten().map(line_of).collect();
            followed.extend(&about);
            let newest = |line: &Line| run.log.newest(*line, failure.cut);
            let rank = |line: &Line| match about.iter().position(|l| l == line) {
                Some(place) => place,
                None if run.survivor(failure, *line) < newest(line) => about.len(),
                None if run.log.frontier(*line, failure.cut) < newest(line) => about.len() + 1,
                None => about.len() + 2,
            };
            let stored = followed.iter().filter(|line| newest(line) > Version(0));
            let mut lines: Vec<Line> = stored.copied().collect();
            lines.sort_by_key(|line| (rank(line), *line));
            lanes.shown.extend(
                lines
                    .into_iter()
                    .take(MOST_LANES)
                    .map(|line| (number, line)),
            );
            lanes.followed.push(followed);
        }
        lanes
    }

    /// Does the story follow this line in this execution?
    pub(crate) fn follows(&self, run: usize, line: Line) -> bool {
        self.followed.get(run).is_some_and(|f| f.contains(&line))
    }

    pub(crate) fn number(&self, run: usize, line: Line) -> Option<u32> {
        let at = self.shown.iter().position(|&l| l == (run, line))?;
        Some(at as u32)
    }
}

/// `rows` says which row tells a native event of an execution.
pub(crate) fn describe(
    teller: &TimelineBuilder<'_>,
    lanes: &Lanes,
    rows: &HashMap<(usize, usize), u32>,
    sources: &mut SourceTexts,
) -> Vec<Lane> {
    let lane = |&(number, line): &(usize, Line)| {
        let (run, failure) = (&teller.runs[number], &teller.failures[number]);
        let survivor = run.survivor(failure, line);
        let frontier = run.log.frontier(line, failure.cut);
        let newest = run.log.newest(line, failure.cut);
        let last = newest.0.min(survivor.0 + MOST_VERSIONS as u32 / 2);
        let first = (last + 1).saturating_sub(MOST_VERSIONS as u32);
        let mut versions = Vec::new();
        if first > 0 {
            versions.push(LaneVersion {
                text: match first {
                    1 => "1 older".to_owned(),
                    n => format!("{n} older"),
                },
                state: state(Version(first - 1), frontier, survivor),
                row: None,
            });
        }
        let numbers: Vec<Version> = (first..=last).map(Version).collect();
        let alike = |a: &Version, b: &Version| {
            let (mine, theirs) = (event_of(run, line, *a), event_of(run, line, *b));
            mine == theirs && state(*a, frontier, survivor) == state(*b, frontier, survivor)
        };
        // The pieces of one copy that share a fate are one version to the reader.
        for same in numbers.chunk_by(alike) {
            let event = event_of(run, line, same[0]);
            versions.push(LaneVersion {
                text: match event {
                    None if number == 0 => "as it was at the beginning".to_owned(),
                    None => "as the execution found it".to_owned(),
                    Some(event) => stored(teller, number, event, same.len(), sources),
                },
                state: state(same[0], frontier, survivor),
                row: event.and_then(|event| rows.get(&(number, event)).copied()),
            });
        }
        if last < newest.0 {
            versions.push(LaneVersion {
                text: format!("{} newer", newest.0 - last),
                state: state(newest, frontier, survivor),
                row: None,
            });
        }
        let which = match teller.failures.len() {
            1 => String::new(),
            _ => format!(", power failure {}", number + 1),
        };
        Lane {
            name: format!("line {}{which}", address(line.start().0)),
            versions,
        }
    };
    lanes.shown.iter().map(lane).collect()
}

fn event_of(run: &LoggedRun, line: Line, version: Version) -> Option<usize> {
    let (entry, _) = run.log.store_of(line, version)?;
    Some(whole(run, run.event_of(entry)))
}

/// `pieces` of what was stored are meant: all of it, unless it is a copy.
fn stored(
    teller: &TimelineBuilder<'_>,
    number: usize,
    event: usize,
    pieces: usize,
    sources: &mut SourceTexts,
) -> String {
    let run = &teller.runs[number];
    let what = &run.execution.events[event];
    let at = teller.replayer.names(number).place(what);
    let target = at.as_ref().and_then(|at| sources.assigned(at));
    let text = match (run.copy(event), target) {
        (Some(copy), _) => {
            let pieces = match pieces {
                1 => "1 piece".to_owned(),
                n => format!("{n} pieces"),
            };
            format!("{pieces} of {} copied bytes", copy.length)
        }
        (None, Some(target)) => format!("{target} = {}", value(what)),
        (None, None) => format!("{} to {}", value(what), address(what.bytes().0)),
    };
    match at {
        Some(at) => format!("{text}, line {}", at.line),
        None => text,
    }
}

fn state(version: Version, frontier: Version, survivor: Version) -> Survival {
    if version == survivor {
        Survival::Survived
    } else if version < frontier {
        Survival::Overwritten
    } else if version > survivor {
        Survival::Lost
    } else {
        Survival::Possible
    }
}
