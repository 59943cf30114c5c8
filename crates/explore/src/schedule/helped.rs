//! Is a livelock one? Threads are left in loops, each after a turn that was in vain, and nothing that they read is different. But a turn that undoes what
//! it changed may show others, while it lasts, what they wait for: then they need not wait for ever, and another execution shows them go on.

use super::locks::explain;
use super::step::{Order, Process};
use super::threads::{Job, Threads, ThreadsError};
use super::trace::{End, Trace, Wait};

/// Steps of such a turn; one that shows something later than this is not known to.
const MOST_STEPS: usize = 24;

/// Does a thread that waits in a loop go on if it looks while another's next turn is half done? `trace` is an execution that nobody can go on with. That
/// is tried, each pair of threads and each step of the turn, by executions of their own.
pub fn helped(
    threads: &mut impl Threads,
    order: Order,
    trace: &Trace,
) -> Result<bool, ThreadsError> {
    let Some(stuck) = explain(trace, order).filter(|stuck| stuck.spinning) else {
        return Ok(false);
    };
    let spinning: Vec<Process> = stuck.spinning().collect();
    let steps: Vec<Process> = trace.steps.iter().map(|step| step.process).collect();
    for &turning in &spinning {
        for &looking in spinning.iter().filter(|&&looking| looking != turning) {
            for taken in 1..=MOST_STEPS {
                let mut follow = steps.clone();
                follow.extend(std::iter::repeat_n(turning, taken));
                follow.push(looking);
                let job = Job {
                    follow: &follow,
                    keep: 0,
                    sleep: &[],
                    order,
                    limit: usize::MAX,
                };
                let mut found = Trace::default();
                match threads.run(&job, &mut found) {
                    Ok(()) => {}
                    // It cannot take so many.
                    Err(ThreadsError::Diverged { .. }) => break,
                    Err(error) => return Err(error),
                }
                if goes_on(looking, &found, trace) {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Does the thread no longer wait where it did?
fn goes_on(thread: Process, found: &Trace, before: &Trace) -> bool {
    let place = |trace: &Trace| {
        trace.blocked.iter().find_map(|wait| match wait {
            Wait::Step(step) if step.process == thread => Some(step.site),
            _ => None,
        })
    };
    match found.end {
        End::Complete => true,
        End::Deadlock | End::InVain => !found.blocked.is_empty() && place(found) != place(before),
        End::Assumed | End::Asleep | End::Limit | End::Unfounded => false,
    }
}
