//! What the search needs as a program grows: one run per behaviour, and memory for what is live.

use landfall_explore::recovery::{Options, Searched, search};
use landfall_explore::subject::{Ended, Execution, Job, Subject, SubjectError};
use landfall_explore::tree::Forest;
use landfall_model::event::{Event, FirstRead, Read};
use landfall_model::image::Image;
use landfall_model::line::{Addr, pieces};
use landfall_model::order::Platform;

/// N pushes on a list: a node is durable before the head, on line 0, commits it. Recovery walks the list.
struct List;

fn word(job: &Job<'_>, addr: u64, reads: &mut Vec<Read>) -> u64 {
    let read = FirstRead {
        word: Addr(addr),
        mask: 0xff,
    };
    let value = read.value(&job.line(read.line()));
    reads.push(Read { read, value });
    value
}

impl Subject for List {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let mut reads = Vec::new();
        let mut node = word(job, 0, &mut reads);
        while node != 0 {
            word(job, node + 8, &mut reads);
            node = word(job, node, &mut reads);
        }
        Ok(Execution {
            reads,
            events: Vec::new(),
            marks: Vec::new(),
            judged: None,
            shortened: false,
            ended: Ended::Well,
        })
    }
}

fn pushes(n: u64) -> Vec<Event> {
    let store = |addr: u64, value: u64| {
        let bytes = value.to_le_bytes();
        pieces(Addr(addr), &bytes)
            .map(Event::store)
            .collect::<Vec<_>>()
    };
    let mut events = Vec::new();
    for i in 1..=n {
        let node = i * 64;
        events.extend(store(node + 8, i));
        events.extend(store(node, (i - 1) * 64));
        events.push(Event::clflush(Addr(node).line()));
        events.extend(store(0, node));
        events.push(Event::clflush(Addr(0).line()));
    }
    events
}

#[test]
fn what_is_out_of_reach_is_forgotten() {
    let n = 300;
    let log = Execution::new(pushes(n), Ended::Well).log(Platform::Adr);
    let (mut forest, mut found) = (Forest::default(), Searched::default());
    let options = Options {
        keep_reads: 1000,
        ..Options::default()
    };
    search(
        &mut List,
        &mut forest,
        &Image::default(),
        &log,
        &options,
        &mut found,
    )
    .unwrap();
    assert_eq!(found.behaviours.len() as u64, n + 1);
    assert_eq!(u64::from(found.runs), n + 1);
    // One path over the limit at most, and the one that lives.
    assert!(forest.level(1).reads() <= 1000 + 4 * n as usize);
}
