//! What a table shows besides the steps that a schedule asks for: those that matter to a failure and come behind those that its schedule asks for: what others did before the failing thread joined them,
//! and its own stores that were still on their way. What it does once it is alone is no step, so nothing else says that it knew of them.

use landfall_explore::schedule::{Access, NOWHERE, Order, Process, Step, Trace, Trailing};
use std::collections::{HashMap, HashSet};

/// Which bytes of an object steps further on touch, and which of them they write.
type Touched = HashMap<u32, (u64, u64)>;

/// Which steps a table shows: the first `count`, and of the others those before the failure of `thread`, which had joined so much
/// since its last step, as far as that is known.
pub(super) fn shown(
    trace: &Trace,
    order: Order,
    count: usize,
    failure: Option<(Process, &[(Process, u32)])>,
) -> Vec<usize> {
    let count = count.min(trace.steps.len());
    let mut shown: Vec<usize> = (0..count).collect();
    let Some((thread, joined)) = failure else {
        return shown;
    };
    let mut known: HashMap<Process, u32> = HashMap::new();
    let learn = |known: &mut HashMap<Process, u32>, processes: &[(Process, u32)]| {
        for &(process, tick) in processes {
            let up_to = known.entry(process).or_insert(0);
            *up_to = tick.max(*up_to);
        }
    };
    learn(&mut known, joined);
    let mut touched = Touched::new();
    let mut more = Vec::new();
    for (at, step) in trace.steps.iter().enumerate().skip(count).rev() {
        // Nobody else can tell when a thread puts a store into its buffer.
        let own =
            order.is_companion(step.process) && order.thread(step.process) == usize::from(thread);
        let is_known = known
            .get(&step.process)
            .is_some_and(|&up_to| step.tick <= up_to);
        if !own && !is_known && !touches(&touched, trace, step) {
            continue;
        }
        more.push(at);
        learn(&mut known, trace.sets.joined(step.joined));
        learn(
            &mut known,
            &[step.need, step.also, (step.process, step.tick)],
        );
        for (object, mask, writes) in accesses(trace, step) {
            let (any, written) = touched.entry(object).or_insert((0, 0));
            *any |= mask;
            *written |= if writes { mask } else { 0 };
        }
    }
    shown.extend(more.into_iter().rev());
    shown
}

/// What a step touches: object, bytes, whether they are written.
fn accesses<'t>(trace: &'t Trace, step: &Step) -> impl Iterator<Item = (u32, u64, bool)> + use<'t> {
    let within: &[(u32, u64, bool)] = match step.section {
        0 => &[],
        section => trace.sets.accessed(section),
    };
    let itself = (step.object, step.mask, step.access == Access::Write);
    let itself = (step.object != NOWHERE && step.section == 0 && step.access != Access::None)
        .then_some(itself);
    itself.into_iter().chain(within.iter().copied())
}

fn touches(touched: &Touched, trace: &Trace, step: &Step) -> bool {
    accesses(trace, step).any(|(object, mask, writes)| {
        let (any, written) = touched.get(&object).copied().unwrap_or((0, 0));
        mask & if writes { any } else { written } != 0
    })
}

/// What a thread does to bytes of an object last: any access, a write.
#[derive(Clone, Copy, Debug)]
struct LastAccesses {
    thread: usize,
    mask: u64,
    any: u32,
    write: Option<u32>,
}

/// Who created whom, and when. A number may be another thread's after the first has ended: nothing is said of those.
struct Births(HashMap<usize, Option<(usize, u32)>>);

impl Births {
    fn of(trace: &Trace) -> Births {
        let mut births = HashMap::new();
        for birth in &trace.births {
            let parent = (usize::from(birth.parent), birth.tick);
            births
                .entry(usize::from(birth.child))
                .and_modify(|known| *known = None)
                .or_insert(Some(parent));
        }
        Births(births)
    }

    /// Does all that a thread did up to a tick come before another one, because it created that, or who created that?
    fn come_after(&self, thread: usize, tick: u32, other: usize) -> bool {
        let mut child = other;
        // Nobody is their own ancestor; more generations are not looked at.
        for _ in 0..self.0.len() {
            let Some(&Some((parent, at))) = self.0.get(&child) else {
                return false;
            };
            if parent == thread {
                return tick < at;
            }
            child = parent;
        }
        false
    }
}

/// Which bytes of which objects a thread writes while another one that accesses them exists.
pub(super) fn shared(trace: &Trace, order: Order) -> HashMap<u32, u64> {
    let mut objects: HashMap<u32, Vec<LastAccesses>> = HashMap::new();
    let mut note = |thread: usize, tick: u32, (object, mask, writes): (u32, u64, bool)| {
        let of = objects.entry(object).or_default();
        let write = writes.then_some(tick);
        match (of.iter_mut()).find(|known| (known.thread, known.mask) == (thread, mask)) {
            Some(known) => {
                known.any = known.any.max(tick);
                known.write = known.write.max(write);
            }
            None => of.push(LastAccesses {
                thread,
                mask,
                any: tick,
                write,
            }),
        }
    };
    for access in &trace.trailing {
        let what = (access.object, access.mask, access.write);
        note(access.thread.into(), access.tick, what);
    }
    for step in &trace.steps {
        // When a store buffer is emptied says nothing about its thread.
        let tick = match order.is_companion(step.process) {
            true => u32::MAX,
            false => step.tick,
        };
        for what in accesses(trace, step) {
            note(order.thread(step.process), tick, what);
        }
    }
    let births = Births::of(trace);
    let meet = |a: &LastAccesses, b: &LastAccesses| {
        let writes = |tick| !births.come_after(a.thread, tick, b.thread);
        a.thread != b.thread
            && a.write.is_some_and(writes)
            && !births.come_after(b.thread, b.any, a.thread)
    };
    let mut bytes = HashMap::new();
    for (object, all) in objects {
        let mut mask = 0;
        for a in all.iter().filter(|a| a.write.is_some()) {
            for b in &all {
                if a.mask & b.mask & !mask != 0 && meet(a, b) {
                    mask |= a.mask & b.mask;
                }
            }
        }
        bytes.insert(object, mask);
    }
    bytes
}

/// Accesses that are no steps, of what threads share and at least one of them writes: where a lock orders them, they say what came of its order.
/// In the order they happened; of a thread between two of its steps each place and object once.
pub(super) fn besides(trace: &Trace, shared: &HashMap<u32, u64>) -> Vec<Trailing> {
    let mut known = HashSet::new();
    let is_new = |access: &&Trailing| {
        let Trailing {
            thread,
            tick,
            site,
            object,
            mask,
            ..
        } = **access;
        shared.get(&object).is_some_and(|bytes| bytes & mask != 0)
            && known.insert((thread, tick, site, object, mask))
    };
    let plain = trace
        .trailing
        .iter()
        .filter(|access| !access.within && !access.atomic);
    plain.filter(is_new).copied().collect()
}
