//! What is added to a command line, and where.

use super::{Compilation, CompilerError, Toolbox};
use std::ffi::{OsStr, OsString};
use std::path::Path;
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

/// The runtime takes the place of functions of libc, `__libc_start_main` first of all: a shared libc allows that.
const STATIC: [&str; 3] = ["-static", "--static", "-static-pie"];
const STATIC_REMARK: &str = "-static is left out: the runtime needs libc as a shared library";

pub(super) fn compilation(
    clang: &Path,
    toolbox: &Toolbox,
    arguments: &[OsString],
) -> Result<Compilation, CompilerError> {
    let (ours, mut user): (Vec<&OsString>, Vec<&OsString>) = arguments
        .iter()
        .partition(|argument| argument.as_os_str() == "--as-compiled");
    let links = may_link(&user) && links_executable(clang, &user)?;
    let mut remark = None;
    if links {
        let before = user.len();
        user.retain(|argument| !STATIC.iter().any(|option| argument.as_os_str() == *option));
        remark = (user.len() < before).then_some(STATIC_REMARK);
    }
    let (options, files) = user.split_at(end_of_options(&user));
    let mut command = Command::new(clang);
    command
        .args(compiling_before())
        .args(options)
        .args(compiling_after(toolbox));
    if links {
        command.args(linking(toolbox));
    }
    command.args(files);
    if !ours.is_empty() {
        command.env("LANDFALL_AS_COMPILED", "1");
    }
    Ok(Compilation { command, remark })
}

/// What follows `--` are file names only.
fn end_of_options(arguments: &[&OsString]) -> usize {
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

/// Before the user's options, so that theirs win: the amount of debug information.
fn compiling_before() -> Vec<OsString> {
    unobtrusive(["-g".into()])
}

/// After the user's options, because these must win.
fn compiling_after(toolbox: &Toolbox) -> Vec<OsString> {
    unobtrusive([
        prefixed("-fpass-plugin=", toolbox.pass().as_os_str()),
        // At -O0 clang marks every function as not to be touched by passes such as the promotion of locals.
        "-Xclang".into(),
        "-disable-O0-optnone".into(),
        // The runtime walks stacks by frame pointers.
        "-fno-omit-frame-pointer".into(),
        "-D__LANDFALL__=1".into(),
        "-isystem".into(),
        toolbox.include().into_os_string(),
    ])
}

/// The runtime, whole: its versions of libc functions must be there even if only a shared library calls them.
fn linking(toolbox: &Toolbox) -> Vec<OsString> {
    let for_linker: [OsString; 8] = [
        "--push-state".into(),
        "--whole-archive".into(),
        toolbox.runtime().into_os_string(),
        "--pop-state".into(),
        prefixed("--dynamic-list=", toolbox.exports().as_os_str()),
        // No symbol is bound lazily: the first call of a function must not differ from the later ones.
        "-z".into(),
        "now".into(),
        // Someone's `-s` or `--gc-sections` must not take the source positions away.
        "--undefined=__lf_budget".into(),
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
fn may_link(arguments: &[&OsString]) -> bool {
    !arguments[..end_of_options(arguments)].iter().any(|option| {
        STOPS_BEFORE_LINKING
            .iter()
            .any(|stop| option.as_os_str() == *stop)
            || option
                .to_str()
                .is_some_and(|text| text.starts_with("-print-") || text.starts_with("--print-"))
    })
}

/// Asks clang what it would do: only clang knows which arguments are inputs and what a response file says.
fn links_executable(clang: &Path, arguments: &[&OsString]) -> Result<bool, CompilerError> {
    let failed = |source| CompilerError::Run {
        program: clang.to_owned(),
        source,
    };
    let planned = Command::new(clang)
        .arg("-###")
        .args(arguments)
        .output()
        .map_err(failed)?;
    // A command line clang refuses is refused again, visibly, by the run that follows.
    Ok(planned.status.success() && makes_executable(&String::from_utf8_lossy(&planned.stderr)))
}

/// Whether one of the planned jobs links an executable against libc. Without libc there is nothing the runtime could
/// live on.
fn makes_executable(plan: &str) -> bool {
    plan.lines().map(words).any(|job| {
        let Some((program, arguments)) = job.split_first() else {
            return false;
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
        is_linker
            && arguments.iter().any(|argument| argument == "-lc")
            && !arguments
                .iter()
                .any(|argument| partial.contains(&argument.as_str()))
    })
}

/// The words of a job as `clang -###` prints it: each in double quotes, with backslashes before special characters.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '"' {
            continue;
        }
        let mut word = String::new();
        while let Some(inside) = characters.next() {
            match inside {
                '"' => break,
                '\\' => word.extend(characters.next()),
                other => word.push(other),
            }
        }
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_split_into_its_words() {
        assert_eq!(
            words(r#" "/usr/bin/ld" "-o" "a \"b\" \\c" "-lc""#),
            ["/usr/bin/ld", "-o", r#"a "b" \c"#, "-lc"]
        );
    }

    #[test]
    fn only_a_complete_link_takes_the_runtime() {
        let job = |arguments: &str| {
            format!("clang version 19\nInstalledDir: /x\n \"/usr/bin/ld\" {arguments}")
        };
        assert!(makes_executable(&job(r#""-pie" "a.o" "-lc""#)));
        assert!(!makes_executable(&job(r#""-shared" "a.o" "-lc""#)));
        assert!(!makes_executable(&job(r#""-r" "a.o" "-lc""#)));
        assert!(!makes_executable(&job(r#""a.o""#)));
        assert!(!makes_executable(r#" "/usr/lib/ldc/clang" "-cc1" "-lc""#));
    }
}
