//! Accesses that are no steps. What a thread does does not depend on the schedule where they say the same whenever it comes there: nobody
//! else stores there meanwhile. Of other bytes it is kept what they hold, and what a thread finds there is looked up ([`super::looks`]).

use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PlainUse {
    thread: u8,
    mask: u64,
    writes: bool,
    /// Threads that it had created and not joined, a bit each: what others do comes before it, or after it.
    beside: u64,
}

impl PlainUse {
    /// Could the two come in either order, and does that matter?
    fn meets(&self, other: &PlainUse) -> bool {
        let ordered = |a: &PlainUse, b: &PlainUse| a.thread == 0 && a.beside >> b.thread & 1 == 0;
        self.thread != other.thread
            && self.mask & other.mask != 0
            && (self.writes || other.writes)
            && !ordered(self, other)
            && !ordered(other, self)
    }
}

#[derive(Clone, Debug, Default)]
struct LineUses {
    uses: Vec<PlainUse>,
    read: u64,
    written: u64,
    stepped: u64,
    stepped_written: u64,
    /// What they hold is kept, and who reads them finds that.
    told: u64,
}

impl LineUses {
    /// Bytes that are accessed by steps and by others, and written.
    fn mixed(&self) -> u64 {
        (self.written & self.stepped | self.read & self.stepped_written) & !self.told
    }
}

/// Each line that is accessed while there are several threads.
#[derive(Clone, Debug, Default)]
pub(super) struct PlainUses {
    lines: FxHashMap<u64, LineUses>,
}

/// Where a line begins, and which of its bytes these are: address and length in one word, as traces have them.
fn bytes_of(object: u64) -> (u64, u64) {
    const LINE: u64 = 64;
    let (address, length) = (object & ((1 << 56) - 1), object >> 56);
    let at = address % LINE;
    let mask = u64::MAX >> (LINE - length.clamp(1, LINE));
    (address - at, mask << at)
}

impl PlainUses {
    /// Is it kept what some of these bytes hold?
    pub(super) fn is_told(&self, object: u64) -> bool {
        let (line, mask) = bytes_of(object);
        { self.lines.get(&line) }.is_some_and(|line| line.told & mask != 0)
    }

    /// A thread accesses these bytes, which is no step; false if what it finds there may depend on the schedule. It has to be kept from then
    /// on what they hold.
    pub(super) fn is_settled(
        &mut self,
        thread: usize,
        object: u64,
        writes: bool,
        beside: u64,
    ) -> bool {
        let (line, mask) = bytes_of(object);
        let line = self.lines.entry(line).or_default();
        let this = PlainUse {
            thread: thread as u8,
            mask,
            writes,
            beside: if thread == 0 { beside } else { 0 },
        };
        if line.uses.contains(&this) {
            return true;
        }
        let met = { line.uses.iter() }.filter(|other| this.meets(other));
        let met = met.fold(0, |all, other| all | this.mask & other.mask);
        line.uses.push(this);
        match writes {
            true => line.written |= mask,
            false => line.read |= mask,
        }
        let unsettled = met & !line.told | line.mixed();
        line.told |= unsettled;
        unsettled == 0
    }

    /// A step does; false if others than steps do, too.
    pub(super) fn is_stepped(&mut self, object: u64, writes: bool) -> bool {
        let (line, mask) = bytes_of(object);
        let line = self.lines.entry(line).or_default();
        line.stepped |= mask;
        if writes {
            line.stepped_written |= mask;
        }
        let mixed = line.mixed();
        line.told |= mixed;
        mixed == 0
    }
}
