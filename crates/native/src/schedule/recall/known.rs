//! Places that threads were seen at, and where they came from there.

use super::holders::{self, AboutLock, Hold, LockHolders};
use super::looks::{LOOK, Looks};
use super::memory::{Contradiction, Span, SteppedMemory, Waiting};
use super::plain::PlainUses;
use landfall_vocab::record::{COMPANIONS, RecordKind, Records, Traced, access, step};
use landfall_vocab::shared::{End, FEW_THREADS, LOCK, UNJUDGED, UNSAID};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

pub(super) const NONE: u32 = u32::MAX;
/// Bytes of trace that are remembered, at most.
const MOST_BYTES: usize = 16 << 20;
/// Bytes of memory that are remembered from when threads were alone again.
const MOST_STATES: usize = 32 << 20;

/// A thread stands before a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) kind: u8,
    /// The step was chosen, not taken as soon as it could be.
    pub(super) chosen: bool,
    /// Its record, but for who could have gone instead.
    pub(super) record: [u64; 3],
    /// What an access touches.
    pub(super) span: Option<Span>,
    /// The lock that it is about, by its number.
    pub(super) lock: u32,
    /// The way on that was taken last.
    pub(super) latest: u32,
}

/// From a place to the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) from: u32,
    pub(super) found: u64,
    /// That, and what it found in memory behind the step.
    pub(super) looks: bool,
    pub(super) to: u32,
    /// What it writes into the trace: from and to, in [`Known::bytes`]; and what it does: in [`Known::deeds`].
    pub(super) bytes: (u32, u32),
    pub(super) deeds: (u32, u32),
    /// Where in there it says what its store replaces.
    pub(super) replaced: u32,
    /// It stores where nobody is told: who joins the thread may find that.
    pub(super) leaves_behind: bool,
}

/// What a thread does on its way, as far as others or its own next steps can tell.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    /// Touches bytes at once: whoever sleeps before a step that touches them wakes up.
    Touches {
        address: u64,
        length: u64,
        writes: bool,
    },
    Stores {
        span: Span,
        value: u64,
    },
    Buffers(Waiting),
    Creates {
        thread: u8,
        begins: u32,
    },
    /// It concerns a lock; whoever sleeps before a step that does so wakes up.
    Holds {
        lock: u32,
        object: u64,
        hold: Hold,
    },
    /// It ends the process, with this code; others go on.
    Leaves {
        code: i32,
    },
}

/// How a thread ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) way: u32,
    /// What it returned.
    pub(super) result: u64,
    /// It has stored where nobody is told.
    pub(super) leaves_behind: bool,
}

/// What was found cannot be explained by what is looked at here.
#[derive(Debug)]
pub(super) struct Inexplicable;

/// Why nothing is known of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NotLearned {
    Inexplicable,
    /// What more bytes hold must be kept: all begins anew.
    Unsettled,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) places: Vec<Place>,
    pub(super) ways: Vec<Way>,
    /// From a place, or a look behind it, by what was found there: a way, or the next look.
    found: FxHashMap<(u32, u64), u32>,
    looks: Vec<Span>,
    pub(super) bytes: Vec<u8>,
    pub(super) deeds: Vec<Deed>,
    /// What threads returned that have left nothing else behind.
    returned: FxHashMap<u64, u64>,
    /// What memory holds when a thread is alone again, and what it learned from the thread that it joined last.
    states: FxHashMap<Vec<u8>, u64>,
    state: Vec<u8>,
    pub(super) memory: SteppedMemory,
    plain: PlainUses,
    locks: FxHashMap<u64, u32>,
    reading: Reading,
}

/// A trace that is being learned.
#[derive(Clone, Debug, Default)]
struct Reading {
    /// Per thread: the way that it is on, or came to an end on; [`NONE`] before its first.
    on: Vec<u32>,
    /// Per thread: the deed by which it was created, which says where it begins.
    born: Vec<u32>,
    /// Per thread: the place at which it ended.
    exits: Vec<u32>,
    /// Per thread: it has stored through its buffer since it last waited for that.
    unfenced: u64,
    /// It has stored where nobody is told.
    leaves_behind: u64,
    /// Created and not joined, a bit each; and whether main was alone again.
    beside: u64,
    alone: bool,
    /// How main, or another one, has ended the process.
    code: Option<i32>,
    running: usize,
    /// The place that the running thread left, what it found there, once that is known, and whether its access is over.
    left: u32,
    found: Option<u64>,
    accessed: bool,
    /// It has stored where nobody is told, since; and what it looked at.
    stores: bool,
    looks: Looks,
    /// Of some bytes it is not kept what they hold, and should be.
    unsettled: bool,
    replaced: u32,
    bytes: Vec<u8>,
    deeds: Vec<Deed>,
    /// Ways and commits, in the order of their records.
    went: Vec<Went>,
    /// Per thread: stores that wait, by their deeds.
    entered: Vec<VecDeque<u32>>,
    holders: LockHolders,
}

/// What a record of a step begins; the first of all is before any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Went {
    Way(u32),
    /// Of the store that is that deed.
    Commit(u32),
}

fn word(record: &Traced<'_>, number: usize) -> u64 {
    let bytes = record.payload.get(8 * number..8 * number + 8);
    bytes.map_or(0, |bytes| {
        u64::from_le_bytes(bytes.try_into().unwrap_or_default())
    })
}

/// Steps that wait for the thread's own stores.
pub(super) fn drains(kind: u8) -> bool {
    !matches!(
        kind,
        step::BEGIN | step::JOIN | step::YIELD | step::READ | step::WRITE
    )
}

impl Known {
    /// The way on from a place for who found this there, and then what memory holds.
    pub(super) fn way(
        &mut self,
        from: u32,
        found: u64,
        holds: impl Fn(Span) -> Option<u64>,
    ) -> Option<u32> {
        let latest = self.places[from as usize].latest;
        if let Some(way) = self.ways.get(latest as usize)
            && way.found == found
            && !way.looks
        {
            return Some(latest);
        }
        let mut next = self.found.get(&(from, found)).copied()?;
        while next & LOOK != 0 {
            let value = holds(self.looks[(next & !LOOK) as usize])?;
            next = self.found.get(&(next, value)).copied()?;
        }
        self.places[from as usize].latest = next;
        Some(next)
    }

    /// The same for who found there what a run says: as far as it is known, and where it goes on from there.
    fn way_of(&mut self, from: u32, found: u64, looks: &Looks) -> Result<(u32, u64), Inexplicable> {
        let mut at = (from, found);
        for &(span, value) in &looks.all {
            let next = LOOK | self.looks.len() as u32;
            let look = *self.found.entry(at).or_insert(next);
            if look == next {
                self.looks.push(span);
            }
            // Who found the same so far looks at the same.
            match look & LOOK != 0 && self.looks[(look & !LOOK) as usize] == span {
                true => at = (look, value),
                false => return Err(Inexplicable),
            }
        }
        Ok(at)
    }

    /// Nothing is known any more but of which bytes it must be.
    pub(super) fn start_over(&mut self) {
        *self = Known {
            plain: std::mem::take(&mut self.plain),
            ..Known::default()
        };
    }

    /// What it comes to to join a thread that ended like this. Who is alone then may look at all of memory.
    /// `None` if there is no more room for that.
    pub(super) fn joined(&mut self, ended: Ended, alone: bool) -> Option<u64> {
        // Numbers that are not to be taken for each other, nor for a way.
        const RETURNED: u64 = 1 << 32;
        const ALONE: u64 = 2 << 32;
        let learned = match ended.leaves_behind {
            true => ended.way.into(),
            false => {
                let next = RETURNED + self.returned.len() as u64;
                *self.returned.entry(ended.result).or_insert(next)
            }
        };
        if !alone {
            return Some(learned);
        }
        let mut state = std::mem::take(&mut self.state);
        state.clear();
        state.extend_from_slice(&learned.to_le_bytes());
        self.memory.all(&mut state);
        let next = ALONE + self.states.len() as u64;
        let mut number = self.states.get(&state).copied();
        if number.is_none() && self.states.len() * state.len() < MOST_STATES {
            self.states.insert(state.clone(), next);
            number = Some(next);
        }
        self.state = state;
        number
    }

    /// The ways and commits of the run that was learned last, in the order of their records.
    pub(super) fn went(&self) -> &[Went] {
        &self.reading.went
    }

    /// The last run was not learned from.
    pub(super) fn learns_nothing(&mut self) {
        self.reading.went.clear();
    }

    /// Takes in the trace of a run that ended by itself, with this code.
    pub(super) fn learn(
        &mut self,
        trace: &[u8],
        buffered: bool,
        code: i32,
    ) -> Result<(), NotLearned> {
        if self.bytes.len() > MOST_BYTES {
            self.learns_nothing();
            return Ok(());
        }
        let mut reading = std::mem::take(&mut self.reading);
        let learned = self.read(trace, buffered, &mut reading);
        let (ended, unsettled) = (reading.code == Some(code), reading.unsettled);
        self.reading = reading;
        match (learned, unsettled) {
            (Ok(()), false) if ended => Ok(()),
            (_, true) => Err(NotLearned::Unsettled),
            _ => Err(NotLearned::Inexplicable),
        }
    }

    fn read(
        &mut self,
        trace: &[u8],
        buffered: bool,
        reading: &mut Reading,
    ) -> Result<(), Inexplicable> {
        reading.begin();
        self.memory.begin(FEW_THREADS);
        if self.places.is_empty() {
            // Where main begins.
            self.place(step::BEGIN, false, [0; 3], (None, NONE));
        }
        reading.leave(0, 0);
        reading.found = Some(0);
        let mut at = 0;
        let mut records = Records::new(trace);
        while let Some(record) = records.next() {
            let record = record.map_err(|_| Inexplicable)?;
            let bytes = &trace[at..records.position()];
            at = records.position();
            self.record(&record, bytes, buffered, reading)?;
        }
        self.arrive(reading)
    }

    fn record(
        &mut self,
        record: &Traced<'_>,
        bytes: &[u8],
        buffered: bool,
        reading: &mut Reading,
    ) -> Result<(), Inexplicable> {
        let thread = usize::from(record.thread % COMPANIONS);
        if thread >= FEW_THREADS {
            return Err(Inexplicable);
        }
        match record.kind {
            RecordKind::Step if record.thread >= COMPANIONS => {
                self.arrive(reading)?;
                // The next record says what was stored.
                (reading.running, reading.left) = (thread, NONE);
                let store = reading.entered[thread].pop_front();
                reading.went.push(Went::Commit(store.unwrap_or(NONE)));
                match record.flags == step::COMMIT && record.value == 0 {
                    true => Ok(()),
                    false => Err(Inexplicable),
                }
            }
            RecordKind::Step => {
                self.arrive(reading)?;
                self.step(thread, record, bytes, reading)
            }
            _ if reading.left == NONE => self.commit(thread, record, reading),
            // Of the thread that is created.
            RecordKind::Started
                if reading.running == 0 && !reading.alone && reading.born[thread] == NONE =>
            {
                reading.keep(bytes);
                reading.beside |= 1 << thread;
                reading.deeds.push(Deed::Creates {
                    thread: thread as u8,
                    begins: NONE,
                });
                Ok(())
            }
            // Of who returned something; of a locked instruction, which concerns persistent memory only.
            RecordKind::Identity | RecordKind::Mfence => {
                reading.keep(bytes);
                Ok(())
            }
            _ if thread != reading.running => Err(Inexplicable),
            RecordKind::Access => self.access(record, bytes, buffered, reading),
            RecordKind::Ended if record.value as u32 == End::Exited as u32 => {
                // Whoever is last ends the process for all; of several, the first failure counts.
                let exits = self.places[reading.left as usize].kind == step::EXIT;
                let code = (record.value >> 32) as i32;
                if exits || reading.code.replace(code).is_some() {
                    return Err(Inexplicable);
                }
                reading.keep(bytes);
                reading.deeds.push(Deed::Leaves { code });
                Ok(())
            }
            _ => Err(Inexplicable),
        }
    }

    /// A thread takes the step that it stands before.
    fn step(
        &mut self,
        thread: usize,
        record: &Traced<'_>,
        bytes: &[u8],
        reading: &mut Reading,
    ) -> Result<(), Inexplicable> {
        let kind = record.flags;
        let accesses = matches!(kind, step::READ | step::WRITE | step::UPDATE);
        let others = matches!(
            kind,
            step::BEGIN | step::CREATE | step::EXIT | step::JOIN | step::YIELD | step::FENCE
        );
        let locks = matches!(kind, step::LOCK | step::TRY_LOCK | step::UNLOCK);
        if !accesses && !others && !locks {
            return Err(Inexplicable);
        }
        let mut words = [0; 3];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
        let span = match accesses {
            true => Some(self.memory.span(record.value).ok_or(Inexplicable)?),
            false => None,
        };
        let next = self.locks.len() as u32;
        let lock = match locks {
            true => *self.locks.entry(record.value).or_insert(next),
            false => NONE,
        };
        let chosen = record.is_choice();
        let (on, born) = (reading.on[thread], reading.born[thread]);
        let before = match (on, self.deeds.get(born as usize)) {
            (NONE, Some(&Deed::Creates { begins, .. })) => begins,
            (NONE, _) => return Err(Inexplicable),
            (way, _) => self.ways[way as usize].to,
        };
        let place = match before {
            NONE => {
                let place = self.place(kind, chosen, words, (span, lock));
                match (on, self.deeds.get_mut(born as usize)) {
                    (NONE, Some(Deed::Creates { begins, .. })) => *begins = place,
                    (NONE, _) => {}
                    (way, _) => self.ways[way as usize].to = place,
                }
                place
            }
            known => {
                let place = &self.places[known as usize];
                if (place.record, place.chosen) != (words, chosen) {
                    return Err(Inexplicable);
                }
                known
            }
        };
        reading.leave(thread, place);
        if kind == step::EXIT {
            reading.exits[thread] = place;
        }
        if drains(kind) {
            reading.unfenced &= !(1 << thread);
        }
        if kind == step::JOIN {
            let other = record.value as usize;
            let way = reading.on.get(other).copied().unwrap_or(NONE);
            let exit = reading.exits.get(other).copied().unwrap_or(NONE);
            if way == NONE || exit == NONE || thread != 0 {
                return Err(Inexplicable);
            }
            reading.beside &= !(1 << other);
            reading.alone = reading.beside == 0;
            let ended = Ended {
                way,
                result: self.places[exit as usize].record[2],
                leaves_behind: reading.leaves_behind >> other & 1 != 0,
            };
            let found = self.joined(ended, reading.alone);
            reading.found = Some(found.ok_or(Inexplicable)?);
        } else if kind == step::TRY_LOCK {
            reading.found = Some(reading.holders.of(lock).into());
        } else if !matches!(kind, step::READ | step::UPDATE) {
            reading.found = Some(0);
        }
        Ok(())
    }

    /// What a thread put into its buffer reaches memory.
    fn commit(
        &mut self,
        thread: usize,
        record: &Traced<'_>,
        reading: &mut Reading,
    ) -> Result<(), Inexplicable> {
        if record.kind != RecordKind::Access || thread != reading.running {
            return Err(Inexplicable);
        }
        let store = self.memory.leaves(thread).ok_or(Inexplicable)?;
        if (store.object, store.value) != (record.value, word(record, 1)) {
            return Err(Inexplicable);
        }
        self.finds(None, store.span, word(record, 0))?;
        self.memory.store(store.span, store.value);
        Ok(())
    }

    fn finds(&mut self, thread: Option<usize>, span: Span, found: u64) -> Result<(), Inexplicable> {
        let found = self.memory.found(thread, span, found);
        found.map_err(|_: Contradiction| Inexplicable)
    }

    fn access(
        &mut self,
        record: &Traced<'_>,
        bytes: &[u8],
        buffered: bool,
        reading: &mut Reading,
    ) -> Result<(), Inexplicable> {
        let thread = reading.running;
        let (object, flags) = (record.value, record.flags);
        // Behind the three words that all of them have.
        let replaced = reading.bytes.len() as u32 + 24;
        reading.keep(bytes);
        if object == 0 && flags & !access::ORDERING == 0 {
            // A fence of the source.
            return Ok(());
        }
        if object == UNJUDGED {
            return Ok(());
        }
        if object == UNSAID {
            reading.looks.stores_unsaid = true;
            return Ok(());
        }
        let is_plain_store =
            flags & (access::READ | access::WRITE | access::LOCKED) == access::WRITE;
        if object & LOCK != 0 {
            return self.hold((object, flags, word(record, 0)), reading);
        }
        if flags & access::BUFFERED != 0 {
            let span = self.memory.span(object).ok_or(Inexplicable)?;
            // Others wait for nothing that is no step, or leave out of order.
            if !is_plain_store || word(record, 0) != 0 {
                return Err(Inexplicable);
            }
            reading.unfenced |= 1 << thread;
            let store = Waiting {
                span,
                value: word(record, 1),
                object,
                origin: u64::from(record.origin.site) | u64::from(record.origin.caller) << 32,
                deed: NONE,
            };
            self.memory.push(thread, store);
            reading.looks.stores(span);
            reading.deeds.push(Deed::Buffers(store));
            reading.unsettled |= !self.plain.is_stepped(object, true);
            return Ok(());
        }
        let writes = flags & access::WRITE != 0;
        reading.deeds.push(Deed::Touches {
            address: object & ((1 << 56) - 1),
            length: object >> 56,
            writes,
        });
        let place = self.places[reading.left as usize];
        let (Some(span), false) = (place.span, reading.accessed) else {
            // Whether a store that is no step waits in the buffer depends on what is there.
            if buffered && writes && reading.unfenced >> thread & 1 != 0 {
                return Err(Inexplicable);
            }
            if self.plain.is_told(object) {
                return self.told(record, reading);
            }
            reading.stores |= writes;
            let settled = self
                .plain
                .is_settled(thread, object, writes, reading.beside);
            reading.unsettled |= !settled;
            return Ok(());
        };
        reading.accessed = true;
        if object != place.record[2] {
            return Err(Inexplicable);
        }
        reading.unsettled |= !self.plain.is_stepped(object, writes);
        match writes {
            true => reading.looks.stores(span),
            false => reading.looks.knows(span),
        }
        let found = word(record, 0);
        match place.kind {
            step::READ => {
                self.finds(Some(thread), span, found)?;
                reading.found = Some(found);
            }
            step::UPDATE => {
                self.finds(None, span, found)?;
                reading.found = Some(found);
            }
            _ => {
                self.finds(None, span, found)?;
                reading.replaced = replaced;
            }
        }
        if writes {
            let value = word(record, 1);
            self.memory.store(span, value);
            reading.deeds.push(Deed::Stores { span, value });
        }
        Ok(())
    }

    /// An access that is no step, of bytes of which it is kept what they hold.
    fn told(&mut self, record: &Traced<'_>, reading: &mut Reading) -> Result<(), Inexplicable> {
        let thread = reading.running;
        let span = self.memory.span(record.value).ok_or(Inexplicable)?;
        let (found, left) = (word(record, 0), word(record, 1));
        self.finds(Some(thread), span, found)?;
        reading.looks.finds(span, found);
        if record.flags & access::WRITE != 0 {
            reading.looks.stores(span);
            reading.looks.stores = true;
            self.memory.store(span, left);
            reading.deeds.push(Deed::Stores { span, value: left });
        }
        Ok(())
    }

    /// Something about a lock, or the section that it is taken for.
    fn hold(&mut self, said: (u64, u8, u64), reading: &mut Reading) -> Result<(), Inexplicable> {
        let place = self.places[reading.left as usize];
        let AboutLock::Does(hold) = holders::about((place.kind, place.record[2]), said)? else {
            return Ok(());
        };
        let (thread, lock, object) = (reading.running, place.lock, said.0);
        let left = reading.holders.changes(thread, lock, hold);
        reading.holders.set(lock, left.ok_or(Inexplicable)?);
        reading.deeds.push(Deed::Holds { lock, object, hold });
        Ok(())
    }

    /// The running thread has come to its next place, or its end.
    fn arrive(&mut self, reading: &mut Reading) -> Result<(), Inexplicable> {
        let Some(found) = reading.found.take().filter(|_| reading.left != NONE) else {
            return Ok(());
        };
        if reading.looks.stores && reading.looks.stores_unsaid {
            return Err(Inexplicable);
        }
        let key = self.way_of(reading.left, found, &reading.looks)?;
        let way = match self.found.get(&key) {
            Some(&look) if look & LOOK != 0 => return Err(Inexplicable),
            Some(&way) => way,
            None => {
                let (bytes, deeds) = (self.bytes.len() as u32, self.deeds.len() as u32);
                self.bytes.extend_from_slice(&reading.bytes);
                self.deeds.extend_from_slice(&reading.deeds);
                self.ways.push(Way {
                    from: reading.left,
                    found,
                    looks: !reading.looks.all.is_empty(),
                    to: NONE,
                    bytes: (bytes, self.bytes.len() as u32),
                    deeds: (deeds, self.deeds.len() as u32),
                    replaced: reading.replaced,
                    leaves_behind: reading.stores,
                });
                let way = self.ways.len() as u32 - 1;
                self.found.insert(key, way);
                way
            }
        };
        reading.on[reading.running] = way;
        reading.leaves_behind |= u64::from(reading.stores) << reading.running;
        reading.went.push(Went::Way(way));
        let deeds = self.ways[way as usize].deeds;
        for number in deeds.0..deeds.1 {
            match self.deeds[number as usize] {
                Deed::Creates { thread, .. } => reading.born[usize::from(thread)] = number,
                Deed::Buffers(_) => reading.entered[reading.running].push_back(number),
                _ => {}
            }
        }
        reading.left = NONE;
        Ok(())
    }

    fn place(
        &mut self,
        kind: u8,
        chosen: bool,
        record: [u64; 3],
        (span, lock): (Option<Span>, u32),
    ) -> u32 {
        self.places.push(Place {
            kind,
            chosen,
            record,
            span,
            lock,
            latest: NONE,
        });
        self.places.len() as u32 - 1
    }
}

impl Reading {
    fn begin(&mut self) {
        for each in [&mut self.on, &mut self.born, &mut self.exits] {
            each.clear();
            each.resize(FEW_THREADS, NONE);
        }
        (self.unfenced, self.leaves_behind) = (0, 0);
        (self.beside, self.alone, self.code) = (0, false, None);
        self.holders.begin();
        self.unsettled = false;
        self.went.clear();
        self.entered.resize_with(FEW_THREADS, VecDeque::new);
        self.entered.iter_mut().for_each(VecDeque::clear);
    }

    /// A thread takes the step that it stands before.
    fn leave(&mut self, thread: usize, place: u32) {
        (self.running, self.left) = (thread, place);
        (self.found, self.accessed, self.replaced) = (None, false, NONE);
        self.stores = false;
        self.looks.begin();
        self.bytes.clear();
        self.deeds.clear();
    }

    /// It writes a record.
    fn keep(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}
