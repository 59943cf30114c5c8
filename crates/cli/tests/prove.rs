//! `landfall prove` on C programs.
//!
//! - Every program of `examples/` gets the verdicts that `landfall check` is expected to give (`.expect`), whether it fails and whether
//!   it is robust, but for those in `tests/prove/apart.txt`, which says why.
//! - Every program of `examples/prove/*/` and `tests/prove/programs/*/` gets the verdict of the `.verdict` file beside it:
//!
//! ```text
//! # a remark
//! property invariant            what is asked, from here on: invariant, robust, both
//! flags --unroll 3              options, from here on
//! proved                        the answer; where both are asked, "proved refuted"
//! with -DMISSING_FLUSH          further options, for the next answer
//! symbolic                      what follows needs values that no native run has (memory that nobody wrote): none is looked for
//! slow                          what follows is asked by the benchmark, and here if SLOW is set
//! refuted lost LABEL kept LABEL the cause, by lines that end with `//~ LABEL`
//! ```
//!
//! - What is proved has a certificate that `landfall verify` accepts.
//! - What is refuted, here or there, is seen in a native run as well (`--out`), with all its threads, and `landfall replay` shows it.
//! - What cannot be modelled is said as in `tests/prove/bad/NAME.out`; `BLESS=1` writes it.

use crate::certificates::verified;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn prove(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(LANDFALL)
        .arg("prove")
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("landfall runs")
}

/// Sources below a directory of the repository, two levels down at most.
fn sources(below: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in fs::read_dir(root().join(below)).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            let extension = file.extension().and_then(|e| e.to_str());
            if matches!(extension, Some("c" | "cc")) {
                all.push(file);
            }
        }
    }
    all.sort();
    all
}

/// Looks at all of them, two at a time, and fails with all that went wrong.
fn for_each(files: &[PathBuf], look: impl Fn(&Path) -> Result<(), String> + Sync) {
    assert!(!files.is_empty());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(why) = look(file) {
                wrong.push(format!("{}: {why}", file.display()));
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers
            .into_iter()
            .flat_map(|w| w.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What `landfall check` is expected to say about a program, as answers to the two questions; `None` where it is not asked.
fn expected(of: &str) -> [Option<&'static str>; 2] {
    let lines: Vec<Vec<&str>> = of.lines().map(|l| l.split_whitespace().collect()).collect();
    let findings: Vec<&[&str]> = lines
        .iter()
        .filter(|words| words.first() == Some(&"finding"))
        .map(|words| &words[1..])
        .collect();
    let fails = |words: &&[&str]| {
        let judged = [
            "robustness",
            "persistency-race",
            "missing-snapshot",
            "uninitialised",
            "volatile-pointer",
            "data-race",
            "lock-misuse",
        ];
        !judged.contains(&words[0]) && !words[0].starts_with("redundant")
    };
    let loses = |words: &&[&str]| words[0] == "robustness" || words.contains(&"lost");
    let answer = |refuted: bool| if refuted { "refuted" } else { "proved" };
    let flags: Vec<&str> = lines
        .iter()
        .filter(|words| words.first() == Some(&"flags"))
        .flatten()
        .copied()
        .collect();
    let checks = flags.iter().position(|flag| *flag == "--checks");
    let judged = match checks {
        Some(at) => flags[at + 1].contains("robustness"),
        None => !flags.contains(&"--tear"),
    };
    let robust = findings.iter().any(loses);
    [
        Some(answer(findings.iter().any(fails))),
        (judged || robust).then(|| answer(robust)),
    ]
}

#[test]
fn examples_get_the_verdict_of_check() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let apart = fs::read_to_string(here.join("tests/prove/apart.txt")).unwrap();
    let apart: Vec<[&str; 3]> = apart
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            assert!(
                words.len() == 4,
                "a name, a property, a verdict, a reason: {line}"
            );
            [words[0], words[1], words[2]]
        })
        .collect();
    let examples: Vec<PathBuf> = sources("examples")
        .into_iter()
        .filter(|file| file.with_extension("expect").exists())
        .collect();
    for [name, ..] in &apart {
        assert!(
            examples.iter().any(|e| e.ends_with(name)),
            "{name} is not there any more"
        );
    }
    for_each(&examples, |file| {
        let check = expected(&fs::read_to_string(file.with_extension("expect")).unwrap());
        let name = file.to_string_lossy();
        let out = scratch();
        let output = prove(
            file.parent().unwrap(),
            &["--format", "json", "--out", &out, &name],
        );
        let text = String::from_utf8_lossy(&output.stdout);
        let json: Value = serde_json::from_str(&text).map_err(|e| format!("{e}: {text}"))?;
        let seen = refutations_replay(file, &json);
        let _ = fs::remove_dir_all(&out);
        seen?;
        for (property, check) in ["invariant", "robust"].into_iter().zip(check) {
            let mut answers = json["properties"].as_array().into_iter().flatten();
            let answer = answers.find(|answer| answer["property"] == property);
            let answer = match answer.and_then(|answer| answer["verdict"].as_str()) {
                Some("refuted") => "refuted",
                _ if json["refused"].is_object() => "unknown",
                Some("nothing") => "proved",
                Some(other) => other,
                None => "no answer",
            };
            let exception = apart
                .iter()
                .find(|[n, of, _]| name.ends_with(n) && (*of == property || *of == "both"));
            match (exception, check) {
                (Some([.., said]), check) if answer == *said => {
                    if check == Some(answer) {
                        return Err(format!("{property}: {answer}, as check says: no exception"));
                    }
                }
                (Some([.., said]), _) => {
                    return Err(format!("{property}: {answer}, apart.txt says {said}"));
                }
                (None, Some(check)) if check != answer => {
                    let refused = &json["refused"]["what"];
                    return Err(format!("{property}: {answer}, check: {check} ({refused})"));
                }
                (None, _) => {}
            }
        }
        Ok(())
    });
}

/// Every refutation is seen in a native run, which `landfall replay` shows.
fn refutations_replay(file: &Path, json: &Value) -> Result<(), String> {
    for property in json["properties"].as_array().into_iter().flatten() {
        if property["verdict"] != "refuted" {
            continue;
        }
        let Some(witness) = property["replay"].as_str() else {
            let why = &property["not_replayed"];
            return Err(format!("{} not seen natively: {why}", property["property"]));
        };
        let replay = Command::new(LANDFALL)
            .args(["replay", witness])
            .current_dir(file.parent().unwrap())
            .output()
            .map_err(|e| e.to_string())?;
        if replay.status.code() != Some(100) {
            let why = String::from_utf8_lossy(&replay.stderr).into_owned();
            return Err(format!("{} not replayed: {why}", property["property"]));
        }
    }
    Ok(())
}

/// A directory of its own.
fn scratch() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("landfall-prove-{}-{number}", std::process::id());
    std::env::temp_dir()
        .join(name)
        .to_string_lossy()
        .into_owned()
}

#[test]
fn a_refutation_is_replayed_and_drawn() {
    let out = scratch();
    let picture = format!("{out}.svg");
    let output = prove(
        &root(),
        &[
            "--out",
            &out,
            "--svg",
            &picture,
            "examples/commit-flag/missing-flush.c",
        ],
    );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let file = said
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix("seen in a native run: landfall replay ")
        })
        .unwrap_or_else(|| panic!("{said}"));
    let replay = Command::new(LANDFALL)
        .args(["replay", file])
        .current_dir(root())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&replay.stdout).into_owned();
    assert!(shown.contains("reproduced"), "{shown}");
    let svg = fs::read_to_string(&picture).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.contains("power failure"),
        "{svg}"
    );
    assert!(svg.contains(">po<") && svg.contains(">rf<"), "{svg}");
    // Source text cannot become markup.
    assert!(
        svg.contains("&amp;r-&gt;valid, 1") && !svg.contains("r->valid"),
        "{svg}"
    );
    let _ = (fs::remove_dir_all(&out), fs::remove_file(&picture));
}

/// What is proved says what it rests on, for people and for programs.
#[test]
fn a_proof_comes_with_its_assumptions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/prove/programs/lifetimes");
    let asked = ["--property", "invariant", "-DWAIT", "freed-while-read.c"];
    let said = String::from_utf8(prove(&folder, &asked).stdout).unwrap();
    let heap = "`malloc` does not fail, and gives no block out twice";
    assert!(
        said.contains(&format!("assuming that\n  - {heap}\n")),
        "{said}"
    );
    // Nothing of it is persistent.
    assert!(!said.contains("power"), "{said}");
    let json = prove(&folder, &[&["--format", "json"], &asked[..]].concat()).stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    let listed = json["assumptions"].as_array().unwrap();
    assert!(listed.iter().any(|a| a == heap), "{listed:?}");
    // A refutation rests on nothing: it is there to be seen.
    let refuted = prove(&folder, &["--property", "invariant", "freed-while-read.c"]);
    assert!(!String::from_utf8_lossy(&refuted.stdout).contains("assuming"));
}

/// One question and its answer.
struct Case {
    property: String,
    symbolic: bool,
    flags: Vec<String>,
    answer: Vec<String>,
}

fn cases(verdict: &str) -> Vec<Case> {
    let (mut property, mut flags) = ("both".to_owned(), Vec::new());
    let mut with: Vec<String> = Vec::new();
    let mut symbolic = false;
    let mut cases = Vec::new();
    for line in verdict.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match words.first().map(String::as_str) {
            None => {}
            Some("property") => property = words[1].clone(),
            Some("flags") => flags = words[1..].to_vec(),
            Some("with") => with = words[1..].to_vec(),
            Some("symbolic") => symbolic = true,
            Some("slow") if std::env::var_os("SLOW").is_none() => break,
            Some("slow") => {}
            Some(_) => cases.push(Case {
                property: property.clone(),
                symbolic,
                flags: [flags.clone(), std::mem::take(&mut with)].concat(),
                answer: words,
            }),
        }
    }
    cases
}

fn ask(file: &Path, case: &Case) -> Result<(), String> {
    let name = file.file_name().unwrap().to_string_lossy();
    let out = scratch();
    let mut arguments = vec!["--format", "json", "--property", &case.property];
    let natively = !case.symbolic && case.answer.iter().any(|word| word == "refuted");
    if natively {
        arguments.extend(["--out", &out]);
    }
    let certificate = scratch();
    let other_solver = case.flags.iter().any(|flag| flag == "batsat");
    if !other_solver {
        arguments.extend(["--certificate", &certificate]);
    }
    let own = case.flags.iter().position(|flag| flag == "--");
    let (options, words) = case.flags.split_at(own.unwrap_or(case.flags.len()));
    arguments.extend(options.iter().map(String::as_str));
    arguments.push(&name);
    arguments.extend(words.iter().map(String::as_str));
    let output = prove(file.parent().unwrap(), &arguments);
    let json: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let seen = match natively {
        true => refutations_replay(file, &json),
        false => Ok(()),
    };
    let proof = match other_solver {
        true => Ok(()),
        false => verified(&json, Path::new(&certificate)),
    };
    let _ = (fs::remove_dir_all(&out), fs::remove_dir_all(&certificate));
    seen.and(proof)
        .map_err(|why| format!("{:?}: {why}", case.flags))?;
    let properties = json["properties"].as_array().ok_or("no properties")?;
    let words: Vec<&str> = properties
        .iter()
        .filter_map(|p| p["verdict"].as_str())
        .collect();
    let cause = case.answer.iter().position(|w| w == "lost");
    let (verdicts, cause) = case.answer.split_at(cause.unwrap_or(case.answer.len()));
    if words != *verdicts {
        let refused = &json["refused"];
        return Err(format!(
            "{:?}: {words:?} instead of {verdicts:?} {refused}",
            case.flags
        ));
    }
    let text = fs::read_to_string(file).unwrap();
    for pair in cause.chunks(2) {
        let mark = format!("//~ {}", pair[1]);
        let number = 1 + text
            .lines()
            .position(|line| line.trim_end().ends_with(&mark))
            .ok_or_else(|| format!("no line is marked {mark}"))?;
        let place = format!("({name}:{number})");
        let said = properties
            .iter()
            .filter(|p| p["property"] == "robust")
            .flat_map(|p| {
                p["witness"]["broken"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default()
            })
            .filter_map(|b| b.as_str().map(str::to_owned))
            .any(|broken| {
                let mut sides = broken.split("survived, but not");
                let (kept, lost) = (sides.next().unwrap_or(""), sides.next().unwrap_or(""));
                match pair[0].as_str() {
                    "lost" => lost.contains(&place),
                    _ => kept.contains(&place),
                }
            });
        if !said {
            return Err(format!(
                "{} {place} is not named: {:#}",
                pair[0],
                properties[properties.len() - 1]["witness"]["broken"]
            ));
        }
    }
    Ok(())
}

#[test]
fn programs_get_their_verdicts() {
    let programs = ["examples/prove", "crates/cli/tests/prove/programs"];
    let programs: Vec<PathBuf> = programs.into_iter().flat_map(sources).collect();
    for_each(&programs, |file| {
        let verdict = fs::read_to_string(file.with_extension("verdict"))
            .map_err(|e| format!("its .verdict file: {e}"))?;
        let cases = cases(&verdict);
        if cases.is_empty() {
            return Err("its .verdict file asks nothing".to_owned());
        }
        cases.iter().try_for_each(|case| ask(file, case))
    });
}

#[test]
fn programs_compile_without_landfall() {
    let include = root().join("include");
    for_each(&sources("examples/prove"), |file| {
        let output = Command::new("clang-19")
            .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(&include)
            .arg(file)
            .output()
            .map_err(|e| e.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    });
}

#[test]
fn what_cannot_be_modelled_is_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/prove/bad");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    for_each(&files, |file| {
        let name = file.file_name().unwrap().to_string_lossy();
        let output = prove(&folder, &[&name]);
        let found = format!(
            "{}? {}\n",
            String::from_utf8_lossy(&output.stdout),
            output.status.code().unwrap_or(-1)
        );
        let beside = file.with_extension("out");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&beside, &found).unwrap();
        }
        let recorded = fs::read_to_string(&beside).unwrap_or_default();
        match found == recorded {
            true => Ok(()),
            false => Err(format!("found\n{found}instead of\n{recorded}")),
        }
    });
}
