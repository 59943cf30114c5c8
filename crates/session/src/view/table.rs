//! A schedule as a table: a column for each thread, a row for each turn, and why the turn began.

use landfall_finding::text::plain;
use landfall_finding::{Place, Turn, TurnLine, TurnReason};
use std::collections::HashMap;
use std::fmt::Write;

/// Something a thread did, in the order it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ThreadDeed {
    pub(crate) thread: usize,
    /// `file:line`.
    pub(crate) at: Option<String>,
    /// The source line, or what was done in words.
    pub(crate) text: String,
    pub(crate) stack: Vec<Place>,
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

/// Deeds shown of one turn, at its beginning and at its end.
const SHOWN: usize = 3;
/// More columns than this do not fit beside each other.
const MOST_COLUMNS: usize = 4;
/// Fewer columns than this are better used one below the other.
const NARROW: usize = 64;
/// Columns that suit a table where nobody says how many there are.
pub const WIDTH: usize = 100;

/// The turns that threads of these names took.
pub(crate) fn turns(names: &[String], deeds: &[ThreadDeed]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut running: Option<(usize, bool)> = None;
    let mut last: Option<usize> = None;
    for (at, deed) in deeds.iter().enumerate() {
        // A commit is done by the hardware, not by the thread: what its thread does next is another turn.
        let commits = matches!(deed.what, What::Commit(_));
        if running != Some((deed.thread, commits)) {
            running = Some((deed.thread, commits));
            let (reason, object) = reason(deeds, at, last);
            turns.push(Turn {
                thread: names.get(deed.thread).map_or("?", |name| name).to_owned(),
                reason,
                object,
                deeds: Vec::new(),
            });
        }
        if let Some(turn) = turns.last_mut() {
            turn.deeds.push(TurnLine {
                at: deed.at.clone(),
                text: deed.text.clone(),
                stack: deed.stack.clone(),
                fails: deed.what == What::Fails,
            });
        }
        if !commits {
            last = Some(at);
        }
    }
    turns
}

/// Why a turn began, in words; `before` is whose turn it was before it.
fn because(turn: &Turn, before: &str) -> String {
    let object = turn.object.as_deref().unwrap_or_default();
    match turn.reason {
        TurnReason::Start => String::new(),
        TurnReason::Commit => format!("store to `{object}` reaches memory"),
        TurnReason::Wait => format!("{before} waits for {object}"),
        TurnReason::End => format!("{before} ended"),
        TurnReason::Race => format!("race on `{object}`"),
        TurnReason::Sync => object.to_owned(),
        TurnReason::Preempted => "preempted".to_owned(),
    }
}

/// Each turn with why it began.
fn explained(turns: &[Turn]) -> impl Iterator<Item = (&Turn, String)> {
    let mut before = "";
    turns.iter().map(move |turn| {
        let why = because(turn, before);
        if turn.reason != TurnReason::Commit {
            before = &turn.thread;
        }
        (turn, why)
    })
}

/// Turns as lines of text. What programs are called and what their sources say cannot move the cursor.
pub fn draw(names: &[String], turns: &[Turn], width: usize) -> String {
    if names.len() > MOST_COLUMNS || width < NARROW {
        return list(turns, width);
    }
    let mut out = String::new();
    let room = (width - 28) / names.len().max(1) - 3;
    if look_alike(turns, room) {
        return list(turns, width);
    }
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
    out += &line(names, "why");
    for (turn, why) in explained(turns) {
        let column = names.iter().position(|name| *name == turn.thread);
        for (row, text) in rows(turn).into_iter().enumerate() {
            let mut cells = vec![String::new(); names.len()];
            if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
                *cell = text;
            }
            out += &line(&cells, if row == 0 { &why } else { "" });
        }
    }
    out
}

/// Would different things look the same in columns so narrow?
fn look_alike(turns: &[Turn], room: usize) -> bool {
    let mut known: HashMap<String, String> = HashMap::new();
    turns.iter().flat_map(rows).any(|text| {
        let shown = fit(&text, room);
        known.entry(shown).or_insert_with(|| text.clone()) != &text
    })
}

/// Turns one below the other, for many threads.
fn list(turns: &[Turn], width: usize) -> String {
    let mut out = String::new();
    for (turn, why) in explained(turns) {
        let why = match why.as_str() {
            "" => why,
            why => format!(" ({why})"),
        };
        let _ = writeln!(out, "  {}{}", plain(&turn.thread), plain(&why));
        for text in rows(turn) {
            let text = fit(&text, width.saturating_sub(8));
            let _ = writeln!(out, "      {}", text.trim_end());
        }
    }
    out
}

/// Why the thread of `deeds[at]` has its turn, after `last` was done.
fn reason(deeds: &[ThreadDeed], at: usize, last: Option<usize>) -> (TurnReason, Option<String>) {
    if let What::Commit(object) = &deeds[at].what {
        return (TurnReason::Commit, Some(object.clone()));
    }
    let Some(last) = last else {
        return (TurnReason::Start, None);
    };
    let before = &deeds[last];
    match &before.what {
        What::Waits(object) => return (TurnReason::Wait, Some(object.clone())),
        What::Ends => return (TurnReason::End, None),
        _ if before.thread == deeds[at].thread => return (TurnReason::Start, None),
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
                return (TurnReason::Race, Some(object.clone()));
            }
            What::Sync(object) | What::Waits(object)
                if others.iter().any(
                    |what| matches!(what, What::Sync(of) | What::Waits(of) if of == object),
                ) =>
            {
                return (TurnReason::Sync, Some(object.clone()));
            }
            _ => {}
        }
    }
    (TurnReason::Preempted, None)
}

fn rows(turn: &Turn) -> Vec<String> {
    let text = |deed: &TurnLine| {
        let place = deed.at.as_deref().unwrap_or_default();
        let line = place.rsplit(':').next().unwrap_or_default();
        let mark = if deed.fails { "! " } else { "" };
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
    fn read(text: &str) -> (Vec<String>, Vec<Turn>, &str) {
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
            deeds.push(ThreadDeed {
                thread,
                at,
                text: word(),
                stack: Vec::new(),
                what,
            });
        }
        let turns = turns(&names, &deeds);
        (names, turns, expected)
    }

    #[test]
    fn tables() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables");
        let mut looked_at = 0;
        for entry in std::fs::read_dir(dir).expect("cases") {
            let path = entry.expect("a case").path();
            let text = std::fs::read_to_string(&path).expect("text");
            let (names, turns, expected) = read(&text);
            let drawn = draw(&names, &turns, WIDTH);
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
    fn turns_name_reasons_and_objects() {
        let (_, turns, _) = read(include_str!("../../tests/tables/dekker.txt"));
        assert_eq!(turns[0].reason, TurnReason::Start);
        assert_eq!(turns[1].thread, "T1");
        assert_eq!(turns[2].object.as_deref(), Some("y"));
        assert!(turns.iter().any(|turn| turn.reason == TurnReason::Commit));
    }
}
