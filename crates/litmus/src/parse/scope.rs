//! The names a test declares while it is read, and the limits they must keep.

use super::ParseError;
use super::cursor::{TextSpot, quote};
use crate::program::{
    Instr, LineId, MAX_INSTRS, MAX_REGS, MAX_THREADS, MAX_VARS, Program, Reg, RegDecl, Thread,
    VARS_PER_LINE, Value, Var, VarDecl,
};

/// When two spellings mean the same register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NamedRegisters {
    /// Any name is a register of its own.
    Named,
    /// `EAX` and `rax` are one register.
    X86,
}

#[derive(Debug)]
pub(crate) struct NameScope {
    pub(crate) program: Program,
    pub(crate) registers: NamedRegisters,
}

impl NameScope {
    pub(crate) fn new(registers: NamedRegisters) -> Self {
        NameScope {
            program: Program::default(),
            registers,
        }
    }

    pub(crate) fn var(&self, name: &str) -> Option<Var> {
        let at = self.program.vars.iter().position(|v| v.name == name)?;
        u8::try_from(at).ok().map(Var)
    }

    pub(crate) fn add_var(
        &mut self,
        name: &str,
        line: usize,
        spot: TextSpot,
    ) -> Result<Var, ParseError> {
        let vars = &mut self.program.vars;
        let index = slot(
            vars.len(),
            MAX_VARS,
            spot,
            "variable",
            "variables in a test",
        )?;
        let neighbours = vars.iter().filter(|v| v.line.0 as usize == line).count();
        slot(
            neighbours,
            VARS_PER_LINE,
            spot,
            "variable",
            "variables of 8 bytes on a line of 64",
        )?;
        vars.push(VarDecl {
            name: name.to_owned(),
            // Every line holds a variable, so there are no more lines than variables.
            line: LineId(line as u8),
            init: 0,
        });
        Ok(Var(index))
    }

    pub(crate) fn add_thread(&mut self, spot: TextSpot) -> Result<usize, ParseError> {
        let threads = &mut self.program.threads;
        let index = slot(
            threads.len(),
            MAX_THREADS,
            spot,
            "thread",
            "threads in a test",
        )?;
        threads.push(Thread::default());
        Ok(index as usize)
    }

    pub(crate) fn reg(&self, thread: usize, name: &str) -> Option<Reg> {
        let regs = &self.program.threads.get(thread)?.regs;
        let at = regs.iter().position(|r| match self.registers {
            NamedRegisters::Named => r.name == name,
            NamedRegisters::X86 => {
                x86_register(name).is_some_and(|whole| x86_register(&r.name) == Some(whole))
            }
        })?;
        u8::try_from(at).ok().map(Reg)
    }

    pub(crate) fn reg_or_new(
        &mut self,
        thread: usize,
        name: &str,
        spot: TextSpot,
    ) -> Result<Reg, ParseError> {
        match self.reg(thread, name) {
            Some(reg) => Ok(reg),
            None => self.add_reg(thread, name, spot),
        }
    }

    pub(crate) fn add_reg(
        &mut self,
        thread: usize,
        name: &str,
        spot: TextSpot,
    ) -> Result<Reg, ParseError> {
        let count = self.program.threads.len();
        let Some(thread) = self.program.threads.get_mut(thread) else {
            return Err(unknown_thread(thread, count, spot));
        };
        let regs = &mut thread.regs;
        let index = slot(
            regs.len(),
            MAX_REGS,
            spot,
            "register",
            "registers in a thread",
        )?;
        regs.push(RegDecl {
            name: name.to_owned(),
            init: 0,
        });
        Ok(Reg(index))
    }

    pub(crate) fn set_var(&mut self, var: Var, init: Value) {
        if let Some(decl) = self.program.vars.get_mut(var.0 as usize) {
            decl.init = init;
        }
    }

    pub(crate) fn set_reg(&mut self, thread: usize, reg: Reg, init: Value) {
        let thread = self.program.threads.get_mut(thread);
        if let Some(decl) = thread.and_then(|t| t.regs.get_mut(reg.0 as usize)) {
            decl.init = init;
        }
    }

    pub(crate) fn push(
        &mut self,
        thread: usize,
        instr: Instr,
        spot: TextSpot,
    ) -> Result<(), ParseError> {
        let count = self.program.threads.len();
        let Some(thread) = self.program.threads.get_mut(thread) else {
            return Err(unknown_thread(thread, count, spot));
        };
        let body = &mut thread.body;
        slot(
            body.len(),
            MAX_INSTRS,
            spot,
            "instruction",
            "instructions in a thread",
        )?;
        body.push(instr);
        Ok(())
    }

    /// Takes the instruction out again.
    pub(crate) fn remove(&mut self, thread: usize, at: usize) {
        let body = self.program.threads.get_mut(thread).map(|t| &mut t.body);
        if let Some(body) = body.filter(|body| at < body.len()) {
            body.remove(at);
        }
    }

    /// Drops the instructions from there on.
    pub(crate) fn truncate(&mut self, thread: usize, at: usize) {
        if let Some(thread) = self.program.threads.get_mut(thread) {
            thread.body.truncate(at);
        }
    }

    /// The variables by name, for messages.
    pub(crate) fn var_list(&self) -> String {
        list(self.program.vars.iter().map(|v| v.name.as_str()))
    }

    pub(crate) fn reg_list(&self, thread: usize) -> String {
        let regs = self.program.threads.get(thread).map(|t| t.regs.as_slice());
        list(regs.unwrap_or_default().iter().map(|r| r.name.as_str()))
    }
}

/// `` `x`, `y` ``, or `none`: what a message offers to choose from.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(quote).collect();
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}

pub(crate) fn unknown_thread(thread: usize, count: usize, spot: TextSpot) -> ParseError {
    let expected = match count {
        1 => "thread 0, the only one".to_owned(),
        _ => format!("a thread from 0 to {}", count.saturating_sub(1)),
    };
    spot.error(format!("thread {thread}"), expected)
}

/// The index of one more, if the limit has room for it.
fn slot(
    used: usize,
    limit: usize,
    spot: TextSpot,
    one: &str,
    many_of_what: &str,
) -> Result<u8, ParseError> {
    match u8::try_from(used) {
        Ok(index) if used < limit => Ok(index),
        _ => Err(spot.error(
            format!("{one} number {}", used + 1),
            format!("at most {limit} {many_of_what}"),
        )),
    }
}

/// herd allows `%a` for any register.
pub(crate) const NO_SYMBOLS: &str =
    "a register such as `EAX` (symbolic registers are not supported)";

const LEGACY: [&str; 8] = ["AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP"];
const NUMBERED: [&str; 8] = ["8", "9", "10", "11", "12", "13", "14", "15"];

/// The 64-bit register that a 32-bit or 64-bit name means. The two are one register: a test uses it with one width.
pub(crate) fn x86_register(name: &str) -> Option<String> {
    let upper = name.to_ascii_uppercase();
    if let Some(rest) = upper.strip_prefix(['R', 'E'])
        && LEGACY.contains(&rest)
    {
        return Some(format!("R{rest}"));
    }
    let number = upper.strip_prefix('R')?;
    let number = number.strip_suffix('D').unwrap_or(number);
    NUMBERED.contains(&number).then(|| format!("R{number}"))
}

/// Refuses a name such as `AX`, `AL`, `R8B`.
pub(crate) fn whole_register(name: &str, spot: TextSpot) -> Result<(), ParseError> {
    if is_part_of_register(name) {
        let expected =
            "a 32-bit or 64-bit register such as `EAX` (parts of a register are not supported)";
        return Err(spot.error(quote(name), expected));
    }
    Ok(())
}

/// 8 or 16 bits of a register.
pub(crate) fn is_part_of_register(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let byte = upper.strip_suffix(['L', 'H']);
    let word = upper
        .strip_prefix('R')
        .and_then(|r| r.strip_suffix(['W', 'B', 'L']));
    LEGACY.contains(&upper.as_str())
        || byte.is_some_and(|letter| matches!(letter, "A" | "B" | "C" | "D"))
        || matches!(upper.as_str(), "SIL" | "DIL" | "BPL" | "SPL")
        || word.is_some_and(|number| NUMBERED.contains(&number))
}
