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
    let gone = |verb: &str, block: &HeapBlock| {
        let into = match address.wrapping_sub(block.start) {
            0 => String::new(),
            offset if offset < block.length => format!(", {offset} bytes into it"),
            _ => String::new(),
        };
        format!(
            "{verb} {access} of a local variable of thread {}{into}; its {}",
            block.thread(),
            match block.ended_with_block() {
                true => "block has ended",
                false => "function has returned",
            }
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
        (HeapError::ReadsDeadFrame, Some(block)) => gone("reads", block),
        (HeapError::WritesDeadFrame, Some(block)) => gone("writes", block),
        (HeapError::ReadsDeadFrame, None) => format!("reads {access} of a frame that is gone"),
        (HeapError::WritesDeadFrame, None) => format!("writes {access} of a frame that is gone"),
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
        block: Some(block),
        error,
        ..
    } = outcome
    else {
        return Vec::new();
    };
    if matches!(
        error,
        HeapError::ReadsDeadFrame | HeapError::WritesDeadFrame
    ) {
        let places = places(&block.freed, names);
        let thread = block.thread();
        let returned = |places| match block.ended_with_block() {
            true => format!("thread {thread} left the block at {places}"),
            false => format!("the function of thread {thread} returned at {places}"),
        };
        return places.map(returned).into_iter().collect();
    }
    let told = [("allocated", &block.allocated), ("freed", &block.freed)];
    told.into_iter()
        .filter_map(|(what, stack)| {
            let places = places(stack, names)?;
            Some(format!("the block was {what} at {places}"))
        })
        .collect()
}

/// A call stack in words.
fn places(stack: &[u64], names: &ProgramNames) -> Option<String> {
    let frames = names.frames(stack);
    let told = frames.iter().filter(|frame| !is_ours(&frame.file));
    let places: Vec<String> = told.take(4).map(in_function).collect();
    (!places.is_empty()).then(|| places.join(", called at "))
}

fn in_function(place: &Place) -> String {
    match place.function.as_str() {
        "" => place.colons(),
        function => format!("{} in {function}", place.colons()),
    }
}
