//! A beginning that all schedules share, that is durable before anything else is done, and that all else happens after: judged once
//! ([`landfall_check::beginning`]).

use super::explored::Explored;
use super::judged::{Names, execution_after};
use super::power::{Power, Traced};
use super::step::{Process, Step};
use landfall_check::{DurableBeginning, Execution, Reached};
use std::rc::Rc;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) enum Begun {
    #[default]
    Unknown,
    /// Schedules are judged whole.
    Nothing,
    /// How far each process had come by then, and the steps until then.
    Durable {
        before: Rc<DurableBeginning>,
        ticks: Vec<(Process, u32)>,
        steps: Vec<Step>,
    },
}

impl Begun {
    /// Of the first schedule, which passed through these points.
    pub(super) fn of(
        first: &Execution,
        points: &[Reached],
        power: &Power,
        traced: &Traced,
        explored: &dyn Explored,
    ) -> Begun {
        let Some(before) = DurableBeginning::of(first, points, power.base()) else {
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
        Begun::Durable {
            before: Rc::new(before),
            ticks,
            steps: steps[..until].to_vec(),
        }
    }

    /// What follows it in a schedule that begins so.
    pub(super) fn rest(
        &self,
        explored: &dyn Explored,
        number: u32,
        names: &mut impl Names,
    ) -> Option<Execution> {
        let Begun::Durable {
            before,
            ticks,
            steps,
        } = self
        else {
            return None;
        };
        let trace = explored.trace();
        let until = steps.len();
        let begins_so = match explored.shared() {
            Some(shared) => shared >= until,
            None => trace.steps.starts_with(steps),
        };
        if !begins_so {
            return None;
        }
        let after = |at: usize| {
            let clock = explored.clock(at);
            let known = |&(of, tick): &(Process, u32)| clock[usize::from(of)] >= tick;
            let step = &trace.steps[at];
            // What is durable by decree shows a recovery nothing of what came before.
            ticks.iter().all(known) && !(step.at_once && step.persistent)
        };
        let last = steps.last()?.tick;
        let mut backs = trace.write_backs.get(before.reached.write_backs..)?.iter();
        if !(until..trace.steps.len()).all(after)
            || backs.any(|back| back.thread == 0 && back.issued < last)
        {
            return None;
        }
        Some(execution_after(
            before,
            trace,
            explored.order(),
            number,
            names,
        ))
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
