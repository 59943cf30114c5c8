//! What is found out by following the program, and used when it is followed again, until nothing new is found: which bytes are
//! written together, who writes and reads them, which addresses they can hold.

use landfall_vocab::window;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Threads that did something, as a set of bits.
pub(super) type Who = u64;

/// Bytes that are always written as a whole; they lie inside one aligned word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Cell {
    pub(super) size: u8,
    pub(super) writers: Who,
    pub(super) readers: Who,
    /// Was it written while threads were running that its writer had started?
    pub(super) late: bool,
}

/// Where an object is, and so how long it lives and what it holds before anybody writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ObjectKind {
    /// For the whole run, with a first content.
    Static,
    /// Of a function that this thread called; garbage at first.
    Local {
        thread: usize,
    },
    /// From the heap; garbage at first.
    Heap,
    /// From the heap, zeros at first.
    Cleared,
    Persistent,
}

impl ObjectKind {
    pub(super) fn is_heap(self) -> bool {
        matches!(self, ObjectKind::Heap | ObjectKind::Cleared)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KnownObject {
    pub(super) size: u64,
    pub(super) name: String,
    /// What it holds at first; zeros behind its end.
    pub(super) initial: Vec<u8>,
    pub(super) kind: ObjectKind,
    /// Somebody may come to it when it is gone: whether it is has to be looked up.
    pub(super) mortal: bool,
}

/// The values that a cell can hold, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ValueSet {
    pub(super) values: Vec<u64>,
    /// Or anything: nobody may have written it.
    pub(super) open: bool,
}

impl ValueSet {
    pub(super) fn of(value: u64) -> ValueSet {
        ValueSet {
            values: vec![value],
            open: false,
        }
    }
}

/// Sets of values that are larger are "any value".
pub(super) const MOST: usize = 64;

/// Where something happens: a chain of calls, with the rounds of the loops around each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct CallContext(pub(super) u32);

#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// By address.
    pub(super) cells: BTreeMap<u64, Cell>,
    pub(super) objects: BTreeMap<u64, KnownObject>,
    contexts: FxHashMap<(u32, u32, u32, Vec<u32>), u32>,
    /// By the context of its creation.
    created: FxHashMap<u32, u64>,
    threads: Vec<u32>,
    next_volatile: u64,
    next_persistent: u64,
    /// By cell, where somebody asked: the values it can hold; `None` for any.
    pub(super) values: FxHashMap<u64, Option<ValueSet>>,
    pub(super) asked: BTreeSet<u64>,
    /// Something was learnt that the present pass did not know.
    pub(super) learnt: bool,
}

pub(super) const VOLATILE: u64 = 0x2000_0000;
/// Before each block of the persistent heap, as the runtime has it.
pub(super) const HEADER: u64 = 16;
const ROOTS: u64 = 256;
const ROOTS_AT: u64 = 64 + 192 * 8;

/// The state of a lock is not among the bytes of the program.
pub(super) const LOCKS: u64 = 1 << 62;
/// Nor is the byte that says whether an object is gone.
pub(super) const GONE: u64 = 1 << 61;

pub(super) fn is_persistent(address: u64) -> bool {
    window::offset_of(address).is_some()
}

impl Knowledge {
    pub(super) fn new() -> Knowledge {
        let heap = window::BASE + window::HEAP.start;
        let first_block = heap + (ROOTS_AT + ROOTS * 8).div_ceil(64) * 64;
        let mut knowledge = Knowledge {
            next_volatile: VOLATILE,
            next_persistent: first_block,
            ..Knowledge::default()
        };
        let roots = KnownObject {
            size: ROOTS * 8,
            name: "lf_root".to_owned(),
            initial: Vec::new(),
            kind: ObjectKind::Persistent,
            mortal: false,
        };
        knowledge.objects.insert(heap + ROOTS_AT, roots);
        knowledge
    }

    /// The address of a root; none if there is no such.
    pub(super) fn root(index: u64) -> Option<u64> {
        let at = window::BASE + window::HEAP.start + ROOTS_AT;
        (index < ROOTS).then(|| at + index * 8)
    }

    pub(super) fn region(&mut self, size: u64) -> u64 {
        let at = window::BASE + window::REGION.start;
        let region = self.objects.entry(at).or_insert(KnownObject {
            size: 0,
            name: "pm".to_owned(),
            initial: Vec::new(),
            kind: ObjectKind::Persistent,
            mortal: false,
        });
        region.size = region.size.max(size.next_multiple_of(64));
        at
    }

    pub(super) fn context(
        &mut self,
        outer: CallContext,
        (block, at): (u32, u32),
        rounds: &[u32],
    ) -> CallContext {
        let next = self.contexts.len() as u32 + 2; // 0 and 1 are `main`, before and after
        let key = (outer.0, block, at, rounds.to_vec());
        CallContext(*self.contexts.entry(key).or_insert(next))
    }

    /// The number of the thread that is created here.
    pub(super) fn thread(&mut self, here: CallContext) -> usize {
        match self.threads.iter().position(|&known| known == here.0) {
            Some(known) => known + 1,
            None => {
                self.threads.push(here.0);
                self.threads.len()
            }
        }
    }

    /// Memory of its own for what is created here; the same in every pass.
    pub(super) fn create(
        &mut self,
        here: CallContext,
        (size, align): (u64, u64),
        name: &str,
        kind: ObjectKind,
    ) -> u64 {
        if let Some(&at) = self.created.get(&here.0) {
            return at;
        }
        let at = if kind == ObjectKind::Persistent {
            let at = (self.next_persistent + HEADER).next_multiple_of(16);
            self.next_persistent = at + size.next_multiple_of(16).max(16);
            at
        } else {
            let at = self
                .next_volatile
                .next_multiple_of(align.clamp(16, 1 << 16));
            // One byte behind an object is not in the next one.
            self.next_volatile = at + size + 16;
            at
        };
        let object = KnownObject {
            size,
            name: name.to_owned(),
            initial: Vec::new(),
            kind,
            mortal: false,
        };
        self.objects.insert(at, object);
        self.created.insert(here.0, at);
        at
    }

    /// The object that these bytes are in.
    pub(super) fn object(&self, address: u64, size: u64) -> Option<(u64, &KnownObject)> {
        let (&base, object) = self.objects.range(..=address).next_back()?;
        let end = address.checked_add(size)?;
        (end <= base.checked_add(object.size)?).then_some((base, object))
    }

    pub(super) fn initial(&self, address: u64, size: u8) -> u64 {
        let Some((base, object)) = self.object(address, size.into()) else {
            return 0;
        };
        (0..u64::from(size)).fold(0, |value, at| {
            let index = (address - base + at) as usize;
            let byte = object.initial.get(index).copied().unwrap_or(0);
            value | u64::from(byte) << (8 * at)
        })
    }

    /// What a cell can hold before anybody writes it.
    pub(super) fn at_first(&self, address: u64, size: u8) -> ValueSet {
        match self.begins_as_garbage(address) {
            true => ValueSet {
                values: Vec::new(),
                open: true,
            },
            false => ValueSet::of(self.initial(address, size)),
        }
    }

    /// Is it memory that nobody promises to clear?
    pub(super) fn begins_as_garbage(&self, address: u64) -> bool {
        self.object(address, 1).is_some_and(|(_, object)| {
            matches!(object.kind, ObjectKind::Local { .. } | ObjectKind::Heap)
        })
    }

    /// From now on it is looked up whether the object is gone.
    pub(super) fn is_mortal(&mut self, base: u64) {
        if let Some(object) = self.objects.get_mut(&base)
            && !object.mortal
        {
            object.mortal = true;
            self.learnt = true;
        }
    }

    /// The cells that these bytes are in, lowest first; new ones where there were none.
    pub(super) fn cells_of(&mut self, address: u64, size: u64) -> Vec<(u64, u8)> {
        let end = address + size;
        let mut found = Vec::new();
        let mut at = address;
        while at < end {
            let before = self.cells.range(..=at).next_back();
            if let Some((&start, cell)) = before
                && start + u64::from(cell.size) > at
            {
                found.push((start, cell.size));
                at = start + u64::from(cell.size);
                continue;
            }
            let next = self.cells.range(at..end).next().map_or(end, |(&n, _)| n);
            let word = (at / 8 + 1) * 8;
            let size = (next.min(word) - at) as u8;
            self.cells.insert(
                at,
                Cell {
                    size,
                    ..Cell::default()
                },
            );
            found.push((at, size));
            at += u64::from(size);
        }
        found
    }

    /// Part of a cell is written: from the next pass on it is two or three.
    pub(super) fn split(&mut self, start: u64, address: u64, end: u64) {
        let Some(old) = self.cells.remove(&start) else {
            return;
        };
        let stop = start + u64::from(old.size);
        let mut cuts = vec![start];
        cuts.extend(
            [address, end]
                .into_iter()
                .filter(|&c| c > start && c < stop),
        );
        cuts.push(stop);
        for pair in cuts.windows(2) {
            let size = (pair[1] - pair[0]) as u8;
            self.cells.insert(pair[0], Cell { size, ..old });
        }
        self.values.remove(&start);
        self.learnt = true;
    }

    pub(super) fn note(&mut self, cell: u64, change: impl FnOnce(&mut Cell)) {
        if let Some(cell) = self.cells.get_mut(&cell) {
            let before = *cell;
            change(cell);
            self.learnt |= *cell != before;
        }
    }
}
