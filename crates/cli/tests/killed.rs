//! A program's process that someone kills from outside, or the system for want of memory: an error, no verdict about the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Recovery turns until someone ends it.
const ENDLESS: &str = "#include <landfall.h>\n\
    int main(void) {\n  long *valid = lf_pm(sizeof *valid);\n  \
    if (lf_failures())\n    for (volatile unsigned long i = 0;; i++)\n      ;\n  \
    *valid = 1;\n  lf_persist(valid, sizeof *valid);\n  return 0;\n}\n";

fn checking(name: &str) -> Child {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("endless.c"), ENDLESS).unwrap();
    Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(["check", "--checks", "crash", "--events", "1000000000000"])
        .args(["--out", "out", "endless.c"])
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The fields of /proc/PID/stat behind the name, which may hold anything.
fn stat(process: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

fn children(of: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parent = |process: u32| stat(process)?.get(1)?.parse::<u32>().ok();
    processes
        .filter(|&process| parent(process) == Some(of))
        .collect()
}

/// Programs that run below a process, outermost first.
fn programs(below: u32) -> Vec<u32> {
    let is_program = |process: &u32| {
        let path = fs::read_link(format!("/proc/{process}/exe"));
        path.is_ok_and(|path: PathBuf| path.ends_with("out/program"))
    };
    let mut found = Vec::new();
    for child in children(below) {
        found.extend(Some(child).filter(is_program));
        found.extend(programs(child));
    }
    found
}

/// Has it had a third of a second of a processor? Then it is in its endless loop.
fn is_turning(process: u32) -> bool {
    let ticks = stat(process).and_then(|fields| fields.get(11)?.parse::<u64>().ok());
    ticks.is_some_and(|ticks| ticks > 30)
}

/// Kills the process that is in the loop, or the server it belongs to.
fn killed(name: &str, victim: impl Fn(u32, &[u32]) -> u32) -> Output {
    let check = checking(name);
    loop {
        let programs = programs(check.id());
        if let Some(&turning) = programs.iter().find(|&&process| is_turning(process)) {
            let victim = victim(turning, &programs).to_string();
            let done = Command::new("kill").args(["-9", &victim]).status().unwrap();
            assert!(done.success());
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    check.wait_with_output().unwrap()
}

fn is_said(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("killed from outside (SIGKILL)"), "{errors}");
}

#[test]
fn a_killed_run_is_an_error_that_says_so() {
    is_said(&killed("killed-run", |turning, _| turning));
}

#[test]
fn a_killed_server_is_an_error_that_says_so() {
    // A run in place is its server.
    let server = |turning, programs: &[u32]| {
        let parent = stat(turning).and_then(|fields| fields[1].parse().ok());
        parent.filter(|p| programs.contains(p)).unwrap_or(turning)
    };
    is_said(&killed("killed-server", server));
}
