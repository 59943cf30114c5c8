//! What the walk tells those who judge. To add a checker, implement this in a file of its own.

use crate::finding::Finding;
use crate::path::{Candidate, JudgedRead, RecoveryPath};
use landfall_model::event::{Event, Mark};
use landfall_model::line::Addr;

/// May the path go on this way?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathVerdict {
    Fits,
    /// It was reported; what would follow from it is not worth a report.
    Violates,
}

/// Is an execution one that the search lets the power fail in?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    MayCrash,
    RunsToItsEnd,
}

/// Reads that say nothing new are not shown: of stores that are written back within what was read before, with nothing missing
/// that is older than what was missed before.
///
/// Every hook has a default that does nothing. A path is extended by `take` and `mark`, one step each, and `back` undoes steps:
/// what a checker keeps about the path it must be able to give up again.
pub trait Checker {
    /// An execution was run: the first one, and each distinct recovery. Once for each, in no particular order. The walk does not
    /// call it: whoever runs executions does, for the checkers that need nothing else.
    fn logged(&mut self, _events: &[Event], _fate: Fate) {}

    /// Must it see reads of this word, too, that say nothing new? Then it is to walk alone: others would end paths that it has to see.
    fn watches(&self, _word: Addr) -> bool {
        false
    }

    /// The power failed in one more execution: the last of `path.crashed()`, at any of its cuts. A recovery begins.
    fn cut(&mut self, _path: &RecoveryPath) {}

    /// A read may come from this candidate. Called for every candidate, before any is taken.
    fn judge(
        &mut self,
        _path: &RecoveryPath,
        _read: &JudgedRead,
        _candidate: &Candidate,
    ) -> PathVerdict {
        PathVerdict::Fits
    }

    /// The path goes on with this candidate, the one judged last, as step `path.steps()`.
    fn take(&mut self, _path: &RecoveryPath, _read: &JudgedRead, _candidate: &Candidate) {}

    /// The recovery says something about its reads, as step `path.steps()`.
    fn mark(&mut self, _path: &RecoveryPath, _mark: Mark) -> PathVerdict {
        PathVerdict::Fits
    }

    /// The path turns back: steps from this one on are undone.
    fn back(&mut self, _to: usize) {}

    /// A recovery ended, having read everything it reads.
    fn ended(&mut self, _path: &RecoveryPath) {}

    /// May something that was found rest on the execution of this number? Asked when it has been judged, of schedules.
    fn rests_on(&self, _execution: u32) -> bool {
        false
    }

    /// What was found, in an order that does not depend on chance.
    fn findings(&self) -> Vec<Finding>;
}
