//! What a thread has executed and the cache has not seen: store buffer, flush buffer, non-temporal stores (docs/design/model.md §2;
//! Gorjiara 2022, figures 3.6 and 3.7).
//!
//! The store buffer is a queue. A `clflushopt` that leaves it waits in the flush buffer with the log position it cannot
//! have moved before; a fence makes it effective there. Non-temporal stores leave in any order, but for their own line.

use landfall_model::line::{Addr, Line, Piece};
use landfall_model::log::{Cut, Log, Version};
use smallvec::SmallVec;
use std::collections::VecDeque;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum QueuedInstr {
    Store(Piece),
    Flush(Line),
    /// With the log position at which it was executed.
    FlushOpt(Line, Cut),
    Sfence,
}

/// Its place in the thread's program order.
type Ticket = u32;

/// One thread's buffers. Which of the [`choices`](Self::choices) comes next is the search's decision.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ThreadQueues {
    thread: u16,
    issued: Ticket,
    queue: VecDeque<(Ticket, QueuedInstr)>,
    non_temporal: Vec<(Ticket, Piece)>,
    /// Write-backs that the next fence waits for: the line, and the version guaranteed then.
    pending: SmallVec<[(Line, Version); 4]>,
    /// Log position after this thread's last store or `clflush` of a line.
    last_on_line: SmallVec<[(Line, Cut); 4]>,
    /// Log position after this thread's last fence.
    last_fence: Cut,
}

/// Something that may leave the buffers next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Leave {
    Head,
    NonTemporal(usize),
}

impl ThreadQueues {
    pub(super) fn new(thread: u16) -> ThreadQueues {
        ThreadQueues {
            thread,
            ..ThreadQueues::default()
        }
    }

    fn issue(&mut self, what: QueuedInstr) {
        self.queue.push_back((self.issued, what));
        self.issued += 1;
    }

    pub(super) fn store(&mut self, piece: Piece) {
        self.issue(QueuedInstr::Store(piece));
    }

    pub(super) fn nt_store(&mut self, piece: Piece) {
        self.non_temporal.push((self.issued, piece));
        self.issued += 1;
    }

    pub(super) fn clflush(&mut self, line: Line) {
        self.issue(QueuedInstr::Flush(line));
    }

    /// `clflushopt` or `clwb`, executed when the log was `now` long.
    pub(super) fn clflushopt(&mut self, line: Line, now: Cut) {
        self.issue(QueuedInstr::FlushOpt(line, now));
    }

    pub(super) fn sfence(&mut self) {
        self.issue(QueuedInstr::Sfence);
    }

    /// Nothing waits: `mfence` and locked instructions execute only then.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.non_temporal.is_empty()
    }

    /// What may leave next. Stores, `clflush`es and non-temporal stores of one line keep their order; a fence waits for the
    /// non-temporal stores before it.
    pub(super) fn choices(&self) -> impl Iterator<Item = Leave> + '_ {
        let head = self.queue.front().is_some_and(|(ticket, what)| {
            let mut earlier = self.non_temporal.iter().filter(|(t, _)| t < ticket);
            match what {
                QueuedInstr::Store(piece) => {
                    !earlier.any(|(_, nt)| nt.addr.line() == piece.addr.line())
                }
                QueuedInstr::Flush(line) => !earlier.any(|(_, nt)| nt.addr.line() == *line),
                QueuedInstr::FlushOpt(..) => true,
                QueuedInstr::Sfence => earlier.next().is_none(),
            }
        });
        let streams = self.non_temporal.iter().enumerate().filter(|(i, (t, p))| {
            let line = p.addr.line();
            let overtakes_stream = self.non_temporal[..*i]
                .iter()
                .any(|(_, other)| other.addr.line() == line);
            let overtakes_queued = self.queue.iter().any(|(ticket, what)| {
                ticket < t
                    && match what {
                        QueuedInstr::Store(piece) => piece.addr.line() == line,
                        QueuedInstr::Flush(flushed) => *flushed == line,
                        QueuedInstr::FlushOpt(..) => false,
                        QueuedInstr::Sfence => true,
                    }
            });
            !overtakes_stream && !overtakes_queued
        });
        head.then_some(Leave::Head)
            .into_iter()
            .chain(streams.map(|(i, _)| Leave::NonTemporal(i)))
    }

    /// The line that a choice stores to.
    pub(super) fn line_of(&self, which: Leave) -> Option<Line> {
        match which {
            Leave::NonTemporal(index) => Some(self.non_temporal[index].1.addr.line()),
            Leave::Head => match self.queue.front() {
                Some((_, QueuedInstr::Store(piece))) => Some(piece.addr.line()),
                _ => None,
            },
        }
    }

    /// Does a store to this word wait here?
    pub(super) fn holds(&self, addr: Addr) -> bool {
        let queued = self
            .queue
            .iter()
            .any(|(_, what)| matches!(what, QueuedInstr::Store(piece) if piece.addr == addr));
        queued
            || self
                .non_temporal
                .iter()
                .any(|(_, piece)| piece.addr == addr)
    }

    /// What a transaction wrote appears; both sides of it are fences.
    pub(super) fn commit(&mut self, pieces: &[Piece], log: &mut Log) {
        self.fence(log);
        let event = log.maker();
        let stores: Vec<_> = pieces.iter().map(|&piece| (event, piece)).collect();
        log.committed_stores(self.thread, &stores);
        for piece in pieces {
            self.touched(piece.addr.line(), log.end());
        }
        self.last_fence = log.end();
    }

    /// Lets one of the [`choices`](Self::choices) take effect.
    pub(super) fn leave(&mut self, which: Leave, log: &mut Log) {
        match which {
            Leave::NonTemporal(index) => {
                let (_, piece) = self.non_temporal.remove(index);
                let version = log.nt_store(self.thread, piece);
                self.touched(piece.addr.line(), log.end());
                self.pending.push((piece.addr.line(), version));
            }
            Leave::Head => match self.queue.pop_front() {
                Some((_, QueuedInstr::Store(piece))) => {
                    log.store(self.thread, piece);
                    self.touched(piece.addr.line(), log.end());
                }
                Some((_, QueuedInstr::Flush(line))) => {
                    log.durable(line, log.newest(line, log.end()));
                    self.touched(line, log.end());
                }
                Some((_, QueuedInstr::FlushOpt(line, executed))) => {
                    let own = self.last_touch(line);
                    let stamp = executed.max(own).max(self.last_fence);
                    self.pending.push((line, log.newest(line, stamp)));
                }
                Some((_, QueuedInstr::Sfence)) => self.drain(log),
                None => {}
            },
        }
    }

    /// The effect of `mfence`, and of a locked instruction around its access: pending write-backs are done.
    pub(super) fn fence(&mut self, log: &mut Log) {
        debug_assert!(self.is_empty(), "a full fence waits for the buffers");
        self.drain(log);
    }

    /// A locked instruction's store, between its two fences.
    pub(super) fn locked_store(&mut self, piece: Piece, log: &mut Log) {
        log.store(self.thread, piece);
        self.touched(piece.addr.line(), log.end());
        self.last_fence = log.end();
    }

    fn touched(&mut self, line: Line, end: Cut) {
        match self.last_on_line.iter_mut().find(|(l, _)| *l == line) {
            Some((_, last)) => *last = end,
            None => self.last_on_line.push((line, end)),
        }
    }

    fn last_touch(&self, line: Line) -> Cut {
        let last = self.last_on_line.iter().find(|(l, _)| *l == line);
        last.map_or(Cut(0), |&(_, cut)| cut)
    }

    fn drain(&mut self, log: &mut Log) {
        for (line, version) in std::mem::take(&mut self.pending) {
            log.durable(line, version);
        }
        self.last_fence = log.end();
    }

    /// Overwrites `bytes` with what this thread has stored there and not yet committed (bypass).
    pub(super) fn bypass(&self, addr: Addr, bytes: &mut [u8]) {
        let queued = self.queue.iter().filter_map(|(t, what)| match what {
            QueuedInstr::Store(piece) => Some((*t, piece)),
            _ => None,
        });
        let streams = self.non_temporal.iter().map(|(t, piece)| (*t, piece));
        let mut stores: SmallVec<[(Ticket, &Piece); 8]> = queued.chain(streams).collect();
        stores.sort_unstable_by_key(|&(ticket, _)| ticket);
        for (_, piece) in stores {
            for (i, &value) in piece.bytes().iter().enumerate() {
                let at = piece.addr.0.wrapping_add(i as u64);
                if let Some(byte) = at
                    .checked_sub(addr.0)
                    .and_then(|offset| bytes.get_mut(offset as usize))
                {
                    *byte = value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use landfall_model::line::pieces;
    use landfall_model::order::Platform;

    fn piece(addr: u64, value: u8) -> Piece {
        pieces(Addr(addr), &[value]).next().unwrap()
    }

    #[test]
    fn clflushopt_is_a_promise_until_the_fence() {
        let mut log = Log::new(Platform::Adr);
        let mut b = ThreadQueues::new(0);
        b.store(piece(0, 1));
        b.clflushopt(Line(0), log.end());
        b.leave(Leave::Head, &mut log);
        b.leave(Leave::Head, &mut log);
        assert_eq!(log.frontier(Line(0), log.end()), Version(0));
        b.store(piece(1, 2));
        b.leave(Leave::Head, &mut log);
        b.sfence();
        b.leave(Leave::Head, &mut log);
        // The fence guarantees what the flush covered, not what came after it.
        assert_eq!(log.frontier(Line(0), log.end()), Version(1));
    }

    #[test]
    fn bypass_prefers_the_newest_store() {
        let mut b = ThreadQueues::new(0);
        b.store(piece(0, 1));
        b.nt_store(piece(0, 2));
        let mut bytes = [0];
        b.bypass(Addr(0), &mut bytes);
        assert_eq!(bytes, [2]);
        // … and the two leave in order, being of one line.
        assert_eq!(b.choices().collect::<Vec<_>>(), [Leave::Head]);
    }

    #[test]
    fn non_temporal_stores_pass_stores_of_other_lines() {
        let mut b = ThreadQueues::new(0);
        b.store(piece(0, 1));
        b.nt_store(piece(64, 2));
        assert_eq!(
            b.choices().collect::<Vec<_>>(),
            [Leave::Head, Leave::NonTemporal(0)]
        );
    }
}
