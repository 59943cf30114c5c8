//! Steps: a thread announces the next one and goes on when it is chosen. Which thread is chosen says the job, as far as it goes;
//! beyond that the running thread goes on while it can, then the lowest.

use super::context::{Context, Status, Step, switch_to};
use super::objects::Object;
use super::threads;
use super::{condition, mutex};
use crate::log;
use crate::outcome::{self, Report};
use crate::stack;
use crate::state::state;
use landfall_vocab::record::{Kind, head, step};
use landfall_vocab::shared::{CHOICES_AT, CHOICES_LEN, End};

/// Announces a step; returns when it is this thread's turn and the step is possible.
pub(crate) unsafe fn point(step: Step) {
    let threads = threads();
    let me = (*threads).current;
    (*threads).contexts[me].step = step;
    let next = choose(me);
    if next != me {
        switch_to(next);
    }
}

/// This thread is done: another goes on, or the run is over.
pub(crate) unsafe fn depart() -> ! {
    let threads = threads();
    let me = (*threads).current;
    (*threads).contexts[me].status = Status::Done;
    (*threads).alive -= 1;
    let alive = (0..(*threads).count).any(|i| (*threads).contexts[i].status == Status::Ready);
    if !alive {
        libc::exit(0);
    }
    let next = choose(me);
    switch_to(next);
    outcome::internal(b"a thread that ended went on", 0)
}

/// The next thread, by the job or by default. Logs the step it takes.
unsafe fn choose(current: usize) -> usize {
    let threads = threads();
    let enabled = enabled();
    if enabled == 0 {
        deadlock()
    }
    let wanted = choice((*threads).steps);
    let polite = matches!(
        (*threads).contexts[current].step.kind,
        step::YIELD | step::SLEEP
    );
    let next = match wanted {
        Some(next) if enabled & 1 << next != 0 => next,
        Some(_) => outcome::internal(b"the schedule asks for a thread that cannot go on", 0),
        None if enabled & 1 << current != 0 && !polite => current,
        None => after(current, enabled),
    };
    (*threads).steps += 1;
    let step = (*threads).contexts[next].step;
    log::step(
        head(Kind::Step, next as u8, step.kind, u64::from(enabled) << 3),
        step.origin,
        step.object as u64,
    );
    next
}

/// The first of `enabled` behind `current`, round and round.
fn after(current: usize, enabled: u32) -> usize {
    let behind = enabled & !(u32::MAX >> (31 - current));
    if behind != 0 {
        behind.trailing_zeros() as usize
    } else {
        enabled.trailing_zeros() as usize
    }
}

unsafe fn choice(number: usize) -> Option<usize> {
    let slot = (*state()).slot;
    let given = (*slot).job.choices.min(CHOICES_LEN) as usize;
    if number >= given {
        return None;
    }
    let choice = *(slot as *const u8).add(CHOICES_AT as usize + number);
    (choice != u8::MAX).then_some(usize::from(choice) % super::MOST)
}

/// Threads whose step is possible, a bit each.
unsafe fn enabled() -> u32 {
    let threads = threads();
    let mut mask = 0;
    for (number, context) in (&(*threads).contexts)[..(*threads).count]
        .iter()
        .enumerate()
    {
        if context.status == Status::Ready && possible(number, context) {
            mask |= 1 << number;
        }
    }
    mask
}

unsafe fn possible(number: usize, context: &Context) -> bool {
    let Step {
        kind,
        timed,
        object,
        ..
    } = context.step;
    if timed {
        return true;
    }
    let found = (*(*threads()).objects).find(object);
    match kind {
        step::LOCK => found.is_none_or(|lock| mutex::is_free(lock, number)),
        step::LOCK_SHARED => found.is_none_or(|lock| (*lock).owner == 0),
        step::TAKE => found.is_some_and(|semaphore| (*semaphore).count > 0),
        step::ONCE => found.is_none_or(|once| (*once).owner == 0),
        step::WAKE => found.is_some_and(|condition| condition::reached(condition, number)),
        step::PASS => context.released,
        step::JOIN => (*threads())
            .contexts
            .get(object)
            .is_some_and(|other| other.status == Status::Done),
        _ => true,
    }
}

/// Nobody can go on.
unsafe fn deadlock() -> ! {
    let threads = threads();
    for (number, context) in (&(*threads).contexts)[..(*threads).count]
        .iter()
        .enumerate()
    {
        if context.status == Status::Ready {
            let Step {
                kind,
                object,
                origin,
                ..
            } = context.step;
            let holder = match kind {
                step::JOIN => object as u64,
                _ => (*(*threads).objects)
                    .find(object)
                    .map_or(0, |o| Object::holder(o)),
            };
            log::step(
                head(Kind::Blocked, number as u8, kind, holder << 3),
                origin,
                object as u64,
            );
        }
    }
    let text: &[&[u8]] = &[b"every thread waits for something that cannot happen"];
    outcome::end(
        End::Deadlock,
        Report {
            frame: stack::frame_pointer(),
            text,
            ..Report::default()
        },
    )
}
