//! How a store to persistent memory was made.

use landfall_explore::schedule::Step;
use landfall_model::event::Atomicity;

/// What a step says of a store to persistent memory for those who judge it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredAs {
    pub(super) atomic: Atomicity,
    pub(super) at_once: bool,
}

impl Default for StoredAs {
    fn default() -> StoredAs {
        StoredAs {
            atomic: Atomicity::Plain,
            at_once: false,
        }
    }
}

impl StoredAs {
    pub(super) fn say(self, step: &mut Step) {
        (step.atomic, step.at_once) = (self.atomic, self.at_once);
    }
}
