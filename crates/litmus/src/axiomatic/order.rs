//! A strict order that grows edge by edge, kept transitively closed, and that refuses a cycle.

/// A set of events, by index.
pub(super) type Set = u64;
pub(super) const MAX_EVENTS: usize = Set::BITS as usize;

#[derive(Clone, Debug, Default)]
pub(super) struct EventOrder {
    /// `after[a]` are the events that `a` is ordered before.
    after: Vec<Set>,
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
        }
    }

    pub(super) fn before(&self, a: usize, b: usize) -> bool {
        self.after[a] & one(b) != 0
    }

    pub(super) fn add(&mut self, a: usize, b: usize) -> Result<(), OrderCycle> {
        if a == b || self.before(b, a) {
            return Err(OrderCycle);
        }
        if !self.before(a, b) {
            let gained = self.after[b] | one(b);
            for (x, after) in self.after.iter_mut().enumerate() {
                if x == a || *after & one(a) != 0 {
                    *after |= gained;
                }
            }
        }
        Ok(())
    }

    /// `set` and everything ordered before a member of it.
    pub(super) fn down_closure(&self, set: Set) -> Set {
        self.after
            .iter()
            .enumerate()
            .filter(|&(_, after)| after & set != 0)
            .fold(set, |closure, (event, _)| closure | one(event))
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
}
