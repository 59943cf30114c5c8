//! Every bundled test is readable, says something, and survives being printed.

use super::corpus;
use landfall_litmus::parse::parse;
use landfall_litmus::print::to_lit;

#[test]
fn every_bundled_test_is_read_and_expects_something() {
    let corpus = corpus();
    assert!(corpus.len() >= 52 + 45, "only {} tests", corpus.len());
    for (name, text) in corpus {
        let test = parse(&name, &text).unwrap_or_else(|e| panic!("{name}:{e}"));
        let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
        assert_eq!(test.name, stem, "a test goes by its file's name");
        assert!(!test.expect.is_empty(), "{name} expects nothing");
        assert!(!test.source.is_empty(), "{name} names no source");
    }
}

#[test]
fn every_bundled_test_reads_the_same_once_printed() {
    for (name, text) in corpus() {
        let test = parse(&name, &text).unwrap_or_else(|e| panic!("{name}:{e}"));
        let printed = to_lit(&test);
        let again = parse("printed.lit", &printed);
        let again = again.unwrap_or_else(|e| panic!("{name}:{e}\n{printed}"));
        assert_eq!(again, test, "{name} printed as\n{printed}");
    }
}

/// What editors on other systems leave behind changes nothing.
#[test]
fn line_endings_tabs_and_byte_order_marks_do_not_matter() {
    for (name, text) in corpus() {
        let test = parse(&name, &text);
        let windows = format!("\u{feff}{}", text.replace('\n', " \t\r\n"));
        assert_eq!(parse(&name, &windows), test, "{name}");
    }
}
