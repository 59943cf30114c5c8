//! Did somebody make the conflicts that transactions were aborted by? While the search goes on an attempt is told that there was one as it is told that
//! it fails for no reason: two answers to a question. Whether the answers can be true is judged at the end, of the execution as a set of orders: is there
//! one in which each of those attempts is met, between what its thread did before and what it does next, by an access of another thread?
//!
//! That is tried out: transitions in any order that the execution allows, and attempts access by access between them. Whoever meets what
//! another one has accessed by then ends that one. Only what concerns such attempts takes part.
//!
//! What an attempt would access depends on what it reads. So its code is run, and undone, as a transition that has read that; whoever writes there comes before
//! or after it.

use super::step::{Access, Act, Order, Process, Step};
use super::trace::{Attempt, AttemptFate, FootprintAccess, Trace, Trailing};
use rustc_hash::FxHashSet;

/// Bytes of an object, and whether they are written.
type ConflictBytes = (u32, u64, bool);

/// A moment of the execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ConflictMoment {
    /// A transition, by its index.
    Step(usize),
    /// An access that is none.
    Trailing(usize),
    /// After an attempt its thread goes on.
    Exit(usize),
}

/// What comes before something: events, attempts, and the first accesses of attempts unless those are over.
#[derive(Clone, Default)]
struct ComesBefore {
    events: Vec<usize>,
    attempts: Vec<usize>,
    accesses: Vec<(usize, usize)>,
}

/// Something that happens at one moment.
struct ConflictEvent {
    thread: usize,
    accesses: Vec<ConflictBytes>,
    before: ComesBefore,
    /// It may find its own store in the store buffer, as long as this has not happened: then nobody hears of it.
    own: Option<usize>,
}

/// An attempt that takes part.
struct Player<'a> {
    thread: usize,
    fate: AttemptFate,
    footprint: &'a [FootprintAccess],
    /// As in [`ConflictEvent`], for each access.
    own: Vec<Option<usize>>,
    begins: ComesBefore,
    /// Before each access.
    accesses: Vec<ComesBefore>,
    ends: ComesBefore,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ConflictState {
    done: Vec<bool>,
    attempts: Vec<AttemptProgress>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum AttemptProgress {
    NotBegun,
    /// So many accesses were made.
    Inside(usize),
    Over,
}

/// States that are looked at.
const MOST: usize = 100_000;

struct Conflicts<'a, C> {
    trace: &'a Trace,
    order: Order,
    /// Of a transition: for each process, up to which tick it comes before.
    clock: C,
    /// Per attempt, since when others know that its thread went on: commits of stores that it issued later.
    issued: Vec<Vec<(Process, u32)>>,
}

/// Is there an order of this execution in which each conflict has somebody who made it? `None` if that takes too long to say.
pub(super) fn are_founded<'a>(
    trace: &'a Trace,
    order: Order,
    clock: impl Fn(usize) -> &'a [u32],
) -> Option<bool> {
    let met = |attempt: &Attempt| attempt.fate == AttemptFate::Conflict;
    if !trace.attempts.iter().any(met) {
        return Some(true);
    }
    let issued = trace.attempts.iter().map(|attempt| {
        let asked = trace.steps[attempt.at as usize];
        let later = trace.steps.iter().filter(|step| {
            order.is_companion(step.process)
                && step.need.0 == asked.process
                && step.need.1 >= asked.tick
        });
        later.map(|step| (step.process, step.tick)).collect()
    });
    let conflicts = Conflicts {
        trace,
        order,
        clock,
        issued: issued.collect(),
    };
    let (players, events) = conflicts.parts();
    possible(&players, &events)
}

fn meets(footprint: &[FootprintAccess], access: ConflictBytes) -> bool {
    footprint.iter().any(|own| meet(own.accessed, access))
}

fn meet(a: ConflictBytes, b: ConflictBytes) -> bool {
    a.0 == b.0 && a.1 & b.1 != 0 && (a.2 || b.2)
}

fn meets_any(own: ConflictBytes, accesses: &[ConflictBytes]) -> bool {
    accesses.iter().any(|&access| meet(own, access))
}

fn accesses_of(attempt: &Attempt) -> Vec<ConflictBytes> {
    attempt
        .footprint
        .iter()
        .map(|access| access.accessed)
        .collect()
}

/// Is there an order in which every attempt ends as it did?
fn possible(players: &[Player<'_>], events: &[ConflictEvent]) -> Option<bool> {
    // Whom nobody could meet was met by nobody.
    let lonely = |player: &Player<'_>| {
        let thread = player.thread;
        let meets = |access: &ConflictBytes| meets(player.footprint, *access);
        let by_event = { events.iter() }
            .any(|event| event.thread != thread && event.accesses.iter().any(meets));
        let by_player = { players.iter() }.any(|other| {
            other.thread != thread && other.footprint.iter().any(|by| meets(&by.accessed))
        });
        player.fate == AttemptFate::Conflict && !by_event && !by_player
    };
    if players.iter().any(lonely) {
        return Some(false);
    }
    let start = ConflictState {
        done: vec![false; events.len()],
        attempts: vec![AttemptProgress::NotBegun; players.len()],
    };
    let mut seen = FxHashSet::default();
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let ended = state.attempts.iter().all(|of| *of == AttemptProgress::Over);
        if ended {
            return Some(true);
        }
        if seen.len() > MOST {
            return None;
        }
        if seen.insert(state.clone()) {
            state.moves(players, events, &mut open);
        }
    }
    Some(false)
}

impl ConflictState {
    fn is_over(&self, before: &ComesBefore) -> bool {
        let over = |of: usize| self.attempts[of] == AttemptProgress::Over;
        let made = |&(of, count): &(usize, usize)| match self.attempts[of] {
            AttemptProgress::NotBegun => false,
            AttemptProgress::Inside(made) => made >= count,
            AttemptProgress::Over => true,
        };
        before.events.iter().all(|&event| self.done[event])
            && before.attempts.iter().all(|&of| over(of))
            && before.accesses.iter().all(made)
    }

    /// Something is accessed: whoever is met finds a conflict. `false` if somebody is met who did not.
    fn accessed(&mut self, thread: usize, access: ConflictBytes, players: &[Player<'_>]) -> bool {
        for (player, progress) in players.iter().zip(&mut self.attempts) {
            let AttemptProgress::Inside(made) = *progress else {
                continue;
            };
            if player.thread != thread && meets(&player.footprint[..made], access) {
                *progress = AttemptProgress::Over;
                if player.fate != AttemptFate::Conflict {
                    return false;
                }
            }
        }
        true
    }

    fn moves(&self, players: &[Player<'_>], events: &[ConflictEvent], to: &mut Vec<ConflictState>) {
        let set = |number: usize, progress: AttemptProgress| {
            let mut next = self.clone();
            next.attempts[number] = progress;
            next
        };
        for (number, (player, progress)) in players.iter().zip(&self.attempts).enumerate() {
            match *progress {
                AttemptProgress::Over => {}
                AttemptProgress::NotBegun if self.is_over(&player.begins) => {
                    to.push(set(number, AttemptProgress::Inside(0)));
                }
                AttemptProgress::NotBegun => {}
                AttemptProgress::Inside(made) => {
                    let ends = match player.fate {
                        AttemptFate::Ran => {
                            made == player.footprint.len() && self.is_over(&player.ends)
                        }
                        AttemptFate::Spurious => true,
                        AttemptFate::Conflict => false,
                    };
                    if ends {
                        to.push(set(number, AttemptProgress::Over));
                    }
                    if made < player.footprint.len() && self.is_over(&player.accesses[made]) {
                        let mut next = set(number, AttemptProgress::Inside(made + 1));
                        let hidden = player.own[made].is_some_and(|own| !self.done[own]);
                        let access = player.footprint[made].accessed;
                        if hidden || next.accessed(player.thread, access, players) {
                            to.push(next);
                        }
                    }
                }
            }
        }
        for (number, event) in events.iter().enumerate() {
            if self.done[number] || !self.is_over(&event.before) {
                continue;
            }
            let mut next = self.clone();
            next.done[number] = true;
            let hidden = event.own.is_some_and(|own| !self.done[own]);
            let mut accesses = event.accesses.iter();
            if hidden || accesses.all(|&access| next.accessed(event.thread, access, players)) {
                to.push(next);
            }
        }
    }
}

impl<'a, C: Fn(usize) -> &'a [u32]> Conflicts<'a, C> {
    fn attempt(&self, number: usize) -> &'a Attempt {
        &self.trace.attempts[number]
    }

    fn thread(&self, attempt: usize) -> usize {
        let at = self.attempt(attempt).at as usize;
        self.trace.steps[at].process.into()
    }

    /// The attempts that were met, or may have met those; and what else may have met one of them.
    fn parts(&self) -> (Vec<Player<'a>>, Vec<ConflictEvent>) {
        let concerns = |number: usize,
                        of: &dyn Fn(&Attempt) -> bool,
                        accesses: &[ConflictBytes]| {
            let mut all = (0..self.trace.attempts.len()).filter(|&other| of(self.attempt(other)));
            all.any(|other| {
                let footprint = &self.attempt(other).footprint;
                self.thread(other) != number
                    && accesses.iter().any(|&access| meets(footprint, access))
            })
        };
        let met = |attempt: &Attempt| attempt.fate == AttemptFate::Conflict;
        let plays = (0..self.trace.attempts.len()).filter(|&number| {
            let attempt = self.attempt(number);
            met(attempt) || concerns(self.thread(number), &met, &accesses_of(attempt))
        });
        let plays: Vec<usize> = plays.collect();
        let playing = |attempt: &Attempt| {
            let mut attempts = plays.iter();
            attempts.any(|&number| self.attempt(number).at == attempt.at)
        };
        let mut moments: Vec<(ConflictMoment, usize, Vec<ConflictBytes>)> = Vec::new();
        for at in 0..self.trace.steps.len() {
            let thread = self.order.thread(self.trace.steps[at].process);
            let accesses = self.accesses(at);
            let plays = { plays.iter() }.any(|&number| {
                let attempt = self.attempt(number);
                attempt.at as usize == at && attempt.fate == AttemptFate::Ran
            });
            if !plays && concerns(thread, &playing, &accesses) {
                moments.push((ConflictMoment::Step(at), thread, accesses));
            }
        }
        for (number, access) in self.trace.trailing.iter().enumerate() {
            // What belongs to a transition is known of that.
            let accesses = vec![(access.object, access.mask, access.write)];
            if !access.within && concerns(access.thread.into(), &playing, &accesses) {
                moments.push((
                    ConflictMoment::Trailing(number),
                    access.thread.into(),
                    accesses,
                ));
            }
        }
        let begun = |number: usize| ConflictMoment::Step(self.attempt(number).at as usize);
        // What an attempt that did not run has read others may write later.
        let accesses_before = |moment: ConflictMoment, accesses: &[ConflictBytes]| {
            let players = plays.iter().enumerate();
            let made = players.filter_map(|(player, &number)| {
                let attempt = self.attempt(number);
                if attempt.fate == AttemptFate::Ran || !self.before(begun(number), moment) {
                    return None;
                }
                let met = |own: &FootprintAccess| meets_any(own.accessed, accesses);
                let last = attempt.footprint.iter().rposition(met)?;
                Some((player, last + 1))
            });
            made.collect()
        };
        let before = |moment: ConflictMoment, accesses: &[ConflictBytes]| ComesBefore {
            events: (0..moments.len())
                .filter(|&before| self.before(moments[before].0, moment))
                .collect(),
            attempts: (0..plays.len())
                .filter(|&before| begun(plays[before]) != moment)
                .filter(|&before| self.before(ConflictMoment::Exit(plays[before]), moment))
                .collect(),
            accesses: accesses_before(moment, accesses),
        };
        let committed = |(process, tick): (Process, u32)| {
            let is = |moment: &ConflictMoment| match *moment {
                ConflictMoment::Step(at) => {
                    let step = &self.trace.steps[at];
                    (step.process, step.tick) == (process, tick)
                }
                _ => false,
            };
            moments
                .iter()
                .position(|(moment, ..)| tick != 0 && is(moment))
        };
        let players = plays.iter().map(|&number| {
            let attempt = self.attempt(number);
            let thread = self.thread(number);
            let ends = before(begun(number), &accesses_of(attempt));
            // Of what is over at its end, what an access could meet is over before that.
            let access = |access: &FootprintAccess| ComesBefore {
                events: (ends.events.iter().copied())
                    .filter(|&event| moments[event].1 != thread)
                    .filter(|&event| meets_any(access.accessed, &moments[event].2))
                    .collect(),
                attempts: (ends.attempts.iter().copied())
                    .filter(|&of| {
                        let of = self.attempt(plays[of]);
                        of.fate == AttemptFate::Ran && meets(&of.footprint, access.accessed)
                    })
                    .collect(),
                accesses: Vec::new(),
            };
            let mut own = self.trace.steps[..attempt.at as usize].iter();
            let asked = own.rposition(|step| usize::from(step.process) == thread);
            Player {
                thread,
                fate: attempt.fate,
                footprint: &attempt.footprint,
                own: { attempt.footprint.iter() }
                    .map(|access| committed(access.own))
                    .collect(),
                begins: asked.map_or_else(ComesBefore::default, |at| {
                    before(ConflictMoment::Step(at), &[])
                }),
                accesses: attempt.footprint.iter().map(access).collect(),
                ends,
            }
        });
        let events = moments
            .iter()
            .map(|(moment, thread, accesses)| ConflictEvent {
                thread: *thread,
                accesses: accesses.clone(),
                before: before(*moment, accesses),
                own: match *moment {
                    ConflictMoment::Step(at) if self.trace.steps[at].act == Act::Load => {
                        committed(self.trace.steps[at].own)
                    }
                    ConflictMoment::Trailing(number) => self.own_store(number, &moments),
                    _ => None,
                },
            });
        (players.collect(), events.collect())
    }

    /// The store of its own thread that a plain load finds in the store buffer, or would have.
    fn own_store(
        &self,
        number: usize,
        moments: &[(ConflictMoment, usize, Vec<ConflictBytes>)],
    ) -> Option<usize> {
        let access = &self.trace.trailing[number];
        let buffered = self
            .trace
            .steps
            .iter()
            .any(|step| self.order.is_companion(step.process));
        if access.write || !buffered {
            return None;
        }
        moments.iter().rposition(|(moment, thread, accesses)| {
            let earlier = match *moment {
                ConflictMoment::Trailing(other) => other < number,
                ConflictMoment::Step(at) => {
                    let step = &self.trace.steps[at];
                    step.act == Act::Commit && step.issued <= access.tick
                }
                ConflictMoment::Exit(_) => false,
            };
            let own = (access.object, access.mask, false);
            *thread == usize::from(access.thread) && earlier && meets_any(own, accesses)
        })
    }

    /// Does one come before the other in every order of the execution?
    fn before(&self, a: ConflictMoment, b: ConflictMoment) -> bool {
        let steps = &self.trace.steps;
        match (a, b) {
            (ConflictMoment::Exit(attempt), ConflictMoment::Step(at)) => {
                self.knows((self.clock)(at), attempt)
            }
            (ConflictMoment::Exit(attempt), ConflictMoment::Exit(other)) => {
                self.knows((self.clock)(self.attempt(other).at as usize), attempt)
            }
            (ConflictMoment::Exit(attempt), ConflictMoment::Trailing(number)) => {
                self.comes_after(&self.trace.trailing[number], attempt)
            }
            (ConflictMoment::Step(first), ConflictMoment::Step(at)) => {
                first != at && self.known(&steps[first], at)
            }
            (ConflictMoment::Step(first), ConflictMoment::Exit(attempt)) => {
                self.known(&steps[first], self.attempt(attempt).at as usize)
            }
            (ConflictMoment::Step(first), ConflictMoment::Trailing(number)) => {
                let access = &self.trace.trailing[number];
                self.last_before(access)
                    .any(|at| first == at || self.known(&steps[first], at))
            }
            (ConflictMoment::Trailing(number), ConflictMoment::Step(at)) => {
                self.knows_of(at, &self.trace.trailing[number])
            }
            (ConflictMoment::Trailing(number), ConflictMoment::Exit(attempt)) => {
                let at = self.attempt(attempt).at as usize;
                self.knows_of(at, &self.trace.trailing[number])
            }
            (ConflictMoment::Trailing(number), ConflictMoment::Trailing(other)) => {
                let [first, second] = [number, other].map(|of| &self.trace.trailing[of]);
                first.thread == second.thread && number < other
                    || self.last_before(second).any(|at| self.knows_of(at, first))
            }
        }
    }

    fn known(&self, step: &Step, at: usize) -> bool {
        (self.clock)(at)[usize::from(step.process)] >= step.tick
    }

    /// A store that waits in its store buffer has happened once a later one has left, or its thread has waited for it.
    fn knows_of(&self, at: usize, access: &Trailing) -> bool {
        let clock = (self.clock)(at);
        let thread = usize::from(access.thread);
        if clock[thread] < known_from(access) || !access.write || access.atomic {
            return clock[thread] >= known_from(access);
        }
        if clock.len() <= self.order.threads {
            return true;
        }
        self.trace.steps.iter().any(|step| {
            let own = self.order.thread(step.process) == thread;
            let left = match step.process == access.thread {
                true => step.tick > access.tick && waits(step),
                false => step.issued > access.tick,
            };
            own && left && clock[usize::from(step.process)] >= step.tick
        })
    }

    /// Does what a clock knows come after an attempt?
    fn knows(&self, clock: &[u32], attempt: usize) -> bool {
        let asked = self.trace.steps[self.attempt(attempt).at as usize];
        let knows = |process: Process, tick: u32| {
            { clock.get(usize::from(process)) }.is_some_and(|&known| known >= tick)
        };
        // Who comes after what it read need not come after what its thread does next; a transaction that ran happened then.
        let ran = self.attempt(attempt).fate == AttemptFate::Ran;
        knows(asked.process, asked.tick + u32::from(!ran)) || { self.issued[attempt].iter() }
            .any(|&(process, tick)| knows(process, tick))
    }

    /// The last transition of its thread before an access; and before a store leaves its store buffer, that of the store that was made before it.
    fn last_before(&self, access: &Trailing) -> impl Iterator<Item = usize> + use<'a, C> {
        let steps = &self.trace.steps;
        let own = (0..steps.len())
            .rev()
            .find(|&at| steps[at].process == access.thread && steps[at].tick <= access.tick);
        let thread = usize::from(access.thread);
        let left = (0..steps.len()).rev().find(|&at| {
            let step = &steps[at];
            access.write
                && usize::from(step.process) == self.order.companion(thread)
                && step.issued <= access.tick
        });
        own.into_iter().chain(left)
    }

    fn comes_after(&self, access: &Trailing, attempt: usize) -> bool {
        let asked = self.trace.steps[self.attempt(attempt).at as usize];
        if asked.process == access.thread {
            return access.tick >= asked.tick;
        }
        let mut knows = vec![0; self.order.processes()];
        let learned = self
            .trace
            .sets
            .joined(access.joined)
            .iter()
            .chain(&access.need);
        for &(process, tick) in learned {
            if let Some(known) = knows.get_mut(usize::from(process)) {
                *known = tick.max(*known);
            }
        }
        let mut before = self.last_before(access);
        before.any(|at| self.knows((self.clock)(at), attempt)) || self.knows(&knows, attempt)
    }

    /// What a transition accesses.
    fn accesses(&self, at: usize) -> Vec<ConflictBytes> {
        let step = &self.trace.steps[at];
        if step.act == Act::Transaction {
            let mut attempts = self.trace.attempts.iter();
            let ran = attempts.find(|ran| ran.at as usize == at && ran.fate == AttemptFate::Ran);
            return ran.map_or_else(Vec::new, accesses_of);
        }
        if step.section != 0 {
            return self.trace.sets.accessed(step.section).to_vec();
        }
        let memory = matches!(
            step.act,
            Act::Load | Act::Store | Act::Commit | Act::Rmw | Act::Cas
        );
        match memory && step.access != Access::None {
            true => vec![(step.object, step.mask, step.access == Access::Write)],
            false => Vec::new(),
        }
    }
}

/// Is the thread's store buffer empty when it does that?
fn waits(step: &Step) -> bool {
    match step.act {
        Act::Transaction => step.commits(),
        act => matches!(act, Act::Rmw | Act::Cas | Act::Fence | Act::Sync(_)),
    }
}

/// From which tick of its thread on others know of it.
fn known_from(access: &Trailing) -> u32 {
    access.tick + u32::from(!access.within)
}
