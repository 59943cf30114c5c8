//! How threads took turns: a column for each, a row for what it did, and why its turn began.

use super::excerpt::cut;
use crate::html::Html;
use landfall_finding::{Turn, TurnReason};

/// Rows of one turn: its beginning and its end.
const MOST_DEEDS: usize = 12;
const MOST_TURNS: usize = 300;

pub(super) fn turns(html: &mut Html, turns: &[Turn]) {
    let mut threads: Vec<&str> = Vec::new();
    for turn in turns {
        if !threads.contains(&turn.thread.as_str()) {
            threads.push(&turn.thread);
        }
    }
    // The main thread first, then by number.
    threads.sort_by_key(|name| (*name != "main", name.len(), *name));
    html.raw(
        "<p class=\"hint\">Each thread has a column. A turn begins where another thread goes on; the last column says why it could: a \
         lock, the end of a thread, a race, a store that reaches memory only now.</p>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Turns\"><table class=\"turns\"><thead><tr>",
    );
    for thread in &threads {
        html.say("th", &[("scope", "col")], thread);
    }
    html.raw("<th scope=\"col\">why</th></tr></thead><tbody>");
    for turn in turns.iter().take(MOST_TURNS) {
        one(html, turn, &threads);
    }
    if turns.len() > MOST_TURNS {
        let (more, across) = (turns.len() - MOST_TURNS, (threads.len() + 1).to_string());
        html.element("tr", &[], |html| {
            let attributes = [("class", "omitted"), ("colspan", across.as_str())];
            html.say("td", &attributes, &format!("{more} more turns"));
        });
    }
    html.raw("</tbody></table></div>");
}

fn one(html: &mut Html, turn: &Turn, threads: &[&str]) {
    let left_out = turn.deeds.len().saturating_sub(MOST_DEEDS);
    for (row, deed) in turn.deeds.iter().enumerate() {
        if left_out > 0 && (MOST_DEEDS / 2..MOST_DEEDS / 2 + left_out).contains(&row) {
            continue;
        }
        let class = if row == 0 { "begins" } else { "goes-on" };
        html.element("tr", &[("class", class)], |html| {
            for thread in threads {
                if *thread != turn.thread {
                    html.raw("<td></td>");
                    continue;
                }
                html.element("td", &[("class", "did")], |html| {
                    if let Some(at) = &deed.at {
                        let name = at.rsplit('/').next().unwrap_or_default();
                        html.say("span", &[("class", "place"), ("title", at)], name);
                        html.text(" ");
                    }
                    html.say("code", &[], cut(deed.text.trim()));
                    if let Some((_, callers)) = deed.stack.split_first() {
                        html.element("details", &[("class", "stack")], |html| {
                            html.say("summary", &[], "called by");
                            for caller in callers {
                                let text = format!("{} {}", caller.function, caller.colons());
                                html.element("div", &[], |html| {
                                    html.say("code", &[], &text);
                                });
                            }
                        });
                    }
                });
            }
            let why = match row {
                0 => because(turn),
                _ => String::new(),
            };
            html.say("td", &[("class", "why")], &why);
        });
    }
}

fn because(turn: &Turn) -> String {
    let object = turn.object.as_deref().unwrap_or_default();
    match turn.reason {
        TurnReason::Start => String::new(),
        TurnReason::Commit => format!("the store to {object} reaches memory"),
        TurnReason::Wait => format!("the other waits for {object}"),
        TurnReason::End => "the other has ended".to_owned(),
        TurnReason::Race => format!("a race on {object}: the other could have gone on"),
        TurnReason::Sync => format!("{object}: the other could have gone on"),
        TurnReason::Preempted => "preempts the other, which could have gone on".to_owned(),
    }
}
