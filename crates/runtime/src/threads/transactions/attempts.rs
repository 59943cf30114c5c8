//! Whether an attempt at a transaction fails for no reason. Nobody in the program decides that: it is a question, and a process of its own
//! answers it, a *spoiler*, which has no code and writes a word that the attempt reads. The two orders are the two answers, so no rule of the
//! search is needed for it (`landfall_testkit::interpret` has the same).
//!
//! A transaction that its own code aborts waits for nothing. So where stores of its thread may still wait it is asked as well whether the code runs
//! *early*; if it comes to its end then, this is no execution.

use super::super::context::Step;
use super::super::sets::ProcessSet;
use super::super::steps::point;
use super::super::visible::READ;
use super::super::{on, repeated, sleep_sets, store_buffer, tables, threads, turns};
use super::status;
use crate::run::shared::{self, trace_len};
use crate::run::trace::{self, Origin};
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::step;
use landfall_vocab::shared::{answer, htm, job};

/// Questions of which it is known where in the trace they were asked: more than a turn of a loop has that is taken back.
const PLACES: usize = 16;

/// What a thread has asked.
#[repr(C)]
pub(crate) struct Questions {
    /// Where in the trace; first, so that what is cleared for a new thread is not cleared all at once.
    places: [Cell<u64>; PLACES],
    asked: Cell<u32>,
    /// It has gone on since.
    answered: Cell<u32>,
    /// Answered with yes, or too late to be.
    spoilt: Cell<u32>,
}

impl Questions {
    pub(crate) fn begin(&self) {
        let Questions {
            places: _,
            asked,
            answered,
            spoilt,
        } = self;
        asked.set(0);
        answered.set(0);
        spoilt.set(0);
    }

    fn is_open(&self) -> bool {
        self.spoilt.get() < self.asked.get()
    }
}

fn of(thread: usize) -> &'static Questions {
    &tables().contexts[thread].questions
}

/// The number of the first spoiler among processes, in runs that have some.
fn first() -> usize {
    usize::from(threads().companions.get()) / 2
}

fn are_on() -> bool {
    on() && shared::job().flags & job::TRANSACTIONS != 0
}

/// Why the attempt that is about to begin fails, if it does.
pub(super) fn fails(origin: Origin) -> Option<u32> {
    let conflicts_alone = shared::job().htm == htm::STM;
    (are_on() && !conflicts_alone && ask(origin)).then_some(status::RETRY)
}

/// Does the transaction begin before the thread's stores are in memory?
pub(super) fn runs_early(origin: Origin) -> bool {
    let me = threads().current.get();
    are_on() && threads().buffered.get() && store_buffer::is_unfenced(me) && ask(origin)
}

fn ask(origin: Origin) -> bool {
    let me = threads().current.get();
    let questions = of(me);
    let number = questions.asked.get();
    let place = answer(me, number);
    questions.asked.set(number + 1);
    point(Step {
        kind: step::ATTEMPT,
        object: place as usize,
        origin,
    });
    questions.places[number as usize % PLACES].set(trace_len().load(Relaxed));
    questions.answered.set(number + 1);
    let yes = questions.spoilt.get() > number;
    trace::access(me, place, READ, origin, [yes.into(), 0, 0]);
    repeated::moved(me, origin);
    sleep_sets::executed(place, 1, false);
    if yes {
        // Whoever only tries again because of that could have gone on.
        turns::read_and_changed(me, place);
    }
    yes
}

/// Adds spoilers that can do something to the processes that can.
pub(in super::super) fn add_spoilers(enabled: &ProcessSet) {
    if !are_on() {
        return;
    }
    let count = threads().count.get().min(first());
    for thread in (0..count).filter(|&thread| of(thread).is_open()) {
        enabled.insert(first() + thread);
    }
}

/// A spoiler of which it makes no difference any more when it goes on: its question was answered without it.
pub(in super::super) fn due(awake: &ProcessSet) -> Option<usize> {
    if !are_on() {
        return None;
    }
    let late = |&thread: &usize| {
        let questions = of(thread);
        questions.spoilt.get() < questions.answered.get() && awake.contains(first() + thread)
    };
    let late = (0..threads().count.get().min(first())).find(late);
    late.map(|thread| first() + thread)
}

/// A process was chosen: if it is a spoiler, it goes on, and this is its step.
pub(in super::super) fn spoiled_by(process: usize) -> Option<Step> {
    if !are_on() || !(first()..2 * first()).contains(&process) {
        return None;
    }
    let thread = process - first();
    let questions = of(thread);
    let number = questions.spoilt.get();
    let place = answer(thread, number);
    questions.spoilt.set(number + 1);
    if number < questions.answered.get() {
        // As if its thread had done that, too: a turn that is taken back takes it along.
        turns::counts_as_own(thread);
    }
    Some(Step {
        kind: step::SPOIL,
        object: place as usize,
        origin: Origin::NONE,
    })
}

/// A turn of a loop did not happen: nor was asked what was asked in it.
pub(in super::super) fn taken_back(thread: usize) {
    let questions = of(thread);
    let length = trace_len().load(Relaxed);
    let asked = |number: u32| questions.places[(number - 1) as usize % PLACES].get() > length;
    while questions.asked.get() != 0 && asked(questions.asked.get()) {
        questions.asked.set(questions.asked.get() - 1);
    }
    let left = questions.asked.get();
    questions.answered.set(questions.answered.get().min(left));
    questions.spoilt.set(questions.spoilt.get().min(left));
}
