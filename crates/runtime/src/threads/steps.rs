//! Steps: a thread announces the next one and goes on when it is chosen. Which thread is chosen says the job, as far as it goes;
//! beyond that store buffers are emptied, the running thread goes on while it can, then the lowest. Coming, going and waiting for
//! one's own stores are no choices: they happen as soon as they can.

use super::context::{Context, Status, Step, decide, frame_of};
use super::draw::Dice;
use super::objects::Object;
use super::sets::{ProcessSet, members};
use super::{
    block, channel_calls, condition, forked, lifecycle, mutex, object_lifetime, objects, repeated,
    section, signals, sleep_sets, store_buffer, tables, threads, transactions, turns, wakes,
};
use crate::run::call_stack;
use crate::run::outcome::{self, Report};
use crate::run::shared;
use crate::run::trace;
use landfall_vocab::record::access::READ;
use landfall_vocab::record::{COMPANIONS, RecordKind, head_of, lifetime as life, step};
use landfall_vocab::shared::{End, JobHeader, LOCK, job};

/// Announces a step; returns when it is this thread's turn and the step is possible.
pub(crate) fn point(step: Step) {
    signals::before_step(&step);
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
    if drains(step.kind) {
        turns::settle(me, step.origin);
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
    threads().ready.insert(thread);
    threads().eager.remove(thread);
    threads().free.remove(thread);
    if is_eager(thread, context) {
        threads().eager.insert(thread);
    } else if is_access(step.kind) && (!drains(step.kind) || store_buffer::is_empty(thread)) {
        // Nobody else can fill its store buffer.
        threads().free.insert(thread);
    }
}

fn is_access(kind: u8) -> bool {
    matches!(kind, step::READ | step::WRITE | step::UPDATE)
}

/// This thread is done: another goes on, or the run is over.
pub(crate) fn depart(status: Status) -> ! {
    let me = threads().current.get();
    tables().contexts[me].status.set(status);
    threads().ready.remove(me);
    threads().eager.remove(me);
    threads().free.remove(me);
    // SAFETY: libc ends the process, on the stack that it is asked on.
    unsafe {
        let over = threads().over.get();
        let ready = &threads().ready;
        let last = match over {
            true => ready.is_empty(threads().thread_words.get()),
            false => signals::only_senders_left(),
        };
        if last && !store_buffer::any_waits() {
            if over {
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
            | step::PEND
            | step::DELIVER
            | step::AWAIT_SIGNAL
            | step::HOLD
            | step::LET_GO
            | step::PREEMPT
            | step::ISSUE
            | step::ATTEMPT
            | step::SPOIL
            | step::TRANSACT_EARLY
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
            log_step(next as u16, context.step.get(), None);
            let learns = matches!(context.step.get().kind, step::BEGIN | step::JOIN);
            context.learned.set(context.learned.get() | learns);
            return arrive(next);
        }
        let enabled = enabled();
        let words = threads().words.get();
        if enabled.is_empty(words) {
            if turns::make_last() {
                continue;
            }
            match turns::add_asleep(enabled) {
                false => stuck(),
                true => stop(End::Asleep, enabled),
            }
        }
        let process = match shared::choice(threads().steps.get()) {
            Some(process) if enabled.contains(process.into()) => process,
            Some(process) if turns::release(process.into()) => continue,
            Some(_) => stop(End::Strayed, enabled),
            None => {
                if threads().steps.get() as u64 >= shared::job().steps {
                    stop(End::Limit, enabled)
                }
                let awake = awake(enabled);
                if awake.is_empty(words) {
                    if turns::make_last() {
                        continue;
                    }
                    turns::add_asleep(enabled);
                    stop(End::Asleep, enabled)
                }
                let mut policy = threads().policy.get();
                let picked = match transactions::due(awake) {
                    Some(late) => late,
                    None => policy.pick(awake, current, words),
                };
                threads().policy.set(policy);
                picked as u16
            }
        };
        if threads().steps.get() as u64 == shared::job().keep {
            trace::keep();
        }
        if let Some(spoils) = transactions::spoiled_by(process.into()) {
            threads().steps.set(threads().steps.get() + 1);
            log_step(process, spoils, Some(enabled));
            sleep_sets::executed(spoils.object as u64, 1, true);
            continue;
        }
        if process < threads().companions.get() {
            turns::step_begins(process.into(), current);
        }
        threads().steps.set(threads().steps.get() + 1);
        if process < threads().companions.get() {
            let next = usize::from(process);
            log_step(process, tables().contexts[next].step.get(), Some(enabled));
            tables().contexts[next].learned.set(false);
            if signals::is_sender(next) {
                signals::arrives(next);
                continue;
            }
            return arrive(next);
        }
        let (thread, stream) = store_buffer::of_process(process);
        let commit = store_buffer::next_step(thread, stream);
        log_step(COMPANIONS + thread as u16, commit, Some(enabled));
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
    Dice(Dice),
}

impl Policy {
    pub(super) fn of(job: &JobHeader) -> Policy {
        let flags = job.flags;
        match job.dice {
            0 if flags & job::PREEMPT_FIRST != 0 => Policy::PreemptFirst,
            0 => Policy::Quiet,
            dice => Policy::Dice(Dice::of(dice, job.draw, job.length)),
        }
    }

    pub(super) fn is_random(self) -> bool {
        matches!(self, Policy::Dice(_))
    }

    /// One of the processes, of which there is at least one.
    fn pick(&mut self, awake: &ProcessSet, current: usize, words: usize) -> usize {
        let companions = usize::from(threads().companions.get());
        let lowest = awake.lowest_from(0, words).unwrap_or(0);
        match self {
            // The running one's if it is among them, else the lowest.
            Policy::Quiet if awake.contains(companions + current) => companions + current,
            Policy::Quiet => match awake.lowest_from(companions, words) {
                Some(commits) => commits,
                None if awake.contains(current) => current,
                None => lowest,
            },
            Policy::PreemptFirst if awake.contains(current) && turns::looks(current) => current,
            Policy::PreemptFirst => {
                let later = awake.lowest_from(current + 1, words);
                later.filter(|&later| later < companions).unwrap_or(lowest)
            }
            Policy::Dice(dice) => dice.throw(awake, words).unwrap_or(lowest),
        }
    }
}

/// `enabled` is who could have gone instead, where it was a choice.
fn log_step(process: u16, step: Step, enabled: Option<&ProcessSet>) {
    if process < COMPANIONS && step.kind != step::SPOIL {
        repeated::moved(process.into(), step.origin);
    }
    let chosen = if enabled.is_some() { 8 } else { 0 };
    let head = head_of(RecordKind::Step, process, step.kind, chosen);
    let object = match step.kind {
        // Whoever creates first gets the next number; who has one already says so.
        step::CREATE if step.object == 0 => lifecycle::next_number(process.into()),
        _ => step.object,
    };
    let first = enabled.map_or(0, |enabled| enabled.word(0));
    trace::step(head, step.origin, object as u64, first);
    if let Some(enabled) = enabled {
        log_others(enabled, 0);
    }
}

/// Members of a set that are not in its first word; with `flags`, who could have gone on at the end.
fn log_others(enabled: &ProcessSet, flags: u8) {
    for at in 1..threads().words.get() {
        if enabled.word(at) != 0 {
            trace::others(at as u16, flags, enabled.word(at));
        }
    }
}

/// A thread whose step is no choice and possible.
fn eager(current: usize) -> Option<usize> {
    let able = |number: &usize| possible(*number, &tables().contexts[*number]);
    let eager = &threads().eager;
    if eager.contains(current) && able(&current) {
        return Some(current);
    }
    eager.iter(threads().thread_words.get()).find(able)
}

/// Is any step of others possible, be it of a store buffer?
pub(super) fn others_may_go_on() -> bool {
    let me = threads().current.get();
    let words = threads().thread_words.get();
    threads().eager.has_others(me, words) || enabled().has_others(me, threads().words.get())
}

/// Threads whose step is possible, and above them store buffers that hold something.
fn enabled() -> &'static ProcessSet {
    let enabled = &tables().enabled;
    enabled.clear(threads().words.get());
    for at in 0..threads().thread_words.get() {
        let (ready, eager) = (threads().ready.word(at), threads().eager.word(at));
        let free = threads().free.word(at);
        enabled.set_word(at, free);
        for number in members(at, ready & !eager & !free) {
            if possible(number, &tables().contexts[number]) {
                enabled.insert(number);
            }
        }
    }
    store_buffer::leaving(enabled);
    transactions::add_spoilers(enabled);
    enabled
}

/// Those of them that are awake.
fn awake(enabled: &'static ProcessSet) -> &'static ProcessSet {
    if tables().asleep.is_empty() {
        return enabled;
    }
    let awake = &tables().awake;
    for at in 0..threads().words.get() {
        awake.set_word(at, enabled.word(at) & !tables().asleep.word(at));
    }
    awake
}

fn possible(number: usize, context: &Context) -> bool {
    let Step { kind, object, .. } = context.step.get();
    if threads().buffered.get() && drains(kind) && !store_buffer::is_empty(number) {
        return false;
    }
    let found = || objects().find_exactly(object);
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
        step::WAKE_TO_LOOK => {
            found().is_some_and(|condition| condition::is_contested(condition, number))
        }
        step::AWAIT_SIGNAL => found().is_some_and(|signal| signal.count.get() > 0),
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
    let place = forked::key(object) as u64 | LOCK;
    sleep_sets::executed(place, 1, what != READ);
}

/// The same, where nobody who sleeps is concerned.
pub(super) fn note(object: usize, what: u8, parameter: u64) {
    let me = threads().current.get();
    let origin = tables().contexts[me].step.get().origin;
    let place = forked::key(object) as u64 | LOCK;
    let gone = object_lifetime::is_gone(object);
    let kind = tables().contexts[me].step.get().kind;
    // Who signals while nobody waits has only looked whether somebody does.
    let signals = matches!(kind, step::SIGNAL | step::BROADCAST);
    let looked = what == READ || signals && parameter == 0;
    let parameter = parameter | if gone { life::GONE } else { 0 };
    trace::access(me, place, what, origin, [parameter, 0, 0]);
    turns::touched(me, place, 1, None);
    turns::synchronised(me, place, kind, looked);
    if !looked {
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
                let head = head_of(RecordKind::Blocked, number as u16, step::READ, 0);
                trace::blocked(head, origin, place);
                continue;
            }
            let holder = match kind {
                step::JOIN => object as u64,
                _ => objects().find_exactly(object).map_or(0, Object::holder),
            };
            trace::blocked(
                head_of(RecordKind::Blocked, number as u16, kind, holder << 3),
                origin,
                object as u64,
            );
        }
    }
    if threads().over.get() {
        outcome::over()
    }
    if turns::in_vain() || would_look() || signals::is_spent() || signals::would_interrupt() {
        stop_at_once(End::InVain)
    }
    if forked::might_take_another() {
        outcome::assumed()
    }
    channel_calls::nobody_goes_on();
    let late = |context: &Context| {
        context.status.get() == Status::Ready && context.step.get().kind == step::LATE_WAKE
    };
    if (&tables().contexts)[..threads().count.get()]
        .iter()
        .any(late)
    {
        // It would have gone on, after some time.
        stop_at_once(End::Limit)
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

/// Was a thread woken that would only look again? The execution in which it looks then, and has not waited, shows what follows.
fn would_look() -> bool {
    let contexts = &(&tables().contexts)[..threads().count.get()];
    contexts.iter().enumerate().any(|(number, context)| {
        let Step { kind, object, .. } = context.step.get();
        context.status.get() == Status::Ready
            && kind == step::WAKE_TO_LOOK
            && objects()
                .find_exactly(object)
                .is_some_and(|condition| condition::reached(condition, number))
    })
}

/// The search has seen enough of this run.
fn stop(end: End, enabled: &ProcessSet) -> ! {
    log_others(enabled, 1);
    leave(end, enabled.word(0))
}

/// The same, and nobody asks who could have gone on.
pub(super) fn stop_at_once(end: End) -> ! {
    leave(end, 0)
}

fn leave(end: End, address: u64) -> ! {
    threads().over.set(false);
    outcome::end(
        end,
        Report {
            address,
            ..Report::default()
        },
    )
}
