//! What is to be done about a finding, and which of two checks' findings are the same.

use crate::diagnose::transactions::to_add;
use crate::fix::project::Project;
use landfall_finding::text::plain;
use landfall_finding::{Action, Finding, Fix, Kind, Place, Severity, StoreRole};
use landfall_repair::{Place as Spot, StoredBytes, WantedRepair, WastedCall};

/// A finding of a check, with the persistent heap's blocks where they are or elsewhere.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OpenFinding {
    pub(crate) finding: Finding,
    /// It is there only with the persistent heap's blocks moved by so many bytes.
    pub(crate) moved: Option<u16>,
}

/// What is to be done, and in which file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RepairTask {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) wanted: WantedRepair,
}

/// What stays the same about a finding when lines move.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    kind: Kind,
    lost: Option<(String, u32)>,
    at: Option<(String, u32)>,
    crash_at: Option<(String, u32)>,
}

const UNORDERED: &str = "nothing makes the thread that stores later wait for the other one, so no flush orders the two stores: let it read what it depends on, or take a lock";

/// A place that the source has.
fn known(at: Option<&Place>) -> Option<&Place> {
    at.filter(|at| at.line > 0)
}

fn spot(at: &Place) -> Spot {
    Spot {
        line: at.line,
        column: at.column,
    }
}

fn task(wanted: WantedRepair, at: &Place) -> RepairTask {
    RepairTask {
        file: at.file.clone(),
        line: at.line,
        wanted,
    }
}

impl From<Finding> for OpenFinding {
    fn from(finding: Finding) -> OpenFinding {
        OpenFinding {
            finding,
            moved: None,
        }
    }
}

impl OpenFinding {
    fn at(&self) -> Option<&Place> {
        known(self.finding.at.as_ref())
    }

    fn crash_at(&self) -> Option<&Place> {
        known(self.finding.crash_at.as_ref())
    }

    /// Stores that are lost together: where, how many bytes, and who called, innermost first.
    fn lost(&self) -> impl Iterator<Item = (&Place, u64, &[Place])> {
        let lost = self.finding.stores_that(StoreRole::Lost);
        // The innermost frame is the store itself.
        lost.filter_map(|store| {
            let callers = store.stack.get(1..).unwrap_or_default();
            let at = known(store.at.as_ref())?;
            // Made by a library that was called there: what all it stores is not said.
            let inside = store
                .stack
                .first()
                .is_some_and(|inner| inner.file != at.file);
            let bytes = if inside { 0 } else { store.bytes };
            Some((at, bytes, callers))
        })
    }

    fn kept(&self) -> Option<&Place> {
        let mut kept = self.finding.stores_that(StoreRole::Kept);
        kept.find_map(|store| known(store.at.as_ref()))
    }

    /// The way to repair it that the check prefers.
    fn best(&self) -> Option<&Fix> {
        let fixes = &self.finding.fix;
        fixes.iter().find(|fix| fix.primary).or(fixes.first())
    }

    /// Where several threads ran: flushes and fences in one of them, and where they go.
    fn ways(&self) -> impl Iterator<Item = (&Fix, &Place)> {
        let orders = |fix: &&Fix| matches!(fix.action, Action::FlushFence | Action::Fence);
        let ways = self.finding.fix.iter().filter(orders);
        ways.filter_map(|fix| Some((fix, known(fix.after.as_ref())?)))
    }

    fn has_threads(&self) -> bool {
        self.finding.schedule.is_some()
    }

    /// In the thread that stored.
    fn primary(&self) -> Option<&Fix> {
        let mut ways = self.ways().filter(|_| self.has_threads());
        ways.find(|(way, _)| way.primary).map(|(way, _)| way)
    }

    /// Where it is in the original files, and what it is.
    pub(crate) fn title(&self, now: &Project, original: &Project) -> String {
        let at = self.lost().next().map(|(at, ..)| at).or(self.at());
        let kind = self.finding.kind;
        let moved = match self.moved {
            Some(bytes) => format!(" (with blocks moved by {bytes} bytes)"),
            None => String::new(),
        };
        match at {
            Some(at) => {
                let line = now.original_line(original, &at.file, at.line);
                format!("{}:{line}: [{kind}]{moved}", plain(&at.file))
            }
            None => format!("[{kind}] {}{moved}", self.finding.message),
        }
    }

    /// With places as they were in the original files.
    pub(crate) fn key(&self, now: &Project, original: &Project) -> Key {
        let line = |at: &Place| {
            let line = now.original_line(original, &at.file, at.line);
            (at.file.clone(), line)
        };
        let lost = self.lost().next().map(|(at, ..)| line(at));
        let alone = lost.is_none();
        Key {
            kind: self.finding.kind,
            at: self.at().filter(|_| alone).map(line),
            crash_at: self.crash_at().filter(|_| alone).map(line),
            lost,
        }
    }

    /// It costs time and breaks nothing.
    pub(crate) fn is_perf(&self) -> bool {
        self.finding.is_perf()
    }

    /// A store was lost: a flush may help.
    pub(crate) fn has_lost_store(&self) -> bool {
        self.lost().next().is_some()
    }

    /// A failure for which no store is to blame that was lost.
    pub(crate) fn is_order(&self) -> bool {
        !self.has_lost_store() && self.finding.severity == Severity::Error
    }

    /// What to try, best first: where the store is, then where it was called from.
    pub(crate) fn tasks(&self) -> Result<Vec<RepairTask>, String> {
        // Of a store in a thread of its own, what matters is how far that thread goes before others can see it.
        let last = match self.primary() {
            Some(way) => known(way.before.as_ref()),
            None => self.kept(),
        };
        let before = |file: &str| last.filter(|k| k.file == file).map(spot);
        let action = self.best().map(|fix| fix.action);
        let after = self.best().and_then(|fix| known(fix.after.as_ref()));
        let mut tasks = Vec::new();
        match (self.finding.kind, action) {
            (kind @ (Kind::RedundantFlush | Kind::RedundantFence), _) => {
                let at = self.at().ok_or("where it is called is not known")?;
                let wasted = match kind {
                    Kind::RedundantFlush => WastedCall::Flush,
                    _ => WastedCall::Fence,
                };
                let call = spot(at);
                return Ok(vec![task(WantedRepair::Without { call, wasted }, at)]);
            }
            (Kind::MissingSnapshot, _) => {
                let direct = to_add(&self.finding);
                let first = direct.first().ok_or("where the store is is not known")?;
                let stores = self.finding.unadded().filter_map(|s| s.at.as_ref());
                let all = stores.filter(|at| at.file == first.file);
                let ways = [direct.iter().map(spot).collect(), all.map(spot).collect()];
                let ways = ways
                    .into_iter()
                    .map(|stores| WantedRepair::Snapshot { stores });
                return Ok(ways.map(|wanted| task(wanted, first)).collect());
            }
            (Kind::PersistencyRace | Kind::DataRace, _) | (_, Some(Action::Atomic)) => {
                let lost = || self.lost().next().map(|(at, ..)| at);
                let at = after.or_else(lost).or(self.at());
                let at = at.ok_or("where the store is is not known")?;
                return Ok(vec![task(WantedRepair::Atomic { store: spot(at) }, at)]);
            }
            (_, Some(Action::Fence)) => {
                if let Some(after) = after {
                    let wanted = WantedRepair::Fence {
                        after: spot(after),
                        before: before(&after.file),
                    };
                    tasks.push(task(wanted, after));
                }
            }
            _ => {}
        }
        let Some((first, _, callers)) = self.lost().next() else {
            tasks.extend(self.without_flush());
            if tasks.is_empty() {
                return Err(self.no_flush_helps());
            }
            return Ok(tasks);
        };
        let mut elsewhere = Vec::new();
        if self.has_threads() && self.kept().is_some() {
            if self.ways().next().is_none() {
                return Err(UNORDERED.to_owned());
            }
            for (way, after) in self.ways().filter(|(way, _)| !way.primary) {
                let wanted = match way.action {
                    Action::FlushFence => WantedRepair::Seen {
                        read: spot(after),
                        bytes: way.bytes.unwrap_or(0),
                    },
                    _ => WantedRepair::Fence {
                        after: spot(after),
                        before: before(&after.file),
                    },
                };
                elsewhere.push(task(wanted, after));
            }
            if self.primary().is_none() {
                tasks.extend(elsewhere);
                return Ok(tasks);
            }
        }
        // Stores of one file that one missing flush loses are repaired together.
        let together = self.lost().filter(|(at, ..)| at.file == first.file);
        let stores = together.map(|(at, bytes, _)| StoredBytes {
            at: spot(at),
            bytes,
        });
        let wanted = WantedRepair::Durable {
            stores: stores.collect(),
            before: before(&first.file),
        };
        tasks.push(task(wanted, first));
        let callers = callers.iter().filter_map(|caller| known(Some(caller)));
        for caller in callers.filter(|caller| spot(caller) != spot(first)) {
            let wanted = WantedRepair::Durable {
                stores: vec![StoredBytes {
                    at: spot(caller),
                    bytes: 0,
                }],
                before: before(&caller.file),
            };
            tasks.push(task(wanted, caller));
        }
        tasks.extend(elsewhere);
        // All flushes tried: perhaps it is the order.
        tasks.extend(self.without_flush());
        Ok(tasks)
    }

    /// What else to try where no flush is missing: another order, an open lock.
    fn without_flush(&self) -> Option<RepairTask> {
        if let (Kind::Hang | Kind::Deadlock, Some(at)) = (self.finding.kind, self.at()) {
            let frames = self.finding.stack.iter().filter(|f| f.line > 0);
            let calls = frames.filter(|frame| frame.file == at.file).map(spot);
            let stack = std::iter::once(spot(at)).chain(calls).collect();
            return Some(task(WantedRepair::Reset { stack }, at));
        }
        if let Kind::Uninitialised | Kind::VolatilePointer = self.finding.kind {
            return None;
        }
        let at = self.crash_at()?;
        Some(task(WantedRepair::Later { store: spot(at) }, at))
    }

    pub(crate) fn no_flush_helps(&self) -> String {
        let why = match (self.finding.kind, self.crash_at()) {
            (Kind::Hang | Kind::Deadlock, _) => {
                "recovery waits for something that died with the power; reset it when the program starts"
            }
            (Kind::Uninitialised, _) => {
                "bytes that nobody wrote are not repaired by a flush: initialise the block"
            }
            (Kind::VolatilePointer, _) => {
                "no flush keeps what the pointer leads to: set it anew in each run, or keep it elsewhere"
            }
            (_, Some(_)) => {
                "all that was stored before the power failed had reached memory, so no flush is missing: the stores come in an order that leaves this state in between; change their order"
            }
            _ => "no store was lost, so no flush repairs it",
        };
        why.to_owned()
    }
}
