//! `landfall pmdk build`, `check --pmdk` and `--pm-init`, with a library of our own in the shape of PMDK. (With the real one:
//! `scripts/pmdk SOURCE`.)

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with an empty directory of pools, and a cache of its own.
struct Stage(PathBuf);

impl Stage {
    fn new(name: &str) -> Stage {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("pmdk")
            .join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("pools")).unwrap();
        Stage(path)
    }

    fn landfall(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_landfall"))
            .args(arguments)
            .current_dir(&self.0)
            .env("XDG_CACHE_HOME", self.0.join("a cache"))
            // What somebody has in their environment is not PMDK's business.
            .env("CFLAGS", "-no-such-option")
            .env("MAKEFLAGS", "k")
            .output()
            .unwrap()
    }

    fn pools(&self) -> usize {
        std::fs::read_dir(self.0.join("pools")).unwrap().count()
    }
}

fn given(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pmdk");
    path.join(name).display().to_string()
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn what_is_missing_is_said() {
    let stage = Stage::new("missing");
    let right = given("right.c");
    let output = stage.landfall(&["check", "--pmdk", "--pm-dir", "pools", &right]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("`landfall pmdk build SOURCE`"), "{text}");
    let output = stage.landfall(&["pmdk", "build", "pools"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("pools: no sources of PMDK"), "{text}");
    let output = stage.landfall(&["pmdk", "build", &given("broken")]);
    assert_eq!(output.status.code(), Some(101));
    let text = said(&output);
    assert!(text.contains("obj.c:7: something is missing"), "{text}");
    assert_eq!(stage.landfall(&["pmdk", "show"]).status.code(), Some(2));
}

#[test]
fn a_program_is_checked_with_the_library_and_a_prepared_pool() {
    let stage = Stage::new("checked");
    let output = stage.landfall(&["pmdk", "build", &given("tree")]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("PMDK 0.1 from"), "{text}");
    let (right, init) = (
        given("right.c"),
        format!("{} pools/one", given("make_pool.c")),
    );
    let check = |more: &[&str]| {
        let usual = ["check", "--pmdk", "--pm-dir", "pools", "--format", "json"];
        let words = [&usual[..], more, &[right.as_str()]].concat();
        let output = stage.landfall(&words);
        let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), run, said(&output))
    };
    // Nobody made the pool.
    let (code, run, text) = check(&[]);
    assert_eq!(code, Some(100), "{text}");
    assert_eq!(run["findings"][0]["kind"], "exit", "{run:#}");
    // Twice: the first leaves nothing behind.
    for _ in 0..2 {
        let (code, run, text) = check(&["--pm-init", &init]);
        assert_eq!(code, Some(0), "{text}");
        assert!(run["stats"]["behaviours"].as_u64() > Some(1), "{run:#}");
        assert_eq!(stage.pools(), 0);
    }
    let (code, run, text) = check(&["--pm-init", &init, "-DFORGOTTEN"]);
    assert_eq!(code, Some(100), "{text}");
    assert_eq!(run["findings"].as_array().unwrap().len(), 1, "{run:#}");
    let finding = &run["findings"][0];
    assert_eq!(finding["kind"], "assertion");
    // The pool is kept with the witness.
    let witness = finding["witness"].as_str().unwrap();
    let replayed = stage.landfall(&["replay", witness]);
    assert_eq!(replayed.status.code(), Some(100), "{}", said(&replayed));
    // What an earlier run knows is not reported again.
    let baseline = [
        "--pm-init",
        &init,
        "-DFORGOTTEN",
        "--baseline",
        "landfall-out/run.json",
    ];
    let (code, run, text) = check(&baseline);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(run["known_before"], 1, "{run:#}");
}

#[test]
fn a_pool_that_cannot_be_prepared_is_an_error() {
    let stage = Stage::new("unprepared");
    let program = given("make_pool.c");
    let check = |init: &str, directory: &str| {
        let output = stage.landfall(&["check", "--pm-dir", directory, "--pm-init", init, &program]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    let text = check("false", "pools");
    assert!(text.contains("the pools are not prepared"), "{text}");
    let text = check("/no/such/command", "pools");
    assert!(text.contains("No such file"), "{text}");
    let text = check("true", "/tmp");
    assert!(text.contains("not below the working directory"), "{text}");
    assert_eq!(stage.pools(), 0);
}

/// What is about the inside of the library alone is counted, though the program called what stores there.
#[test]
fn warnings_about_the_inside_are_counted() {
    let stage = Stage::new("inside");
    // Elsewhere: what is in the program's own folder is the program's.
    let sources = Stage::new("inside-library").0.join("pmdk/source/src");
    std::fs::create_dir_all(&sources).unwrap();
    let library = sources.join("lib.c");
    std::fs::copy(given("inside/lib.c"), &library).unwrap();
    let (main, library) = (given("inside/main.c"), library.display().to_string());
    let output = stage.landfall(&["check", &main, &library]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let counted = "note: 1 warning about the inside of PMDK is not listed";
    assert!(text.contains(counted), "{text}");
    let output = stage.landfall(&["check", "--checks", "crash,robustness", &main, &library]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(100), "{text}");
    assert!(text.contains("warning[robustness]"), "{text}");
}
