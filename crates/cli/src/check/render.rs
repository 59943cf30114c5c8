//! Findings on the terminal, in rustc's look.

use super::finding::{Finding, Place, Stored};
use std::collections::HashMap;
use std::fmt::Write;

/// Source lines, read when first shown.
#[derive(Default)]
pub(crate) struct Sources(HashMap<String, Vec<String>>);

impl Sources {
    fn line(&mut self, at: &Place) -> Option<&str> {
        let lines = self.0.entry(at.file.clone()).or_insert_with(|| {
            let text = std::fs::read_to_string(&at.file).unwrap_or_default();
            text.lines()
                .map(|line| line.replace('\t', "    "))
                .collect()
        });
        let line = lines.get(at.line.checked_sub(1)? as usize)?;
        Some(line.trim_end())
    }
}

pub(crate) fn render(finding: &Finding, sources: &mut Sources) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "error[{}]: {}", finding.kind, finding.message);
    let context = match &finding.crash_at {
        Some(at) => format!("   (recovery, after a power failure at {})", at.colons()),
        None if finding.after_crash => {
            "   (recovery, after a power failure at the start)".to_owned()
        }
        None => String::new(),
    };
    match &finding.at {
        Some(at) => {
            let _ = writeln!(out, "  --> {}{context}", at.colons());
        }
        None if !context.is_empty() => {
            let _ = writeln!(out, "  -->{context}");
        }
        None => {}
    }
    match (&finding.lost, &finding.kept) {
        (Some(lost), Some(kept)) => {
            mark(
                &mut out,
                sources,
                kept,
                "this store reached persistent memory …",
            );
            let before = match (&kept.at, kept.at.as_ref().map(|k| k.line)) {
                (Some(_), Some(line)) => format!(
                    "… but this earlier one did not: nothing made it durable before line {line}"
                ),
                _ => "… but this earlier one did not".to_owned(),
            };
            mark(&mut out, sources, lost, &before);
            if let (Some(after), Some(before)) = (&lost.at, &kept.at) {
                let _ = writeln!(
                    out,
                    "   = fix: flush the {} bytes stored at {} and fence, before {}",
                    lost.bytes,
                    after.colons(),
                    before.colons()
                );
            }
        }
        (Some(lost), None) => mark(
            &mut out,
            sources,
            lost,
            "this store had not reached persistent memory when the power failed",
        ),
        (None, _) if finding.after_crash => {
            let _ = writeln!(
                out,
                "   = note: all that was stored before the power failure had reached persistent memory: no flush is missing,\n           but the stores come in an order that leaves this state in between"
            );
        }
        (None, _) => {}
    }
    if finding.executions > 1 {
        let _ = writeln!(
            out,
            "   = note: {} distinct recoveries fail this way",
            finding.executions
        );
    }
    if let Some(replay) = &finding.replay {
        let _ = writeln!(out, "   = replay: {replay}");
    }
    out
}

fn mark(out: &mut String, sources: &mut Sources, stored: &Stored, text: &str) {
    let Some(at) = &stored.at else {
        let _ = writeln!(out, "   = note: {text}");
        return;
    };
    match sources.line(at) {
        Some(line) => {
            let indent = line.len() - line.trim_start().len();
            let underline = "-".repeat(line.trim_start().chars().count().max(1));
            let _ = writeln!(out, "{:>5} | {line}", at.line);
            let _ = writeln!(out, "      | {}{underline} {text}", " ".repeat(indent));
        }
        None => {
            let _ = writeln!(out, "   = {}: {text}", at.colons());
        }
    }
}
