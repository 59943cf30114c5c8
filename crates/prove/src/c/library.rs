//! Functions that programs call and do not define: Landfall's own, libc's, libpmem's, the compiler's.

use super::access::AccessWay;
use super::knowledge::{CallContext, HEADER, Knowledge, ObjectKind};
use super::machine::{CMachine, CPhase, CState, CValue, Go, Stop};
use crate::program::{FlushKind, ProofEventKind};
use crate::term::Term;
use landfall_ir::Type;

/// Calls without effect on anything that is looked at; those with a result return zero.
const WITHOUT_EFFECT: [&str; 26] = [
    "printf",
    "puts",
    "putchar",
    "fprintf",
    "fputs",
    "fputc",
    "fflush",
    "perror",
    "setbuf",
    "setvbuf",
    "sched_yield",
    "pthread_yield",
    "usleep",
    "sleep",
    "nanosleep",
    "lf_yield",
    "lf_preempt",
    "lf_lock",
    "lf_unlock",
    "lf_alloc_mark",
    "lf_free_mark",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_mutexattr_init",
    "pthread_mutexattr_destroy",
    "atexit",
];

const WITHOUT_EFFECT_PREFIX: [&str; 9] = [
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.x86.sse2.pause",
    "llvm.x86.sse2.lfence",
    "llvm.experimental.noalias",
    "llvm.stacksave",
    "llvm.stackrestore",
    "llvm.prefetch",
];

impl<'m> CMachine<'m> {
    pub(super) fn call(
        &mut self,
        state: &mut CState,
        name: &str,
        values: Vec<CValue>,
        returns: &Type,
        here: CallContext,
    ) -> Go<Option<CValue>> {
        self.answer = None;
        if self
            .verifier_call(state, name, &values, returns)?
            .is_some_result()
        {
            return self.taken();
        }
        if self.builtin(state, name, &values, here)?.is_some_result() {
            return self.taken();
        }
        if self.is_block(name) && self.module.function(name).is_some() {
            self.begin_block(state)?;
        }
        if let Some(function) = self.module.function(name) {
            let below = self.allocas.len();
            let before = state.clone();
            let place = self.here;
            let after = self.run(function, values, before, here)?;
            self.here = place;
            let gone = self.allocas.split_off(below);
            let Some((mut after, value)) = after else {
                if self.is_block(name) {
                    self.end_block(state)?;
                }
                return Err(Stop::Ended);
            };
            self.leave(&mut after, &gone)?;
            self.forget(&mut after, &gone);
            *state = after;
            if self.is_block(name) {
                self.end_block(state)?;
            }
            return Ok(value);
        }
        let known = WITHOUT_EFFECT.contains(&name)
            || WITHOUT_EFFECT_PREFIX.iter().any(|p| name.starts_with(p));
        if known {
            if !name.starts_with("llvm.") {
                self.assumes(&format!("`{name}` does nothing that matters"));
            }
            return Ok(match returns {
                Type::Void => None,
                of => {
                    let width = self.width_of(of)?;
                    Some(CValue::Int(self.program.terms.constant(width, 0)))
                }
            });
        }
        self.refuse(format!(
            "`{name}` is called, which is not among the sources and not modelled"
        ))
    }

    pub(super) fn assumes(&mut self, what: &str) {
        if !self.program.assumptions.contains(what) {
            self.program.assumptions.insert(what.to_owned());
        }
    }

    fn assumes_of_the_heap(&mut self) {
        self.assumes("`malloc` does not fail, and gives no block out twice");
    }

    /// The process ends: a code other than 0 says that something failed.
    pub(super) fn leaves_with(&mut self, state: &CState, code: Term) -> Go<()> {
        if self.bounds.sv_comp {
            return Ok(());
        }
        let zero = self
            .program
            .terms
            .constant(self.program.terms.width(code), 0);
        let holds = self.program.terms.eq(code, zero);
        self.check(state, holds, "exit with a code that is not 0")
    }

    /// Locals of functions that returned.
    fn forget(&mut self, state: &mut CState, objects: &[u64]) {
        if objects.is_empty() {
            return;
        }
        let memory = std::rc::Rc::make_mut(&mut state.memory);
        for &base in objects {
            let size = self.knowledge.objects.get(&base).map_or(0, |o| o.size);
            let cells: Vec<u64> = memory.range(base..base + size).map(|(&c, _)| c).collect();
            for cell in cells {
                memory.remove(&cell);
            }
        }
    }

    pub(super) fn number(&self, values: &[CValue], at: usize) -> Go<Term> {
        match values.get(at) {
            Some(CValue::Int(term)) => Ok(*term),
            _ => self.refuse("a call with fewer arguments than it needs"),
        }
    }

    pub(super) fn length(&self, values: &[CValue], at: usize, what: &str) -> Go<u64> {
        let term = self.number(values, at)?;
        match self.program.terms.constant_of(term) {
            Some(length) if length < 1 << 30 => Ok(length),
            Some(_) => self.refuse(format!("{what} is too large")),
            None => self.refuse(format!(
                "{what} is not a constant here: sizes that depend on an input, or on what was read, are not modelled"
            )),
        }
    }

    fn variable_named(&self, values: &[CValue]) -> Go<u64> {
        let term = self.number(values, 0)?;
        match self.program.terms.constant_of(term) {
            Some(at) => Ok(at),
            None => self.refuse("which variable of its thread it is depends on what was read"),
        }
    }

    pub(super) fn gives(&mut self, width: u8, value: u64) -> Go<LibraryAnswer> {
        let term = self.program.terms.constant(width, value);
        self.answers(term)
    }

    pub(super) fn answers(&mut self, term: Term) -> Go<LibraryAnswer> {
        self.answer = Some(CValue::Int(term));
        Ok(LibraryAnswer::Done)
    }

    fn taken(&mut self) -> Go<Option<CValue>> {
        Ok(self.answer.take())
    }

    fn builtin(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
        here: CallContext,
    ) -> Go<LibraryAnswer> {
        self.answer = None;
        let persist = |this: &mut Self, state: &mut CState| -> Go<()> {
            let (p, n) = (
                this.number(values, 0)?,
                this.length(values, 1, "the length")?,
            );
            this.flush(state, p, n, FlushKind::Clwb)
        };
        match name {
            "lf_pm" => {
                let size = self.length(values, 0, "the size of persistent memory")?;
                let at = self.knowledge.region(size);
                return self.gives(64, at);
            }
            "lf_failures" => {
                self.asked = true;
                return self.gives(32, u64::from(self.phase == CPhase::After));
            }
            "lf_flush" | "pmem_flush" | "pmem_deep_flush" => persist(self, state)?,
            "lf_fence" | "pmem_drain" | "llvm.x86.sse.sfence" => {
                self.fence(state, ProofEventKind::Sfence)?;
            }
            "pmem_deep_drain" => {
                self.fence(state, ProofEventKind::Sfence)?;
                return self.gives(32, 0);
            }
            "lf_persist" | "pmem_persist" => {
                persist(self, state)?;
                self.fence(state, ProofEventKind::Sfence)?;
            }
            "pmem_msync" | "pmem_deep_persist" => {
                persist(self, state)?;
                self.fence(state, ProofEventKind::Sfence)?;
                return self.gives(32, 0);
            }
            "llvm.x86.sse2.mfence" | "__sync_synchronize" => {
                self.fence(state, ProofEventKind::Mfence)?
            }
            "llvm.x86.sse2.clflush" | "llvm.x86.clflushopt" | "llvm.x86.clwb" => {
                let kind = match name {
                    "llvm.x86.sse2.clflush" => FlushKind::Clflush,
                    "llvm.x86.clflushopt" => FlushKind::Clflushopt,
                    _ => FlushKind::Clwb,
                };
                let p = self.number(values, 0)?;
                self.flush(state, p, 1, kind)?;
            }
            "lf_alloc" => {
                self.assumes("what `lf_alloc` keeps for itself is not read by the recovery");
                let size = self.length(values, 0, "the size of an allocation")?;
                let at = self
                    .knowledge
                    .create(here, (size, 16), "block", ObjectKind::Persistent);
                // Its own words are durable when it returns, and with the header all that is on its line.
                let header = self.program.terms.constant(64, at - HEADER);
                self.flush(state, header, 8, FlushKind::Clwb)?;
                self.fence(state, ProofEventKind::Sfence)?;
                return self.gives(64, at);
            }
            "lf_checksum_begin" | "lf_ignore_begin" => {
                self.unjudged = self.program.recovery.reads.len();
            }
            // What a checksum rejected was not used, and what is ignored is not judged.
            "lf_checksum_end" | "lf_ignore_end" => {
                let used = match name {
                    "lf_checksum_end" => {
                        let accepted = self.number(values, 0)?;
                        let width = self.program.terms.width(accepted);
                        let zero = self.program.terms.constant(width, 0);
                        self.program.terms.ne(accepted, zero)
                    }
                    _ => self.program.terms.truth(false),
                };
                let from = self.unjudged.min(self.program.recovery.reads.len());
                for at in from..self.program.recovery.reads.len() {
                    let guard = self.program.recovery.reads[at].guard;
                    self.program.recovery.reads[at].guard = self.program.terms.and(guard, used);
                }
            }
            "lf_free" => {
                return self.refuse(
                    "`lf_free` is not modelled: a block that is given out again would hold what was in it",
                );
            }
            "lf_root" => {
                let index = self.length(values, 0, "the number of a root")?;
                return self.gives(64, Knowledge::root(index).unwrap_or(0));
            }
            "lf_nondet" => {
                let name = format!("lf_nondet: {}", self.label());
                let term = self.program.add_input(&name, 64);
                return self.answers(term);
            }
            "lf_assume" | "__VERIFIER_assume" => {
                let condition = self.number(values, 0)?;
                let zero = self
                    .program
                    .terms
                    .constant(self.program.terms.width(condition), 0);
                let holds = self.program.terms.ne(condition, zero);
                self.assume(state, holds)?;
            }
            "__assert_fail" | "__assert_rtn" | "__assert" => {
                let never = self.program.terms.truth(false);
                self.check(state, never, "assertion")?;
                return Err(Stop::Ended);
            }
            "abort" | "_ZSt9terminatev" | "llvm.trap" => {
                let never = self.program.terms.truth(false);
                self.check(state, never, "abort")?;
                return Err(Stop::Ended);
            }
            "exit" | "_exit" | "_Exit" | "quick_exit" => {
                let code = self.number(values, 0)?;
                self.leaves_with(state, code)?;
                self.exits.push(state.condition);
                return Err(Stop::Ended);
            }
            "malloc" | "_Znwm" | "_Znam" | "valloc" => {
                self.assumes_of_the_heap();
                let size = self.length(values, 0, "the size of an allocation")?;
                let at = self
                    .knowledge
                    .create(here, (size, 16), "malloc", ObjectKind::Heap);
                return self.gives(64, at);
            }
            "aligned_alloc" | "memalign" => {
                self.assumes_of_the_heap();
                let align = self.length(values, 0, "an alignment")?;
                let size = self.length(values, 1, "the size of an allocation")?;
                let at = self
                    .knowledge
                    .create(here, (size, align), "malloc", ObjectKind::Heap);
                return self.gives(64, at);
            }
            "calloc" => {
                self.assumes_of_the_heap();
                let count = self.length(values, 0, "the size of an allocation")?;
                let size = self.length(values, 1, "the size of an allocation")?;
                let size = count.saturating_mul(size);
                let at = self
                    .knowledge
                    .create(here, (size, 16), "calloc", ObjectKind::Cleared);
                return self.gives(64, at);
            }
            "free" | "cfree" | "_ZdlPv" | "_ZdlPvm" | "_ZdaPv" | "_ZdaPvm" => {
                let pointer = self.number(values, 0)?;
                self.free(state, pointer)?;
            }
            "pmem_is_pmem" => return self.gives(32, 1),
            "memcpy" | "memmove" | "__memcpy_chk" | "__memmove_chk" | "mempcpy" => {
                let (to, from) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                self.copy(state, to, from, size, AccessWay::Cached)?;
                return self.answers(to);
            }
            "memset" | "__memset_chk" => {
                let (to, byte) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                self.fill(state, to, byte, size, AccessWay::Cached)?;
                return self.answers(to);
            }
            "pmem_memcpy_persist"
            | "pmem_memmove_persist"
            | "pmem_memcpy_nodrain"
            | "pmem_memmove_nodrain"
            | "pmem_memset_persist"
            | "pmem_memset_nodrain" => {
                let (to, from) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                // As libpmem does it: past the cache from 256 bytes on.
                let way = match size >= 256 {
                    true => AccessWay::NonTemporal,
                    false => AccessWay::Cached,
                };
                match name.starts_with("pmem_memset") {
                    true => self.fill(state, to, from, size, way)?,
                    false => self.copy(state, to, from, size, way)?,
                }
                if way == AccessWay::Cached {
                    self.flush(state, to, size, FlushKind::Clwb)?;
                }
                if name.ends_with("persist") {
                    self.fence(state, ProofEventKind::Sfence)?;
                }
                return self.answers(to);
            }
            "qsort" => return self.sort(state, values, here),
            "memcmp" | "bcmp" => return self.compare_bytes(state, values),
            "strlen" => return self.text_length(state, values),
            _ if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") => {
                let (to, from) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                self.copy(state, to, from, size, AccessWay::Cached)?;
            }
            _ if name.starts_with("llvm.memset.") => {
                let (to, byte) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                self.fill(state, to, byte, size, AccessWay::Cached)?;
            }
            _ if name.starts_with("pthread_") || name.starts_with("sem_") => {
                return self.thread_call(state, name, values, here);
            }
            _ if name.starts_with("llvm.threadlocal.address") => {
                let of = self.variable_named(values)?;
                let at = self.own_copy(of);
                return self.gives(64, at);
            }
            _ if name.starts_with("llvm.") => return self.intrinsic(name, values),
            _ => return self.standard_call(state, name, values, here),
        }
        Ok(LibraryAnswer::Done)
    }
}

/// Did a built-in function do it?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LibraryAnswer {
    Done,
    Unknown,
}

impl LibraryAnswer {
    fn is_some_result(self) -> bool {
        self == LibraryAnswer::Done
    }
}
