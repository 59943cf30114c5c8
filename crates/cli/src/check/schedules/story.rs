//! A schedule as people read it: a row for each step, with the reason for each switch.

use crate::names::{Names, Place};
use landfall_explore::schedule::sync::Op;
use landfall_explore::schedule::{Access, Act, Order, Step, Trace, Until};
use landfall_native::NativeThreads;
use serde_json::{Value, json};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Schedule {
    /// A column each: main, thread 1, …
    pub(crate) threads: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// Switches away from a thread that could have gone on.
    pub(crate) preemptions: usize,
    pub(crate) model: &'static str,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) thread: usize,
    pub(crate) at: Option<Place>,
    pub(crate) what: String,
    /// Done by the thread's store buffer.
    pub(crate) buffered: bool,
    /// Why this thread goes on here, where it is another one than before.
    pub(crate) why: Option<String>,
}

impl Schedule {
    pub(crate) fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "thread": row.thread, "at": row.at.as_ref().map(Place::json), "what": row.what,
                "buffered": row.buffered, "why": row.why,
            })
        };
        json!({
            "threads": self.threads, "model": self.model, "preemptions": self.preemptions,
            "steps": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// Names for objects and places of a search.
#[derive(Debug)]
pub(super) struct Telling<'a> {
    pub(super) threads: &'a NativeThreads<'a>,
    pub(super) names: &'a Names,
    pub(super) order: Order,
}

pub(super) fn column(thread: usize) -> String {
    match thread {
        0 => "main".to_owned(),
        n => format!("thread {n}"),
    }
}

impl Telling<'_> {
    pub(super) fn place(&self, site: u32) -> Option<Place> {
        self.names.origin(self.threads.origin(site))
    }

    /// What an object is called: a variable, or where it lies.
    pub(super) fn object(&self, object: u32, mask: u64) -> String {
        let Some(line) = self.threads.address(object) else {
            return "memory".to_owned();
        };
        let address = line
            + u64::from(if line % 64 == 0 {
                mask.trailing_zeros() % 64
            } else {
                0
            });
        if let Some(offset) = landfall_native::persistent_offset(address) {
            return crate::names::address(offset);
        }
        match self.names.symbols.variable(address) {
            Some(name) => format!("`{name}`"),
            None => format!("{address:#x}"),
        }
    }

    pub(super) fn what(&self, step: &Step) -> String {
        let object = self.object(step.object, step.mask);
        let value = |value: u64| match value {
            0..=0xffff => value.to_string(),
            _ => format!("{value:#x}"),
        };
        match step.act {
            Act::Load => format!("reads {object}: {}", value(step.found)),
            Act::Store => format!("{object} = {}", value(step.left)),
            Act::Commit => format!("{object} = {} reaches memory", value(step.left)),
            Act::Rmw => format!(
                "{object}: {} becomes {}",
                value(step.found),
                value(step.left)
            ),
            Act::Cas if step.access == Access::Write => {
                format!(
                    "{object}: {} becomes {}",
                    value(step.found),
                    value(step.left)
                )
            }
            Act::Cas => format!(
                "{object} is {}, not {}",
                value(step.found),
                value(step.expect)
            ),
            Act::Sync(op) if step.access == Access::None => format!("{} once more", verb(op)),
            Act::Sync(op) => format!("{} {object}", verb(op)),
            Act::Flush => format!("flushes {object}"),
            Act::Fence => "goes on".to_owned(),
        }
    }

    /// The first so many steps of an execution.
    pub(super) fn schedule(&self, trace: &Trace, count: usize, threads: usize) -> Schedule {
        let steps = &trace.steps[..count.min(trace.steps.len())];
        let mut rows = Vec::new();
        let mut running: Option<usize> = None;
        let mut preemptions = 0;
        for (at, step) in steps.iter().enumerate() {
            let thread = self.order.thread(step.process);
            let buffered = self.order.is_companion(step.process);
            let mut why = None;
            if buffered {
                why = Some(format!("commit of {}", self.object(step.object, step.mask)));
            } else if let Some(before) = running.filter(|&before| before != thread) {
                let could = trace.enabled[at] >> before & 1 != 0;
                preemptions += usize::from(could);
                why = Some(self.why(steps, at, before, could));
            }
            if !buffered {
                running = Some(thread);
            }
            rows.push(Row {
                thread,
                at: self.place(step.site),
                what: self.what(step),
                buffered,
                why,
            });
        }
        Schedule {
            threads: (0..threads).map(column).collect(),
            rows,
            preemptions,
            model: if trace
                .steps
                .iter()
                .any(|step| self.order.is_companion(step.process))
            {
                "tso"
            } else {
                "sc"
            },
        }
    }

    /// Why a thread goes on instead of `before`.
    fn why(&self, steps: &[Step], at: usize, before: usize, could: bool) -> String {
        let name = column(before);
        let next = steps[at..]
            .iter()
            .find(|step| usize::from(step.process) == before);
        if !could {
            return match next {
                None => format!("{name} has ended or waits"),
                Some(step) => match (step.act, step.until) {
                    (Act::Sync(op), _) if op.locks() => {
                        format!("{name} waits for {}", self.object(step.object, step.mask))
                    }
                    (_, Until::Changed) => format!("{name} waits for a change"),
                    _ => format!("{name} waits"),
                },
            };
        }
        let turn = steps[at..]
            .iter()
            .take_while(|step| usize::from(step.process) != before);
        let conflict = turn.clone().find(|step| {
            next.is_some_and(|next| {
                next.object == step.object
                    && next.mask & step.mask != 0
                    && (next.access == Access::Write || step.access == Access::Write)
            })
        });
        match (conflict, next) {
            (Some(step), _) => match step.act {
                Act::Sync(_) => format!("{} before {name}", self.object(step.object, step.mask)),
                _ => format!("race on {}", self.object(step.object, step.mask)),
            },
            (None, Some(_)) => format!("{name} is preempted"),
            (None, None) => format!("{name} does nothing more that matters"),
        }
    }
}

fn verb(op: Op) -> &'static str {
    match op {
        Op::Lock | Op::LockExclusive => "locks",
        Op::TryLock | Op::TryLockExclusive | Op::TryLockShared => "tries to lock",
        Op::LockShared => "locks for reading",
        Op::Unlock | Op::UnlockShared => "unlocks",
        Op::Take | Op::TryTake => "takes from",
        Op::Give => "gives to",
        Op::Wait => "begins to wait for",
        Op::Wake | Op::TimedWake => "is woken by",
        Op::Signal => "signals",
        Op::Broadcast => "broadcasts",
        Op::Arrive => "arrives at",
        Op::Once => "once:",
        Op::OnceDone | Op::OnceAbort => "has done once:",
        Op::Init => "makes",
        Op::Destroy => "destroys",
    }
}
