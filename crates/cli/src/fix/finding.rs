//! A finding as run.json tells it, and which of two checks' findings are the same.

use super::project::Project;
use landfall_repair::{Place, Stored, Wanted, Wasted};
use serde_json::Value;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct At {
    pub(super) file: String,
    pub(super) place: Place,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    kind: String,
    severity: String,
    message: String,
    at: Option<At>,
    crash_at: Option<At>,
    /// All of them are lost together.
    lost: Vec<Lost>,
    kept: Option<At>,
    action: Option<String>,
    /// Where the fix goes, as the check sees it.
    after: Option<At>,
    /// Where several threads ran: what to do in which of them, best first.
    ways: Option<Vec<Way>>,
    /// Of the recovery that failed, innermost first.
    stack: Vec<At>,
    /// It is there only with the persistent heap's blocks moved by so many bytes.
    pub(super) moved: Option<u16>,
}

/// A flush or fence in one of several threads.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Way {
    flush: bool,
    /// In the thread that stored; else in one that has seen it.
    primary: bool,
    after: At,
    before: Option<At>,
    bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Lost {
    at: At,
    bytes: u64,
    /// Who called, innermost first.
    callers: Vec<At>,
}

/// What is to be done, and in which file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Task {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) wanted: Wanted,
}

/// What stays the same about a finding when lines move.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    kind: String,
    lost: Option<(String, u32)>,
    at: Option<(String, u32)>,
    crash_at: Option<(String, u32)>,
}

const UNORDERED: &str = "nothing makes the thread that stores later wait for the other one, so no flush orders the two stores: let it read what it depends on, or take a lock";

impl At {
    fn read(value: &Value) -> Option<At> {
        let number = |name: &str| value[name].as_u64().and_then(|n| u32::try_from(n).ok());
        Some(At {
            file: value["file"].as_str()?.to_owned(),
            place: Place {
                line: number("line").filter(|&l| l > 0)?,
                column: number("column").unwrap_or(0),
            },
        })
    }
}

impl Finding {
    pub(super) fn read(value: &Value) -> Finding {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let stores = list(&value["stores"]);
        let role = |role: &'static str| stores.iter().filter(move |s| s["role"] == role);
        let lost = role("lost").filter_map(|store| {
            let stack = list(&store["stack"]);
            Some(Lost {
                at: At::read(&store["at"])?,
                bytes: store["bytes"].as_u64().unwrap_or(0),
                // The innermost frame is the store itself.
                callers: stack.iter().skip(1).filter_map(At::read).collect(),
            })
        });
        let fixes = list(&value["fix"]);
        let way = |fix: &Value| {
            let flush = match fix["action"].as_str()? {
                "flush+fence" => true,
                "fence" => false,
                _ => return None,
            };
            Some(Way {
                flush,
                primary: fix["primary"] == true,
                after: At::read(&fix["after"])?,
                before: At::read(&fix["before"]),
                bytes: fix["bytes"].as_u64().unwrap_or(0),
            })
        };
        let ways = || fixes.iter().filter_map(way).collect();
        let best = fixes
            .iter()
            .find(|f| f["primary"] == true)
            .or(fixes.first());
        Finding {
            kind: text("kind"),
            severity: text("severity"),
            message: text("message"),
            at: At::read(&value["at"]),
            crash_at: At::read(&value["crash_at"]),
            lost: lost.collect(),
            kept: role("kept").find_map(|s| At::read(&s["at"])),
            action: best.and_then(|f| f["action"].as_str()).map(str::to_owned),
            after: best.and_then(|f| At::read(&f["after"])),
            ways: (!value["schedule"].is_null()).then(ways),
            stack: list(&value["stack"]).iter().filter_map(At::read).collect(),
            moved: None,
        }
    }

    /// Where it is in the original files, and what it is.
    pub(super) fn title(&self, now: &Project, original: &Project) -> String {
        let at = self.lost.first().map(|l| &l.at).or(self.at.as_ref());
        let moved = match self.moved {
            Some(bytes) => format!(" (with blocks moved by {bytes} bytes)"),
            None => String::new(),
        };
        match at {
            Some(At { file, place }) => {
                let line = now.original_line(original, file, place.line);
                let file = crate::screen::plain(file);
                format!("{file}:{line}: [{}]{moved}", self.kind)
            }
            None => format!("[{}] {}{moved}", self.kind, self.message),
        }
    }

    /// With places as they were in the original files.
    pub(super) fn key(&self, now: &Project, original: &Project) -> Key {
        let line = |at: &At| {
            (
                at.file.clone(),
                now.original_line(original, &at.file, at.place.line),
            )
        };
        let lost = self.lost.first().map(|lost| line(&lost.at));
        let alone = lost.is_none();
        Key {
            kind: self.kind.clone(),
            at: self.at.as_ref().filter(|_| alone).map(line),
            crash_at: self.crash_at.as_ref().filter(|_| alone).map(line),
            lost,
        }
    }

    /// It costs time and breaks nothing.
    pub(super) fn is_perf(&self) -> bool {
        self.severity == "perf"
    }

    /// A store was lost: a flush may help.
    pub(super) fn has_lost_store(&self) -> bool {
        !self.lost.is_empty()
    }

    /// A failure for which no store is to blame that was lost.
    pub(super) fn is_order(&self) -> bool {
        self.lost.is_empty() && self.severity == "error"
    }

    /// What to try, best first: where the store is, then where it was called from.
    pub(super) fn tasks(&self) -> Result<Vec<Task>, String> {
        // Of a store in a thread of its own, what matters is how far that thread goes before others can see it.
        let last = match self.primary() {
            Some(way) => way.before.as_ref(),
            None => self.kept.as_ref(),
        };
        let before = |file: &str| last.filter(|k| k.file == file).map(|k| k.place);
        let here = |wanted: Wanted, at: &At| Task {
            file: at.file.clone(),
            line: at.place.line,
            wanted,
        };
        let mut tasks = Vec::new();
        match (self.kind.as_str(), self.action.as_deref()) {
            ("redundant-flush" | "redundant-fence", _) => {
                let at = self.at.as_ref().ok_or("where it is called is not known")?;
                let wasted = match self.kind.as_str() {
                    "redundant-flush" => Wasted::Flush,
                    _ => Wasted::Fence,
                };
                let call = at.place;
                return Ok(vec![here(Wanted::Without { call, wasted }, at)]);
            }
            ("persistency-race" | "data-race", _) | (_, Some("atomic")) => {
                let at = self
                    .after
                    .as_ref()
                    .or(self.lost.first().map(|l| &l.at))
                    .or(self.at.as_ref());
                let at = at.ok_or("where the store is is not known")?;
                return Ok(vec![here(Wanted::Atomic { store: at.place }, at)]);
            }
            (_, Some("fence")) => {
                if let Some(after) = &self.after {
                    let wanted = Wanted::Fence {
                        after: after.place,
                        before: before(&after.file),
                    };
                    tasks.push(here(wanted, after));
                }
            }
            _ => {}
        }
        let Some(first) = self.lost.first() else {
            tasks.extend(self.without_flush());
            if tasks.is_empty() {
                return Err(self.no_flush_helps());
            }
            return Ok(tasks);
        };
        let mut elsewhere = Vec::new();
        if let (Some(ways), true) = (&self.ways, self.kept.is_some()) {
            if ways.is_empty() {
                return Err(UNORDERED.to_owned());
            }
            for way in ways.iter().filter(|way| !way.primary) {
                let (after, bytes) = (&way.after, way.bytes);
                let wanted = match way.flush {
                    true => Wanted::Seen {
                        read: after.place,
                        bytes,
                    },
                    false => Wanted::Fence {
                        after: after.place,
                        before: before(&after.file),
                    },
                };
                elsewhere.push(here(wanted, after));
            }
            if self.primary().is_none() {
                tasks.extend(elsewhere);
                return Ok(tasks);
            }
        }
        // Stores of one file that one missing flush loses are repaired together.
        let together = self.lost.iter().filter(|l| l.at.file == first.at.file);
        let stores = together.map(|l| Stored {
            at: l.at.place,
            bytes: l.bytes,
        });
        let wanted = Wanted::Durable {
            stores: stores.collect(),
            before: before(&first.at.file),
        };
        tasks.push(here(wanted, &first.at));
        for caller in first.callers.iter().filter(|c| c.place != first.at.place) {
            let wanted = Wanted::Durable {
                stores: vec![Stored {
                    at: caller.place,
                    bytes: 0,
                }],
                before: before(&caller.file),
            };
            tasks.push(here(wanted, caller));
        }
        tasks.extend(elsewhere);
        // All flushes tried: perhaps it is the order.
        tasks.extend(self.without_flush());
        Ok(tasks)
    }

    fn primary(&self) -> Option<&Way> {
        self.ways.iter().flatten().find(|way| way.primary)
    }

    /// What else to try where no flush is missing: another order, an open lock.
    fn without_flush(&self) -> Option<Task> {
        if let ("hang" | "deadlock", Some(at)) = (self.kind.as_str(), &self.at) {
            let here = |frame: &&At| frame.file == at.file;
            let calls = self.stack.iter().filter(here).map(|frame| frame.place);
            let stack = std::iter::once(at.place).chain(calls).collect();
            return Some(Task {
                file: at.file.clone(),
                line: at.place.line,
                wanted: Wanted::Reset { stack },
            });
        }
        let At { file, place } = self.crash_at.as_ref()?;
        Some(Task {
            file: file.clone(),
            line: place.line,
            wanted: Wanted::Later { store: *place },
        })
    }

    pub(super) fn no_flush_helps(&self) -> String {
        let why = match (self.kind.as_str(), &self.crash_at) {
            ("hang" | "deadlock", _) => {
                "recovery waits for something that died with the power; reset it when the program starts"
            }
            (_, Some(_)) => {
                "all that was stored before the power failed had reached memory, so no flush is missing: the stores come in an order that leaves this state in between; change their order"
            }
            _ => "no store was lost, so no flush repairs it",
        };
        why.to_owned()
    }
}
