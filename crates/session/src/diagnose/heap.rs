//! Misuses of the heap in words.

use crate::names::ProgramNames;
use landfall_finding::Place;
use landfall_native::compiler::is_ours;
use landfall_native::{HeapBlock, HeapError, Outcome};

/// What was done to which block.
pub(crate) fn describe(
    error: HeapError,
    address: u64,
    bytes: u64,
    block: Option<&HeapBlock>,
) -> String {
    let access = match bytes {
        1 => "1 byte".to_owned(),
        bytes => format!("{bytes} bytes"),
    };
    let freed = |verb: &str, block: &HeapBlock| {
        let offset = address.wrapping_sub(block.start);
        format!(
            "{verb} {access}, {offset} bytes into a block of {} that was freed",
            block.length
        )
    };
    let outside = |verb: &str, block: Option<&HeapBlock>| match block {
        Some(block) if address >= block.start => {
            let end = block.start + block.length;
            let length = block.length;
            match address.checked_sub(end) {
                Some(0) => format!("{verb} {access} right behind a block of {length} bytes"),
                Some(behind) => {
                    format!("{verb} {access}, {behind} bytes behind a block of {length} bytes")
                }
                None => format!(
                    "{verb} {access} at the end of a block of {length} bytes, {} too many",
                    (address + bytes).saturating_sub(end)
                ),
            }
        }
        Some(block) => format!(
            "{verb} {access}, {} bytes before a block of {} bytes",
            block.start - address,
            block.length
        ),
        None => format!("{verb} {access} of the heap that belong to no block"),
    };
    match (error, block) {
        (HeapError::ReadAfterFree, Some(block)) => freed("reads", block),
        (HeapError::WriteAfterFree, Some(block)) => freed("writes", block),
        (HeapError::ReadAfterFree, None) => format!("reads {access} that were freed"),
        (HeapError::WriteAfterFree, None) => format!("writes {access} that were freed"),
        (HeapError::DoubleFree, Some(block)) => {
            format!("frees a block of {} bytes a second time", block.length)
        }
        (HeapError::DoubleFree, None) => "frees a block a second time".to_owned(),
        (HeapError::InvalidFree, _) => format!("frees {address:#x}, which is no block of the heap"),
        (HeapError::LiveStack, _) => {
            format!(
                "takes away the stack of thread {bytes}, which has not ended and still runs on it"
            )
        }
        (HeapError::ReadOutside, block) => outside("reads", block),
        (HeapError::WriteOutside, block) => outside("writes", block),
    }
}

/// Who allocated and who freed it.
pub(crate) fn notes(outcome: &Outcome, names: &ProgramNames) -> Vec<String> {
    let Outcome::Heap {
        block: Some(block), ..
    } = outcome
    else {
        return Vec::new();
    };
    let told = [("allocated", &block.allocated), ("freed", &block.freed)];
    told.into_iter()
        .filter(|(_, stack)| !stack.is_empty())
        .filter_map(|(what, stack)| {
            let frames = names.frames(stack);
            let told = frames.iter().filter(|frame| !is_ours(&frame.file));
            let places: Vec<String> = told.take(4).map(in_function).collect();
            (!places.is_empty())
                .then(|| format!("the block was {what} at {}", places.join(", called at ")))
        })
        .collect()
}

fn in_function(place: &Place) -> String {
    match place.function.as_str() {
        "" => place.colons(),
        function => format!("{} in {function}", place.colons()),
    }
}
