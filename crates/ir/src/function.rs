//! Functions and instructions.

mod read;

pub(crate) use read::FunctionReader;

use crate::operand::{IrOperand, Typed};
use crate::place::PlaceId;
use crate::types::Type;

/// A register of its function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IrRegister(pub u32);

/// A block of its function; the first is where it begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

impl BlockId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    pub name: String,
    pub returns: Type,
    pub parameters: Vec<Parameter>,
    pub blocks: Vec<Block>,
    pub registers: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    pub of: Type,
    pub register: IrRegister,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    pub instructions: Vec<Instruction>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub result: Option<IrRegister>,
    pub kind: InstructionKind,
    pub place: Option<PlaceId>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AtomicOrder {
    /// `unordered` and `monotonic`
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    Sequential,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Udiv,
    Sdiv,
    Urem,
    Srem,
    Shl,
    Lshr,
    Ashr,
    And,
    Or,
    Xor,
}

impl BinaryOp {
    pub(crate) fn named(name: &str) -> Option<BinaryOp> {
        Some(match name {
            "add" => BinaryOp::Add,
            "sub" => BinaryOp::Sub,
            "mul" => BinaryOp::Mul,
            "udiv" => BinaryOp::Udiv,
            "sdiv" => BinaryOp::Sdiv,
            "urem" => BinaryOp::Urem,
            "srem" => BinaryOp::Srem,
            "shl" => BinaryOp::Shl,
            "lshr" => BinaryOp::Lshr,
            "ashr" => BinaryOp::Ashr,
            "and" => BinaryOp::And,
            "or" => BinaryOp::Or,
            "xor" => BinaryOp::Xor,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastOp {
    Trunc,
    Zext,
    Sext,
    /// `ptrtoint`, `inttoptr`, `bitcast`: the same bits.
    Same,
}

impl CastOp {
    pub(crate) fn named(name: &str) -> Option<CastOp> {
        Some(match name {
            "trunc" => CastOp::Trunc,
            "zext" => CastOp::Zext,
            "sext" => CastOp::Sext,
            "ptrtoint" | "inttoptr" | "bitcast" | "addrspacecast" => CastOp::Same,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Predicate {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IrRmwOp {
    Xchg,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    Umax,
    Umin,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Callee {
    Function(String),
    /// Through a pointer.
    Pointer(IrOperand),
    /// Inline assembly: its text and its constraints.
    Assembly(String, String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    pub value: Typed,
    /// The callee gets a copy of what the pointer leads to, of this type.
    pub by_value: Option<Type>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InstructionKind {
    Alloca {
        of: Type,
        count: Option<Typed>,
        align: u64,
    },
    Load {
        of: Type,
        from: IrOperand,
        atomic: Option<AtomicOrder>,
    },
    Store {
        value: Typed,
        to: IrOperand,
        atomic: Option<AtomicOrder>,
        non_temporal: bool,
    },
    Gep {
        of: Type,
        base: IrOperand,
        indices: Vec<Typed>,
    },
    Binary {
        op: BinaryOp,
        of: Type,
        a: IrOperand,
        b: IrOperand,
    },
    Compare {
        predicate: Predicate,
        of: Type,
        a: IrOperand,
        b: IrOperand,
    },
    Cast {
        op: CastOp,
        value: Typed,
        to: Type,
    },
    Select {
        condition: Typed,
        then: Typed,
        otherwise: Typed,
    },
    Phi {
        of: Type,
        from: Vec<(IrOperand, BlockId)>,
    },
    Call {
        callee: Callee,
        returns: Type,
        arguments: Vec<Argument>,
        /// Where an `invoke` goes on.
        then: Option<BlockId>,
    },
    Extract {
        from: Typed,
        path: Vec<u64>,
    },
    Insert {
        into: Typed,
        value: Typed,
        path: Vec<u64>,
    },
    Rmw {
        op: IrRmwOp,
        to: IrOperand,
        value: Typed,
    },
    CompareExchange {
        to: IrOperand,
        expected: Typed,
        desired: Typed,
    },
    Fence {
        order: AtomicOrder,
    },
    Freeze {
        value: Typed,
    },
    Jump {
        to: BlockId,
    },
    Branch {
        condition: IrOperand,
        then: BlockId,
        otherwise: BlockId,
    },
    Switch {
        value: Typed,
        cases: Vec<(u64, BlockId)>,
        otherwise: BlockId,
    },
    Return {
        value: Option<Typed>,
    },
    Unreachable,
    /// What this reader does not know, as text.
    Other(String),
}

impl InstructionKind {
    /// Where control may go from here, if it is the last of its block.
    pub fn successors(&self) -> Vec<BlockId> {
        match self {
            InstructionKind::Jump { to } | InstructionKind::Call { then: Some(to), .. } => {
                vec![*to]
            }
            InstructionKind::Branch {
                then, otherwise, ..
            } => vec![*then, *otherwise],
            InstructionKind::Switch {
                cases, otherwise, ..
            } => {
                let mut all: Vec<BlockId> = cases.iter().map(|(_, to)| *to).collect();
                all.push(*otherwise);
                all
            }
            _ => Vec::new(),
        }
    }
}
