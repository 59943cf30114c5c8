//! Findings on the terminal, in rustc's look.

use anstyle::{AnsiColor, Style};
use landfall::SourceTexts;
use landfall::finding::text::{bytes, plain};
use landfall::finding::{
    Action, Finding, Fix, GapKind, Kind, Place, Preemptions, ReadChoice, Severity, Store,
};
use std::fmt::Write;

/// How much to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Detail {
    Short,
    Full,
}

/// Stores that their transaction does not answer for, of one finding.
const MOST_UNADDED: usize = 4;

/// Reads listed in full detail; the witness has all of them.
const MOST_CHOICES: usize = 20;

/// `width` is what a table of threads may take; the other lines are as long as they are.
pub(crate) fn render(
    finding: &Finding,
    sources: &mut SourceTexts,
    detail: Detail,
    width: usize,
) -> String {
    let mut out = String::new();
    let (severity, message) = (finding.severity.name(), &finding.message);
    let message = plain(message);
    let colour = match finding.severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Perf => AnsiColor::Cyan,
    };
    let (style, bold) = (colour.on_default().bold(), Style::new().bold());
    let kind = finding.kind;
    let _ = writeln!(
        out,
        "{style}{severity}[{kind}]{style:#}{bold}: {message}{bold:#}"
    );
    let _ = writeln!(out, "  --> {}", headline(finding));
    stores(&mut out, finding, sources);
    callers(&mut out, finding);
    if let Some(schedule) = &finding.schedule {
        let how_often = finding.preemptions.map_or_else(String::new, how_often);
        let _ = writeln!(out, "   = how the threads took turns{how_often}:");
        out += &landfall::draw(&finding.threads, schedule, width);
    }
    for note in &finding.notes {
        let _ = writeln!(out, "   = note: {note}");
    }
    if finding.executions > 1 && finding.severity == Severity::Error {
        let count = finding.executions;
        let what = match finding.schedule {
            Some(_) if finding.failures == 0 => "schedules",
            _ => "distinct recoveries",
        };
        let _ = writeln!(out, "   = note: {count} {what} fail this way");
    }
    for message in finding.other_messages.iter().take(3) {
        let end = plain(Finding::ended(message));
        let _ = writeln!(out, "   = note: others for the same reason: {end}");
    }
    match detail {
        Detail::Full => {
            let fails = match finding.failures {
                0 => "where it fails",
                _ => "recovery fails",
            };
            stack(&mut out, fails, &finding.stack);
            for (what, stored) in [
                ("lost store", finding.lost()),
                ("kept store", finding.kept()),
            ] {
                if let Some(stored) = stored {
                    stack(&mut out, what, &stored.stack);
                }
            }
            choices(&mut out, &finding.reads);
        }
        Detail::Short if !finding.reads.is_empty() && finding.replay.is_some() => {
            let reads = match finding.reads.len() {
                1 => "1 read".to_owned(),
                n => format!("{n} reads"),
            };
            let _ = writeln!(
                out,
                "   = note: {reads} of this recovery could have returned something else (-v lists them)"
            );
        }
        Detail::Short => {}
    }
    if let (Some(at), true) = (&finding.at, finding.severity < Severity::Error) {
        let place = format!("{}:{}:{}", finding.kind, plain(&at.file), at.line);
        let _ = writeln!(out, "   = allow: --allow {place}");
    }
    if let Some(replay) = &finding.replay {
        let _ = writeln!(out, "   = replay: {replay}");
    }
    out
}

fn headline(finding: &Finding) -> String {
    let at = finding.at.as_ref().map(Place::colons);
    let times = match finding.failures {
        0 if finding.schedule.is_some() => {
            return at.unwrap_or_else(|| "(at no line of the program)".to_owned());
        }
        0 => return at.unwrap_or_else(|| "(without any power failure)".to_owned()),
        1 => "a power failure".to_owned(),
        n => format!("{n} power failures, the last"),
    };
    if finding.kind == Kind::MissingSnapshot {
        let seen = match &finding.crash_at {
            Some(at) => format!("(seen after {times} at {})", at.colons()),
            None => format!("(seen after {times})"),
        };
        return at.map_or(seen.clone(), |at| format!("{at}   {seen}"));
    }
    let context = match &finding.crash_at {
        Some(at) => format!("(recovery, after {times} at {})", at.colons()),
        None => format!("(recovery, after {times} at the start)"),
    };
    match at {
        Some(at) => format!("{at}   {context}"),
        None => context,
    }
}

fn stores(out: &mut String, finding: &Finding, sources: &mut SourceTexts) {
    if let Some(racing) = finding.racing() {
        return race(out, racing, sources);
    }
    if finding.kind == Kind::MissingSnapshot {
        return unadded(out, finding, sources);
    }
    match (finding.lost(), finding.kept()) {
        (Some(lost), Some(_)) if finding.is_torn() => {
            let text = "part of this copy reached persistent memory, an earlier part did not: nobody promises an order inside it";
            mark(out, sources, lost, Tone::Bad, text);
            let _ = writeln!(
                out,
                "   = fix: copy and persist everything else first, then store what commits it by itself"
            );
        }
        (Some(lost), Some(_)) if finding.straddles() => {
            let text = "this store lies on two cache lines: one half of it reached persistent memory, the other did not";
            mark(out, sources, lost, Tone::Bad, text);
            let whole = finding.fix.first().and_then(|fix| fix.bytes).unwrap_or(16);
            let declaration = lost.member.as_ref().and_then(|m| m.declared.as_ref());
            let word = alignment_word(declaration.or(lost.at.as_ref()));
            let declared = match &lost.member {
                Some(member) => {
                    let there =
                        declaration.map_or(String::new(), |at| format!(" ({})", at.colons()));
                    format!(
                        ": `{word}({whole})` before `{}` in `{}`{there}, where it is {} bytes from the start",
                        member.name, member.of, member.offset
                    )
                }
                None => format!(": `{word}({whole})` where it is declared"),
            };
            let _ = writeln!(
                out,
                "   = fix: align it, so that it lies on one line{declared}"
            );
        }
        (Some(lost), Some(kept)) => {
            mark(
                out,
                sources,
                kept,
                Tone::Good,
                match kept.is_acknowledgement() {
                    true => "the world outside is told here …",
                    false => "this store reached persistent memory …",
                },
            );
            let earlier = match (turn_of(finding), kept.is_acknowledgement()) {
                (Follows::Same, _) => "what an earlier iteration of the loop stored did not",
                (_, true) => "this earlier store may not have reached persistent memory",
                (_, false) => "this earlier one did not",
            };
            let text = format!("… but {earlier}: {}", because(finding));
            mark(out, sources, lost, Tone::Bad, &text);
            let shown = |stored: &&Store| match (&stored.at, &lost.at) {
                (Some(a), Some(b)) => a.same_line(b),
                _ => false,
            };
            let also = finding.also_lost().filter(|stored| !shown(stored));
            for lost in also.take(3) {
                mark(
                    out,
                    sources,
                    lost,
                    Tone::Bad,
                    "… and in other recoveries this one, for the same reason",
                );
            }
            align(out, finding, lost);
            fix(out, finding, lost, kept, sources);
        }
        (Some(lost), None) => mark(
            out,
            sources,
            lost,
            Tone::Bad,
            "this store had not reached persistent memory when the power failed",
        ),
        (None, _) if matches!(finding.kind, Kind::Uninitialised | Kind::VolatilePointer) => {}
        (None, _) if finding.failures == 1 && finding.crash_at.is_none() => {
            let _ = writeln!(
                out,
                "   = note: nothing had been stored to persistent memory when the power failed: recovery finds it as it was at first"
            );
        }
        (None, _) if finding.failures > 0 => {
            let _ = writeln!(
                out,
                "   = note: all that was stored before the power failure had reached persistent memory: no flush is missing, but the stores come in an order that leaves this state in between"
            );
        }
        (None, _) => {}
    }
}

/// In a header of both, C's word would be wrong in C++, and C++'s in old C.
fn alignment_word(at: Option<&Place>) -> &'static str {
    match at {
        Some(at) if !at.file.ends_with(".c") && !at.file.ends_with(".h") => "alignas",
        _ => "_Alignas",
    }
}

/// A struct that was flushed as if it lay on one line.
fn align(out: &mut String, finding: &Finding, lost: &Store) {
    let aligns = |fix: &&Fix| fix.action == Action::Align && fix.of.is_some();
    let Some(fix) = finding.fix.iter().find(aligns) else {
        return;
    };
    let word = alignment_word(fix.before.as_ref().or(lost.at.as_ref()));
    let there = (fix.before.as_ref()).map_or(String::new(), |at| format!(" ({})", at.colons()));
    let _ = writeln!(
        out,
        "   = fix: align `{}`, so that `{}`{there} is on the line that it begins on: `{word}({})`",
        fix.of.as_deref().unwrap_or_default(),
        fix.members.first().map_or("", String::as_str),
        fix.bytes.unwrap_or_default()
    );
}

/// Stores of a transaction that does not answer for them, and the lines that are missing.
fn unadded(out: &mut String, finding: &Finding, sources: &mut SourceTexts) {
    let mut told: Vec<&Place> = Vec::new();
    for store in finding.unadded() {
        let Some(at) = &store.at else { continue };
        if told.len() == MOST_UNADDED || told.iter().any(|known| known.same_line(at)) {
            continue;
        }
        let text = match told.is_empty() {
            true => "nothing added this to the transaction before it is stored",
            false => "… nor this",
        };
        told.push(at);
        mark(out, sources, store, Tone::Bad, text);
    }
    for fix in &finding.fix {
        let before = fix.before.as_ref().map(Place::colons).unwrap_or_default();
        let _ = match &fix.code {
            Some(code) => writeln!(out, "   = fix: `{code}` is missing before {before}"),
            None => writeln!(
                out,
                "   = fix: add what is stored to the transaction before {before}"
            ),
        };
    }
}

fn race(out: &mut String, racing: &Store, sources: &mut SourceTexts) {
    let text = "this store is not atomic, and nothing the recovery has read by then shows that it was flushed";
    mark(out, sources, racing, Tone::Bad, text);
    if racing.bytes > 8 {
        let _ = writeln!(
            out,
            "   = fix: persist all of it first, then set a flag that recovery looks at before it; or keep a checksum of it, and say so (lf_checksum_begin)"
        );
    } else if let Some(at) = &racing.at {
        let what = match sources.assigned(at) {
            Some(target) => format!("`{target}`"),
            None => "it".to_owned(),
        };
        let _ = writeln!(
            out,
            "   = fix: make {what} atomic at {} (_Atomic, std::atomic; a relaxed or release store costs nothing on x86)",
            at.colons()
        );
    }
}

/// How the kept store follows the lost one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Follows {
    /// As it is written.
    Other,
    /// It is the same statement, in a later iteration of a loop.
    Same,
    /// It comes before the lost one, in a later iteration.
    Next,
}

fn turn_of(finding: &Finding) -> Follows {
    let (Some(lost), Some(kept)) = (finding.lost(), finding.kept()) else {
        return Follows::Other;
    };
    let (Some(first), Some(later)) = (&lost.at, &kept.at) else {
        return Follows::Other;
    };
    // In one function that was called once.
    let once = first.function == later.function
        && first.file == later.file
        && lost.thread == kept.thread
        && !lost.stack.is_empty()
        && lost.stack.get(1..) == kept.stack.get(1..);
    match (later.line, later.column).cmp(&(first.line, first.column)) {
        std::cmp::Ordering::Equal if once => Follows::Same,
        std::cmp::Ordering::Less if once => Follows::Next,
        _ => Follows::Other,
    }
}

/// Why nothing ordered the lost store before the kept one.
fn because(finding: &Finding) -> String {
    let place = |stored: Option<&Store>| stored.and_then(|s| s.at.clone());
    let (lost, kept) = (place(finding.lost()), place(finding.kept()));
    let before = match (&kept, turn_of(finding)) {
        (_, Follows::Same) => " in between".to_owned(),
        (Some(kept), Follows::Next) => format!(
            " before {} of the next iteration",
            kept.seen_from(lost.as_ref())
        ),
        (Some(kept), Follows::Other) => format!(" before {}", kept.seen_from(lost.as_ref())),
        (None, _) => " in time".to_owned(),
    };
    let Some(gap) = &finding.gap else {
        return format!("nothing made it durable{before}");
    };
    let there = (gap.called_from.as_ref().or(gap.flush.as_ref()))
        .map(|flush| flush.seen_from(lost.as_ref()));
    // A helper is named, with who called it.
    let helper = (gap.flush.as_ref()).filter(|_| gap.called_from.is_some());
    let flush = match (helper, &there) {
        (Some(helper), Some(there)) => format!(
            "the {} in `{}`, called at {there},",
            gap.instruction,
            plain(&helper.function)
        ),
        (_, there) => format!(
            "the {} at {}",
            gap.instruction,
            there.as_deref().unwrap_or_default()
        ),
    };
    match (gap.kind, there) {
        (GapKind::NeverFlushed, _) => "nothing flushes it".to_owned(),
        (GapKind::FlushedLate, Some(there)) => match helper {
            Some(helper) => format!(
                "nothing flushes it{before} (`{}` does, called at {there}, too late)",
                plain(&helper.function)
            ),
            None => format!("nothing flushes it{before} ({there} does, too late)"),
        },
        (GapKind::NotFenced, Some(_)) => {
            format!("{flush} begins to write it back, but no fence{before} waits for it")
        }
        (GapKind::OtherLine, Some(_)) => {
            format!("nothing flushes it{before} ({flush} writes back the line beside it)")
        }
        (GapKind::Torn, _) => "both are parts of one copy".to_owned(),
        (GapKind::Straddles, _) => "both are halves of one store".to_owned(),
        (GapKind::Streamed, _) => format!("it is non-temporal, and no fence{before} completes it"),
        (_, None) => format!("nothing made it durable{before}"),
    }
}

fn fix(out: &mut String, finding: &Finding, lost: &Store, kept: &Store, sources: &mut SourceTexts) {
    let (Some(after), Some(before)) = (&lost.at, &kept.at) else {
        return;
    };
    let bytes = bytes(lost.bytes);
    let what = match sources.assigned(after) {
        Some(target) => format!("`{target}` ({bytes})"),
        None => format!("the {bytes} stored"),
    };
    if let (Some(owner), Some(keeper)) = (lost.thread, kept.thread) {
        for line in across_threads(&finding.fix, (owner, keeper), &what) {
            let _ = writeln!(out, "   = {line}");
        }
        return;
    }
    let first = finding.fix.iter().find(|fix| fix.primary);
    let before = match turn_of(finding) {
        Follows::Same => "the next iteration".to_owned(),
        Follows::Next | Follows::Other => before.colons(),
    };
    let text = match first {
        Some(Fix {
            action: Action::Fence,
            after: flush,
            ..
        }) => {
            let after = flush.as_ref().unwrap_or(after).colons();
            format!("fence after {after}, before {before}")
        }
        _ => {
            let after = after.colons();
            match first.and_then(|fix| fix.code.as_ref()) {
                Some(code) => format!("`{code}` is missing after {after}, before {before}"),
                None => format!("flush {what} and fence after {after}, before {before}"),
            }
        }
    };
    let _ = writeln!(out, "   = fix: {text}");
}

fn thread_name(thread: usize) -> String {
    match thread {
        0 => "main".to_owned(),
        n => format!("thread {n}"),
    }
}

/// One line for each way where several threads ran; `threads` are those of the lost store and of the one that was kept, `what` is what
/// is to be flushed.
fn across_threads(fixes: &[Fix], threads: (usize, usize), what: &str) -> Vec<String> {
    let (owner, keeper) = (thread_name(threads.0), thread_name(threads.1));
    let ways = || fixes.iter().filter(|fix| fix.thread.is_some());
    let primary = ways().find(|fix| fix.primary);
    let secondary: Vec<&Fix> = ways().filter(|fix| !fix.primary).collect();
    let mut lines = Vec::new();
    match primary {
        Some(way) if threads.0 == threads.1 && secondary.is_empty() => {
            lines.push(format!("fix: {}", in_thread(way, what, "")));
        }
        Some(way) => lines.push(format!(
            "fix: {}",
            in_thread(way, what, &format!(" in {owner}, which stores it:"))
        )),
        None if secondary.is_empty() => lines.push(format!(
            "note: nothing makes {keeper} wait for {owner} between the two stores: no flush orders them"
        )),
        None => lines.push(format!(
            "note: there is no place for a flush in {owner}: others see the store before {owner} can flush it"
        )),
    }
    for way in secondary {
        let or = if primary.is_some() { "or " } else { "" };
        let thread = thread_name(way.thread.unwrap_or_default());
        let text = in_thread(
            way,
            what,
            &format!(" in {thread}, which has seen the store:"),
        );
        lines.push(format!("fix: {or}{text}"));
    }
    lines
}

fn in_thread(way: &Fix, what: &str, thread: &str) -> String {
    let action = match way.action {
        Action::FlushFence => format!("flush {what} and fence"),
        _ => "fence".to_owned(),
    };
    let after = match &way.after {
        Some(after) => format!("after {}, ", after.colons()),
        None => String::new(),
    };
    let before = match &way.before {
        Some(before) => format!("before {}", before.colons()),
        None => "before it ends".to_owned(),
    };
    format!("{action}{thread} {after}{before}")
}

/// Where helper functions were called from, from where the ways to the two stores part.
fn callers(out: &mut String, finding: &Finding) {
    let (Some(lost), Some(kept)) = (finding.lost(), finding.kept()) else {
        return;
    };
    let same = |a: &Place, b: &Place| a.function == b.function && a.same_line(b);
    let (mine, theirs) = (lost.stack.iter().rev(), kept.stack.iter().rev());
    let common = mine.zip(theirs).take_while(|(a, b)| same(a, b)).count();
    for (what, stored) in [("lost", lost), ("kept", kept)] {
        // The frame after the common ones is where the order of the two stores is decided.
        let parting = stored.stack.len().checked_sub(common + 1);
        let Some(inner) = stored.stack.first() else {
            continue;
        };
        // (Its own place may have the function's name without its arguments.)
        let shown = |outer: &Place| stored.at.as_ref().is_some_and(|at| at.same_line(outer));
        match parting.map(|parting| &stored.stack[parting]) {
            Some(outer) if !shown(inner) && (shown(outer) || parting == Some(0)) => {
                let _ = writeln!(
                    out,
                    "   = note: the {what} store is in `{}` ({}), called from there",
                    inner.function,
                    inner.colons()
                );
            }
            Some(outer) if parting > Some(0) => {
                let _ = writeln!(
                    out,
                    "   = note: the {what} store is in {}, called from {} in {}",
                    inner.function,
                    outer.colons(),
                    outer.function
                );
            }
            _ => {}
        }
    }
}

fn stack(out: &mut String, what: &str, frames: &[Place]) {
    if frames.is_empty() {
        return;
    }
    let _ = writeln!(out, "   = stack, {what}:");
    for frame in frames {
        let _ = writeln!(out, "       {} at {}", frame.function, frame.colons());
    }
}

fn choices(out: &mut String, choices: &[ReadChoice]) {
    if choices.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "   = reads of this recovery that could have returned something else:"
    );
    for choice in choices.iter().take(MOST_CHOICES) {
        let at = choice.at.as_ref().map_or_else(String::new, Place::colons);
        let _ = writeln!(
            out,
            "       {at}: {} at {}: {}, {}",
            bytes(choice.bytes.into()),
            choice.address,
            choice.value,
            choice.from.words()
        );
        for other in &choice.others {
            let _ = writeln!(out, "           or {}, {}", other.value, other.from.words());
        }
    }
    if choices.len() > MOST_CHOICES {
        let more = choices.len() - MOST_CHOICES;
        let _ = writeln!(out, "       … and {more} more");
    }
}

/// The colour of an underline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tone {
    Good,
    Bad,
}

fn mark(out: &mut String, sources: &mut SourceTexts, stored: &Store, tone: Tone, text: &str) {
    let Some(at) = &stored.at else {
        let _ = writeln!(out, "   = note: {text}");
        return;
    };
    let gutter = AnsiColor::Blue.on_default().bold();
    let tone = match tone {
        Tone::Good => gutter,
        Tone::Bad => AnsiColor::Red.on_default().bold(),
    };
    match sources.line(at) {
        Some(line) => {
            let indent = line.len() - line.trim_start().len();
            let underline = "-".repeat(line.trim_start().chars().count().max(1));
            let space = " ".repeat(indent);
            let _ = writeln!(out, "{gutter}{:>5} |{gutter:#} {line}", at.line);
            let _ = writeln!(
                out,
                "      {gutter}|{gutter:#} {space}{tone}{underline}{tone:#} {text}"
            );
        }
        None => {
            let _ = writeln!(out, "   = {}: {text}", at.colons());
        }
    }
}
/// How plain a schedule is.
fn how_often(Preemptions { count, fewest }: Preemptions) -> String {
    let preemptions = match count {
        0 => return ", without a preemption".to_owned(),
        1 => "1 preemption".to_owned(),
        n => format!("{n} preemptions"),
    };
    match fewest {
        true => format!(", with {preemptions} (it does not show with fewer)"),
        false => format!(", with {preemptions}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32) -> Option<Place> {
        Some(Place {
            file: "a.c".to_owned(),
            line,
            column: 3,
            function: "f".to_owned(),
        })
    }

    fn way(thread: usize, before: Option<Place>, primary: bool) -> Fix {
        Fix {
            thread: Some(thread),
            after: at(7),
            before,
            ..Fix::new(Action::FlushFence, primary)
        }
    }

    #[test]
    fn every_way_has_a_line() {
        let (first, second) = (way(0, None, true), way(1, at(9), false));
        let both = [first, second.clone()];
        assert_eq!(
            across_threads(&both, (0, 1), "`x` (4 bytes)"),
            [
                "fix: flush `x` (4 bytes) and fence in main, which stores it: after a.c:7:3, before it ends",
                "fix: or flush `x` (4 bytes) and fence in thread 1, which has seen the store: after a.c:7:3, before a.c:9:3",
            ]
        );
        let lines = across_threads(&[second], (0, 1), "it");
        assert!(lines[0].starts_with("note: there is no place for a flush in main"));
        assert!(lines[1].starts_with("fix: flush it and fence in thread 1"));
        let none = across_threads(&[], (0, 1), "it");
        assert!(none[0].contains("no flush orders them"));
    }
}
