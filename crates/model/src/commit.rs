//! The order in which one thread's events take effect.

use crate::line::Line;
use rustc_hash::FxHashMap;

/// An event, as far as that order is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A non-temporal store to the line.
    NonTemporal(Line),
    /// Something else about one line.
    OfLine(Line),
    /// A fence, or what acts like one: nothing overtakes it.
    Barrier,
    /// Keeps its place, and holds up nobody.
    Nothing,
}

/// That of the program, but for non-temporal stores, which overtake what concerns other lines (MODEL.md §2). Each comes as
/// early as it may: up to a barrier, or the last event of its line. Coming late needs no order of its own, since nothing is
/// guaranteed of it before its fence.
pub fn commit_order(effects: &[Effect]) -> Vec<usize> {
    let streamed = |effect: &Effect| matches!(effect, Effect::NonTemporal(_));
    if !effects.iter().any(streamed) {
        return (0..effects.len()).collect();
    }
    let mut order = Vec::with_capacity(effects.len());
    let mut start = 0;
    for part in effects.split_inclusive(|effect| *effect == Effect::Barrier) {
        let mut first: Vec<usize> = Vec::new();
        let mut rest: Vec<usize> = Vec::new();
        // Non-temporal stores that come right after an event of their line.
        let mut after: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut last: FxHashMap<Line, usize> = FxHashMap::default();
        for (at, &effect) in (start..).zip(part) {
            let before = match effect {
                Effect::NonTemporal(line) | Effect::OfLine(line) => last.insert(line, at),
                Effect::Barrier | Effect::Nothing => None,
            };
            match (effect, before) {
                (Effect::NonTemporal(_), None) => first.push(at),
                (Effect::NonTemporal(_), Some(before)) => after.entry(before).or_default().push(at),
                _ => rest.push(at),
            }
        }
        let mut todo: Vec<usize> = first.into_iter().chain(rest).rev().collect();
        while let Some(at) = todo.pop() {
            order.push(at);
            todo.extend(after.remove(&at).into_iter().flatten().rev());
        }
        start += part.len();
    }
    order
}
