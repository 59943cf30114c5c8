//! The text of the programs under test.

use landfall_finding::Place;
use std::collections::HashMap;
use std::path::PathBuf;

/// Source lines, read when first shown.
#[derive(Debug, Default)]
pub struct SourceTexts {
    /// Names start there.
    directory: PathBuf,
    lines: HashMap<String, Vec<String>>,
}

impl SourceTexts {
    /// Files whose names start in this directory.
    pub fn new(directory: PathBuf) -> SourceTexts {
        SourceTexts {
            directory,
            lines: HashMap::new(),
        }
    }

    fn raw(&mut self, at: &Place) -> Option<&str> {
        let lines = self.lines.entry(at.file.clone()).or_insert_with(|| {
            let text = std::fs::read(self.directory.join(&at.file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            text.lines().map(str::to_owned).collect()
        });
        Some(lines.get(at.line.checked_sub(1)? as usize)?.trim_end())
    }

    /// A line as it is shown.
    pub fn line(&mut self, at: &Place) -> Option<String> {
        Some(landfall_finding::text::plain(
            &self.raw(at)?.replace('\t', "    "),
        ))
    }

    /// The lines that would add the stores at these places of one file to their transaction, with line and column of what each belongs
    /// before.
    pub(crate) fn snapshot_lines(&self, at: &[Place]) -> Vec<(u32, u32, String)> {
        let Some(first) = at.first() else {
            return Vec::new();
        };
        let Ok(text) = std::fs::read_to_string(self.directory.join(&first.file)) else {
            return Vec::new();
        };
        let unit = unit(first, &text);
        let stores: Vec<landfall_repair::Place> = (at.iter())
            .map(|at| landfall_repair::Place {
                line: at.line,
                column: at.column,
            })
            .collect();
        let lines = landfall_repair::snapshot_lines(&unit, &stores).into_iter();
        lines.map(|(at, code)| (at.line, at.column, code)).collect()
    }

    /// What would make a store durable, where its file does that with PMDK's calls.
    pub(crate) fn pmdk_line(&self, at: &Place, bytes: u64) -> Option<String> {
        let text = std::fs::read_to_string(self.directory.join(&at.file)).ok()?;
        let store = landfall_repair::StoredBytes {
            at: landfall_repair::Place {
                line: at.line,
                column: at.column,
            },
            bytes,
        };
        landfall_repair::pmdk_line(&unit(at, &text), &store)
    }

    /// What is assigned to at a place whose column is that of the `=`, where that can be told from the text.
    pub fn assigned(&mut self, at: &Place) -> Option<String> {
        let column = at.column.checked_sub(1)? as usize;
        let line = self.raw(at)?;
        let (before, rest) = (line.get(..column)?, line.get(column..)?);
        if let Some(target) = atomic_target(rest) {
            return Some(target);
        }
        if !rest.starts_with('=') || rest.starts_with("==") {
            return None;
        }
        let before = before.rsplit([';', '{', '}']).next()?;
        // After `if (…)` or `else` the target is what follows.
        let before = before.trim().trim_start_matches("else ").trim();
        let plain = |c: char| c.is_alphanumeric() || "_->.[]*&() +:".contains(c);
        let balanced =
            |open: char, close: char| before.matches(open).count() == before.matches(close).count();
        let good = !before.is_empty()
            && before.chars().all(plain)
            && balanced('(', ')')
            && balanced('[', ']')
            && !before.contains("if ")
            && !before.contains("for ")
            // A declaration would be a name after a type.
            && !before.contains(' ');
        good.then(|| before.to_owned())
    }
}

/// What `__atomic_store_n(&x, 1, …)` and its likes store to.
fn atomic_target(call: &str) -> Option<String> {
    let (name, arguments) = call.split_once('(')?;
    let stores = ["__atomic_store_n", "atomic_store_explicit", "atomic_store"];
    let (first, _) = arguments
        .split_once(',')
        .filter(|_| stores.contains(&name))?;
    let plain = |c: char| c.is_alphanumeric() || "_->.[]".contains(c);
    let target = first.strip_prefix('&')?;
    target.chars().all(plain).then(|| target.to_owned())
}

fn unit<'a>(at: &Place, text: &'a str) -> landfall_repair::Unit<'a> {
    landfall_repair::Unit {
        text,
        language: match at.file.ends_with(".c") {
            true => landfall_repair::SourceLanguage::C,
            false => landfall_repair::SourceLanguage::Cxx,
        },
        headers: &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_an_assignment() {
        let cases = [
            ("  r->data[i] = i + 1;", Some("r->data[i]")),
            ("  *head = node;", Some("*head")),
            ("  if (x) y = 2;", None),
            ("  a = 1; b->c = 2;", Some("b->c")),
            ("  if (a == b)", None),
            ("  struct node *n = f();", None),
            (
                " __atomic_store_n(&p->low, p->low + 1, __ATOMIC_RELEASE);",
                Some("p->low"),
            ),
            (" __atomic_store_n(head, node, __ATOMIC_RELEASE);", None),
        ];
        for (text, expected) in cases {
            let column = text.rfind(" = ").map_or(2, |at| at + 2) as u32;
            let mut sources = SourceTexts::default();
            sources.lines.insert("f".into(), vec![text.to_owned()]);
            let at = Place {
                file: "f".into(),
                line: 1,
                column,
                function: String::new(),
            };
            assert_eq!(sources.assigned(&at).as_deref(), expected, "{text}");
        }
    }
}
