//! What a test expects of its outcomes, and whether it got it.

use crate::program::{LitmusOutcome, Location, Value};
use std::collections::BTreeSet;

/// A statement about one outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Prop {
    True,
    /// Index into the observed places, and the value it must have.
    Eq(usize, Value),
    Not(Box<Prop>),
    And(Vec<Prop>),
    Or(Vec<Prop>),
}

impl Prop {
    pub fn holds(&self, outcome: &[Value]) -> bool {
        match self {
            Prop::True => true,
            Prop::Eq(place, value) => outcome[*place] == *value,
            Prop::Not(p) => !p.holds(outcome),
            Prop::And(ps) => ps.iter().all(|p| p.holds(outcome)),
            Prop::Or(ps) => ps.iter().any(|p| p.holds(outcome)),
        }
    }
}

/// What must hold of the set of all outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Quantifier {
    /// Some outcome satisfies it: `allowed:` and herd's `exists`.
    Exists,
    /// None does: `forbidden:` and `~exists`.
    Never,
    /// All do: `forall`, and the "no others" half of `exactly:`.
    Always,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    pub quantifier: Quantifier,
    pub prop: Prop,
    /// As the file words it, for the table and for messages.
    pub text: String,
}

impl Expectation {
    pub fn holds(&self, outcomes: &BTreeSet<LitmusOutcome>) -> bool {
        match self.quantifier {
            Quantifier::Exists => outcomes.iter().any(|o| self.prop.holds(o)),
            Quantifier::Never => !outcomes.iter().any(|o| self.prop.holds(o)),
            Quantifier::Always => outcomes.iter().all(|o| self.prop.holds(o)),
        }
    }

    /// The outcomes that speak for or against it.
    pub fn witnesses<'a>(
        &'a self,
        outcomes: &'a BTreeSet<LitmusOutcome>,
    ) -> impl Iterator<Item = &'a LitmusOutcome> {
        let wanted = self.quantifier != Quantifier::Always;
        outcomes
            .iter()
            .filter(move |o| self.prop.holds(o) == wanted)
    }
}

/// Places observed more than once collapse: the first index wins.
pub fn place_index(places: &[Location], place: Location) -> Option<usize> {
    places.iter().position(|&p| p == place)
}
