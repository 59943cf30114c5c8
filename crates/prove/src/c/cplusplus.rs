//! What C++ programs call in their library: threads, conditions, static variables, exceptions. The rest of it is in headers, and so in
//! the program.

use super::knowledge::CallContext;
use super::library::LibraryAnswer;
use super::machine::{CMachine, CState, CValue, Go, Stop};
use super::threads::ThreadBody;
use crate::term::Term;

/// Functions of a `std::thread`'s state, by their place in its table: what deletes it, and what it runs.
const DELETE: u64 = 8;
const RUN: u64 = 16;

/// Begun, and done: what a static variable's word is.
const BEGUN: u64 = 1;
const DONE: u64 = 2;

/// Does it make an exception of the standard library, or take one away?
fn is_exception(name: &str) -> bool {
    let made = ["C1E", "C2E", "D1Ev", "D2Ev"]
        .iter()
        .any(|end| name.contains(end));
    made && name.starts_with("_ZNSt") && (name.contains("_error") || name.contains("exception"))
}

impl CMachine<'_> {
    pub(super) fn standard_call(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
        here: CallContext,
    ) -> Go<LibraryAnswer> {
        match name {
            "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE" =>
            {
                self.start_thread(state, values, here)?;
            }
            "_ZNSt6thread4joinEv" => {
                let this = self.number(values, 0)?;
                let handle = self.load(state, this, 8)?;
                let nowhere = self.program.terms.constant(64, 0);
                self.join(state, handle, nowhere)?;
                self.store(state, this, nowhere, super::access::AccessWay::Cached)?;
            }
            "_ZNSt6thread6detachEv" => {
                let this = self.number(values, 0)?;
                let nobody = self.program.terms.constant(64, 0);
                self.store(state, this, nobody, super::access::AccessWay::Cached)?;
            }
            "_ZNSt6thread20hardware_concurrencyEv" => return self.gives(32, 2),
            "_ZNSt18condition_variableC1Ev" => {
                return self.thread_call(state, "pthread_cond_init", values, here);
            }
            "_ZNSt18condition_variable10notify_oneEv" => {
                return self.thread_call(state, "pthread_cond_signal", values, here);
            }
            "_ZNSt18condition_variable10notify_allEv" => {
                return self.thread_call(state, "pthread_cond_broadcast", values, here);
            }
            "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE" => {
                // The lock begins with a pointer to its mutex.
                let (condition, lock) = (self.number(values, 0)?, self.number(values, 1)?);
                let mutex = self.load(state, lock, 8)?;
                let values = [CValue::Int(condition), CValue::Int(mutex)];
                return self.thread_call(state, "pthread_cond_wait", &values, here);
            }
            _ if name.starts_with("_ZNSaI")
                && (name.ends_with("C1Ev")
                    || name.ends_with("C2Ev")
                    || name.ends_with("D1Ev")
                    || name.ends_with("D2Ev")) => {}
            // Of exceptions, which are thrown next.
            _ if is_exception(name) => {}
            // Nothing of theirs is left to be done.
            "_ZNSt18condition_variableD1Ev"
            | "_ZNSt6thread6_StateD2Ev"
            | "_ZNSt8ios_base4InitC1Ev"
            | "_ZNSt8ios_base4InitD1Ev" => {}
            "__cxa_atexit" => {
                self.assumes("what runs when `main` has returned (`atexit`, destructors of static variables) does nothing that matters");
                return self.gives(32, 0);
            }
            "__cxa_guard_acquire" => return self.guard(state, values),
            "__cxa_guard_release" => {
                let guard = self.number(values, 0)?;
                let done = self.program.terms.constant(8, 1);
                self.store(state, guard, done, super::access::AccessWay::Cached)?;
                let at = self.sync_object(state, guard)?;
                self.put(state, at, DONE)?;
            }
            "__cxa_throw" | "__cxa_rethrow" => return self.throws(state),
            _ if name.starts_with("_ZSt") && name.contains("__throw_") => {
                return self.throws(state);
            }
            "__cxa_allocate_exception" => {
                let size = self.length(values, 0, "the size of an exception")?;
                let kind = super::knowledge::ObjectKind::Heap;
                let at = self.knowledge.create(here, (size, 16), "exception", kind);
                return self.gives(64, at);
            }
            _ => return Ok(LibraryAnswer::Unknown),
        }
        Ok(LibraryAnswer::Done)
    }

    /// Who catches it is not looked at: what lies behind is beyond what is proved.
    fn throws(&mut self, state: &CState) -> Go<LibraryAnswer> {
        self.bound(state)?;
        Err(Stop::Ended)
    }

    /// `this`, and a pointer that owns what is to be run.
    fn start_thread(&mut self, state: &mut CState, values: &[CValue], here: CallContext) -> Go<()> {
        let (this, owner) = (self.number(values, 0)?, self.number(values, 1)?);
        let task = self.load(state, owner, 8)?;
        let nothing = self.program.terms.constant(64, 0);
        self.store(state, owner, nothing, super::access::AccessWay::Cached)?;
        let table = self.load(state, task, 8)?;
        let table = self.table(state, table)?;
        let body = ThreadBody {
            function: self.entry(state, table, RUN)?,
            argument: Some(CValue::Int(task)),
            afterwards: Some(self.entry(state, table, DELETE)?),
        };
        self.create(state, this, body, here)
    }

    /// The table of a class that is known here. Constructors and destructors of what it is derived from leave others there, before and after.
    fn table(&mut self, state: &mut CState, table: Term) -> Go<Term> {
        let Some(known) = self.domain(table) else {
            return self.refuse("which function the thread runs is not known here");
        };
        let mut defined = Vec::new();
        for &value in &known.values {
            let of = self.program.terms.constant(64, value);
            if self.knowledge.object(value, RUN + 8).is_none() {
                continue;
            }
            let run = self.entry(state, of, RUN)?;
            if self.function(run).is_some() {
                defined.push(of);
            }
        }
        let [one] = defined[..] else {
            return self.refuse("which function the thread runs is not known here");
        };
        let is = self.program.terms.eq(table, one);
        let another = self.program.terms.not(is);
        let mut beyond = state.clone();
        if self.assume(&mut beyond, another).is_ok() {
            self.bound(&beyond)?;
        }
        self.assume(state, is)?;
        Ok(one)
    }

    fn entry(&mut self, state: &mut CState, table: Term, offset: u64) -> Go<Term> {
        let offset = self.program.terms.constant(64, offset);
        let at = self.program.terms.add(table, offset);
        self.load(state, at, 8)
    }

    /// Whoever comes first makes the variable, and others wait until it is there.
    fn guard(&mut self, state: &mut CState, values: &[CValue]) -> Go<LibraryAnswer> {
        let guard = self.number(values, 0)?;
        let at = self.sync_object(state, guard)?;
        let taken = self.attempt(state, at, &|terms, old| {
            let zero = terms.constant(64, 0);
            (terms.eq(old, zero), terms.constant(64, BEGUN))
        })?;
        let not = self.program.terms.not(taken);
        let mut first = state.clone();
        let mut ways: Vec<CState> = Vec::new();
        if self.assume(&mut first, taken).is_ok() {
            ways.push(first);
        }
        if self.assume(state, not).is_ok() {
            let made = self.wait_until(state, at, &|terms, old| {
                let done = terms.constant(64, DONE);
                (terms.eq(old, done), old)
            });
            match made {
                Ok(()) => ways.push(state.clone()),
                Err(Stop::Ended) => {}
                refused => refused?,
            }
        }
        let met = ways.into_iter().reduce(|a, b| self.meet(a, b));
        *state = met.ok_or(Stop::Ended)?;
        let taken = self.program.terms.zext(taken, 32);
        self.answers(taken)
    }
}
