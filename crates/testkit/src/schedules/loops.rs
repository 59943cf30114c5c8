//! Loops of random programs.

use super::Draft;
use crate::program::{Cmp, Instr, Op, Order, Place, Reg, Sync};

/// A cell of such a program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    Variable(u8),
    Lock(u8),
}

/// A loop that begins at `head`; nothing of what is none.
pub(super) fn code(
    draft: Draft,
    head: u32,
    order: Order,
    mut fresh: impl FnMut() -> Reg,
    place: impl Fn(Cell) -> Place,
) -> Vec<Instr> {
    let var = |number: u8| place(Cell::Variable(number));
    let load = |to: Reg, v: u8| Instr::Load {
        to,
        at: var(v),
        order,
    };
    let store = |v: u8, value: u64| Instr::Store {
        at: var(v),
        value: value.into(),
        order,
    };
    let exchange = |to: Reg, v: u8, value: u64| Instr::Rmw {
        to,
        at: var(v),
        op: Op::Second,
        value: value.into(),
    };
    let jump_if = |a: Reg, cmp: Cmp, b: u64, to: u32| Instr::JumpIf {
        a: a.into(),
        cmp,
        b: b.into(),
        to,
    };
    let repeat_unless = |a: Reg, wanted: u64| jump_if(a, Cmp::Ne, wanted, head);
    match draft {
        Draft::Await(v, wanted) => {
            let to = fresh();
            vec![load(to, v), repeat_unless(to, wanted)]
        }
        Draft::SpinLock(v) => {
            let to = fresh();
            vec![exchange(to, v, 1), repeat_unless(to, 0)]
        }
        Draft::AwaitSum(v, w, wanted) => {
            let (a, b) = (fresh(), fresh());
            let sum = Instr::Calc {
                to: a,
                a: a.into(),
                op: Op::Add,
                b: b.into(),
            };
            vec![load(a, v), load(b, w), sum, repeat_unless(a, wanted)]
        }
        Draft::AwaitLocked(l, v, wanted) => {
            let to = fresh();
            let lock = place(Cell::Lock(l));
            vec![
                Instr::Sync(Sync::Lock, lock),
                load(to, v),
                Instr::Sync(Sync::Unlock, lock),
                repeat_unless(to, wanted),
            ]
        }
        Draft::AwaitSpinning(v, w, wanted) => {
            let (old, to) = (fresh(), fresh());
            vec![
                exchange(old, v, 1),
                repeat_unless(old, 0),
                load(to, w),
                store(v, 0),
                repeat_unless(to, wanted),
            ]
        }
        Draft::Count(v) => {
            let (to, new) = (fresh(), fresh());
            let sum = Instr::Calc {
                to: new,
                a: to.into(),
                op: Op::Add,
                b: 1.into(),
            };
            let swap = Instr::Cas {
                to: new,
                at: var(v),
                expect: to.into(),
                new: new.into(),
            };
            let again = Instr::JumpIf {
                a: new.into(),
                cmp: Cmp::Ne,
                b: to.into(),
                to: head,
            };
            vec![load(to, v), sum, swap, again]
        }
        Draft::Announce(v, w, wanted) => {
            let (old, to) = (fresh(), fresh());
            vec![
                exchange(old, v, 9),
                load(to, w),
                jump_if(to, Cmp::Eq, wanted, head + 5),
                exchange(old, v, 0),
                Instr::Jump(head),
            ]
        }
        Draft::AnnounceTwice(v, w, wanted) => {
            let (old, a, b) = (fresh(), fresh(), fresh());
            let sum = Instr::Calc {
                to: a,
                a: a.into(),
                op: Op::Add,
                b: b.into(),
            };
            vec![
                exchange(old, v, 9),
                load(a, w),
                load(b, w),
                sum,
                jump_if(a, Cmp::Eq, wanted, head + 7),
                exchange(old, v, 0),
                Instr::Jump(head),
            ]
        }
        Draft::Keep(v, w, wanted) => {
            let to = fresh();
            vec![
                Instr::Fence,
                store(v, 9),
                load(to, w),
                store(v, 0),
                repeat_unless(to, wanted),
            ]
        }
        _ => Vec::new(),
    }
}
