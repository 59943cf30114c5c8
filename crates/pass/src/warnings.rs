//! What the pass says to the person who compiles: one line per place, in clang's form.

use crate::ir::{Value, say};
use std::collections::HashSet;

#[derive(Default, Debug)]
pub(crate) struct Warnings {
    given: HashSet<String>,
}

impl Warnings {
    pub(crate) fn at(&mut self, instruction: Value, message: &str) {
        let position = instruction.position();
        let file = display_path(&position.file);
        let place = match position.line {
            0 => file,
            line => format!("{file}:{line}:{}", position.column),
        };
        self.give(format!("{place}: warning: {message}"));
    }

    /// About a whole source file.
    pub(crate) fn in_file(&mut self, file: &str, message: &str) {
        self.give(format!("{}: warning: {message}", display_path(file)));
    }

    fn give(&mut self, line: String) {
        if !self.given.contains(&line) {
            say(&line);
            self.given.insert(line);
        }
    }
}

/// As the person typed it, where that is possible: below the working directory, without it.
fn display_path(file: &str) -> String {
    std::env::current_dir()
        .ok()
        .and_then(|here| {
            Some(
                std::path::Path::new(file)
                    .strip_prefix(here)
                    .ok()?
                    .display()
                    .to_string(),
            )
        })
        .unwrap_or_else(|| file.to_owned())
}
