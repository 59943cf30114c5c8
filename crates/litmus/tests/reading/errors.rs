//! Bad files and what is said about them: each file in `tests/parse_errors` has its message beside it, in `.err`.
//! A new case is a new file; `BLESS=1` writes the messages as they are now, to be read before they are committed.

use super::judge;
use landfall_litmus::parse::parse;

#[test]
fn every_bad_file_gets_the_message_beside_it() {
    judge("parse_errors", "err", 25, |name, text| {
        match parse(name, text) {
            Ok(_) => "reads without an error\n".to_owned(),
            Err(error) => format!("{error}\n"),
        }
    });
}

/// A generated file of that many lines, each made from its number.
fn lines(head: &str, count: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = head.to_owned();
    for number in 0..count {
        text.push_str(&line(number));
        text.push('\n');
    }
    text
}

#[test]
fn a_file_of_5000_threads_is_told_the_limit() {
    let text = lines("lines: x\n", 5000, |n| format!("T{n}: x = 1"));
    let error = parse("long.lit", &text).expect_err("too many threads");
    assert_eq!(
        error.to_string(),
        "10:1: found thread number 9, expected at most 8 threads in a test"
    );
}

#[test]
fn a_file_of_5000_rows_is_told_the_limit() {
    let text = lines("X86 long\n{}\nP0;\n", 5000, |_| "MOV [x],$1;".into());
    let error = parse("long.litmus", &text).expect_err("too many instructions");
    assert_eq!(
        error.to_string(),
        "36:1: found instruction number 33, expected at most 32 instructions in a thread"
    );
}

#[test]
fn a_file_of_5000_outcomes_is_read() {
    let text = lines("lines: x\nT0: x = 1\nfinal: x\n", 5000, |n| {
        format!("allowed: x={n} # one of many")
    });
    let test = parse("long.lit", &text).expect("a long test is a test");
    assert_eq!(test.expect.len(), 5000);
}

#[test]
fn deep_nesting_is_refused_before_the_stack_ends() {
    for open in ["(", "~", "not ", "~(", "x=1 => "] {
        let text = format!(
            "X86 deep\n{{}}\nP0;\nMOV [x],$1;\nexists {}",
            open.repeat(100_000)
        );
        let error = parse("deep.litmus", &text).expect_err("too deep");
        assert_eq!(error.expected, "at most 64 levels of nesting", "{open}");
    }
}
