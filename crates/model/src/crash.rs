//! Crash states: what one or several power failures may have left, narrowed by what was seen of it since.
//!
//! Each crashed execution left one version of every line between its frontier and its newest (docs/design/model.md §1). Version 0 of
//! an execution means whatever the one before it left, so a line's state after several failures is a *chain*, one
//! version per execution (docs/design/model.md §5). Lines are independent of each other (docs/design/model.md §4).

use crate::image::Image;
use crate::line::{Line, LineBytes};
use crate::log::{Cut, Log, Version};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// One power failure of an execution: where in its log, and which lines are older than that allows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PowerFailure {
    pub cut: Cut,
    /// Lines that are not as new as the cut allows, with the version that survived; ascending.
    pub old: Vec<(Line, Version)>,
}

/// One version per crashed execution, oldest first.
pub type Chain = SmallVec<[Version; 2]>;

#[derive(Clone, Copy, Debug)]
pub struct Crashed<'a> {
    pub log: &'a Log,
    pub cut: Cut,
}

#[derive(Clone, Debug)]
pub struct CrashState<'a> {
    base: &'a Image,
    executions: SmallVec<[Crashed<'a>; 2]>,
    /// Lines of which something is known beyond their frontiers.
    narrowed: FxHashMap<Line, Vec<Chain>>,
}

/// No version of the line agrees with what was said of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Infeasible;

impl<'a> CrashState<'a> {
    /// Executions that began on `base` and crashed one after the other.
    pub fn new(base: &'a Image, executions: impl IntoIterator<Item = Crashed<'a>>) -> Self {
        CrashState {
            base,
            executions: executions.into_iter().collect(),
            narrowed: FxHashMap::default(),
        }
    }

    /// Lines that may differ from the base image, ascending.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = self
            .executions
            .iter()
            .flat_map(|e| {
                e.log
                    .lines()
                    .filter(|&l| e.log.newest(l, e.cut) > Version(0))
            })
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The chains the line may be in, ascending: the last is the newest everywhere.
    pub fn feasible(&self, line: Line) -> Vec<Chain> {
        if let Some(chains) = self.narrowed.get(&line) {
            return chains.clone();
        }
        let mut chains: Vec<Chain> = vec![Chain::new()];
        for execution in &self.executions {
            let Crashed { log, cut } = *execution;
            let (first, last) = (log.frontier(line, cut), log.newest(line, cut));
            chains = chains
                .into_iter()
                .flat_map(|chain| {
                    (first.0..=last.0).map(move |version| {
                        let mut chain = chain.clone();
                        chain.push(Version(version));
                        chain
                    })
                })
                .collect();
        }
        chains
    }

    /// The line's bytes in a chain.
    pub fn content(&self, line: Line, chain: &Chain) -> LineBytes {
        let mut bytes = self.base.line(line);
        for (execution, &version) in self.executions.iter().zip(chain) {
            execution.log.apply(line, version, &mut bytes);
        }
        bytes
    }

    /// Keeps the chains in which the line's content satisfies `seen`.
    pub fn refine(
        &mut self,
        line: Line,
        seen: impl Fn(&LineBytes) -> bool,
    ) -> Result<(), Infeasible> {
        let chains: Vec<Chain> = self
            .feasible(line)
            .into_iter()
            .filter(|chain| seen(&self.content(line, chain)))
            .collect();
        if chains.is_empty() {
            return Err(Infeasible);
        }
        self.narrowed.insert(line, chains);
        Ok(())
    }

    /// The image with the newest feasible version of every line.
    pub fn newest_image(&self) -> Image {
        let mut image = self.base.clone();
        for line in self.lines() {
            if let Some(chain) = self.feasible(line).last() {
                image.set_line(line, self.content(line, chain));
            }
        }
        image
    }

    /// Every distinct image, eagerly (Yat's way): for tests and tiny programs. `visit` returns false to stop.
    pub fn images(&self, visit: &mut impl FnMut(&Image) -> bool) {
        let choices: Vec<(Line, Vec<LineBytes>)> = self
            .lines()
            .into_iter()
            .map(|line| {
                let mut contents: Vec<LineBytes> = self
                    .feasible(line)
                    .iter()
                    .map(|chain| self.content(line, chain))
                    .collect();
                contents.sort_unstable();
                contents.dedup();
                (line, contents)
            })
            .collect();
        let mut image = self.base.clone();
        fill(&choices, &mut image, visit);
    }
}

fn fill(
    choices: &[(Line, Vec<LineBytes>)],
    image: &mut Image,
    visit: &mut impl FnMut(&Image) -> bool,
) -> bool {
    let Some(((line, contents), rest)) = choices.split_first() else {
        return visit(image);
    };
    contents.iter().all(|&bytes| {
        image.set_line(*line, bytes);
        fill(rest, image, visit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{Addr, pieces};
    use crate::order::Platform;

    fn stored(values: &[(u64, u8)]) -> Log {
        let mut log = Log::new(Platform::Adr);
        for &(addr, value) in values {
            log.store(0, pieces(Addr(addr), &[value]).next().unwrap());
        }
        log
    }

    fn crashed(log: &Log) -> Crashed<'_> {
        Crashed {
            log,
            cut: log.end(),
        }
    }

    /// Seed 000 figures 3.1 and 3.2: x and y on one line; reading x = 4 leaves y = 3 or 5.
    #[test]
    fn reading_one_variable_narrows_its_neighbour() {
        let (x, y) = (0, 8);
        let mut log = stored(&[(y, 1), (x, 2)]);
        log.durable(Line(0), Version(2));
        for (addr, value) in [(y, 3), (x, 4), (y, 5), (x, 6)] {
            log.store(0, pieces(Addr(addr), &[value]).next().unwrap());
        }
        let base = Image::default();
        let mut state = CrashState::new(&base, [crashed(&log)]);
        let values = |state: &CrashState<'_>, at: usize| -> Vec<u8> {
            let chains = state.feasible(Line(0));
            let mut v: Vec<u8> = chains
                .iter()
                .map(|c| state.content(Line(0), c)[at])
                .collect();
            v.dedup();
            v
        };
        assert_eq!(values(&state, 0), [2, 4, 6]);
        state.refine(Line(0), |bytes| bytes[0] == 4).unwrap();
        assert_eq!(values(&state, 8), [3, 5]);
        assert_eq!(
            state.refine(Line(0), |bytes| bytes[8] == 1),
            Err(Infeasible)
        );
    }

    #[test]
    fn a_second_failure_stacks() {
        let (first, second) = (stored(&[(0, 1)]), stored(&[(8, 2)]));
        let base = Image::default();
        let state = CrashState::new(&base, [crashed(&first), crashed(&second)]);
        assert_eq!(state.feasible(Line(0)).len(), 4);
        let mut images = Vec::new();
        state.images(&mut |image| {
            images.push((image.line(Line(0))[0], image.line(Line(0))[8]));
            true
        });
        assert_eq!(images, [(0, 0), (0, 2), (1, 0), (1, 2)]);
        assert_eq!(state.newest_image().line(Line(0))[8], 2);
    }
}
