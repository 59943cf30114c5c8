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

/// Accesses that are no steps, of what threads share and at least one of them writes: where a lock orders them, they say what came of its order.
/// In the order they happened; of a thread between two of its steps each place and object once.
pub(super) fn besides(trace: &Trace, order: Order) -> Vec<Trailing> {
    let mut threads: HashMap<u32, (usize, bool, bool)> = HashMap::new();
    let mut note = |thread: usize, object: u32, writes: bool| {
        let (first, several, written) = threads.entry(object).or_insert((thread, false, false));
        (*several, *written) = (*several || *first != thread, *written || writes);
    };
    for access in &trace.trailing {
        note(access.thread.into(), access.object, access.write);
    }
    for step in &trace.steps {
        for (object, _, writes) in accesses(trace, step) {
            note(order.thread(step.process), object, writes);
        }
    }
    let shared = |object: u32| {
        threads
            .get(&object)
            .is_some_and(|&(_, several, written)| several && written)
    };
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
        shared(object) && known.insert((thread, tick, site, object, mask))
    };
    let plain = trace
        .trailing
        .iter()
        .filter(|access| !access.within && !access.atomic);
    plain.filter(is_new).copied().collect()
}
