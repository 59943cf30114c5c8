//! Which threads nobody can tell apart, as far as executions have shown.

use super::TraceReader;
use landfall_explore::schedule::{Birth, Trace};

impl TraceReader {
    /// Threads that one thread created with no transition in between, to run the same on the same argument, are alike unless one of them
    /// looked at what it alone has.
    pub(super) fn tell_alike(&self, trace: &mut Trace) {
        let Trace { births, alike, .. } = trace;
        alike.clear();
        // Their numbers say who was faster.
        if self.creations || self.blocks {
            return;
        }
        alike.extend(0..self.most as u8);
        let key =
            |birth: &Birth| (birth.what != 0).then_some((birth.parent, birth.what, birth.after));
        let seen = |birth: &Birth| self.observed >> birth.child & 1 != 0;
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
