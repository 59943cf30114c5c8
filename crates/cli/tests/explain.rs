//! The programs of `landfall explain`: each compiles without a warning, and `landfall check` says of it what its page says, where it
//! can today (`docs/explain/checked.txt`).

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explain")
}

fn landfall(arguments: &[&str]) -> Output {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(arguments)
        .current_dir(scratch.join("explain"))
        .env("XDG_CACHE_HOME", scratch.join("cache"))
        .output()
        .unwrap()
}

/// The kinds that `landfall explain` lists.
fn kinds() -> Vec<String> {
    let listed = String::from_utf8(landfall(&["explain"]).stdout).unwrap();
    let lines = listed.lines().filter(|l| l.starts_with("  "));
    lines
        .filter_map(|l| Some(l.split_whitespace().next()?.to_owned()))
        .collect()
}

/// The program of a page, written to a file.
fn example(kind: &str) -> String {
    let page = String::from_utf8(landfall(&["explain", kind]).stdout).unwrap();
    let (_, rest) = page
        .split_once("```c\n")
        .unwrap_or_else(|| panic!("{kind}: no program"));
    let (program, rest) = rest.split_once("```").unwrap();
    if let Some((_, script)) = rest.split_once("```client\n") {
        let (script, _) = script.split_once("```").unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explain");
        fs::write(folder.join(format!("{kind}.txt")), script).unwrap();
    }
    let name = format!("{kind}.c");
    fs::write(
        Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("explain")
            .join(&name),
        program,
    )
    .unwrap();
    name
}

#[test]
fn every_example_does_what_its_page_says() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explain");
    fs::create_dir_all(&scratch).unwrap();
    let expectations = fs::read_to_string(pages().join("checked.txt")).unwrap();
    let expectations: Vec<Vec<&str>> = expectations
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .map(|l| l.split_whitespace().collect())
        .collect();
    let kinds = kinds();
    assert_eq!(kinds, expectations.iter().map(|e| e[0]).collect::<Vec<_>>());
    let count = fs::read_dir(pages())
        .unwrap()
        .filter(|e| {
            e.as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|e| e == "md")
        })
        .count();
    assert_eq!(count, kinds.len(), "a page that nobody can ask for");
    for expectation in &expectations {
        let kind = expectation[0];
        let file = example(kind);
        let compiled = Command::new("clang-19")
            .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(pages().join("../../include"))
            .arg(scratch.join(&file))
            .output()
            .unwrap();
        assert!(
            compiled.status.success(),
            "{kind}: {}",
            String::from_utf8_lossy(&compiled.stderr)
        );
        match expectation[1..] {
            ["later", _] => {}
            ["refuses"] => {
                let output = landfall(&["check", "--out", &format!("out-{kind}"), &file]);
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(2), "{kind}: {said}");
                assert!(said.contains("exec"), "{kind}: {said}");
            }
            ["finds", found, ref flags @ ..] => {
                let out = format!("out-{kind}");
                let mut arguments = vec!["check", "--format", "json", "--out", &out];
                arguments.extend(flags);
                arguments.push(&file);
                let output = landfall(&arguments);
                let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
                    panic!("{kind}: {e}: {}", String::from_utf8_lossy(&output.stderr))
                });
                let findings = run["findings"].as_array().unwrap();
                assert!(!findings.is_empty(), "{kind}: nothing was found");
                // What comes first is the page's; where threads share what they should not, they also race.
                let others = |f: &Value| f["kind"] == found || f["kind"] == "data-race";
                assert!(
                    findings[0]["kind"] == found && findings.iter().all(others),
                    "{kind}: {findings:#?}"
                );
            }
            _ => panic!("{expectation:?}"),
        }
    }
}

#[test]
fn an_unknown_kind_is_said_to_be_one() {
    fs::create_dir_all(Path::new(env!("CARGO_TARGET_TMPDIR")).join("explain")).unwrap();
    let output = landfall(&["explain", "assert"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("did you mean `assertion`?"), "{said}");
}
