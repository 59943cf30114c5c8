//! Steps: a thread announces the next one and goes on when it is chosen. Which thread is chosen says the job, as far as it goes;
//! beyond that store buffers are emptied, the running thread goes on while it can, then the lowest. Coming, going and waiting for
//! one's own stores are no choices: they happen as soon as they can.

use super::context::{Context, Status, Step, decide, frame_of};
use super::objects::Object;
use super::{
    block, condition, mutex, object_lifetime, objects, repeated, section, sleep_sets, store_buffer,
    tables, threads, turns, wakes,
};
use crate::run::call_stack;
use crate::run::outcome::{self, Report};
use crate::run::shared;
use crate::run::trace;
use landfall_vocab::record::access::READ;
use landfall_vocab::record::{COMPANIONS, RecordKind, head, lifetime as life, step};
use landfall_vocab::shared::{End, LOCK, job};

/// Announces a step; returns when it is this thread's turn and the step is possible.
pub(crate) fn point(step: Step) {
    if block::is_inside() && block::passes_over(step.kind) {
        return;
    }
    if section::is_inside() && section::passes_over(&step) {
        return;
    }
    let me = threads().current.get();
    wakes::goes_on(me);
    if threads().announced.get() {
        call_stack::log_of(me);
    }
    announce(me, step);
    decide();
    if drains(step.kind) {
        store_buffer::fenced(me);
    }
}

/// What a thread will do next.
pub(super) fn announce(thread: usize, step: Step) {
    let context = &tables().contexts[thread];
    // Field by field: each has just been written by itself, and a load of two at once would have to wait for both stores.
    context.step.set(step);
    let bit = 1 << thread;
    threads().ready.set(threads().ready.get() | bit);
    threads().eager.set(threads().eager.get() & (!bit));
    threads().free.set(threads().free.get() & (!bit));
    if is_eager(thread, context) {
        threads().eager.set(threads().eager.get() | bit);
    } else if is_access(step.kind) && (!drains(step.kind) || store_buffer::is_empty(thread)) {
        // Nobody else can fill its store buffer.
        threads().free.set(threads().free.get() | bit);
    }
}

fn is_access(kind: u8) -> bool {
    matches!(kind, step::READ | step::WRITE | step::UPDATE)
}

/// The threads of a set, in ascending order.
fn each(mut set: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

/// This thread is done: another goes on, or the run is over.
pub(crate) fn depart(status: Status) -> ! {
    let me = threads().current.get();
    tables().contexts[me].status.set(status);
    threads().ready.set(threads().ready.get() & (!(1 << me)));
    threads().eager.set(threads().eager.get() & (!(1 << me)));
    threads().free.set(threads().free.get() & (!(1 << me)));
    // SAFETY: libc ends the process, on the stack that it is asked on.
    unsafe {
        if threads().ready.get() == 0 && store_buffer::waiting() == 0 {
            if threads().over.get() {
                outcome::over()
            }
            libc::exit(0);
        }
    }
    decide();
    outcome::internal(b"a thread that ended went on", 0)
}

/// Steps that are no choice: nobody can tell when they happen. Creating a thread is one where several do, where it passes on what
/// only a step of the creator's own can say, and behind non-temporal stores.
fn is_eager(thread: usize, context: &Context) -> bool {
    let step = context.step.get();
    match step.kind {
        step::CREATE if step.object != 0 => true,
        step::CREATE => {
            !context.learned.get()
                && !threads().creations.get()
                && !store_buffer::has_streamed(thread)
        }
        kind => matches!(
            kind,
            step::BEGIN
                | step::EXIT
                | step::JOIN
                | step::FENCE
                | step::YIELD
                | step::SLEEP
                | step::AWAIT
        ),
    }
}

/// Steps that wait for the thread's own stores.
fn drains(kind: u8) -> bool {
    !matches!(
        kind,
        step::BEGIN
            | step::JOIN
            | step::YIELD
            | step::SLEEP
            | step::AWAIT
            | step::READ
            | step::WRITE
            | step::FLUSH
            | step::PASS
            | step::INIT
            | step::DESTROY
    )
}

/// The next thread, by the job or by default. Logs the steps that are taken.
pub(super) fn choose(current: usize) -> usize {
    loop {
        if let Some(next) = eager(current) {
            let context = &tables().contexts[next];
            if context.step.get().kind == step::AWAIT {
                return arrive(next);
            }
            log_step(next as u8, context.step.get(), 0);
            let learns = matches!(context.step.get().kind, step::BEGIN | step::JOIN);
            context.learned.set(context.learned.get() | learns);
            return arrive(next);
        }
        let enabled = enabled();
        if enabled == 0 {
            if turns::make_last() {
                continue;
            }
            match turns::asleep() {
                0 => stuck(),
                asleep => stop(End::Asleep, asleep),
            }
        }
        let process = match shared::choice(threads().steps.get()) {
            Some(process) if enabled >> process & 1 != 0 => process,
            Some(process) if turns::release(process.into()) => continue,
            Some(_) => stop(End::Strayed, enabled),
            None => {
                if threads().steps.get() as u64 >= shared::job().steps {
                    stop(End::Limit, enabled)
                }
                match enabled & !threads().asleep.get() {
                    0 if turns::make_last() => continue,
                    0 => stop(End::Asleep, enabled | turns::asleep()),
                    awake => {
                        let companions = threads().companions.get();
                        let mut policy = threads().policy.get();
                        let picked = policy.pick(awake, current, companions);
                        threads().policy.set(policy);
                        picked
                    }
                }
            }
        };
        if threads().steps.get() as u64 == shared::job().keep {
            trace::keep();
        }
        if process < threads().companions.get() {
            turns::step_begins(process.into(), current);
        }
        threads().steps.set(threads().steps.get() + 1);
        if process < threads().companions.get() {
            let next = usize::from(process);
            log_step(process, tables().contexts[next].step.get(), enabled);
            tables().contexts[next].learned.set(false);
            return arrive(next);
        }
        let (thread, stream) = store_buffer::of_process(process);
        let commit = store_buffer::next_step(thread, stream);
        log_step(COMPANIONS + thread as u8, commit, enabled);
        store_buffer::commit(thread, stream);
    }
}

/// The thread that goes on sees its own stores.
fn arrive(next: usize) -> usize {
    if threads().buffered.get() {
        store_buffer::show(next);
    }
    next
}

/// Who goes on where the job does not say.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) enum Policy {
    /// Store buffers are emptied, the running thread goes on while it can.
    Quiet,
    /// The next thread in turn; store buffers are emptied when nothing else is left.
    PreemptFirst,
    Dice(u64),
}

impl Policy {
    pub(super) fn of(flags: u32, dice: u64) -> Policy {
        match dice {
            0 if flags & job::PREEMPT_FIRST != 0 => Policy::PreemptFirst,
            0 => Policy::Quiet,
            dice => Policy::Dice(dice),
        }
    }

    pub(super) fn is_random(self) -> bool {
        matches!(self, Policy::Dice(_))
    }

    /// One of the processes, of which there is at least one.
    fn pick(&mut self, awake: u64, current: usize, companions: u8) -> u8 {
        let threads = awake & ((1 << companions) - 1);
        match self {
            Policy::Quiet if awake != threads => companions + pick(awake >> companions, current),
            Policy::Quiet => pick(threads, current),
            Policy::PreemptFirst if awake >> current & 1 != 0 && turns::looks(current) => {
                current as u8
            }
            Policy::PreemptFirst => {
                let from = if threads != 0 { threads } else { awake };
                let later = from & !((2u64 << current) - 1);
                (if later != 0 { later } else { from }).trailing_zeros() as u8
            }
            Policy::Dice(state) => {
                // xorshift64*
                *state ^= *state >> 12;
                *state ^= *state << 25;
                *state ^= *state >> 27;
                let thrown = (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32;
                let mut left = awake;
                for _ in 0..thrown % awake.count_ones() {
                    left &= left - 1;
                }
                left.trailing_zeros() as u8
            }
        }
    }
}

/// The running one if it is among them, else the lowest.
fn pick(processes: u64, current: usize) -> u8 {
    if processes >> current & 1 != 0 {
        current as u8
    } else {
        processes.trailing_zeros() as u8
    }
}

fn log_step(process: u8, step: Step, enabled: u64) {
    if process < COMPANIONS {
        repeated::moved(process.into(), step.origin);
    }
    let head = head(RecordKind::Step, process, step.kind, 0);
    let object = match step.kind {
        // Whoever creates first gets the next number; who has one already says so.
        step::CREATE if step.object == 0 => threads().count.get(),
        _ => step.object,
    };
    trace::step(head, step.origin, object as u64, enabled);
}

/// A thread whose step is no choice and possible.
fn eager(current: usize) -> Option<usize> {
    let able = |number: &usize| possible(*number, &tables().contexts[*number]);
    let eager = threads().eager.get();
    if eager >> current & 1 != 0 && able(&current) {
        return Some(current);
    }
    each(eager).find(able)
}

/// Is any step of others possible, be it of a store buffer?
pub(super) fn others_may_go_on() -> bool {
    let me = 1 << threads().current.get();
    threads().eager.get() & !me != 0 || enabled() & !u64::from(me) != 0
}

/// Threads whose step is possible, a bit each, and above them store buffers that hold something.
fn enabled() -> u64 {
    let mut mask = threads().free.get();
    for number in each(threads().ready.get() & !threads().eager.get() & !threads().free.get()) {
        if possible(number, &tables().contexts[number]) {
            mask |= 1 << number;
        }
    }
    u64::from(mask) | store_buffer::leaving()
}

fn possible(number: usize, context: &Context) -> bool {
    let Step { kind, object, .. } = context.step.get();
    if threads().buffered.get() && drains(kind) && !store_buffer::is_empty(number) {
        return false;
    }
    let found = || objects().find(object);
    match kind {
        step::AWAIT => turns::may_go_on(number),
        step::LOCK | step::LOCK_EXCLUSIVE => {
            found().is_none_or(|lock| mutex::is_free(lock, number))
        }
        step::LOCK_SHARED => found().is_none_or(|lock| lock.owner.get() == 0),
        step::TAKE => found()
            .is_some_and(|semaphore| semaphore.count.get() > 0 || object_lifetime::is_gone(object)),
        step::ONCE => found().is_none_or(|once| once.owner.get() == 0),
        step::WAKE | step::LATE_WAKE => {
            found().is_some_and(|condition| condition::reached(condition, number))
        }
        step::PASS => context.released.get(),
        step::JOIN => tables()
            .contexts
            .get(object)
            .is_some_and(|other| other.status.get() == Status::Done),
        _ => true,
    }
}

/// A step on a lock or the like happened. `parameter` is what the checker cannot know: a semaphore's value before it, how many
/// a barrier waits for.
pub(super) fn effect(object: usize, what: u8, parameter: u64) {
    note(object, what, parameter);
    sleep_sets::executed(object as u64 | LOCK, 1, what != READ);
}

/// The same, where nobody who sleeps is concerned.
pub(super) fn note(object: usize, what: u8, parameter: u64) {
    let me = threads().current.get();
    let origin = tables().contexts[me].step.get().origin;
    let place = object as u64 | LOCK;
    let gone = object_lifetime::is_gone(object);
    let parameter = parameter | if gone { life::GONE } else { 0 };
    trace::access(me, place, what, origin, [parameter, 0, 0]);
    let kind = tables().contexts[me].step.get().kind;
    turns::touched(me, place, 1);
    turns::synchronised(me, place, kind, what == READ);
    if what != READ {
        turns::changed(me, place, 1);
    }
}

/// Nobody can go on.
fn stuck() -> ! {
    // Its frames are as it left them.
    arrive(threads().current.get());
    for (number, context) in (&tables().contexts)[..threads().count.get()]
        .iter()
        .enumerate()
    {
        if context.status.get() == Status::Ready {
            let Step {
                kind,
                object,
                origin,
                ..
            } = context.step.get();
            if kind == step::AWAIT {
                let (place, origin) = turns::log_wait(number);
                let head = head(RecordKind::Blocked, number as u8, step::READ, 0);
                trace::blocked(head, origin, place);
                continue;
            }
            let holder = match kind {
                step::JOIN => object as u64,
                _ => objects().find(object).map_or(0, Object::holder),
            };
            trace::blocked(
                head(RecordKind::Blocked, number as u8, kind, holder << 3),
                origin,
                object as u64,
            );
        }
    }
    if threads().over.get() {
        outcome::over()
    }
    if turns::in_vain() {
        stop(End::InVain, 0)
    }
    let late = |context: &Context| {
        context.status.get() == Status::Ready && context.step.get().kind == step::LATE_WAKE
    };
    if (&tables().contexts)[..threads().count.get()]
        .iter()
        .any(late)
    {
        // It would have gone on, after some time.
        stop(End::Limit, 0)
    }
    let text: &[&[u8]] = &[b"every thread waits for something that cannot happen"];
    outcome::end(
        End::Deadlock,
        Report {
            frame: frame_of(threads().current.get()),
            text,
            ..Report::default()
        },
    )
}

/// The search has seen enough of this run.
pub(super) fn stop(end: End, enabled: u64) -> ! {
    threads().over.set(false);
    let address = enabled;
    outcome::end(
        end,
        Report {
            address,
            ..Report::default()
        },
    )
}
