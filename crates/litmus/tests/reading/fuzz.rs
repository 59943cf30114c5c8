//! No input makes a parser panic. Both parsers read everything, whatever format it started as.

use super::corpus;
use landfall_litmus::parse::parse;
use landfall_litmus::print::to_lit;
use proptest::prelude::*;
use std::sync::OnceLock;

/// Reads the text in both formats; what is readable must also be printable and readable again.
fn read_as_both(text: &str) {
    for name in ["f.lit", "f.litmus"] {
        match parse(name, text) {
            Ok(test) => {
                let printed = to_lit(&test);
                // Names that herd allows may mean something else in `.lit`, so it need not be the same test.
                let _ = parse("printed.lit", &printed);
            }
            Err(error) => {
                assert!(error.line >= 1 && error.column >= 1, "{error}");
                assert!(!error.found.is_empty() && !error.expected.is_empty());
            }
        }
    }
}

fn corpus_text(pick: prop::sample::Index) -> &'static str {
    static CORPUS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let corpus = CORPUS.get_or_init(corpus);
    &corpus[pick.index(corpus.len())].1
}

#[derive(Clone, Debug)]
enum Mutation {
    FlipByte(prop::sample::Index, u8),
    Truncate(prop::sample::Index),
    SwapLines(prop::sample::Index, prop::sample::Index),
    RepeatLine(prop::sample::Index, usize),
    DropLine(prop::sample::Index),
    Insert(prop::sample::Index, &'static str),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    use prop::sample::Index;
    const BITS: [&str; 24] = [
        ";",
        "|",
        "=",
        "==",
        ":",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "~",
        "$",
        "-",
        "(*",
        "*)",
        "//",
        "\"",
        "\r",
        "\u{feff}",
        "\u{1f980}",
        "99999999999999999999",
        "0x",
        "T0",
    ];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, b)| Mutation::FlipByte(at, b)),
        any::<Index>().prop_map(Mutation::Truncate),
        any::<(Index, Index)>().prop_map(|(a, b)| Mutation::SwapLines(a, b)),
        (any::<Index>(), 1..40usize).prop_map(|(at, n)| Mutation::RepeatLine(at, n)),
        any::<Index>().prop_map(Mutation::DropLine),
        (any::<Index>(), prop::sample::select(BITS.to_vec()))
            .prop_map(|(at, bit)| Mutation::Insert(at, bit)),
    ]
}

fn mutate(text: &str, mutation: &Mutation) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut lines: Vec<&str> = text.lines().collect();
    if bytes.is_empty() || lines.is_empty() {
        return text.to_owned();
    }
    match mutation {
        Mutation::FlipByte(at, mask) => {
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
        Mutation::Truncate(at) => bytes.truncate(at.index(bytes.len())),
        Mutation::Insert(at, bit) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, bit.bytes());
        }
        Mutation::SwapLines(a, b) => {
            let count = lines.len();
            lines.swap(a.index(count), b.index(count));
            return lines.join("\n");
        }
        Mutation::RepeatLine(at, times) => {
            let at = at.index(lines.len());
            let line = lines[at];
            lines.splice(at..at, std::iter::repeat_n(line, *times));
            return lines.join("\n");
        }
        Mutation::DropLine(at) => {
            lines.remove(at.index(lines.len()));
            return lines.join("\n");
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(5000))]

    #[test]
    fn arbitrary_text_is_read_without_panic(text in any::<String>()) {
        read_as_both(&text);
    }

    /// Text from the characters that mean something gets further than arbitrary text.
    #[test]
    fn plausible_text_is_read_without_panic(
        text in "(X86 t\n\\{\\}\nP0|P1;\n|lines: x [|] y\nT0: )?([xyr01TP=:;,|~$()\\[\\]{}\"#* /\\\\\n-]|MOV |EAX|LOCK |exists|cas |final:|allowed:){0,40}",
    ) {
        read_as_both(&text);
    }
}

proptest! {
    #![proptest_config(config(20000))]

    #[test]
    fn damaged_tests_are_read_without_panic(
        pick in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..6),
    ) {
        let damaged = mutations.iter().fold(corpus_text(pick).to_owned(), |text, m| mutate(&text, m));
        read_as_both(&damaged);
    }
}

/// Every corpus file cut at every character: a file that was only half saved.
#[test]
fn truncated_tests_are_read_without_panic() {
    for (name, text) in corpus() {
        for (at, _) in text.char_indices() {
            let _ = parse(&name, &text[..at]);
        }
    }
}
