//! Random programs, small enough for brute force.

use super::program::{
    At, Flush, Handle, How, LINE, Language, Phase, Program, REGISTERS, Source, Space, Stmt, Update,
    Value, Writer,
};

/// Numbers that look random and follow from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// splitmix64
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }
}

/// Handles are alone in these bytes of each persistent line.
const HANDLE_AT: usize = 48;

/// Who else runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Alone,
    /// Accesses of others may come in between: no loads of several words, nothing that reads and writes many bytes.
    Others,
}

struct Drawing {
    dice: Dice,
    /// Words that statements like to meet at.
    spots: Vec<At>,
    persistent_lines: usize,
    handles: bool,
    streams: bool,
    locks: bool,
    threaded_recoveries: bool,
}

/// The program of a seed.
pub(crate) fn draw(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let threads = dice.of(&[0, 0, 0, 1, 1, 1, 2, 2, 3]);
    let language = match dice.chance(25) {
        true => Language::Cpp,
        false => Language::C,
    };
    let source = match dice.below(10) {
        0 => Source::Constructor,
        1 => Source::Pool,
        _ => Source::Region,
    };
    let persistent_lines = dice.between(1, 3);
    let volatile_lines = dice.below(3);
    let mut spots = Vec::new();
    for _ in 0..dice.between(2, 5) {
        let volatile = volatile_lines > 0 && dice.chance(30);
        let (space, lines) = match volatile {
            true => (Space::Volatile, volatile_lines),
            false => (Space::Persistent, persistent_lines),
        };
        let word = dice.of(&[0, 0, 1, 2, 5, 7]);
        let offset = dice.below(lines) * LINE + 8 * word;
        spots.push(At { space, offset });
    }
    let mut drawing = Drawing {
        spots,
        persistent_lines,
        handles: dice.chance(20),
        streams: dice.chance(35),
        locks: threads > 0 && dice.chance(25),
        threaded_recoveries: dice.chance(6),
        dice,
    };
    let first = match drawing.dice.chance(4) {
        true => Phase::default(),
        false => drawing.first(threads),
    };
    let mut phases = vec![first];
    for _ in 0..drawing.dice.between(1, 2) {
        phases.push(drawing.recovery());
    }
    let constructor = match drawing.dice.chance(8) {
        true => drawing.constructor(source),
        false => Vec::new(),
    };
    Program {
        language,
        source,
        persistent_lines,
        volatile_lines,
        constructor,
        phases,
    }
}

impl Drawing {
    fn first(&mut self, threads: usize) -> Phase {
        if threads == 0 {
            let length = self.dice.between(2, 8);
            let before = self.list(length, Company::Alone, 0);
            return Phase {
                before,
                ..Phase::default()
            };
        }
        let (least, most) = [(2, 5), (2, 4), (1, 2)][threads - 1];
        let mut lists = Vec::new();
        for _ in 0..threads {
            let length = self.dice.between(least, most);
            lists.push(self.list(length, Company::Others, 0));
        }
        let (before, after) = (self.dice.below(3), self.dice.below(3));
        let meanwhile = self.dice.below([5, 3, 2][threads - 1]);
        Phase {
            before: self.list(before, Company::Alone, 0),
            threads: lists,
            meanwhile: self.list(meanwhile, Company::Others, 0),
            after: self.list(after, Company::Alone, 0),
        }
    }

    /// Reads, writes a little, reads.
    fn recovery(&mut self) -> Phase {
        let mut before = Vec::new();
        for _ in 0..self.dice.between(1, 3) {
            before.push(self.load(Company::Alone, true));
        }
        if self.dice.chance(50) {
            let length = self.dice.between(1, 4);
            before.extend(self.list(length, Company::Alone, 0));
        }
        if self.dice.chance(40) {
            before.push(self.load(Company::Alone, true));
        }
        if !self.threaded_recoveries {
            return Phase {
                before,
                ..Phase::default()
            };
        }
        before.truncate(2);
        let (one, meanwhile) = (self.dice.between(1, 2), self.dice.below(3));
        Phase {
            before,
            threads: vec![self.list(one, Company::Others, 1)],
            meanwhile: self.list(meanwhile, Company::Others, 1),
            after: vec![self.load(Company::Alone, true)],
        }
    }

    /// Registers are no use there, nor is persistent memory that main asks for.
    fn constructor(&mut self, source: Source) -> Vec<Stmt> {
        let length = self.dice.between(1, 3);
        let list = self.list(length, Company::Alone, 1);
        let fits = |stmt: &Stmt| {
            let (at, value) = match *stmt {
                Stmt::Store { at, value, .. } | Stmt::Stream { at, value, .. } => (at, value),
                Stmt::Fill { at, .. } | Stmt::Write { at, .. } | Stmt::Flush { at, .. } => {
                    (at, Value::Const(0))
                }
                Stmt::Sfence | Stmt::Mfence | Stmt::FenceSeqCst => return true,
                _ => return false,
            };
            let has_memory = at.space == Space::Volatile || source == Source::Constructor;
            has_memory && matches!(value, Value::Const(_))
        };
        list.into_iter().filter(fits).collect()
    }

    fn list(&mut self, length: usize, company: Company, depth: usize) -> Vec<Stmt> {
        (0..length).map(|_| self.stmt(company, depth)).collect()
    }

    fn stmt(&mut self, company: Company, depth: usize) -> Stmt {
        match self.dice.below(100) {
            0..30 => self.store(),
            30..42 => self.load(company, false),
            42..50 => self.update(),
            50..60 => Stmt::Flush {
                with: self
                    .dice
                    .of(&[Flush::Clflush, Flush::Clflushopt, Flush::Clwb]),
                at: self.near(),
            },
            60..63 => {
                let (at, length) = self.persistent_range();
                match self.dice.chance(50) {
                    true => Stmt::FlushRange { at, length },
                    false => Stmt::PersistRange { at, length },
                }
            }
            63..68 => Stmt::Sfence,
            68..72 => self.fence(),
            72..75 => Stmt::LocalUpdate {
                size: self.dice.of(&[1, 2, 4, 8]),
            },
            75..82 if self.streams => self.stream(),
            82..89 => self.many(company),
            89..91 if self.handles => self.handle(),
            91..96 if depth == 0 => self.condition(company),
            96.. if depth == 0 && self.locks && company == Company::Others => {
                let length = self.dice.between(1, 2);
                Stmt::Locked(self.list(length, company, 1))
            }
            _ => self.store(),
        }
    }

    fn fence(&mut self) -> Stmt {
        match self.dice.below(3) {
            0 => Stmt::Mfence,
            1 => Stmt::FenceSeqCst,
            _ => Stmt::FenceWeak,
        }
    }

    fn spot(&mut self) -> At {
        self.dice.of(&self.spots.clone())
    }

    fn bytes(&self, space: Space) -> usize {
        let of = |at: &At| match at.space == space {
            true => (at.offset / LINE + 1) * LINE,
            false => 0,
        };
        match space {
            Space::Persistent => self.persistent_lines * LINE,
            Space::Volatile => self.spots.iter().map(of).max().unwrap_or(0),
        }
    }

    /// Somewhere on the line of a spot.
    fn near(&mut self) -> At {
        let at = self.spot();
        At {
            offset: at.offset - at.offset % 8 + self.dice.below(8),
            ..at
        }
    }

    /// An aligned place at a spot.
    fn aligned(&mut self, size: usize) -> At {
        let at = self.spot();
        let places = 8 / size.min(8);
        let offset = match size {
            16 => at.offset / 16 * 16,
            _ => at.offset + size * self.dice.below(places),
        };
        At { offset, ..at }
    }

    /// Bytes at a spot, perhaps across words and lines, but not over handles.
    fn loose(&mut self, size: usize) -> Option<At> {
        let at = self.spot();
        let offset = (at.offset + self.dice.below(16)).checked_sub(4)?;
        self.free(At { offset, ..at }, size)
    }

    /// Inside of memory and apart from handles?
    fn free(&self, at: At, size: usize) -> Option<At> {
        let end = at.offset + size;
        let handles = |line: usize| (line * LINE + HANDLE_AT, line * LINE + HANDLE_AT + 8);
        let meets = |line: usize| {
            let (from, to) = handles(line);
            at.space == Space::Persistent && at.offset < to && from < end
        };
        let lines = at.offset / LINE..=(end - 1) / LINE;
        (end <= self.bytes(at.space) && !lines.into_iter().any(meets)).then_some(at)
    }

    fn value(&mut self, size: usize) -> Value {
        match self.dice.below(10) {
            0 => Value::Plus(self.register(), self.dice.below(2) as u64),
            _ => Value::Const(pattern(self.dice.between(1, 5), size)),
        }
    }

    fn register(&mut self) -> u8 {
        self.dice.below(REGISTERS) as u8
    }

    fn store(&mut self) -> Stmt {
        let size = self.dice.of(&[1, 2, 4, 8, 8, 8, 8, 16]);
        let value = self.value(size);
        let plain = self.dice.of(&[How::Plain, How::Volatile]);
        if let (true, Some(at)) = (self.dice.chance(20), self.loose(size)) {
            let how = if size == 16 { How::Plain } else { plain };
            return Stmt::Store {
                at,
                size,
                value,
                how,
            };
        }
        if size == 16 {
            let at = self.aligned(16);
            if self.free(at, 16).is_some() {
                return Stmt::Store {
                    at,
                    size,
                    value,
                    how: How::Plain,
                };
            }
        }
        let size = size.min(8);
        let how = self
            .dice
            .of(&[plain, plain, How::Relaxed, How::Ordered, How::SeqCst]);
        Stmt::Store {
            at: self.aligned(size),
            size,
            value,
            how,
        }
    }

    fn load(&mut self, company: Company, recovery: bool) -> Stmt {
        let register = self.register();
        let size = self.dice.of(&[1, 2, 4, 8, 8, 8]);
        let how = self.dice.of(&[
            How::Plain,
            How::Volatile,
            How::Relaxed,
            How::Ordered,
            How::SeqCst,
        ]);
        if recovery && self.handles && self.dice.chance(25) {
            let at = At {
                space: Space::Persistent,
                offset: self.dice.below(self.persistent_lines) * LINE + HANDLE_AT,
            };
            return Stmt::LoadHandle { register, at };
        }
        if company == Company::Alone && self.dice.chance(20) {
            let size = self.dice.of(&[2, 4, 8, 16]);
            if let Some(at) = self.loose(size) {
                return Stmt::Load {
                    register,
                    at,
                    size,
                    how: How::Plain,
                };
            }
        }
        Stmt::Load {
            register,
            at: self.aligned(size),
            size,
            how,
        }
    }

    fn update(&mut self) -> Stmt {
        let register = self.register();
        let size = self.dice.of(&[1, 2, 4, 8, 8, 8]);
        let at = self.aligned(size);
        let value = self.value(size);
        if self.dice.chance(40) {
            let expected = match self.dice.chance(50) {
                true => 0,
                false => pattern(self.dice.between(1, 5), size),
            };
            return Stmt::CompareAndSwap {
                register,
                at,
                size,
                expected,
                new: value,
            };
        }
        let with = self
            .dice
            .of(&[Update::Add, Update::Exchange, Update::Or, Update::Xor]);
        Stmt::Update {
            register,
            at,
            size,
            with,
            value,
        }
    }

    fn stream(&mut self) -> Stmt {
        let size = self.dice.of(&[4, 8, 8, 16]);
        let at = self.aligned(size);
        let value = self.value(size);
        match self.free(at, size) {
            Some(at) => Stmt::Stream { at, size, value },
            None => Stmt::Stream {
                at: self.aligned(8),
                size: 8,
                value,
            },
        }
    }

    fn persistent_range(&mut self) -> (At, usize) {
        let offset = self.dice.below(self.persistent_lines) * LINE + 8 * self.dice.below(8);
        let length = self
            .dice
            .of(&[1, 8, 24, 64])
            .min(self.persistent_lines * LINE - offset);
        (
            At {
                space: Space::Persistent,
                offset,
            },
            length,
        )
    }

    fn many(&mut self, company: Company) -> Stmt {
        let longest = if company == Company::Others { 12 } else { 20 };
        let length = self.dice.between(1, longest);
        let Some(at) = self.loose(length + 3) else {
            return self.store();
        };
        if company == Company::Alone
            && self.dice.chance(20)
            && let Some(from) = self.loose(length)
        {
            return Stmt::Move {
                to: at,
                from,
                length,
            };
        }
        if self.dice.chance(30) {
            return Stmt::Fill {
                at,
                length,
                byte: self.dice.between(0, 5) as u8,
            };
        }
        let with = self.dice.of(&[
            Writer::Memcpy,
            Writer::Memcpy,
            Writer::Memmove,
            Writer::Mempcpy,
            Writer::Strcpy,
            Writer::Strncpy,
            Writer::Struct,
        ]);
        let bytes = (0..length).map(|_| self.dice.of(b"abcde")).collect();
        Stmt::Write { at, bytes, with }
    }

    fn handle(&mut self) -> Stmt {
        let at = At {
            space: Space::Persistent,
            offset: self.dice.below(self.persistent_lines) * LINE + HANDLE_AT,
        };
        let what = self.dice.of(&[
            Handle::Thread,
            Handle::Pointer,
            Handle::Function,
            Handle::Descriptor,
        ]);
        Stmt::StoreHandle { at, what }
    }

    fn condition(&mut self, company: Company) -> Stmt {
        let register = self.register();
        let size = self.dice.of(&[1, 4, 8, 8]);
        let is = match self.dice.chance(60) {
            true => 0,
            false => pattern(self.dice.between(1, 5), size),
        };
        let (then, otherwise) = (self.dice.between(1, 2), self.dice.below(2));
        Stmt::If {
            register,
            is,
            then: self.list(then, company, 1),
            otherwise: self.list(otherwise, company, 1),
        }
    }
}

/// The same number in each byte.
fn pattern(number: usize, size: usize) -> u64 {
    let all = 0x0101_0101_0101_0101 * number as u64;
    all & u64::MAX >> (64 - 8 * size.min(8))
}
