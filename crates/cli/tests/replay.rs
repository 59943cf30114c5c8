//! `landfall replay` on what `landfall check` leaves behind. What it tells of some examples is in `tests/replay/*.told`;
//! `BLESS=1 cargo nextest run -p landfall-cli replay::` writes what was found into the files.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn landfall(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(arguments)
        .current_dir(directory)
        .env("XDG_CACHE_HOME", scratch().join("cache"))
        .output()
        .unwrap()
}

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks an example into a directory of its own, which is returned.
fn checked(name: &str, example: &str) -> PathBuf {
    let out = scratch().join("replay").join(name);
    let _ = fs::remove_dir_all(&out);
    let place = out.to_str().unwrap();
    let output = landfall(
        &root().join("examples"),
        &["check", "--out", place, example],
    );
    assert_eq!(output.status.code(), Some(100), "{}", text(&output.stderr));
    out
}

fn replay(out: &Path, arguments: &[&str]) -> Output {
    let bug = out.join("B1.json");
    let mut all = vec!["replay", bug.to_str().unwrap()];
    all.extend(arguments);
    landfall(&root(), &all)
}

/// Changes the witness.
fn edit(out: &Path, change: impl FnOnce(&mut Value)) {
    let bug = out.join("B1.json");
    let mut witness: Value = serde_json::from_slice(&fs::read(&bug).unwrap()).unwrap();
    change(&mut witness);
    fs::write(&bug, witness.to_string()).unwrap();
}

#[test]
fn the_story_is_told() {
    for (name, example) in [
        ("missing-fence", "commit-flag/missing-fence.c"),
        ("payload", "linked-list/payload-not-flushed.cc"),
        ("streamed", "append-log/streamed-no-fence.c"),
    ] {
        let out = checked(name, example);
        let output = replay(&out, &[]);
        assert_eq!(output.status.code(), Some(100), "{}", text(&output.stderr));
        let found = text(&output.stdout).replace(out.to_str().unwrap(), "OUT");
        let golden =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/replay/{name}.told"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &found).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(found, expected, "{name}: BLESS=1 accepts what was found");
    }
}

#[test]
fn what_is_not_the_same_is_named() {
    let out = checked("differences", "commit-flag/missing-flush.c");
    let original = fs::read(out.join("B1.json")).unwrap();
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 4] = [
        (
            |witness| witness["outcome"]["text"] = "something else".into(),
            "execution 2 ended with: `r->data[i] == i + 1` is false; when it was found: something else",
        ),
        (
            |witness| witness["failures"][0]["cut"] = 1_000_000.into(),
            "execution 1 does not get to the point of the power failure in the same way",
        ),
        (
            |witness| {
                let bytes = &mut witness["failures"][0]["image"][0]["bytes"];
                *bytes = bytes.as_str().unwrap().replacen("01", "02", 1).into();
            },
            "execution 1 leaves other bytes in the line at pm+0x0 (last stored at commit-flag/missing-flush.c:16:16)",
        ),
        (
            |witness| witness["persistent_memory"]["at_first"] = "0".into(),
            "the files that are persistent memory are not what they were",
        ),
    ];
    for (change, said) in cases {
        fs::write(out.join("B1.json"), &original).unwrap();
        edit(&out, change);
        let output = replay(&out, &[]);
        assert_eq!(output.status.code(), Some(102), "{said}");
        let told = text(&output.stderr);
        assert!(told.contains(said), "{said}: {told}");
    }
}

#[test]
fn a_program_that_is_gone_is_built_again() {
    let out = checked("rebuilt", "commit-flag/missing-flush.c");
    fs::remove_file(out.join("program")).unwrap();
    let output = replay(&out, &[]);
    assert_eq!(output.status.code(), Some(100), "{}", text(&output.stderr));
    fs::remove_file(out.join("program")).unwrap();
    edit(&out, |witness| {
        witness["program"].as_object_mut().unwrap().remove("build");
    });
    let output = replay(&out, &[]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(
        told.contains("no such program, and no sources to build it from"),
        "{told}"
    );
}

#[test]
fn what_is_no_witness_is_refused() {
    let out = scratch().join("replay/refused");
    fs::create_dir_all(&out).unwrap();
    for (content, said) in [
        (
            "{}",
            "B1.json: not a witness of landfall check: missing field",
        ),
        ("text", "B1.json: not a witness of landfall check"),
    ] {
        fs::write(out.join("B1.json"), content).unwrap();
        let output = replay(&out, &[]);
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output.stderr);
        assert!(told.contains(said), "{told}");
    }
    fs::remove_file(out.join("B1.json")).unwrap();
    let output = replay(&out, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("No such file"));
}

#[test]
fn gdb_stops_where_it_fails() {
    for (name, example, show, shown) in [
        (
            "gdb-assertion",
            "commit-flag/missing-flush.c",
            "p r->valid",
            "$1 = 1",
        ),
        (
            "gdb-hang",
            "lock-word/still-held.cc",
            "p this->value",
            "$1 = ",
        ),
        (
            "gdb-segfault",
            "../crates/cli/tests/inputs/check/pointer.c",
            "p root",
            "$1 = (struct root *) 0x100000000000",
        ),
        (
            "gdb-schedule",
            "threads/treiber-stack-aba.c",
            "p owned[1]",
            "$1 = 1",
        ),
        (
            "gdb-race",
            "../crates/cli/tests/inputs/check/race.c",
            "p p == &x",
            "$1 = 1",
        ),
        (
            "gdb-crash-of-a-schedule",
            "threads-persistent/flit-register-no-flush.c",
            "p pool->y",
            "$1 = 1",
        ),
    ] {
        let out = scratch().join("replay").join(name);
        let place = out.to_str().unwrap();
        let check = ["check", "--events", "100000", "--out", place, example];
        let checked = landfall(&root().join("examples"), &check);
        assert_eq!(checked.status.code(), Some(100));
        let output = replay(&out, &["--gdb", "--ex", "bt", "--ex", show]);
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(100), "{}", text(&output.stderr));
        let file = example.rsplit('/').next().unwrap();
        let frame = |line: &str| line.starts_with('#') && line.contains(file);
        assert!(told.lines().any(frame), "{told}");
        // It sees persistent memory as the program does.
        assert!(told.contains(shown), "{told}");
    }
}
