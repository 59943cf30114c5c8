//! Torn copies against their definition: pieces of one copy on one line persist in any order (docs/design/model.md §3.2).

use landfall_explore::recovery::{Options, Searched, search};
use landfall_explore::subject::{Ended, Execution};
use landfall_explore::tree::Forest;
use landfall_model::event::{Action, Event, How, Mark};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, Piece, pieces};
use landfall_model::order::Platform;
use landfall_testkit::toy::{LINES, Path, Toy, base, cases, event, platform};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What persists as one: a store, or the pieces of a copy on the line.
#[derive(Clone, Debug, Default)]
struct Unit {
    copy: Option<usize>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Default)]
struct History {
    units: Vec<Unit>,
    durable: usize,
}

/// Each line's history up to a cut anywhere, even inside a copy.
fn histories(events: &[Event], platform: Platform) -> BTreeMap<Line, History> {
    let mut lines: BTreeMap<Line, History> = BTreeMap::new();
    let mut pending: Vec<(Line, usize)> = Vec::new();
    let mut copy = None;
    for (at, event) in events.iter().enumerate() {
        match event.action {
            Action::Mark(Mark::CopyBegin) => copy = Some(at),
            Action::Mark(Mark::CopyEnd) => copy = None,
            Action::Store { piece, .. } => {
                let line = lines.entry(piece.addr.line()).or_default();
                match line.units.last_mut() {
                    Some(unit) if copy.is_some() && unit.copy == copy => unit.pieces.push(piece),
                    _ => line.units.push(Unit {
                        copy,
                        pieces: vec![piece],
                    }),
                }
            }
            Action::Clflush(line) => {
                let line = lines.entry(line).or_default();
                line.durable = line.units.len();
            }
            Action::Clwb(line) => {
                let units = lines.entry(line).or_default().units.len();
                pending.push((line, units));
            }
            Action::Fence(_) => {
                for (line, units) in pending.drain(..) {
                    let line = lines.entry(line).or_default();
                    line.durable = line.durable.max(units);
                }
            }
            _ => {}
        }
        if platform == Platform::Eadr {
            // Durable at once; of a copy, what is on other lines than the one being written.
            let current = match event.action {
                Action::Store { piece, .. } => copy.map(|_| piece.addr.line()),
                _ => None,
            };
            for (&line, history) in &mut lines {
                if Some(line) != current {
                    history.durable = history.units.len();
                } else {
                    history.durable = history.units.len() - 1;
                }
            }
        }
    }
    lines
}

fn contents(base: LineBytes, history: &History) -> BTreeSet<LineBytes> {
    let mut all = BTreeSet::new();
    for whole in history.durable..=history.units.len() {
        let mut bytes = base;
        for unit in &history.units[..whole] {
            unit.pieces.iter().for_each(|p| p.write_to(&mut bytes));
        }
        all.insert(bytes);
        let Some(torn) = history.units.get(whole) else {
            continue;
        };
        for part in 0..1u32 << torn.pieces.len() {
            let mut bytes = bytes;
            for (i, piece) in torn.pieces.iter().enumerate() {
                if part & (1 << i) != 0 {
                    piece.write_to(&mut bytes);
                }
            }
            all.insert(bytes);
        }
    }
    all
}

fn definition(toy: &Toy, base: &Image, events: &[Event], platform: Platform) -> BTreeSet<Path> {
    let mut all = BTreeSet::new();
    for cut in 0..=events.len() {
        let lines = histories(&events[..cut], platform);
        let mut images = vec![base.clone()];
        for (&line, history) in &lines {
            let choices = contents(base.line(line), history);
            images = images
                .iter()
                .flat_map(|image| {
                    choices.iter().map(|&bytes| {
                        let mut image = image.clone();
                        image.set_line(line, bytes);
                        image
                    })
                })
                .collect();
        }
        all.extend(
            images
                .iter()
                .map(|image| toy.execute(|line| image.line(line), 1).reads),
        );
    }
    all
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let copy = (0..LINES * 64 - 40, 2usize..26, 1u8..4).prop_map(|(start, len, byte)| {
        let bytes = vec![byte; len];
        let stores = pieces(Addr(start), &bytes).map(Event::store);
        std::iter::once(Event::mark(Mark::CopyBegin))
            .chain(stores)
            .chain([Event::mark(Mark::CopyEnd)])
            .collect::<Vec<_>>()
    });
    // The definition above knows nothing of non-temporal stores.
    let other = event().prop_map(|event| {
        vec![match event.action {
            Action::Store {
                piece,
                how: How::NonTemporal,
                ..
            } => Event::store(piece),
            _ => event,
        }]
    });
    prop::collection::vec(prop_oneof![1 => copy, 2 => other], 0..6).prop_map(|e| e.concat())
}

proptest! {
    #![proptest_config(cases(700))]

    #[test]
    fn torn_copies_give_what_they_may(
        events in events(),
        seed in any::<u64>(),
        steps in 1u32..8,
        platform in platform(),
    ) {
        let base = base(seed);
        let log = Execution::new(events.clone(), Ended::Well).log_torn(platform, true);
        let mut toy = Toy::new(seed, steps, false);
        let expected = definition(&toy, &base, &events, platform);
        for share in [true, false] {
            toy.runs.clear();
            let (mut forest, mut found) = (Forest::default(), Searched::default());
            let options = Options { platform, share, tear: true, ..Options::default() };
            search(&mut toy, &mut forest, &base, &log, &options, &mut found).unwrap();
            let runs: BTreeSet<Path> = toy.runs.iter().map(|(_, path)| path.clone()).collect();
            prop_assert_eq!(&runs, &expected);
            prop_assert_eq!(found.behaviours.len(), expected.len());
            if share {
                prop_assert_eq!(toy.runs.len(), expected.len(), "a behaviour was run twice");
            }
        }
    }
}
