//! What is added to a command line, and where.

use super::pmdk::Pmdk;
use super::{Compilation, CompilerError, Toolbox, response};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// With one of these clang never reaches the linker.
const STOPS_BEFORE_LINKING: [&str; 11] = [
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--precompile",
    "--analyze",
    "--version",
    "-dumpversion",
    "-dumpmachine",
];

/// Options of ours, and how the pass is told.
const OURS: [(&str, &str); 4] = [
    ("--as-compiled", "LANDFALL_AS_COMPILED"),
    ("--sv-comp", "LANDFALL_SV_COMP"),
    ("--asm-atomic", "LANDFALL_ASM_ATOMIC"),
    (KERNEL, "LANDFALL_KERNEL"),
];

/// The program is a kernel's: it gets a machine.
const KERNEL: &str = "--kernel";

/// One that the pass gets all of.
const REPLACE: (&str, &str) = ("--replace=", "LANDFALL_REPLACE");

/// One that the pass need not know of.
const PMDK: &str = "--pmdk";

/// The runtime takes the place of functions of libc, `__libc_start_main` first of all: a shared libc allows that.
const STATIC: [&str; 3] = ["-static", "--static", "-static-pie"];
const STATIC_REMARK: &str = "-static is left out: the runtime needs libc as a shared library";

/// Sanitizers that take over memory or allocation, by what they bring to the link.
const SANITIZERS: [(&str, &str); 5] = [
    ("libclang_rt.asan", "address"),
    ("libclang_rt.hwasan", "hwaddress"),
    ("libclang_rt.lsan", "leak"),
    ("libclang_rt.msan", "memory"),
    ("libclang_rt.tsan", "thread"),
];

pub(super) fn compilation(
    clang: &Path,
    toolbox: &Toolbox,
    directory: Option<&Path>,
    arguments: &[OsString],
) -> Result<Compilation, CompilerError> {
    let (ours, mut user): (Vec<OsString>, Vec<OsString>) =
        arguments.iter().cloned().partition(|argument| {
            argument == PMDK
                || rule(argument).is_some()
                || OURS
                    .iter()
                    .any(|(option, _)| argument.as_os_str() == *option)
        });
    let pmdk = match ours.iter().any(|argument| argument == PMDK) {
        true => Some(Pmdk::find(toolbox)?),
        false => None,
    };
    let is_kernel = ours.iter().any(|argument| argument == KERNEL);
    let mut remarks: Vec<String> = assembly(&user);
    if !remarks.is_empty() {
        let options = user.clone();
        let mut is_value = false;
        for argument in &mut user {
            let value = std::mem::replace(
                &mut is_value,
                matches!(argument.to_str(), Some("-o" | "-MF" | "-include")),
            );
            if value || !super::assembly::is_source(argument) {
                continue;
            }
            let source = argument.clone();
            if let Some(path) =
                super::assembly::prepared(clang, toolbox, directory, &source, &options)
            {
                *argument = path.into();
            }
        }
    }
    let link = if !may_link(&user) {
        LinkPlan::None
    } else if plainly_executable(directory, &user) {
        LinkPlan::Executable(Vec::new())
    } else {
        planned_link(clang, directory, &user)?
    };
    if let LinkPlan::Executable(job) = &link {
        if let Some(name) = sanitizer(job) {
            return Err(CompilerError::Sanitizer { name });
        }
        if job.iter().any(|word| STATIC.contains(&word.as_str())) {
            user = without_static(user);
            remarks.push(STATIC_REMARK.to_owned());
        }
    }
    let (options, files) = user.split_at(end_of_options(&user));
    let mut command = Command::new(clang);
    command
        .args(compiling_before(pmdk.as_ref()))
        .args(options)
        .args(compiling_after(toolbox));
    if is_kernel {
        command.args(unobtrusive(["-D__LANDFALL_KERNEL__=1".into()]));
    }
    match &link {
        LinkPlan::Executable(_) => _ = command.args(linking(toolbox)),
        LinkPlan::Strict => _ = command.args(lenient()),
        LinkPlan::None => {}
    }
    command.args(files);
    if let (Some(pmdk), LinkPlan::Executable(_)) = (&pmdk, &link) {
        // Behind everything that may call it.
        command.args(pmdk.archives());
    }
    if let (true, LinkPlan::Executable(_)) = (is_kernel, &link) {
        command.args(["-x", "none"]).arg(machine(clang, toolbox)?);
    }
    for (option, variable) in OURS {
        if ours.iter().any(|argument| argument.as_os_str() == option) {
            command.env(variable, "1");
        }
    }
    let rules: Vec<&str> = ours.iter().filter_map(rule).collect();
    if !rules.is_empty() {
        command.env(REPLACE.1, rules.join(";"));
    }
    Ok(Compilation { command, remarks })
}

/// The machine that kernels run on, compiled once: what the user's own headers and macros say is not for it.
fn machine(clang: &Path, toolbox: &Toolbox) -> Result<PathBuf, CompilerError> {
    let source = toolbox.kernel();
    let object = source.with_extension("o");
    if object.is_file() {
        return Ok(object);
    }
    // Others may be at it as well: each makes its own, and one rename wins.
    let scratch = source.with_extension(format!("{}.o", std::process::id()));
    let mut command = Command::new(clang);
    command
        .args(["-g", "-O1", "-c"])
        .args(compiling_after(toolbox));
    command
        .args(["-D__LANDFALL_KERNEL__=1", "-o"])
        .arg(&scratch);
    let failed = |program: &Path, source| CompilerError::Run {
        program: program.to_owned(),
        source,
    };
    let compiled = command.arg(&source).output();
    let compiled = compiled.map_err(|source| failed(clang, source))?;
    if !compiled.status.success() {
        let why = String::from_utf8_lossy(&compiled.stderr).into_owned();
        return Err(failed(clang, io::Error::other(why)));
    }
    fs::rename(&scratch, &object).map_err(|source| failed(&object, source))?;
    Ok(object)
}

/// What `--replace` asks for, if an argument is that.
fn rule(argument: &OsString) -> Option<&str> {
    argument.to_str()?.strip_prefix(REPLACE.0)
}

/// What follows `--` are file names only.
fn end_of_options(arguments: &[OsString]) -> usize {
    arguments
        .iter()
        .position(|argument| argument.as_os_str() == "--")
        .unwrap_or(arguments.len())
}

/// No run of clang may complain about an option the user did not write.
fn unobtrusive(options: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut line = vec![OsString::from("--start-no-unused-arguments")];
    line.extend(options);
    line.push("--end-no-unused-arguments".into());
    line
}

/// Before the user's options, so that theirs win: the amount of debug information. And PMDK, so that it is found before another one
/// that is installed.
fn compiling_before(pmdk: Option<&Pmdk>) -> Vec<OsString> {
    let pmdk = pmdk.into_iter().flat_map(|pmdk| {
        [
            "-isystem".into(),
            pmdk.include().into_os_string(),
            prefixed("-L", pmdk.libraries().as_os_str()),
        ]
    });
    unobtrusive(std::iter::once("-g".into()).chain(pmdk))
}

/// After the user's options, because these must win.
fn compiling_after(toolbox: &Toolbox) -> Vec<OsString> {
    unobtrusive([
        prefixed("-fpass-plugin=", toolbox.pass().as_os_str()),
        // At -O0 clang marks every function as not to be touched by passes such as the promotion of locals.
        "-Xclang".into(),
        "-disable-O0-optnone".into(),
        // At -O0 clang says where variables of blocks begin and end for sanitizers only. This asks for that, and for nothing else.
        "-Xclang".into(),
        "-fsanitize-address-use-after-scope".into(),
        // The runtime walks stacks by frame pointers.
        "-fno-omit-frame-pointer".into(),
        "-D__LANDFALL__=1".into(),
        "-isystem".into(),
        toolbox.include().into_os_string(),
    ])
}

/// The runtime, whole: its versions of libc functions must be there even if only a shared library calls them. It is one object of
/// its archive, and comes because a symbol of it is asked for; `--whole-archive` would bring all of Rust's arithmetic, too.
fn linking(toolbox: &Toolbox) -> Vec<OsString> {
    let for_linker: [OsString; 6] = [
        toolbox.runtime().into_os_string(),
        prefixed("--dynamic-list=", toolbox.exports().as_os_str()),
        // No symbol is bound lazily: the first call of a function must not differ from the later ones.
        "-z".into(),
        "now".into(),
        // Brings the runtime. And someone's `-s` or `--gc-sections` must not take the source positions away.
        "--undefined=__lf_budget".into(),
        "--undefined=__lf_window".into(),
    ];
    for_linker
        .into_iter()
        .flat_map(|option| ["-Xlinker".into(), option])
        .collect()
}

fn prefixed(prefix: &str, rest: &OsStr) -> OsString {
    let mut text = OsString::from(prefix);
    text.push(rest);
    text
}

/// A quick look, to spare the common case (`-c`) the question to clang below. Response files are not opened here.
fn may_link(arguments: &[OsString]) -> bool {
    !arguments[..end_of_options(arguments)].iter().any(|option| {
        STOPS_BEFORE_LINKING
            .iter()
            .any(|stop| option.as_os_str() == *stop)
            || option
                .to_str()
                .is_some_and(|text| text.starts_with("-print-") || text.starts_with("--print-"))
    })
}

/// Options that say nothing about linking, by how they begin. Those that hand something to another tool (`-Wl,`) are taken out below.
const ABOUT_COMPILING: [&str; 9] = ["-D", "-I", "-O", "-U", "-W", "-g", "-mavx", "-mcl", "-std="];
const SOURCES: [&str; 4] = ["c", "cc", "cpp", "cxx"];

/// A quick look at the other common case: sources and well-known options make a program, and clang need not be asked, which
/// takes it longer than some files take to compile. Whoever is in doubt asks.
fn plainly_executable(directory: Option<&Path>, arguments: &[OsString]) -> bool {
    // With this clang changes what it is told.
    if std::env::var_os("CCC_OVERRIDE_OPTIONS").is_some() {
        return false;
    }
    let mut sources = 0;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.to_str() else {
            return false;
        };
        let known = match text {
            "-o" | "-I" | "-D" => words.next().is_some(),
            "-pthread" | "-Og" | "-w" => true,
            _ if text.starts_with("-W") && text.contains(',') => false,
            _ if text.starts_with('-') => {
                ABOUT_COMPILING.iter().any(|start| text.starts_with(start))
            }
            _ => {
                sources += 1;
                let ending = Path::new(text).extension().and_then(OsStr::to_str);
                ending.is_some_and(|ending| SOURCES.contains(&ending))
                    && directory.unwrap_or(Path::new("")).join(text).is_file()
            }
        };
        if !known {
            return false;
        }
    }
    sources > 0
}

/// What a command line links, as far as it concerns us.
#[derive(Debug, PartialEq)]
enum LinkPlan {
    /// Nothing, or nothing the runtime belongs to.
    None,
    /// An executable against libc, by this job.
    Executable(Vec<String>),
    /// A shared library that must not have undefined symbols.
    Strict,
}

/// Hooks are found in the executable that loads a library: they are undefined here, whatever the user thinks of that.
fn lenient() -> [OsString; 4] {
    ["-Xlinker", "-z", "-Xlinker", "undefs"].map(OsString::from)
}

/// Which sanitizer a link job brings that Landfall cannot live with.
fn sanitizer(job: &[String]) -> Option<&'static str> {
    let brings = |library: &str| job.iter().any(|word| word.contains(library));
    let found = SANITIZERS.iter().find(|(library, _)| brings(library));
    found.map(|(_, name)| *name)
}

/// The arguments without the wish for a static link, response files included.
fn without_static(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut expanded = response::expand(arguments);
    expanded.retain(|argument| !STATIC.iter().any(|option| argument.as_os_str() == *option));
    expanded
}

/// Hand-written assembly goes past the pass: one remark for each file.
fn assembly(arguments: &[OsString]) -> Vec<String> {
    let stops = |option: &OsString| option == "-E" || option == "-M" || option == "-MM";
    if arguments.iter().any(stops) {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    let mut value = false;
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        let is_value = std::mem::replace(&mut value, matches!(argument, "-o" | "-MF" | "-include"));
        let is_source = [".s", ".S", ".sx"]
            .iter()
            .any(|end| argument.ends_with(end));
        if is_source && !is_value && !argument.starts_with('-') {
            remarks.push(format!(
                "{argument}: assembly is not instrumented: its accesses of persistent memory are seen as they happen, its fences are not"
            ));
        }
    }
    remarks
}

/// Asks clang what it would do: only clang knows which arguments are inputs and what a response file says.
fn planned_link(
    clang: &Path,
    directory: Option<&Path>,
    arguments: &[OsString],
) -> Result<LinkPlan, CompilerError> {
    let failed = |source| CompilerError::Run {
        program: clang.to_owned(),
        source,
    };
    let mut plan = Command::new(clang);
    plan.arg("-###").args(arguments);
    if let Some(directory) = directory {
        plan.current_dir(directory);
    }
    let planned = plan.output().map_err(failed)?;
    // A command line clang refuses is refused again, visibly, by the run that follows.
    if !planned.status.success() {
        return Ok(LinkPlan::None);
    }
    Ok(link_of(&String::from_utf8_lossy(&planned.stderr)))
}

/// What the planned jobs link: an executable against libc (without libc there is nothing the runtime could live on), or a
/// library that has to be complete.
fn link_of(plan: &str) -> LinkPlan {
    for job in jobs(plan) {
        let Some((program, arguments)) = job.split_first() else {
            continue;
        };
        let is_linker = Path::new(program)
            .file_name()
            .and_then(OsStr::to_str)
            .is_some_and(|name| name.contains("ld"))
            && !arguments
                .iter()
                .any(|argument| argument == "-cc1" || argument == "-cc1as");
        let partial = [
            "-shared",
            "--shared",
            "-Bshareable",
            "-r",
            "--relocatable",
            "-Ur",
        ];
        let is_partial = arguments
            .iter()
            .any(|argument| partial.contains(&argument.as_str()));
        if !is_linker {
            continue;
        }
        if is_partial && is_strict(arguments) {
            return LinkPlan::Strict;
        }
        if !is_partial && arguments.iter().any(|argument| argument == "-lc") {
            return LinkPlan::Executable(job);
        }
    }
    LinkPlan::None
}

fn is_strict(arguments: &[String]) -> bool {
    let complete = |pair: &[String]| pair[0] == "-z" && pair[1] == "defs";
    arguments.windows(2).any(complete)
        || arguments
            .iter()
            .any(|word| word == "--no-undefined" || word == "-zdefs")
}

/// The words of each job as `clang -###` prints it, one job per line: each word in double quotes, with backslashes before special
/// characters. A line may end inside of a word.
fn jobs(plan: &str) -> Vec<Vec<String>> {
    let mut jobs = vec![Vec::new()];
    let mut characters = plan.chars();
    while let Some(character) = characters.next() {
        match character {
            '\n' => jobs.push(Vec::new()),
            '"' => {
                let mut word = String::new();
                while let Some(inside) = characters.next() {
                    match inside {
                        '"' => break,
                        '\\' => word.extend(characters.next()),
                        other => word.push(other),
                    }
                }
                jobs.last_mut()
                    .into_iter()
                    .for_each(|job| job.push(std::mem::take(&mut word)));
            }
            _ => {}
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_split_into_its_words() {
        assert_eq!(
            jobs("x\n \"/usr/bin/ld\" \"-o\" \"a \\\"b\\\" \\\\c\" \"d\ne\" \"-lc\"\n \"f\""),
            [
                vec![],
                vec!["/usr/bin/ld", "-o", r#"a "b" \c"#, "d\ne", "-lc"],
                vec!["f"]
            ]
        );
    }

    #[test]
    fn clang_is_asked_where_there_is_doubt() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/basic.c");
        let plain = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            plainly_executable(None, &words)
        };
        assert!(plain(source));
        assert!(plain(&format!(
            "-O2 -Wall -DN=2 -D M -std=c17 -pthread -mclwb -g3 {source} -o x"
        )));
        for doubtful in [
            "-Wl,-static",
            "-static",
            "-shared",
            "-fsanitize=address",
            "-nostdlib",
            "-",
            "@file",
            "x.o",
            "missing.c",
            "--",
            "-xc",
            "-lm",
        ] {
            assert!(!plain(&format!("{source} {doubtful}")), "{doubtful}");
        }
        assert!(!plain("-O2"));
        assert!(!plain(&format!("{source} -o")));
    }

    #[test]
    fn only_a_complete_link_takes_the_runtime() {
        let job = |arguments: &str| {
            format!("clang version 19\nInstalledDir: /x\n \"/usr/bin/ld\" {arguments}")
        };
        let executable = link_of(&job(r#""-pie" "a.o" "-lc""#));
        assert!(matches!(executable, LinkPlan::Executable(_)));
        assert_eq!(link_of(&job(r#""-shared" "a.o" "-lc""#)), LinkPlan::None);
        assert_eq!(link_of(&job(r#""-r" "a.o" "-lc""#)), LinkPlan::None);
        assert_eq!(link_of(&job(r#""a.o""#)), LinkPlan::None);
        assert_eq!(
            link_of(r#" "/usr/lib/ldc/clang" "-cc1" "-lc""#),
            LinkPlan::None
        );
        let strict = job(r#""-shared" "a.o" "-lc" "-z" "defs""#);
        assert_eq!(link_of(&strict), LinkPlan::Strict);
    }
}
