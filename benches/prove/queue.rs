//! The durable queue of Friedman et al. (PPoPP'18) with the clients of Marmanis and Vafeiadis, table 1.
//!
//! Addresses are small numbers: 0 is null, 1 the first sentinel, then one node per enqueue. A node (value, next, who dequeued
//! it) has a line of its own; so have head, tail, each thread's slot for returned values and each cell it points to.
//!
//! Our reading of the names, where the paper is silent: `e` enqueues a value of its own, `d` dequeues, `w` stores to the
//! thread's own cell. A digit before a thread repeats the thread, after a letter the operation. Recovery walks the list from
//! the head and checks: a node on the list has its value; a value that was returned belongs to a node that is marked by
//! that thread; nodes of one thread are marked in order; if a thread's `w` is found, what it did before is found too. A
//! loop is tried [`TRIES`] times; a thread that needs more stops there.

use super::families::{Flushes, WIDTH, cell, flush, number, recover};
use landfall_prove::builder::{Path, Recovering};
use landfall_prove::program::*;
use landfall_prove::term::Term;

const TRIES: usize = 3;
const NOBODY: u64 = 0;
const EMPTY: u64 = 99;

/// Name and published seconds (Marmanis and Vafeiadis, table 1).
pub(crate) const CLIENTS: [(&str, f64); 16] = [
    ("dw", 0.35),
    ("e+d", 1.46),
    ("ee+dw", 1.65),
    ("e+e", 3.07),
    ("ee+d", 3.98),
    ("e+de", 6.63),
    ("ee+ddw", 8.54),
    ("ee+dd", 10.99),
    ("e+e+d", 18.16),
    ("e2+2dw", 34.38),
    ("e+e+d+d", 36.70),
    ("e+e+e", 48.88),
    ("ee+ddw+d", 59.62),
    ("e+de+e", 60.94),
    ("e+de+e+d", 227.13),
    ("e3+3dw", 427.54),
];

#[derive(Clone, Copy)]
struct Node {
    value: LocId,
    next: LocId,
    taken_by: LocId,
    line: LineId,
}

struct Queue {
    head: LocId,
    tail: LocId,
    /// By address; the first is never used.
    nodes: Vec<Node>,
    /// By thread: where its last returned value is.
    slots: Vec<LocId>,
    /// Cells for returned values, by address; the first is never used.
    cells: Vec<LocId>,
}

/// Each possible target of a pointer, with the condition that it is that.
fn targets(
    p: &mut ProofProgram,
    pointer: Term,
    locs: impl Iterator<Item = LocId>,
) -> Vec<(Term, LocId)> {
    let mut all = Vec::new();
    for (address, loc) in (1..).zip(locs) {
        let here = number(p, address);
        all.push((p.terms.eq(pointer, here), loc));
    }
    all
}

fn flush_any(p: &mut ProofProgram, path: &Path, targets: &[(Term, LocId)]) {
    for &(is_target, loc) in targets {
        let path = path.when(p, is_target);
        flush(p, &path, loc);
    }
}

/// Compare-and-swap through a pointer: did it succeed?
fn cas_any(
    p: &mut ProofProgram,
    path: &Path,
    targets: &[(Term, LocId)],
    values: (Term, Term),
    label: &str,
) -> Term {
    let mut done = p.terms.truth(false);
    for &(is_target, loc) in targets {
        let path = path.when(p, is_target);
        let (_, succeeded) = path.cas(p, loc, values, label);
        done = p.terms.choose(is_target, succeeded, done);
    }
    done
}

impl Queue {
    fn new(p: &mut ProofProgram, nodes: usize, threads: usize, cells: usize) -> Queue {
        let node = |p: &mut ProofProgram, n: usize| {
            let line = p.add_line();
            let mut field = |name: &str| {
                p.add_location(&format!("n{n}.{name}"), WIDTH, Home::Persistent(line), 0)
            };
            Node {
                value: field("value"),
                next: field("next"),
                taken_by: field("taken_by"),
                line,
            }
        };
        let nodes = (0..=nodes + 1).map(|n| node(p, n)).collect();
        let mut end = |name: &str| {
            let line = p.add_line();
            p.add_location(name, WIDTH, Home::Persistent(line), 1)
        };
        let (head, tail) = (end("head"), end("tail"));
        Queue {
            head,
            tail,
            nodes,
            slots: (0..threads).map(|t| cell(p, &format!("slot{t}"))).collect(),
            cells: (0..=cells).map(|c| cell(p, &format!("cell{c}"))).collect(),
        }
    }

    fn field(
        &self,
        p: &mut ProofProgram,
        node: Term,
        of: fn(&Node) -> LocId,
    ) -> Vec<(Term, LocId)> {
        targets(p, node, self.nodes[1..].iter().map(of))
    }

    fn enqueue(&self, p: &mut ProofProgram, start: Path, address: usize, flushes: Flushes) -> Path {
        let node = self.nodes[address];
        let (null, this) = (number(p, 0), number(p, address as u64));
        let value = number(p, value_of(address));
        start.store(p, node.value, value, "node->value = v");
        start.store(p, node.next, null, "node->next = NULL");
        let nobody = number(p, NOBODY);
        start.store(p, node.taken_by, nobody, "node->taken_by = nobody");
        if flushes == Flushes::All {
            start.flush(p, node.line, FlushKind::Clflush, "clflush node");
        }
        let mut path = start;
        let mut ended: Option<Path> = None;
        for _ in 0..TRIES {
            let last = path.load(p, self.tail, "last = tail");
            let next_field = self.field(p, last, |n| n.next);
            let next = path.load_any(p, &next_field, "next = last->next");
            let again = path.load(p, self.tail, "last == tail?");
            let (same, none) = (p.terms.eq(last, again), p.terms.eq(next, null));
            let (differs, some) = (p.terms.not(same), p.terms.not(none));
            let consistent = path.when(p, same);
            let at_end = consistent.when(p, none);
            let linked = cas_any(p, &at_end, &next_field, (null, this), "cas last->next");
            let succeeded = at_end.when(p, linked);
            flush_any(p, &succeeded, &next_field);
            succeeded.cas(p, self.tail, (last, this), "cas tail");
            ended = Some(ended.map_or(succeeded, |before| before.meet(p, &succeeded)));
            let behind = consistent.when(p, some);
            flush_any(p, &behind, &next_field);
            behind.cas(p, self.tail, (last, next), "cas tail (help)");
            let not_linked = p.terms.not(linked);
            let failed = at_end.when(p, not_linked);
            let changed = path.when(p, differs);
            path = failed.meet(p, &behind).meet(p, &changed);
        }
        let no_more = p.terms.truth(false);
        path.bound(p, no_more, "enqueue: tries");
        ended.unwrap_or(path)
    }

    fn dequeue(
        &self,
        p: &mut ProofProgram,
        start: Path,
        (thread, cell): (usize, usize),
        flushes: Flushes,
    ) -> Path {
        let (null, me) = (number(p, 0), number(p, thread as u64 + 1));
        let (nobody, empty) = (number(p, NOBODY), number(p, EMPTY));
        let own = self.cells[cell];
        start.store(p, own, null, "*cell = NULL");
        flush(p, &start, own);
        let address = number(p, cell as u64);
        start.store(p, self.slots[thread], address, "slot[me] = cell");
        flush(p, &start, self.slots[thread]);
        let mut path = start;
        let mut ended: Option<Path> = None;
        for _ in 0..TRIES {
            let first = path.load(p, self.head, "first = head");
            let last = path.load(p, self.tail, "last = tail");
            let first_next = self.field(p, first, |n| n.next);
            let next = path.load_any(p, &first_next, "next = first->next");
            let again = path.load(p, self.head, "first == head?");
            let same = p.terms.eq(first, again);
            let consistent = path.when(p, same);
            let (meet, none) = (p.terms.eq(first, last), p.terms.eq(next, null));
            let (apart, some) = (p.terms.not(meet), p.terms.not(none));

            let maybe_empty = consistent.when(p, meet);
            let nothing = maybe_empty.when(p, none);
            nothing.store(p, own, empty, "*cell = EMPTY");
            if flushes == Flushes::All {
                flush(p, &nothing, own);
            }
            let behind = maybe_empty.when(p, some);
            flush_any(p, &behind, &first_next);
            behind.cas(p, self.tail, (last, next), "cas tail (help)");

            let full = consistent.when(p, apart);
            let next_value = self.field(p, next, |n| n.value);
            let value = full.load_any(p, &next_value, "v = next->value");
            let taken_by = self.field(p, next, |n| n.taken_by);
            let mine = cas_any(p, &full, &taken_by, (nobody, me), "cas next->taken_by");
            let won = full.when(p, mine);
            flush_any(p, &won, &taken_by);
            won.store(p, own, value, "*cell = v");
            if flushes == Flushes::All {
                flush(p, &won, own);
            }
            won.cas(p, self.head, (first, next), "cas head");

            let not_mine = p.terms.not(mine);
            let lost = full.when(p, not_mine);
            let winner = lost.load_any(p, &taken_by, "who = next->taken_by");
            let slot = targets(p, winner, self.slots.iter().copied());
            let target = lost.load_any(p, &slot, "cell = slot[who]");
            let still = lost.load(p, self.head, "first == head?");
            let unchanged = p.terms.eq(first, still);
            let helping = lost.when(p, unchanged);
            flush_any(p, &helping, &taken_by);
            let their_cell = targets(p, target, self.cells[1..].iter().copied());
            helping.store_any(p, &their_cell, value, "*cell = v (help)");
            flush_any(p, &helping, &their_cell);
            helping.cas(p, self.head, (first, next), "cas head (help)");

            for finished in [nothing, won] {
                ended = Some(ended.map_or(finished, |before| before.meet(p, &finished)));
            }
            let differs = p.terms.not(same);
            let changed = path.when(p, differs);
            path = behind.meet(p, &lost).meet(p, &changed);
        }
        let no_more = p.terms.truth(false);
        path.bound(p, no_more, "dequeue: tries");
        ended.unwrap_or(path)
    }
}

fn value_of(address: usize) -> u64 {
    address as u64 + 10
}

/// The threads of a client, as letters: `e2+2dw` is `ee`, `dw`, `dw`.
fn threads(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in name.split('+') {
        let digit = |c: char| c.to_digit(10).map(|d| d as usize);
        let times = part.chars().next().and_then(digit).unwrap_or(1);
        let mut ops = String::new();
        for c in part
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .chars()
        {
            match (digit(c), ops.chars().last()) {
                (Some(count), Some(op)) => ops.extend(std::iter::repeat_n(op, count - 1)),
                _ => ops.push(c),
            }
        }
        all.extend(std::iter::repeat_n(ops, times));
    }
    all
}

/// A client by its name. With a flush missing it is the new node's in the first enqueue, or else the returned value's.
pub(crate) fn client(name: &str, flushes: Flushes) -> ProofProgram {
    let threads = threads(name);
    let count = |op| {
        threads
            .iter()
            .flat_map(|t| t.chars())
            .filter(|&c| c == op)
            .count()
    };
    let mut p = ProofProgram::default();
    let q = Queue::new(&mut p, count('e'), threads.len(), count('d'));
    let (mut node, mut cell_of) = (1, 0);
    let mut nodes: Vec<(usize, usize)> = Vec::new();
    let mut returned: Vec<(usize, usize)> = Vec::new();
    let mut flags = Vec::new();
    for (t, ops) in threads.iter().enumerate() {
        let mut path = p.add_thread(&format!("T{t}"));
        for op in ops.chars() {
            match op {
                'e' => {
                    node += 1;
                    let here = match node {
                        2 => flushes,
                        _ => Flushes::All,
                    };
                    path = q.enqueue(&mut p, path, node, here);
                    nodes.push((t, node));
                }
                'd' => {
                    cell_of += 1;
                    let here = match count('e') {
                        0 => flushes,
                        _ => Flushes::All,
                    };
                    path = q.dequeue(&mut p, path, (t, cell_of), here);
                    returned.push((t, cell_of));
                }
                _ => {
                    let flag = cell(&mut p, &format!("w{t}"));
                    let one = number(&mut p, 1);
                    path.store(&mut p, flag, one, &format!("w{t} = 1"));
                    flags.push((t, flag));
                }
            }
        }
    }
    recovery(&mut p, &q, &nodes, &returned, &flags);
    p
}

fn recovery(
    p: &mut ProofProgram,
    q: &Queue,
    nodes: &[(usize, usize)],
    returned: &[(usize, usize)],
    flags: &[(usize, LocId)],
) {
    let mut r = Recovering::new(p);
    let mut at = recover(p, &mut r, q.head);
    let nexts: Vec<Term> = q.nodes[1..]
        .iter()
        .map(|n| recover(p, &mut r, n.next))
        .collect();
    let taken: Vec<Term> = q.nodes[1..]
        .iter()
        .map(|n| recover(p, &mut r, n.taken_by))
        .collect();
    let nobody = number(p, NOBODY);
    // By address: is it on the list?
    let mut on_list = vec![p.terms.truth(false); q.nodes.len()];
    for _ in 0..q.nodes.len() - 1 {
        let mut next = number(p, 0);
        for address in 1..q.nodes.len() {
            let this = number(p, address as u64);
            let here = p.terms.eq(at, this);
            on_list[address] = p.terms.or(on_list[address], here);
            next = p.terms.choose(here, nexts[address - 1], next);
        }
        at = next;
    }
    let mut effects: Vec<(usize, Term)> = Vec::new();
    for &(thread, address) in nodes {
        let value = recover(p, &mut r, q.nodes[address].value);
        let written = number(p, value_of(address));
        let whole = p.terms.eq(value, written);
        let holds = p.terms.implies(on_list[address], whole);
        r.assert(p, holds, "a node on the list has its value");
        let gone = p.terms.ne(taken[address - 1], nobody);
        effects.push((thread, p.terms.or(on_list[address], gone)));
    }
    for pair in nodes.windows(2) {
        if pair[0].0 == pair[1].0 {
            let first = p.terms.ne(taken[pair[0].1 - 1], nobody);
            let second = p.terms.ne(taken[pair[1].1 - 1], nobody);
            let holds = p.terms.implies(second, first);
            r.assert(p, holds, "nodes of one thread are taken in order");
        }
    }
    for &(thread, cell) in returned {
        let found = recover(p, &mut r, q.cells[cell]);
        let (me, null) = (number(p, thread as u64 + 1), number(p, 0));
        for &(_, address) in nodes {
            let value = number(p, value_of(address));
            let this = p.terms.eq(found, value);
            let mine = p.terms.eq(taken[address - 1], me);
            let holds = p.terms.implies(this, mine);
            r.assert(p, holds, "a returned value is marked as taken");
        }
        effects.push((thread, p.terms.ne(found, null)));
    }
    let one = number(p, 1);
    for &(thread, flag) in flags {
        let found = recover(p, &mut r, flag);
        let seen = p.terms.eq(found, one);
        for &(_, effect) in effects.iter().filter(|(t, _)| *t == thread) {
            let holds = p.terms.implies(seen, effect);
            r.assert(p, holds, "the write promises what came before");
        }
    }
}
