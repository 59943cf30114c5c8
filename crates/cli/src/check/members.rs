//! Which members of which structs a finding is about, by the program's debug information.

use super::finding::{Finding, Severity, Stored};
use crate::scene::Stage;
use landfall_model::line::LINE_BYTES;
use serde_json::json;

/// Names the members that the stores of a finding are about, and says what that means for them.
pub(super) fn name(finding: &mut Finding, stage: &Stage) {
    let stores = [&mut finding.lost, &mut finding.kept, &mut finding.racing];
    for stored in stores.into_iter().flatten() {
        // A recovery may be another program.
        let named = |act| stage.names(act).member(stored.at.as_ref()?);
        stored.member = [0, 1].into_iter().find_map(named);
    }
    if finding.severity != Severity::Warning {
        return;
    }
    if let Some(member) = finding.racing.as_ref().and_then(|r| r.member.as_ref()) {
        finding.notes.push(format!(
            "`{}` is a member of `{}`, {} bytes from its start",
            member.name, member.of, member.offset
        ));
    }
    if let (Some(lost), Some(kept)) = (&finding.lost, &finding.kept)
        && let Some((note, names)) = together(lost, kept)
    {
        finding.notes.push(note);
        for way in &mut finding.alternatives {
            way["struct"] = json!(lost.member.as_ref().map(|member| &member.of));
            way["members"] = json!(names);
        }
    }
}

/// Two members of one object, on two lines.
fn together(lost: &Stored, kept: &Stored) -> Option<(String, [String; 2])> {
    let (a, b) = (lost.member.as_ref()?, kept.member.as_ref()?);
    let line = |stored: &Stored| stored.offset / LINE_BYTES as u64;
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
