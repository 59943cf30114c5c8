//! What the runtime inside a checked program and the checker outside it must agree on: where persistent memory lies,
//! how a trace is written, and how the memory they share is laid out. Plain numbers and layouts, no behaviour.
//!
//! Architecture invariant: no dependency, no `std`, no allocation, so that the runtime can be linked into any program.
#![no_std]

pub mod builtin;
pub mod client;
pub mod digest;
pub mod pattern;
pub mod record;
pub mod reply;
pub mod rewrite;
pub mod shared;
pub mod window;

/// Changes with every change of these files, so that it cannot be forgotten: a program built with another version is refused by name.
pub const VERSION: u32 = version(&[
    include_bytes!("builtin.rs"),
    include_bytes!("client.rs"),
    include_bytes!("pattern.rs"),
    include_bytes!("digest.rs"),
    include_bytes!("record.rs"),
    include_bytes!("reply.rs"),
    include_bytes!("rewrite.rs"),
    include_bytes!("shared.rs"),
    include_bytes!("window.rs"),
]);

const fn version(files: &[&[u8]]) -> u32 {
    let mut all = digest::NOTHING;
    let mut file = 0;
    while file < files.len() {
        let mut at = 0;
        while at < files[file].len() {
            all = digest::with(all, files[file][at] as u64);
            at += 1;
        }
        file += 1;
    }
    (all ^ all >> 32) as u32
}
