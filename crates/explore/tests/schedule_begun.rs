//! What all schedules begin with is judged once: random programs, each judged whole as well, and the same is found.

use landfall_check::races::Window;
use landfall_check::walk::Limits;
use landfall_check::{Checker, Finding, Kind, Races, Robustness, Wasted};
use landfall_explore::schedule::judge::{Judge, Verdicts};
use landfall_explore::schedule::judged::Names;
use landfall_explore::schedule::power::{Power, Traced};
use landfall_explore::schedule::{End, Explored, Options, Persistency, Replayed, Search};
use landfall_model::event::{Event, Read};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, pieces};
use landfall_model::order::Platform;
use landfall_testkit::toy::judging::Crashing;
use landfall_testkit::toy::straight::Straight;
use landfall_testkit::toy::{LINES, Toy, base, cases, event};
use proptest::prelude::*;
use std::collections::BTreeSet;

struct Plain;

impl Names for Plain {
    fn line(&self, object: u32) -> Line {
        Line(object.into())
    }

    fn site(&mut self, site: u32) -> u32 {
        site
    }
}

#[derive(Clone, Debug)]
struct Program {
    beginning: Vec<Event>,
    threads: Vec<Vec<Event>>,
    toy: Toy,
    base: Image,
}

/// What a finding says: what it is, about which stores, where they are in their schedule's log.
type Said = (u8, [u32; 4]);

fn said(finding: &Finding) -> Said {
    match finding.kind {
        Kind::Robustness { lost, kept, .. } => (0, [lost.site, kept.site, lost.entry, kept.entry]),
        Kind::PersistencyRace { store, made } => (1, [store.site, made as u32, store.entry, 0]),
        _ => (2, [0; 4]),
    }
}

struct Judged {
    found: BTreeSet<Said>,
    wasted: Vec<Finding>,
    /// Schedules that were judged without what they begin with.
    rests: usize,
    /// What recoveries read.
    recoveries: BTreeSet<Vec<Read>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Whole,
    OnceAtTheBeginning,
    /// Nobody judges.
    Search,
}

/// What each recovery read; a power failure leaves just that.
fn recoveries(power: &Power) -> BTreeSet<Vec<Read>> {
    let mut all = BTreeSet::new();
    let tree = power.trees().next().expect("something was run");
    for behaviour in &power.behaviours {
        let reads = tree.path_of(behaviour.run);
        for read in &reads {
            let line = read.read.line();
            let left = behaviour.crash.image.iter().find(|(of, _)| *of == line);
            let bytes = left.map_or_else(|| power.base().line(line), |(_, bytes)| *bytes);
            assert_eq!(read.read.value(&bytes), read.value);
        }
        all.insert(reads);
    }
    all
}

fn judged(program: &Program, look: Look) -> Judged {
    let straight = || Straight::after(&program.beginning, program.threads.clone());
    let mut threads = straight();
    let options = Options {
        persistency: Persistency::Lines,
        ..Options::default()
    };
    let mut search = Search::new(&threads, options).expect("few threads");
    let mut power = Power::new(program.base.clone(), Platform::Adr);
    let begin = || -> Vec<Box<dyn Checker>> {
        vec![
            Box::new(Robustness::across_schedules()),
            Box::new(Races::new(Window::Prefix)),
        ]
    };
    let mut judge = Judge::new(Box::new(begin), Limits::default());
    if look == Look::Whole {
        judge = judge.whole();
    }
    let mut wasted = Wasted::default();
    let mut toy = Crashing {
        toy: program.toy.clone(),
        platform: Platform::Adr,
    };
    let mut rests = 0;
    while search.next(&mut threads).expect("runs") {
        if search.trace().end != End::Complete {
            continue;
        }
        let explored: &dyn Explored = &search;
        let line = |object: u32| Line(object.into());
        let traced = power.look(&mut toy, explored, line).expect("walks");
        if look == Look::Search {
            power.settle(&traced, explored, line);
        } else if let Some(execution) = judge.look(&mut power, &traced, explored, &mut Plain) {
            rests += usize::from(execution.before().is_some());
            wasted.scheduled(&execution);
        }
    }
    let order = search.order();
    let Verdicts {
        checkers,
        kept,
        walked,
    } = judge.finish();
    assert!(walked.is_complete());
    let mut found = BTreeSet::new();
    for finding in checkers.iter().flat_map(|checker| checker.findings()) {
        let evidence = finding.evidence.as_ref().expect("it has");
        let kept = &kept[&evidence.execution];
        let finding = kept.whole(&finding);
        found.insert(said(&finding));
        // A power failure of the whole schedule shows it.
        let mut threads = straight();
        let again = Replayed::run(&mut threads, order, &kept.schedule, &kept.points);
        let again = again.expect("runs");
        let traced = Traced::new(power.base(), Platform::Adr, &again, |o| Line(o.into()));
        let left = finding.evidence.map(|e| e.left).unwrap_or_default();
        let crash = traced.crash(power.base(), &again, &|line, version| {
            let span = left.iter().find(|(of, _)| *of == line);
            span.is_none_or(|&(_, (first, last))| first <= version && version <= last)
        });
        assert!(crash.is_some(), "{:?} {left:?}", finding.kind);
    }
    wasted.search_complete();
    Judged {
        found,
        wasted: wasted.findings(),
        rests,
        recoveries: recoveries(&power),
    }
}

/// Each event at a place of its own.
fn placed(events: &mut [Event], next: &mut u32) {
    for event in events {
        *next += 1;
        event.site = *next;
    }
}

fn beginning() -> impl Strategy<Value = Vec<Event>> {
    let settled =
        (prop::collection::vec(event(), 0..5), any::<bool>()).prop_map(|(mut events, at_once)| {
            let lines = (0..LINES).map(Line);
            events.extend(lines.map(|line| match at_once {
                true => Event::clflush(line),
                false => Event::clwb(line),
            }));
            events.push(Event::fence());
            events
        });
    let open = prop::collection::vec(event(), 0..3);
    (settled, open).prop_map(|(mut events, open)| {
        events.extend(open);
        events
    })
}

fn program() -> impl Strategy<Value = Program> {
    let thread = || prop::collection::vec(event(), 0..3);
    let threads = prop::collection::vec(thread(), 2..4);
    (beginning(), threads, any::<u64>(), 1u32..6).prop_map(
        |(mut beginning, mut threads, seed, steps)| {
            let mut next = 0;
            placed(&mut beginning, &mut next);
            for thread in &mut threads {
                placed(thread, &mut next);
            }
            Program {
                beginning,
                threads,
                toy: Toy::new(seed, steps, true),
                base: base(seed),
            }
        },
    )
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_beginning_that_is_durable_is_judged_once(program in program()) {
        let all = judged(&program, Look::Whole);
        let rest = judged(&program, Look::OnceAtTheBeginning);
        prop_assert_eq!(&all.found, &rest.found);
        prop_assert_eq!(&all.wasted, &rest.wasted);
        prop_assert_eq!(all.rests, 0);
        let searched = judged(&program, Look::Search);
        prop_assert_eq!(&all.recoveries, &rest.recoveries);
        prop_assert_eq!(&all.recoveries, &searched.recoveries);
    }
}

/// It is done at all: one store that is durable, and two threads with two orders.
#[test]
fn later_schedules_are_judged_from_the_durable_point_on() {
    let store = |at: u64, value: u8| {
        let piece = pieces(Addr(at), &[value]).next();
        Event::store(piece.expect("a byte"))
    };
    let program = Program {
        beginning: vec![store(0, 1), Event::clwb(Line(0)), Event::fence()],
        threads: vec![vec![], vec![store(64, 1)], vec![store(64, 2)]],
        toy: Toy::new(1, 3, true),
        base: Image::default(),
    };
    assert_eq!(judged(&program, Look::OnceAtTheBeginning).rests, 1);
}
