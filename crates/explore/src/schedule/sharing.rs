//! Is there anything in an execution that a data race could be made of? Mostly not: its plain accesses are to what one
//! thread has for itself, and nobody need look closer.

use super::step::{Access, NOWHERE, Order};
use super::trace::Trace;

#[derive(Clone, Copy, Debug, Default)]
struct SharedObject {
    /// The execution that this is about.
    number: u64,
    /// One of the threads, plus one; and whether there is another.
    thread: usize,
    several: bool,
    written: bool,
    plain: bool,
}

/// Kept from execution to execution, so that looking costs no memory.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    objects: Vec<SharedObject>,
    number: u64,
}

impl Sharing {
    /// Do two threads access the same object, one of them writing, one of them by a plain access?
    pub fn of_plain(&mut self, trace: &Trace, order: Order) -> bool {
        self.number += 1;
        let trailing = trace.trailing.iter();
        let trailing = trailing.map(|t| (t.object, usize::from(t.thread), t.write, true));
        let steps = trace.steps.iter().filter(|step| {
            step.object != NOWHERE && matches!(step.access, Access::Read | Access::Write)
        });
        let steps = steps.map(|step| {
            let writes = step.access == Access::Write;
            (step.object, order.thread(step.process), writes, step.plain)
        });
        let mut shared = false;
        for (object, thread, writes, plain) in trailing.chain(steps) {
            let index = object as usize;
            if index >= self.objects.len() {
                self.objects.resize(index + 1, SharedObject::default());
            }
            let known = &mut self.objects[index];
            if known.number != self.number {
                *known = SharedObject {
                    number: self.number,
                    ..SharedObject::default()
                };
            }
            known.several |= known.thread != 0 && known.thread != thread + 1;
            known.thread = thread + 1;
            known.written |= writes;
            known.plain |= plain;
            shared |= known.written && known.plain && known.several;
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Step, Trailing};

    fn access(object: u32, process: u16, access: Access, plain: bool) -> Step {
        Step {
            object,
            process,
            access,
            plain,
            mask: 1,
            ..Step::NOTHING
        }
    }

    #[test]
    fn only_plain_accesses_of_several_threads_with_a_write_count() {
        let order = Order {
            threads: 2,
            streams: 0,
            persistency: Default::default(),
        };
        let mut sharing = Sharing::default();
        let mut shares = |steps: &[Step], trailing: &[Trailing]| {
            let mut trace = Trace::default();
            trace.steps.extend_from_slice(steps);
            trace.trailing.extend_from_slice(trailing);
            sharing.of_plain(&trace, order)
        };
        let (read, write) = (Access::Read, Access::Write);
        assert!(shares(
            &[access(0, 0, write, true), access(0, 1, read, false)],
            &[]
        ));
        // A commit of thread 0, whose store buffer is process 2.
        assert!(!shares(
            &[access(0, 2, write, true), access(0, 0, read, true)],
            &[]
        ));
        assert!(!shares(
            &[access(0, 0, write, false), access(0, 1, read, false)],
            &[]
        ));
        assert!(!shares(
            &[access(0, 0, read, true), access(0, 1, read, true)],
            &[]
        ));
        assert!(!shares(
            &[access(0, 0, write, true), access(1, 1, read, true)],
            &[]
        ));
        let trailing = Trailing {
            after: 0,
            thread: 1,
            tick: 1,
            need: [(0, 0); 2],
            joined: 0,
            object: 0,
            mask: 1,
            write: true,
            within: false,
            atomic: false,
            unjudged: false,
            site: 0,
        };
        assert!(shares(&[access(0, 0, read, false)], &[trailing]));
        assert!(!shares(&[access(0, 1, read, false)], &[trailing]));
    }
}
