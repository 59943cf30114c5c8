//! Where the program asked for any value (`lf_nondet`), of all servers of one program: each tells when it is gone.

use landfall_vocab::record::Origin;
use landfall_vocab::shared::InputKind;
use std::sync::{Arc, Mutex, PoisonError};

/// A call that asked for any value and was not told one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputAsked {
    /// After so many power failures, that thread's call with this number, from 0 on.
    pub failures: u8,
    pub thread: u8,
    pub call: u32,
    pub kind: InputKind,
    pub origin: Origin,
}

impl InputAsked {
    /// Which call it is.
    pub fn key(&self) -> (u8, u8, u32) {
        (self.failures, self.thread, self.call)
    }

    /// What was told of it, the same from each server.
    fn fact(&self) -> ((u8, u8, u32), InputKind) {
        (self.key(), self.kind)
    }
}

/// Calls that asked for any value, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputsAsked {
    pub calls: Vec<InputAsked>,
    /// There were more than are told apart: that asked for values, and waits.
    pub more: bool,
    pub more_waits: bool,
}

impl InputsAsked {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty() && !self.more && !self.more_waits
    }
}

/// What the servers of a program have told.
#[derive(Clone, Debug, Default)]
pub struct InputsTold(Arc<Mutex<InputsAsked>>);

impl InputsTold {
    pub(crate) fn add(&self, asked: InputsAsked) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for call in asked.calls {
            if !told.calls.iter().any(|known| known.fact() == call.fact()) {
                told.calls.push(call);
            }
        }
        told.more |= asked.more;
        told.more_waits |= asked.more_waits;
    }

    /// All that was told since the last time, in the order of the calls. Of waits, those after which somebody went on without
    /// looking again, and those that never ended.
    pub fn take(&self) -> InputsAsked {
        let told = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = std::mem::take(told);
        let facts: Vec<_> = all.calls.iter().map(InputAsked::fact).collect();
        let known = |call: &InputAsked, kind| facts.contains(&(call.key(), kind));
        all.calls.retain(|call| match call.kind {
            InputKind::WakeLooked | InputKind::WakeTrusted => false,
            InputKind::Wake => {
                known(call, InputKind::WakeTrusted) || !known(call, InputKind::WakeLooked)
            }
            _ => true,
        });
        all.calls.sort_by_key(InputAsked::key);
        all
    }
}
