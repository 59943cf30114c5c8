//! Findings on the terminal, in rustc's look.

use super::finding::{Choice, Finding, GapKind, Origin, Preemptions, Severity, Stored, Why};
use crate::names::{Place, address};
use crate::source::Sources;
use anstyle::{AnsiColor, Style};
use std::fmt::Write;

/// How much to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Detail {
    Short,
    Full,
}

/// Reads listed in full detail; the witness has all of them.
const MOST_CHOICES: usize = 20;

/// `width` is what a table of threads may take; the other lines are as long as they are.
pub(crate) fn render(
    finding: &Finding,
    sources: &mut Sources,
    detail: Detail,
    width: usize,
) -> String {
    let mut out = String::new();
    let (severity, message) = (finding.severity.name(), &finding.message);
    let message = crate::screen::plain(message);
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
        out += &schedule.draw(width);
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
    for end in finding.other_ends.iter().take(3) {
        let end = crate::screen::plain(end.what());
        let _ = writeln!(out, "   = note: others for the same reason: {end}");
    }
    match detail {
        Detail::Full => {
            stack(&mut out, "recovery fails", &finding.stack);
            for (what, stored) in [("lost store", &finding.lost), ("kept store", &finding.kept)] {
                if let Some(stored) = stored {
                    stack(&mut out, what, &stored.stack);
                }
            }
            choices(&mut out, &finding.choices);
        }
        Detail::Short if !finding.choices.is_empty() && finding.replay.is_some() => {
            let reads = match finding.choices.len() {
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
    if let Some(replay) = &finding.replay {
        let _ = writeln!(out, "   = replay: {replay}");
    }
    out
}

fn headline(finding: &Finding) -> String {
    let at = finding.at.as_ref().map(Place::colons);
    let times = match finding.failures {
        0 => return at.unwrap_or_else(|| "(without any power failure)".to_owned()),
        1 => "a power failure".to_owned(),
        n => format!("{n} power failures, the last"),
    };
    let context = match &finding.crash_at {
        Some(at) => format!("(recovery, after {times} at {})", at.colons()),
        None => format!("(recovery, after {times} at the start)"),
    };
    match at {
        Some(at) => format!("{at}   {context}"),
        None => context,
    }
}

fn stores(out: &mut String, finding: &Finding, sources: &mut Sources) {
    if let Some(racing) = &finding.racing {
        return race(out, racing, sources);
    }
    match (&finding.lost, &finding.kept) {
        (Some(lost), Some(_)) if finding.is_torn() => {
            let text = "part of this copy reached persistent memory, an earlier part did not: nobody promises an order inside it";
            mark(out, sources, lost, Tone::Bad, text);
            let _ = writeln!(
                out,
                "   = fix: copy and persist everything else first, then store what commits it by itself"
            );
        }
        (Some(lost), Some(kept)) => {
            mark(
                out,
                sources,
                kept,
                Tone::Good,
                "this store reached persistent memory …",
            );
            let text = format!("… but this earlier one did not: {}", because(finding));
            mark(out, sources, lost, Tone::Bad, &text);
            let shown = |stored: &Stored| match (&stored.at, &lost.at) {
                (Some(a), Some(b)) => a.same_line(b),
                _ => false,
            };
            let also = finding.also_lost.iter().filter(|stored| !shown(stored));
            for lost in also.take(3) {
                mark(
                    out,
                    sources,
                    lost,
                    Tone::Bad,
                    "… and in other recoveries this one, for the same reason",
                );
            }
            fix(out, finding, lost, kept, sources);
        }
        (Some(lost), None) => mark(
            out,
            sources,
            lost,
            Tone::Bad,
            "this store had not reached persistent memory when the power failed",
        ),
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

fn race(out: &mut String, racing: &Stored, sources: &mut Sources) {
    let text = "this store is not atomic, and nothing the recovery has read by then shows that it was flushed";
    mark(out, sources, racing, Tone::Bad, text);
    if let Some(at) = &racing.at {
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

/// Why nothing ordered the lost store before the kept one.
fn because(finding: &Finding) -> String {
    let place = |stored: &Option<Stored>| stored.as_ref().and_then(|s| s.at.clone());
    let (lost, kept) = (place(&finding.lost), place(&finding.kept));
    let before = match &kept {
        Some(kept) => format!(" before {}", kept.seen_from(lost.as_ref())),
        None => " in time".to_owned(),
    };
    let Some(why) = &finding.why else {
        return format!("nothing made it durable{before}");
    };
    let flush = (why.flush.as_ref()).map(|flush| flush.seen_from(lost.as_ref()));
    match (why.gap, flush) {
        (GapKind::NeverFlushed, _) => "nothing flushes it".to_owned(),
        (GapKind::FlushedLate, Some(flush)) => {
            format!("nothing flushes it{before} ({flush} does, too late)")
        }
        (GapKind::NotFenced, Some(flush)) => {
            format!(
                "the {} at {flush} begins to write it back, but no fence{before} waits for it",
                why.how
            )
        }
        (GapKind::OtherLine, Some(flush)) => {
            format!(
                "nothing flushes it{before} (the {} at {flush} writes back the line beside it)",
                why.how
            )
        }
        (GapKind::Torn, _) => "both are parts of one copy".to_owned(),
        (GapKind::Streamed, _) => format!("it is non-temporal, and no fence{before} completes it"),
        (_, None) => format!("nothing made it durable{before}"),
    }
}

fn fix(out: &mut String, finding: &Finding, lost: &Stored, kept: &Stored, sources: &mut Sources) {
    let (Some(after), Some(before)) = (&lost.at, &kept.at) else {
        return;
    };
    if let Some(ways) = &finding.ways {
        let bytes = bytes(lost.bytes);
        let what = match sources.assigned(after) {
            Some(target) => format!("`{target}` ({bytes})"),
            None => format!("the {bytes} stored"),
        };
        for line in ways.lines(&what) {
            let _ = writeln!(out, "   = {line}");
        }
        return;
    }
    let (after_text, before) = (after.colons(), before.colons());
    let text = match &finding.why {
        Some(why @ Why { flush, .. }) if why.only_fence() => {
            let after = flush.as_ref().map_or(after_text, Place::colons);
            format!("fence after {after}, before {before}")
        }
        _ => {
            let bytes = bytes(lost.bytes);
            let what = match sources.assigned(after) {
                Some(target) => format!("`{target}` ({bytes})"),
                None => format!("the {bytes} stored"),
            };
            format!("flush {what} and fence after {after_text}, before {before}")
        }
    };
    let _ = writeln!(out, "   = fix: {text}");
}

pub(crate) fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".to_owned(),
        n => format!("{n} bytes"),
    }
}

/// Where helper functions were called from, from where the ways to the two stores part.
fn callers(out: &mut String, finding: &Finding) {
    let (Some(lost), Some(kept)) = (&finding.lost, &finding.kept) else {
        return;
    };
    let same = |a: &Place, b: &Place| a.function == b.function && a.same_line(b);
    let (mine, theirs) = (lost.stack.iter().rev(), kept.stack.iter().rev());
    let common = mine.zip(theirs).take_while(|(a, b)| same(a, b)).count();
    for (what, stored) in [("lost", lost), ("kept", kept)] {
        // The frame after the common ones is where the order of the two stores is decided.
        let parting = stored.stack.len().checked_sub(common + 1);
        if let Some(parting @ 1..) = parting {
            let (inner, outer) = (&stored.stack[0], &stored.stack[parting]);
            let _ = writeln!(
                out,
                "   = note: the {what} store is in {}, called from {} in {}",
                inner.function,
                outer.colons(),
                outer.function
            );
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

fn choices(out: &mut String, choices: &[Choice]) {
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
            "       {at}: {} at {}: {:#x}, {}",
            bytes(choice.bytes.into()),
            address(choice.offset),
            choice.value,
            from(&choice.from)
        );
        for (value, origin) in &choice.others {
            let _ = writeln!(out, "           or {value:#x}, {}", from(origin));
        }
    }
    if choices.len() > MOST_CHOICES {
        let more = choices.len() - MOST_CHOICES;
        let _ = writeln!(out, "       … and {more} more");
    }
}

pub(crate) fn from(origin: &Origin) -> String {
    match (&origin.at, origin.execution) {
        (_, None) => "as it was at the beginning".to_owned(),
        (Some(at), Some(0)) => format!("stored at {}", at.colons()),
        (Some(at), Some(act)) => {
            format!("stored at {} after power failure {act}", at.colons())
        }
        (None, Some(_)) => "stored by a library".to_owned(),
    }
}

/// The colour of an underline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tone {
    Good,
    Bad,
}

fn mark(out: &mut String, sources: &mut Sources, stored: &Stored, tone: Tone, text: &str) {
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
