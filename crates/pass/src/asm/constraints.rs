//! The constraint string of an inline assembly: which operand is what, and which argument or result it belongs to.

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operand {
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

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Constraints {
    pub(crate) operands: Vec<Operand>,
    pub(crate) results: u32,
    pub(crate) clobbers_memory: bool,
}

impl Constraints {
    pub(crate) fn parse(text: &str) -> Self {
        let mut constraints = Self::default();
        let mut arguments = 0;
        for part in text.split(',').filter(|part| !part.is_empty()) {
            if let Some(clobber) = part.strip_prefix('~') {
                constraints.clobbers_memory |= clobber == "{memory}";
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
            constraints.operands.push(Operand {
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
        constraints
    }

    /// The operand that lives in a register the text names, such as `%rax`: outputs stand for the inputs tied to them.
    pub(crate) fn in_register(&self, register: &str) -> Option<usize> {
        let family = register_family(register)?;
        let matches = |operand: &Operand| {
            operand
                .code
                .strip_prefix('{')
                .and_then(|code| register_family(code.trim_end_matches('}')))
                == Some(family)
        };
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

/// The 64-bit register a name belongs to, as its two letters or number: `al`, `eax` and `rax` are all `ax`.
fn register_family(name: &str) -> Option<&'static str> {
    const FAMILIES: [(&str, &[&str]); 16] = [
        ("ax", &["al", "ax", "eax", "rax"]),
        ("bx", &["bl", "bx", "ebx", "rbx"]),
        ("cx", &["cl", "cx", "ecx", "rcx"]),
        ("dx", &["dl", "dx", "edx", "rdx"]),
        ("si", &["sil", "si", "esi", "rsi"]),
        ("di", &["dil", "di", "edi", "rdi"]),
        ("bp", &["bpl", "bp", "ebp", "rbp"]),
        ("sp", &["spl", "sp", "esp", "rsp"]),
        ("8", &["r8b", "r8w", "r8d", "r8"]),
        ("9", &["r9b", "r9w", "r9d", "r9"]),
        ("10", &["r10b", "r10w", "r10d", "r10"]),
        ("11", &["r11b", "r11w", "r11d", "r11"]),
        ("12", &["r12b", "r12w", "r12d", "r12"]),
        ("13", &["r13b", "r13w", "r13d", "r13"]),
        ("14", &["r14b", "r14w", "r14d", "r14"]),
        ("15", &["r15b", "r15w", "r15d", "r15"]),
    ];
    FAMILIES
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|(family, _)| *family)
}

/// Bytes of a general register, by its name.
pub(crate) fn register_bytes(name: &str) -> Option<u32> {
    register_family(name)?;
    let numbered = name
        .trim_start_matches('r')
        .starts_with(|first: char| first.is_ascii_digit());
    Some(match name {
        _ if numbered && name.ends_with('b') => 1,
        _ if numbered && name.ends_with('w') => 2,
        _ if numbered && name.ends_with('d') => 4,
        _ if name.starts_with('r') => 8,
        _ if name.starts_with('e') => 4,
        _ if name.ends_with('l') => 1,
        _ => 2,
    })
}

pub(crate) fn is_stack_pointer(name: &str) -> bool {
    register_family(name) == Some("sp")
}
