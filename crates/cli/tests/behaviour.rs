//! What no recorded session can show: many files, closed pipes, odd directories.

use serde_json::Value;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const TEST: &str =
    "name: NAME\nlines: x | f\nT0: x = 1; clflush x; f = 1\nrecover: f x\nforbidden: f=1 x=0\n";

/// An empty directory of this test's own.
fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn landfall(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landfall"));
    command.args(arguments).current_dir(directory);
    command
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    landfall(directory, arguments).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn write_tests(directory: &Path, count: usize) {
    for n in 0..count {
        let name = format!("T{n:04}");
        fs::write(
            directory.join(format!("{name}.lit")),
            TEST.replace("NAME", &name),
        )
        .unwrap();
    }
}

#[test]
fn version_is_a_number_and_a_commit() {
    let output = run(Path::new("."), &["--version"]);
    let text = stdout(&output).trim().to_owned();
    let commit = text
        .strip_prefix(concat!("landfall ", env!("CARGO_PKG_VERSION"), " ("))
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or_else(|| panic!("{text}"));
    assert!(
        commit == "unknown" || commit.chars().all(|c| c.is_ascii_hexdigit()),
        "{text}"
    );
}

#[test]
fn thousands_of_tests_in_one_call_come_out_in_order() {
    let directory = scratch("thousands");
    write_tests(&directory, 3000);
    let output = run(&directory, &["litmus", ".", "-j", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).is_empty(), "no progress in a pipe");
    let names: Vec<&str> = (stdout(&output).lines())
        .filter(|line| line.starts_with('T'))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names.len(), 3000);
    assert!(names.is_sorted());
    assert!(stdout(&output).ends_with("3000 tests: 3000 as expected, 0 differ, 0 unreadable\n"));
    let alone = run(&directory, &["litmus", ".", "-j", "1"]);
    assert_eq!(alone.stdout, output.stdout);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let directory = scratch("pipe");
    write_tests(&directory, 2000);
    for arguments in [&["litmus", "."][..], &["litmus", ".", "--format", "json"]] {
        let mut child = landfall(&directory, arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut some = [0; 10];
        let mut reader = child.stdout.take().unwrap();
        reader.read_exact(&mut some).unwrap();
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert_eq!(stderr(&output), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_directory_without_tests_is_named() {
    let directory = scratch("empty");
    fs::create_dir(directory.join("nothing")).unwrap();
    fs::write(directory.join("nothing/notes.txt"), "no test").unwrap();
    let output = run(&directory, &["litmus", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    assert_eq!(
        stderr(&output),
        "error: nothing: no .lit or .litmus file in this directory\n"
    );
}

#[test]
fn every_unreadable_file_is_reported_and_the_others_run() {
    let directory = scratch("unreadable");
    write_tests(&directory, 2);
    fs::write(directory.join("binary.lit"), [0xff, 0xfe, 0x00]).unwrap();
    fs::write(directory.join("huge.lit"), vec![b'#'; 5 << 20]).unwrap();
    symlink("round.lit", directory.join("round.lit")).unwrap();
    symlink("nowhere", directory.join("dangling.lit")).unwrap();
    let output = run(&directory, &["litmus", ".", "missing.lit"]);
    assert_eq!(output.status.code(), Some(2));
    let complaints = stderr(&output);
    assert_eq!(complaints.lines().count(), 5, "{complaints}");
    for (file, why) in [
        ("./binary.lit", "byte 0 is not UTF-8"),
        ("./dangling.lit", "no such file"),
        ("./huge.lit", "larger than 4 MiB"),
        ("./round.lit", ""),
        ("missing.lit", "no such file"),
    ] {
        let named =
            |line: &str| line.starts_with(&format!("error: {file}: ")) && line.contains(why);
        assert!(complaints.lines().any(named), "{file}: {complaints}");
    }
    assert!(stdout(&output).ends_with("7 tests: 2 as expected, 0 differ, 5 unreadable\n"));
}

#[test]
fn a_pipe_is_not_waited_for() {
    let directory = scratch("fifo");
    let made = Command::new("mkfifo").arg(directory.join("f.lit")).status();
    assert!(made.unwrap().success());
    for path in ["f.lit", "."] {
        let output = run(&directory, &["litmus", path]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).ends_with("f.lit: not a regular file\n"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn control_characters_are_spelt_out() {
    let directory = scratch("control");
    write_tests(&directory, 1);
    let text = TEST
        .replace("NAME", "a\x1b[31mred")
        .replace("f=1 x=0", "f=1");
    fs::write(directory.join("b\x1b[1m.lit"), text).unwrap();
    fs::write(directory.join("c\r.lit"), "no test").unwrap();
    for arguments in [&["litmus", "."][..], &["litmus", ".", "-v"]] {
        let output = run(&directory, arguments);
        for text in [stdout(&output), stderr(&output)] {
            assert!(
                !text.contains(|c: char| c.is_control() && c != '\n'),
                "{text:?}"
            );
        }
        for shown in [r"a\u{1b}[31mred", r"  in ./b\u{1b}[1m.lit", r"./c\r.lit"] {
            assert!(stdout(&output).contains(shown), "{}", stdout(&output));
        }
        assert!(
            stderr(&output).starts_with(r"error: ./c\r.lit:1:1: "),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn directories_that_contain_themselves_end() {
    let directory = scratch("loop");
    write_tests(&directory, 1);
    symlink(".", directory.join("again")).unwrap();
    fs::create_dir(directory.join("deep")).unwrap();
    symlink("..", directory.join("deep/up")).unwrap();
    let output = run(&directory, &["litmus", ".", "again", "T0000.lit"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).ends_with("1 test: 1 as expected, 0 differ, 0 unreadable\n"));
}

#[test]
fn json_holds_what_it_promises() {
    let directory = scratch("json");
    write_tests(&directory, 1);
    fs::write(directory.join("bad.lit"), "name: bad\nlines: x\nT0: x = \n").unwrap();
    let output = run(&directory, &["litmus", ".", "--format", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["tool"], "landfall");
    assert_eq!(object["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(object["verdict"], "error");
    let [good, bad] = object["tests"].as_array().unwrap().as_slice() else {
        panic!("{object}");
    };
    assert_eq!(good["file"], "./T0000.lit");
    assert_eq!(good["verdict"], "ok");
    assert_eq!(good["outcomes"].as_array().unwrap().len(), 3);
    assert!(good["states"].as_u64().unwrap() > 0);
    assert_eq!(good["expectations"][0]["quantifier"], "never");
    assert_eq!(good["expectations"][0]["text"], "f=1 x=0");
    assert_eq!(good["expectations"][0]["holds"], true);
    assert_eq!(bad["verdict"], "unreadable");
    assert_eq!(bad["error"]["line"], 3);
    assert!(bad["error"]["column"].as_u64().unwrap() > 0);
    assert!(
        bad["error"]["message"]
            .as_str()
            .unwrap()
            .contains("expected")
    );
    assert_eq!(object["summary"]["tests"], 2);
    assert_eq!(object["summary"]["unreadable"], 1);
}
