//! What locks, conditions, semaphores and the like are doing, by their address. libc's own fields stay as initialised: their
//! layout is libc's business, and a program that looks at them is beyond help.

const ROOM: usize = 4096;

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Object {
    address: usize,
    /// The thread that holds it, plus one; zero for nobody.
    pub(crate) owner: u32,
    /// How often a recursive lock is held; a semaphore's value; threads that arrived at a barrier; waiters that may go on.
    pub(crate) count: u32,
    /// Threads that hold it shared, a bit each; of a condition, the waiters that its signals reached.
    pub(crate) shared: u32,
    /// Threads that wait for it, a bit each.
    pub(crate) waiting: u32,
    /// A kind of lock, a barrier's number of threads.
    pub(crate) kind: u32,
    /// Where the mark is that it was destroyed; zero if it was not.
    pub(crate) mark: usize,
}

impl Object {
    pub(crate) fn is_owner(&self, thread: usize) -> bool {
        self.owner as usize == thread + 1
    }

    /// Who holds it, plus one.
    pub(crate) unsafe fn holder(object: *const Object) -> u64 {
        match (*object).owner {
            0 if (*object).shared != 0 => u64::from((*object).shared.trailing_zeros()) + 1,
            owner => u64::from(owner),
        }
    }
}

/// Open addressing; emptied by forgetting what was used.
#[repr(C)]
pub(crate) struct Objects {
    table: [Object; ROOM],
    used: [u16; ROOM / 2],
    count: usize,
}

impl Objects {
    pub(crate) unsafe fn reset(&mut self) {
        for i in 0..self.count {
            self.table[usize::from(self.used[i])].address = 0;
        }
        self.count = 0;
    }

    fn place(&self, address: usize) -> usize {
        let mut at = (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        while self.table[at].address != 0 && self.table[at].address != address {
            at = (at + 1) % ROOM;
        }
        at
    }

    pub(crate) fn find(&mut self, address: usize) -> Option<*mut Object> {
        let at = self.place(address);
        (self.table[at].address == address).then(|| &raw mut self.table[at])
    }

    /// The object at an address, new if nobody has used it yet in this run.
    pub(crate) unsafe fn get(&mut self, address: usize) -> *mut Object {
        self.meet(address).0
    }

    /// The same, and whether it is new: then a constructor may have made it, before the run.
    pub(crate) unsafe fn meet(&mut self, address: usize) -> (*mut Object, bool) {
        let at = self.place(address);
        let first = self.table[at].address == 0;
        if first {
            if self.count == self.used.len() {
                crate::run::outcome::internal(b"too many locks", 0);
            }
            self.used[self.count] = at as u16;
            self.count += 1;
            self.table[at] = Object {
                address,
                ..Object::default()
            };
        }
        (&raw mut self.table[at], first)
    }

    /// Initialised anew, or destroyed: whatever was known of it is void.
    pub(crate) unsafe fn renew(&mut self, address: usize) -> *mut Object {
        let object = self.get(address);
        *object = Object {
            address,
            ..Object::default()
        };
        object
    }
}
