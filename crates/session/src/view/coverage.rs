//! Crash coverage: per line of the source, what was stored and flushed there, how often the power failed there, and what recoveries
//! found and read.

use crate::names::ProgramNames;
use crate::programs::LoggedRun;
use landfall_finding::{Coverage, LineCoverage};
use landfall_model::line::Line;
use landfall_model::log::{Cut, Entry, Version};
use landfall_native::{Covered, Origin, RecordKind};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

/// Instrumented lines without any access are listed up to this many.
const MOST_SILENT: usize = 20_000;
/// Stored words that are looked up, per line.
const MOST_WORDS: usize = 65_536;

/// `cuts` are the power failures that were tried, `covered` what recoveries read, `after` names for what they did.
pub(crate) fn coverage(
    run: &LoggedRun,
    names: &ProgramNames,
    cuts: &[Cut],
    covered: &Covered,
    after: &ProgramNames,
) -> Coverage {
    let mut lines = CoverageLines::new(names);
    let events = &run.execution.events;
    for event in events {
        let Some(number) = lines.number(event.origin) else {
            continue;
        };
        let line = &mut lines.all[number];
        match event.kind {
            RecordKind::Store => {
                line.counts.stores += 1;
                if line.words.len() < MOST_WORDS {
                    line.words.insert((event.offset, event.mask));
                }
            }
            RecordKind::Clflush | RecordKind::Clflushopt | RecordKind::Clwb => {
                line.counts.flushes += 1
            }
            RecordKind::Sfence | RecordKind::Mfence | RecordKind::CasFailed => {
                line.counts.fences += 1
            }
            _ => {}
        }
    }
    let mut at_stake: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
    for (event, between) in exposed(run, cuts) {
        if let Some(number) = lines.number(events[event].origin) {
            at_stake.entry(number).or_default().push(between);
        }
    }
    for (index, &cut) in cuts.iter().enumerate() {
        // Flushes and fences have the power failures right before them.
        let next = events.get(run.events_before(cut));
        let next = next.filter(|event| event.kind != RecordKind::Store);
        if let Some(number) = next.and_then(|event| lines.number(event.origin)) {
            let here = index..index + 1;
            at_stake.entry(number).or_default().push(here);
        }
    }
    for (number, cuts) in at_stake {
        lines.all[number].counts.cuts = covered_by(cuts) as u64;
    }
    for line in &mut lines.all {
        let found = line
            .words
            .iter()
            .flat_map(|&(word, mask)| covered.found(word, mask));
        line.counts.found = found.collect::<HashSet<_>>().len() as u64;
    }
    let mut coverage = lines.finish();
    let mut lines = CoverageLines::new(after);
    for (origin, read) in covered.places() {
        if let Some(number) = lines.number(origin) {
            let line = &mut lines.all[number];
            line.counts.reads += read.reads;
            line.values.extend(&read.values);
        }
    }
    for line in &mut lines.all {
        line.counts.values = line.values.len() as u64;
    }
    for (file, theirs) in lines.finish().0 {
        let mine = coverage.0.entry(file).or_default();
        for (number, line) in theirs {
            let known = mine.entry(number).or_default();
            (known.reads, known.values) = (line.reads, line.values);
        }
    }
    silent(&mut coverage, names);
    silent(&mut coverage, after);
    coverage
}

/// How many numbers lie in these ranges, each counted once.
fn covered_by(mut ranges: Vec<Range<usize>>) -> usize {
    ranges.sort_unstable_by_key(|range| range.start);
    let (mut count, mut end) = (0, 0);
    for range in ranges {
        count += range.end.saturating_sub(range.start.max(end));
        end = end.max(range.end);
    }
    count
}

/// For each store the power failures, by their number, at which it was done and not yet written back for certain.
fn exposed(run: &LoggedRun, cuts: &[Cut]) -> Vec<(usize, Range<usize>)> {
    let mut open: HashMap<Line, VecDeque<(Version, u32)>> = HashMap::new();
    let mut exposed = Vec::new();
    let entries = run.log.entries();
    let mut close = |(_, born): (Version, u32), end: u32| {
        let until = |entry: u32| cuts.partition_point(|cut| cut.0 <= entry);
        exposed.push((run.event_of(Cut(born)), until(born)..until(end)));
    };
    for (at, entry) in (0..).zip(entries) {
        match entry {
            Entry::Store { piece, .. } => {
                let line = piece.addr.line();
                // The pieces of a copy that may tear become possible together, with the last one.
                if let Some(version) = run.log.versions_since(at, line).max() {
                    let stores = open.entry(line).or_default();
                    stores.push_back((Version(version), at));
                }
            }
            Entry::Durable { line, version } => {
                let stores = open.entry(*line).or_default();
                while stores.front().is_some_and(|(stored, _)| stored <= version) {
                    stores
                        .pop_front()
                        .into_iter()
                        .for_each(|store| close(store, at));
                }
            }
        }
    }
    let end = entries.len() as u32;
    open.into_values()
        .flatten()
        .for_each(|store| close(store, end));
    exposed
}

/// Instrumented lines of the same files in which nothing was seen.
fn silent(coverage: &mut Coverage, names: &ProgramNames) {
    let mut listed = 0;
    for at in names.instrumented() {
        if let Some(lines) = coverage.0.get_mut(&at.file)
            && at.line > 0
            && !lines.contains_key(&at.line)
            && listed < MOST_SILENT
        {
            lines.insert(at.line, LineCoverage::default());
            listed += 1;
        }
    }
}

#[derive(Debug)]
struct CoverageLines<'a> {
    names: &'a ProgramNames,
    known: HashMap<Origin, Option<usize>>,
    numbers: HashMap<(String, u32), usize>,
    all: Vec<OneLine>,
}

#[derive(Debug, Default)]
struct OneLine {
    file: String,
    line: u32,
    counts: LineCoverage,
    words: HashSet<(u64, u8)>,
    values: HashSet<u64>,
}

impl CoverageLines<'_> {
    fn new(names: &ProgramNames) -> CoverageLines<'_> {
        CoverageLines {
            names,
            known: HashMap::new(),
            numbers: HashMap::new(),
            all: Vec::new(),
        }
    }

    fn number(&mut self, origin: Origin) -> Option<usize> {
        if let Some(&known) = self.known.get(&origin) {
            return known;
        }
        let at = self.names.origin(origin).filter(|at| at.line > 0);
        let number = at.map(|at| {
            let all = &mut self.all;
            *self
                .numbers
                .entry((at.file.clone(), at.line))
                .or_insert_with(|| {
                    all.push(OneLine {
                        file: at.file,
                        line: at.line,
                        ..OneLine::default()
                    });
                    all.len() - 1
                })
        });
        self.known.insert(origin, number);
        number
    }

    fn finish(self) -> Coverage {
        let mut coverage = Coverage::default();
        for OneLine {
            file, line, counts, ..
        } in self.all
        {
            coverage.0.entry(file).or_default().insert(line, counts);
        }
        coverage
    }
}

#[cfg(test)]
mod tests {
    use super::covered_by;

    #[test]
    fn what_lies_in_several_ranges_counts_once() {
        assert_eq!(covered_by(vec![5..9, 0..3, 2..6, 20..21, 8..8]), 10);
        assert_eq!(covered_by(vec![0..10, 3..4]), 10);
        assert_eq!(covered_by(Vec::new()), 0);
    }
}
