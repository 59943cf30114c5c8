//! Accesses that are no steps, and whose values nobody is told. What a thread does may depend on them only where they say the same
//! whenever the thread comes there: nobody else stores there meanwhile.

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
}

impl LineUses {
    /// Is every byte either accessed by steps, or by others, or never written?
    fn is_apart(&self) -> bool {
        self.written & self.stepped == 0 && self.read & self.stepped_written == 0
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
    /// A thread accesses these bytes, which is no step; false if what it finds there may depend on the schedule.
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
        let alone = !line.uses.iter().any(|other| this.meets(other));
        line.uses.push(this);
        match writes {
            true => line.written |= mask,
            false => line.read |= mask,
        }
        alone && line.is_apart()
    }

    /// A step does; false if others than steps do, too.
    pub(super) fn is_stepped(&mut self, object: u64, writes: bool) -> bool {
        let (line, mask) = bytes_of(object);
        let line = self.lines.entry(line).or_default();
        line.stepped |= mask;
        if writes {
            line.stepped_written |= mask;
        }
        line.is_apart()
    }
}
