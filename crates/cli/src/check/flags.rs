//! Options of the compiler on the command line of `check` and `prove`: which are handed on, and which cannot work.

use std::ffi::OsString;

/// Options by how they begin.
const PREFIXES: [&str; 13] = [
    "-D", "-I", "-O", "-W", "-f", "-m", "-std=", "--std=", "-l", "-L", "-U", "-g", "-stdlib=",
];

/// Options that stand alone.
const ALONE: [&str; 16] = [
    "-w",
    "-ansi",
    "-pedantic",
    "-pedantic-errors",
    "-pipe",
    "-pthread",
    "-nostdinc",
    "-nostdinc++",
    "-nostdlib++",
    "-undef",
    "-trigraphs",
    "-pie",
    "-no-pie",
    "-rdynamic",
    "-s",
    "-static",
];

/// Options with a value behind them, or in the same word.
const WITH_VALUE: [&str; 15] = [
    "-isystem",
    "-include",
    "-imacros",
    "-idirafter",
    "-iquote",
    "-isysroot",
    "-iprefix",
    "-iwithprefix",
    "-ivfsoverlay",
    "-Xclang",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "--sysroot",
    "-x",
];

/// Those of [`PREFIXES`] whose value may be the next word.
const MAYBE_NEXT: [&str; 5] = ["-D", "-I", "-l", "-L", "-U"];

/// Options with which there is no program to run, and why.
const REFUSED: [(&str, &str); 17] = [
    ("-c", NO_PROGRAM),
    ("-S", NO_PROGRAM),
    ("-E", NO_PROGRAM),
    ("-M", NO_PROGRAM),
    ("-MM", NO_PROGRAM),
    ("-fsyntax-only", NO_PROGRAM),
    ("-emit-llvm", NO_PROGRAM),
    ("-emit-ast", NO_PROGRAM),
    ("--analyze", NO_PROGRAM),
    ("-shared", NO_PROGRAM),
    ("-r", NO_PROGRAM),
    ("-nostdlib", NO_LIBC),
    ("-nodefaultlibs", NO_LIBC),
    ("-nostartfiles", NO_LIBC),
    ("-o", "the program goes into --out DIR"),
    ("-m32", OTHER_MACHINE),
    ("-mx32", OTHER_MACHINE),
];

const NO_PROGRAM: &str = "sources are built to a program and run, and it leaves none; leave it out";
const NO_LIBC: &str = "the runtime in the program needs libc; leave it out";
const OTHER_MACHINE: &str =
    "programs are checked as this machine runs them, with 64 bits; leave it out";

/// Takes the compiler's options out of a command line, up to `--`. The error says which cannot work.
pub(crate) fn take(arguments: Vec<OsString>) -> Result<(Vec<OsString>, Vec<OsString>), String> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        let text = text.as_str();
        if text == "--" {
            ours.push(argument);
            ours.extend(arguments);
            break;
        }
        if let Some((option, why)) = REFUSED.iter().find(|(option, _)| *option == text) {
            return Err(format!("{option}: {why}"));
        }
        let long = WITH_VALUE.iter().find(|option| text.starts_with(**option));
        let short = PREFIXES.iter().any(|prefix| text.starts_with(prefix));
        if long.is_none() && !short && !ALONE.contains(&text) {
            ours.push(argument);
            continue;
        }
        let next = long.is_some_and(|option| *option == text) || MAYBE_NEXT.contains(&text);
        theirs.push(argument);
        if next {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{text}: a value is missing"))?;
            theirs.push(value);
        }
    }
    Ok((ours, theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Result<(String, String), String> {
        let words = line.split(' ').map(OsString::from).collect();
        let (ours, theirs) = take(words)?;
        let join = |words: Vec<OsString>| {
            let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
            words.join(" ")
        };
        Ok((join(ours), join(theirs)))
    }

    #[test]
    fn harmless_options_are_handed_on_with_their_values() {
        let cases = [
            ("check -w a.c -pipe", "check a.c", "-w -pipe"),
            (
                "check -isystem inc a.c -include x.h -idirafter y",
                "check a.c",
                "-isystem inc -include x.h -idirafter y",
            ),
            ("check -x c++ a.txt", "check a.txt", "-x c++"),
            ("check -xc a.txt", "check a.txt", "-xc"),
            (
                "check -D X=1 -UY -O2 -g3 a.c",
                "check a.c",
                "-D X=1 -UY -O2 -g3",
            ),
            ("check -Xclang -O1 a.c", "check a.c", "-Xclang -O1"),
            ("check --sysroot=/x a.c", "check a.c", "--sysroot=/x"),
            (
                "check -j 2 -v a.c -- -w -c",
                "check -j 2 -v a.c -- -w -c",
                "",
            ),
        ];
        for (line, ours, theirs) in cases {
            assert_eq!(
                split(line),
                Ok((ours.to_owned(), theirs.to_owned())),
                "{line}"
            );
        }
    }

    #[test]
    fn what_cannot_work_is_refused_with_its_reason() {
        for (line, said) in [
            ("check -c a.c", "-c: sources are built to a program"),
            ("check a.c -o a", "-o: the program goes into --out"),
            ("check -m32 a.c", "64 bits"),
            ("check -nostdlib a.c", "needs libc"),
            ("check a.c -include", "-include: a value is missing"),
        ] {
            let error = split(line).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        // What the program is given is its own.
        assert!(split("check a.c -- -c").is_ok());
    }
}
