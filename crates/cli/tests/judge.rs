//! What `landfall check` says of recoveries that do not fail. A case is a program under `tests/judge`; its first lines say what is
//! to be found: `// expect: KIND [ROLE LABEL]…` or `// expect: clean`, where a label is a line that ends with `//~ LABEL` and a
//! role is `at` or that of a store; `// flags: ` gives options, `// says: ` words of a finding.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tests run beside each other: each has a folder of its own.
fn check(test: &str, program: &Path, checks: &[&str]) -> (Value, Option<i32>) {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let out = scratch
        .join("judge")
        .join(test)
        .join(program.file_stem().unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(["check", "--format", "json", "--fail-on", "perf", "--out"])
        .arg(out)
        .args(checks)
        .arg(program)
        .env("XDG_CACHE_HOME", scratch.join("cache"))
        .output()
        .unwrap();
    let json = serde_json::from_slice(&output.stdout);
    let json = json.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    (json, output.status.code())
}

/// Nothing is called clean that was not looked at.
#[test]
fn what_is_not_judged_is_said() {
    let ordered = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge/ordered.c");
    for ways in [&["--eager"][..], &["--no-share"], &["--tear"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
            .args(["check", "--checks", "robustness"])
            .args(ways)
            .arg(&ordered)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{ways:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(ways[0]));
    }
    // Unasked, they look for what they can.
    let asked = |ways: &[&str]| {
        let (found, _) = check("unasked", &ordered, ways);
        let checks = found["scope"]["checks"].as_array().unwrap();
        let has = |name| checks.iter().any(|check| check == name);
        assert!(has("crash"), "{ways:?}");
        let judged = ["robustness", "races", "flushes"].map(has);
        (judged, found["not_judged"].clone())
    };
    for ways in [&["--eager"][..], &["--no-share"], &["--tear"]] {
        assert_eq!(asked(ways), ([false; 3], ways[0].into()));
    }
    assert_eq!(asked(&[]), ([true; 3], Value::Null));
}

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    programs.sort();
    assert!(programs.len() >= 6);
    programs
}

/// Findings as the expectation writes them, with the roles that it mentions.
fn found(finding: &Value, roles: &[&str]) -> String {
    let mut line = finding["kind"].as_str().unwrap().to_owned();
    for role in roles {
        let place = match *role {
            "at" => &finding["at"],
            role => {
                let stores = finding["stores"].as_array().unwrap();
                let store = stores.iter().find(|store| store["role"] == role);
                store.map_or(&Value::Null, |store| &store["at"])
            }
        };
        line += &format!(" {role} {}", place["line"]);
    }
    line
}

#[test]
fn every_program_gets_the_expected_findings() {
    get_the_expected_findings("tests/judge");
}

/// Mistakes of published programs, each in a program of ours: failures, at the right store.
#[test]
fn published_mistakes_are_found() {
    get_the_expected_findings("tests/published");
}

fn get_the_expected_findings(folder: &str) {
    let mut wrong = Vec::new();
    for program in programs(folder) {
        let source = std::fs::read_to_string(&program).unwrap();
        let mut flags = source.lines().filter_map(|l| l.strip_prefix("// flags: "));
        let flags: Vec<&str> = flags.next().unwrap_or("").split_whitespace().collect();
        let (json, code) = check("findings", &program, &flags);
        let mut left: Vec<&Value> = json["findings"].as_array().unwrap().iter().collect();
        let mut expected = BTreeSet::new();
        for line in source.lines().filter_map(|l| l.strip_prefix("// expect: ")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words == ["clean"] {
                continue;
            }
            let mut wanted = words[0].to_owned();
            for pair in words[1..].chunks(2) {
                let label = format!("//~ {}", pair[1]);
                let number = source.lines().position(|l| l.ends_with(&label)).unwrap() + 1;
                wanted += &format!(" {} {number}", pair[0]);
            }
            let roles: Vec<&str> = words[1..].iter().step_by(2).copied().collect();
            match left.iter().position(|f| found(f, &roles) == wanted) {
                Some(at) => drop(left.remove(at)),
                None => wrong.push(format!("{}: not found: {wanted}", program.display())),
            }
            expected.insert(wanted);
        }
        for finding in left {
            wrong.push(format!("{}: not expected: {finding:#}", program.display()));
        }
        let notes = json["findings"].to_string();
        for says in source.lines().filter_map(|l| l.strip_prefix("// says: ")) {
            if !notes.contains(says) {
                wrong.push(format!("{}: not said: {says}: {notes}", program.display()));
            }
        }
        let exit = if expected.is_empty() { 0 } else { 100 };
        if code != Some(exit) || json["complete"] != true {
            wrong.push(format!("{}: exit {code:?}: {json:#}", program.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Random power failures, and random schedules, are judged like all of them.
#[test]
fn random_ones_are_judged() {
    let listed = |json: &Value| -> BTreeSet<String> {
        let findings = json["findings"].as_array().unwrap().iter();
        findings
            .map(|f| found(f, &["at", "lost", "kept", "racing"]))
            .collect()
    };
    for program in programs("tests/judge") {
        let source = std::fs::read_to_string(&program).unwrap();
        let mut flags = source.lines().filter_map(|l| l.strip_prefix("// flags: "));
        let mut flags: Vec<&str> = flags.next().unwrap_or("").split_whitespace().collect();
        if !flags.contains(&"--checks") {
            flags.extend(["--checks", "robustness,races"]);
        }
        let (all, _) = check("random-all", &program, &flags);
        flags.extend(["--random", "100"]);
        let (random, _) = check("random", &program, &flags);
        assert_eq!(listed(&random), listed(&all), "{}", program.display());
        assert_eq!(random["limits"][0], "random", "{random:#}");
    }
}

/// Judging runs nothing: the executions are those of the search, and one chain for each finding that is shown.
#[test]
fn judging_runs_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge");
    let ordered = folder.join("ordered.c");
    let (alone, _) = check("runs", &ordered, &["--checks", "crash"]);
    let (judged, _) = check("runs", &ordered, &[]);
    assert_eq!(alone["stats"]["runs"], judged["stats"]["runs"]);
}
