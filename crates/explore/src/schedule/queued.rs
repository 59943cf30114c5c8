//! What a store buffer keeps in order, where non-temporal stores leave it from where they are.

use super::step::Process;
use smallvec::SmallVec;

/// Something that a thread has put into its store buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    /// Who commits it, and that process' tick then.
    pub commit: (Process, u32),
    /// Its line; none for a fence.
    pub line: Option<u32>,
    /// Its commit is a transition. Others happen as soon as they can, and nobody can tell when.
    pub visible: bool,
}

impl Queued {
    /// Must it wait for one that its thread put in before? (The column and the row of non-temporal stores.)
    pub fn waits_for(&self, earlier: &Queued) -> bool {
        earlier.commit.0 == self.commit.0
            || earlier.line.is_none()
            || self.line.is_none()
            || earlier.line == self.line
    }
}

/// Adds to a set what `new` comes behind in other queues, of all that came before it, newest first. What is not visible has no
/// transition that could say what *it* waits for, so whatever comes behind it says so.
pub fn come_behind(
    new: Queued,
    earlier: impl Iterator<Item = Queued>,
    set: &mut Vec<(Process, u32)>,
) {
    let mut waiting: SmallVec<[Queued; 4]> = SmallVec::from_elem(new, 1);
    let mut met: SmallVec<[Process; 4]> = SmallVec::new();
    for before in earlier {
        if !waiting.iter().any(|one| one.waits_for(&before)) {
            continue;
        }
        let (process, tick) = before.commit;
        if !before.visible {
            let known = |one: &Queued| one.commit.0 == process && one.line == before.line;
            if !waiting.iter().any(known) {
                waiting.push(before);
            }
        } else if process != new.commit.0 && !met.contains(&process) {
            met.push(process);
            // A fence may have waited for more of them already.
            match set.iter_mut().find(|(of, _)| *of == process) {
                Some((_, known)) => *known = tick.max(*known),
                None => set.push((process, tick)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPANION: Process = 2;
    const STREAM: Process = 4;

    fn entry(process: Process, tick: u32, line: Option<u32>, visible: bool) -> Queued {
        Queued {
            commit: (process, tick),
            line,
            visible,
        }
    }

    fn behind(entries: &[Queued]) -> Vec<(Process, u32)> {
        let (new, earlier) = entries.split_last().expect("one is new");
        let mut set = Vec::new();
        come_behind(*new, earlier.iter().rev().copied(), &mut set);
        set
    }

    #[test]
    fn a_store_behind_a_hidden_one_waits_for_what_that_waits_for() {
        let streamed = entry(STREAM, 1, Some(7), true);
        let hidden = entry(COMPANION, 2, Some(7), false);
        let other = entry(COMPANION, 3, Some(8), true);
        assert_eq!(behind(&[streamed, hidden, other]), [(STREAM, 1)]);
        // A visible one says so itself; without one on its line nothing holds it back.
        let visible = Queued {
            visible: true,
            ..hidden
        };
        assert_eq!(behind(&[streamed, visible, other]), []);
        assert_eq!(behind(&[streamed, other]), []);
    }

    #[test]
    fn a_stream_waits_for_what_a_hidden_store_on_its_line_waits_for() {
        let first = entry(COMPANION, 1, Some(8), true);
        let hidden = entry(COMPANION, 2, Some(7), false);
        let streamed = entry(STREAM, 3, Some(7), true);
        assert_eq!(behind(&[first, hidden, streamed]), [(COMPANION, 1)]);
        assert_eq!(behind(&[first, streamed]), []);
    }

    #[test]
    fn what_a_fence_waited_for_stays() {
        let earlier = [entry(COMPANION, 1, Some(7), true)];
        let mut set = vec![(COMPANION, 2)];
        let streamed = entry(STREAM, 3, Some(7), true);
        come_behind(streamed, earlier.into_iter(), &mut set);
        assert_eq!(set, [(COMPANION, 2)]);
    }

    #[test]
    fn a_fence_waits_for_all() {
        let entries = [
            entry(STREAM, 1, Some(7), true),
            entry(STREAM, 2, Some(7), true),
            entry(STREAM + 1, 3, Some(8), true),
            entry(COMPANION, 4, None, true),
        ];
        let mut set = behind(&entries);
        set.sort_unstable();
        assert_eq!(set, [(STREAM, 2), (STREAM + 1, 3)]);
    }
}
