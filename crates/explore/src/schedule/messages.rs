//! What atomic accesses and fences tell other threads, by the rules of C and C++: who reads with *acquire* what was written with
//! *release* knows all that the writer knew. Relaxed accesses tell nothing, unless fences stand around them: one with release
//! before the store, one with acquire after the load. A read-modify-write passes on what it replaces, whatever its own order; so
//! do later stores of the thread that began (as C11 has it; C++20 does not, and where the two differ this sees no race).

use super::step::{Orders, Step};
use super::trace::SourceFence;
use smallvec::SmallVec;

/// Clock entries count the ticks of threads.
pub(super) type Clock = SmallVec<[u32; 8]>;

pub(super) fn join(mine: &mut Clock, theirs: &Clock) {
    for (mine, &theirs) in mine.iter_mut().zip(theirs) {
        *mine = theirs.max(*mine);
    }
}

/// Bytes of an object, and what whoever reads them with acquire comes to know of one writer.
#[derive(Clone, Debug)]
struct Message {
    object: u32,
    mask: u64,
    thread: usize,
    clock: Clock,
}

#[derive(Debug)]
pub(super) struct Messages {
    all: Vec<Message>,
    /// Per thread: what its relaxed loads found, for the next fence with acquire.
    found: Vec<Option<Clock>>,
    /// Per thread: its fences with release, and what it knew there, ascending.
    fences: Vec<Vec<(u32, Clock)>>,
}

impl Messages {
    pub(super) fn new(threads: usize) -> Messages {
        Messages {
            all: Vec::new(),
            found: vec![None; threads],
            fences: vec![Vec::new(); threads],
        }
    }

    /// A fence of a thread that knows `clock`, and more after it.
    pub(super) fn fence(&mut self, fence: &SourceFence, clock: &mut Clock) {
        let thread = usize::from(fence.thread);
        if let (true, Some(found)) = (fence.orders.acquire, &self.found[thread]) {
            join(clock, found);
        }
        if fence.orders.release {
            self.fences[thread].push((fence.tick, clock.clone()));
        }
    }

    /// An atomic access reads what is in memory.
    pub(super) fn read(&mut self, thread: usize, step: &Step, clock: &mut Clock) {
        let read =
            |message: &&Message| message.object == step.object && message.mask & step.mask != 0;
        for message in self.all.iter().filter(read) {
            if step.orders.acquire {
                join(clock, &message.clock);
                continue;
            }
            match &mut self.found[thread] {
                Some(found) => join(found, &message.clock),
                none => *none = Some(message.clock.clone()),
            }
        }
    }

    /// An ordinary store of these bytes.
    pub(super) fn overwritten(&mut self, object: u32, mask: u64) {
        self.all.retain_mut(|message| {
            if message.object == object {
                message.mask &= !mask;
            }
            message.mask != 0
        });
    }

    /// An atomic store of these bytes, issued by the thread at that tick, when it knew `clock`.
    pub(super) fn written(
        &mut self,
        thread: usize,
        (object, mask): (u32, u64),
        orders: Orders,
        issued: u32,
        clock: &Clock,
    ) {
        if !orders.updates {
            // Of others nothing is left.
            self.all.retain_mut(|message| {
                if message.object == object && message.thread != thread {
                    message.mask &= !mask;
                }
                message.mask != 0
            });
        }
        let fences = &self.fences[thread];
        let fenced = fences.partition_point(|(tick, _)| *tick <= issued);
        let tells = match fenced.checked_sub(1) {
            _ if orders.release => clock.clone(),
            Some(last) => fences[last].1.clone(),
            None => return,
        };
        let own = |message: &&mut Message| {
            (message.object, message.mask, message.thread) == (object, mask, thread)
        };
        match self.all.iter_mut().find(own) {
            Some(message) => join(&mut message.clock, &tells),
            None => self.all.push(Message {
                object,
                mask,
                thread,
                clock: tells,
            }),
        }
    }
}
