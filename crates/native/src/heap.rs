//! How a program misused its heap, as the runtime tells it.

use crate::execution::Outcome;
use landfall_vocab::shared::heap_error;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeapError {
    ReadAfterFree,
    WriteAfterFree,
    DoubleFree,
    InvalidFree,
    ReadOutside,
    WriteOutside,
    /// Takes the stack of a thread away that has not ended; `bytes` says which thread.
    LiveStack,
    /// A local variable of a function that has returned; its block says of which thread, and where.
    ReadsDeadFrame,
    WritesDeadFrame,
}

/// A block of the heap, and return addresses of whoever allocated and freed it, innermost first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeapBlock {
    pub start: u64,
    pub length: u64,
    pub allocated: Vec<u64>,
    pub freed: Vec<u64>,
}

impl HeapBlock {
    /// Of a local variable: the thread whose it was.
    pub fn thread(&self) -> u64 {
        self.allocated
            .first()
            .map_or(0, |&plus_one| plus_one.saturating_sub(1))
    }

    /// Of a local variable: had its block ended, and not its function?
    pub fn ended_with_block(&self) -> bool {
        self.allocated.get(1) == Some(&1)
    }
}

/// From the text of the report; whatever does not belong there is left out.
pub(crate) fn outcome(code: i32, address: u64, site: Option<u32>, text: &str) -> Outcome {
    let error = match code {
        heap_error::READ_AFTER_FREE => HeapError::ReadAfterFree,
        heap_error::WRITE_AFTER_FREE => HeapError::WriteAfterFree,
        heap_error::DOUBLE_FREE => HeapError::DoubleFree,
        heap_error::INVALID_FREE => HeapError::InvalidFree,
        heap_error::READ_OUTSIDE => HeapError::ReadOutside,
        heap_error::LIVE_STACK => HeapError::LiveStack,
        heap_error::READS_DEAD_FRAME => HeapError::ReadsDeadFrame,
        heap_error::WRITES_DEAD_FRAME => HeapError::WritesDeadFrame,
        _ => HeapError::WriteOutside,
    };
    let mut parts = text.split('\0').map(|part| {
        let words = part.split_whitespace();
        words
            .filter_map(|word| u64::from_str_radix(word, 16).ok())
            .collect::<Vec<u64>>()
    });
    let first = parts.next().unwrap_or_default();
    let mut frames = || -> Vec<u64> {
        let part = parts.next().unwrap_or_default();
        part.into_iter().take_while(|&frame| frame != 0).collect()
    };
    Outcome::Heap {
        error,
        address,
        site: site.filter(|&site| site != 0),
        bytes: first.first().copied().unwrap_or(0),
        block: match first[..] {
            [_, start, length] => Some(HeapBlock {
                start,
                length,
                allocated: frames(),
                freed: frames(),
            }),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        let Outcome::Heap {
            error,
            bytes,
            block,
            ..
        } = outcome(
            heap_error::READ_AFTER_FREE,
            0x30,
            None,
            "8 20 40\x004000 5000 0\x006000 0\x00",
        )
        else {
            panic!("about the heap")
        };
        let block = block.expect("a block");
        assert_eq!((error, bytes), (HeapError::ReadAfterFree, 8));
        assert_eq!((block.start, block.length), (0x20, 0x40));
        assert_eq!(
            (block.allocated, block.freed),
            (vec![0x4000, 0x5000], vec![0x6000])
        );
        for text in ["", "zz", "8 ", "8 1", "8 20 40\0"] {
            assert!(matches!(outcome(3, 0, None, text), Outcome::Heap { .. }));
        }
    }
}
