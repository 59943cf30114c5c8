//! The ordering table of Px86 as data (docs/design/model.md §2; seed 000 table 2.1), extended by non-temporal stores.
//!
//! Both definitions of litmus behaviour, the operational and the axiomatic one, and the encoding of proofs take their order from
//! this table and contain no rule of their own: flip a cell and they follow. The mutation test of `landfall-litmus` does exactly
//! that, cell by cell. The engines cannot afford to ask for every pair; where rows and columns are built in, a test holds them
//! against the table:
//!
//! | place | what is built in | held by |
//! |---|---|---|
//! | `model::commit` | what non-temporal stores overtake; what a write-back promises, and when it is kept | its tests |
//! | `check::execution` | when a store is written back | `check/tests/order_table.rs` |
//! | `explore::schedule::Queued` | what waits in a store buffer | `explore/tests/order_table.rs` |
//! | `explore::schedule::Step::guarantees` | what makes something durable | `explore/tests/order_table.rs` |
//! | `explore::schedule::crash` | which step completes a write-back | its tests, `litmus/tests/schedule.rs` |
//! | `litmus::buffers` | all of it, as queues | `litmus/tests/agreement.rs`: outcomes of random programs |
//! | `runtime/threads/store_buffer` (`may_leave`) | what waits in a store buffer | `native/tests/litmus.rs`: outcomes of native programs |
//! | `native::schedule::reader` | which transitions come before a commit | `native/tests/litmus.rs` |

use std::fmt;

/// What an instruction is to the ordering table: one row and one column each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum OpKind {
    Read,
    Write,
    /// A locked read-modify-write. A compare-and-swap that fails is one too: it fences all the same.
    Rmw,
    Mfence,
    Sfence,
    /// `clflushopt` and `clwb`: one semantics.
    FlushOpt,
    Flush,
    /// A non-temporal store (PEx86).
    NtWrite,
}

impl OpKind {
    pub const COUNT: usize = 8;
    pub const ALL: [OpKind; Self::COUNT] = [
        OpKind::Read,
        OpKind::Write,
        OpKind::Rmw,
        OpKind::Mfence,
        OpKind::Sfence,
        OpKind::FlushOpt,
        OpKind::Flush,
        OpKind::NtWrite,
    ];

    pub fn name(self) -> &'static str {
        match self {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Rmw => "rmw",
            OpKind::Mfence => "mfence",
            OpKind::Sfence => "sfence",
            OpKind::FlushOpt => "clflushopt",
            OpKind::Flush => "clflush",
            OpKind::NtWrite => "ntwrite",
        }
    }

    /// Does this operation make the `clflushopt`s and non-temporal stores ordered before it durable?
    pub fn drains(self) -> bool {
        matches!(self, OpKind::Rmw | OpKind::Mfence | OpKind::Sfence)
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One cell: is the program order of two operations of one thread kept?
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Keep {
    Never,
    /// Only when both touch the same cache line.
    SameLine,
    Always,
}

impl Keep {
    pub const ALL: [Keep; 3] = [Keep::Never, Keep::SameLine, Keep::Always];

    pub fn holds(self, same_line: bool) -> bool {
        match self {
            Keep::Never => false,
            Keep::SameLine => same_line,
            Keep::Always => true,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Keep::Never => "✗",
            Keep::SameLine => "CL",
            Keep::Always => "✓",
        }
    }
}

/// Earlier operation (row) against later operation (column) of one thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OrderTable([[Keep; OpKind::COUNT]; OpKind::COUNT]);

impl OrderTable {
    /// Px86 as Intel builds it. The upper left 7×7 is seed 000 table 2.1; the row and the column of non-temporal
    /// stores follow PEx86 (POPL'22): ordered like stores on their own line, weakly on others, drained by fences.
    pub const PX86: OrderTable = {
        const N: Keep = Keep::Never;
        const L: Keep = Keep::SameLine;
        const Y: Keep = Keep::Always;
        OrderTable([
            //                 read write rmw mfence sfence clflushopt clflush ntwrite
            /* read       */
            [Y, Y, Y, Y, Y, Y, Y, Y],
            /* write      */ [N, Y, Y, Y, Y, L, Y, L],
            /* rmw        */ [Y, Y, Y, Y, Y, Y, Y, Y],
            /* mfence     */ [Y, Y, Y, Y, Y, Y, Y, Y],
            /* sfence     */ [N, Y, Y, Y, Y, Y, Y, Y],
            /* clflushopt */ [N, N, Y, Y, Y, N, L, N],
            /* clflush    */ [N, Y, Y, Y, Y, L, Y, L],
            /* ntwrite    */ [N, L, Y, Y, Y, L, L, L],
        ])
    };

    pub fn keep(&self, earlier: OpKind, later: OpKind) -> Keep {
        self.0[earlier as usize][later as usize]
    }

    /// Is `earlier` ordered before `later`, given whether they touch the same line?
    pub fn ordered(&self, earlier: OpKind, later: OpKind, same_line: bool) -> bool {
        self.keep(earlier, later).holds(same_line)
    }

    /// This table with one cell changed: what the mutation test runs on.
    pub fn with(&self, earlier: OpKind, later: OpKind, keep: Keep) -> OrderTable {
        let mut table = self.clone();
        table.0[earlier as usize][later as usize] = keep;
        table
    }
}

/// Where the persistence domain begins (`--platform`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Platform {
    /// Caches are lost with the power: flushes decide.
    #[default]
    Adr,
    /// Caches are drained by reserve power: a committed store is durable. Non-temporal stores still need their fence.
    Eadr,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_order_what_they_must() {
        let t = OrderTable::PX86;
        for kind in OpKind::ALL {
            assert_eq!(t.keep(kind, OpKind::Mfence), Keep::Always);
            assert_eq!(t.keep(OpKind::Mfence, kind), Keep::Always);
            assert_eq!(t.keep(kind, OpKind::Rmw), Keep::Always);
        }
    }

    #[test]
    fn with_changes_one_cell() {
        let t = OrderTable::PX86.with(OpKind::Write, OpKind::Read, Keep::Always);
        let differing = OpKind::ALL
            .iter()
            .flat_map(|&a| OpKind::ALL.iter().map(move |&b| (a, b)))
            .filter(|&(a, b)| t.keep(a, b) != OrderTable::PX86.keep(a, b))
            .count();
        assert_eq!(differing, 1);
    }
}
