//! An execution as a search has just seen it, whichever search that is.

use super::search::Search;
use super::step::Order;
use super::threads::Points;
use super::trace::Trace;

pub trait Explored {
    /// The last execution.
    fn trace(&self) -> &Trace;

    fn order(&self) -> Order;

    /// Its happens-before: for transition `at`, the tick up to which each process happens before it.
    fn clock(&self, at: usize) -> &[u32];

    /// Which plain accesses are scheduling points: a schedule means something only with them.
    fn points(&self) -> &Points;

    /// So many transitions are those of its first execution; `None` if this is that, or nobody knows.
    fn shared(&self) -> Option<usize> {
        None
    }

    /// Is it like one before, so that only its cost counts?
    fn repeats(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for dyn Explored + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explored")
            .field("steps", &self.trace().steps.len())
            .finish_non_exhaustive()
    }
}

impl Explored for Search {
    fn trace(&self) -> &Trace {
        Search::trace(self)
    }

    fn order(&self) -> Order {
        Search::order(self)
    }

    fn clock(&self, at: usize) -> &[u32] {
        Search::clock(self, at)
    }

    fn points(&self) -> &Points {
        &self.points
    }

    fn shared(&self) -> Option<usize> {
        self.shared
    }
}
