//! When to stop: at a moment, or when the user says so. Whoever works for long asks every now and then.

use crate::interrupt::{Moment, interrupts, since_first};
use landfall_finding::Limit;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline {
    at: Option<Instant>,
    /// Time left after the first Ctrl-C, or after it was cancelled. After the second Ctrl-C there is none.
    grace: Duration,
    /// Somebody else may say so, too.
    cancelled: Option<&'static Moment>,
    /// In tests: how often one may ask before it is reached.
    questions: Option<&'static AtomicU64>,
}

impl Deadline {
    /// At a moment, if there is one, or with the first Ctrl-C.
    pub fn new(at: Option<Instant>) -> Deadline {
        Deadline {
            at,
            ..Deadline::default()
        }
    }

    /// Reached when it was asked for so often: the same work on every machine.
    pub fn after(questions: u64) -> Deadline {
        Deadline {
            questions: Some(Box::leak(Box::new(AtomicU64::new(questions)))),
            ..Deadline::default()
        }
    }

    /// Reached as well when that moment comes.
    pub fn or_when(self, cancelled: &'static Moment) -> Deadline {
        Deadline {
            cancelled: Some(cancelled),
            ..self
        }
    }

    /// For what is still to be done when this one is reached: so much later.
    pub fn later(self, by: Duration) -> Deadline {
        Deadline {
            at: self.at.map(|at| at + by),
            grace: by,
            questions: None,
            ..self
        }
    }

    /// Why to stop now, if there is a reason.
    pub fn reached(self) -> Option<Limit> {
        match interrupts() {
            0 => {}
            1 if since_first() < self.grace => {}
            _ => return Some(Limit::Interrupt),
        }
        let cancelled = self.cancelled.and_then(Moment::ago);
        if cancelled.is_some_and(|ago| ago >= self.grace) {
            return Some(Limit::Interrupt);
        }
        if let Some(questions) = self.questions
            && questions
                .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
                .is_err()
        {
            return Some(Limit::Time);
        }
        (self.at.is_some_and(|at| Instant::now() >= at)).then_some(Limit::Time)
    }
}

/// Asks a deadline once in so many steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    deadline: Deadline,
    count: u32,
}

impl Steps {
    const EVERY: u32 = 1 << 16;

    pub(crate) fn new(deadline: Deadline) -> Steps {
        Steps { deadline, count: 0 }
    }

    /// Is it time to stop?
    #[inline(always)]
    pub(crate) fn stop(&mut self) -> bool {
        self.count += 1;
        self.count.is_multiple_of(Steps::EVERY) && self.deadline.reached().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cancels_leaves_time_to_tell() {
        static CANCELLED: Moment = Moment::new();
        let search = Deadline::default().or_when(&CANCELLED);
        let telling = search.later(Duration::from_secs(1 << 30));
        let at_once = search.later(Duration::ZERO);
        assert_eq!((search.reached(), telling.reached()), (None, None));
        CANCELLED.come();
        let limit = Some(Limit::Interrupt);
        assert_eq!((search.reached(), at_once.reached()), (limit, limit));
        assert_eq!(telling.reached(), None);
    }

    #[test]
    fn questions_are_counted() {
        let deadline = Deadline::after(2);
        let answers = [(); 4].map(|()| deadline.reached());
        assert_eq!(answers, [None, None, Some(Limit::Time), Some(Limit::Time)]);
        assert_eq!(Deadline::default().reached(), None);
    }
}
