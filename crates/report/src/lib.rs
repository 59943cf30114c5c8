//! What a check found, for people and for machines: one self-contained page (`page`), SARIF (`sarif`), JUnit (`junit`).
//!
//! Everything is made from a [`landfall_finding::Run`], which is run.json and nothing else: no clock, no files. What comes from the
//! program under test (source text, symbols, messages, output) is untrusted; [`html::Html`] has no way to write it unescaped.

mod html;
mod junit;
mod merge;
mod page;
mod sarif;

pub use junit::junit;
pub use merge::merge;
pub use page::page;
pub use sarif::sarif;

/// Source files by the path that findings name them with.
pub type Sources = std::collections::BTreeMap<String, String>;
