//! A schedule as a table: a column for each thread, a row for each turn, and why the turn began.

use crate::screen::plain;
use serde_json::{Value, json};
use std::fmt::Write;

/// Something a thread did, in the order it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Deed {
    pub(crate) thread: usize,
    /// `file:line`.
    pub(crate) at: Option<String>,
    /// The source line, or what was done in words.
    pub(crate) text: String,
    pub(crate) what: What,
}

/// What it did to whom, as far as that is why threads take turns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// An access that others could see.
    Access(String),
    /// A store of its buffer reaches memory.
    Commit(String),
    /// An operation on a lock, a condition, a semaphore …
    Sync(String),
    /// It cannot go on: it waits for this.
    Waits(String),
    Ends,
    /// Here the program fails.
    Fails,
    Other,
}

/// Why a thread got its turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    Start,
    /// Its buffered store reaches memory only now.
    Commit(String),
    /// The one before waits for this.
    Waits(usize, String),
    Ended(usize),
    /// The one before could have gone on, with an access to this.
    Race(String),
    /// The same with a lock or the like.
    Sync(String),
    /// The one before could have gone on.
    Preempted,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    pub(crate) thread: usize,
    pub(crate) reason: Reason,
    pub(crate) deeds: Vec<Deed>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Table {
    /// By thread.
    names: Vec<String>,
    turns: Vec<Turn>,
}

/// Deeds shown of one turn, at its beginning and at its end.
const SHOWN: usize = 3;
/// More columns than this do not fit beside each other.
const MOST_COLUMNS: usize = 4;
/// Fewer columns than this are better used one below the other.
const NARROW: usize = 64;
/// Columns that suit a table where nobody says how many there are.
pub(crate) const WIDTH: usize = 100;

impl Table {
    pub(crate) fn new(names: Vec<String>, deeds: Vec<Deed>) -> Table {
        let mut turns: Vec<Turn> = Vec::new();
        let mut last: Option<usize> = None;
        for (at, deed) in deeds.iter().enumerate() {
            // A commit is done by the hardware, not by the thread: what its thread does next is another turn.
            let commits = matches!(deed.what, What::Commit(_));
            let same = turns.last().filter(|turn| {
                turn.thread == deed.thread && commits == matches!(turn.reason, Reason::Commit(_))
            });
            if same.is_none() {
                turns.push(Turn {
                    thread: deed.thread,
                    reason: reason(&deeds, at, last),
                    deeds: Vec::new(),
                });
            }
            if let Some(turn) = turns.last_mut() {
                turn.deeds.push(deed.clone());
            }
            if !commits {
                last = Some(at);
            }
        }
        Table { names, turns }
    }

    fn name(&self, thread: usize) -> &str {
        self.names.get(thread).map_or("?", |name| name)
    }

    fn because(&self, reason: &Reason) -> String {
        match reason {
            Reason::Start => String::new(),
            Reason::Commit(object) => format!("store to `{object}` reaches memory"),
            Reason::Waits(thread, object) => format!("{} waits for {object}", self.name(*thread)),
            Reason::Ended(thread) => format!("{} ended", self.name(*thread)),
            Reason::Race(object) => format!("race on `{object}`"),
            Reason::Sync(object) => object.clone(),
            Reason::Preempted => "preempted".to_owned(),
        }
    }

    /// As lines of text. What programs are called and what their sources say cannot move the cursor.
    pub(crate) fn draw(&self, width: usize) -> String {
        if self.names.len() > MOST_COLUMNS || width < NARROW {
            return self.list(width);
        }
        let mut out = String::new();
        let room = (width - 28) / self.names.len().max(1) - 3;
        let line = |cells: &[String], why: &str| {
            let mut text = String::from("  ");
            for cell in cells {
                let _ = write!(text, "| {} ", fit(cell, room));
            }
            let _ = write!(text, "|");
            if !why.is_empty() {
                let _ = write!(text, " {}", plain(why));
            }
            text.push('\n');
            text
        };
        out += &line(&self.names, "why");
        for turn in &self.turns {
            let why = self.because(&turn.reason);
            for (row, text) in rows(turn).into_iter().enumerate() {
                let mut cells = vec![String::new(); self.names.len()];
                if let Some(cell) = cells.get_mut(turn.thread) {
                    *cell = text;
                }
                out += &line(&cells, if row == 0 { &why } else { "" });
            }
        }
        out
    }

    /// One below the other, for many threads.
    fn list(&self, width: usize) -> String {
        let mut out = String::new();
        for turn in &self.turns {
            let why = self.because(&turn.reason);
            let why = if why.is_empty() {
                why
            } else {
                format!(" ({why})")
            };
            let _ = writeln!(out, "  {}{}", plain(self.name(turn.thread)), plain(&why));
            for text in rows(turn) {
                let _ = writeln!(
                    out,
                    "      {}",
                    fit(&text, width.saturating_sub(8)).trim_end()
                );
            }
        }
        out
    }

    pub(crate) fn json(&self) -> Value {
        let turn = |turn: &Turn| {
            let (reason, object) = match &turn.reason {
                Reason::Start => ("start", None),
                Reason::Commit(object) => ("commit", Some(object)),
                Reason::Waits(_, object) => ("wait", Some(object)),
                Reason::Ended(_) => ("end", None),
                Reason::Race(object) => ("race", Some(object)),
                Reason::Sync(object) => ("sync", Some(object)),
                Reason::Preempted => ("preempted", None),
            };
            let deeds = turn.deeds.iter();
            json!({
                "thread": self.name(turn.thread), "reason": reason, "object": object,
                "deeds": deeds.map(|deed| json!({"at": deed.at, "text": deed.text})).collect::<Vec<_>>(),
            })
        };
        self.turns.iter().map(turn).collect()
    }
}

/// Why the thread of `deeds[at]` has its turn, after `last` was done.
fn reason(deeds: &[Deed], at: usize, last: Option<usize>) -> Reason {
    if let What::Commit(object) = &deeds[at].what {
        return Reason::Commit(object.clone());
    }
    let Some(last) = last else {
        return Reason::Start;
    };
    let before = &deeds[last];
    match &before.what {
        What::Waits(object) => return Reason::Waits(before.thread, object.clone()),
        What::Ends => return Reason::Ended(before.thread),
        _ if before.thread == deeds[at].thread => return Reason::Start,
        _ => {}
    }
    // What do the turn that begins and the one before it, or what that thread does later, have in common?
    let (from, to) = (before.thread, deeds[at].thread);
    let begins = deeds[..last].iter().rposition(|deed| deed.thread != from);
    let turn = deeds[at..].iter().take_while(|deed| deed.thread == to);
    let later = deeds[at..].iter().filter(|deed| deed.thread == from);
    let earlier = deeds[begins.map_or(0, |at| at + 1)..=last].iter();
    let others: Vec<&What> = later.chain(earlier).map(|deed| &deed.what).collect();
    for deed in turn {
        match &deed.what {
            What::Access(object) if others.contains(&&deed.what) => {
                return Reason::Race(object.clone());
            }
            What::Sync(object) | What::Waits(object)
                if others.iter().any(
                    |what| matches!(what, What::Sync(of) | What::Waits(of) if of == object),
                ) =>
            {
                return Reason::Sync(object.clone());
            }
            _ => {}
        }
    }
    Reason::Preempted
}

fn rows(turn: &Turn) -> Vec<String> {
    let text = |deed: &Deed| {
        let place = deed.at.as_deref().unwrap_or_default();
        let line = place.rsplit(':').next().unwrap_or_default();
        let mark = match deed.what {
            What::Fails => "! ",
            _ => "",
        };
        match line {
            "" => format!("{mark}{}", deed.text.trim()),
            line => format!("{mark}{line}: {}", deed.text.trim()),
        }
    };
    let mut rows: Vec<String> = turn.deeds.iter().map(text).collect();
    rows.dedup();
    if rows.len() > 2 * SHOWN + 1 {
        let left_out = rows.len() - 2 * SHOWN;
        let end = rows.split_off(rows.len() - SHOWN);
        rows.truncate(SHOWN);
        rows.push(format!("… {left_out} more"));
        rows.extend(end);
    }
    rows
}

/// Exactly so many columns.
fn fit(text: &str, room: usize) -> String {
    let text = plain(text);
    let length = text.chars().count();
    if length > room {
        let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
        cut.push('…');
        return cut;
    }
    let fill = room - length;
    format!("{text}{}", " ".repeat(fill))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case is a file: who does what (thread, place, what, object, text), a line of dashes, the table.
    fn read(text: &str) -> (Table, &str) {
        let (input, expected) = text.split_once("----\n").expect("a line of dashes");
        let mut names = Vec::new();
        let mut deeds = Vec::new();
        for line in input.lines() {
            if let Some(threads) = line.strip_prefix("threads: ") {
                names = threads.split(", ").map(str::to_owned).collect();
                continue;
            }
            let mut words = line.splitn(5, ' ');
            let mut word = || words.next().expect("five words").to_owned();
            let thread = word().parse().expect("a number");
            let at = Some(word()).filter(|at| at != "-");
            let (what, object) = (word(), word());
            let what = match &what[..] {
                "access" => What::Access(object),
                "commit" => What::Commit(object),
                "sync" => What::Sync(object.replace('_', " ")),
                "waits" => What::Waits(object.replace('_', " ")),
                "ends" => What::Ends,
                "fails" => What::Fails,
                "other" => What::Other,
                what => panic!("{what}?"),
            };
            deeds.push(Deed {
                thread,
                at,
                text: word(),
                what,
            });
        }
        (Table::new(names, deeds), expected)
    }

    #[test]
    fn tables() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables");
        let mut looked_at = 0;
        for entry in std::fs::read_dir(dir).expect("cases") {
            let path = entry.expect("a case").path();
            let text = std::fs::read_to_string(&path).expect("text");
            let (table, expected) = read(&text);
            let drawn = table.draw(WIDTH);
            if std::env::var_os("BLESS").is_some() {
                let input = text.split_once("----\n").expect("dashes").0;
                std::fs::write(&path, format!("{input}----\n{drawn}")).expect("writes");
                continue;
            }
            assert_eq!(drawn, expected, "{}", path.display());
            looked_at += 1;
        }
        assert!(looked_at >= 4 || std::env::var_os("BLESS").is_some());
    }

    #[test]
    fn json_names_reasons_and_objects() {
        let text = include_str!("../../tests/tables/dekker.txt");
        let json = read(text).0.json();
        assert_eq!(json[0]["reason"], "start");
        assert_eq!(json[1]["thread"], "T1");
        assert_eq!(json[2]["object"], "y");
        let reasons: Vec<&str> = (0..4)
            .filter_map(|at| json[at]["reason"].as_str())
            .collect();
        assert!(reasons.contains(&"commit"), "{reasons:?}");
    }
}
