//! Programs checked from source to verdict: with threads (`tests/threads`), those that got a wrong one before (`tests/verdicts`), those of a course on operating systems (`tests/landslide`), and a kernel's (`kernel/tests`). The first lines of each say how, and what must come out: `with:` other sources, `check:` the
//! options (`{pool}` is an empty directory), `exit:` the code, `finds:` a kind and words of a message, `not:` the same of what must not be found, `note:` words of a note, `limit:`
//! what was left out, `schedules:` and `assumed:` how many executions ended, or were ended by an assumption, `symmetric:` how many they stand for, `equivalence:` what tells them apart, `assumes:` words of an assumption, `effect:` of the finding named last, or of the only one, `prove:` the exit code of `landfall prove` with the same options, `says:` words of an error, `preemptions:` of the finding named last, the fewest, `row:` a thread and words of what it does in that finding's table, in their order. Files that say `also: --equivalence reads` are checked again with that. Every finding is replayed.

use serde_json::Value;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

#[derive(Clone, Debug, Default)]
struct Case {
    options: Vec<String>,
    /// Other sources, beside the first.
    with: Vec<String>,
    exit: i32,
    finds: Vec<(String, String)>,
    nots: Vec<(String, String)>,
    notes: Vec<String>,
    limits: Vec<String>,
    says: Vec<String>,
    assumes: Vec<String>,
    schedules: Option<u64>,
    assumed: Option<u64>,
    symmetric: Option<u64>,
    prove: Option<i32>,
    /// Of the folder for what comes of it.
    suffix: &'static str,
    /// The same is found by what is read.
    also: bool,
    equivalence: Option<String>,
    effect: Option<String>,
    /// By their number in `finds`.
    preemptions: Vec<(usize, u64)>,
    /// By the same numbers: rows of tables.
    rows: Vec<(usize, String)>,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let also = text.contains("// also: --equivalence reads");
    let mut with = Vec::new();
    for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
        let Some((what, rest)) = line.split_once(':') else {
            continue;
        };
        let rest = rest.trim();
        let words = || rest.split_whitespace().map(str::to_owned).collect();
        if what == "with" {
            with = words();
            continue;
        }
        if what == "check" {
            cases.push(Case {
                options: words(),
                with: with.clone(),
                also,
                ..Case::default()
            });
            continue;
        }
        let Some(case) = cases.last_mut() else {
            continue;
        };
        match what {
            "exit" => case.exit = rest.parse().expect("an exit code"),
            "finds" => {
                let (kind, message) = rest.split_once(' ').unwrap_or((rest, ""));
                case.finds.push((kind.to_owned(), message.to_owned()));
            }
            "not" => {
                let (kind, message) = rest.split_once(' ').unwrap_or((rest, ""));
                case.nots.push((kind.to_owned(), message.to_owned()));
            }
            "note" => case.notes.push(rest.to_owned()),
            "limit" => case.limits.push(rest.to_owned()),
            "schedules" => case.schedules = Some(rest.parse().expect("a number")),
            "assumed" => case.assumed = Some(rest.parse().expect("a number")),
            "symmetric" => case.symmetric = Some(rest.parse().expect("a number")),
            "prove" => case.prove = Some(rest.parse().expect("an exit code")),
            "equivalence" => case.equivalence = Some(rest.to_owned()),
            "effect" => case.effect = Some(rest.to_owned()),
            "assumes" => case.assumes.push(rest.to_owned()),
            "says" => case.says.push(rest.to_owned()),
            "preemptions" => {
                let of = case.finds.len() - 1;
                case.preemptions.push((of, rest.parse().expect("a number")));
            }
            "row" => case.rows.push((case.finds.len() - 1, rest.to_owned())),
            _ => {}
        }
    }
    cases
}

fn landfall() -> Command {
    Command::new(env!("CARGO_BIN_EXE_landfall"))
}

fn check(source: &Path, number: usize, case: &Case) {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "{}-{}-{number}{}",
        (source.parent().and_then(Path::file_name))
            .map_or_else(String::new, |name| name.display().to_string()),
        source.file_stem().expect("a name").display(),
        case.suffix
    ));
    // Pool files, for who asks for them.
    let pool = out.with_extension("pool");
    std::fs::create_dir_all(&pool).expect("a directory");
    let options = (case.options.iter()).map(|o| o.replace("{pool}", &pool.display().to_string()));
    let checked = landfall()
        .args(["check", "--format", "json", "--out"])
        .arg(&out)
        .args(options)
        .arg(source)
        .args(case.with.iter().map(|other| source.with_file_name(other)))
        .output()
        .expect("landfall runs");
    let what = format!("{} {:?}", source.display(), case.options);
    let said = String::from_utf8_lossy(&checked.stdout);
    let errors = String::from_utf8_lossy(&checked.stderr);
    assert_eq!(
        checked.status.code(),
        Some(case.exit),
        "{what}\n{said}{errors}"
    );
    if let Some(wanted) = case.prove {
        let proved = landfall()
            .args(["prove", "--property", "invariant"])
            .args(&case.options)
            .arg(source)
            .output()
            .expect("landfall runs");
        let said = String::from_utf8_lossy(&proved.stdout);
        assert_eq!(proved.status.code(), Some(wanted), "prove {what}\n{said}");
    }
    for words in &case.says {
        assert!(
            errors.contains(words),
            "{what}: does not say {words}\n{errors}"
        );
    }
    if !case.says.is_empty() {
        return;
    }
    let run: Value = serde_json::from_str(&said).expect("json");
    let findings = run["findings"].as_array().expect("findings");
    for (name, wanted) in [
        ("schedules", case.schedules),
        ("assumed", case.assumed),
        ("symmetric", case.symmetric),
    ] {
        if let Some(wanted) = wanted {
            assert_eq!(run["stats"][name], wanted, "{what}: {name}\n{said}");
        }
    }
    if let Some(wanted) = &case.equivalence {
        assert_eq!(run["stats"]["equivalence"], *wanted, "{what}\n{said}");
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let find = |(kind, words): &(String, String)| {
        let there = |f: &&Value| text(&f["kind"]) == *kind && text(&f["message"]).contains(words);
        findings.iter().find(there)
    };
    for wanted in &case.finds {
        assert!(find(wanted).is_some(), "{what}: no {wanted:?}\n{said}");
    }
    for unwanted in &case.nots {
        assert!(find(unwanted).is_none(), "{what}: {unwanted:?}\n{said}");
    }
    if let Some(effect) = &case.effect {
        let found = match case.finds.last() {
            Some(wanted) => find(wanted),
            None => findings.first(),
        };
        let found = found.map(|finding| text(&finding["effect"]));
        assert_eq!(found.as_ref(), Some(effect), "{what}\n{said}");
    }
    for &(of, count) in &case.preemptions {
        let found = find(&case.finds[of]).map(|finding| &finding["preemptions"]);
        let expected = serde_json::json!({"count": count, "fewest": true});
        assert_eq!(found, Some(&expected), "{what}: {:?}", case.finds[of]);
    }
    for (of, wanted) in case.finds.iter().enumerate() {
        let turns = find(wanted).and_then(|finding| finding["schedule"].as_array());
        let mut shown = turns.into_iter().flatten().flat_map(|turn| {
            let deeds = turn["deeds"].as_array().into_iter().flatten();
            deeds.map(|deed| format!("{} {}", text(&turn["thread"]), text(&deed["text"])))
        });
        for (_, row) in case.rows.iter().filter(|(number, _)| *number == of) {
            let there = shown.any(|shown| shown == *row);
            assert!(there, "{what}: no row {row}, or not in that order\n{said}");
        }
    }
    for words in &case.assumes {
        let assumptions = run["assumptions"].as_array().expect("assumptions");
        let there = |assumed: &Value| text(&assumed["message"]).contains(words);
        assert!(assumptions.iter().any(there), "{what}: {words}\n{said}");
    }
    if !case.limits.is_empty() {
        assert_eq!(run["limits"], serde_json::json!(case.limits), "{what}");
    }
    for words in &case.notes {
        assert!(said.contains(words), "{what}: no note {words}\n{said}");
    }
    for finding in findings {
        let witness = text(&finding["witness"]);
        // What is only wasted needs none.
        if witness.is_empty() && text(&finding["severity"]) == "perf" {
            continue;
        }
        let replayed = landfall()
            .args(["replay", &witness])
            .output()
            .expect("landfall runs");
        let told = String::from_utf8_lossy(&replayed.stdout);
        assert_eq!(
            replayed.status.code(),
            Some(100),
            "{what}: {witness}\n{told}"
        );
    }
}

#[test]
fn programs_with_threads() {
    check_all("tests/threads");
}

#[test]
fn programs_with_transactions() {
    check_all("tests/transactions");
}

#[test]
fn tests_of_a_course() {
    check_all("tests/landslide");
}

#[test]
fn threads_of_kernels() {
    check_all("../../kernel/tests");
}

#[test]
fn verdicts_that_were_wrong() {
    check_all("tests/verdicts");
}

/// Who asks for one execution of each way to read finds the same, in files that say `also: --equivalence reads`.
#[test]
fn the_same_by_what_is_read() {
    check_each("tests/threads", |case| by(case, "-reads", "reads"));
}

/// And who asks for one of all that read the same values.
#[test]
fn the_same_by_which_values_are_read() {
    check_each("tests/threads", |case| by(case, "-values", "values"));
}

fn by(case: &Case, suffix: &'static str, equivalence: &str) -> Option<Case> {
    case.also.then(|| {
        let mut other = case.clone();
        other.suffix = suffix;
        other
            .options
            .extend(["--equivalence".into(), equivalence.into()]);
        (other.schedules, other.assumed, other.symmetric) = (None, None, None);
        other
    })
}

fn check_all(directory: &str) {
    check_each(directory, |case| Some(case.clone()));
}

/// What `becomes` makes of each case.
fn check_each(directory: &str, becomes: fn(&Case) -> Option<Case>) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = std::fs::read_dir(&directory).expect("cases");
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_none_or(|end| end != "S"))
        .collect();
    sources.sort();
    // Most of the time goes into compiling. One that fails keeps nobody from looking at the others.
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let look = |source: &Path| {
        let text = std::fs::read_to_string(source).expect("readable");
        let cases = cases(&text);
        assert!(!cases.is_empty(), "{}: no `// check:`", source.display());
        for (number, case) in cases.iter().enumerate() {
            if let Some(case) = becomes(case) {
                check(source, number, &case);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(source) = sources.get(next.fetch_add(1, Relaxed)) {
                    if catch_unwind(|| look(source)).is_err() {
                        failed.lock().unwrap().push(source);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "these failed, as said above: {failed:?}");
}

/// What others compiled is no step: then not everything was tried.
#[test]
fn code_from_elsewhere_is_a_limit() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/elsewhere");
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("elsewhere");
    std::fs::create_dir_all(&out).expect("a directory");
    let object = out.join("library.o");
    let compiled = Command::new("clang-19")
        .args(["-O1", "-c", "-o"])
        .args([&object, &sources.join("library.c")])
        .status();
    assert!(compiled.expect("clang is installed").success());
    for main in ["main.c", "volatile.c"] {
        let checked = landfall()
            .args(["check", "--format", "json", "--out"])
            .arg(&out)
            .args([&sources.join(main), &object])
            .output()
            .expect("runs");
        assert_eq!(checked.status.code(), Some(5), "{main}: {checked:?}");
        let run: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
        assert_eq!(run["limits"], serde_json::json!(["foreign"]), "{run:#}");
        assert!(
            run.to_string().contains("`library.c` was not compiled"),
            "{run:#}"
        );
    }
}

/// What a library does to the heap before the runtime is there does not get in the way of looking at it.
#[test]
fn libraries_may_use_the_heap_before_the_program_starts() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/elsewhere/early");
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("early");
    std::fs::create_dir_all(&out).expect("a directory");
    let library = out.join("libearly.so");
    let compiled = Command::new("clang-19")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &sources.join("library.c")])
        .status();
    assert!(compiled.expect("clang is installed").success());
    let checked = landfall()
        .args(["check", "--out"])
        .arg(out.join("out"))
        .args([&sources.join("main.c"), &library])
        .arg(format!("-Wl,-rpath,{}", out.display()))
        .output()
        .expect("runs");
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
}
