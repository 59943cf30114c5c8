//! Whole native programs and command lines, drawn at random, against brute force over the definition (docs/design/model.md): the same outcomes, after every
//! power failure and every schedule, and the same verdict. A difference is made small and written to a file.
//!
//! `NETS_SEED=7 NETS_PROGRAMS=500` tries others, and more; `make soak` for hours.

mod command;
mod compare;
mod draw;
mod lower;
pub(crate) mod meaning;
pub(crate) mod program;
mod shrink;
mod soak;
mod text;

use command::Line;
use compare::{Compared, compare, compare_with, question};
use meaning::Platform;
use program::{At, Flush, How, LINE, Language, Phase, Program, Source, Space, Stmt, Value};
use shrink::shrink;
use soak::{Soak, number};

/// A modest number of them.
#[test]
fn random_programs_do_what_the_definition_allows() {
    let mut soak = Soak::new(number("NETS_SEED", 1), "nets-test");
    let most = number("NETS_PROGRAMS", 16);
    while soak.programs < most {
        soak.next();
    }
    assert!(soak.differences.is_empty(), "{soak}");
    soak.clear();
}

/// `make soak`: for `SOAK_MINUTES`, or `SOAK_PROGRAMS`; what was done is in `SOAK_DIR`, and the next soak goes on from there.
#[test]
#[ignore = "takes as long as one likes: `make soak`"]
fn soak() {
    let clean = soak::soak();
    assert!(clean, "differences: see the files");
}

fn store(line: usize) -> Stmt {
    let at = At {
        space: Space::Persistent,
        offset: line * LINE,
    };
    Stmt::Store {
        at,
        size: 8,
        value: Value::Const(1),
        how: How::Plain,
    }
}

fn load(register: u8, line: usize) -> Stmt {
    let at = At {
        space: Space::Persistent,
        offset: line * LINE,
    };
    Stmt::Load {
        register,
        at,
        size: 8,
        how: How::Plain,
    }
}

fn two_lines() -> Program {
    let alone = |before| Phase {
        before,
        ..Phase::default()
    };
    Program {
        language: Language::C,
        source: Source::Region,
        persistent_lines: 2,
        volatile_lines: 0,
        constructor: Vec::new(),
        phases: vec![
            alone(vec![store(0), store(1)]),
            alone(vec![load(0, 0), load(1, 1)]),
        ],
    }
}

/// Two stores to two lines: with the wrong definition an outcome too many is seen, or one too few.
#[test]
fn a_wrong_definition_is_noticed() {
    let soak = Soak::new(0, "nets-wrong");
    let (program, adr) = (two_lines(), Line::plain());
    let eadr = Line {
        platform: Platform::Eadr,
        ..Line::plain()
    };
    let directory = soak.directory.join("work");
    let right = compare(&soak.landfall, &program, &adr, &directory);
    assert_eq!(right, Compared::Same);
    for (line, other, wanted) in [(&adr, &eadr, "impossible"), (&eadr, &adr, "missed")] {
        let wrong = question(&program, other);
        match compare_with(&soak.landfall, &program, line, wrong, &directory) {
            Compared::Different(difference) => assert_eq!(difference.kind, wanted),
            other => panic!("{other:?}"),
        }
    }
    soak.clear();
}

/// Of a program that differs as long as it flushes a certain line, the flush is left.
#[test]
fn what_differs_is_made_small() {
    let flush = Stmt::Flush {
        with: Flush::Clflush,
        at: At {
            space: Space::Persistent,
            offset: 0,
        },
    };
    let mut program = two_lines();
    let inside = Stmt::If {
        register: 0,
        is: 0,
        then: vec![store(0), flush.clone()],
        otherwise: vec![store(1)],
    };
    program.phases[0].threads = vec![
        vec![store(1)],
        vec![store(0), Stmt::Locked(vec![store(1), inside])],
    ];
    let line = Line {
        failures: 3,
        crash_only: false,
        built: true,
        ..Line::plain()
    };
    let (small, short) = shrink(program, line, 1000, &mut |program, _| {
        program.has(|stmt| *stmt == flush)
    });
    assert_eq!(short, Line::plain());
    let mut left = Vec::new();
    small.each(&mut |stmt| left.push(stmt.clone()));
    assert_eq!(left, [flush]);
}
