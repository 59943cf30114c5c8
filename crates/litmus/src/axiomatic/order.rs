//! A strict order that grows edge by edge, kept transitively closed, and that refuses a cycle.

/// A set of events, by index.
pub(super) type Set = u64;
pub(super) const MAX_EVENTS: usize = Set::BITS as usize;

#[derive(Clone, Debug, Default)]
pub(super) struct EventOrder {
    /// `after[a]` are the events that `a` is ordered before.
    after: Vec<Set>,
    /// Events that happen at one moment have one node.
    node: Vec<usize>,
}

/// The edge would have closed a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OrderCycle;

pub(super) fn one(event: usize) -> Set {
    1 << event
}

pub(super) fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let event = set.trailing_zeros() as usize;
            set &= set - 1;
            event
        })
    })
}

impl EventOrder {
    pub(super) fn new(events: usize) -> EventOrder {
        EventOrder {
            after: vec![0; events],
            node: (0..events).collect(),
        }
    }

    /// One more node, for a moment that is no event of its own.
    pub(super) fn add_moment(&mut self) -> usize {
        self.after.push(0);
        self.node.push(self.node.len());
        self.node.len() - 1
    }

    /// These events of one thread happen at the moment of `at`, in their order.
    pub(super) fn together(&mut self, events: std::ops::Range<usize>, at: usize) {
        for event in events {
            self.node[event] = at;
        }
    }

    pub(super) fn are_together(&self, a: usize, b: usize) -> bool {
        self.node[a] == self.node[b]
    }

    pub(super) fn before(&self, a: usize, b: usize) -> bool {
        match self.are_together(a, b) {
            true => a < b,
            false => self.after[self.node[a]] & one(self.node[b]) != 0,
        }
    }

    pub(super) fn add(&mut self, a: usize, b: usize) -> Result<(), OrderCycle> {
        if a == b || self.before(b, a) {
            return Err(OrderCycle);
        }
        if !self.before(a, b) {
            let (a, b) = (self.node[a], self.node[b]);
            let gained = self.after[b] | one(b);
            for (x, after) in self.after.iter_mut().enumerate() {
                if x == a || *after & one(a) != 0 {
                    *after |= gained;
                }
            }
        }
        Ok(())
    }

    /// `set` and everything ordered before a member of it, or at the same moment.
    pub(super) fn down_closure(&self, set: Set) -> Set {
        let nodes = members(set).fold(0, |nodes, event| nodes | one(self.node[event]));
        let before = |node: usize| nodes & one(node) != 0 || self.after[node] & nodes != 0;
        (0..self.node.len())
            .filter(|&event| before(self.node[event]))
            .fold(0, |closure, event| closure | one(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closes_transitively_and_refuses_cycles() {
        let mut order = EventOrder::new(4);
        order.add(0, 1).unwrap();
        order.add(2, 3).unwrap();
        order.add(1, 2).unwrap();
        assert!(order.before(0, 3));
        assert_eq!(order.add(3, 0), Err(OrderCycle));
        assert_eq!(order.add(2, 2), Err(OrderCycle));
        assert_eq!(order.down_closure(one(2)), 0b0111);
    }

    #[test]
    fn what_happens_together_keeps_its_order_and_lets_nothing_between() {
        let mut order = EventOrder::new(4);
        order.together(1..3, 2);
        order.add(1, 2).unwrap();
        assert_eq!(order.add(2, 1), Err(OrderCycle));
        order.add(0, 1).unwrap();
        assert!(order.before(0, 2));
        order.add(2, 3).unwrap();
        assert_eq!(order.add(3, 1), Err(OrderCycle));
        assert_eq!(order.down_closure(one(1)), 0b0111);
    }
}
