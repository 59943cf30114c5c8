//! What a check may take: time, which is kept; standard input, the same for every run; a folder, which is its own.

use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

fn input(name: &str) -> PathBuf {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/clock");
    inputs.join(name)
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("clock")
        .join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn landfall(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landfall"));
    command.current_dir(directory).stdin(Stdio::null());
    command
}

fn run_json(out: &Path) -> Value {
    serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fed(command: &mut Command, with: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(with).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn every_run_reads_the_same_standard_input() {
    let here = folder("stdin");
    let check = |with: &[u8]| {
        let mut command = landfall(&here);
        fed(command.args(["check"]).arg(input("reads.c")), with)
    };
    let output = check(b"42\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = check(b"7\n");
    assert_eq!(output.status.code(), Some(100), "{output:?}");
    assert!(text(&output.stdout).contains("`number == 42` is false"));
    let run = run_json(&here.join("landfall-out"));
    assert_eq!(run["stdin"]["file"], "landfall-out/stdin");
    assert_eq!(run["stdin"]["bytes"], 2);
    let mut command = landfall(&here);
    let again = command.args(["replay", "landfall-out/B1.json"]).output();
    assert_eq!(again.unwrap().status.code(), Some(100));
    // Without it nothing can be said.
    fs::write(here.join("landfall-out/stdin"), "something else").unwrap();
    let mut command = landfall(&here);
    let again = command.args(["replay", "landfall-out/B1.json"]).output();
    let again = again.unwrap();
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert!(text(&again.stderr).contains("its size is another"));
}

#[test]
fn much_standard_input_is_no_trouble() {
    let here = folder("much");
    let mut child = landfall(&here)
        .args(["check", "--checks", "crash"])
        .arg(input("sums.c"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let piece = vec![7u8; 1 << 20];
    for _ in 0..100 {
        stdin.write_all(&piece).unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert_eq!(
        run_json(&here.join("landfall-out"))["stdin"]["bytes"],
        100 << 20
    );
}

#[test]
fn checks_in_one_directory_do_not_meet() {
    let here = folder("pairs");
    for _ in 0..6 {
        let start = |name: &str| -> Child {
            let mut command = landfall(&here);
            command
                .args(["check", "--checks", "crash"])
                .arg(input(name));
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let pair = [("buggy.c", 100), ("correct.c", 0)].map(|(name, code)| (start(name), code));
        for (child, code) in pair {
            let output = child.wait_with_output().unwrap();
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{said}");
        }
    }
}

#[test]
fn a_folder_in_use_is_refused_and_a_default_one_is_replaced() {
    let here = folder("claimed");
    let taken = here.join("landfall-out");
    fs::create_dir(&taken).unwrap();
    let lock = File::create(taken.join(".landfall")).unwrap();
    assert!(landfall_native::try_lock(&lock, landfall_native::Lock::Alone).unwrap());
    let check = |arguments: &[&str]| {
        let mut command = landfall(&here);
        command.arg("check").args(arguments).arg(input("buggy.c"));
        command.output().unwrap()
    };
    let output = check(&["--out", "landfall-out"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("another landfall writes there"), "{said}");
    let output = check(&[]);
    assert_eq!(output.status.code(), Some(100), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("this one writes to landfall-out-2"), "{said}");
    assert!(here.join("landfall-out-2/B1.json").exists());
    // It died: what it claimed is free.
    drop(lock);
    assert_eq!(check(&["--out", "landfall-out"]).status.code(), Some(100));
}

#[test]
fn a_folder_of_somebody_else_loses_nothing() {
    let here = folder("theirs");
    for (name, code) in [("notes.txt", 100), ("B1.json", 2), ("report.html", 2)] {
        let theirs = here.join(name).with_extension("d");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join(name), "mine").unwrap();
        for _ in 0..2 {
            let mut command = landfall(&here);
            command.args(["check", "--quiet", "--out"]).arg(&theirs);
            let output = command.arg(input("buggy.c")).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
            assert_eq!(fs::read(theirs.join(name)).unwrap(), b"mine");
        }
    }
}

#[test]
fn time_ends_executions_that_do_not_end() {
    let here = folder("time");
    let check = |name: &str, more: &[&str]| {
        let mut command = landfall(&here);
        command.args(["check", "--time", "1s"]).args(more);
        command.arg(input(name)).output().unwrap()
    };
    let output = check("forever.c", &[]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let limits = &run_json(&here.join("landfall-out"))["limits"];
    assert_eq!(limits[0], "time", "{limits}");
    // What was found before is told.
    let long = ["--checks", "crash", "--events", "1000000000000"];
    let output = check("endless.c", &long);
    assert_eq!(output.status.code(), Some(100), "{output:?}");
    let run = run_json(&here.join("landfall-out"));
    assert_eq!(run["findings"][0]["kind"], "assertion", "{run:#}");
    assert!(run["limits"].as_array().unwrap().contains(&"time".into()));
    assert!(run["stats"]["compile_seconds"].as_f64().unwrap() > 0.0);
}

fn terminate(process: &Child) {
    let pid = process.id().to_string();
    let kill = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(kill.unwrap().success());
}

/// A check of a program that never ends, of which one failure was announced; and what else it will say on standard error.
fn announced(here: &Path) -> (Child, BufReader<ChildStderr>) {
    fs::copy(input("endless.c"), here.join("endless.c")).unwrap();
    let mut command = landfall(here);
    command.args(["check", "--checks", "crash", "--events", "1000000000000"]);
    command.arg("endless.c").stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("found[assertion] at ") {
        line.clear();
        let read = stderr.read_line(&mut line).unwrap();
        assert!(read > 0, "it ended without a word");
    }
    (child, stderr)
}

/// What was announced is told and kept, whether there is time to tell it in full or, after a second signal, none.
#[test]
fn a_terminated_check_reports_what_it_has() {
    for (times, name) in [(1, "once"), (2, "twice")] {
        let here = folder(name);
        let (child, mut stderr) = announced(&here);
        (0..times).for_each(|_| terminate(&child));
        let output = child.wait_with_output().unwrap();
        let mut errors = String::new();
        stderr.read_to_string(&mut errors).unwrap();
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(100), "{told}{errors}");
        let message = "recovery fails: `!(cell[8] == 1 && cell[0] == 0)` is false";
        assert!(
            told.contains(&format!("error[assertion]: {message}")),
            "{told}"
        );
        assert!(told.contains("1 found (limit: interrupt)"), "{told}");
        assert!(told.contains("= note: not minimised"), "{told}");
        let run = run_json(&here.join("landfall-out"));
        assert_eq!(run["findings"][0]["message"], message, "{run:#}");
        assert_eq!(run["findings"][0]["minimised"], false);
        assert!(
            run["limits"]
                .as_array()
                .unwrap()
                .contains(&"interrupt".into())
        );
    }
}

/// The fields of /proc/PID/stat behind the name, which may hold anything.
fn parent(process: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

/// All processes below one, and what each runs.
fn below(process: u32) -> Vec<(u32, PathBuf)> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found = Vec::new();
    for child in all.filter(|&child| parent(child) == Some(process)) {
        let runs = fs::read_link(format!("/proc/{child}/exe"));
        found.extend(runs.ok().map(|path| (child, path)));
        found.extend(below(child));
    }
    found
}

#[test]
fn a_terminated_repair_leaves_no_process_and_no_change() {
    let here = folder("terminated-repair");
    let (child, _stderr) = announced(&here);
    terminate(&child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(100));
    let before = fs::read(input("endless.c")).unwrap();
    // The check of the patch does not end either.
    let scratch = here.join("scratch");
    fs::create_dir(&scratch).unwrap();
    let mut command = landfall(&here);
    command.args(["fix", "landfall-out", "--apply"]);
    command.env("TMPDIR", &scratch);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let fix = command.spawn().unwrap();
    let running = loop {
        let running = below(fix.id());
        // The check, and the program that it runs.
        if running
            .iter()
            .any(|(_, path)| path.ends_with("out/program"))
        {
            break running;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    terminate(&fix);
    let output = fix.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert_eq!(text(&output.stderr), "landfall: interrupted\n");
    assert_eq!(text(&output.stdout), "");
    assert_eq!(fs::read(here.join("endless.c")).unwrap(), before);
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
    // A process that was killed may take a moment to go.
    let same = |(process, path): &(u32, PathBuf)| {
        fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|now| now == *path)
    };
    while running.iter().any(same) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn repairs_and_debuggers_get_the_same_standard_input() {
    let here = folder("same-stdin");
    fs::copy(input("told.c"), here.join("told.c")).unwrap();
    let mut command = landfall(&here);
    let output = fed(command.args(["check", "told.c"]), b"7\n");
    assert_eq!(output.status.code(), Some(100), "{output:?}");
    let told = text(&output.stdout);
    assert!(
        told.contains("recovery fails: `cell[0] == 7` is false"),
        "{told}"
    );
    let mut command = landfall(&here);
    command.args(["replay", "landfall-out/B1.json", "--gdb"]);
    let output = fed(command.args(["--ex", "p number"]), b"42\n");
    assert_eq!(output.status.code(), Some(100), "{output:?}");
    assert!(text(&output.stdout).contains("$1 = 7\n"), "{output:?}");
    // With any other input the program fails by itself, and no patch would do.
    let mut command = landfall(&here);
    let output = fed(command.args(["fix", "landfall-out", "--apply"]), b"42\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stderr).contains("checked again: the check is clean"));
    assert_eq!(run_json(&here.join("landfall-out"))["stdin"]["bytes"], 2);
}

/// A question so large that making it takes minutes; and one that is, and is hard.
#[test]
fn proofs_end_in_time() {
    let here = folder("proofs");
    let prove = |arguments: &[&str]| {
        let mut command = landfall(&here);
        command.args(["prove", "--time", "1s"]).args(arguments);
        command.arg(input("laborious.c")).output().unwrap()
    };
    let output = prove(&[]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let told = text(&output.stdout);
    for property in ["invariant", "robust"] {
        let said = format!("laborious.c: {property}: unknown, the time was up\n");
        assert!(told.contains(&said), "{told}");
    }
    let output = prove(&[
        "--format",
        "json",
        "--property",
        "robust",
        "--solver",
        "batsat",
    ]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answers = answer["properties"].as_array().unwrap();
    assert_eq!(answers.len(), 1, "{answer:#}");
    assert_eq!(answers[0]["verdict"], "unknown");
    assert_eq!(answers[0]["why"], "the time was up");
}
