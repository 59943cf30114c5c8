//! Sources in assembly (`.s`, `.S`): what their instructions do to memory is announced, as what the pass sees is. Around each instruction with an
//! operand in memory there is a call before it, and one behind it if it stores (`runtime/hooks/assembly`); the instruction itself stays. Of one that
//! nobody knows is said that it comes.

use super::Toolbox;
use super::asm_labels::{AsmLabels, LabelKind};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an instruction does to its operand in memory. The runtime has the same numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OperandTouch {
    Load = 0,
    Store = 1,
    /// Without a lock.
    Update = 2,
    Locked = 3,
}

/// What comes before an instruction, and behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
enum AnnouncedAsm {
    Nothing,
    Access {
        touch: OperandTouch,
        bytes: u32,
        place: String,
    },
    /// It orders memory.
    Fence,
    Unknown,
}

/// Instructions that read their operand, change it and write it back, if it is the last one.
const UPDATES: [&str; 19] = [
    "add", "sub", "and", "or", "xor", "adc", "sbb", "inc", "dec", "neg", "not", "shl", "shr",
    "sar", "sal", "rol", "ror", "xadd", "cmpxchg",
];
/// Those that only read it.
const READS: [&str; 6] = ["cmp", "test", "imul", "push", "mul", "div"];
/// Before an instruction.
const PREFIXES: [&str; 6] = ["lock", "rep", "repe", "repz", "repne", "repnz"];
/// Without an access: addresses, hints.
const NONE: [&str; 5] = ["lea", "nop", "prefetch", "endbr", "clflush"];

/// Is that argument a source in assembly?
pub(super) fn is_source(argument: &OsStr) -> bool {
    let extension = Path::new(argument).extension().and_then(OsStr::to_str);
    let is_option = argument.to_str().is_some_and(|text| text.starts_with('-'));
    matches!(extension, Some("s" | "S" | "sx")) && !is_option
}

/// The source with announcements, in a place of ours; none if the preprocessor refuses it, which the compiler will say.
pub(super) fn prepared(
    clang: &Path,
    toolbox: &Toolbox,
    directory: Option<&Path>,
    source: &OsStr,
    arguments: &[OsString],
) -> Option<PathBuf> {
    let mut preprocess = Command::new(clang);
    preprocess
        .args(concern_the_preprocessor(arguments))
        .args(["-D__LANDFALL__=1", "-isystem"])
        .arg(toolbox.include());
    if let Some(directory) = directory {
        preprocess.current_dir(directory);
    }
    let plain = Path::new(source).extension().is_some_and(|end| end == "s");
    let language = if plain {
        "assembler"
    } else {
        "assembler-with-cpp"
    };
    let text = match plain {
        true => fs::read(directory.unwrap_or(Path::new("")).join(source)).ok()?,
        false => {
            let output = preprocess
                .args(["-E", "-x", language])
                .arg(source)
                .output()
                .ok()?;
            output.status.success().then_some(output.stdout)?
        }
    };
    let text = announced(&String::from_utf8(text).ok()?);
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let place = toolbox
        .directory()
        .join("assembly")
        .join(format!("{:016x}", hasher.finish()));
    let name = Path::new(Path::new(source).file_name()?).with_extension("s");
    let path = place.join(name);
    fs::create_dir_all(&place).ok()?;
    // Whoever else writes it writes the same.
    let aside = place.join(format!("{}.new", std::process::id()));
    fs::write(&aside, text).ok()?;
    fs::rename(&aside, &path).ok()?;
    Some(path)
}

/// Options that say what a source means before it is assembled.
fn concern_the_preprocessor(arguments: &[OsString]) -> Vec<OsString> {
    let mut found = Vec::new();
    let mut all = arguments.iter();
    while let Some(argument) = all.next() {
        let text = argument.to_str().unwrap_or_default();
        if matches!(
            text,
            "-D" | "-U" | "-I" | "-include" | "-isystem" | "-iquote"
        ) {
            found.push(argument.clone());
            found.extend(all.next().cloned());
        } else if ["-D", "-U", "-I", "-m"]
            .iter()
            .any(|of| text.starts_with(of))
        {
            found.push(argument.clone());
        }
    }
    found
}

/// The text with announcements. Lines stay where they are.
pub(super) fn announced(text: &str) -> String {
    let intel = text.contains(".intel_syntax");
    let mut out = String::with_capacity(2 * text.len());
    let mut heads = AsmLabels::of(text);
    // A prefix may stand alone before its instruction.
    let mut prefix = String::new();
    for line in text.lines() {
        // A directive or a comment, with whatever text in it.
        let plain = line.trim_start().starts_with(['#', '/']) || line.contains('"');
        if plain {
            out += line;
        } else {
            let line = line.split('#').next().unwrap_or_default();
            let parts = line.split(';').filter_map(|part| {
                let part = format!("{prefix}{part}");
                prefix.clear();
                if PREFIXES.contains(&part.trim()) {
                    prefix = format!("{} ", part.trim());
                    return None;
                }
                Some(statement(&part, intel, &mut heads))
            });
            out += &parts.collect::<Vec<String>>().join(";");
        }
        out += "\n";
    }
    out
}

/// A label, and what is behind it.
pub(super) fn label_of(text: &str) -> Option<(&str, &str)> {
    let (label, behind) = text.split_once(':')?;
    let fits = |c: char| c.is_alphanumeric() || "_.$".contains(c);
    (!label.is_empty() && label.chars().all(fits)).then_some((label, behind))
}

/// Below the stack pointer lies what functions that call nobody keep there. Nothing here changes flags.
fn call(name: &str) -> String {
    format!("leaq -128(%rsp), %rsp; call {name}; leaq 128(%rsp), %rsp")
}

fn statement(text: &str, intel: bool, heads: &mut AsmLabels) -> String {
    let mut rest = text.trim();
    let mut labels = String::new();
    while let Some((label, behind)) = label_of(rest) {
        let _ = write!(labels, "{label}: ");
        match heads.next_label(label) {
            LabelKind::Head => _ = write!(labels, "{}; ", call("__lf_assembly_head")),
            LabelKind::Function => _ = write!(labels, "{}; ", call("__lf_assembly_entered")),
            LabelKind::Other => {}
        }
        rest = behind.trim_start();
    }
    if rest.is_empty() || rest.starts_with('.') || rest.contains('=') {
        return format!("{labels}{rest}");
    }
    let what = match intel || rest.contains('\\') {
        true if rest.contains('[') || rest.contains('\\') => AnnouncedAsm::Unknown,
        true => AnnouncedAsm::Nothing,
        false => meaning(rest),
    };
    match what {
        AnnouncedAsm::Nothing => format!(" {labels}{rest}"),
        AnnouncedAsm::Unknown => format!(
            "{labels}{}; {rest}; {}",
            call("__lf_assembly_unknown"),
            call("__lf_step_ends")
        ),
        AnnouncedAsm::Fence => format!("{labels}{}; {rest}", call("__lf_assembly_fence")),
        AnnouncedAsm::Access {
            touch,
            bytes,
            place,
        } => {
            let what = touch as u32 | bytes << 8;
            let before = format!(
                "leaq -128(%rsp), %rsp; pushq %rdi; leaq {place}, %rdi; pushq ${what}; call __lf_assembly_before; \
                 leaq 8(%rsp), %rsp; popq %rdi; leaq 128(%rsp), %rsp"
            );
            match touch {
                OperandTouch::Load => format!("{labels}{before}; {rest}"),
                _ => format!("{labels}{before}; {rest}; {}", call("__lf_assembly_after")),
            }
        }
    }
}

fn meaning(text: &str) -> AnnouncedAsm {
    let mut words = text.splitn(2, char::is_whitespace);
    let mut name = words.next().unwrap_or_default().to_lowercase();
    let mut rest = words.next().unwrap_or_default().trim();
    let mut locked = false;
    while PREFIXES.contains(&name.as_str()) {
        locked |= name == "lock";
        let mut words = rest.splitn(2, char::is_whitespace);
        name = words.next().unwrap_or_default().to_lowercase();
        rest = words.next().unwrap_or_default().trim();
    }
    let strings = ["movs", "stos", "lods", "cmps", "scas"];
    if rest.is_empty()
        && strings
            .iter()
            .any(|of| name.len() == 5 && name.starts_with(of))
    {
        return AnnouncedAsm::Unknown;
    }
    if name == "mfence" {
        return AnnouncedAsm::Fence;
    }
    let operands = operands(rest);
    let jumps = name.starts_with('j') || name.starts_with("call") || name.starts_with("loop");
    if jumps {
        let place = rest
            .strip_prefix('*')
            .filter(|place| !place.starts_with('%'));
        return match place {
            Some(place) => access(OperandTouch::Load, Some(8), place, locked),
            None => AnnouncedAsm::Nothing,
        };
    }
    let Some(at) = operands.iter().position(|operand| is_memory(operand)) else {
        return AnnouncedAsm::Nothing;
    };
    let place = operands[at];
    if NONE.iter().any(|of| name.starts_with(of)) {
        return AnnouncedAsm::Nothing;
    }
    let last = at + 1 == operands.len();
    let register = operands.iter().find_map(|operand| register_bytes(operand));
    let of = |base: &str| -> Option<Option<u32>> {
        match name.strip_prefix(base)? {
            "" => Some(register),
            "b" => Some(Some(1)),
            "w" => Some(Some(2)),
            "l" => Some(Some(4)),
            "q" => Some(Some(8)),
            _ => None,
        }
    };
    let moves = if last {
        OperandTouch::Store
    } else {
        OperandTouch::Load
    };
    let vector = |bytes: u32| match operands.iter().any(|operand| operand.starts_with("%y")) {
        true => AnnouncedAsm::Unknown,
        false => access(moves, Some(bytes), place, locked),
    };
    match name.as_str() {
        "movaps" | "movups" | "movdqa" | "movdqu" | "movapd" | "movupd" => return vector(16),
        "movss" | "movd" => return vector(4),
        "movsd" => return vector(8),
        "cmpxchg8b" | "cmpxchg16b" => {
            let bytes = if name.ends_with("16b") { 16 } else { 8 };
            return access(OperandTouch::Update, Some(bytes), place, locked);
        }
        _ => {}
    }
    if let Some(bytes) = of("mov") {
        return access(moves, bytes, place, locked);
    }
    if let Some(bytes) = of("xchg") {
        return access(OperandTouch::Locked, bytes, place, true);
    }
    if let Some(bytes) = of("pop") {
        return access(OperandTouch::Store, bytes.or(Some(8)), place, locked);
    }
    if let Some(from) = name.strip_prefix("movz").or(name.strip_prefix("movs")) {
        let bytes = match from.as_bytes().first() {
            Some(b'b') => Some(1),
            Some(b'w') => Some(2),
            Some(b'l') => Some(4),
            _ => None,
        };
        return access(OperandTouch::Load, bytes, place, locked);
    }
    if name.starts_with("set") {
        return access(OperandTouch::Store, Some(1), place, locked);
    }
    if name.starts_with("cmov") {
        return access(OperandTouch::Load, register, place, locked);
    }
    for bit in ["bts", "btr", "btc", "bt"] {
        // With a register, the bit may be anywhere behind the operand.
        if let Some(bytes) = of(bit).filter(|_| operands[0].starts_with('$')) {
            let touch = if bit == "bt" {
                OperandTouch::Load
            } else {
                OperandTouch::Update
            };
            return access(touch, bytes, place, locked);
        }
    }
    for base in UPDATES {
        if let Some(bytes) = of(base) {
            let shifts = operands.len() == 2 && operands[0] == "%cl";
            let bytes = if shifts && name == base { None } else { bytes };
            let touch = if last {
                OperandTouch::Update
            } else {
                OperandTouch::Load
            };
            return access(touch, bytes, place, locked);
        }
    }
    for base in READS {
        if let Some(bytes) = of(base) {
            let bytes = if base == "push" {
                bytes.or(Some(8))
            } else {
                bytes
            };
            return access(OperandTouch::Load, bytes, place, locked);
        }
    }
    AnnouncedAsm::Unknown
}

/// An access, unless it is of the thread's own stack or its own variables.
fn access(touch: OperandTouch, bytes: Option<u32>, place: &str, locked: bool) -> AnnouncedAsm {
    let own = ["%rsp", "%esp", "%rbp", "%fs:", "%gs:"];
    if own.iter().any(|of| place.contains(of)) {
        return match locked || touch == OperandTouch::Locked {
            true => AnnouncedAsm::Fence,
            false => AnnouncedAsm::Nothing,
        };
    }
    let touch = match touch {
        OperandTouch::Update if locked => OperandTouch::Locked,
        touch => touch,
    };
    match bytes {
        Some(bytes) => AnnouncedAsm::Access {
            touch,
            bytes,
            place: place.to_owned(),
        },
        None => AnnouncedAsm::Unknown,
    }
}

fn is_memory(operand: &str) -> bool {
    !operand.is_empty()
        && !operand.starts_with('$')
        && (!operand.starts_with('%') || operand.contains(':'))
}

fn operands(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[from..].trim());
    found
}

fn register_bytes(operand: &str) -> Option<u32> {
    let name = operand.strip_prefix('%')?;
    let numbered = name
        .strip_prefix('r')
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if let Some(rest) = numbered {
        return Some(match rest.chars().last() {
            Some('d') => 4,
            Some('w') => 2,
            Some('b') => 1,
            _ => 8,
        });
    }
    match name {
        "rax" | "rbx" | "rcx" | "rdx" | "rsi" | "rdi" | "rsp" | "rbp" => Some(8),
        "eax" | "ebx" | "ecx" | "edx" | "esi" | "edi" | "esp" | "ebp" => Some(4),
        "ax" | "bx" | "cx" | "dx" | "si" | "di" | "sp" | "bp" => Some(2),
        "al" | "bl" | "cl" | "dl" | "ah" | "bh" | "ch" | "dh" | "sil" | "dil" | "spl" | "bpl" => {
            Some(1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_instructions_do_to_memory() {
        let touched = |touch, bytes, place: &str| AnnouncedAsm::Access {
            touch,
            bytes,
            place: place.to_owned(),
        };
        for (text, wanted) in [
            (
                "incl counter(%rip)",
                touched(OperandTouch::Update, 4, "counter(%rip)"),
            ),
            (
                "lock incl (%rdi)",
                touched(OperandTouch::Locked, 4, "(%rdi)"),
            ),
            (
                "lock xaddl %eax, 4(%rdi)",
                touched(OperandTouch::Locked, 4, "4(%rdi)"),
            ),
            (
                "xchg %eax, (%rdi)",
                touched(OperandTouch::Locked, 4, "(%rdi)"),
            ),
            (
                "movq %rax, 8(%rdi,%rsi,8)",
                touched(OperandTouch::Store, 8, "8(%rdi,%rsi,8)"),
            ),
            ("mov (%rdi), %ax", touched(OperandTouch::Load, 2, "(%rdi)")),
            ("movzbl flag, %eax", touched(OperandTouch::Load, 1, "flag")),
            ("addq %rax, %rbx", AnnouncedAsm::Nothing),
            (
                "addq (%rax), %rbx",
                touched(OperandTouch::Load, 8, "(%rax)"),
            ),
            ("cmpl $0, (%rax)", touched(OperandTouch::Load, 4, "(%rax)")),
            (
                "cmpxchg16b (%rdi)",
                touched(OperandTouch::Update, 16, "(%rdi)"),
            ),
            ("pushq (%rdi)", touched(OperandTouch::Load, 8, "(%rdi)")),
            ("popq (%rdi)", touched(OperandTouch::Store, 8, "(%rdi)")),
            (
                "rolq $3, (%rdi)",
                touched(OperandTouch::Update, 8, "(%rdi)"),
            ),
            (
                "shll %cl, (%rdi)",
                touched(OperandTouch::Update, 4, "(%rdi)"),
            ),
            ("movl 8(%rsp), %eax", AnnouncedAsm::Nothing),
            ("movq %fs:0, %rax", AnnouncedAsm::Nothing),
            ("lock orl $0, (%rsp)", AnnouncedAsm::Fence),
            ("mfence", AnnouncedAsm::Fence),
            ("rep stosb", AnnouncedAsm::Unknown),
            ("btsl %eax, (%rdi)", AnnouncedAsm::Unknown),
            ("vmovaps %ymm0, (%rdi)", AnnouncedAsm::Unknown),
            ("leaq (%rdi), %rax", AnnouncedAsm::Nothing),
            ("call other", AnnouncedAsm::Nothing),
            (
                "jmp *table(,%rax,8)",
                touched(OperandTouch::Load, 8, "table(,%rax,8)"),
            ),
            ("ret", AnnouncedAsm::Nothing),
        ] {
            assert_eq!(meaning(text), wanted, "{text}");
        }
    }

    #[test]
    fn lines_and_labels_stay() {
        let text = "# 1 \"f.S\"\n.text\nbump: 1: incl (%rdi); ret\n.ascii \"a; incl (%rax)\"\n";
        let out = announced(text);
        assert_eq!(out.lines().count(), 4);
        let line = out.lines().nth(2).unwrap_or_default();
        assert!(line.starts_with("bump: leaq"), "{line}");
        assert!(
            line.contains("; incl (%rdi); ") && line.ends_with(" ret"),
            "{line}"
        );
        let locked = announced("lock; incl (%rdi)\n");
        assert!(locked.contains("; lock  incl (%rdi); "), "{locked}");
        assert!(out.ends_with(".ascii \"a; incl (%rax)\"\n"));
    }
}
