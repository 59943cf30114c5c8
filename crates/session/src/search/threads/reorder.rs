//! The same execution with as few switches as can be: what a thread did that nothing else needed is left out, and threads run on
//! while what they do depends on nobody else.

use landfall_explore::schedule::{Explored, Order, Process, Step};

/// Of the last execution, what happens before the last transition of `thread` (or everything), in a plainer order.
pub(crate) fn plainer(search: &dyn Explored, thread: Option<u8>) -> Vec<Step> {
    reordered(search, thread, GoesFirst::Threads)
}

/// All of the last execution, in an order in which every store reaches memory as soon as nobody can tell: to the program it is the same
/// execution, to what plays store buffers it is as different as can be.
pub(crate) fn prompt(search: &dyn Explored) -> Vec<Step> {
    reordered(search, None, GoesFirst::Buffers)
}

/// Who goes on where several may and the running thread may not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GoesFirst {
    Threads,
    Buffers,
}

fn reordered(search: &dyn Explored, thread: Option<u8>, first: GoesFirst) -> Vec<Step> {
    let (trace, order) = (search.trace(), search.order());
    let needed = |at: usize| match thread {
        None => true,
        Some(thread) => last_of(&trace.steps, order, thread).is_some_and(|last| {
            at == last
                || search.clock(last)[usize::from(trace.steps[at].process)] >= trace.steps[at].tick
        }),
    };
    let mut rest: Vec<usize> = (0..trace.steps.len()).filter(|&at| needed(at)).collect();
    let before = |first: usize, second: usize| {
        search.clock(second)[usize::from(trace.steps[first].process)] >= trace.steps[first].tick
    };
    let mut out: Vec<Step> = Vec::new();
    let mut running: Option<Process> = None;
    while !rest.is_empty() {
        let free = |&at: &usize| {
            rest.iter()
                .take_while(|&&other| other != at)
                .all(|&other| !before(other, at))
        };
        let candidates: Vec<usize> = rest.iter().copied().filter(|at| free(at)).collect();
        let of = |process: Option<Process>| {
            let mine = |&&at: &&usize| Some(trace.steps[at].process) == process;
            candidates.iter().find(mine).copied()
        };
        let is_buffer = |&at: &usize| order.is_companion(trace.steps[at].process);
        let mut all = candidates.iter().copied();
        let next = match first {
            GoesFirst::Buffers => all.find(is_buffer).or_else(|| of(running)),
            // On with the same thread; else with another thread rather than with a store buffer.
            GoesFirst::Threads => of(running).or_else(|| all.find(|at| !is_buffer(at))),
        };
        let Some(next) = next.or(candidates.first().copied()) else {
            break;
        };
        let step = trace.steps[next];
        if !order.is_companion(step.process) {
            running = Some(step.process);
        }
        out.push(step);
        rest.retain(|&at| at != next);
    }
    out
}

fn last_of(steps: &[Step], order: Order, thread: u8) -> Option<usize> {
    let of = |step: &Step| {
        order.thread(step.process) == usize::from(thread) && !order.is_companion(step.process)
    };
    steps.iter().rposition(of)
}
