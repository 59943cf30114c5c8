//! Reading inline assembly, without LLVM: what is understood is understood rightly, and nothing makes it panic.

// The modules are those of the pass; not all of them is used here.
#[allow(dead_code, unreachable_pub)]
#[path = "../src/asm"]
mod asm {
    pub(crate) mod constraints;
    pub(crate) mod meaning;
    pub(crate) mod operands;
    pub(crate) mod text;
}

use asm::constraints::Constraints;
use asm::meaning::meaning;
use asm::text::{Dialect, instructions};
use proptest::prelude::*;

fn meanings(text: &str, constraints: &str, dialect: Dialect) -> String {
    let constraints = Constraints::parse(constraints);
    let one = |instruction| match meaning(&instruction, &constraints) {
        Some(meaning) => format!("{meaning:?}"),
        None => "not understood".to_owned(),
    };
    instructions(text, dialect)
        .into_iter()
        .map(one)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Each paragraph of the table: the text, the constraints, the meanings.
#[test]
fn the_table_of_spellings() {
    let table = include_str!("asm.table");
    let mut paragraphs = 0;
    for paragraph in table
        .split("\n\n")
        .filter(|paragraph| !paragraph.trim_start().starts_with('#'))
    {
        let lines: Vec<&str> = paragraph.lines().collect();
        let [text, constraints, expected] = lines[..] else {
            panic!("not three lines:\n{paragraph}")
        };
        let (dialect, text) = match text.strip_prefix("intel: ") {
            Some(text) => (Dialect::Intel, text),
            None => (Dialect::Att, text),
        };
        let text = text.replace("\\n", "\n").replace("\\t", "\t");
        assert_eq!(meanings(&text, constraints, dialect), expected, "{text}");
        paragraphs += 1;
    }
    assert!(paragraphs > 30);
}

const PIECES: [&str; 44] = [
    "clflush",
    "clwb",
    "lock",
    "cmpxchg",
    "xaddl",
    "mov",
    "movnti",
    "sete",
    "bts",
    ".byte",
    "0x66",
    "0xf0",
    "0x0f",
    "0xae",
    "0x30",
    "$0",
    "$1",
    "$9",
    "${0:b}",
    "${1:a}",
    "${",
    "$",
    "$$",
    "$(",
    "$|",
    "$)",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    "\n",
    ":",
    "#",
    "/*",
    "*/",
    "%rax",
    "%rsp",
    "-8",
    "+",
    " ",
    ".pushsection",
    "é",
];

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..24),
        constraints in proptest::collection::vec(proptest::sample::select(&["=r", "=*m", "*m", "r", "0", "7", "{ax}", "={ax}", "~{memory}", "!i", "", "=&*m", "é"][..]), 0..6),
        intel in any::<bool>(),
    ) {
        let dialect = if intel { Dialect::Intel } else { Dialect::Att };
        meanings(&pieces.concat(), &constraints.join(","), dialect);
        meanings(&pieces.join(" "), &constraints.join(","), dialect);
    }

    #[test]
    fn nor_does_any_other_text(text in ".{0,80}", constraints in ".{0,20}") {
        meanings(&text, &constraints, Dialect::Att);
        meanings(&text, &constraints, Dialect::Intel);
    }
}
