//! Which threads nobody can tell apart, as far as executions have shown.

use super::TraceReader;
use landfall_explore::schedule::{Birth, Process, Trace};

/// Threads of a program in which any are looked at as alike.
const MOST_ALIKE: usize = 64;

impl TraceReader {
    /// Threads that one thread created with no transition in between, to run the same on the same argument, are alike unless one of them
    /// looked at what it alone has.
    pub(in super::super) fn tell_alike(&self, trace: &mut Trace) {
        let Trace { births, alike, .. } = trace;
        alike.clear();
        // Their numbers say who was faster; or one of them had the number of another before; or there are more than are told apart.
        if self.creations || self.blocks || self.again || self.most > MOST_ALIKE {
            return;
        }
        alike.extend(0..self.most as Process);
        let key =
            |birth: &Birth| (birth.what != 0).then_some((birth.parent, birth.what, birth.after));
        // A number that two threads had, one after the other, is no name.
        let twice = |birth: &Birth| births.iter().filter(|o| o.child == birth.child).count() > 1;
        let seen = |birth: &Birth| self.observed.contains(&birth.child) || twice(birth);
        for birth in &*births {
            let Some(what) = key(birth) else {
                continue;
            };
            let mut same = births.iter().filter(|other| key(other) == Some(what));
            if same.clone().any(seen) {
                continue;
            }
            let first = same.next().map_or(birth.child, |first| first.child);
            if let Some(like) = alike.get_mut(usize::from(birth.child)) {
                *like = first;
            }
        }
    }
}
