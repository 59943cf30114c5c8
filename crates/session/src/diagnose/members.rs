//! Which members of which structs a finding is about, by the program's debug information.

use crate::programs::Replayer;
use landfall_finding::{Action, Finding, Fix, GapKind, Severity, Store, StoreRole};
use landfall_model::line::LINE_BYTES;

/// Names the members that the stores of a finding are about, and says what that means for them.
pub(crate) fn name(finding: &mut Finding, replayer: &Replayer) {
    let mut lost = 0;
    for store in &mut finding.stores {
        lost += usize::from(store.role == StoreRole::Lost);
        if store.role == StoreRole::Lost && lost > 1 {
            continue;
        }
        // A recovery may be another program.
        let named = |run| replayer.names(run).member(store.at.as_ref()?);
        store.member = [0, 1].into_iter().find_map(named);
    }
    if let Some(lost) = finding.lost()
        && let Some(at) = lost.at.as_ref().filter(|_| lost.thread.is_none())
        && let Some(code) = replayer.sources().pmdk_line(at, lost.bytes)
    {
        let mut flushes = finding.fix.iter_mut();
        if let Some(fix) = flushes.find(|fix| fix.action == Action::FlushFence) {
            fix.code = Some(code);
        }
    }
    if let Some((note, fix)) = flushed_in_part(finding) {
        finding.notes.push(note);
        finding.fix.insert(0, fix);
    }
    if finding.severity != Severity::Warning {
        return;
    }
    if let Some(member) = finding.racing().and_then(|r| r.member.clone()) {
        finding.notes.push(format!(
            "`{}` is a member of `{}`, {} bytes from its start",
            member.name, member.of, member.offset
        ));
    }
    if let (Some(lost), Some(kept)) = (finding.lost(), finding.kept())
        && let Some((note, names)) = together(lost, kept)
    {
        let of = lost.member.as_ref().map(|member| member.of.clone());
        finding.notes.push(note);
        let near = |fix: &&mut landfall_finding::Fix| {
            matches!(fix.action, Action::Align | Action::CoLocate)
        };
        for fix in finding.fix.iter_mut().filter(near) {
            fix.of.clone_from(&of);
            fix.members = names.to_vec();
        }
    }
}

/// The first line of an object was flushed, and what was lost is a member on its second: whoever wrote that took it to lie on one line. How it would.
fn flushed_in_part(finding: &Finding) -> Option<(String, Fix)> {
    let line = LINE_BYTES as u64;
    let lost = finding.lost()?;
    let member = lost.member.as_ref()?;
    let begin = lost.offset.checked_sub(member.offset)?;
    let other_line = (finding.gap.as_ref()).is_some_and(|gap| gap.kind == GapKind::OtherLine);
    if !other_line || begin / line == lost.offset / line {
        return None;
    }
    let (of, size) = (&member.of, member.size);
    let mut note = format!(
        "`{of}` has {size} bytes and begins {} bytes into a line: `{}`, {} bytes from its start, is on the next one",
        begin % line,
        member.name,
        member.offset
    );
    let fits = size.next_power_of_two();
    if fits > line {
        // As little as this is often one member that is wider than it was meant to be.
        let over = size.checked_sub(line).filter(|over| *over <= 8)?;
        note.push_str(&format!("; without {over} of them it would fit on one"));
    }
    let fix = Fix {
        bytes: Some(fits.min(line)),
        of: Some(of.clone()),
        members: vec![member.name.clone()],
        before: member.declared.clone(),
        ..Fix::new(Action::Align, false)
    };
    Some((note, fix))
}

/// Two members of one object, on two lines.
fn together(lost: &Store, kept: &Store) -> Option<(String, [String; 2])> {
    let (a, b) = (lost.member.as_ref()?, kept.member.as_ref()?);
    let line = |stored: &Store| stored.offset / LINE_BYTES as u64;
    let distance = kept.offset.wrapping_sub(lost.offset);
    let one_object = a.of == b.of && distance == b.offset.wrapping_sub(a.offset);
    if !one_object || line(lost) == line(kept) {
        return None;
    }
    let apart = kept.offset.abs_diff(lost.offset);
    let note = match a.size <= LINE_BYTES as u64 {
        true => format!(
            "`{}` and `{}` are members of `{}`, {apart} bytes apart, and the end of a cache line falls between them: it has {} bytes, and aligned to 64 they would persist in order by themselves",
            a.name, b.name, a.of, a.size
        ),
        false => format!(
            "`{}` and `{}` are members of `{}`, {apart} bytes apart: on one cache line they would persist in order by themselves",
            a.name, b.name, a.of
        ),
    };
    Some((note, [a.name.clone(), b.name.clone()]))
}
