//! Checks every program of `examples/` and compares the verdict with the `.expect` file beside it. To add a case is to add
//! two files. A line of an expectation is one of
//!
//! ```text
//! # a remark
//! flags --events 100000         options for `landfall check`
//! clean                         nothing is to be found
//! finding KIND [at LABEL] [lost LABEL] [kept LABEL] [racing LABEL] [power LABEL] [primary LABEL|none] [secondary LABEL|none]
//! ```
//!
//! A label is a line of the program that ends with the comment `//~ LABEL`. `lost`, `kept` and `racing` are the stores of a
//! finding: where they are not given it must not name any. `at` (where recovery fails) and `power` (the last store before the power
//! failure) are compared where given, and so are the places after which to flush or fence: in the thread of the lost store (`primary`), and
//! in one that has seen it (`secondary`). All findings must be listed, in any order.

use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

#[test]
fn every_example_gets_the_expected_verdict() {
    for_each_program(|program| {
        let expected = Expectation::read(program)?;
        let report = expected.check(program, "json")?;
        let json: Value = serde_json::from_slice(&report.stdout)
            .map_err(|e| format!("no JSON: {e}\n{}", text(&report.stderr)))?;
        expected.compare(&json, report.status.code())?;
        same_on_disk(&json, program)?;
        if !expected.findings.is_empty() {
            let shown = expected.check(program, "human")?;
            expected.replay(&json, &text(&shown.stdout))?;
        }
        Ok(())
    });
}

fn landfall() -> Command {
    let mut landfall = Command::new(LANDFALL);
    landfall
        .current_dir(examples())
        .env("XDG_CACHE_HOME", scratch().join("cache"));
    landfall
}

fn is_c(program: &Path) -> bool {
    program.extension() == Some(OsStr::new("c"))
}

/// The program, into a folder, as `landfall check` would build it.
fn build(program: &Path, folder: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let built = folder.join("built");
    let output = landfall()
        .arg(if is_c(program) { "cc" } else { "c++" })
        .arg(program)
        .arg("-o")
        .arg(&built)
        .output()
        .map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(built),
        false => Err(text(&output.stderr)),
    }
}

/// What is found does not depend on how many processes look for it, nor on whether power failures share what they learn.
#[test]
fn every_example_gets_the_same_verdict_every_way() {
    for_each_program(|program| {
        let expected = Expectation::read(program)?;
        let out = scratch().join("ways").join(program.with_extension(""));
        // Compiling takes longer than checking: once is enough.
        let built = build(program, &out)?;
        let found = |way: &[&str]| -> Result<Vec<String>, String> {
            let report = landfall()
                .args(["check", "--format", "json", "--checks", "crash", "--out"])
                .arg(&out)
                .args(&expected.flags)
                .args(way)
                .arg("--")
                .arg(&built)
                .output()
                .map_err(|e| e.to_string())?;
            let json: Value = serde_json::from_slice(&report.stdout)
                .map_err(|e| format!("{way:?}: no JSON: {e}\n{}", text(&report.stderr)))?;
            let mut found: Vec<String> = findings(&json)
                .iter()
                .map(|f| format!("{} {} {}", f["kind"], f["at"], f["stores"]))
                .collect();
            found.sort();
            found.push(format!(
                "{} {:?} {} behaviours",
                json["verdict"],
                report.status.code(),
                json["stats"]["behaviours"]
            ));
            Ok(found)
        };
        let alone = found(&["-j1"])?;
        // Schedules have no cuts to look at one by one.
        let threads = program.starts_with("threads") || program.starts_with("threads-persistent");
        let ways: &[&[&str]] = match threads {
            true => &[&["-j2"]],
            false => &[&["-j2"], &["--no-share"]],
        };
        for way in ways {
            let other = found(way)?;
            if other != alone {
                return Err(format!("-j1: {alone:#?}\n{way:?}: {other:#?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn every_example_compiles_without_landfall() {
    let include = root().join("include");
    for_each_program(|program| {
        let compiler = match is_c(program) {
            true => "clang-19",
            false => "clang++-19",
        };
        let output = Command::new(compiler)
            .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(&include)
            .arg(program)
            .current_dir(examples())
            .output()
            .map_err(|e| format!("{compiler}: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(text(&output.stderr)),
        }
    });
}

#[test]
fn every_structure_has_a_correct_and_a_broken_program() {
    let mut clean: HashMap<PathBuf, [usize; 2]> = HashMap::new();
    for program in programs() {
        let expected = Expectation::read(&program).unwrap();
        let folder = program.parent().unwrap().to_owned();
        clean.entry(folder).or_default()[usize::from(expected.findings.is_empty())] += 1;
    }
    assert!(clean.len() >= 10, "{clean:?}");
    assert!(
        clean
            .values()
            .all(|[broken, correct]| *broken > 0 && *correct > 0),
        "{clean:?}"
    );
}

/// What a finding must look like: line numbers of the program.
#[derive(Debug)]
struct Expected {
    kind: String,
    at: Option<u64>,
    lost: Option<u64>,
    kept: Option<u64>,
    racing: Option<u64>,
    power: Option<u64>,
    /// `Some(None)`: there must be none.
    primary: Option<Option<u64>>,
    secondary: Option<Option<u64>>,
}

#[derive(Debug)]
struct Expectation {
    flags: Vec<String>,
    findings: Vec<Expected>,
}

impl Expectation {
    fn read(program: &Path) -> Result<Expectation, String> {
        let read = |path: PathBuf| {
            let full = examples().join(&path);
            fs::read_to_string(full).map_err(|e| format!("{}: {e}", path.display()))
        };
        let labels = labels(&read(program.to_owned())?)?;
        let mut expectation = Expectation {
            flags: Vec::new(),
            findings: Vec::new(),
        };
        let mut clean = false;
        for line in read(program.with_extension("expect"))?.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                ["clean"] => clean = true,
                ["flags", ref flags @ ..] => {
                    expectation.flags = flags.iter().map(|&f| f.to_owned()).collect();
                }
                ["finding", kind, ref places @ ..] => {
                    let finding = Expected::read(kind, places, &labels);
                    (expectation.findings).push(finding.map_err(|e| format!("`{line}`: {e}"))?);
                }
                _ => return Err(format!("`{line}`: not an expectation")),
            }
        }
        match clean == expectation.findings.is_empty() {
            true => Ok(expectation),
            false => Err("either `clean` or findings, please".to_owned()),
        }
    }

    fn check(&self, program: &Path, format: &str) -> Result<Output, String> {
        landfall()
            .args(["check", "--format", format, "--out"])
            .arg(out(program))
            .args(&self.flags)
            .arg(program)
            .output()
            .map_err(|e| e.to_string())
    }

    fn compare(&self, json: &Value, code: Option<i32>) -> Result<(), String> {
        let (verdict, exit) = match self.findings.is_empty() {
            true => ("clean", 0),
            false => ("findings", 100),
        };
        let mut wrong = Vec::new();
        if code != Some(exit) {
            wrong.push(format!("exit code {code:?}, expected {exit}"));
        }
        if json["verdict"] != verdict || json["complete"] != true {
            let found = (&json["verdict"], &json["complete"]);
            wrong.push(format!(
                "verdict and complete are {found:?}, expected {verdict}"
            ));
        }
        if json["warnings"].as_array().is_some_and(|w| !w.is_empty()) {
            wrong.push(format!("warnings: {}", json["warnings"]));
        }
        // Each expectation takes the finding it is about; the more exact ones first, so that no other takes it from them.
        let mut found: Vec<&Value> = findings(json).iter().collect();
        let mut expected: Vec<&Expected> = self.findings.iter().collect();
        expected.sort_by_key(|e| usize::from(e.at.is_none()) + usize::from(e.power.is_none()));
        for expected in expected {
            match found.iter().position(|finding| expected.is(finding)) {
                Some(index) => drop(found.remove(index)),
                None => wrong.push(format!("not found: {expected:?}")),
            }
        }
        let brief = |finding: &&Value| {
            let Value::Object(mut brief) = (*finding).clone() else {
                return format!("not expected: {finding}");
            };
            brief.retain(|key, _| ["kind", "at", "crash_at", "stores"].contains(&key.as_str()));
            format!("not expected: {}", Value::Object(brief))
        };
        wrong.extend(found.iter().map(brief));
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(wrong.join("\n")),
        }
    }

    /// Types the replay command of every finding and looks for the same failure.
    fn replay(&self, json: &Value, shown: &str) -> Result<(), String> {
        let commands: Vec<&str> = shown
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("= replay: landfall "))
            .collect();
        if commands.len() != findings(json).len() {
            return Err(format!("not one replay command for each finding:\n{shown}"));
        }
        for (finding, command) in findings(json).iter().zip(commands) {
            let output = Command::new("sh")
                .arg("-c")
                .arg(format!("'{LANDFALL}' {command}"))
                .current_dir(examples())
                .env("XDG_CACHE_HOME", scratch().join("cache"))
                .output()
                .map_err(|e| e.to_string())?;
            let message = finding["message"].as_str().unwrap_or_default();
            let failure = message.strip_prefix("recovery fails: ").unwrap_or(message);
            let failure = failure.strip_suffix(" is false").unwrap_or(failure);
            let replayed = text(&output.stdout);
            let again = output.status.code() == Some(100);
            if failure.is_empty() || !replayed.contains(failure) || !again {
                let errors = text(&output.stderr);
                return Err(format!(
                    "`landfall {command}` does not show `{failure}`:\n{replayed}{errors}"
                ));
            }
        }
        Ok(())
    }
}

impl Expected {
    fn read(kind: &str, places: &[&str], labels: &HashMap<String, u64>) -> Result<Self, String> {
        let mut expected = Expected {
            kind: kind.to_owned(),
            at: None,
            lost: None,
            kept: None,
            racing: None,
            power: None,
            primary: None,
            secondary: None,
        };
        for pair in places.chunks(2) {
            let &[role, label] = pair else {
                return Err(format!("`{}` lacks its label", pair[0]));
            };
            let line = labels.get(label).copied();
            match (role, label, line) {
                ("primary", "none", _) => expected.primary = Some(None),
                ("secondary", "none", _) => expected.secondary = Some(None),
                ("primary", _, Some(line)) => expected.primary = Some(Some(line)),
                ("secondary", _, Some(line)) => expected.secondary = Some(Some(line)),
                _ => {}
            }
            if label == "none" && role.ends_with("ary") {
                continue;
            }
            let line = line.ok_or_else(|| format!("no line is marked `//~ {label}`"))?;
            let place = match role {
                "primary" | "secondary" => continue,
                "at" => &mut expected.at,
                "lost" => &mut expected.lost,
                "kept" => &mut expected.kept,
                "racing" => &mut expected.racing,
                "power" => &mut expected.power,
                _ => {
                    return Err(format!(
                        "`{role}` is none of at, lost, kept, racing, power, primary, secondary"
                    ));
                }
            };
            *place = Some(line);
        }
        Ok(expected)
    }

    fn is(&self, finding: &Value) -> bool {
        let line = |place: &Value| place["line"].as_u64();
        let store = |role: &str| {
            let stores = finding["stores"].as_array()?;
            line(&stores.iter().find(|s| s["role"] == role)?["at"])
        };
        let window = |primary: bool| {
            let fixes = finding["fix"].as_array().map_or(&[][..], Vec::as_slice);
            let flushes = |fix: &&Value| {
                let action = fix["action"].as_str().unwrap_or_default();
                fix["primary"] == primary && action.ends_with("fence")
            };
            fixes
                .iter()
                .find(flushes)
                .and_then(|fix| line(&fix["after"]))
        };
        (self.primary.is_none_or(|after| after == window(true)))
            && (self.secondary.is_none_or(|after| after == window(false)))
            && finding["kind"] == self.kind.as_str()
            && (self.at.is_none() || self.at == line(&finding["at"]))
            && (self.power.is_none() || self.power == line(&finding["crash_at"]))
            && self.lost == store("lost")
            && self.kept == store("kept")
            && self.racing == store("racing")
    }
}

/// The lines that are marked `//~ LABEL`.
fn labels(source: &str) -> Result<HashMap<String, u64>, String> {
    let mut labels = HashMap::new();
    for (line, number) in source.lines().zip(1..) {
        let Some((_, marks)) = line.split_once("//~") else {
            continue;
        };
        for label in marks.split_whitespace() {
            if labels.insert(label.to_owned(), number).is_some() {
                return Err(format!("line {number}: a second `//~ {label}`"));
            }
        }
    }
    Ok(labels)
}

fn findings(json: &Value) -> &[Value] {
    json["findings"].as_array().map_or(&[], Vec::as_slice)
}

/// run.json says what was printed.
fn same_on_disk(json: &Value, program: &Path) -> Result<(), String> {
    let path = out(program).join("run.json");
    let saved = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let saved: Value = serde_json::from_slice(&saved).map_err(|e| e.to_string())?;
    match saved["verdict"] == json["verdict"] && saved["findings"] == json["findings"] {
        true => Ok(()),
        false => Err(format!("run.json differs from what was printed: {saved:#}")),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

fn examples() -> PathBuf {
    root().join("examples")
}

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Where the results of a program go. `a/b.c` and `a/b.cc` would share an expectation, so they may share this too.
fn out(program: &Path) -> PathBuf {
    scratch().join("examples").join(program.with_extension(""))
}

/// The sources in the folders of `examples/`, as paths from there.
fn programs() -> Vec<PathBuf> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(examples().join(folder)).unwrap();
        entries
            .map(|entry| folder.join(entry.unwrap().file_name()))
            .collect()
    };
    let folders = list(Path::new("")).into_iter();
    let mut programs: Vec<PathBuf> = folders
        .filter(|path| examples().join(path).is_dir())
        .flat_map(|folder| list(&folder))
        .filter(|path| {
            let extension = path.extension().and_then(OsStr::to_str);
            matches!(extension, Some("c" | "cc" | "cpp"))
        })
        .collect();
    programs.sort();
    assert!(!programs.is_empty());
    programs
}

/// Does something with every program, two at a time, and fails with all that went wrong.
fn for_each_program(look: impl Fn(&Path) -> Result<(), String> + Sync) {
    let (programs, next) = (programs(), AtomicUsize::new(0));
    let work = || {
        let mut wrong = Vec::new();
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(why) = look(program) {
                wrong.push(format!("--- {}\n{why}", program.display()));
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
