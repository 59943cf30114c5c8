//! Memory that steps access, as far as it is known, and the store buffers in front of it.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

const LINE: usize = 64;

/// Bytes of one line that an access touches: at most eight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) line: u32,
    at: u8,
    length: u8,
}

impl Span {
    pub(super) fn mask(self) -> u64 {
        (u64::MAX >> (64 - u32::from(self.length))) << self.at
    }

    pub(super) fn length(self) -> usize {
        self.length.into()
    }

    /// Bytes of it that are next to each other and in a mask, and how far they are shifted in its value.
    pub(super) fn pieces(self, mask: u64) -> impl Iterator<Item = (Span, u32)> {
        let mut left = self.mask() & mask;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let at = left.trailing_zeros();
                let length = (left >> at).trailing_ones();
                let piece = Span {
                    at: at as u8,
                    length: length as u8,
                    ..self
                };
                left &= !piece.mask();
                (piece, 8 * (at - u32::from(self.at)))
            })
        })
    }

    fn bytes(self) -> std::ops::Range<usize> {
        let at = usize::from(self.at);
        at..at + usize::from(self.length)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LineBytes {
    bytes: [u8; LINE],
    known: u64,
}

/// A store on its way to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) span: Span,
    pub(super) value: u64,
    /// As the trace names them: the place, and who stored.
    pub(super) object: u64,
    pub(super) origin: u64,
    /// The deed that it is.
    pub(super) deed: u32,
}

/// Lines keep their numbers for the whole search. What they hold before any step is learned from what steps find.
#[derive(Clone, Debug, Default)]
pub(super) struct SteppedMemory {
    numbers: FxHashMap<u64, u32>,
    first: Vec<LineBytes>,
    now: Vec<LineBytes>,
    buffers: Vec<VecDeque<Waiting>>,
    /// Threads whose buffers hold something, a bit each.
    pub(super) waiting: u64,
}

/// A value that memory cannot have held: somebody else stored there.
#[derive(Debug)]
pub(super) struct Contradiction;

impl SteppedMemory {
    /// The bytes that the third word of an access names, if they are as few as a value has.
    pub(super) fn span(&mut self, object: u64) -> Option<Span> {
        let (address, length) = (object & ((1 << 56) - 1), (object >> 56) as usize);
        let at = address as usize % LINE;
        if !(1..=8).contains(&length) || at + length > LINE {
            return None;
        }
        let number = self.line(address - at as u64);
        Some(Span {
            line: number,
            at: at as u8,
            length: length as u8,
        })
    }

    fn line(&mut self, address: u64) -> u32 {
        *self.numbers.entry(address).or_insert_with(|| {
            let unknown = LineBytes {
                bytes: [0; LINE],
                known: 0,
            };
            self.first.push(unknown);
            self.now.push(unknown);
            self.first.len() as u32 - 1
        })
    }

    /// A new execution.
    pub(super) fn begin(&mut self, threads: usize) {
        self.now.clone_from(&self.first);
        self.buffers.resize_with(threads, VecDeque::new);
        self.buffers.iter_mut().for_each(VecDeque::clear);
        self.waiting = 0;
    }

    /// What everybody sees there, if it is known.
    pub(super) fn holds(&self, span: Span) -> Option<u64> {
        let line = &self.now[span.line as usize];
        let known = line.known & span.mask() == span.mask();
        known.then(|| value(&line.bytes[span.bytes()]))
    }

    /// What a thread sees there: its own stores that wait, over what everybody sees.
    pub(super) fn reads(&self, thread: usize, span: Span) -> Option<u64> {
        if self.waiting >> thread & 1 == 0 {
            return self.holds(span);
        }
        let mut line = self.now[span.line as usize];
        for store in &self.buffers[thread] {
            if store.span.line == span.line {
                line.store(store.span, store.value);
            }
        }
        let known = line.known & span.mask() == span.mask();
        known.then(|| value(&line.bytes[span.bytes()]))
    }

    pub(super) fn store(&mut self, span: Span, value: u64) {
        self.now[span.line as usize].store(span, value);
    }

    /// The line of these bytes, as it is.
    pub(super) fn line_of(&self, span: Span) -> LineBytes {
        self.now[span.line as usize]
    }

    /// It is as it was.
    pub(super) fn put_line(&mut self, line: u32, bytes: LineBytes) {
        self.now[line as usize] = bytes;
    }

    /// The newest store of a thread was not made.
    pub(super) fn take_newest(&mut self, thread: usize) {
        self.buffers[thread].pop_back();
        if self.buffers[thread].is_empty() {
            self.waiting &= !(1 << thread);
        }
    }

    /// The oldest store of a thread has not left its buffer.
    pub(super) fn put_oldest(&mut self, thread: usize, store: Waiting) {
        self.buffers[thread].push_front(store);
        self.waiting |= 1 << thread;
    }

    pub(super) fn push(&mut self, thread: usize, store: Waiting) {
        self.buffers[thread].push_back(store);
        self.waiting |= 1 << thread;
    }

    /// The oldest store of a thread, which leaves its buffer.
    pub(super) fn leaves(&mut self, thread: usize) -> Option<Waiting> {
        let oldest = self.buffers[thread].pop_front();
        if self.buffers[thread].is_empty() {
            self.waiting &= !(1 << thread);
        }
        oldest
    }

    /// A thread, or everybody, found this value there. Where nothing was known it was there from the beginning.
    pub(super) fn found(
        &mut self,
        thread: Option<usize>,
        span: Span,
        found: u64,
    ) -> Result<(), Contradiction> {
        let number = span.line as usize;
        let unknown = span.mask() & !self.now[number].known;
        if unknown != 0 {
            let bytes = found.to_le_bytes();
            for (at, byte) in span.bytes().zip(bytes) {
                if unknown >> at & 1 != 0 && !self.is_own(thread, span.line, at) {
                    for line in [&mut self.first[number], &mut self.now[number]] {
                        line.bytes[at] = byte;
                        line.known |= 1 << at;
                    }
                }
            }
        }
        let holds = match thread {
            Some(thread) => self.reads(thread, span),
            None => self.holds(span),
        };
        match holds == Some(found) {
            true => Ok(()),
            false => Err(Contradiction),
        }
    }

    /// Does a store of the thread to this byte wait?
    fn is_own(&self, thread: Option<usize>, line: u32, at: usize) -> bool {
        let stores = thread.into_iter().flat_map(|thread| &self.buffers[thread]);
        { stores }.any(|store| store.span.line == line && store.span.mask() >> at & 1 != 0)
    }

    /// All of it, as one piece.
    pub(super) fn all(&self, to: &mut Vec<u8>) {
        for line in &self.now {
            to.extend_from_slice(&line.bytes);
            to.extend_from_slice(&line.known.to_le_bytes());
        }
    }
}

impl LineBytes {
    fn store(&mut self, span: Span, value: u64) {
        let bytes = value.to_le_bytes();
        self.bytes[span.bytes()].copy_from_slice(&bytes[..usize::from(span.length)]);
        self.known |= span.mask();
    }
}

fn value(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
