//! Which threads nobody can tell apart, as far as executions have shown.

use super::TraceReader;
use landfall_explore::schedule::{Birth, Process, Trace};
use rustc_hash::FxHashMap;

/// Threads of a program in which any are looked at as alike: with more, to look whether a reversal renames what is known takes too long.
const MOST_ALIKE: usize = 128;

/// What threads that are alike have in common: who created them, what they run, and after which transition.
type Key = (Process, u64, u32);

impl TraceReader {
    /// Threads that one thread created with no transition in between, to run the same on the same argument, are alike unless one of them
    /// looked at what it alone has.
    pub(in super::super) fn tell_alike(&self, trace: &mut Trace) {
        let Trace { births, alike, .. } = trace;
        alike.clear();
        // Their numbers say who was faster; or one of them had the number of another before; or there are too many.
        if self.creations || self.blocks || self.again || self.most > MOST_ALIKE {
            return;
        }
        alike.extend(0..self.most as Process);
        // A number that two threads had, one after the other, is no name.
        let mut times = vec![0u32; self.most];
        for birth in &*births {
            if let Some(times) = times.get_mut(usize::from(birth.child)) {
                *times += 1;
            }
        }
        let seen = |child: Process| {
            let times = times.get(usize::from(child)).copied();
            self.observed.contains(&child) || times.is_none_or(|times| times > 1)
        };
        // The first of each, and whether one of them was seen.
        let mut groups: FxHashMap<Key, (Process, bool)> = FxHashMap::default();
        for birth in &*births {
            if let Some(key) = key(birth) {
                let (_, any) = groups.entry(key).or_insert((birth.child, false));
                *any |= seen(birth.child);
            }
        }
        for birth in &*births {
            let group = key(birth).and_then(|key| groups.get(&key));
            if let Some(&(first, false)) = group
                && let Some(like) = alike.get_mut(usize::from(birth.child))
            {
                *like = first;
            }
        }
    }
}

fn key(birth: &Birth) -> Option<Key> {
    (birth.what != 0).then_some((birth.parent, birth.what, birth.after))
}
