//! Memory: reads, writes, locked instructions and flushes, through pointers that may lead to several places.

use super::knowledge::{GONE, LOCKS, is_persistent};
use super::machine::{CMachine, CPhase, CState, Go, Stop};
use super::sight::Sight;
use crate::program::*;
use crate::term::{Node, Op, Term};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessWay {
    Cached,
    /// Past the cache, as `movnti` does.
    NonTemporal,
}

impl CMachine<'_> {
    /// Reads up to 8 bytes.
    pub(super) fn load(&mut self, state: &mut CState, pointer: Term, size: u64) -> Go<Term> {
        let targets = self.targets(state, pointer, size)?;
        let mut value = None;
        for (is, address) in targets {
            let read = self.read(state, address, size, is)?;
            value = Some(match value {
                None => read,
                Some(others) => self.program.terms.choose(is, read, others),
            });
        }
        value.ok_or(Stop::Ended)
    }

    pub(super) fn read(&mut self, state: &CState, address: u64, size: u64, when: Term) -> Go<Term> {
        let guard = self.program.terms.and(state.condition, when);
        let mut parts = Vec::new();
        let mut joined = false;
        for (cell, bytes) in self.knowledge.cells_of(address, size) {
            let content = self.content(state, cell, guard, &mut joined)?;
            let from = address.max(cell);
            let to = (address + size).min(cell + u64::from(bytes));
            let (low, width) = ((from - cell) as u8 * 8, (to - from) as u8 * 8);
            let part = self.program.terms.extract(content, low, width);
            if self.phase == CPhase::After {
                self.observe(cell, part, guard);
            }
            parts.push(part);
        }
        Ok(self.concatenate(&parts))
    }

    fn content(&mut self, state: &CState, cell: u64, guard: Term, joined: &mut bool) -> Go<Term> {
        if self.phase == CPhase::Before {
            let me = self.me();
            self.knowledge.note(cell, |c| c.readers |= me);
        }
        if self.sight(cell) == Sight::Known {
            return Ok(self.known(state, cell));
        }
        let loc = self.location(cell);
        let event = self.event(guard, ProofEventKind::Load { loc }, *joined)?;
        *joined = true;
        let width = self.program.location(loc).width;
        Ok(self.program.terms.loaded(event, width))
    }

    /// The recovery sees what the failure left, if its own writes have not covered it.
    fn observe(&mut self, cell: u64, content: Term, guard: Term) {
        let Some(&loc) = self.locations.get(&cell) else {
            return;
        };
        let width = self.program.location(loc).width;
        let Some(left) = self.program.terms.find(Node::Recovered(loc), width) else {
            return;
        };
        let mut known = FxHashMap::default();
        let seen = self.shows(content, left, &mut known);
        let guard = self.program.terms.and(guard, seen);
        if self.program.terms.constant_of(guard) != Some(0) {
            self.program.recovery.reads.push(Observation { loc, guard });
        }
    }

    /// The condition under which a content is, or is made of, what the failure left.
    fn shows(&mut self, content: Term, left: Term, known: &mut FxHashMap<Term, Term>) -> Term {
        if let Some(&condition) = known.get(&content) {
            return condition;
        }
        let condition = match self.program.terms.node(content) {
            _ if content == left => self.program.terms.truth(true),
            Node::Choose(c, a, b) => {
                let (a, b) = (self.shows(a, left, known), self.shows(b, left, known));
                self.program.terms.choose(c, a, b)
            }
            Node::Binary(_, a, b) => {
                let (a, b) = (self.shows(a, left, known), self.shows(b, left, known));
                self.program.terms.or(a, b)
            }
            Node::Not(a) | Node::Zext(a) | Node::Sext(a) | Node::Extract(a, _) => {
                self.shows(a, left, known)
            }
            _ => self.program.terms.truth(false),
        };
        known.insert(content, condition);
        condition
    }

    /// Lowest bytes first.
    pub(super) fn concatenate(&mut self, parts: &[Term]) -> Term {
        let terms = &mut self.program.terms;
        let width: u8 = parts.iter().map(|&p| terms.width(p)).sum();
        let mut at = 0;
        let mut whole = terms.constant(width, 0);
        for &part in parts {
            let own = terms.width(part);
            let wide = terms.zext(part, width);
            let by = terms.constant(width, at.into());
            let up = terms.binary(Op::Shl, wide, by);
            whole = terms.or(whole, up);
            at += own;
        }
        whole
    }

    /// Writes up to 8 bytes; what crosses a word is written in two steps.
    pub(super) fn store(
        &mut self,
        state: &mut CState,
        pointer: Term,
        value: Term,
        way: AccessWay,
    ) -> Go<()> {
        let events = self.program.events.len();
        let size = u64::from(self.program.terms.width(value)) / 8;
        for (is, address) in self.targets(state, pointer, size)? {
            let end = address + size;
            let mut at = address;
            while at < end {
                let stop = end.min((at / 8 + 1) * 8);
                let (low, width) = ((at - address) as u8 * 8, (stop - at) as u8 * 8);
                let part = self.program.terms.extract(value, low, width);
                self.write(state, at, part, is, way)?;
                at = stop;
            }
        }
        self.stored(state, events)
    }

    /// Notes a write, and cuts cells that are written in part from the next pass on.
    fn note_write(&mut self, cell: u64, bytes: u8, address: u64, end: u64) {
        if self.phase == CPhase::After {
            return;
        }
        let (me, late) = (
            self.me(),
            self.running.get(&self.thread).is_some_and(|&r| r > 0),
        );
        self.knowledge.note(cell, |c| {
            c.writers |= me;
            c.late |= late;
        });
        let partial = cell < address || cell + u64::from(bytes) > end;
        if partial && !self.is_quiet(cell) {
            self.knowledge.split(cell, address, end);
        }
    }

    /// What a cell holds after a write of some of its bytes.
    fn overwritten(
        &mut self,
        old: Term,
        (cell, bytes): (u64, u8),
        (address, value): (u64, Term),
    ) -> Term {
        let terms = &mut self.program.terms;
        let end = address + u64::from(terms.width(value)) / 8;
        let stop = cell + u64::from(bytes);
        let (from, to) = (address.max(cell), end.min(stop));
        let new = terms.extract(value, (from - address) as u8 * 8, (to - from) as u8 * 8);
        let mut parts = Vec::new();
        if cell < from {
            parts.push(terms.extract(old, 0, (from - cell) as u8 * 8));
        }
        parts.push(new);
        if to < stop {
            let low = (to - cell) as u8 * 8;
            parts.push(terms.extract(old, low, (stop - to) as u8 * 8));
        }
        self.concatenate(&parts)
    }

    pub(super) fn write(
        &mut self,
        state: &mut CState,
        address: u64,
        value: Term,
        when: Term,
        way: AccessWay,
    ) -> Go<()> {
        let size = u64::from(self.program.terms.width(value)) / 8;
        let guard = self.program.terms.and(state.condition, when);
        let mut joined = false;
        for (cell, bytes) in self.knowledge.cells_of(address, size) {
            self.note_write(cell, bytes, address, address + size);
            // After a cut its parts are known from the next pass on.
            if !self.knowledge.cells.contains_key(&cell) {
                continue;
            }
            let bytes = self.knowledge.cells.get(&cell).map_or(bytes, |c| c.size);
            let old = match state.memory.get(&cell) {
                Some(&old) if self.program.terms.width(old) == bytes * 8 => old,
                _ => self.untouched(cell),
            };
            if address >= cell + u64::from(bytes) {
                continue;
            }
            let new = self.overwritten(old, (cell, bytes), (address, value));
            if !self.is_quiet(cell) {
                let loc = self.location(cell);
                if self.program.location(loc).width != bytes * 8 {
                    continue;
                }
                let kind = match way {
                    AccessWay::NonTemporal if is_persistent(cell) => {
                        ProofEventKind::NtStore { loc, value: new }
                    }
                    _ => ProofEventKind::Store { loc, value: new },
                };
                self.event(guard, kind, joined)?;
                joined = true;
            }
            if self.sight(cell) == Sight::Known {
                self.set(state, cell, new, when);
            }
        }
        Ok(())
    }

    /// A locked instruction: `effect` says, from what it read, whether it writes and what. Returns what it read.
    pub(super) fn rmw(
        &mut self,
        state: &mut CState,
        pointer: Term,
        size: u64,
        effect: &dyn Fn(&mut crate::term::Terms, Term) -> (Term, Term),
    ) -> Go<Term> {
        let mut read = None;
        for (is, address) in self.targets(state, pointer, size)? {
            if address / 8 != (address + size - 1) / 8 {
                return self.refuse("a locked instruction on bytes of two words");
            }
            let old = self.rmw_at(state, address, size, is, effect)?;
            read = Some(match read {
                None => old,
                Some(others) => self.program.terms.choose(is, old, others),
            });
        }
        read.ok_or(Stop::Ended)
    }

    pub(super) fn rmw_at(
        &mut self,
        state: &mut CState,
        address: u64,
        size: u64,
        is: Term,
        effect: &dyn Fn(&mut crate::term::Terms, Term) -> (Term, Term),
    ) -> Go<Term> {
        let guard = self.program.terms.and(state.condition, is);
        let cells = self.knowledge.cells_of(address, size);
        for &(cell, bytes) in &cells {
            self.note_write(cell, bytes, address, address + size);
            if self.phase == CPhase::Before {
                let me = self.me();
                self.knowledge.note(cell, |c| c.readers |= me);
            }
        }
        // Cells may have been cut just now.
        let cells = self.knowledge.cells_of(address, size);
        let quiet = cells.iter().all(|&(cell, _)| self.is_quiet(cell));
        let known = cells
            .iter()
            .all(|&(cell, _)| self.sight(cell) == Sight::Known);
        let next = self.program.events.len() as u32;
        let mut parts = Vec::new();
        for (number, &(cell, bytes)) in cells.iter().enumerate() {
            let content = match known {
                true => match state.memory.get(&cell) {
                    Some(&old) if self.program.terms.width(old) == bytes * 8 => old,
                    _ => self.untouched(cell),
                },
                false => {
                    let event = ProofEventId(next + number as u32);
                    self.program.terms.loaded(event, bytes * 8)
                }
            };
            if self.phase == CPhase::After {
                self.observe(cell, content, guard);
            }
            let from = address.max(cell);
            let to = (address + size).min(cell + u64::from(bytes));
            let (low, width) = ((from - cell) as u8 * 8, (to - from) as u8 * 8);
            parts.push(self.program.terms.extract(content, low, width));
        }
        let old = self.concatenate(&parts);
        let (when, value) = effect(&mut self.program.terms, old);
        for (number, &(cell, bytes)) in cells.iter().enumerate() {
            let content = match known {
                true => match state.memory.get(&cell) {
                    Some(&old) if self.program.terms.width(old) == bytes * 8 => old,
                    _ => self.untouched(cell),
                },
                false => {
                    let event = ProofEventId(next + number as u32);
                    self.program.terms.loaded(event, bytes * 8)
                }
            };
            let new = self.overwritten(content, (cell, bytes), (address, value));
            if !quiet {
                let loc = self.location(cell);
                if self.program.location(loc).width != bytes * 8 {
                    continue; // cut in this pass
                }
                let kind = ProofEventKind::Rmw {
                    loc,
                    when,
                    value: new,
                };
                self.event(guard, kind, number > 0)?;
            }
            if known {
                let both = self.program.terms.and(is, when);
                self.set(state, cell, new, both);
            }
        }
        let is_lock = address & (LOCKS | GONE) != 0;
        if quiet && self.phase == CPhase::Before && !is_lock {
            self.event(guard, ProofEventKind::Mfence, false)?;
        }
        Ok(old)
    }

    /// Write-backs of the lines of these bytes.
    pub(super) fn flush(
        &mut self,
        state: &mut CState,
        pointer: Term,
        size: u64,
        kind: FlushKind,
    ) -> Go<()> {
        if self.phase == CPhase::After || size == 0 {
            return Ok(());
        }
        let values = match self.program.terms.constant_of(pointer) {
            Some(address) => vec![address],
            None => match self.domain(pointer) {
                Some(known) if !known.values.is_empty() => known.values.clone(),
                _ => match self.strides(pointer) {
                    Some(values) => values,
                    None => {
                        return self.refuse(
                            "which line is flushed depends on a value that can be anything",
                        );
                    }
                },
            },
        };
        let mut lines: Vec<(u64, Term)> = Vec::new();
        for address in values.into_iter().filter(|&a| is_persistent(a)) {
            let terms = &mut self.program.terms;
            let this = terms.constant(64, address);
            let is = terms.eq(pointer, this);
            for line in address / 64..=(address + size - 1) / 64 {
                match lines.iter_mut().find(|(known, _)| *known == line) {
                    Some((_, when)) => *when = terms.or(*when, is),
                    None => lines.push((line, is)),
                }
            }
        }
        for (line, when) in lines {
            let guard = self.program.terms.and(state.condition, when);
            let line = self.line(line * 64);
            self.event(guard, ProofEventKind::Flush { line, kind }, false)?;
        }
        Ok(())
    }

    pub(super) fn fence(&mut self, state: &CState, kind: ProofEventKind) -> Go<()> {
        if self.phase == CPhase::Before {
            self.event(state.condition, kind, false)?;
        }
        Ok(())
    }
}
