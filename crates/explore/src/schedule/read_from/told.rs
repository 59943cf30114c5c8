//! What tells two executions apart: which store each read returned, or only which value.
//!
//! By values a read is told to have returned one of several stores: all those of that value that were in the graph when it was chosen. A store
//! that comes later is a branch of its own, like one of another value: all that a read may return is in the graph with it, so that
//! each execution agrees with exactly one branch of each choice, as by stores. So no outcome is lost; but two branches may come to the same
//! values, and then the second one is not shown.
//!
//! A data race depends on who read from whom. Where threads share memory that no step accesses, those reads that could order such accesses tell
//! stores apart.

use super::graph::ReadPlaces;
use crate::schedule::sharing::Sharing;
use crate::schedule::step::{Act, Order, Step};
use crate::schedule::trace::Trace;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadsTold {
    #[default]
    ByStores,
    ByValues,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ToldApart {
    by: ReadsTold,
    /// Threads share memory that no step accesses; and they have fences, with which any read may order that.
    shared: bool,
    fences: bool,
    sharing: Sharing,
}

impl ToldApart {
    pub(super) fn new(by: ReadsTold) -> ToldApart {
        ToldApart {
            by,
            ..ToldApart::default()
        }
    }

    /// Looks at an execution: does it show that more must be told apart?
    pub(super) fn learns(&mut self, trace: &Trace, order: Order) -> bool {
        if self.by == ReadsTold::ByStores || self.shared && self.fences {
            return false;
        }
        let before = (self.shared, self.shared && self.fences);
        self.fences |= !trace.fences.is_empty();
        self.shared |= self.sharing.of_plain(trace, order);
        before != (self.shared, self.shared && self.fences)
    }

    /// Is it only the value that matters of what this step read, or (without one) of what memory holds in the end?
    pub(super) fn values(&self, step: Option<&Step>) -> bool {
        let orders = |step: &Step| {
            matches!(step.act, Act::Sync(_))
                || self.shared && (self.fences || step.plain || step.orders.acquire)
        };
        self.by == ReadsTold::ByValues && !step.is_some_and(orders)
    }

    /// Is it only the value that matters of what a step read at that place?
    pub(super) fn by_value(&self, step: &Step, place: u32, places: &ReadPlaces) -> bool {
        self.values(Some(step))
            && self.is_value(step)
            && places.reads(step, place)
            && !places.keeps_order(place)
    }

    /// Are what such a step finds and leaves values, or digests of more?
    pub(super) fn is_value(&self, step: &Step) -> bool {
        step.mask.count_ones() <= 8 && !matches!(step.act, Act::Sync(_))
    }
}
