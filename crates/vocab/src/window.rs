//! The one address window that holds all persistent memory, so that "is it persistent?" is a subtract and a compare.

use core::ops::Range;

/// First address of the window.
pub const BASE: u64 = 0x1000_0000_0000;
/// Length of the window in bytes.
pub const LEN: u64 = 1 << 36;
/// The unit of write-back.
pub const LINE: u64 = 64;
/// The unit in which the runtime keeps shadow state.
pub const PAGE: u64 = 4096;

/// A part of the window with one purpose; offsets count from [`BASE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    pub start: u64,
    pub len: u64,
}

impl Area {
    pub const fn end(self) -> u64 {
        self.start + self.len
    }
    pub const fn contains(self, offset: u64) -> bool {
        offset.wrapping_sub(self.start) < self.len
    }
}

const GIB: u64 = 1 << 30;
/// `lf_pm`: the program's persistent region.
pub const REGION: Area = Area {
    start: 0,
    len: 16 * GIB,
};
/// `lf_alloc` and `lf_root`: the persistent heap, its metadata first.
pub const HEAP: Area = Area {
    start: 16 * GIB,
    len: 8 * GIB,
};
/// `malloc` under `--pm-heap`.
pub const MALLOC: Area = Area {
    start: 24 * GIB,
    len: 8 * GIB,
};
/// Where blocks of the persistent heap begin, and those of `malloc`: behind the words that say which are free. A multiple of a line.
pub const HEAP_BLOCKS: u64 = HEAP.start + 64 + 192 * 8 + 256 * 8;
pub const MALLOC_BLOCKS: u64 = MALLOC.start + 64 + 192 * 8;
/// What fresh blocks hold where that is garbage: as an address it is none.
pub const GARBAGE: u8 = 0xa5;
/// Where runs have what goes with them: the heap that is not persistent, stacks, and (wherever the kernel puts them) code and variables.
pub const VOLATILE_HEAP: Range<u64> = 0x2000_0000_0000..0x2100_0000_0000;
pub const VOLATILE_STACKS: Range<u64> = 0x2200_0000_0000..0x22c0_0000_0000;
pub const CODE: [Range<u64>; 2] = [
    0x5500_0000_0000..0x5700_0000_0000,
    0x7000_0000_0000..0x8000_0000_0000,
];
/// Where the runtime keeps pipes, sockets and the like: what threads that wait for one wait at.
pub const CHANNELS: Range<u64> = 0x3380_0000_0000..0x3382_0000_0000;
/// Mapped files, one slot of [`FILE_SLOT`] bytes each.
pub const FILES: Area = Area {
    start: 32 * GIB,
    len: 31 * GIB,
};
pub const FILE_SLOT: u64 = GIB;
pub const FILE_SLOTS: usize = 31;
/// What is durable the moment its call returns: the table of pool files, allocator state excluded from the model.
pub const META: Area = Area {
    start: 63 * GIB,
    len: GIB,
};

/// One entry of the file table at the start of [`META`]: state word, length word, then two places for the path,
/// zero-terminated, of which the generation says which one counts: so a rename is one word.
pub const FILE_ENTRY: u64 = 512;
pub const FILE_PATH_LEN: u64 = 248;
/// Entries of the table: those of files, whose slots have the same number, then those of directories.
pub const DIRECTORIES: usize = 32;
pub const FILE_ENTRIES: usize = 64;
/// Low two bits of an entry's state word; then come six bits of generation and a hash of the path, so that reading the word
/// is reading all three. Zero: never used.
pub const FILE_EXISTS: u64 = 1;
pub const FILE_REMOVED: u64 = 2;
pub const FILE_DIRECTORY: u64 = 3;
/// Generations count modulo this.
pub const GENERATIONS: u64 = 64;

/// The state word of a file, in its first generation.
pub fn file_state(path: &[u8], state: u64) -> u64 {
    crate::digest::of(path) << 8 | state
}

/// The generation in a state word.
pub const fn generation(state: u64) -> u64 {
    state >> 2 & (GENERATIONS - 1)
}

/// Where in an entry the path of a generation is.
pub const fn path_at(generation: u64) -> u64 {
    16 + generation % 2 * FILE_PATH_LEN
}

/// Where the allocator of `--pm-heap` keeps its words when its metadata is excluded from the model.
pub const MALLOC_META: Area = Area {
    start: 63 * GIB + (1 << 20),
    len: 1 << 20,
};

/// What the world outside was told: a word for each name, its digest with how often below it.
pub const ACKS: Area = Area {
    start: 63 * GIB + (2 << 20),
    len: 1 << 15,
};
pub const ACK_COUNT: u64 = 0xffff;

/// Offset of an address inside the window, or `None` outside it.
pub const fn offset_of(address: u64) -> Option<u64> {
    let offset = address.wrapping_sub(BASE);
    if offset < LEN { Some(offset) } else { None }
}
