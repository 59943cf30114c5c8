//! Ways to keep a store from being overtaken where several threads run: in its own thread, or in one that has seen it
//! (seed 000 §4.3.2).

use super::schedules::column;
use crate::names::Place;
use crate::scene::Act;
use landfall_check::fixes::fixes;
use landfall_check::{Execution, Fix};
use landfall_model::log::{Cut, Entry};
use serde_json::{Value, json};
use std::collections::HashMap;

/// A schedule as checkers see it, with the places of its events.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) execution: Execution,
    pub(super) places: HashMap<u32, Place>,
}

/// Something to do in one thread, between two places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    pub(crate) flush: bool,
    pub(crate) thread: usize,
    /// None: from the beginning, or where it joined another one.
    pub(crate) after: Option<Place>,
    /// None: before the thread ends.
    pub(crate) before: Option<Place>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ways {
    /// The thread of the lost store, and of the one that was kept.
    pub(crate) threads: (usize, usize),
    /// In the thread of the lost store.
    pub(crate) primary: Option<Way>,
    /// In those that have seen it.
    pub(crate) secondary: Vec<Way>,
}

impl Ways {
    /// What would have kept `lost` from being overtaken by `kept`, both entries of the log of `act`, the same schedule.
    pub(super) fn new(act: &Act, lost: Cut, kept: Cut, seen: &Seen) -> Option<Ways> {
        let event = |entry: Cut| {
            let entries = act.log.entries();
            let &Entry::Store { thread, .. } = entries.get(entry.0 as usize)? else {
                return None;
            };
            let mine = |e: &&Entry| matches!(e, Entry::Store { thread: t, .. } if *t == thread);
            let number = entries[..entry.0 as usize].iter().filter(mine).count();
            let events = seen.execution.of_thread(thread).iter().copied();
            let mut stores = events.filter(|&e| seen.execution.event(e).piece().is_some());
            Some((usize::from(thread), stores.nth(number)?))
        };
        let ((owner, lost), (keeper, kept)) = (event(lost)?, event(kept)?);
        let mut ways = Ways {
            threads: (owner, keeper),
            primary: None,
            secondary: Vec::new(),
        };
        for fix in fixes(&seen.execution, 0, lost, kept) {
            let (flush, window) = match fix {
                Fix::FlushFence { window, .. } => (true, window),
                Fix::Fence { window } => (false, window),
                _ => continue,
            };
            // Who joined or was created learns of it without a place of its own.
            let (after, before) = window.sites;
            let way = Way {
                flush,
                thread: window.thread.into(),
                after: seen.places.get(&after).filter(|_| after != before).cloned(),
                before: seen.places.get(&before).cloned(),
            };
            match window.primary {
                true => ways.primary = Some(way),
                false => ways.secondary.push(way),
            }
        }
        Some(ways)
    }

    /// Is it a matter of one thread?
    fn alone(&self) -> bool {
        self.threads.0 == self.threads.1 && self.secondary.is_empty()
    }

    /// One line for each way; `what` is what is to be flushed.
    pub(crate) fn lines(&self, what: &str) -> Vec<String> {
        let (owner, keeper) = (column(self.threads.0), column(self.threads.1));
        let mut lines = Vec::new();
        match &self.primary {
            Some(way) if self.alone() => lines.push(format!("fix: {}", way.text(what, ""))),
            Some(way) => lines.push(format!(
                "fix: {}",
                way.text(what, &format!(" in {owner}, which stores it:"))
            )),
            None if self.secondary.is_empty() => lines.push(format!(
                "note: nothing makes {keeper} wait for {owner} between the two stores: no flush orders them"
            )),
            None => lines.push(format!(
                "note: there is no place for a flush in {owner}: others see the store before {owner} can flush it"
            )),
        }
        for way in &self.secondary {
            let or = if self.primary.is_some() { "or " } else { "" };
            let thread = column(way.thread);
            let text = way.text(what, &format!(" in {thread}, which has seen the store:"));
            lines.push(format!("fix: {or}{text}"));
        }
        lines
    }

    pub(crate) fn json(&self, bytes: u64) -> Vec<Value> {
        let ways = self.primary.iter().chain(&self.secondary);
        let json = |way: &Way| {
            json!({
                "action": if way.flush { "flush+fence" } else { "fence" }, "thread": way.thread,
                "after": way.after.as_ref().map(Place::json), "before": way.before.as_ref().map(Place::json),
                "bytes": bytes, "primary": self.primary.as_ref() == Some(way),
            })
        };
        ways.map(json).collect()
    }
}

impl Way {
    fn text(&self, what: &str, thread: &str) -> String {
        let action = match self.flush {
            true => format!("flush {what} and fence"),
            false => "fence".to_owned(),
        };
        let after = match &self.after {
            Some(after) => format!("after {}, ", after.colons()),
            None => String::new(),
        };
        let before = match &self.before {
            Some(before) => format!("before {}", before.colons()),
            None => "before it ends".to_owned(),
        };
        format!("{action}{thread} {after}{before}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32) -> Option<Place> {
        Some(Place {
            file: "a.c".to_owned(),
            line,
            column: 3,
            function: "f".to_owned(),
        })
    }

    fn way(thread: usize, before: Option<Place>) -> Way {
        Way {
            flush: true,
            thread,
            after: at(7),
            before,
        }
    }

    #[test]
    fn every_way_has_a_line() {
        let both = Ways {
            threads: (0, 1),
            primary: Some(way(0, None)),
            secondary: vec![way(1, at(9))],
        };
        assert_eq!(
            both.lines("`x` (4 bytes)"),
            [
                "fix: flush `x` (4 bytes) and fence in main, which stores it: after a.c:7:3, before it ends",
                "fix: or flush `x` (4 bytes) and fence in thread 1, which has seen the store: after a.c:7:3, before a.c:9:3",
            ]
        );
        let second = Ways {
            primary: None,
            ..both.clone()
        };
        let lines = second.lines("it");
        assert!(lines[0].starts_with("note: there is no place for a flush in main"));
        assert!(lines[1].starts_with("fix: flush it and fence in thread 1"));
        let json = second.json(4);
        assert_eq!((json.len(), &json[0]["primary"]), (1, &json!(false)));
        let none = Ways {
            secondary: Vec::new(),
            ..second
        };
        assert!(none.lines("it")[0].contains("no flush orders them"));
    }
}
