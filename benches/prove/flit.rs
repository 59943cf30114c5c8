//! The FliT register (Wei et al.) with the clients of Marmanis and Vafeiadis, table 1.
//!
//! A location has a counter of writers that have not flushed yet. An update adds to the counter, updates, flushes, takes off
//! the counter. A load that finds the counter above zero flushes before it goes on.
//!
//! Our reading of the names, where the paper is silent: `u` adds 1 to register x; `w` writes 1 to the thread's own register;
//! `r` loads x. In `uu` the first update is of x, the second of y, and recovery must find y ≤ x. `-w`: main joins all
//! threads and writes a flag; if the flag is found, all updates are (x is the number of updates of x, and so on); `-w2`: main
//! writes two flags, each with that promise. `ww`: two registers in turn, the second is found only if the first is. `ldld`: beside
//! one update of x, a thread loads x twice and stores what it loaded; x is then found to be at least that.

use super::families::{Flushes, cell, fetch_add, flush, number, recover};
use landfall_prove::builder::{Path, Recovering};
use landfall_prove::program::*;
use landfall_prove::term::{Op, Term};

/// A register and its counter. The counter need not survive.
#[derive(Clone, Copy)]
struct Register {
    value: LocId,
    writers: LocId,
}

impl Register {
    fn new(p: &mut ProofProgram, name: &str) -> Register {
        let value = cell(p, name);
        let writers = p.add_location(
            &format!("{name}.writers"),
            super::families::WIDTH,
            Home::Volatile,
            0,
        );
        Register { value, writers }
    }

    fn update(self, p: &mut ProofProgram, path: &Path, flushes: Flushes) {
        let name = p.location(self.value).name.clone();
        fetch_add(p, path, self.writers, 1, &format!("{name}.writers += 1"));
        fetch_add(p, path, self.value, 1, &format!("{name} += 1"));
        if flushes == Flushes::All {
            flush(p, path, self.value);
        }
        fetch_add(p, path, self.writers, -1, &format!("{name}.writers -= 1"));
    }

    fn write(self, p: &mut ProofProgram, path: &Path, value: Term, flushes: Flushes) {
        let name = p.location(self.value).name.clone();
        fetch_add(p, path, self.writers, 1, &format!("{name}.writers += 1"));
        path.store(p, self.value, value, &format!("{name} = v"));
        if flushes == Flushes::All {
            flush(p, path, self.value);
        }
        fetch_add(p, path, self.writers, -1, &format!("{name}.writers -= 1"));
    }

    fn load(self, p: &mut ProofProgram, path: &Path, flushes: Flushes) -> Term {
        let name = p.location(self.value).name.clone();
        let value = path.load(p, self.value, &format!("r = {name}"));
        let writers = path.load(p, self.writers, &format!("c = {name}.writers"));
        let zero = number(p, 0);
        let dirty = p.terms.ne(writers, zero);
        if flushes == Flushes::All {
            let path = path.when(p, dirty);
            flush(p, &path, self.value);
        }
        value
    }
}

/// Name and published seconds (Marmanis and Vafeiadis, table 1).
pub(crate) const CLIENTS: [(&str, f64); 12] = [
    ("ldld", 0.28),
    ("ww", 0.28),
    ("u+u-w", 0.29),
    ("w+w-w", 0.29),
    ("w+rw-w", 0.30),
    ("u+u+u+u-w", 0.39),
    ("2uu+uu-w", 0.46),
    ("3uu", 0.50),
    ("uu+uu", 0.50),
    ("2uu+2uu-w2", 0.87),
    ("4uu", 2.08),
    ("2uu+2uu-w", 2.39),
];

/// A client by its name. With a flush missing it is the first update's or write's of the first thread.
pub(crate) fn client(name: &str, flushes: Flushes) -> ProofProgram {
    let (body, flags) = match name.split_once("-w") {
        Some((body, "2")) => (body, 2),
        Some((body, _)) => (body, 1),
        None => (name, 0),
    };
    if body == "ldld" {
        return loads(flushes);
    }
    let threads: Vec<&str> = body
        .split('+')
        .flat_map(|part| match part.as_bytes()[0] {
            digit @ b'1'..=b'9' => vec![&part[1..]; usize::from(digit - b'0')],
            _ => vec![part],
        })
        .collect();
    let mut p = ProofProgram::default();
    let (x, y) = (Register::new(&mut p, "x"), Register::new(&mut p, "y"));
    let mut main = p.add_thread("main");
    let mut own = Vec::new();
    let (mut of_x, mut of_y) = (0, 0);
    let mut ended = Vec::new();
    for (t, ops) in threads.iter().enumerate() {
        let path = main.create(&mut p, &format!("T{t}"));
        for (n, op) in ops.bytes().enumerate() {
            let here = match t + n {
                0 => flushes,
                _ => Flushes::All,
            };
            match (op, n) {
                (b'u', 0) => {
                    x.update(&mut p, &path, here);
                    of_x += 1;
                }
                (b'u', _) => {
                    y.update(&mut p, &path, here);
                    of_y += 1;
                }
                (b'w', _) => {
                    let register = Register::new(&mut p, &format!("w{t}_{n}"));
                    let one = number(&mut p, 1);
                    register.write(&mut p, &path, one, here);
                    own.push((t, register.value));
                }
                _ => {
                    x.load(&mut p, &path, here);
                }
            }
        }
        ended.push(path);
    }
    for path in &ended {
        main.join(&mut p, path);
    }
    let mut flag_cells = Vec::new();
    for flag in 0..flags {
        let loc = cell(&mut p, &format!("flag{flag}"));
        let one = number(&mut p, 1);
        main.store(&mut p, loc, one, &format!("flag{flag} = 1"));
        flag_cells.push(loc);
    }
    let mut recovering = Recovering::new(&mut p);
    let found_x = recover(&mut p, &mut recovering, x.value);
    let found_y = recover(&mut p, &mut recovering, y.value);
    let one = number(&mut p, 1);
    let own: Vec<(usize, Term)> = own
        .into_iter()
        .map(|(t, loc)| (t, recover(&mut p, &mut recovering, loc)))
        .collect();
    for &loc in &flag_cells {
        let flag = recover(&mut p, &mut recovering, loc);
        let seen = p.terms.eq(flag, one);
        for (found, all) in [(found_x, of_x), (found_y, of_y)] {
            let all = number(&mut p, all);
            let complete = p.terms.eq(found, all);
            let holds = p.terms.implies(seen, complete);
            recovering.assert(&mut p, holds, "the flag promises all updates");
        }
        for &(_, written) in &own {
            let there = p.terms.eq(written, one);
            let holds = p.terms.implies(seen, there);
            recovering.assert(&mut p, holds, "the flag promises all writes");
        }
    }
    for pair in own.windows(2) {
        if pair[0].0 == pair[1].0 {
            let (first, second) = (p.terms.eq(pair[0].1, one), p.terms.eq(pair[1].1, one));
            let holds = p.terms.implies(second, first);
            recovering.assert(&mut p, holds, "the second write promises the first");
        }
    }
    if of_y > 0 {
        let holds = p.terms.binary(Op::Ule, found_y, found_x);
        recovering.assert(&mut p, holds, "each update of y follows one of x");
    }
    p
}

fn loads(flushes: Flushes) -> ProofProgram {
    let mut p = ProofProgram::default();
    let x = Register::new(&mut p, "x");
    let updater = p.add_thread("T0");
    x.update(&mut p, &updater, Flushes::All);
    let loader = p.add_thread("T1");
    let mut copies = Vec::new();
    for n in 0..2 {
        let copy = cell(&mut p, &format!("copy{n}"));
        let value = x.load(&mut p, &loader, flushes);
        loader.store(&mut p, copy, value, &format!("copy{n} = r"));
        copies.push(copy);
    }
    let mut recovering = Recovering::new(&mut p);
    let found = recover(&mut p, &mut recovering, x.value);
    for copy in copies {
        let copy = recover(&mut p, &mut recovering, copy);
        let holds = p.terms.binary(Op::Ule, copy, found);
        recovering.assert(&mut p, holds, "what was loaded is there");
    }
    p
}
