//! Whole native programs and command lines, drawn at random, against brute force over the definition (MODEL.md): the same outcomes, after every
//! power failure and every schedule, and the same verdict. A difference is made small and written to a file.
//!
//! `NETS_SEED=7 NETS_PROGRAMS=500` tries others, and more; `make soak` for hours.

#[path = "nets/command.rs"]
mod command;
#[path = "nets/compare.rs"]
mod compare;
#[path = "nets/draw.rs"]
mod draw;
#[path = "nets/lower.rs"]
mod lower;
#[path = "nets/meaning.rs"]
mod meaning;
#[path = "nets/program.rs"]
mod program;
#[path = "nets/shrink.rs"]
mod shrink;
#[path = "nets/soak.rs"]
mod soak;
#[path = "nets/text.rs"]
mod text;

use soak::{Soak, number};

/// A modest number of them.
#[test]
fn random_programs_do_what_the_definition_allows() {
    let mut soak = Soak::new(number("NETS_SEED", 1), "nets-test");
    for _ in 0..number("NETS_PROGRAMS", 12) {
        soak.next();
    }
    assert!(soak.differences.is_empty(), "{soak}");
}

/// `make soak`: for `SOAK_MINUTES`, or `SOAK_PROGRAMS`; what was done is in `SOAK_DIR`, and the next soak goes on from there.
#[test]
#[ignore = "takes as long as one likes: `make soak`"]
fn soak() {
    let clean = soak::soak();
    assert!(clean, "differences: see the files");
}
