//! A beginning that all schedules share, that is durable before anything else is done, and that all else happens after. What a power
//! failure inside of it leaves is looked at with the first schedule; with those that come later, only what follows it: searched
//! ([`super::power`]) and judged ([`landfall_check::beginning`]).
//!
//! A power failure leaves what a set of transitions that is closed under happens-before did. Either the set is part of the beginning, and
//! the first schedule has shown all that this leaves; or something that came later is in it, and with that the whole beginning,
//! all of it durable.

use super::crash::Since;
use super::explored::Explored;
use super::judged::{Names, execution_after};
use super::power::Traced;
use super::step::{Process, Step};
use landfall_check::{DurableBeginning, Execution, Reached};
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use std::rc::Rc;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) enum Begun {
    #[default]
    Unknown,
    /// Schedules are looked at whole.
    Nothing,
    Durable(Rc<DurableSteps>),
}

#[derive(Debug)]
pub(super) struct DurableSteps {
    pub(super) since: Since,
    pub(super) before: Rc<DurableBeginning>,
    steps: Vec<Step>,
    /// What memory holds then, and which lines are not what they were at first; ascending.
    pub(super) base: Image,
    pub(super) changed: Vec<(Line, LineBytes)>,
}

impl Begun {
    /// Of the first schedule, which began on `base` and passed through these points.
    pub(super) fn of(
        first: &Execution,
        points: &[Reached],
        base: &Image,
        traced: &Traced,
        explored: &dyn Explored,
    ) -> Begun {
        let Some(before) = DurableBeginning::of(first, points, base) else {
            return Begun::Nothing;
        };
        let steps = &explored.trace().steps;
        let until = before.reached.steps;
        if !traced.crashes.keeps(steps, until) || !same_versions(&before, traced, until) {
            return Begun::Nothing;
        }
        let mut ticks: Vec<(Process, u32)> = Vec::new();
        for step in &steps[..until] {
            match ticks.iter_mut().find(|(of, _)| *of == step.process) {
                Some((_, tick)) => *tick = step.tick.max(*tick),
                None => ticks.push((step.process, step.tick)),
            }
        }
        let mut after = base.clone();
        let mut changed = Vec::new();
        for (line, _) in before.lines() {
            let bytes = before.bytes(line).copied();
            let bytes = bytes.unwrap_or_else(|| base.line(line));
            after.set_line(line, bytes);
            if bytes != base.line(line) {
                changed.push((line, bytes));
            }
        }
        changed.sort_unstable();
        Begun::Durable(Rc::new(DurableSteps {
            since: Since {
                steps: until,
                write_backs: before.reached.write_backs,
                ticks,
            },
            steps: steps[..until].to_vec(),
            before: Rc::new(before),
            base: after,
            changed,
        }))
    }

    /// If a schedule begins so, what it begins with.
    pub(super) fn of_schedule(&self, explored: &dyn Explored) -> Option<Rc<DurableSteps>> {
        match self {
            Begun::Durable(begun) if begun.begins(explored) => Some(begun.clone()),
            _ => None,
        }
    }
}

impl DurableSteps {
    fn begins(&self, explored: &dyn Explored) -> bool {
        let trace = explored.trace();
        let until = self.steps.len();
        let begins_so = match explored.shared() {
            Some(shared) => shared >= until,
            None => trace.steps.starts_with(&self.steps),
        };
        let backs = trace.write_backs.get(self.since.write_backs..);
        let (true, Some(backs), Some(last)) = (begins_so, backs, self.steps.last()) else {
            return false;
        };
        let after = |at: usize| {
            let clock = explored.clock(at);
            let known = |&(of, tick): &(Process, u32)| clock[usize::from(of)] >= tick;
            let step = &trace.steps[at];
            // What is durable by decree shows a recovery nothing of what came before.
            self.since.ticks.iter().all(known) && !(step.at_once && step.persistent)
        };
        (until..trace.steps.len()).all(after)
            && !backs
                .iter()
                .any(|back| back.thread == 0 && back.issued < last.tick)
    }

    /// What follows it in a schedule that begins so.
    pub(super) fn rest(
        &self,
        explored: &dyn Explored,
        number: u32,
        names: &mut impl Names,
    ) -> Execution {
        let (trace, order) = (explored.trace(), explored.order());
        execution_after(&self.before, trace, order, number, names)
    }

    /// How many versions of a line it made.
    pub(super) fn versions(&self, line: Line) -> u32 {
        self.before.versions(line)
    }
}

/// Do both count the same stores?
fn same_versions(before: &DurableBeginning, traced: &Traced, until: usize) -> bool {
    before.lines().all(|(line, versions)| {
        let stores = traced
            .number(line)
            .map(|number| traced.crashes.stores(number));
        let stores = stores.unwrap_or_default().iter();
        stores.filter(|&&store| (store as usize) < until).count() == versions as usize
    })
}
