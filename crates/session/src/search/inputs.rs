//! Values where the program asks for any (`lf_nondet`, `__VERIFIER_nondet_int`): each call is told one of a few, and every
//! combination of them is searched by itself, those that differ least from the first value of all first. A wait asks as well,
//! whether it ends for no reason: a few may.
//!
//! Why it is enough: a search finds out which calls there are when some are told values and the others the first one. Whatever the
//! calls return, let `c` be the first of those calls, in some fixed order, that returns another value: then the search in which the
//! calls before `c` are told the first value, and `c` that other one, agrees with it in one more call. If there is none, it is this
//! very search.

use crate::names::ProgramNames;
use landfall_finding::text::count;
use landfall_native::{ANY_CALL, InputAsked, InputKind, InputValue, InputsAsked};
use std::collections::VecDeque;
use std::sync::Arc;

/// Combinations that are searched.
const MOST: usize = 1000;
/// Calls of one combination that are told values of their own: as many as a job has room for.
const MOST_CALLS: usize = 512;

/// What some calls are told.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputValues(Vec<(InputAsked, u64)>);

impl InputValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For jobs; the other calls are told the first of all values.
    pub(crate) fn told(&self, values: &[i64]) -> Arc<Vec<InputValue>> {
        let first = values.first().copied().unwrap_or(0);
        let rest = InputValue {
            call: ANY_CALL,
            value: first as u64,
            ..InputValue::default()
        };
        let told = self.0.iter().map(|&(asked, value)| InputValue {
            call: asked.call,
            thread: asked.thread,
            failures: asked.failures.into(),
            value,
        });
        let rest = (first != 0).then_some(rest);
        Arc::new(told.chain(rest).collect())
    }

    /// Waits that end for no reason.
    fn for_no_reason(&self) -> usize {
        let ends = |(asked, value): &&(InputAsked, u64)| asked.kind.is_wait() && *value == 1;
        self.0.iter().filter(ends).count()
    }

    /// A line for each call that was not told the first value.
    pub(crate) fn describe(&self, names: &ProgramNames) -> Vec<String> {
        let line = |&(asked, value): &(InputAsked, u64)| {
            let place = names.origin(asked.origin)?;
            if asked.kind.is_wait() {
                let wakes = format!(
                    "the wait at {} ends for no reason: a spurious wake-up, which every such wait may have",
                    place.colons()
                );
                return (value == 1).then_some(wakes);
            }
            if asked.kind == InputKind::Child {
                let later = format!(
                    "the wait at {} takes a child that was forked later, which ended first",
                    place.colons()
                );
                return (value == 1).then_some(later);
            }
            let value = shown(asked.kind, value);
            Some(format!(
                "the value asked for at {} is {value}",
                place.colons()
            ))
        };
        self.0.iter().filter_map(line).collect()
    }
}

/// Combinations of values, one after the other.
#[derive(Debug)]
pub(crate) struct InputSearch {
    values: Vec<i64>,
    /// So many waits of one execution may end for no reason.
    spurious: u32,
    todo: VecDeque<InputValues>,
    given: usize,
    /// Kinds of values that were asked for.
    kinds: Vec<InputKind>,
    /// Something was left out: values, and waits.
    left_out: bool,
    waits_left_out: bool,
}

impl InputSearch {
    pub(crate) fn new(values: &[i64], spurious: u32) -> InputSearch {
        InputSearch {
            values: values.to_vec(),
            spurious,
            todo: VecDeque::from([InputValues::default()]),
            given: 0,
            kinds: Vec::new(),
            left_out: false,
            waits_left_out: false,
        }
    }

    /// The next combination.
    pub(crate) fn next(&mut self) -> Option<InputValues> {
        if self.given == MOST && self.is_open() {
            let waits = |values: &InputValues| {
                values
                    .0
                    .last()
                    .is_some_and(|(asked, _)| asked.kind.is_wait())
            };
            self.waits_left_out |= self.todo.iter().any(waits);
            self.left_out |= !self.todo.iter().all(waits);
            return None;
        }
        self.given += 1;
        self.todo.pop_front()
    }

    /// Is any combination left?
    pub(crate) fn is_open(&self) -> bool {
        !self.todo.is_empty()
    }

    /// In a search with these values, others were asked for.
    pub(crate) fn asked(&mut self, told: &InputValues, asked: InputsAsked) {
        self.left_out |= asked.more;
        self.waits_left_out |= asked.more_waits && self.spurious > 0;
        let spent = told.for_no_reason() >= self.spurious as usize;
        let waits = |call: &&InputAsked| call.kind.is_wait();
        let calls: Vec<InputAsked> = match spent {
            true => asked
                .calls
                .iter()
                .filter(|call| !waits(call))
                .copied()
                .collect(),
            false => asked.calls,
        };
        for (at, &call) in calls.iter().enumerate() {
            if !self.kinds.contains(&call.kind) {
                self.kinds.push(call.kind);
            }
            if told.0.len() + at >= MOST_CALLS || self.todo.len() > MOST {
                let left = match call.kind.is_wait() {
                    true => &mut self.waits_left_out,
                    false => &mut self.left_out,
                };
                *left = true;
                return;
            }
            let before = calls[..at]
                .iter()
                .map(|&call| (call, choices(call.kind, &self.values)[0]));
            for &value in &choices(call.kind, &self.values)[1..] {
                let mut values = told.clone();
                values.0.extend(before.clone());
                values.0.push((call, value));
                self.todo.push_back(values);
            }
        }
    }

    /// Were there values that were not tried?
    pub(crate) fn is_partial(&self) -> bool {
        let partial = |&kind: &InputKind| {
            let tried = choices(kind, &self.values).len() as u128;
            is_fraction(kind) || tried < 1 << kind.bits()
        };
        self.left_out || self.kinds.iter().any(partial)
    }

    /// Were there waits that were not tried?
    pub(crate) fn left_waits_out(&self) -> bool {
        self.waits_left_out
    }

    /// What was tried, for people.
    pub(crate) fn explain(&self, values: &[i64]) -> String {
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        let tried = count(self.given.min(MOST) as u64, "combination", "combinations");
        let left = match self.left_out {
            true => format!(", and of their combinations the first {tried}"),
            false => format!(", in {tried}"),
        };
        format!(
            "the program asks for any value, and was told only {}{left}: name others with --nondet, or use `landfall prove`",
            values.join(", ")
        )
    }
}

fn is_fraction(kind: InputKind) -> bool {
    matches!(kind, InputKind::F32 | InputKind::F64)
}

/// What calls of this kind are told, the first by default.
fn choices(kind: InputKind, values: &[i64]) -> Vec<u64> {
    let all: Vec<u64> = match kind {
        InputKind::Wake | InputKind::WakeLooked | InputKind::WakeTrusted | InputKind::Child => {
            vec![0, 1]
        }
        InputKind::Bool => {
            let first = values.first().copied().unwrap_or(0) & 1;
            vec![first as u64, 1 - first as u64]
        }
        InputKind::F32 | InputKind::F64 => values.iter().map(|&value| value as u64).collect(),
        kind => {
            let mask = u64::MAX >> (64 - kind.bits());
            values.iter().map(|&value| value as u64 & mask).collect()
        }
    };
    let mut different: Vec<u64> = Vec::new();
    for value in all {
        if !different.contains(&value) {
            different.push(value);
        }
    }
    different
}

/// As the program reads it.
fn shown(kind: InputKind, value: u64) -> String {
    match kind {
        InputKind::I8 => (value as i8).to_string(),
        InputKind::I16 => (value as i16).to_string(),
        InputKind::I32 => (value as i32).to_string(),
        InputKind::I64 | InputKind::F32 | InputKind::F64 => (value as i64).to_string(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use landfall_native::Origin;
    use std::collections::BTreeSet;

    fn call(thread: u16, call: u32, kind: InputKind) -> InputAsked {
        InputAsked {
            failures: 0,
            thread,
            call,
            kind,
            origin: Origin { site: 0, caller: 0 },
        }
    }

    /// A program that asks again only where the first value is 1.
    #[test]
    fn every_combination_once() {
        let mut search = InputSearch::new(&[0, 1, 2], 1);
        let mut seen = BTreeSet::new();
        while let Some(values) = search.next() {
            let told = |number: u32| {
                let mut of = values.0.iter().filter(|(asked, _)| asked.call == number);
                of.next().map(|&(_, value)| value)
            };
            let (first, second) = (told(0).unwrap_or(0), told(1).unwrap_or(0));
            let behaviour = (first, (first == 1).then_some(second));
            assert!(seen.insert(behaviour), "{behaviour:?} twice");
            let mut calls = Vec::new();
            if told(0).is_none() {
                calls.push(call(0, 0, InputKind::I32));
            }
            if first == 1 && told(1).is_none() {
                calls.push(call(0, 1, InputKind::I32));
            }
            search.asked(
                &values,
                InputsAsked {
                    calls,
                    ..InputsAsked::default()
                },
            );
        }
        let expected = [
            (0, None),
            (1, Some(0)),
            (1, Some(1)),
            (1, Some(2)),
            (2, None),
        ];
        assert_eq!(seen, BTreeSet::from(expected));
        assert!(search.is_partial());
    }

    #[test]
    fn both_values_of_a_truth_are_all() {
        let mut search = InputSearch::new(&[5], 1);
        let values = search.next().expect("the first combination");
        let calls = vec![call(0, 0, InputKind::Bool), call(1, 0, InputKind::Bool)];
        search.asked(
            &values,
            InputsAsked {
                calls,
                ..InputsAsked::default()
            },
        );
        let mut count = 1;
        while search.next().is_some() {
            count += 1;
        }
        assert_eq!((count, search.is_partial()), (3, false));
    }

    /// Three waits, of which so many may end for no reason.
    #[test]
    fn waits_are_told_apart_as_far_as_they_may() {
        let tried = |spurious| {
            let mut search = InputSearch::new(&[0], spurious);
            let mut seen = BTreeSet::new();
            while let Some(values) = search.next() {
                let told = |number: u32| values.0.iter().find(|(asked, _)| asked.call == number);
                let ends: Vec<u32> = (0..3)
                    .filter(|&number| told(number).is_some_and(|&(_, value)| value == 1))
                    .collect();
                assert!(seen.insert(ends.clone()), "{ends:?} twice");
                let calls = (0..3).filter(|&number| told(number).is_none());
                let calls = calls
                    .map(|number| call(0, number, InputKind::Wake))
                    .collect();
                search.asked(
                    &values,
                    InputsAsked {
                        calls,
                        ..InputsAsked::default()
                    },
                );
            }
            assert!(!search.is_partial() && !search.left_waits_out());
            seen.len()
        };
        assert_eq!([0, 1, 2, 3].map(tried), [1, 4, 7, 8]);
    }

    #[test]
    fn values_are_those_of_the_kind() {
        assert_eq!(choices(InputKind::U8, &[0, 256, -1]), [0, 255]);
        assert_eq!(choices(InputKind::I32, &[0, 1, -1]), [0, 1, 0xffff_ffff]);
        assert_eq!(shown(InputKind::I32, 0xffff_ffff), "-1");
        assert_eq!(shown(InputKind::U8, 255), "255");
    }
}
