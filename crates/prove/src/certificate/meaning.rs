//! What the numbers of a certificate stand for, for people.

use crate::encode::{Encoding, Reader};
use crate::program::{LocId, ProofEventId};
use std::io::{self, Write};

pub(super) fn write(mut out: Box<dyn Write>, asks: &str, encoding: &Encoding) -> io::Result<()> {
    let program = encoding.program;
    let name = |event: ProofEventId| -> String {
        let of = program.event(event);
        format!("{}: {}", program.threads[of.thread.index()], of.label)
    };
    let place = |loc: LocId| program.location(loc).name.clone();
    writeln!(out, "{asks}")?;
    writeln!(
        out,
        "An execution makes the literals true or false so that formula.cnf holds, and so that the edges of ordering.txt whose literals \
         are all true have no cycle. Literal 1 is true. There is no such execution: proof.txt.\n"
    )?;
    writeln!(
        out,
        "events, with their node in ordering.txt and the literal that says they happen"
    )?;
    for event in program.event_ids() {
        let (node, happens) = (encoding.node(event) + 1, encoding.executed(event).dimacs());
        writeln!(out, "  node {node}, literal {happens}: {}", name(event))?;
    }
    let others = program.events.len() + 1..=encoding.ordering.nodes;
    if !others.is_empty() {
        let (first, last) = (others.start(), others.end());
        writeln!(
            out,
            "  nodes {first} to {last}: what recovery finds of a line, or the moment that is looked at"
        )?;
    }
    writeln!(out, "\nwhat is read from where")?;
    for from in &encoding.reads_from {
        let reader = match from.reader {
            Reader::Event(event) => name(event),
            Reader::Recovery(loc) => format!("the recovery reads {}", place(loc)),
            Reader::End(loc) => format!("at the end {}", place(loc)),
        };
        let source = from
            .source
            .map_or("what was there at first".to_owned(), name);
        writeln!(
            out,
            "  literal {}: {reader} <- {source}",
            from.literal.dimacs()
        )?;
    }
    writeln!(out, "\nwhich of two stores to one place comes first")?;
    for (first, second, literal) in encoding.orders_of_stores() {
        writeln!(
            out,
            "  literal {}: {}, then {}",
            literal.dimacs(),
            name(first),
            name(second)
        )?;
    }
    writeln!(out, "\nwhat survives")?;
    for event in program.event_ids() {
        if let Some(survives) = encoding.survived(event) {
            writeln!(out, "  literal {}: {}", survives.dimacs(), name(event))?;
        }
    }
    out.flush()
}
