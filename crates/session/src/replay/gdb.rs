//! gdb on the failing execution: the program starts under gdb on the same image and is stopped where it fails.

use crate::programs::{Failure, LoggedRun, Programs, RunRole};
use crate::record::quoted;
use anyhow::Context;
use landfall_native::{Job, Outcome, SubjectError};
use std::path::Path;
use std::process::Command;

pub(crate) fn open(
    asked: &[String],
    programs: &Programs,
    input: Option<&Path>,
    runs: &[LoggedRun],
    failures: &[Failure],
) -> anyhow::Result<()> {
    let last = runs.last().context("the witness holds no execution")?;
    let program = match &programs.recover {
        Some(recover) if !failures.is_empty() => recover,
        _ => &programs.program,
    };
    let nothing = last.found.untouched();
    let lines = last
        .found
        .delta(&nothing)
        .map(|(line, bytes)| landfall_native::Line {
            offset: line.start().0,
            bytes,
        })
        .collect();
    let mut job = Job {
        image: landfall_native::Image { lines },
        reads_only: false,
        ..programs.job_after(failures.len(), RunRole::Last)
    };
    // Whoever looks around in a debugger takes their time.
    job.limits.processor = std::time::Duration::from_secs(24 * 3600);
    let mut gdb = Command::new("gdb");
    gdb.arg("-q");
    if let Some(directory) = &program.directory {
        gdb.current_dir(directory);
    }
    if !asked.is_empty() {
        gdb.arg("-batch");
    }
    let stops = job.threads.stop.is_some();
    for command in commands(&last.execution.outcome, stops, input) {
        gdb.args(["-ex", &command]);
    }
    for command in asked {
        gdb.args(["-ex", command]);
    }
    gdb.arg("--args")
        .arg(&program.path)
        .args(&program.arguments);
    match landfall_native::debug(program, &job, gdb) {
        Ok(_) => Ok(()),
        Err(SubjectError::Start { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
            anyhow::bail!("gdb was not found: apt-get install gdb, or `make setup`")
        }
        Err(error) => Err(error.into()),
    }
}

/// What brings gdb to the failing point.
fn commands(outcome: &Outcome, stops: bool, input: Option<&Path>) -> Vec<String> {
    let run = match input {
        Some(input) => format!("run < {}", quoted(input.as_os_str())),
        None => "run".to_owned(),
    };
    let mut commands: Vec<String> = [
        "set pagination off",
        "set confirm off",
        "set breakpoint pending on",
        // The runtime's own signals: system calls under control, accesses it must see, the clock.
        "handle SIGSYS nostop noprint pass",
        "handle SIGSEGV nostop noprint pass",
        "handle SIGVTALRM nostop noprint pass",
        "handle SIGPROF nostop noprint pass",
        // The run is a child of the server, which must not be left behind.
        "set follow-fork-mode child",
        "set detach-on-fork off",
        // Here persistent memory is where the program has it; during a run its content lies elsewhere.
        "break __lf_ends",
    ]
    .map(str::to_owned)
    .to_vec();
    if stops {
        // The second access of a data race comes next.
        commands.extend(["break __lf_meets".to_owned(), run, "up 4".to_owned()]);
    } else if let Outcome::Signal {
        signal: 11,
        address,
        ..
    } = outcome
    {
        // At the access itself, before the runtime's handler: that one is not the program's business.
        commands.push("catch signal SIGSEGV".to_owned());
        commands.push(format!(
            "condition $bpnum (unsigned long)$_siginfo._sifields._sigfault.si_addr == {address:#x}"
        ));
        commands.push(run);
    } else {
        // Out of the runtime, to the line of the program.
        commands.extend([run, "up 3".to_owned()]);
    }
    commands
}
