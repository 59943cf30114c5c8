//! Hardware transactions of a test: their instructions, where they begin and end, and what `xbegin` says when one aborts
//! (docs/design/model.md §10; Intel SDM volume 1, "Programming with Intel TSX").

use crate::program::{Instr, LitmusProgram, Reg, Thread, Value};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TxInstr {
    /// `r = xbegin`: [`STARTED`], or after an abort the status; the thread then goes on behind the matching `xend`.
    Begin {
        reg: Option<Reg>,
    },
    End,
    /// Aborts with a code, always or if the register holds this value. Outside a transaction it does nothing.
    Abort {
        code: u8,
        when: Option<(Reg, Value)>,
    },
    /// 1 inside a transaction, 0 outside.
    Test {
        reg: Reg,
    },
}

/// Which aborts nobody asked for a test has to reckon with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Aborts {
    /// Any transaction may abort at any moment for no reason that a program can see (an interrupt, a page that is not there).
    #[default]
    Spurious,
    /// Only those with a cause: a conflict, an `xabort`, an instruction that no transaction takes.
    Caused,
}

/// What `xbegin` leaves where the transaction started.
pub const STARTED: Value = -1;
/// The bits of a status. In bits 24 to 31 is the code of an `xabort`.
pub const EXPLICIT: Value = 1;
pub const MAY_RETRY: Value = 1 << 1;
pub const CONFLICT: Value = 1 << 2;
pub const NESTED: Value = 1 << 5;

/// Transactions within one another that the hardware takes.
pub const MAX_NESTING: usize = 7;

/// The status after an `xabort`.
pub fn explicit(code: u8) -> Value {
    EXPLICIT | Value::from(code) << 24
}

/// What `xbegin` says after an abort for no visible reason, and after a conflict: the hardware gives hope, or it does not.
pub const SPURIOUS_STATUSES: [Value; 2] = [0, MAY_RETRY];
pub const CONFLICT_STATUSES: [Value; 2] = [CONFLICT, CONFLICT | MAY_RETRY];

/// An outermost transaction: the places of its `xbegin` and of its `xend`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxRegion {
    pub begin: usize,
    pub end: usize,
}

impl TxRegion {
    /// Is the instruction inside, neither the `xbegin` nor the `xend`?
    pub fn holds(self, at: usize) -> bool {
        self.begin < at && at < self.end
    }
}

impl Thread {
    /// The outermost transactions, in order.
    pub fn regions(&self) -> Vec<TxRegion> {
        let mut regions = Vec::new();
        let (mut depth, mut begin) = (0, 0);
        for (at, instr) in self.body.iter().enumerate() {
            match instr {
                Instr::Tx(TxInstr::Begin { .. }) => {
                    if depth == 0 {
                        begin = at;
                    }
                    depth += 1;
                }
                Instr::Tx(TxInstr::End) => {
                    depth -= 1;
                    if depth == 0 {
                        regions.push(TxRegion { begin, end: at });
                    }
                }
                _ => {}
            }
        }
        regions
    }

    /// How many transactions are open right before the instruction.
    pub fn depth(&self, at: usize) -> usize {
        self.body[..at].iter().fold(0, |depth, instr| match instr {
            Instr::Tx(TxInstr::Begin { .. }) => depth + 1,
            Instr::Tx(TxInstr::End) => depth - 1,
            _ => depth,
        })
    }

    /// The status bit that tells an abort right before this instruction apart from one in the outermost transaction.
    pub fn nested(&self, at: usize) -> Value {
        match self.depth(at) {
            0 | 1 => 0,
            _ => NESTED,
        }
    }
}

impl LitmusProgram {
    pub fn has_transactions(&self) -> bool {
        let mut instrs = self.threads.iter().flat_map(|thread| &thread.body);
        instrs.any(|instr| matches!(instr, Instr::Tx(TxInstr::Begin { .. })))
    }
}

/// No transaction takes it: it aborts (SDM volume 1, "RTM: instruction-based considerations").
pub fn is_forbidden(instr: &Instr) -> bool {
    matches!(instr, Instr::Flush { .. } | Instr::NtStore { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_transactions_are_one() {
        let tx = |instr| Instr::Tx(instr);
        let (begin, end) = (tx(TxInstr::Begin { reg: None }), tx(TxInstr::End));
        let thread = Thread {
            regs: Vec::new(),
            body: vec![Instr::Mfence, begin, begin, end, end, begin, end],
        };
        let regions = [TxRegion { begin: 1, end: 4 }, TxRegion { begin: 5, end: 6 }];
        assert_eq!(thread.regions(), regions);
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|at| thread.depth(at)),
            [0, 0, 1, 2, 1, 0]
        );
        assert_eq!([2, 3].map(|at| thread.nested(at)), [0, NESTED]);
    }

    #[test]
    fn the_code_is_in_the_highest_byte() {
        assert_eq!(explicit(0xff), 0xff00_0001);
    }
}
