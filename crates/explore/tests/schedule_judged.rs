//! Robustness of programs with threads whose recoveries crash, too: "no violation" is that strict persistency shows everything that
//! chains of recoveries can read. Here each store has a value of its own, so eADR is the definition.

use landfall_check::walk::Limits;
use landfall_check::{Checker, Robustness};
use landfall_explore::schedule::judge::Judge;
use landfall_explore::schedule::judged::Names;
use landfall_explore::schedule::power::Power;
use landfall_explore::schedule::{End, Explored, Options, Persistency, Search};
use landfall_explore::subject::{Ended, Execution};
use landfall_model::crash::{CrashState, Crashed};
use landfall_model::event::{Action, Event, EventId, Read};
use landfall_model::image::Image;
use landfall_model::line::{Line, pieces};
use landfall_model::log::{Cut, Log};
use landfall_model::order::Platform;
use landfall_testkit::toy::judging::Crashing;
use landfall_testkit::toy::straight::{Straight, mixed};
use landfall_testkit::toy::{Toy, base, cases, event};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What each recovery has read: those that crashed, up to there.
type Chain = Vec<Vec<Read>>;

struct Brute<'a> {
    toy: &'a Toy,
    platform: Platform,
    failures: u32,
    all: BTreeSet<Chain>,
}

impl Brute<'_> {
    fn crash(&mut self, base: &Image, log: &Log, cut: u32, chain: &Chain) {
        let level = chain.len() as u32 + 1;
        let mut images = Vec::new();
        CrashState::new(base, [Crashed { log, cut: Cut(cut) }]).images(&mut |image| {
            images.push(image.clone());
            true
        });
        for image in images {
            let execution = self.toy.execute(|line| image.line(line), level);
            let mut ended = chain.clone();
            ended.push(execution.reads.clone());
            self.all.insert(ended);
            if level == self.failures {
                continue;
            }
            let log = execution.log(self.platform);
            let reads_before = |event: EventId| {
                let events = execution.events[..event.index()].iter();
                events
                    .filter(|event| matches!(event.action, Action::Read(_)))
                    .count()
            };
            for cut in 0..=log.end().0 {
                let after = match cut.checked_sub(1) {
                    Some(entry) => reads_before(log.events()[entry as usize]),
                    None => 0,
                };
                // What is stored in order need not be stored at once: the recovery may have come further.
                let next = log.event_of(Cut(cut));
                let before = match next.filter(|_| self.platform == Platform::Adr) {
                    Some(event) => reads_before(event),
                    None => execution.reads.len(),
                };
                for reads in after..=before {
                    let mut crashed = chain.clone();
                    crashed.push(execution.reads[..reads].to_vec());
                    self.crash(&image, &log, cut, &crashed);
                }
            }
        }
    }
}

/// Everything that recoveries can read.
fn chains(threads: &[Vec<Event>], toy: &Toy, base: &Image, platform: Platform) -> BTreeSet<Chain> {
    let mut brute = Brute {
        toy,
        platform,
        failures: 2,
        all: BTreeSet::new(),
    };
    for events in mixed(threads) {
        let log = Execution::new(events, Ended::Well).log(platform);
        for cut in 0..=log.end().0 {
            brute.crash(base, &log, cut, &Vec::new());
        }
    }
    brute.all
}

struct Plain;

impl Names for Plain {
    fn line(&self, object: u32) -> Line {
        Line(object.into())
    }

    fn site(&mut self, site: u32) -> u32 {
        site
    }
}

fn violated(threads: &[Vec<Event>], toy: &Toy, base: &Image) -> bool {
    let mut program = Straight::new(threads.to_vec());
    let options = Options {
        persistency: Persistency::Lines,
        ..Options::default()
    };
    let mut search = Search::new(&program, options).expect("few threads");
    let mut power = Power::new(base.clone(), Platform::Adr).with_failures(2);
    let begin = || -> Vec<Box<dyn Checker>> { vec![Box::new(Robustness::across_schedules())] };
    let limits = Limits {
        failures: 2,
        ..Limits::default()
    };
    let mut judge = Judge::new(Box::new(begin), limits);
    let mut toy = Crashing {
        toy: toy.clone(),
        platform: Platform::Adr,
    };
    while search.next(&mut program).expect("runs") {
        if search.trace().end == End::Complete {
            let explored: &dyn Explored = &search;
            let line = |object: u32| Line(object.into());
            let traced = power.look(&mut toy, explored, line).expect("walks");
            judge.look(&mut power, &traced, explored, &mut Plain);
        }
    }
    let verdicts = judge.finish();
    assert!(verdicts.walked.is_complete());
    verdicts.checkers.iter().any(|c| !c.findings().is_empty())
}

/// Each store of the threads with a value of its own; nothing that is durable by decree.
fn apart(threads: Vec<Vec<Event>>) -> Vec<Vec<Event>> {
    let mut value = 16; // What memory holds at first is less.
    let mut own = |event: Event| match event.action {
        Action::Store { piece, .. } => {
            value += 1;
            let bytes = [value; 8];
            let same = &bytes[..piece.bytes().len()];
            pieces(piece.addr, same).next().map_or(event, Event::store)
        }
        _ => event,
    };
    let each = |thread: Vec<Event>| thread.into_iter().map(&mut own).collect();
    threads.into_iter().map(each).collect()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn strict_persistency_shows_everything_or_it_is_a_violation(
        threads in prop::collection::vec(prop::collection::vec(event(), 0..4), 1..3),
        seed in any::<u64>(),
        steps in 1u32..7,
    ) {
        let threads = apart(threads);
        let base = base(seed);
        let toy = Toy { apart: true, ..Toy::new(seed, steps, true) };
        let weak = chains(&threads, &toy, &base, Platform::Adr);
        let strict = chains(&threads, &toy, &base, Platform::Eadr);
        prop_assert_eq!(violated(&threads, &toy, &base), !weak.is_subset(&strict));
    }
}
