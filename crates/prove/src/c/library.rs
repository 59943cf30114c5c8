//! Functions that programs call and do not define: Landfall's own, libc's, libpmem's, the compiler's.

use super::access::Way;
use super::knowledge::{Context, Knowledge};
use super::machine::{Go, Machine, Phase, State, Stop, Value};
use crate::program::{FlushKind, Kind};
use crate::term::{Op, Term};
use landfall_ir::Type;

/// Calls without effect on anything that is looked at; those with a result return zero.
const WITHOUT_EFFECT: [&str; 25] = [
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
    "free",
    "sched_yield",
    "pthread_yield",
    "usleep",
    "sleep",
    "nanosleep",
    "lf_yield",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_mutexattr_init",
    "pthread_mutexattr_destroy",
    "_ZdlPv",
    "_ZdlPvm",
    "_ZdaPv",
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

impl<'m> Machine<'m> {
    pub(super) fn call(
        &mut self,
        state: &mut State,
        name: &str,
        values: Vec<Value>,
        returns: &Type,
        here: Context,
    ) -> Go<Option<Value>> {
        if self.builtin(state, name, &values, here)?.is_some_result() {
            return self.taken();
        }
        if let Some(function) = self.module.function(name) {
            let below = self.allocas.len();
            let before = state.clone();
            let place = self.here;
            let after = self.run(function, values, before, here)?;
            self.here = place;
            let gone = self.allocas.split_off(below);
            let Some((mut after, value)) = after else {
                return Err(Stop::Ended);
            };
            self.forget(&mut after, &gone);
            *state = after;
            return Ok(value);
        }
        let known = WITHOUT_EFFECT.contains(&name)
            || WITHOUT_EFFECT_PREFIX.iter().any(|p| name.starts_with(p));
        if known {
            return Ok(match returns {
                Type::Void => None,
                of => {
                    let width = self.width_of(of)?;
                    Some(Value::Int(self.program.terms.constant(width, 0)))
                }
            });
        }
        self.refuse(format!(
            "`{name}` is called, which is not among the sources and not modelled"
        ))
    }

    /// Locals of functions that returned.
    fn forget(&mut self, state: &mut State, objects: &[u64]) {
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

    fn number(&self, values: &[Value], at: usize) -> Go<Term> {
        match values.get(at) {
            Some(Value::Int(term)) => Ok(*term),
            _ => self.refuse("a call with fewer arguments than it needs"),
        }
    }

    fn length(&self, values: &[Value], at: usize, what: &str) -> Go<u64> {
        let term = self.number(values, at)?;
        match self.program.terms.constant_of(term) {
            Some(length) if length < 1 << 30 => Ok(length),
            Some(_) => self.refuse(format!("{what} is too large")),
            None => self.refuse(format!("{what} is not a constant here")),
        }
    }

    fn gives(&mut self, width: u8, value: u64) -> Go<Answer> {
        let term = self.program.terms.constant(width, value);
        self.answers(term)
    }

    fn answers(&mut self, term: Term) -> Go<Answer> {
        self.answer = Some(Value::Int(term));
        Ok(Answer::Done)
    }

    fn taken(&mut self) -> Go<Option<Value>> {
        Ok(self.answer.take())
    }

    fn builtin(
        &mut self,
        state: &mut State,
        name: &str,
        values: &[Value],
        here: Context,
    ) -> Go<Answer> {
        self.answer = None;
        let persist = |this: &mut Self, state: &mut State| -> Go<()> {
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
            "lf_failures" => return self.gives(32, u64::from(self.phase == Phase::After)),
            "lf_flush" | "pmem_flush" | "pmem_deep_flush" => persist(self, state)?,
            "lf_fence" | "pmem_drain" | "llvm.x86.sse.sfence" => {
                self.fence(state, Kind::Sfence)?;
            }
            "pmem_deep_drain" => {
                self.fence(state, Kind::Sfence)?;
                return self.gives(32, 0);
            }
            "lf_persist" | "pmem_persist" => {
                persist(self, state)?;
                self.fence(state, Kind::Sfence)?;
            }
            "pmem_msync" | "pmem_deep_persist" => {
                persist(self, state)?;
                self.fence(state, Kind::Sfence)?;
                return self.gives(32, 0);
            }
            "llvm.x86.sse2.mfence" | "__sync_synchronize" => self.fence(state, Kind::Mfence)?,
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
                let size = self.length(values, 0, "the size of an allocation")?;
                // Its own words are durable when it returns.
                self.fence(state, Kind::Sfence)?;
                let at = self.knowledge.create(here, (size, 16), "block", true);
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
                let zero = self
                    .program
                    .terms
                    .constant(self.program.terms.width(code), 0);
                let holds = self.program.terms.eq(code, zero);
                // After a failure a code other than 0 says that recovery failed.
                if self.phase == Phase::After {
                    self.check(state, holds, "exit with a code that is not 0")?;
                }
                return Err(Stop::Ended);
            }
            "malloc" | "_Znwm" | "_Znam" | "valloc" => {
                let size = self.length(values, 0, "the size of an allocation")?;
                let at = self.knowledge.create(here, (size, 16), "malloc", false);
                return self.gives(64, at);
            }
            "aligned_alloc" | "memalign" => {
                let align = self.length(values, 0, "an alignment")?;
                let size = self.length(values, 1, "the size of an allocation")?;
                let at = self.knowledge.create(here, (size, align), "malloc", false);
                return self.gives(64, at);
            }
            "calloc" => {
                let count = self.length(values, 0, "the size of an allocation")?;
                let size = self.length(values, 1, "the size of an allocation")?;
                let size = count.saturating_mul(size);
                let at = self.knowledge.create(here, (size, 16), "calloc", false);
                return self.gives(64, at);
            }
            "pmem_is_pmem" => return self.gives(32, 1),
            "memcpy" | "memmove" | "__memcpy_chk" | "__memmove_chk" | "mempcpy" => {
                let (to, from) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                self.copy(state, to, from, size, Way::Cached)?;
                return self.answers(to);
            }
            "memset" | "__memset_chk" => {
                let (to, byte) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                self.fill(state, to, byte, size, Way::Cached)?;
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
                    true => Way::NonTemporal,
                    false => Way::Cached,
                };
                match name.starts_with("pmem_memset") {
                    true => self.fill(state, to, from, size, way)?,
                    false => self.copy(state, to, from, size, way)?,
                }
                if way == Way::Cached {
                    self.flush(state, to, size, FlushKind::Clwb)?;
                }
                if name.ends_with("persist") {
                    self.fence(state, Kind::Sfence)?;
                }
                return self.answers(to);
            }
            "memcmp" | "bcmp" => return self.compare_bytes(state, values),
            "strlen" => return self.text_length(state, values),
            _ if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") => {
                let (to, from) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                self.copy(state, to, from, size, Way::Cached)?;
            }
            _ if name.starts_with("llvm.memset.") => {
                let (to, byte) = (self.number(values, 0)?, self.number(values, 1)?);
                let size = self.length(values, 2, "the length")?;
                self.fill(state, to, byte, size, Way::Cached)?;
            }
            _ if name.starts_with("pthread_") => {
                return self.thread_call(state, name, values, here);
            }
            _ if name.starts_with("llvm.") => return self.intrinsic(name, values),
            _ => return Ok(Answer::Unknown),
        }
        Ok(Answer::Done)
    }

    fn intrinsic(&mut self, name: &str, values: &[Value]) -> Go<Answer> {
        let rest = &name["llvm.".len()..];
        let word = rest.split('.').next().unwrap_or_default();
        let terms = |m: &mut Self, op, a, b| m.program.terms.binary(op, a, b);
        match word {
            "expect" => {
                let value = self.number(values, 0)?;
                return self.answers(value);
            }
            "umax" | "umin" | "smax" | "smin" => {
                let (a, b) = (self.number(values, 0)?, self.number(values, 1)?);
                let op = if word.starts_with('u') {
                    Op::Ult
                } else {
                    Op::Slt
                };
                let less = terms(self, op, a, b);
                let chosen = match word.ends_with("max") {
                    true => self.program.terms.choose(less, b, a),
                    false => self.program.terms.choose(less, a, b),
                };
                return self.answers(chosen);
            }
            "abs" => {
                let a = self.number(values, 0)?;
                let zero = self.program.terms.constant(self.program.terms.width(a), 0);
                let below = terms(self, Op::Slt, a, zero);
                let opposite = self.program.terms.negate(a);
                let size = self.program.terms.choose(below, opposite, a);
                return self.answers(size);
            }
            "uadd" | "usub" | "umul" | "sadd" | "ssub" | "smul"
                if rest.contains("with.overflow") =>
            {
                return self.with_overflow(word, values);
            }
            "objectsize" => return self.gives(64, u64::MAX),
            _ => {}
        }
        Ok(Answer::Unknown)
    }

    /// In twice the width, where it fits.
    fn with_overflow(&mut self, word: &str, values: &[Value]) -> Go<Answer> {
        let (a, b) = (self.number(values, 0)?, self.number(values, 1)?);
        let width = self.program.terms.width(a);
        if width > 32 {
            let unsigned = word.starts_with('u');
            let terms = &mut self.program.terms;
            let (result, over) = match (word, unsigned) {
                ("uadd", _) => {
                    let sum = terms.add(a, b);
                    (sum, terms.binary(Op::Ult, sum, a))
                }
                ("usub", _) => {
                    let rest = terms.binary(Op::Sub, a, b);
                    (rest, terms.binary(Op::Ult, a, b))
                }
                _ => return self.refuse("an overflow check of 64 bits is not modelled"),
            };
            self.answer = Some(Value::Many(vec![Value::Int(result), Value::Int(over)]));
            return Ok(Answer::Done);
        }
        let terms = &mut self.program.terms;
        let wide = |terms: &mut crate::term::Terms, t| match word.starts_with('u') {
            true => terms.zext(t, 2 * width),
            false => terms.sext(t, 2 * width),
        };
        let (wa, wb) = (wide(terms, a), wide(terms, b));
        let op = match &word[1..] {
            "add" => Op::Add,
            "sub" => Op::Sub,
            _ => Op::Mul,
        };
        let whole = terms.binary(op, wa, wb);
        let result = terms.extract(whole, 0, width);
        let back = wide(terms, result);
        let over = terms.ne(back, whole);
        self.answer = Some(Value::Many(vec![Value::Int(result), Value::Int(over)]));
        Ok(Answer::Done)
    }

    /// Copies in the pieces in which copies reach memory: words, lowest first.
    pub(super) fn copy(
        &mut self,
        state: &mut State,
        to: Term,
        from: Term,
        size: u64,
        way: Way,
    ) -> Go<()> {
        // What is read first is not changed by what is written (memmove).
        let mut pieces = Vec::new();
        for (offset, length) in self.pieces(state, to, size)? {
            let by = self.program.terms.constant(64, offset);
            let source = self.program.terms.add(from, by);
            pieces.push((by, self.load(state, source, length)?));
        }
        for (by, value) in pieces {
            let target = self.program.terms.add(to, by);
            self.store(state, target, value, way)?;
        }
        Ok(())
    }

    fn fill(&mut self, state: &mut State, to: Term, byte: Term, size: u64, way: Way) -> Go<()> {
        let byte = self.program.terms.extract(byte, 0, 8);
        for (offset, length) in self.pieces(state, to, size)? {
            let value = self.concatenate(&vec![byte; length as usize]);
            let by = self.program.terms.constant(64, offset);
            let target = self.program.terms.add(to, by);
            self.store(state, target, value, way)?;
        }
        Ok(())
    }

    fn pieces(&mut self, state: &mut State, to: Term, size: u64) -> Go<Vec<(u64, u64)>> {
        if size == 0 {
            return Ok(Vec::new());
        }
        let targets = self.targets(state, to, size)?;
        let start = targets[0].1 % 8;
        let alike = targets.iter().all(|(_, address)| address % 8 == start);
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < size {
            let length = match alike {
                true => (8 - (start + at) % 8).min(size - at),
                false => 1,
            };
            pieces.push((at, length));
            at += length;
        }
        Ok(pieces)
    }

    fn compare_bytes(&mut self, state: &mut State, values: &[Value]) -> Go<Answer> {
        let (a, b) = (self.number(values, 0)?, self.number(values, 1)?);
        let size = self.length(values, 2, "the length")?;
        let mut result = self.program.terms.constant(32, 0);
        for at in (0..size).rev() {
            let by = self.program.terms.constant(64, at);
            let (pa, pb) = (self.program.terms.add(a, by), self.program.terms.add(b, by));
            let (x, y) = (self.load(state, pa, 1)?, self.load(state, pb, 1)?);
            let terms = &mut self.program.terms;
            let (same, less) = (terms.eq(x, y), terms.binary(Op::Ult, x, y));
            let (below, above) = (terms.constant(32, u64::MAX), terms.constant(32, 1));
            let differ = terms.choose(less, below, above);
            result = terms.choose(same, result, differ);
        }
        self.answers(result)
    }

    fn text_length(&mut self, state: &mut State, values: &[Value]) -> Go<Answer> {
        let p = self.number(values, 0)?;
        for at in 0..4096 {
            let by = self.program.terms.constant(64, at);
            let place = self.program.terms.add(p, by);
            let letter = self.load(state, place, 1)?;
            match self.program.terms.constant_of(letter) {
                Some(0) => return self.gives(64, at),
                Some(_) => {}
                None => return self.refuse("the length of a text that is not a constant"),
            }
        }
        self.refuse("a text that does not end")
    }

    /// Inline assembly: the spellings of flushes and fences.
    pub(super) fn assembly(
        &mut self,
        state: &mut State,
        text: &str,
        constraints: &str,
        values: &[Value],
    ) -> Go<()> {
        let _ = constraints;
        let words: Vec<String> = text
            .to_ascii_lowercase()
            .split([' ', '\t', '\n', ';', ',', '(', ')'])
            .filter(|w| !w.is_empty() && !w.starts_with('$') && !w.starts_with('%'))
            .map(str::to_owned)
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let flush = match words.as_slice() {
            [] | ["nop"] | ["pause"] | ["rep", "nop"] | ["lfence"] => return Ok(()),
            ["sfence"] => return self.fence(state, Kind::Sfence),
            ["mfence"] => return self.fence(state, Kind::Mfence),
            ["clflush"] => FlushKind::Clflush,
            // With the prefix it is another instruction, for assemblers that do not know it.
            ["clflushopt"] | [".byte", "0x66", "clflush"] => FlushKind::Clflushopt,
            ["clwb"] | [".byte", "0x66", "xsaveopt"] => FlushKind::Clwb,
            _ => {
                return self.refuse(format!("inline assembly `{}` is not modelled", text.trim()));
            }
        };
        let p = self.number(values, 0)?;
        self.flush(state, p, 1, flush)
    }
}

/// Did a built-in function do it?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Done,
    Unknown,
}

impl Answer {
    fn is_some_result(self) -> bool {
        self == Answer::Done
    }
}
