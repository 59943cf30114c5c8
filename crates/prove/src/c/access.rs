//! Memory: reads, writes, locked instructions and flushes, through pointers that may lead to several places.

use super::knowledge::{LOCKS, MOST, is_persistent};
use super::machine::{Go, Machine, Phase, State, Stop};
use crate::program::*;
use crate::term::{Node, Op, Term};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// How a thread sees a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sight {
    /// It knows the content: nobody else can have changed it.
    Known,
    /// Only a read tells.
    Shared,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Cached,
    /// Past the cache, as `movnti` does.
    NonTemporal,
}

impl Machine<'_> {
    fn me(&self) -> u64 {
        1 << self.thread
    }

    fn sight(&self, cell: u64) -> Sight {
        if self.phase == Phase::After {
            return Sight::Known;
        }
        let Some(known) = self.knowledge.cells.get(&cell) else {
            return Sight::Known;
        };
        let others = known.writers & !self.me();
        if others == 0 {
            return Sight::Known;
        }
        let one = known.writers.is_power_of_two();
        match one && !known.late && self.descends(self.thread, known.writers) {
            true => Sight::Known,
            false => Sight::Shared,
        }
    }

    /// Was the thread started, directly or not, by the one of this set?
    fn descends(&self, thread: usize, of: u64) -> bool {
        let mut at = thread;
        while let Some(&parent) = self.parents.get(&at) {
            if of == 1 << parent {
                return true;
            }
            at = parent;
        }
        false
    }

    /// Is it volatile, and known to everybody who looks at it? Then nothing about it is an event.
    fn is_quiet(&self, cell: u64) -> bool {
        if self.phase == Phase::After {
            return true;
        }
        if is_persistent(cell) {
            return false;
        }
        let Some(known) = self.knowledge.cells.get(&cell) else {
            return true;
        };
        if known.writers & (known.writers.wrapping_sub(1)) != 0 {
            return false;
        }
        let others = known.readers & !known.writers & !self.me();
        let threads = (0..64).filter(|t| others >> t & 1 == 1);
        let writer = known.writers | self.me();
        others == 0 || !known.late && threads.into_iter().all(|t| self.descends(t, writer))
    }

    pub(super) fn location(&mut self, cell: u64) -> LocId {
        if let Some(&known) = self.locations.get(&cell) {
            return known;
        }
        let size = self.knowledge.cells.get(&cell).map_or(8, |c| c.size);
        let name = self.name(cell);
        let home = if cell & LOCKS != 0 {
            Home::Lock
        } else if is_persistent(cell) {
            Home::Persistent(self.line(cell))
        } else {
            Home::Volatile
        };
        let initial = self.knowledge.initial(cell, size);
        let loc = self.program.add_location(&name, size * 8, home, initial);
        self.program.locations[loc.index()].at = Some(cell & !LOCKS);
        self.locations.insert(cell, loc);
        self.cell_of.push(cell);
        loc
    }

    fn name(&self, cell: u64) -> String {
        let address = cell & !LOCKS;
        match self.knowledge.object(address, 1) {
            Some((base, object)) if base == address => object.name.clone(),
            Some((base, object)) => format!("{}+{}", object.name, address - base),
            None => format!("{address:#x}"),
        }
    }

    /// What a cell holds that this thread has not written.
    pub(super) fn untouched(&mut self, cell: u64) -> Term {
        let (size, writers) = match self.knowledge.cells.get(&cell) {
            Some(known) => (known.size, known.writers),
            None => (1, 0),
        };
        if self.phase == Phase::After && is_persistent(cell) && writers != 0 {
            let loc = self.location(cell);
            return self.program.terms.recovered(loc, size * 8);
        }
        let initial = self.knowledge.initial(cell, size);
        self.program.terms.constant(size * 8, initial)
    }

    fn known(&mut self, state: &State, cell: u64) -> Term {
        match state.memory.get(&cell) {
            Some(&value) => value,
            None => self.untouched(cell),
        }
    }

    fn set(&mut self, state: &mut State, cell: u64, value: Term, when: Term) {
        let old = self.known(state, cell);
        let value = self.program.terms.choose(when, value, old);
        Rc::make_mut(&mut state.memory).insert(cell, value);
    }

    /// The places a pointer can lead to, each with the condition that it is that. Where it leads nowhere, that is checked.
    pub(super) fn targets(
        &mut self,
        state: &mut State,
        pointer: Term,
        size: u64,
    ) -> Go<Vec<(Term, u64)>> {
        const NOWHERE: &str = "a pointer leads outside of all objects";
        if let Some(address) = self.program.terms.constant_of(pointer) {
            if self.knowledge.object(address, size).is_some() {
                let always = self.program.terms.truth(true);
                return Ok(vec![(always, address)]);
            }
            let never = self.program.terms.truth(false);
            self.check(state, never, NOWHERE)?;
            return Err(Stop::Ended);
        }
        let known = self.program.terms.conjuncts(state.condition);
        let (values, complete) = match self.domain(pointer) {
            Some(values) => (values.to_vec(), true),
            None => match self.strides(pointer) {
                Some(values) => (values, false),
                None => {
                    return self
                        .refuse("where the pointer leads depends on a value that can be anything");
                }
            },
        };
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for value in values {
            let terms = &mut self.program.terms;
            let this = terms.constant(64, value);
            let is = terms.eq(pointer, this);
            let not = terms.not(is);
            if terms.constant_of(is) == Some(0) || known.contains(&not) {
                continue;
            }
            match self.knowledge.object(value, size) {
                Some(_) => good.push((is, value)),
                None => bad.push(not),
            }
        }
        let holds = match complete {
            true => self.program.terms.conjunction(&bad),
            false => {
                let none = self.program.terms.truth(false);
                good.iter()
                    .fold(none, |any, &(is, _)| self.program.terms.or(any, is))
            }
        };
        // What follows is not told that it held: an execution in which it did not is refuted, and conditions stay small.
        self.check(state, holds, NOWHERE)?;
        if let [(is, _)] = good.as_mut_slice()
            && complete
        {
            *is = self.program.terms.truth(true);
        }
        match good.is_empty() {
            true => Err(Stop::Ended),
            false => Ok(good),
        }
    }

    /// `base + n * step` with any `n`: all places of that kind inside the object.
    fn strides(&mut self, pointer: Term) -> Option<Vec<u64>> {
        let terms = &self.program.terms;
        let Node::Binary(Op::Add, x, y) = terms.node(pointer) else {
            return None;
        };
        let (base, index) = match (terms.constant_of(x), terms.constant_of(y)) {
            (Some(base), _) => (base, y),
            (_, Some(base)) => (base, x),
            _ => return None,
        };
        let step = match terms.node(index) {
            Node::Binary(Op::Mul, a, b) => terms.constant_of(a).or(terms.constant_of(b))?,
            Node::Binary(Op::Shl, _, by) => 1u64.checked_shl(terms.constant_of(by)? as u32)?,
            _ => 1,
        };
        let (start, object) = self.knowledge.object(base, 1)?;
        if step == 0 || object.size / step > MOST as u64 {
            return None;
        }
        let first = base - (base - start) / step * step;
        Some(
            (first..start + object.size)
                .step_by(step as usize)
                .collect(),
        )
    }

    /// Reads up to 8 bytes.
    pub(super) fn load(&mut self, state: &mut State, pointer: Term, size: u64) -> Go<Term> {
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

    pub(super) fn read(&mut self, state: &State, address: u64, size: u64, when: Term) -> Go<Term> {
        let guard = self.program.terms.and(state.condition, when);
        let mut parts = Vec::new();
        let mut joined = false;
        for (cell, bytes) in self.knowledge.cells_of(address, size) {
            let content = self.content(state, cell, guard, &mut joined)?;
            let from = address.max(cell);
            let to = (address + size).min(cell + u64::from(bytes));
            let (low, width) = ((from - cell) as u8 * 8, (to - from) as u8 * 8);
            let part = self.program.terms.extract(content, low, width);
            if self.phase == Phase::After {
                self.observe(cell, part, guard);
            }
            parts.push(part);
        }
        Ok(self.concatenate(&parts))
    }

    fn content(&mut self, state: &State, cell: u64, guard: Term, joined: &mut bool) -> Go<Term> {
        if self.phase == Phase::Before {
            let me = self.me();
            self.knowledge.note(cell, |c| c.readers |= me);
        }
        if self.sight(cell) == Sight::Known {
            return Ok(self.known(state, cell));
        }
        let loc = self.location(cell);
        let event = self.event(guard, Kind::Load { loc }, *joined)?;
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
        state: &mut State,
        pointer: Term,
        value: Term,
        way: Way,
    ) -> Go<()> {
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
        Ok(())
    }

    /// Notes a write, and cuts cells that are written in part from the next pass on.
    fn note_write(&mut self, cell: u64, bytes: u8, address: u64, end: u64) {
        if self.phase == Phase::After {
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
        state: &mut State,
        address: u64,
        value: Term,
        when: Term,
        way: Way,
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
                    Way::NonTemporal if is_persistent(cell) => Kind::NtStore { loc, value: new },
                    _ => Kind::Store { loc, value: new },
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
        state: &mut State,
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
        state: &mut State,
        address: u64,
        size: u64,
        is: Term,
        effect: &dyn Fn(&mut crate::term::Terms, Term) -> (Term, Term),
    ) -> Go<Term> {
        let guard = self.program.terms.and(state.condition, is);
        let cells = self.knowledge.cells_of(address, size);
        for &(cell, bytes) in &cells {
            self.note_write(cell, bytes, address, address + size);
            if self.phase == Phase::Before {
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
                    let event = EventId(next + number as u32);
                    self.program.terms.loaded(event, bytes * 8)
                }
            };
            if self.phase == Phase::After {
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
                    let event = EventId(next + number as u32);
                    self.program.terms.loaded(event, bytes * 8)
                }
            };
            let new = self.overwritten(content, (cell, bytes), (address, value));
            if !quiet {
                let loc = self.location(cell);
                if self.program.location(loc).width != bytes * 8 {
                    continue; // cut in this pass
                }
                let kind = Kind::Rmw {
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
        let is_lock = address & LOCKS != 0;
        if quiet && self.phase == Phase::Before && !is_lock {
            self.event(guard, Kind::Mfence, false)?;
        }
        Ok(old)
    }

    /// Write-backs of the lines of these bytes.
    pub(super) fn flush(
        &mut self,
        state: &mut State,
        pointer: Term,
        size: u64,
        kind: FlushKind,
    ) -> Go<()> {
        if self.phase == Phase::After || size == 0 {
            return Ok(());
        }
        let values = match self.program.terms.constant_of(pointer) {
            Some(address) => vec![address],
            None => match self.domain(pointer) {
                Some(values) => values.to_vec(),
                None => match self.strides(pointer) {
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
            self.event(guard, Kind::Flush { line, kind }, false)?;
        }
        Ok(())
    }

    pub(super) fn fence(&mut self, state: &State, kind: Kind) -> Go<()> {
        if self.phase == Phase::Before {
            self.event(state.condition, kind, false)?;
        }
        Ok(())
    }
}
