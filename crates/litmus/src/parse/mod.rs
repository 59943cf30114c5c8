//! Reading tests: Landfall's own `.lit` files and herd7's X86 `.litmus` files.
//!
//! Both parsers stand on one [`cursor`] and one grammar of [`condition`]s. A file that cannot be read yields the first
//! place where it departs from its format, what stands there, and what would have been right.

mod condition;
mod cursor;
mod herd;
mod lit;
mod scope;

use crate::program::Test;
use cursor::{TextSpot, quote};
use thiserror::Error;

pub(crate) use condition::show_condition;
pub(crate) use cursor::quote as quoted;
pub(crate) use lit::{join_outcomes, parse_condition, parse_outcome};

/// Where a file stops making sense, and why. The line and column are 1-based and count characters.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{line}:{column}: found {found}, expected {expected}")]
pub struct ParseError {
    pub line: usize,
    pub column: usize,
    pub found: String,
    pub expected: String,
}

/// Reads a test in the format that the file's extension promises.
pub fn parse(file_name: &str, text: &str) -> Result<Test, ParseError> {
    // Editors on Windows put a byte order mark first; it is not part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let base = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    match base.rsplit_once('.') {
        Some((stem, "lit")) => lit::parse(stem, text),
        Some((_, "litmus")) => herd::parse(text),
        _ => Err(TextSpot::START.error(
            format!("a file named {}", quote(base)),
            "a name that ends in `.lit` (Landfall's format) or `.litmus` (herd7's X86 format)",
        )),
    }
}
