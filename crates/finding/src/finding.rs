//! One thing that is wrong with a program: what, where, which stores it is about, how to repair it, how to see it again.

use crate::text::bytes;
use crate::{Kind, Place, RaceEffect, Severity, Timeline, Turn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is wrong, however often it showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Finding {
    /// B1, B2 …
    #[serde(default)]
    pub id: String,
    /// What is wrong.
    pub kind: Kind,
    /// How bad it is.
    #[serde(default = "worst")]
    pub severity: Severity,
    /// What is wrong, in a sentence about this program.
    #[serde(default)]
    pub message: String,
    /// Where it shows.
    #[serde(default)]
    pub at: Option<Place>,
    /// It shows in somebody else's binary of a library, called there ([`Store::inside`]).
    #[serde(skip)]
    pub inside: bool,
    /// Of a data race, the access that came first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Place>,
    /// Of the failing execution, innermost first.
    #[serde(default)]
    pub stack: Vec<Place>,
    /// The last store before the power failed; none if nothing was stored, or if no power failure is needed.
    #[serde(default)]
    pub crash_at: Option<Place>,
    /// Power failures before it.
    #[serde(default)]
    pub failures: usize,
    /// The stores it is about: those that were lost, the later one that was kept, the one that may be found half done.
    #[serde(default)]
    pub stores: Vec<Store>,
    /// Why nothing made the lost store durable in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// Ways to repair it, the best first.
    #[serde(default)]
    pub fix: Vec<Fix>,
    /// More about it, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Reads of the failing recovery that could have returned something else.
    #[serde(default)]
    pub reads: Vec<ReadChoice>,
    /// How many showed it.
    #[serde(default)]
    pub executions: u64,
    /// How others end for the same reason.
    #[serde(default)]
    pub other_messages: Vec<String>,
    /// The file for `landfall replay`.
    #[serde(default)]
    pub witness: Option<String>,
    /// False: the search was ended before a plainer way to it was looked for.
    #[serde(default = "yes")]
    pub minimised: bool,
    /// False: the search was ended before it was run again from scratch.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub replayed: bool,
    /// The threads there were, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<String>,
    /// How the threads took turns, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Vec<Turn>>,
    /// How often that schedule preempts a thread that could have gone on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<Preemptions>,
    /// Of a data race: what comes of its order. Left out if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<RaceEffect>,
    /// The failing executions, event by event, around what matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// What to type to see it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// Patches, with what is known of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<Diff>,
    /// What the failing execution printed, the end of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

fn worst() -> Severity {
    Severity::Error
}

fn yes() -> bool {
    true
}

fn is_true(flag: &bool) -> bool {
    *flag
}

/// How messages about failures begin; what follows is how it ended.
const BEGINNINGS: [&str; 2] = [
    "recovery fails: ",
    "the program fails without any power failure: ",
];

impl Finding {
    /// With nothing but a message.
    pub fn new(kind: Kind, severity: Severity, message: impl Into<String>) -> Finding {
        Finding {
            id: String::new(),
            kind,
            severity,
            message: message.into(),
            at: None,
            inside: false,
            other: None,
            stack: Vec::new(),
            crash_at: None,
            failures: 0,
            stores: Vec::new(),
            gap: None,
            fix: Vec::new(),
            notes: Vec::new(),
            reads: Vec::new(),
            executions: 1,
            other_messages: Vec::new(),
            witness: None,
            minimised: true,
            replayed: true,
            threads: Vec::new(),
            schedule: None,
            preemptions: None,
            effect: None,
            timeline: None,
            replay: None,
            diffs: Vec::new(),
            output: String::new(),
        }
    }

    /// A failure that ended so, after so many power failures.
    pub fn of_failure(kind: Kind, ended: &str, failures: usize) -> Finding {
        let beginning = BEGINNINGS[usize::from(failures == 0)];
        let mut finding = Finding::new(kind, Severity::Error, format!("{beginning}{ended}"));
        finding.failures = failures;
        finding
    }

    /// What went wrong, whoever it happened to.
    pub fn ended(message: &str) -> &str {
        let known = BEGINNINGS.iter();
        let rest = known.filter_map(|beginning| message.strip_prefix(beginning));
        rest.into_iter().next().unwrap_or(message)
    }

    /// The stores that play this part.
    pub fn stores_that(&self, role: StoreRole) -> impl Iterator<Item = &Store> {
        self.stores.iter().filter(move |store| store.role == role)
    }

    /// The store that did not reach persistent memory; others may be lost for the same reason.
    pub fn lost(&self) -> Option<&Store> {
        self.stores_that(StoreRole::Lost).next()
    }

    /// Other stores that the same missing flush loses.
    pub fn also_lost(&self) -> impl Iterator<Item = &Store> {
        self.stores_that(StoreRole::Lost).skip(1)
    }

    /// The later store that did reach it.
    pub fn kept(&self) -> Option<&Store> {
        self.stores_that(StoreRole::Kept).next()
    }

    /// The store that may be found half done.
    pub fn racing(&self) -> Option<&Store> {
        self.stores_that(StoreRole::Racing).next()
    }

    /// Stores of a transaction that does not answer for them.
    pub fn unadded(&self) -> impl Iterator<Item = &Store> {
        self.stores_that(StoreRole::Unadded)
    }

    /// Part of a copy was lost and another part of it kept.
    pub fn is_torn(&self) -> bool {
        (self.gap.as_ref()).is_some_and(|gap| gap.kind == GapKind::Torn)
    }

    /// One half of a store was lost and the other kept: it lies on two lines.
    pub fn straddles(&self) -> bool {
        (self.gap.as_ref()).is_some_and(|gap| gap.kind == GapKind::Straddles)
    }

    /// Does it cost time and break nothing?
    pub fn is_perf(&self) -> bool {
        self.severity == Severity::Perf
    }

    /// Is it a failure for the loss of a store at this place?
    pub fn loses_at(&self, at: &Place) -> bool {
        let mut lost = self.stores_that(StoreRole::Lost);
        self.severity == Severity::Error && lost.any(|lost| lost.at.as_ref() == Some(at))
    }
}

/// A store that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Store {
    /// Its part in it.
    pub role: StoreRole,
    /// Where it is made.
    pub at: Option<Place>,
    /// Of the whole store or copy.
    #[serde(default)]
    pub bytes: u64,
    /// Where in persistent memory: a part and an offset.
    #[serde(default)]
    pub address: String,
    /// `address` as an offset in the window, while the check runs.
    #[serde(skip)]
    pub offset: u64,
    /// Somebody else's binary of a library made it that is known to keep its own order, while the check runs.
    #[serde(skip)]
    pub inside: bool,
    /// Innermost first; empty unless the execution was run with stacks.
    #[serde(default)]
    pub stack: Vec<Place>,
    /// What it stores to, by the program's debug information.
    #[serde(default)]
    pub member: Option<Member>,
    /// Which thread made it, where several ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<usize>,
}

/// The part of persistent memory that stands for what the world outside was told.
pub const ACKNOWLEDGED: &str = "acknowledged";

impl Store {
    /// Is it no store of the program's, but what somebody was told?
    pub fn is_acknowledgement(&self) -> bool {
        let part = self.address.split('+').next();
        part == Some(ACKNOWLEDGED)
    }
}

/// The part of a store in a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoreRole {
    /// It did not reach persistent memory.
    Lost,
    /// A later one that did.
    Kept,
    /// It may be found half done.
    Racing,
    /// It was made in a transaction that does not answer for it.
    Unadded,
}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Member {
    /// The struct.
    #[serde(rename = "struct")]
    pub of: String,
    /// Its name.
    pub name: String,
    /// In the struct, in bytes.
    pub offset: u64,
    /// Bytes of the struct, while the check runs.
    #[serde(skip)]
    pub size: u64,
    /// Where it is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Place>,
}

/// Why nothing made the lost store durable in time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Gap {
    /// What is missing.
    pub kind: GapKind,
    /// The flush that is too late, not fenced, or of another line.
    pub flush: Option<Place>,
    /// What kind of flush: `clwb`, `clflushopt`, `flush`.
    pub instruction: String,
    /// Who called the function that flushes, where that is not the one that stores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_from: Option<Place>,
}

/// What is missing between a store and its durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GapKind {
    /// Nothing flushes it.
    NeverFlushed,
    /// It is flushed after the later store.
    FlushedLate,
    /// It is flushed, and no fence waits for that.
    NotFenced,
    /// The flush writes back the line beside it.
    OtherLine,
    /// It is non-temporal, and no fence completes it.
    Streamed,
    /// Both are parts of one copy.
    Torn,
    /// Both are halves of one store, which straddles two lines.
    Straddles,
}

impl Gap {
    /// The flush is there, or not needed: a fence is all that is missing.
    pub fn only_fence(&self) -> bool {
        matches!(self.kind, GapKind::NotFenced | GapKind::Streamed)
    }
}

/// A read that could have returned something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReadChoice {
    /// Where it is made.
    pub at: Option<Place>,
    /// Where in persistent memory: a part and an offset.
    pub address: String,
    /// How many.
    pub bytes: u32,
    /// Hexadecimal.
    pub value: String,
    /// Where that value comes from.
    pub from: ValueSource,
    /// What it could have been instead.
    pub others: Vec<ReadAlternative>,
}

/// Another value that a read could have returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReadAlternative {
    /// Hexadecimal.
    pub value: String,
    /// Where that value comes from.
    pub from: ValueSource,
}

/// Where a value in persistent memory comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ValueSource {
    /// Where it was stored; none if that was a library, or nobody.
    pub at: Option<Place>,
    /// Which execution stored it, from 1; null: memory as it was at the beginning.
    pub execution: Option<usize>,
}

impl ValueSource {
    /// Behind a comma.
    pub fn words(&self) -> String {
        match (&self.at, self.execution) {
            (_, None) => "as it was at the beginning".to_owned(),
            (Some(at), Some(1)) => format!("stored at {}", at.colons()),
            (Some(at), Some(n)) => {
                format!("stored at {} after power failure {}", at.colons(), n - 1)
            }
            (None, Some(_)) => "stored by a library".to_owned(),
        }
    }
}

/// How often a schedule preempts a thread that could have gone on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Preemptions {
    /// So often.
    pub count: u32,
    /// No schedule with fewer shows the same.
    pub fewest: bool,
}

/// A patch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Diff {
    /// What it does.
    pub title: String,
    /// A unified diff.
    pub text: String,
}

/// One way to repair it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Fix {
    /// What to do.
    pub action: Action,
    /// After what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Place>,
    /// Before what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Place>,
    /// To how many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// For align and co-locate: bytes between the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<u64>,
    /// For align and co-locate: where the two, or the one, are members.
    #[serde(default, rename = "struct", skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// For align and co-locate: the two, or the one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// For snapshot, and for flush and fence with PMDK: the line that is missing, in the words of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// In which thread, where several ran: that of the lost store (primary), or one that has seen it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<usize>,
    /// The one to try first.
    pub primary: bool,
}

/// What a repair does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Flush what was stored, and fence.
    #[serde(rename = "flush+fence")]
    FlushFence,
    /// Fence.
    Fence,
    /// Make the store atomic.
    Atomic,
    /// Store what commits a copy by itself, after the rest.
    SeparateStore,
    /// Align the two, or what lies on two lines, to a cache line.
    Align,
    /// Put the two on one cache line.
    CoLocate,
    /// Add what is stored to the transaction.
    Snapshot,
}

impl Fix {
    /// One that does this, and says no more yet.
    pub fn new(action: Action, primary: bool) -> Fix {
        Fix {
            action,
            after: None,
            before: None,
            bytes: None,
            apart: None,
            of: None,
            members: Vec::new(),
            code: None,
            thread: None,
            primary,
        }
    }

    /// For people.
    pub fn sentence(&self) -> String {
        let stored = match self.bytes {
            None | Some(0) => String::new(),
            Some(1) => " the byte".to_owned(),
            Some(n) => format!(" the {}", bytes(n)),
        };
        let mut text = match self.action {
            Action::FlushFence if self.code.is_some() => {
                format!("Add `{}`", self.code.as_deref().unwrap_or_default())
            }
            Action::FlushFence if stored.is_empty() => "Flush and fence".to_owned(),
            Action::FlushFence => format!("Flush and fence{stored} stored"),
            Action::Fence => "Fence".to_owned(),
            Action::Atomic => format!("Store{stored} in one atomic access"),
            Action::SeparateStore => {
                "Copy and persist the rest first, then store what commits it by itself".to_owned()
            }
            Action::Align => match (&self.of, &self.members[..], self.bytes) {
                (Some(of), [member], Some(to)) => format!(
                    "Align `{of}` to {to} bytes, so that `{member}` is on the cache line it begins on"
                ),
                (_, _, Some(to)) => {
                    format!("Align it to {to} bytes, so that it lies on one cache line")
                }
                _ => "Align the two to 64 bytes, so that they share a cache line".to_owned(),
            },
            Action::CoLocate => "Put the two on one cache line".to_owned(),
            Action::Snapshot => match &self.code {
                Some(code) => format!("Add `{code}`"),
                None => format!("Add{stored} stored to the transaction"),
            },
        };
        if let Some(apart) = self.apart {
            text.push_str(&format!(" (they are {apart} bytes apart)"));
        }
        match self.thread {
            None => {}
            Some(0) => text.push_str(" in main"),
            Some(n) => text.push_str(&format!(" in thread {n}")),
        }
        let mut place = |word: &str, at: &Option<Place>| {
            if let Some(at) = at {
                text.push_str(&format!("{word} {}", at.colons()));
            }
        };
        match self.action {
            Action::Atomic | Action::SeparateStore => place(", at", &self.after),
            _ => {
                place(" after", &self.after);
                place(", before", &self.before);
            }
        }
        match (self.primary, self.thread) {
            (true, _) => {}
            (false, Some(_)) => text.push_str(" (it has seen the store)"),
            (false, None) => text.push_str(" (another way)"),
        }
        text + "."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32) -> Option<Place> {
        Some(Place {
            file: "a.c".into(),
            line,
            ..Place::default()
        })
    }

    #[test]
    fn fixes_are_sentences() {
        let fix = |action| Fix {
            after: at(1),
            before: at(2),
            bytes: Some(8),
            ..Fix::new(action, true)
        };
        assert_eq!(
            fix(Action::FlushFence).sentence(),
            "Flush and fence the 8 bytes stored after a.c:1, before a.c:2."
        );
        assert_eq!(
            fix(Action::Atomic).sentence(),
            "Store the 8 bytes in one atomic access, at a.c:1."
        );
        let elsewhere = Fix {
            thread: Some(1),
            primary: false,
            ..fix(Action::FlushFence)
        };
        assert_eq!(
            elsewhere.sentence(),
            "Flush and fence the 8 bytes stored in thread 1 after a.c:1, before a.c:2 (it has seen the store)."
        );
        let near = Fix {
            apart: Some(56),
            ..Fix::new(Action::Align, false)
        };
        assert_eq!(
            near.sentence(),
            "Align the two to 64 bytes, so that they share a cache line (they are 56 bytes apart) (another way)."
        );
        let whole = Fix {
            of: Some("header".into()),
            members: vec!["last".into()],
            bytes: Some(64),
            ..Fix::new(Action::Align, false)
        };
        assert_eq!(
            whole.sentence(),
            "Align `header` to 64 bytes, so that `last` is on the cache line it begins on (another way)."
        );
    }
}
