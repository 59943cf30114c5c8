//! One thread's column: instructions, labels, and the jumps that a litmus program can express.

use super::emit::{Compared, HerdEmitter};
use super::mnemonic::{self, Mnemonic, MnemonicAction, When};
use crate::parse::ParseError;
use crate::parse::cursor::{LitmusToken, TextCursor, TextSpot, quote};
use crate::parse::scope::{NameScope, list};
use crate::program::{Instr, Operand};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LockPrefix {
    Locked,
    Unlocked,
}

/// A jump to a label that must turn out to follow directly, or to be the end of the thread.
struct Jump<'a> {
    label: &'a str,
    spot: TextSpot,
    kind: JumpKind,
    /// How many instructions stand before it.
    at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JumpKind {
    /// The `if` that stands for it is in the body: the rest of the thread runs only if it does not jump.
    If,
    /// Always taken.
    Always,
    /// Never taken: a register was compared with itself.
    Never,
    /// Taken on equality, for which a litmus program has no words.
    Unless,
}

enum ColumnPlace {
    Next,
    End,
    Elsewhere,
}

struct Label<'a> {
    name: &'a str,
    spot: TextSpot,
    /// How many instructions stand before it.
    at: usize,
}

/// What has to be remembered of a column from row to row.
pub(super) struct ThreadReader<'a> {
    thread: usize,
    /// What a `CMP` just compared: only the very next instruction may jump on it.
    compared: Option<Compared>,
    jumps: Vec<Jump<'a>>,
    labels: Vec<Label<'a>>,
}

impl<'a> ThreadReader<'a> {
    pub(super) fn new(thread: usize) -> Self {
        ThreadReader {
            thread,
            compared: None,
            jumps: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Reads labels and at most one instruction, up to the `|` or `;` that ends the cell.
    pub(super) fn cell(
        &mut self,
        cursor: &mut TextCursor<'a>,
        scope: &mut NameScope,
    ) -> Result<(), ParseError> {
        while let (LitmusToken::Word(name), LitmusToken::Sign(":")) =
            (cursor.peek(), cursor.peek_second())
        {
            let spot = cursor.spot();
            cursor.next();
            cursor.next();
            if self.labels.iter().any(|l| l.name == name) {
                let found = format!("a second label {}", quote(name));
                return Err(spot.error(found, "each label once in a thread"));
            }
            let at = self.length(scope);
            self.labels.push(Label { name, spot, at });
        }
        if matches!(cursor.peek(), LitmusToken::Sign("|" | ";")) {
            return Ok(());
        }
        self.instruction(cursor, scope)
    }

    /// Settles the jumps, now that the labels are known. One to the very next instruction does nothing (tests have it
    /// for a control dependency); one to the end skips the rest, which is what `if` in a litmus program means.
    pub(super) fn finish(mut self, scope: &mut NameScope) -> Result<(), ParseError> {
        let mut end = self.length(scope);
        let mut problem = Ok(());
        // From the last to the first, so that what is taken out moves only what is settled.
        for jump in std::mem::take(&mut self.jumps).iter().rev() {
            let Some(label) = self.labels.iter().find(|l| l.name == jump.label) else {
                let names = list(self.labels.iter().map(|l| l.name));
                let expected = format!("a label of this thread ({names})");
                problem = Err(jump.error(expected));
                continue;
            };
            let after = jump.at + usize::from(jump.kind == JumpKind::If);
            let place = match label.at {
                at if at == after => ColumnPlace::Next,
                at if at == end => ColumnPlace::End,
                _ => ColumnPlace::Elsewhere,
            };
            match (jump.kind, place) {
                (JumpKind::If, ColumnPlace::Next) => {
                    scope.remove(self.thread, jump.at);
                    end -= 1;
                    let moved = self.labels.iter_mut().filter(|l| l.at > jump.at);
                    moved.for_each(|label| label.at -= 1);
                }
                (JumpKind::Always, ColumnPlace::End) => scope.truncate(self.thread, jump.at),
                (_, ColumnPlace::Next)
                | (JumpKind::If, ColumnPlace::End)
                | (JumpKind::Never, _) => {}
                (JumpKind::Unless, _) => {
                    let expected =
                        "`JNE` (a jump on equality is supported only to the very next instruction)";
                    problem = Err(jump.error(expected));
                }
                (JumpKind::If | JumpKind::Always, _) => {
                    let expected = format!(
                        "a jump to the very next instruction or the very end of the thread (this label is on line {}; \
                         other jumps are not supported)",
                        label.spot.line
                    );
                    problem = Err(jump.error(expected));
                }
            }
        }
        problem
    }

    fn length(&self, scope: &NameScope) -> usize {
        let thread = scope.program.threads.get(self.thread);
        thread.map_or(0, |t| t.body.len())
    }

    fn instruction(
        &mut self,
        cursor: &mut TextCursor<'a>,
        scope: &mut NameScope,
    ) -> Result<(), ParseError> {
        let start = cursor.spot();
        let (mut word, mut spot) = cursor.word("an instruction, `|` or `;`")?;
        let lock = if word.eq_ignore_ascii_case("LOCK") {
            // herd allows `LOCK; INC [x]`.
            cursor.take(";");
            (word, spot) = cursor.word("the instruction to lock")?;
            LockPrefix::Locked
        } else {
            LockPrefix::Unlocked
        };
        let Some(mnemonic) = mnemonic::find(word) else {
            let known = list(mnemonic::known());
            return Err(spot.error(
                quote(word),
                format!("an instruction Landfall knows ({known})"),
            ));
        };
        if lock == LockPrefix::Locked && !mnemonic.lockable {
            let found = format!("{} after `LOCK`", quote(word));
            let expected = format!("one of {}", list(mnemonic::lockable_names()));
            return Err(spot.error(found, expected));
        }
        let compared = self.compared.take();
        if let MnemonicAction::Jump(when) = mnemonic.action {
            return self.jump(cursor, scope, when, compared, (word, start));
        }
        let emit = HerdEmitter {
            scope,
            thread: self.thread,
            spot: start,
        };
        self.compared = act(emit, cursor, mnemonic, lock)?;
        Ok(())
    }

    fn jump(
        &mut self,
        cursor: &mut TextCursor<'a>,
        scope: &mut NameScope,
        when: When,
        compared: Option<Compared>,
        (word, start): (&str, TextSpot),
    ) -> Result<(), ParseError> {
        let spot = cursor.spot();
        let at = self.length(scope);
        let (kind, instr) = match (when, compared) {
            (When::Always, _) | (When::Equal, Some(Compared::Itself)) => (JumpKind::Always, None),
            (When::Differs, Some(Compared::Itself)) => (JumpKind::Never, None),
            (When::Equal, Some(Compared::Constant(..))) => (JumpKind::Unless, None),
            (When::Differs, Some(Compared::Constant(reg, equals))) => {
                (JumpKind::If, Some(Instr::If { reg, equals }))
            }
            (_, None) => {
                let expected = "a `CMP` of a register with a constant just before it";
                return Err(start.error(quote(word), expected));
            }
        };
        let (label, _) = cursor.word("a label")?;
        if self.labels.iter().any(|l| l.name == label) {
            let found = format!("a jump back to {}", quote(label));
            return Err(spot.error(found, "a label further down in the thread"));
        }
        self.jumps.push(Jump {
            label,
            spot,
            kind,
            at,
        });
        match instr {
            Some(instr) => scope.push(self.thread, instr, start),
            None => Ok(()),
        }
    }
}

impl Jump<'_> {
    fn error(&self, expected: impl Into<String>) -> ParseError {
        let found = format!("a jump to {}", quote(self.label));
        self.spot.error(found, expected)
    }
}

/// Any instruction but a jump; returns what a `CMP` compared.
fn act(
    mut emit: HerdEmitter<'_>,
    cursor: &mut TextCursor<'_>,
    mnemonic: &Mnemonic,
    lock: LockPrefix,
) -> Result<Option<Compared>, ParseError> {
    let name = mnemonic.name;
    match mnemonic.action {
        MnemonicAction::Cmp => return emit.compare(cursor).map(Some),
        MnemonicAction::Nothing | MnemonicAction::Jump(_) => {}
        MnemonicAction::Push(instr) => emit.push(instr)?,
        MnemonicAction::Flush(kind) => emit.flush(cursor, kind)?,
        MnemonicAction::Mov => emit.mov(cursor)?,
        MnemonicAction::Movnti => emit.movnti(cursor)?,
        MnemonicAction::Xchg => emit.xchg(cursor, lock)?,
        MnemonicAction::Xadd | MnemonicAction::Cmpxchg if lock == LockPrefix::Unlocked => {
            let found = format!("{name} without `LOCK`");
            return Err(emit.spot.error(found, format!("`LOCK {name}`")));
        }
        MnemonicAction::Xadd => emit.xadd(cursor)?,
        MnemonicAction::Cmpxchg => emit.cmpxchg(cursor)?,
        MnemonicAction::Arithmetic(op) => emit.arithmetic(cursor, op, lock, None)?,
        MnemonicAction::Step(op) => emit.arithmetic(cursor, op, lock, Some(Operand::Const(1)))?,
        MnemonicAction::Narrow => {
            let expected = "`MOV`, `MOVL` or `MOVQ` (parts of a variable are not supported)";
            return Err(emit.spot.error(quote(name), expected));
        }
    }
    Ok(None)
}
