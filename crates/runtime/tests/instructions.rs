//! What single instructions do to memory: `instructions.table` says it, the decoder must agree. The runtime is a library of another
//! program, so its own tests are those of `native`; this file of it stands alone.

#[allow(unsafe_op_in_unsafe_fn, unreachable_pub)]
#[path = "../src/memory/instruction.rs"]
mod instruction;

use instruction::{Access, Text, decode};

fn describe(access: Access) -> String {
    if let Some(kind) = access.flush {
        return format!("{kind:?}");
    }
    if let Some(Text {
        each,
        copies,
        repeats,
        ..
    }) = access.string
    {
        let what = if copies { "copy" } else { "fill" };
        let often = if repeats { " repeated" } else { "" };
        return format!("string {what} {each}{often}");
    }
    let width = access
        .bytes
        .map_or("?".to_owned(), |bytes| bytes.to_string());
    let words = [
        (access.reads, "read"),
        (access.writes, "write"),
        (true, width.as_str()),
        (access.non_temporal, "past"),
        (access.locked, "locked"),
    ];
    let words = words
        .iter()
        .filter(|(said, _)| *said)
        .map(|(_, word)| *word);
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn instructions_say_what_they_touch() {
    let mut wrong = Vec::new();
    for line in include_str!("instructions.table").lines() {
        let mut parts = line.split('|').map(str::trim);
        let (Some(code), Some(expected), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let Ok(code) = code
            .split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16))
            .collect::<Result<Vec<_>, _>>()
        else {
            assert!(code.starts_with('#'), "{line}");
            continue;
        };
        let mut padded = [0x90; 16];
        padded[..code.len()].copy_from_slice(&code);
        // SAFETY: sixteen bytes hold every instruction there is.
        let access = unsafe { decode(padded.as_ptr()) };
        let length = access.string.map_or(code.len(), |string| string.length);
        if describe(access) != expected || length != code.len() {
            wrong.push(format!("{name}: {}, not {expected}", describe(access)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
