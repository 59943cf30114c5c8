//! Edits of a text, and the difference they make.

use similar::{ChangeTag, TextDiff};
use std::ops::Range;

/// Replaces a range of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

impl Edit {
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Edit {
        Edit {
            range: at..at,
            text: text.into(),
        }
    }

    pub(crate) fn replace(range: Range<usize>, text: impl Into<String>) -> Edit {
        Edit {
            range,
            text: text.into(),
        }
    }
}

/// The text after the edits. None if two of them overlap or one lies outside.
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    // Stable: insertions at one place keep their order.
    sorted.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let (mut out, mut done) = (String::new(), 0);
    for edit in sorted {
        if edit.range.start < done {
            return None;
        }
        out.push_str(text.get(done..edit.range.start)?);
        text.get(edit.range.clone())?;
        out.push_str(&edit.text);
        done = edit.range.end;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// As `diff -u` and `git diff` print it, ready for `patch -p1`. Empty if nothing differs.
pub fn unified_diff(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (a, b) = match path.starts_with('/') {
        true => (path.to_owned(), path.to_owned()),
        false => (format!("a/{path}"), format!("b/{path}")),
    };
    let (a, b) = (quoted(&a), quoted(&b));
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header(&a, &b)
        .to_string()
}

/// A name as git and patch write it: in quotes where it holds what would end or confuse its line.
fn quoted(name: &str) -> String {
    let odd = |c: char| c.is_control() || c == '"' || c == '\\';
    if !name.contains(odd) {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// For each line of the new text, counted from 1, the line of the old one it is or follows.
pub fn line_origins(old: &str, new: &str) -> Vec<u32> {
    let (mut origins, mut at) = (vec![0], 0);
    for change in TextDiff::from_lines(old, new).iter_all_changes() {
        match change.tag() {
            ChangeTag::Delete => at += 1,
            ChangeTag::Insert => origins.push(at),
            ChangeTag::Equal => {
                at += 1;
                origins.push(at);
            }
        }
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_order_of_place() {
        let edits = [
            Edit::insert(3, "!"),
            Edit::replace(0..1, "A"),
            Edit::insert(3, "?"),
        ];
        assert_eq!(apply("abc", &edits).as_deref(), Some("Abc!?"));
    }

    #[test]
    fn overlapping_edits_are_refused() {
        let edits = [Edit::replace(0..2, ""), Edit::replace(1..3, "")];
        assert_eq!(apply("abc", &edits), None);
        assert_eq!(apply("abc", &[Edit::insert(9, "x")]), None);
    }

    #[test]
    fn a_line_knows_where_it_comes_from() {
        assert_eq!(line_origins("a\nb\nc\n", "a\nx\nb\nc\n"), [0, 1, 1, 2, 3]);
        assert_eq!(line_origins("a\nb\nc\n", "a\nc\n"), [0, 1, 3]);
    }

    #[test]
    fn odd_names_are_quoted_as_git_does_it() {
        let diff = unified_diff("a \"b\"\nc.c", "a\n", "b\n");
        let head = "--- \"a/a \\\"b\\\"\\nc.c\"\n+++ \"b/a \\\"b\\\"\\nc.c\"\n@@";
        assert!(diff.starts_with(head), "{diff}");
    }

    #[test]
    fn line_endings_stay_and_a_missing_one_is_said() {
        let diff = unified_diff("x.c", "a\r\nb\r\n", "a\r\nn\r\nb\r\n");
        assert!(
            diff.starts_with("--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,3 @@\n a\r\n+n\r\n"),
            "{diff:?}"
        );
        assert!(unified_diff("x.c", "a", "b").contains("No newline at end of file"));
    }
}
