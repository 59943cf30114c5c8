//! A finding, ready to be shown.

use super::story::Story;
use crate::run::{describe, place_of};
use landfall_native::{Event, Execution, Outcome, Position, Server, Symbols};
use serde_json::{Value, json};
use std::path::Path;

/// A place in the source, with its path as the user would write it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) function: String,
}

impl Place {
    pub(crate) fn new(at: &Position) -> Place {
        let here = std::env::current_dir().unwrap_or_default();
        let relative = Path::new(&at.file).strip_prefix(&here);
        Place {
            file: relative.map_or_else(|_| at.file.clone(), |path| path.display().to_string()),
            line: at.line,
            column: at.column,
            function: at.function.clone(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({"file": self.file, "line": self.line, "column": self.column, "function": self.function})
    }

    /// `file:line:column`, or without the column where none is known.
    pub(crate) fn colons(&self) -> String {
        match self.column {
            0 => format!("{}:{}", self.file, self.line),
            column => format!("{}:{}:{column}", self.file, self.line),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) at: Option<Place>,
    pub(crate) bytes: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) at: Option<Place>,
    /// None if it fails without any power failure.
    pub(crate) crash_at: Option<Place>,
    pub(crate) after_crash: bool,
    pub(crate) kept: Option<Stored>,
    pub(crate) lost: Option<Stored>,
    pub(crate) executions: u32,
    /// What to type to see it again.
    pub(crate) replay: Option<String>,
    pub(crate) witness: Option<String>,
}

/// INTERFACE.md's name for a bad end.
pub(crate) fn kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Assertion { .. } => "assertion",
        Outcome::Signal { .. } | Outcome::StackOverflow { .. } => "segfault",
        Outcome::Exited { .. } => "exit",
        Outcome::Hang { .. } | Outcome::Wedged => "hang",
        Outcome::Deadlock { .. } => "deadlock",
        // The program asked for what cannot be controlled: its fault or ours, but no crash bug.
        Outcome::Thread { .. } | Outcome::Forbidden { .. } | Outcome::Internal { .. } => {
            "uncontrolled"
        }
        Outcome::Abort | Outcome::Terminate { .. } | Outcome::Died { .. } => "abort",
    }
}

/// Where an execution went wrong.
fn failing_place(execution: &Execution, symbols: &Symbols) -> Option<Place> {
    if let Outcome::Assertion {
        file,
        line,
        function,
        ..
    } = &execution.outcome
    {
        return Some(Place::new(&Position {
            file: file.clone(),
            line: *line,
            column: 0,
            function: function.clone(),
        }));
    }
    if let Outcome::Signal { pc, .. } = execution.outcome
        && let Some(at) = symbols.return_address(pc + 1)
    {
        return Some(Place::new(&at));
    }
    let known = |frame: &u64| symbols.return_address(*frame).filter(|at| at.line > 0);
    let at = execution.stack.iter().find_map(known)?;
    Some(Place::new(&at))
}

impl Finding {
    pub(crate) fn new(
        failed: &Execution,
        crashed: Option<(&[Event], &Story)>,
        server: &Server,
        symbols: &Symbols,
    ) -> Finding {
        let stored = |index: Option<usize>| {
            let event = crashed?.0.get(index?)?;
            let at = place_of(event, server, symbols).map(|at| Place::new(&at));
            let bytes = event.bytes().1;
            Some(Stored { at, bytes })
        };
        let what = match &failed.outcome {
            Outcome::Assertion { expression, .. } => format!("`{expression}` is false"),
            outcome => describe(outcome, symbols),
        };
        let message = match crashed {
            Some(_) => format!("recovery fails: {what}"),
            None => format!("the program fails without any power failure: {what}"),
        };
        Finding {
            id: String::new(),
            kind: kind(&failed.outcome),
            message,
            at: failing_place(failed, symbols),
            crash_at: crashed.and_then(|(_, story)| stored(story.last)?.at),
            after_crash: crashed.is_some(),
            kept: crashed.and_then(|(_, story)| stored(story.kept)),
            lost: crashed.and_then(|(_, story)| stored(story.lost)),
            executions: 1,
            replay: None,
            witness: None,
        }
    }

    /// The same mistake: the same store was lost; or, where none was, the same end at the same place.
    pub(crate) fn same_cause(&self, other: &Finding) -> bool {
        let lost = |finding: &Finding| finding.lost.as_ref().and_then(|s| s.at.clone());
        match (lost(self), lost(other)) {
            (Some(mine), Some(theirs)) => mine == theirs,
            (None, None) => {
                self.kind == other.kind && self.at == other.at && self.crash_at == other.crash_at
            }
            _ => false,
        }
    }

    pub(crate) fn json(&self) -> Value {
        let place = |at: &Option<Place>| at.as_ref().map(Place::json);
        let store = |role: &str, stored: &Stored| json!({"role": role, "at": place(&stored.at), "bytes": stored.bytes});
        let stores: Vec<Value> = [("lost", &self.lost), ("kept", &self.kept)]
            .into_iter()
            .filter_map(|(role, stored)| Some(store(role, stored.as_ref()?)))
            .collect();
        let fix = match (&self.lost, &self.kept) {
            (Some(lost), Some(kept)) => vec![json!({
                "action": "flush+fence", "after": place(&lost.at), "before": place(&kept.at),
                "bytes": lost.bytes, "primary": true,
            })],
            _ => Vec::new(),
        };
        json!({
            "id": self.id, "kind": self.kind, "severity": "error", "message": self.message,
            "at": place(&self.at), "crash_at": place(&self.crash_at), "stores": stores, "fix": fix,
            "executions": self.executions, "witness": self.witness,
        })
    }
}
