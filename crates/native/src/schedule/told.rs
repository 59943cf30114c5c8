//! A schedule as the runtime numbers processes. Most of one is that of the one before.

use landfall_explore::schedule::Process;

/// The schedule that the program was told last.
#[derive(Debug, Default)]
pub(super) struct ToldSchedule {
    /// As the search numbers processes.
    wanted: Vec<Process>,
    choices: Vec<Process>,
}

/// Compared at once.
const BLOCK: usize = 512;

impl ToldSchedule {
    /// This schedule, each process called as `choice` says: the same for the same process at any time.
    pub(super) fn choices(
        &mut self,
        follow: &[Process],
        choice: impl Fn(Process) -> Process,
    ) -> &[Process] {
        let same = shared(&self.wanted, follow);
        self.wanted.truncate(same);
        self.choices.truncate(same);
        let new = &follow[same..];
        self.wanted.extend_from_slice(new);
        self.choices
            .extend(new.iter().map(|&process| choice(process)));
        &self.choices
    }
}

/// With how many of the same do both begin?
fn shared(one: &[Process], other: &[Process]) -> usize {
    let blocks = one.chunks(BLOCK).zip(other.chunks(BLOCK));
    let same = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    let same = same.min(one.len()).min(other.len());
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_told_whatever_was_told_before() {
        let mut told = ToldSchedule::default();
        let long: Vec<Process> = (0..2000).map(|at| at % 7).collect();
        for length in [0, 3, 512, 513, 1024, 2000, 1500, 511, 2000] {
            for other in [None, Some(0), Some(510), Some(600), Some(1024)] {
                let mut follow = long[..length].to_vec();
                if let Some(process) = other.and_then(|at: usize| follow.get_mut(at)) {
                    *process = 9;
                }
                let wanted: Vec<Process> = follow.iter().map(|of| of + 100).collect();
                assert_eq!(told.choices(&follow, |of| of + 100), wanted);
            }
        }
    }
}
