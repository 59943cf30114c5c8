//! Names for blocks of the heap: where they were allocated, what type the source says they have, and which member it is.

use crate::names::ProgramNames;
use landfall_finding::Place;
use landfall_native::Naming;
use landfall_native::compiler::is_ours;

/// What a shared pointer keeps before the object, in one block with it.
const COUNTS: u64 = 16;

/// Sources that nobody here has written.
pub(crate) fn is_theirs(file: &str) -> bool {
    file.starts_with("/usr/") || file.contains("/include/c++/") || is_ours(file)
}

/// The innermost call from the user's own sources.
pub(crate) fn nearest(names: &ProgramNames, stack: &[u64]) -> Option<Place> {
    let frames = names.frames(stack).into_iter();
    frames
        .filter(|frame| !frame.function.starts_with("landfall_runtime"))
        .find(|frame| !is_theirs(&frame.file))
}

/// What lies at an address of the heap.
pub(crate) fn name(names: &ProgramNames, naming: &Naming, address: u64) -> Option<String> {
    let (number, block) = naming.block(address)?;
    let place = nearest(names, &block.stack)?;
    let text = names.sources().line(&place).unwrap_or_default();
    let made = Made::of(&text);
    let file = place.file.rsplit('/').next().unwrap_or(&place.file);
    let mut name = format!("{file}:{}", place.line);
    if let Some(of) = &made.of {
        name.push_str(&format!(" {of}"));
    }
    // Others from the same place are others.
    let same = |other: &&landfall_native::NamedBlock| {
        other.address != block.address
            && nearest(names, &other.stack)
                .is_some_and(|at| (at.file.as_str(), at.line) == (place.file.as_str(), place.line))
    };
    let before = naming.blocks[..number].iter().filter(same).count();
    if before > 0 || naming.blocks[number..].iter().any(|other| same(&other)) {
        name.push_str(&format!("#{}", before + 1));
    }
    let offset = address - block.address;
    let offset = match made.shared {
        true if offset < COUNTS => return Some(format!("{name}'s use count")),
        true => offset - COUNTS,
        false => offset,
    };
    let part = made
        .of
        .as_deref()
        .and_then(|of| names.part_of_type(of, offset));
    match part {
        Some(part) => name.push_str(&part),
        None if offset > 0 => name.push_str(&format!("+{offset}")),
        None => {}
    }
    Some(name)
}

/// What a line of the source makes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Made {
    of: Option<String>,
    /// In one block with the counts of a shared pointer.
    shared: bool,
}

impl Made {
    fn of(text: &str) -> Made {
        for (word, shared) in [("make_shared<", true), ("make_unique<", false)] {
            if let Some((_, rest)) = text.split_once(word) {
                let of = closed(rest);
                return Made {
                    shared: shared && of.is_some(),
                    of,
                };
            }
        }
        let of = after_new(text)
            .or_else(|| in_sizeof(text))
            .or_else(|| declared(text));
        Made { of, shared: false }
    }
}

/// Up to the bracket that closes the one before it.
fn closed(rest: &str) -> Option<String> {
    let mut depth = 1;
    for (at, c) in rest.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(rest[..at].trim().to_owned());
        }
    }
    None
}

/// A type at the beginning of a text, with what stands in its angle brackets.
fn type_at(text: &str) -> Option<String> {
    let text = text.trim_start();
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let keyword = ["struct ", "class ", "const "]
        .into_iter()
        .find(|k| text.starts_with(k));
    let begin = keyword.map_or(0, str::len);
    let length = text[begin..]
        .find(|c| !word(c))
        .unwrap_or(text.len() - begin);
    let name = &text[begin..begin + length];
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match text[begin + length..].strip_prefix('<') {
        Some(rest) => Some(format!("{name}<{}>", closed(rest)?)),
        None => Some(name.to_owned()),
    }
}

fn after_new(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("new ")?;
    let apart = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    type_at(rest).filter(|_| apart)
}

/// `malloc(sizeof(struct node))`, `sizeof *n` says nothing by itself.
fn in_sizeof(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("sizeof")?;
    let rest = rest.trim_start().trim_start_matches('(');
    type_at(rest)
        .filter(|of| !text.contains(&format!("*{of}")) || text.contains(&format!("{of} *")))
}

/// `struct node *n = malloc(…)`.
fn declared(text: &str) -> Option<String> {
    let (before, _) = text.split_once('=')?;
    let (of, _) = before.split_once('*')?;
    type_at(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_makes() {
        let cases = [
            (
                "  auto e = std::make_shared<Entry>(1);",
                Some("Entry"),
                true,
            ),
            (
                "  auto b = std::make_shared<Box<std::pair<int, int>>>();",
                Some("Box<std::pair<int, int>>"),
                true,
            ),
            ("  q = std::make_unique<Node>();", Some("Node"), false),
            ("  Entry *f = new Entry{1};", Some("Entry"), false),
            (
                "  head = new app::Node<int>(next);",
                Some("app::Node<int>"),
                false,
            ),
            ("  struct node *n = malloc(sizeof *n);", Some("node"), false),
            ("  n = malloc(sizeof(struct node));", Some("node"), false),
            (
                "  node_t *n = calloc(1, sizeof(node_t));",
                Some("node_t"),
                false,
            ),
            ("  renew (x);", None, false),
            ("  f(g);", None, false),
        ];
        for (text, of, shared) in cases {
            let made = Made::of(text);
            assert_eq!((made.of.as_deref(), made.shared), (of, shared), "{text}");
        }
    }
}
