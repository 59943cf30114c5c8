//! The crash search: follows the log of an execution, cuts it where that is sufficient, and finds every behaviour of the
//! recovery, running each once.
//!
//! [`follow`] is the usual way: one power failure, one tree for all cuts, walked along the log. [`stack`] also cuts recoveries, and
//! can look at each cut by itself. [`eager`] and [`random`] do without the tree.

mod checksums;
pub mod eager;
mod follow;
mod lines;
mod met;
pub(crate) mod mistakes;
mod packed;
pub mod random;
mod stack;
mod state;

use crate::subject::{Ended, Subject, SubjectError};
use crate::tree::{Diverged, Forest, RecoveryTree};
use landfall_model::crash::PowerFailure;
use landfall_model::image::Image;
use landfall_model::log::{Cut, Log};
use landfall_model::order::Platform;
pub use packed::PackedFailures;

/// One way the recovery behaves, with crashes that lead to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Behaviour {
    pub ended: Ended,
    /// Its place in the order of runs after as many power failures.
    pub run: u32,
    /// One per power failure, oldest first: each of the execution that the one before it left. They are enough to see the
    /// behaviour again from scratch.
    pub crashes: PackedFailures,
    /// How often the search came to it: by several cuts, or several branches.
    pub times: u32,
}

/// How to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Power failures that may follow one another.
    pub failures: u32,
    /// One tree for all cuts; otherwise each cut is explored by itself, as published tools do.
    pub share: bool,
    /// Every image of every cut, whatever the recovery reads of it (Yat's way): for comparison, on tiny programs.
    pub eager: bool,
    /// Of the recoveries, when they are cut themselves.
    pub platform: Platform,
    /// Pieces of one copy on one line may persist in any order; for recoveries that are cut themselves.
    pub tear: bool,
    /// Records that the recovery checks by a checksum are accepted only if memory held them as a whole at some moment: of others,
    /// some stand for all. With one power failure and one tree.
    pub checksums: bool,
    /// Past this many reads, what the present crash state cannot reach is forgotten at once, and run again should a value
    /// return.
    pub keep_reads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            failures: 1,
            share: true,
            eager: false,
            platform: Platform::Adr,
            tear: false,
            checksums: true,
            keep_reads: 4_000_000,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// Equal values were read, and something else came of it.
    #[error(
        "the recovery is not deterministic: after the same reads, one run reads {expected} where another reads {found}",
        expected = place(difference.expected), found = place(difference.found)
    )]
    Diverged {
        difference: Diverged,
        /// Power failures after which the run went another way.
        crashes: Vec<PowerFailure>,
    },
}

fn place(read: Option<crate::subject::Read>) -> String {
    read.map_or("nothing more".into(), |r| format!("{:?}", r.read.word))
}

/// What became of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Searched {
    pub behaviours: Vec<Behaviour>,
    /// Executions of the recovery.
    pub runs: u32,
    /// Of the first execution, and of the recoveries that were cut themselves.
    pub cuts: usize,
    /// Recoveries that ended well but were too long to be cut themselves, where several failures are asked for.
    pub uncut: u32,
    /// Recoveries that were not run: what they had read by then tells of a mistake that many failing ones have shown.
    pub skipped: u32,
    /// Some records behind a checksum were not run in every mixture of old and new lines.
    pub checksums_assumed: bool,
    /// A record was accepted that memory never held: from there on every mixture was run.
    pub checksums_refuted: bool,
    /// Random recoveries that read what another had read before them and then went another way: they are in no tree.
    pub contradictions: u32,
}

/// Jobs that are handed out at once. Not a matter of workers: results must not depend on how many there are.
pub(crate) const WAVE: usize = 256;

/// Someone who looks at the tree besides the search.
pub trait TreeWatch {
    /// Parts of the tree are about to be forgotten: cuts up to this one lead there, the next ones do not.
    fn forgetting(&mut self, tree: &RecoveryTree, cut: Cut);
}

/// Nobody.
impl TreeWatch for () {
    fn forgetting(&mut self, _: &RecoveryTree, _: Cut) {}
}

/// Every behaviour of the recovery after power failures anywhere in `log`, which began on `base`. What was found before an
/// error stands in `found`.
pub fn search(
    subject: &mut impl Subject,
    forest: &mut Forest,
    base: &Image,
    log: &Log,
    options: &Options,
    found: &mut Searched,
) -> Result<(), SearchError> {
    search_watched(subject, forest, base, log, options, &mut (), found)
}

/// A [`search`] with someone who is told before parts of the tree are forgotten.
pub fn search_watched(
    subject: &mut impl Subject,
    forest: &mut Forest,
    base: &Image,
    log: &Log,
    options: &Options,
    watch: &mut dyn TreeWatch,
    found: &mut Searched,
) -> Result<(), SearchError> {
    if options.eager {
        eager::search(subject, base, log, options, found)
    } else if options.failures <= 1 && options.share {
        follow::follow(subject, forest.level(1), base, log, options, watch, found)
    } else {
        stack::search(subject, forest, base, log, options, found)
    }
}
