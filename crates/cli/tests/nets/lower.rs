//! Statements as operations of one thread after another, with jumps.

use super::program::{At, Flush, How, LINE, Phase, Program, Stmt, Update, Value, Writer};

pub(crate) type Code = Vec<Op>;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Put {
        at: At,
        size: usize,
        value: Value,
        streamed: bool,
    },
    Bytes {
        at: At,
        bytes: Vec<u8>,
    },
    Move {
        to: At,
        from: At,
        length: usize,
    },
    Get {
        register: u8,
        at: At,
        size: usize,
        handle: bool,
    },
    Exchange {
        at: At,
        size: usize,
        value: Value,
    },
    Update {
        register: u8,
        at: At,
        size: usize,
        with: Update,
        value: Value,
    },
    CompareAndSwap {
        register: u8,
        at: At,
        size: usize,
        expected: u64,
        new: Value,
    },
    Flush {
        at: At,
        opt: bool,
    },
    Sfence,
    /// Goes on when the thread's buffer is empty.
    Drain,
    Branch {
        register: u8,
        is: u64,
        otherwise: usize,
    },
    Jump(usize),
    Lock,
    Unlock,
    Create(usize),
    Join(usize),
    Exit,
}

/// A handle is any value but 0.
const SOME_HANDLE: u64 = 0xabcd;

/// The threads of the program after so many power failures, main first.
pub(crate) fn lower(program: &Program, failures: usize) -> Vec<Code> {
    let Phase {
        before,
        threads,
        meanwhile,
        after,
    } = program.phase(failures);
    let mut main = Vec::new();
    if failures == 0 {
        list(&program.constructor, &mut main);
    }
    list(before, &mut main);
    main.extend((1..=threads.len()).map(Op::Create));
    list(meanwhile, &mut main);
    main.extend((1..=threads.len()).map(Op::Join));
    list(after, &mut main);
    let others = threads.iter().map(|stmts| {
        let mut code = Vec::new();
        list(stmts, &mut code);
        code.push(Op::Exit);
        code
    });
    [main].into_iter().chain(others).collect()
}

fn list(stmts: &[Stmt], code: &mut Code) {
    stmts.iter().for_each(|stmt| one(stmt, code));
}

fn one(stmt: &Stmt, code: &mut Code) {
    match *stmt {
        Stmt::Store {
            at,
            size,
            value,
            how: How::SeqCst,
        } => code.push(Op::Exchange { at, size, value }),
        Stmt::Store {
            at, size, value, ..
        } => code.push(Op::Put {
            at,
            size,
            value,
            streamed: false,
        }),
        Stmt::Stream { at, size, value } => code.push(Op::Put {
            at,
            size,
            value,
            streamed: true,
        }),
        Stmt::Fill { at, length, byte } => code.push(Op::Bytes {
            at,
            bytes: vec![byte; length],
        }),
        Stmt::Write {
            at,
            ref bytes,
            with,
        } => {
            let mut bytes = bytes.clone();
            if matches!(with, Writer::Strcpy | Writer::Strncpy) {
                bytes.push(0);
            }
            let end = At {
                offset: at.offset + bytes.len(),
                ..at
            };
            code.push(Op::Bytes { at, bytes });
            // What fills the rest comes after the text.
            if matches!(with, Writer::Strncpy) {
                let bytes = vec![0; 2];
                code.push(Op::Bytes { at: end, bytes });
            }
        }
        Stmt::Move { to, from, length } => code.push(Op::Move { to, from, length }),
        Stmt::Load {
            register, at, size, ..
        } => code.push(Op::Get {
            register,
            at,
            size,
            handle: false,
        }),
        Stmt::LoadHandle { register, at } => code.push(Op::Get {
            register,
            at,
            size: 8,
            handle: true,
        }),
        Stmt::StoreHandle { at, .. } => code.push(Op::Put {
            at,
            size: 8,
            value: Value::Const(SOME_HANDLE),
            streamed: false,
        }),
        Stmt::Update {
            register,
            at,
            size,
            with,
            value,
        } => code.push(Op::Update {
            register,
            at,
            size,
            with,
            value,
        }),
        Stmt::CompareAndSwap {
            register,
            at,
            size,
            expected,
            new,
        } => {
            code.push(Op::CompareAndSwap {
                register,
                at,
                size,
                expected,
                new,
            });
        }
        Stmt::Flush { with, at } => code.push(Op::Flush {
            at,
            opt: with != Flush::Clflush,
        }),
        Stmt::FlushRange { at, length } => flush_range(at, length, code),
        Stmt::PersistRange { at, length } => {
            flush_range(at, length, code);
            code.push(Op::Sfence);
        }
        Stmt::Sfence => code.push(Op::Sfence),
        Stmt::Mfence | Stmt::FenceSeqCst | Stmt::LocalUpdate { .. } => code.push(Op::Drain),
        Stmt::FenceWeak => {}
        Stmt::If {
            register,
            is,
            ref then,
            ref otherwise,
        } => {
            let branch = code.len();
            code.push(Op::Branch {
                register,
                is,
                otherwise: 0,
            });
            list(then, code);
            let jump = code.len();
            code.push(Op::Jump(0));
            code[branch] = Op::Branch {
                register,
                is,
                otherwise: code.len(),
            };
            list(otherwise, code);
            code[jump] = Op::Jump(code.len());
        }
        Stmt::Locked(ref inner) => {
            code.push(Op::Lock);
            list(inner, code);
            code.push(Op::Unlock);
        }
    }
}

fn flush_range(at: At, length: usize, code: &mut Code) {
    for line in at.offset / LINE..=(at.offset + length - 1) / LINE {
        let at = At {
            offset: line * LINE,
            ..at
        };
        code.push(Op::Flush { at, opt: true });
    }
}
