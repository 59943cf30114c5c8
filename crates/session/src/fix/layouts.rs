//! Where the allocator puts things is luck: what shares a cache line today need not tomorrow. A patch must hold however the blocks
//! of the persistent heap lie, so it is also checked with all of them moved.

use crate::fix::finding::{Key, OpenFinding};
use crate::fix::recheck::{Checked, Prepared, Recheck};

/// Every way in which a block can begin in a cache line, besides the one of the check itself.
const MOVES: [u16; 3] = [16, 32, 48];

/// By how many bytes blocks are moved, one check each.
#[derive(Clone, Debug)]
pub(crate) struct Layouts(Vec<u16>);

/// What the check finds, however blocks lie.
#[derive(Debug)]
pub(crate) struct EveryLayout {
    /// What is wrong with some layout; of what does nothing, what does nothing with all of them.
    pub(crate) findings: Vec<OpenFinding>,
    /// What looks as if it did nothing, and does something with blocks moved by so many bytes.
    pub(crate) needed: Vec<(OpenFinding, u16)>,
}

impl Layouts {
    /// Of a check that has blocks, or has none. `own` is by how much it moved them itself.
    pub(crate) fn new(allocates: bool, own: u16) -> Layouts {
        let moves = MOVES.iter().map(|more| own + more);
        Layouts(moves.filter(|_| allocates).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// All that is found in the program as it is. Layouts with which it comes to no verdict are left out from now on: there is
    /// nothing to compare with.
    pub(crate) fn check_first(
        &mut self,
        recheck: &Recheck<'_>,
        prepared: &Prepared,
        found: Vec<OpenFinding>,
        key: &dyn Fn(&OpenFinding) -> Key,
    ) -> anyhow::Result<EveryLayout> {
        let mut seen = EveryLayout::new(found);
        for moved in std::mem::take(&mut self.0) {
            if let Checked::Found(found) = recheck.with(prepared, Some(moved))? {
                seen.add(found, moved, key);
                self.0.push(moved);
            }
        }
        Ok(seen)
    }

    /// All that is found, starting from what the check as it was finds. The error is a layout with which there is no verdict.
    pub(crate) fn check(
        &self,
        recheck: &Recheck<'_>,
        prepared: &Prepared,
        found: Vec<OpenFinding>,
        key: &dyn Fn(&OpenFinding) -> Key,
    ) -> anyhow::Result<Result<EveryLayout, u16>> {
        let mut seen = EveryLayout::new(found);
        for &moved in &self.0 {
            match recheck.with(prepared, Some(moved))? {
                Checked::Found(found) => seen.add(found, moved, key),
                Checked::NotBuilt | Checked::Unusable => return Ok(Err(moved)),
            }
        }
        Ok(Ok(seen))
    }

    /// `, also with …`, for a sentence about a patch.
    pub(crate) fn also(&self) -> String {
        let numbers: Vec<String> = self.0.iter().map(u16::to_string).collect();
        match numbers.split_last() {
            None => String::new(),
            Some((last, others)) => {
                let list = match others {
                    [] => last.clone(),
                    others => format!("{} and {last}", others.join(", ")),
                };
                format!(", also with the persistent heap's blocks moved by {list} bytes")
            }
        }
    }

    pub(crate) fn holds_by_luck(what: &str, moved: u16) -> String {
        format!(
            "{what} where blocks lie now, and not with the persistent heap's blocks moved by {moved} bytes"
        )
    }

    pub(crate) fn needed(moved: u16) -> String {
        format!(
            "it is needed with the persistent heap's blocks moved by {moved} bytes, and so not removed"
        )
    }
}

impl EveryLayout {
    fn new(findings: Vec<OpenFinding>) -> EveryLayout {
        EveryLayout {
            findings,
            needed: Vec::new(),
        }
    }

    /// What one more layout shows.
    fn add(&mut self, found: Vec<OpenFinding>, moved: u16, key: &dyn Fn(&OpenFinding) -> Key) {
        let there: Vec<Key> = found.iter().map(key).collect();
        let (findings, luck): (Vec<OpenFinding>, Vec<OpenFinding>) =
            std::mem::take(&mut self.findings)
                .into_iter()
                .partition(|finding| !finding.is_perf() || there.contains(&key(finding)));
        self.findings = findings;
        self.needed
            .extend(luck.into_iter().map(|finding| (finding, moved)));
        let known: Vec<Key> = self.findings.iter().map(key).collect();
        for (mut finding, there) in found.into_iter().zip(there) {
            if !finding.is_perf() && !known.contains(&there) {
                finding.moved = Some(moved);
                self.findings.push(finding);
            }
        }
    }
}
