//! Litmus tests: a few threads of a few instructions, and the question which outcomes they may have.
//!
//! [`program`] is what a test says, however it was written. What it *means* is defined three times, so that no
//! definition has to be believed on its own: [`operational`] executes it, [`axiomatic`] judges candidate graphs, and
//! [`buffers`] runs the store buffers, logs and frontiers of `landfall-model` as the native engine does. [`subject`] hands tests of one
//! thread to the crash search itself.

pub mod axiomatic;
pub mod buffers;
pub mod expect;
pub mod operational;
pub mod parse;
pub mod print;
pub mod program;
pub mod subject;
pub mod transaction;
pub mod verdicts;

use landfall_model::order::{OrderTable, Platform};

/// The model a test is judged by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    pub table: OrderTable,
    pub platform: Platform,
}

impl Model {
    pub fn px86(platform: Platform) -> Model {
        Model {
            table: OrderTable::PX86,
            platform,
        }
    }
}
