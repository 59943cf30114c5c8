//! What is said of what a schedule shows: a deadlock, a data race, a lock that is used against its rules.

use crate::view::schedule::{ScheduleNames, column};
use landfall_explore::schedule::data_races::DataRace;
use landfall_explore::schedule::locks::{Misuse, Reason, explain};
use landfall_explore::schedule::{NOWHERE, Order, Process, Trace};
use landfall_finding::{Finding, Kind, Place, Severity};

/// Callers of one that waits that are named.
const CALLERS: usize = 4;

/// What a thread reads in a loop, as far as it is named.
const MOST_NAMES: usize = 4;

fn at(place: Option<&Place>) -> String {
    place.map_or_else(|| "a library".to_owned(), Place::colons)
}

pub(super) fn stuck(telling: &ScheduleNames<'_>, trace: &Trace, order: Order) -> Finding {
    let Some(stuck) = explain(trace, order) else {
        return Finding::new(
            Kind::Deadlock,
            Severity::Error,
            "no thread can go on".to_owned(),
        );
    };
    let message = match (stuck.spinning, stuck.ring.len()) {
        (true, _) => {
            "livelock: every thread waits, some in a loop, for a change that nobody will make"
                .to_owned()
        }
        (false, 0) => "deadlock: every thread waits for something that nobody will do".to_owned(),
        (false, 1) => "deadlock: a thread waits for a lock that it holds itself".to_owned(),
        (false, n) => format!("deadlock: {n} threads wait for each other"),
    };
    let mut finding = Finding::new(Kind::Deadlock, Severity::Error, message);
    let of =
        |thread: Option<Process>| thread.map_or_else(|| "nobody".to_owned(), |t| column(t.into()));
    for &(thread, site, reason) in &stuck.waits {
        let (place, callers) = telling.waiting(thread, site);
        let name = |object: u32| telling.object(object, u64::MAX);
        let why = match reason {
            Reason::Lock {
                lock,
                holder,
                since,
            } => {
                let since = since.map_or_else(String::new, |site| {
                    format!(" since {}", at(telling.place(site).as_ref()))
                });
                format!(
                    "waits for {}, which {} holds{since}",
                    name(lock),
                    of(holder)
                )
            }
            Reason::Semaphore { semaphore, .. } => {
                format!("waits for {} to be given", name(semaphore))
            }
            Reason::Signal {
                condition,
                last: None,
            } => {
                format!(
                    "waits for a signal of {}, which nobody ever sends",
                    name(condition)
                )
            }
            Reason::Signal { condition, last } => format!(
                "waits for a signal of {}; the last one was sent by {}, before it waited",
                name(condition),
                of(last)
            ),
            Reason::Others { barrier } => format!("waits for others at {}", name(barrier)),
            Reason::Change { object, .. } if object == NOWHERE => "loops for ever".to_owned(),
            Reason::Change {
                object, mask, more, ..
            } => {
                let all = &trace.sets.watched[more as usize];
                let first = (object, mask);
                let mut names: Vec<String> = Vec::new();
                for (object, mask) in std::iter::once(first).chain(all.iter().copied()) {
                    let name = telling.object(object, mask);
                    if telling.is_memory(object) && !names.contains(&name) {
                        names.push(name);
                    }
                }
                let more = names.len().saturating_sub(MOST_NAMES);
                names.truncate(MOST_NAMES);
                names.extend((more > 0).then(|| format!("{more} more")));
                format!("reads {} again and again", names.join(" and "))
            }
            Reason::End { of } => format!("waits for {} to end", column(of.into())),
            Reason::Nothing => "waits".to_owned(),
        };
        let called = callers.iter().take(CALLERS).map(|caller| {
            let function = &caller.function;
            format!(", called at {} in {function}", at(Some(caller)))
        });
        finding.notes.push(format!(
            "{} {why}, at {}{}",
            column(thread.into()),
            at(place.as_ref()),
            called.collect::<String>()
        ));
        if stuck.ring.first() == Some(&thread) || finding.at.is_none() {
            finding.at = place;
        }
    }
    finding
}

pub(super) fn data_race(telling: &ScheduleNames<'_>, race: &DataRace) -> Finding {
    let object = telling.object(race.object, race.mask);
    let verb = |writes: bool| if writes { "writes" } else { "reads" };
    let (first, second) = (race.first, race.second);
    let message = format!(
        "data race on {object}: {} {} it while {} {} it, and nothing orders them",
        column(first.thread.into()),
        verb(first.write),
        column(second.thread.into()),
        verb(second.write)
    );
    let mut finding = Finding::new(Kind::DataRace, Severity::Warning, message);
    finding.at = telling.place(second.site);
    let other = telling.place(first.site);
    finding.notes.push(format!(
        "{} {} it at {}",
        column(first.thread.into()),
        verb(first.write),
        at(other.as_ref())
    ));
    finding.other = other;
    finding
}

pub(super) fn misused(telling: &ScheduleNames<'_>, misuse: &Misuse) -> Finding {
    let name = |object: u32| telling.object(object, u64::MAX);
    let place = |site: u32| at(telling.place(site).as_ref());
    let who = |thread: Process| column(thread.into());
    let of_another = |thread, does, lock, holder| {
        let (thread, lock, holder) = (who(thread), name(lock), who(holder));
        format!("{thread} {does} {lock}, which {holder} holds")
    };
    let mut severity = Severity::Error;
    let (message, site) = match *misuse {
        Misuse::LockedTwice {
            thread,
            lock,
            site,
            held_since,
        } => {
            let (lock, since) = (name(lock), place(held_since));
            let message = format!(
                "{} locks {lock}, which it has held since {since}",
                who(thread)
            );
            (message, site)
        }
        Misuse::UnlockedByStranger {
            thread,
            lock,
            site,
            holder,
        } => (of_another(thread, "unlocks", lock, holder), site),
        Misuse::UnlockedUnheld { thread, lock, site } => {
            let (thread, lock) = (who(thread), name(lock));
            (format!("{thread} unlocks {lock}, which nobody holds"), site)
        }
        Misuse::HeldByTwo {
            thread,
            lock,
            site,
            holder,
            held_since,
        } => {
            let (thread, lock, holder) = (who(thread), name(lock), who(holder));
            let since = place(held_since);
            let message =
                format!("{thread} holds {lock}, which {holder} has held since {since} (lf_lock)");
            (message, site)
        }
        Misuse::DestroyedHeld {
            thread,
            lock,
            site,
            holder,
        } => (of_another(thread, "destroys", lock, holder), site),
        Misuse::UsedDestroyed {
            thread,
            lock,
            site,
            destroyed,
        } => {
            let (thread, lock) = (who(thread), name(lock));
            let there = destroyed.map_or_else(String::new, |site| format!(" at {}", place(site)));
            (
                format!("{thread} uses {lock}, which was destroyed{there}"),
                site,
            )
        }
        Misuse::Disturbed {
            thread,
            lock,
            site,
            destroyed,
        } => {
            let (thread, lock) = (who(thread), name(lock));
            let does = if destroyed { "destroys" } else { "makes anew" };
            (
                format!("{thread} {does} {lock}, which others hold or wait for"),
                site,
            )
        }
        Misuse::Inversion {
            outer,
            inner,
            site,
            other_site,
        } => {
            severity = Severity::Warning;
            let (inner, outer, other) = (name(inner), name(outer), place(other_site));
            let message = format!(
                "{inner} is locked while {outer} is held; at {other} it is the other way round"
            );
            (message, site)
        }
    };
    let mut finding = Finding::new(Kind::LockMisuse, severity, message);
    finding.at = telling.place(site);
    finding
}
