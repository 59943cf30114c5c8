//! `landfall run`: what it leaves with, what it says, and that it leaves nothing behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn landfall() -> Command {
    Command::new(env!("CARGO_BIN_EXE_landfall"))
}

/// A fresh directory of a test's own.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("run-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory");
    path.canonicalize().expect("a path")
}

/// Compiles a program into a directory of its own.
fn built(directory: &Path, source: &str) -> PathBuf {
    let (file, program) = (directory.join("main.c"), directory.join("main"));
    std::fs::write(&file, source).expect("writable");
    let status = landfall()
        .args(["cc", "-w"])
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(status.expect("runs").success());
    program
}

fn run(program: &Path, options: &[&str]) -> Output {
    let mut command = landfall();
    command.arg("run").args(options).arg(program);
    command.output().expect("runs")
}

#[test]
fn a_failed_run_leaves_with_100() {
    let directory = directory("exit");
    let well = built(&directory, "int main(void) { return 0; }\n");
    assert_eq!(run(&well, &[]).status.code(), Some(0));
    let badly = built(&directory, "int main(void) { return 3; }\n");
    assert_eq!(run(&badly, &[]).status.code(), Some(100));
}

#[test]
fn what_cannot_be_started_says_why_once() {
    let output = run(Path::new("./nothing-here"), &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
}

#[test]
fn a_run_that_differs_says_where() {
    if !std::arch::is_x86_feature_detected!("rdrand") {
        return;
    }
    let directory = directory("differs");
    // In assembly nobody replaces it.
    let source = "#include <landfall.h>\nint main(void) {\n    long *p = lf_pm(64), value;\n    \
                  __asm__ volatile(\"rdrand %0\" : \"=r\"(value));\n    *p = value;\n    return 0;\n}\n";
    let output = run(&built(&directory, source), &["--repeat", "3"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("differs from the first at event"), "{said}");
    assert!(
        said.contains("main.c:5") && !said.contains("Event {"),
        "{said}"
    );
}

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let directory = directory("interrupt");
    let program = built(
        &directory,
        "int main(void) { for (;;) __asm__ volatile(\"\"); }\n",
    );
    let before = entries(&directory);
    let mut checker = landfall()
        .args(["run", "--events", "1000000000000"])
        .arg(&program)
        .current_dir(&directory)
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    // The server and its run.
    wait_until(|| processes(&program) >= 2);
    let interrupt = Command::new("kill")
        .args(["-INT", &checker.id().to_string()])
        .status();
    assert!(interrupt.expect("kill").success());
    checker.wait().expect("it ends");
    wait_until(|| processes(&program) == 0);
    assert_eq!(entries(&directory), before);
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).expect("a directory").count()
}

/// Processes whose executable is the program: not the checker, which only names it.
fn processes(program: &Path) -> usize {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    all.filter(|entry| std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program))
        .count()
}

/// However long it takes: who runs the tests has a limit of their own.
fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(50));
    }
}
