//! What the program says of its functions, and what is assumed because of it.

use crate::names::ProgramNames;
use crate::report::SearchReport;
use landfall_finding::{Assumption, AssumptionKind};
use landfall_native::{Position, Saying, SayingKind};

/// Puts what is taken for granted into the report.
pub(crate) fn assume(said: &[Saying], names: &ProgramNames, report: &mut SearchReport) {
    for saying in said {
        let Saying {
            function,
            file,
            line,
            ..
        } = saying;
        let assumption = match saying.kind {
            SayingKind::Sealed => continue,
            SayingKind::Trusted => {
                let at = names.at(&Position {
                    file: file.clone(),
                    function: function.clone(),
                    line: *line,
                    column: 0,
                });
                let message =
                    format!("`{function}` is trusted: what it accesses was not looked at");
                Assumption {
                    kind: AssumptionKind::Trusted,
                    message,
                    at: Some(at).filter(|at| at.line > 0),
                }
            }
            SayingKind::Replaced => {
                let (mine, primitive) = function.split_once('=').unwrap_or((function, ""));
                Assumption {
                    kind: AssumptionKind::Replaced,
                    message: format!(
                        "`{mine}` is as good as {primitive}, which took its place (--replace {file})"
                    ),
                    at: None,
                }
            }
        };
        report.assume(assumption);
    }
    if names.client().is_some() {
        report.assume(Assumption {
            kind: AssumptionKind::Client,
            message: "the client acts when a thread of the server waits, or has looked in vain; other moments were not tried".to_owned(),
            at: None,
        });
    }
}

/// Names of functions that are trusted.
pub(crate) fn trusted(said: &[Saying]) -> Vec<&str> {
    let trusted = said
        .iter()
        .filter(|saying| saying.kind == SayingKind::Trusted);
    trusted.map(|saying| saying.function.as_str()).collect()
}

/// Names of functions in which threads are not preempted.
pub(crate) fn sealed(said: &[Saying]) -> impl Iterator<Item = &str> {
    let sealed = said
        .iter()
        .filter(|saying| saying.kind == SayingKind::Sealed);
    sealed.map(|saying| saying.function.as_str())
}
