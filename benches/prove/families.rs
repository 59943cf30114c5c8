//! Programs that grow: `threads` × `rounds`, proved, and with one flush left out, refuted.

use landfall_prove::builder::{GuardedPath, Recovering};
use landfall_prove::program::*;
use landfall_prove::term::{Op, Term};

pub(crate) const WIDTH: u8 = 32;

/// Is everything flushed that must be?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flushes {
    All,
    OneMissing,
}

/// A location on a line of its own.
pub(crate) fn cell(program: &mut Program, name: &str) -> LocId {
    let line = program.add_line();
    program.add_location(name, WIDTH, Home::Persistent(line), 0)
}

pub(crate) fn flush(program: &mut Program, path: &GuardedPath, loc: LocId) {
    if let Home::Persistent(line) = program.location(loc).home {
        let label = format!("clflush {}", program.location(loc).name);
        path.flush(program, line, FlushKind::Clflush, &label);
    }
}

pub(crate) fn number(program: &mut Program, value: u64) -> Term {
    program.terms.constant(WIDTH, value)
}

/// `fetch_add`; what it read.
pub(crate) fn fetch_add(
    program: &mut Program,
    path: &GuardedPath,
    loc: LocId,
    by: i64,
    label: &str,
) -> Term {
    let by = number(program, by as u64);
    path.rmw(program, loc, label, |terms, old| {
        (terms.truth(true), terms.add(old, by))
    })
}

/// What recovery finds in a location.
pub(crate) fn recover(program: &mut Program, recovering: &mut Recovering, loc: LocId) -> Term {
    let always = program.terms.truth(true);
    recovering.load(program, loc, always)
}

/// A value is handed from thread to thread: each reads its predecessor's cell, flushes it, and writes its own. No cell may be
/// ahead of the one before it.
pub(crate) fn relay(threads: usize, rounds: usize, flushes: Flushes) -> Program {
    let mut p = Program::default();
    let cells: Vec<LocId> = (0..=threads)
        .map(|t| cell(&mut p, &format!("x{t}")))
        .collect();
    let writer = p.add_thread("writer");
    for round in 1..=rounds {
        let value = number(&mut p, round as u64);
        writer.store(&mut p, cells[0], value, &format!("x0 = {round}"));
    }
    for t in 1..=threads {
        let path = p.add_thread(&format!("relay{t}"));
        for round in 1..=rounds {
            let value = path.load(&mut p, cells[t - 1], &format!("r = x{}", t - 1));
            if flushes == Flushes::All || t < threads || round < rounds {
                flush(&mut p, &path, cells[t - 1]);
            }
            path.store(&mut p, cells[t], value, &format!("x{t} = r"));
        }
    }
    let mut recovering = Recovering::new(&mut p);
    let found: Vec<Term> = cells
        .iter()
        .map(|&c| recover(&mut p, &mut recovering, c))
        .collect();
    for pair in found.windows(2) {
        let holds = p.terms.binary(Op::Ule, pair[1], pair[0]);
        recovering.assert(&mut p, holds, "no cell is ahead of its predecessor");
    }
    p
}

/// Each thread adds to a counter, flushes it, and notes how often it has. The counter is at least the sum of the notes.
pub(crate) fn counter(threads: usize, rounds: usize, flushes: Flushes) -> Program {
    let mut p = Program::default();
    let total = cell(&mut p, "x");
    let notes: Vec<LocId> = (0..threads)
        .map(|t| cell(&mut p, &format!("n{t}")))
        .collect();
    for (t, &note) in notes.iter().enumerate() {
        let path = p.add_thread(&format!("T{t}"));
        for round in 1..=rounds {
            fetch_add(&mut p, &path, total, 1, "x += 1");
            if flushes == Flushes::All || t > 0 || round < rounds {
                flush(&mut p, &path, total);
            }
            let value = number(&mut p, round as u64);
            path.store(&mut p, note, value, &format!("n{t} = {round}"));
        }
    }
    let mut recovering = Recovering::new(&mut p);
    let mut sum = number(&mut p, 0);
    for &note in &notes {
        let noted = recover(&mut p, &mut recovering, note);
        sum = p.terms.add(sum, noted);
    }
    let x = recover(&mut p, &mut recovering, total);
    let holds = p.terms.binary(Op::Ule, sum, x);
    recovering.assert(&mut p, holds, "the counter covers the notes");
    p
}

/// Threads that share nothing write data cells, each flushed before a flag counts it.
pub(crate) fn chain(threads: usize, rounds: usize, flushes: Flushes) -> Program {
    let mut p = Program::default();
    let mut recovered = Vec::new();
    for t in 0..threads {
        let data: Vec<LocId> = (0..rounds)
            .map(|r| cell(&mut p, &format!("d{t}_{r}")))
            .collect();
        let flag = cell(&mut p, &format!("f{t}"));
        let path = p.add_thread(&format!("T{t}"));
        for (round, &d) in data.iter().enumerate() {
            let one = number(&mut p, 1);
            path.store(&mut p, d, one, &format!("d{t}_{round} = 1"));
            if flushes == Flushes::All || t + 1 < threads || round + 1 < rounds {
                flush(&mut p, &path, d);
            }
            let value = number(&mut p, round as u64 + 1);
            path.store(&mut p, flag, value, &format!("f{t} = {}", round + 1));
        }
        recovered.push((data, flag));
    }
    let mut recovering = Recovering::new(&mut p);
    for (data, flag) in recovered {
        let flag = recover(&mut p, &mut recovering, flag);
        for (round, d) in data.into_iter().enumerate() {
            let d = recover(&mut p, &mut recovering, d);
            let (at, one) = (number(&mut p, round as u64), number(&mut p, 1));
            let counted = p.terms.binary(Op::Ult, at, flag);
            let there = p.terms.eq(d, one);
            let holds = p.terms.implies(counted, there);
            recovering.assert(&mut p, holds, "what the flag counts is there");
        }
    }
    p
}

/// All threads write one location, read it back, flush it and keep a copy. If there is a copy, the location was written.
pub(crate) fn contended(threads: usize, rounds: usize, flushes: Flushes) -> Program {
    let mut p = Program::default();
    let x = cell(&mut p, "x");
    let copies: Vec<LocId> = (0..threads)
        .map(|t| cell(&mut p, &format!("y{t}")))
        .collect();
    for (t, &copy) in copies.iter().enumerate() {
        let path = p.add_thread(&format!("T{t}"));
        for round in 0..rounds {
            let value = number(&mut p, (t * rounds + round + 1) as u64);
            path.store(&mut p, x, value, &format!("x = {}", t * rounds + round + 1));
            let read = path.load(&mut p, x, "r = x");
            if flushes == Flushes::All || t > 0 {
                flush(&mut p, &path, x);
            }
            path.store(&mut p, copy, read, &format!("y{t} = r"));
        }
    }
    let mut recovering = Recovering::new(&mut p);
    let zero = number(&mut p, 0);
    let found = recover(&mut p, &mut recovering, x);
    let written = p.terms.ne(found, zero);
    for &copy in &copies {
        let copied = recover(&mut p, &mut recovering, copy);
        let none = p.terms.eq(copied, zero);
        let holds = p.terms.or(none, written);
        recovering.assert(&mut p, holds, "a copy has an original");
    }
    p
}
