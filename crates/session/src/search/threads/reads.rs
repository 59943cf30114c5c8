//! `--equivalence reads` and `values`: one execution for each way in which reads find stores, or values, where nothing else can matter.

use crate::report::SearchReport;
use landfall_explore::schedule::read_from::Refused;
use landfall_finding::Equivalence;

/// Why every order is searched instead.
pub(crate) fn instead(asked: Equivalence, why: &str, report: &mut SearchReport) {
    report.equivalence = Equivalence::Orders;
    let asked = match asked {
        Equivalence::Values => "values",
        Equivalence::Reads | Equivalence::Orders => "reads",
    };
    report.warn(&format!(
        "--equivalence {asked}: {why}, so schedules are told apart by the order of their steps, as without it"
    ));
}

/// What the program does that cannot be told by what its reads return.
pub(crate) fn why(refused: Refused) -> &'static str {
    match refused {
        Refused::Sizes => "the same bytes are accessed in pieces of several sizes",
        Refused::Objects => {
            "threads wait for more than mutexes: conditions, barriers, semaphores, reader-writer locks, signals"
        }
        Refused::Waits => "a thread waits in a loop",
        Refused::Joins => "threads are created, or go on, after others were joined",
        Refused::Ends => "a thread ends with a failed assertion or assumption, and there are locks",
        Refused::Kinds => {
            "there are non-temporal stores, flushes, or memory that is unmapped or waited for"
        }
        Refused::Unlike => {
            "more than what threads read decides what they do, or in which order that can be"
        }
        Refused::Orders => "it takes too long to find out which reads go together",
    }
}
