//! Places in the source of the program under test.

use crate::text::plain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place in the source, with its path as the user would write it.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Place {
    /// Relative to where the check was made, if it lies below.
    pub file: String,
    /// From one.
    pub line: u32,
    /// From one; zero where it is not known.
    pub column: u32,
    /// The function it lies in.
    pub function: String,
}

impl Place {
    /// `file:line:column`, or without the column where none is known.
    pub fn colons(&self) -> String {
        let file = plain(&self.file);
        if self.line == 0 {
            return file;
        }
        match self.column {
            0 => format!("{file}:{}", self.line),
            column => format!("{file}:{}:{column}", self.line),
        }
    }

    /// Are they on one line of one file?
    pub fn same_line(&self, other: &Place) -> bool {
        self.file == other.file && self.line == other.line
    }

    /// How to refer to this place from another one: its line, with its file where that differs.
    pub fn seen_from(&self, other: Option<&Place>) -> String {
        match other {
            Some(other) if other.file == self.file => format!("line {}", self.line),
            _ => format!("{}:{}", plain(&self.file), self.line),
        }
    }
}
