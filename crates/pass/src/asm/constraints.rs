//! The constraint string of an inline assembly: which operand is what, and which argument or result it belongs to.

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AsmOperand {
    pub(crate) is_output: bool,
    /// In memory: the argument is the address.
    pub(crate) indirect: bool,
    /// The letters or `{register}` that say where it must be.
    pub(crate) code: String,
    /// An input in the same register as this output.
    pub(crate) tied: Option<usize>,
    pub(crate) argument: Option<u32>,
    /// Which of the values the assembly returns.
    pub(crate) result: Option<u32>,
}

impl AsmOperand {
    /// A register the assembly overwrites and uses to carry values from one instruction to the next.
    fn scratch(code: &str) -> Self {
        Self {
            is_output: false,
            indirect: false,
            code: code.to_owned(),
            tied: None,
            argument: None,
            result: None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Constraints {
    pub(crate) operands: Vec<AsmOperand>,
    pub(crate) results: u32,
    pub(crate) clobbers_memory: bool,
}

impl Constraints {
    pub(crate) fn parse(text: &str) -> Self {
        let mut constraints = Self::default();
        let mut arguments = 0;
        let mut scratch = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            if let Some(clobber) = part.strip_prefix('~') {
                constraints.clobbers_memory |= clobber == "{memory}";
                scratch.extend(register_in(clobber).map(|_| AsmOperand::scratch(clobber)));
                continue;
            }
            // A label of `asm goto`.
            if part.starts_with('!') {
                continue;
            }
            let is_output = part.starts_with('=') || part.starts_with('+');
            let indirect = part
                .trim_start_matches(['=', '+', '&', '%'])
                .starts_with('*');
            let code = part
                .trim_start_matches(['=', '+', '&', '%', '*'])
                .to_owned();
            let tied = if is_output { None } else { code.parse().ok() };
            let takes_argument = !is_output || indirect;
            let gives_result = is_output && !indirect;
            constraints.operands.push(AsmOperand {
                is_output,
                indirect,
                code,
                tied,
                argument: takes_argument.then_some(arguments),
                result: gives_result.then_some(constraints.results),
            });
            arguments += u32::from(takes_argument);
            constraints.results += u32::from(gives_result);
        }
        // Behind the real ones, so that `%0` still means the first of those.
        constraints.operands.extend(scratch);
        constraints
    }

    /// The operand that lives in a register the text names, such as `%rax`: outputs stand for the inputs tied to them.
    pub(crate) fn in_register(&self, name: &str) -> Option<usize> {
        let register = Register::named(name)?;
        let matches = |operand: &AsmOperand| register_in(&operand.code) == Some(register);
        let output = self
            .operands
            .iter()
            .position(|operand| operand.is_output && matches(operand));
        output.or_else(|| self.operands.iter().position(matches))
    }

    /// Inputs tied to an output are the same register: the output's number stands for both.
    pub(crate) fn canonical(&self, operand: usize) -> usize {
        let tied = self.operands.get(operand).and_then(|operand| operand.tied);
        // `"+a"` may also reach us as an output and an input that name the same register.
        let same_register = || {
            let code = &self.operands.get(operand)?.code;
            self.operands
                .iter()
                .position(|other| other.is_output && code.starts_with('{') && other.code == *code)
        };
        tied.or_else(same_register).unwrap_or(operand)
    }
}

/// A register of the processor, whatever part of it is named: `al`, `eax` and `rax` are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Register {
    General(u8),
    Vector(u8),
}

/// In the order of their numbers; those from 8 on are called by number.
const NAMED: [&str; 8] = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];

impl Register {
    fn named(name: &str) -> Option<Self> {
        if let Some(number) = ["xmm", "ymm", "zmm"]
            .iter()
            .find_map(|kind| name.strip_prefix(kind))
        {
            return number.parse().ok().map(Register::Vector);
        }
        if let Some(number) = name
            .strip_prefix('r')
            .and_then(|rest| rest.trim_end_matches(['b', 'w', 'd']).parse().ok())
        {
            return Some(Register::General(number));
        }
        let letters = name
            .strip_prefix(['r', 'e'])
            .filter(|rest| rest.len() == 2)
            .unwrap_or(name);
        let byte = |word: &str| name == format!("{}l", word.strip_suffix('x').unwrap_or(word));
        let number = NAMED
            .iter()
            .position(|word| letters == *word || byte(word))?;
        Some(Register::General(number as u8))
    }
}

/// The register of a constraint such as `{ax}`.
fn register_in(code: &str) -> Option<Register> {
    Register::named(code.strip_prefix('{')?.strip_suffix('}')?)
}

/// Bytes of a register, by its name.
pub(crate) fn register_bytes(name: &str) -> Option<u32> {
    let register = Register::named(name)?;
    let numbered = matches!(register, Register::General(number) if number >= 8);
    Some(match name.as_bytes() {
        [b'x', ..] => 16,
        [b'y', ..] => 32,
        [b'z', ..] => 64,
        [.., b'b'] if numbered => 1,
        [.., b'w'] if numbered => 2,
        [.., b'd'] if numbered => 4,
        [b'r', ..] => 8,
        [b'e', ..] => 4,
        [.., b'l'] => 1,
        _ => 2,
    })
}

pub(crate) fn is_stack_pointer(name: &str) -> bool {
    Register::named(name) == Some(Register::General(4))
}
