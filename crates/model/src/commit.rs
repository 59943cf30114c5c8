//! The order in which an execution's events take effect, and the log that makes.

use crate::event::{Action, Event, EventId, How, Mark};
use crate::line::{Line, Piece};
use crate::log::{Log, Version};
use crate::order::Platform;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// May the pieces of one copy on one line persist in any order (docs/design/model.md §3.2)?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    Whole,
    Torn,
}

/// An event, as far as the order of effects is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    /// A non-temporal store to the line.
    NonTemporal(Line),
    /// Something else about one line.
    OfLine(Line),
    /// A fence, or what acts like one: nothing overtakes it.
    Barrier,
    /// Keeps its place, and holds up nobody.
    Nothing,
}

fn effect(event: &Event) -> Effect {
    match event.action {
        Action::Store { piece, how, .. } => match how {
            How::Cached => Effect::OfLine(piece.addr.line()),
            How::NonTemporal => Effect::NonTemporal(piece.addr.line()),
            How::AtOnce => Effect::Barrier,
        },
        Action::Clflush(line) | Action::Clwb(line) => Effect::OfLine(line),
        Action::Fence(_) => Effect::Barrier,
        Action::Read(_) | Action::Observe { .. } | Action::Mark(_) => Effect::Nothing,
    }
}

/// The order of one thread's effects is that of the program, but for non-temporal stores, which overtake what concerns other
/// lines (docs/design/model.md §2). Each comes as early as it may: up to a barrier, or the last event of its line. Coming late
/// needs no order of its own, since nothing is guaranteed of it before its fence.
pub fn commit_order(events: &[Event]) -> Vec<EventId> {
    let ids = |range: std::ops::Range<usize>| range.map(|at| EventId(at as u32));
    let effects = events.iter().map(effect);
    if !(effects.clone()).any(|effect| matches!(effect, Effect::NonTemporal(_))) {
        return ids(0..events.len()).collect();
    }
    let effects: Vec<Effect> = effects.collect();
    let mut order = Vec::with_capacity(effects.len());
    let mut start = 0;
    for part in effects.split_inclusive(|effect| *effect == Effect::Barrier) {
        let mut first: Vec<EventId> = Vec::new();
        let mut rest: Vec<EventId> = Vec::new();
        // Non-temporal stores that come right after an event of their line.
        let mut after: FxHashMap<EventId, Vec<EventId>> = FxHashMap::default();
        let mut last: FxHashMap<Line, EventId> = FxHashMap::default();
        for (at, &effect) in ids(start..start + part.len()).zip(part) {
            let before = match effect {
                Effect::NonTemporal(line) | Effect::OfLine(line) => last.insert(line, at),
                Effect::Barrier | Effect::Nothing => None,
            };
            match (effect, before) {
                (Effect::NonTemporal(_), None) => first.push(at),
                (Effect::NonTemporal(_), Some(before)) => after.entry(before).or_default().push(at),
                _ => rest.push(at),
            }
        }
        let mut todo: Vec<EventId> = first.into_iter().chain(rest).rev().collect();
        while let Some(at) = todo.pop() {
            order.push(at);
            todo.extend(after.remove(&at).into_iter().flatten().rev());
        }
        start += part.len();
    }
    order
}

/// The log of an execution. One thread's stores commit in [their order](commit_order), and which of them were still buffered at
/// the power failure is the choice of the cut (docs/design/model.md §4). Of several threads, and of a schedule, everything is
/// listed where it was committed. A fence waits for its own thread's write-backs.
pub fn logged(events: &[Event], platform: Platform, copies: Copies) -> Log {
    let mut log = Log::new(platform);
    // Write-backs that no fence has waited for: whose, and what they write back.
    let mut pending: SmallVec<[(u16, Line, Version); 8]> = SmallVec::new();
    let listed = |event: &Event| event.thread != 0 || event.action == Action::Mark(Mark::Step);
    let order = match events.iter().any(listed) {
        true => (0..events.len() as u32).map(EventId).collect(),
        false => commit_order(events),
    };
    let copies = match copies {
        Copies::Whole => Vec::new(),
        Copies::Torn => numbered_copies(events),
    };
    let copy_of = |at: EventId| copies.get(at.index()).copied().flatten();
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        let event = &events[at.index()];
        let thread = event.thread;
        log.by(at);
        if let Some(copy) = copy_of(at) {
            // All of the copy on this line: they stand together.
            let line = event.line();
            let same =
                |&&at: &&EventId| copy_of(at) == Some(copy) && events[at.index()].line() == line;
            let others = order[next..].iter().take_while(same);
            let pieces: Vec<(EventId, Piece)> = std::iter::once(at)
                .chain(others.copied())
                .filter_map(|at| Some((at, *events[at.index()].piece()?)))
                .collect();
            next += pieces.len() - 1;
            log.torn_stores(thread, &pieces);
            log.by(at);
            if let (Some(line), Action::Store { how, .. }) = (line, event.action) {
                let whole = log.newest(line, log.end());
                match (platform, how) {
                    (_, How::NonTemporal) => pending.push((thread, line, whole)),
                    (Platform::Eadr, _) => log.durable(line, whole),
                    (Platform::Adr, _) => {}
                }
            }
            continue;
        }
        match event.action {
            Action::Mark(Mark::TogetherBegin) => {
                let ends =
                    |&&at: &&EventId| events[at.index()].action != Action::Mark(Mark::TogetherEnd);
                let all = order[next..].iter().take_while(ends);
                let pieces: Vec<(EventId, Piece)> = { all.clone() }
                    .filter_map(|&at| Some((at, *events[at.index()].piece()?)))
                    .collect();
                next += all.count();
                log.committed_stores(thread, &pieces);
            }
            Action::Store { piece, how, .. } => {
                let line = piece.addr.line();
                match how {
                    How::Cached => {
                        log.store(thread, piece);
                    }
                    How::NonTemporal => {
                        let version = log.nt_store(thread, piece);
                        pending.push((thread, line, version));
                    }
                    How::AtOnce => {
                        let version = log.store(thread, piece);
                        log.durable(line, version);
                    }
                }
            }
            Action::Clflush(line) => log.durable(line, log.newest(line, log.end())),
            Action::Clwb(line) => pending.push((thread, line, log.newest(line, log.end()))),
            Action::Fence(_) => pending.retain(|&mut (by, line, version)| {
                if by == thread {
                    log.durable(line, version);
                }
                by != thread
            }),
            Action::Read(_) | Action::Observe { .. } | Action::Mark(_) => {}
        }
    }
    log
}

/// For each event, the copy that it is a store of, if any.
fn numbered_copies(events: &[Event]) -> Vec<Option<u32>> {
    let mut number = 0;
    let mut inside = false;
    let store = |event: &Event| match event.action {
        Action::Store { how, .. } => how != How::AtOnce,
        _ => false,
    };
    let copy = |event: &Event| {
        match event.action {
            Action::Mark(Mark::CopyBegin) => (inside, number) = (true, number + 1),
            Action::Mark(Mark::CopyEnd) => inside = false,
            _ => {}
        }
        (inside && store(event)).then_some(number)
    };
    events.iter().map(copy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Fence, FirstRead, Read};
    use crate::line::{Addr, pieces};
    use crate::order::{OpKind, OrderTable};

    /// What an instruction of this kind is to the log, on this line.
    fn event(kind: OpKind, line: Line) -> Event {
        let piece = || pieces(line.start(), &[1; 8]).next().unwrap();
        let first = FirstRead {
            word: Addr(line.start().0 + 8),
            mask: 0xff,
        };
        match kind {
            OpKind::Read => Event::read(Read {
                read: first,
                value: 0,
            }),
            OpKind::Write => Event::store(piece()),
            OpKind::NtWrite => Event::nt_store(piece()),
            OpKind::Flush => Event::clflush(line),
            OpKind::FlushOpt => Event::clwb(line),
            OpKind::Sfence => Event::new(Action::Fence(Fence::Store)),
            // Of a locked instruction, what others wait for.
            OpKind::Mfence | OpKind::Rmw => Event::fence(),
        }
    }

    /// The column of non-temporal stores. What reads nothing back may overtake a read as well: nobody can tell.
    #[test]
    fn a_non_temporal_store_overtakes_what_the_table_lets_it() {
        for earlier in OpKind::ALL {
            for same_line in [false, true] {
                let lines = [Line(0), Line(u64::from(!same_line))];
                let events = [event(earlier, lines[0]), event(OpKind::NtWrite, lines[1])];
                let overtakes = commit_order(&events) == [EventId(1), EventId(0)];
                let kept = OrderTable::PX86.ordered(earlier, OpKind::NtWrite, same_line);
                let expected = match (earlier, same_line) {
                    (OpKind::Read, _) => true,
                    // It may; staying behind guarantees less, so what it could leave is among what that leaves.
                    (OpKind::FlushOpt, true) => false,
                    // Both come as early as they may, and before their fence either may be lost without the other.
                    (OpKind::NtWrite, false) => false,
                    _ => !kept,
                };
                assert_eq!(overtakes, expected, "{earlier}, same line: {same_line}");
            }
        }
    }

    /// No other kind is moved: that it may take effect late is the choice of the cut, that it may overtake a write-back is in what
    /// the write-back promises.
    #[test]
    fn all_else_keeps_the_order_of_the_program() {
        for earlier in OpKind::ALL {
            for later in OpKind::ALL.into_iter().filter(|&k| k != OpKind::NtWrite) {
                for line in [Line(0), Line(1)] {
                    let events = [event(earlier, Line(0)), event(later, line)];
                    assert_eq!(commit_order(&events), [EventId(0), EventId(1)]);
                }
            }
        }
    }

    /// `clflush` writes back what the table orders before it; `clflushopt`, `clwb` and non-temporal stores are done at what drains.
    #[test]
    fn a_store_is_durable_where_the_table_says_so() {
        for begun in [OpKind::Flush, OpKind::FlushOpt, OpKind::NtWrite] {
            for then in OpKind::ALL {
                let mut events = vec![event(OpKind::Write, Line(0)), event(begun, Line(0))];
                events.push(event(then, Line(1)));
                let log = logged(&events, Platform::Adr, Copies::Whole);
                let durable = log.frontier(Line(0), log.end());
                let newest = log.newest(Line(0), log.end());
                let expected = match begun {
                    OpKind::Flush => true,
                    _ => then.drains(),
                };
                assert!(OrderTable::PX86.ordered(OpKind::Write, begun, true));
                assert_eq!(durable == newest, expected, "{begun}, then {then}");
            }
        }
    }

    /// What comes after a write-back is not promised by it, whatever drains later.
    #[test]
    fn a_write_back_promises_what_is_ordered_before_it() {
        for begun in [OpKind::Flush, OpKind::FlushOpt] {
            let events = [begun, OpKind::Write, OpKind::Mfence].map(|kind| event(kind, Line(0)));
            let log = logged(&events, Platform::Adr, Copies::Whole);
            assert_eq!(log.frontier(Line(0), log.end()), Version(0));
        }
        // Nor is a store to another line, which the table does not order before it.
        let events = [
            event(OpKind::Write, Line(1)),
            event(OpKind::FlushOpt, Line(0)),
            event(OpKind::Mfence, Line(0)),
        ];
        let log = logged(&events, Platform::Adr, Copies::Whole);
        assert_eq!(log.frontier(Line(1), log.end()), Version(0));
    }
}
