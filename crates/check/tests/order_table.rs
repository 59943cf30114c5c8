//! What a checker takes for written back is what the ordering table lets drain.

use landfall_check::Execution;
use landfall_model::event::{Action, Event, Fence};
use landfall_model::line::{Addr, Line, pieces};
use landfall_model::order::{OpKind, Platform};

fn event(kind: OpKind) -> Event {
    let piece = pieces(Addr(64), &[1; 8]).next().unwrap();
    match kind {
        OpKind::Write => Event::store(piece),
        OpKind::NtWrite => Event::nt_store(piece),
        OpKind::Flush => Event::clflush(Line(1)),
        OpKind::FlushOpt => Event::clwb(Line(1)),
        OpKind::Sfence => Event::new(Action::Fence(Fence::Store)),
        OpKind::Mfence | OpKind::Rmw => Event::fence(),
        // Learns of nothing.
        OpKind::Read => Event::new(Action::Observe {
            event: landfall_model::event::EventId(u32::MAX),
        }),
    }
}

#[test]
fn a_store_is_written_back_where_the_table_says_so() {
    let stored = pieces(Addr(0), &[1; 8]).next().unwrap();
    let begun = [
        (Some(Event::clflush(Line(0))), true),
        (Some(Event::clwb(Line(0))), false),
        (None, false),
    ];
    for (flush, at_once) in begun {
        for then in OpKind::ALL {
            let store = match flush {
                Some(_) => Event::store(stored),
                // Needs no flush.
                None => Event::nt_store(stored),
            };
            let events = std::iter::once(store).chain(flush).chain([event(then)]);
            let (execution, log) = Execution::logged(events.collect(), Platform::Adr);
            let flushed = execution.stores_to(Addr(0))[0].flushed != u32::MAX;
            assert_eq!(flushed, at_once || then.drains(), "{flush:?}, {then}");
            // The log, which the search goes by, says the same.
            let durable = log.frontier(Line(0), log.end()) == log.newest(Line(0), log.end());
            assert_eq!(durable, flushed, "{flush:?}, {then}");
        }
    }
}
