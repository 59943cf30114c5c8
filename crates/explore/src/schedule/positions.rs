//! Where the transitions of each process stand in an execution.

use super::step::{Act, Order, Process, Step};

#[derive(Debug)]
pub(super) struct Positions {
    order: Order,
    /// By process, tick and place of its transitions, ascending.
    all: Vec<Vec<(u32, u32)>>,
    /// Those that complete write-backs.
    drains: Vec<Vec<(u32, u32)>>,
}

impl Positions {
    /// From this transition on; what came before happens before all of it.
    pub(super) fn new(steps: &[Step], from: usize, order: Order) -> Positions {
        let width = steps[from..]
            .iter()
            .map(|step| usize::from(step.process) + 1)
            .max();
        let none = vec![Vec::new(); width.unwrap_or(0)];
        let mut positions = Positions {
            order,
            all: none.clone(),
            drains: none,
        };
        for (step, at) in steps.iter().zip(0..).skip(from) {
            let process = usize::from(step.process);
            positions.all[process].push((step.tick, at));
            let drains = match step.act {
                Act::Fence => true,
                Act::Rmw | Act::Cas => !order.is_companion(step.process),
                Act::Transaction => step.commits(),
                _ => false,
            };
            if drains {
                positions.drains[process].push((step.tick, at));
            }
        }
        positions
    }

    /// The last transition of a process up to a tick.
    pub(super) fn last(&self, process: Process, tick: u32) -> Option<u32> {
        let all = self.all.get(usize::from(process))?;
        let count = all.partition_point(|&(of, _)| of <= tick);
        Some(all[count.checked_sub(1)?].1)
    }

    /// Process and tick of the fence that completes what a thread began at a tick of its own, with so much in its store buffer.
    pub(super) fn completes(
        &self,
        thread: usize,
        (issued, buffered): (u32, u32),
    ) -> Option<(Process, u32)> {
        let first = |process: usize, after: u32| {
            let drains = self.drains.get(process)?;
            let &(tick, at) = drains.get(drains.partition_point(|&(tick, _)| tick <= after))?;
            Some((at, (process as Process, tick)))
        };
        let fences = [
            first(thread, issued),
            first(self.order.companion(thread), buffered),
        ];
        let first = fences.into_iter().flatten().min()?;
        Some(first.1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::Persistency;
    use super::*;
    use landfall_model::order::OpKind;

    /// A write-back is complete at its own thread's next instruction that drains, be it the thread's or its store buffer's.
    #[test]
    fn what_completes_write_backs_is_what_the_table_lets_drain() {
        let order = Order {
            threads: 2,
            streams: 0,
            persistency: Persistency::Lines,
        };
        let (thread, companion) = (0, order.companion(0) as Process);
        let acts = [
            (thread, Act::Load, OpKind::Read),
            (thread, Act::Store, OpKind::Write),
            (companion, Act::Commit, OpKind::Write),
            (thread, Act::Rmw, OpKind::Rmw),
            (thread, Act::Cas, OpKind::Rmw),
            (thread, Act::Flush, OpKind::Flush),
            (companion, Act::Flush, OpKind::Flush),
            (thread, Act::Fence, OpKind::Mfence),
            (companion, Act::Fence, OpKind::Sfence),
        ];
        for (process, act, kind) in acts {
            let step = Step {
                process,
                act,
                tick: 2,
                ..Step::NOTHING
            };
            let by = |thread, issued| {
                Positions::new(&[step], 0, order)
                    .completes(thread, (issued, issued))
                    .is_some()
            };
            assert_eq!(by(0, 1), kind.drains(), "{act:?}");
            assert!(!by(0, 2), "{act:?} came before");
            assert!(!by(1, 1), "{act:?} is another thread's");
        }
    }
}
