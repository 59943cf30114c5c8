//! Response files: `@file` stands for the arguments in it. clang reads them itself; only when one of them must be taken away are
//! they opened here, by the same rules.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// As deep as anyone nests them; a file that names itself ends there.
const DEPTH: usize = 16;

/// The arguments with every readable response file opened. One that cannot be read stays, for clang to complain about.
pub(super) fn expand(arguments: Vec<OsString>) -> Vec<OsString> {
    expand_within(arguments, DEPTH)
}

fn expand_within(arguments: Vec<OsString>, depth: usize) -> Vec<OsString> {
    let mut all = Vec::new();
    for argument in arguments {
        let content = match argument.as_bytes().split_first() {
            Some((b'@', name)) if depth > 0 => std::fs::read(OsStr::from_bytes(name)).ok(),
            _ => None,
        };
        match content {
            Some(content) => all.extend(expand_within(split(&content), depth - 1)),
            None => all.push(argument),
        }
    }
    all
}

/// Words as GNU tools write them: separated by space, with quotes and backslashes.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, b' ' | b'\t' | b'\n' | b'\r' | 0) => words.extend(word.take()),
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (Some(open), _) if byte == open => quote = None,
            (_, b'\\') if quote != Some(b'\'') => {
                word.get_or_insert_default().extend(bytes.next());
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_of_a_response_file() {
        let cases: &[(&str, &[&str])] = &[
            ("-static a.c -o b", &["-static", "a.c", "-o", "b"]),
            (
                "'a b' \"c\\\"d\" e\\ f\n\n-x",
                &["a b", "c\"d", "e f", "-x"],
            ),
            ("-D'X=\"\"' ''", &["-DX=\"\"", ""]),
            ("", &[]),
        ];
        for (text, words) in cases {
            assert_eq!(split(text.as_bytes()), *words, "{text}");
        }
    }
}
