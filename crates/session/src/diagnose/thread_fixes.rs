//! Ways to keep a store from being overtaken where several threads run: in its own thread, or in one that has seen it.

use crate::programs::LoggedRun;
use landfall_check::fixes::fixes;
use landfall_check::{Execution, Fix as Judged};
use landfall_finding::{Action, Fix, Place};
use landfall_model::log::{Cut, Entry};
use std::collections::HashMap;

/// A schedule as checkers see it, with the places of its events.
#[derive(Clone, Debug)]
pub(crate) struct JudgedSchedule {
    pub(crate) execution: Execution,
    pub(crate) places: HashMap<u32, Place>,
}

/// What would keep one store from being overtaken by another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ThreadFixes {
    /// The thread of the lost store, and of the one that was kept.
    pub(crate) threads: (usize, usize),
    /// In the thread of the lost store first, then in those that have seen it.
    pub(crate) fixes: Vec<Fix>,
}

impl ThreadFixes {
    /// What would have kept `lost`, a store of so many bytes, from being overtaken by `kept`, both entries of the log of `run`, which
    /// ran under this schedule.
    pub(crate) fn new(
        run: &LoggedRun,
        (lost, bytes): (Cut, u64),
        kept: Cut,
        schedule: &JudgedSchedule,
    ) -> Option<ThreadFixes> {
        let event = |entry: Cut| {
            let entries = run.log.entries();
            let &Entry::Store { thread, .. } = entries.get(entry.0 as usize)? else {
                return None;
            };
            let mine = |e: &&Entry| matches!(e, Entry::Store { thread: t, .. } if *t == thread);
            let number = entries[..entry.0 as usize].iter().filter(mine).count();
            let events = schedule.execution.of_thread(thread).iter().copied();
            let mut stores = events.filter(|&e| schedule.execution.event(e).piece().is_some());
            Some((usize::from(thread), stores.nth(number)?))
        };
        let ((owner, lost), (keeper, kept)) = (event(lost)?, event(kept)?);
        let (mut primary, mut secondary) = (None, Vec::new());
        for fix in fixes(&schedule.execution, 0, lost, kept) {
            let (action, window) = match fix {
                Judged::FlushFence { window, .. } => (Action::FlushFence, window),
                Judged::Fence { window } => (Action::Fence, window),
                _ => continue,
            };
            // Who joined or was created learns of it without a place of its own.
            let (after, before) = window.sites;
            let place = |site: u32| schedule.places.get(&site);
            let fix = Fix {
                thread: Some(window.thread.into()),
                after: place(after).filter(|_| after != before).cloned(),
                before: place(before).cloned(),
                bytes: Some(bytes),
                ..Fix::new(action, window.primary)
            };
            match window.primary {
                true => primary = Some(fix),
                false => secondary.push(fix),
            }
        }
        Some(ThreadFixes {
            threads: (owner, keeper),
            fixes: primary.into_iter().chain(secondary).collect(),
        })
    }
}
