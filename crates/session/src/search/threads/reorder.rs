//! The same execution with as few switches as can be: what a thread did that nothing else needed is left out, and threads run on
//! while what they do depends on nobody else.

use landfall_explore::schedule::{Explored, Order, Process, Step};
use std::collections::VecDeque;

/// Of the last execution, what happens before the last transition of `thread` (or everything), in a plainer order.
pub(crate) fn plainer(search: &dyn Explored, thread: Option<Process>) -> Vec<Step> {
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

fn reordered(search: &dyn Explored, thread: Option<Process>, first: GoesFirst) -> Vec<Step> {
    let (trace, order) = (search.trace(), search.order());
    let last = thread.map(|thread| last_of(&trace.steps, order, thread));
    let needed = |at: usize| match last {
        None => true,
        Some(last) => last.is_some_and(|last| {
            at == last
                || search.clock(last)[usize::from(trace.steps[at].process)] >= trace.steps[at].tick
        }),
    };
    // Steps of one process keep their order, so only the first that is left of each can be next.
    let mut rest: Vec<VecDeque<usize>> = Vec::new();
    let mut left = 0;
    for at in (0..trace.steps.len()).filter(|&at| needed(at)) {
        let process = usize::from(trace.steps[at].process);
        rest.resize_with(rest.len().max(process + 1), VecDeque::new);
        rest[process].push_back(at);
        left += 1;
    }
    let mut out: Vec<Step> = Vec::with_capacity(left);
    let mut running: Option<Process> = None;
    let mut candidates: Vec<usize> = Vec::new();
    while out.len() < left {
        let free = |at: usize| {
            let clock = search.clock(at);
            rest.iter().enumerate().all(|(process, steps)| {
                let waits = |&next: &usize| next < at && clock[process] >= trace.steps[next].tick;
                process == usize::from(trace.steps[at].process) || !steps.front().is_some_and(waits)
            })
        };
        candidates.clear();
        candidates.extend(rest.iter().filter_map(|steps| steps.front().copied()));
        candidates.retain(|&at| free(at));
        candidates.sort_unstable();
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
        rest[usize::from(step.process)].pop_front();
    }
    out
}

fn last_of(steps: &[Step], order: Order, thread: Process) -> Option<usize> {
    let of = |step: &Step| {
        order.thread(step.process) == usize::from(thread) && !order.is_companion(step.process)
    };
    steps.iter().rposition(of)
}
