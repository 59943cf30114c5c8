//! The text of an inline assembly, split into instructions with their prefixes and operands.

/// One part of an instruction's operand list, destination first whatever the dialect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AsmArgument {
    /// `%0`, with the letter of `%b0` if there is one.
    Operand(usize, Option<char>),
    Register(String),
    Immediate(i64),
    Memory(MemoryArgument),
    Other(String),
}

/// `offset(base,index,scale)`, in Intel's spelling `[base + index*scale + offset]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemoryArgument {
    pub(crate) base: Box<AsmArgument>,
    pub(crate) index: Option<(Box<AsmArgument>, i64)>,
    pub(crate) offset: i64,
    /// `dword ptr` and its like.
    pub(crate) bytes: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct AsmInstruction {
    pub(crate) lock: bool,
    /// The 0x66 prefix, which turns clflush into clflushopt and xsaveopt into clwb for assemblers that know neither.
    pub(crate) operand_size: bool,
    pub(crate) repeat: bool,
    pub(crate) mnemonic: String,
    pub(crate) arguments: Vec<AsmArgument>,
    /// Instead of a mnemonic: `.byte`.
    pub(crate) bytes: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    Att,
    Intel,
}

/// Marks `%0` in the text while it is taken apart: no assembler text contains this character.
const MARK: char = '\u{1}';

pub(crate) fn instructions(text: &str, dialect: Dialect) -> Vec<AsmInstruction> {
    let mut dialect = dialect;
    let mut found = Vec::new();
    let mut pending = AsmInstruction::default();
    let mut elsewhere = false;
    let text = without_comments(&selected(text, dialect));
    for statement in text.split(['\n', ';']) {
        let mut words = without_labels(statement.trim());
        let directive = words
            .split_whitespace()
            .next()
            .unwrap_or("")
            .to_ascii_lowercase();
        match directive.as_str() {
            // The kernel's alternatives put tables and replacement code into other sections.
            ".section" | ".pushsection" => elsewhere = true,
            ".previous" | ".popsection" | ".text" => elsewhere = false,
            ".intel_syntax" => dialect = Dialect::Intel,
            ".att_syntax" => dialect = Dialect::Att,
            _ if elsewhere => {}
            ".byte" => {
                let bytes: Vec<u8> = words[5..]
                    .split(',')
                    .filter_map(|byte| u8::try_from(number(byte.trim())?).ok())
                    .collect();
                match bytes[..] {
                    [0x66] => pending.operand_size = true,
                    [0xf0] => pending.lock = true,
                    [0xf2 | 0xf3] => pending.repeat = true,
                    // A segment prefix of the default segment: padding.
                    [0x3e] => {}
                    _ => found.push(AsmInstruction {
                        bytes,
                        ..std::mem::take(&mut pending)
                    }),
                }
            }
            _ if directive.starts_with('.') => {}
            _ => {
                // Prefixes may stand before their instruction or alone.
                loop {
                    let (first, rest) =
                        words.split_once(char::is_whitespace).unwrap_or((words, ""));
                    match first.to_ascii_lowercase().as_str() {
                        "lock" => pending.lock = true,
                        "data16" => pending.operand_size = true,
                        "rep" | "repe" | "repz" | "repne" | "repnz" => pending.repeat = true,
                        "ds" | "xacquire" | "xrelease" => {}
                        _ => break,
                    }
                    words = rest.trim_start();
                }
                if !words.is_empty() {
                    let (mnemonic, rest) =
                        words.split_once(char::is_whitespace).unwrap_or((words, ""));
                    let mut arguments: Vec<AsmArgument> = split_arguments(rest)
                        .map(|part| argument(part, dialect))
                        .collect();
                    if dialect == Dialect::Att {
                        arguments.reverse();
                    }
                    found.push(AsmInstruction {
                        mnemonic: mnemonic.to_ascii_lowercase(),
                        arguments,
                        ..std::mem::take(&mut pending)
                    });
                }
            }
        }
    }
    found
}

/// Chooses between the dialects of `{att|intel}` and marks operands; `$$` is a dollar sign.
fn selected(text: &str, dialect: Dialect) -> String {
    let wanted = usize::from(dialect == Dialect::Intel);
    let mut variant: Option<usize> = None;
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let keep = variant.is_none_or(|variant| variant == wanted);
        if character != '$' {
            if keep {
                out.push(character);
            }
            continue;
        }
        match characters.next() {
            Some('(') => variant = Some(0),
            Some('|') if variant.is_some() => variant = variant.map(|number| number + 1),
            Some(')') if variant.is_some() => variant = None,
            Some('{') => {
                let inside: String = characters
                    .by_ref()
                    .take_while(|next| *next != '}')
                    .collect();
                let (operand, modifier) = inside.split_once(':').unwrap_or((&inside, ""));
                if keep {
                    out.extend(
                        [MARK]
                            .into_iter()
                            .chain(operand.chars())
                            .chain(modifier.chars())
                            .chain([MARK]),
                    );
                }
            }
            Some(digit) if digit.is_ascii_digit() => {
                let mut operand = String::from(digit);
                while let Some(next) = characters.next_if(char::is_ascii_digit) {
                    operand.push(next);
                }
                if keep {
                    out.extend([MARK].into_iter().chain(operand.chars()).chain([MARK]));
                }
            }
            Some(other) if keep => out.push(other),
            _ => {}
        }
    }
    out
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        out.push_str(&rest[..start]);
        out.push(' ');
        rest = rest[start..]
            .find("*/")
            .map_or("", |end| &rest[start + end + 2..]);
    }
    out.push_str(rest);
    let code = |line: &str| line.split('#').next().unwrap_or("").to_owned();
    out.lines().map(code).collect::<Vec<_>>().join("\n")
}

fn without_labels(mut statement: &str) -> &str {
    while let Some((label, rest)) = statement.split_once(':') {
        let is_label = !label.is_empty()
            && label
                .chars()
                .all(|character| character.is_alphanumeric() || "._$\u{1}".contains(character));
        if !is_label {
            break;
        }
        statement = rest.trim_start();
    }
    statement
}

/// Splits at the commas outside parentheses and brackets.
fn split_arguments(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |character| {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

fn argument(text: &str, dialect: Dialect) -> AsmArgument {
    let parsed = match dialect {
        Dialect::Att => att_argument(text),
        Dialect::Intel => intel_argument(text),
    };
    parsed.unwrap_or_else(|| AsmArgument::Other(text.to_owned()))
}

fn operand(text: &str) -> Option<AsmArgument> {
    let inside = text.strip_prefix(MARK)?.strip_suffix(MARK)?;
    let digits = inside.trim_end_matches(|character: char| !character.is_ascii_digit());
    Some(AsmArgument::Operand(
        digits.parse().ok()?,
        inside[digits.len()..].chars().next(),
    ))
}

fn att_argument(text: &str) -> Option<AsmArgument> {
    if let Some(register) = text.strip_prefix('%') {
        let plain = register
            .chars()
            .all(|character| character.is_ascii_alphanumeric());
        return plain.then(|| AsmArgument::Register(register.to_ascii_lowercase()));
    }
    if let Some(immediate) = text.strip_prefix('$') {
        return number(immediate).map(AsmArgument::Immediate);
    }
    if let Some(open) = text.find('(') {
        let inside = text[open + 1..].trim().strip_suffix(')')?;
        let offset = if open == 0 {
            0
        } else {
            number(text[..open].trim())?
        };
        let mut parts = inside.split(',').map(str::trim);
        let base = Box::new(att_argument(parts.next()?)?);
        let scale = |part: Option<&str>| part.map_or(Some(1), number);
        let index = match parts.next() {
            Some(index) => Some((Box::new(att_argument(index)?), scale(parts.next())?)),
            None => None,
        };
        return Some(AsmArgument::Memory(MemoryArgument {
            base,
            index,
            offset,
            bytes: None,
        }));
    }
    operand(text).or_else(|| offset_operand(text))
}

/// `8+%0`: a place behind an operand in memory.
fn offset_operand(text: &str) -> Option<AsmArgument> {
    let (left, right) = text.split_once('+')?;
    let (offset, place) = if left.contains(MARK) {
        (right, left)
    } else {
        (left, right)
    };
    let base = Box::new(operand(place.trim())?);
    Some(AsmArgument::Memory(MemoryArgument {
        base,
        index: None,
        offset: number(offset.trim())?,
        bytes: None,
    }))
}

fn intel_argument(text: &str) -> Option<AsmArgument> {
    const SIZES: [(&str, u32); 8] = [
        ("byte", 1),
        ("word", 2),
        ("dword", 4),
        ("qword", 8),
        ("xmmword", 16),
        ("oword", 16),
        ("ymmword", 32),
        ("zmmword", 64),
    ];
    let lower = text.to_ascii_lowercase();
    let mut rest = lower.as_str();
    let mut bytes = None;
    if let Some((size, after)) = rest.split_once("ptr") {
        bytes = SIZES
            .iter()
            .find(|(name, _)| *name == size.trim())
            .map(|(_, bytes)| *bytes);
        rest = after.trim();
    }
    if let Some(inside) = rest.strip_prefix('[') {
        let mut base = None;
        let mut index = None;
        let mut offset = 0;
        let signed = inside.strip_suffix(']')?.replace('-', "+-");
        for term in signed
            .split('+')
            .map(str::trim)
            .filter(|term| !term.is_empty())
        {
            if let Some(value) = number(term) {
                offset += value;
            } else if let Some((register, scale)) = term.split_once('*') {
                index = Some((
                    Box::new(intel_argument(register.trim())?),
                    number(scale.trim())?,
                ));
            } else if base.is_none() {
                base = Some(Box::new(intel_argument(term)?));
            } else {
                index = Some((Box::new(intel_argument(term)?), 1));
            }
        }
        return Some(AsmArgument::Memory(MemoryArgument {
            base: base?,
            index,
            offset,
            bytes,
        }));
    }
    if let Some(place) = operand(rest).or_else(|| offset_operand(rest)) {
        return Some(place);
    }
    if let Some(value) = number(rest) {
        return Some(AsmArgument::Immediate(value));
    }
    rest.chars()
        .all(|character| character.is_ascii_alphanumeric())
        .then(|| AsmArgument::Register(rest.to_owned()))
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.trim().strip_prefix('-') {
        Some(digits) => (true, digits.trim()),
        None => (false, text.trim()),
    };
    let value = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok()? as i64,
        None => digits.parse().ok()?,
    };
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}
