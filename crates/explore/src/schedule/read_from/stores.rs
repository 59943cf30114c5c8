//! Who stores where: could a store still come that a read waits for? As far as executions have shown; where a later one shows more, the search
//! starts over.

/// Per place and process.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownStores {
    width: usize,
    /// Up to which of its events a process may store there: a power of two.
    most: Vec<u32>,
    /// A read did not wait for a store that the process would have made after so many of its events, since it is not known to.
    relied: Vec<u32>,
}

impl KnownStores {
    pub(super) fn new(width: usize) -> KnownStores {
        KnownStores {
            width,
            ..KnownStores::default()
        }
    }

    fn slot(&mut self, place: u32, process: usize) -> usize {
        let slot = place as usize * self.width + process;
        if slot >= self.most.len() {
            let length = (place as usize + 1) * self.width;
            self.most.resize(length, 0);
            self.relied.resize(length, u32::MAX);
        }
        slot
    }

    /// That event of a process is a store. Did somebody rely on there being none?
    pub(super) fn saw(&mut self, place: u32, process: usize, number: u32) -> bool {
        let slot = self.slot(place, process);
        if number < self.most[slot] {
            return false;
        }
        self.most[slot] = (number + 1).next_power_of_two();
        let wrong = self.relied[slot] <= number;
        if wrong {
            self.relied[slot] = u32::MAX;
        }
        wrong
    }

    /// May the process store there after so many of its events?
    pub(super) fn may_come(&mut self, place: u32, process: usize, after: u32) -> bool {
        let slot = self.slot(place, process);
        after < self.most[slot]
    }

    pub(super) fn rely(&mut self, place: u32, process: usize, after: u32) {
        let slot = self.slot(place, process);
        self.relied[slot] = self.relied[slot].min(after);
    }

    /// The search starts over.
    pub(super) fn forget(&mut self) {
        self.relied.fill(u32::MAX);
    }
}
