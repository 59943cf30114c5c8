//! How many traces an execution stands for: its renamings that are not the same trace.

use super::Symmetry;
use super::agree::{Renaming, processes};
use crate::schedule::step::{Process, Step};

/// Renamings that are looked at to tell which leave an execution as it is.
const MOST_TRIED: u32 = 100_000;

/// Threads that can change places two by two.
struct Twins {
    class: usize,
    threads: Vec<u8>,
}

impl Symmetry {
    /// Of the last execution.
    pub(in crate::schedule) fn stands_for(&mut self, steps: &[Step]) -> u64 {
        if self.classes.is_empty() {
            return 1;
        }
        self.reversal.clear();
        for (event, step) in (0u32..).zip(steps) {
            self.reversal.push(event, step.process);
        }
        let mut renaming = Renaming::default();
        renaming.identity(self.order.threads);
        let mut blocks: Vec<Twins> = Vec::new();
        for (class, threads) in self.classes.iter().enumerate() {
            for &thread in threads {
                let twin = blocks.iter_mut().find(|block| {
                    let other = block.threads[0];
                    if block.class != class || !self.matches(steps, thread, other) {
                        return false;
                    }
                    renaming.identity(self.order.threads);
                    renaming.set(thread, other);
                    renaming.set(other, thread);
                    self.stays(steps, &renaming)
                });
                match twin {
                    Some(block) => block.threads.push(thread),
                    None => blocks.push(Twins {
                        class,
                        threads: vec![thread],
                    }),
                }
            }
        }
        renaming.identity(self.order.threads);
        let mut taken = vec![false; blocks.len()];
        let mut tried = 0;
        let same = self.automorphisms(steps, &blocks, 0, &mut taken, &mut renaming, &mut tried);
        let factorial = |n: usize| (1..=n as u128).fold(1u128, u128::saturating_mul);
        let all = self.classes.iter().map(|class| factorial(class.len()));
        let twins = blocks.iter().map(|block| factorial(block.threads.len()));
        let all = all.fold(1, u128::saturating_mul);
        let twins = twins.fold(1, u128::saturating_mul);
        let orbit = all / twins.saturating_mul(same.max(1).into());
        u64::try_from(orbit.max(1)).unwrap_or(u64::MAX)
    }

    /// In how many ways can whole blocks of twins change places?
    fn automorphisms(
        &self,
        steps: &[Step],
        blocks: &[Twins],
        at: usize,
        taken: &mut [bool],
        renaming: &mut Renaming,
        tried: &mut u32,
    ) -> u64 {
        let Some(block) = blocks.get(at) else {
            *tried += 1;
            return u64::from(self.stays(steps, renaming));
        };
        let mut found = 0;
        for (to, other) in blocks.iter().enumerate() {
            if taken[to]
                || other.class != block.class
                || other.threads.len() != block.threads.len()
                || *tried > MOST_TRIED
                || !self.matches(steps, block.threads[0], other.threads[0])
            {
                continue;
            }
            taken[to] = true;
            for (&from, &to) in block.threads.iter().zip(&other.threads) {
                renaming.set(from, to);
            }
            found += self.automorphisms(steps, blocks, at + 1, taken, renaming, tried);
            taken[to] = false;
        }
        found
    }

    /// Could the two be each other? Looks at each alone.
    fn matches(&self, steps: &[Step], a: u8, b: u8) -> bool {
        let of = |thread| processes(&self.order, self.width, thread);
        of(a).zip(of(b)).all(|(a, b)| {
            let (mine, theirs) = (self.reversal.of(a), self.reversal.of(b));
            let sum = |event: u32| self.row_of(event).iter().sum::<u32>();
            mine.len() == theirs.len()
                && mine.iter().zip(theirs).all(|(&mine, &theirs)| {
                    steps[mine as usize].object == steps[theirs as usize].object
                        && sum(mine) == sum(theirs)
                })
        })
    }

    /// Does the renaming leave the execution as it is?
    fn stays(&self, steps: &[Step], renaming: &Renaming) -> bool {
        let order = &self.order;
        (0u32..).zip(steps).all(|(event, step)| {
            let mine = self.row_of(event);
            let at = mine[usize::from(step.process)] as usize - 1;
            let process = renaming.process(order, step.process);
            let Some(&image) = self.reversal.of(process).get(at) else {
                return false;
            };
            let theirs = self.row_of(image);
            (0..self.width as Process)
                .all(|of| mine[usize::from(of)] == theirs[usize::from(renaming.process(order, of))])
        })
    }
}
