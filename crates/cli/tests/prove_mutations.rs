//! Programs of `examples/` with one token changed get the same verdict from `landfall prove` and from `landfall check`, or prove says
//! why it has none: whether something fails, and whether they are robust.
//!
//! `MUTATIONS=500` tries more of them, `RANDOM_SEED=7` others. A program that differs is left in the temporary directory.

use crate::prove_random::{Random, json};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// What a token may become.
fn other(token: &str, random: &mut Random) -> Option<String> {
    let swaps: &[(&str, &[&str])] = &[
        ("==", &["!=", "<="]),
        ("!=", &["=="]),
        ("<", &["<=", ">"]),
        (">", &[">=", "<"]),
        ("<=", &["<"]),
        (">=", &[">"]),
        ("+", &["-"]),
        ("-", &["+"]),
        ("&&", &["||"]),
        ("||", &["&&"]),
        ("++", &["--"]),
        ("--", &["++"]),
        ("!", &[""]),
        ("lf_persist", &["lf_flush", "(void)sizeof"]),
        ("lf_flush", &["(void)sizeof"]),
        ("lf_fence", &["(void)sizeof"]),
        ("pthread_mutex_lock", &["(void)sizeof"]),
        ("pthread_mutex_unlock", &["(void)sizeof"]),
        ("pthread_cond_signal", &["(void)sizeof"]),
        ("atomic_fetch_add", &["atomic_fetch_sub"]),
        ("memory_order_seq_cst", &["memory_order_relaxed"]),
        ("while", &["if"]),
    ];
    if let Some((_, into)) = swaps.iter().find(|(from, _)| *from == token) {
        return Some(into[random.below(into.len())].to_owned());
    }
    let number: i64 = token.parse().ok()?;
    Some((number + [1, -1][random.below(2)]).to_string())
}

/// Where the tokens of a C text are, without comments, texts and lines of the preprocessor.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let end_of = |from: usize, end: &str| {
        text[from..]
            .find(end)
            .map_or(bytes.len(), |n| from + n + end.len())
    };
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let rest = &text[at..];
        let next = match bytes[at] {
            b'#' => end_of(at, "\n"),
            b'/' if rest.starts_with("/*") => end_of(at + 2, "*/"),
            b'/' if rest.starts_with("//") => end_of(at, "\n"),
            quote @ (b'"' | b'\'') => end_of(at + 1, if quote == b'"' { "\"" } else { "'" }),
            b if word(b) => at + rest.bytes().take_while(|&b| word(b)).count(),
            b if b.is_ascii_punctuation() => {
                let pairs = [
                    "==", "!=", "<=", ">=", "&&", "||", "++", "--", "->", "+=", "-=", "<<", ">>",
                ];
                at + 1 + usize::from(pairs.iter().any(|pair| rest.starts_with(pair)))
            }
            _ => {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
        };
        if !matches!(bytes[at], b'#' | b'"' | b'\'')
            && !rest.starts_with("/*")
            && !rest.starts_with("//")
        {
            found.push((at, next));
        }
        at = next;
    }
    found
}

/// The text with one token changed, and what was changed.
fn changed(text: &str, random: &mut Random) -> Option<(String, String)> {
    let all = tokens(text);
    for _ in 0..100 {
        let (from, to) = all[random.below(all.len())];
        if let Some(into) = other(&text[from..to], random) {
            let line = 1 + text[..from].matches('\n').count();
            let what = format!("line {line}: `{}` is `{into}`", &text[from..to]);
            return Some((format!("{}{into}{}", &text[..from], &text[to..]), what));
        }
    }
    None
}

/// The examples that one compiler call and no options check.
fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = Vec::new();
    for folder in fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let files = fs::read_dir(&folder).into_iter().flatten();
        all.extend(files.map(|file| file.unwrap().path()).filter(|file| {
            let expect = fs::read_to_string(file.with_extension("expect")).unwrap_or_default();
            let plain = !expect.is_empty() && !expect.lines().any(|line| line.starts_with("flags"));
            plain && file.extension().is_some_and(|e| e == "c")
        }));
    }
    all.sort();
    all
}

enum Compared {
    Agree,
    /// One of them has no answer.
    Open,
    Differ(String),
}

fn compare(directory: &Path, name: &str, property: &str) -> Compared {
    let arguments = [
        "prove", "--format", "json", "--alike", "stores", "--time", "20s",
    ];
    let proof = json(
        &[&arguments[..], &["--property", property, name]].concat(),
        directory,
    );
    let answer = &proof["properties"][0];
    let refuted = match answer["verdict"].as_str() {
        Some("refuted") => true,
        Some("proved") => false,
        _ => return Compared::Open,
    };
    let checks = match property {
        "invariant" => "crash,heap",
        _ => "robustness",
    };
    let found = json(
        &[
            "check", "--format", "json", "--out", "out", "--time", "20s", "--checks", checks, name,
        ],
        directory,
    );
    let findings = found["findings"].as_array().cloned().unwrap_or_default();
    let fails = findings.iter().any(|f| match property {
        "invariant" => f["severity"] == "error",
        _ => f["kind"] == "robustness",
    });
    // What fails is not judged any further.
    if property == "robust" && findings.iter().any(|f| f["severity"] == "error") {
        return Compared::Open;
    }
    if found["complete"] != true && !fails {
        return Compared::Open;
    }
    if refuted == fails {
        return Compared::Agree;
    }
    let inputs = answer["witness"]["inputs"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    // What nobody wrote is anything in a proof, and what was there before in a run.
    let garbage = |input: &Value| {
        input["name"]
            .as_str()
            .is_some_and(|n| n.starts_with("uninitialised"))
    };
    if refuted && inputs.iter().any(garbage) {
        return Compared::Open;
    }
    let kinds: Vec<&Value> = findings.iter().map(|f| &f["kind"]).collect();
    let broken = &answer["witness"]["broken"];
    Compared::Differ(format!(
        "{property}: refuted {refuted} ({broken}), check found {kinds:?}"
    ))
}

#[test]
fn examples_with_a_token_changed_get_the_same_verdicts() {
    let number = |name: &str, default: u64| {
        let asked = std::env::var(name).ok();
        asked.and_then(|n| n.parse().ok()).unwrap_or(default)
    };
    let (count, seed) = (number("MUTATIONS", 12), number("RANDOM_SEED", 1));
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let directory = std::env::temp_dir().join(format!("landfall-mutations-{}", std::process::id()));
    let examples = examples();
    assert!(examples.len() > 20, "{} examples", examples.len());
    let (mut agree, mut differ) = (0, Vec::new());
    for at in 0..count {
        let example = &examples[random.below(examples.len())];
        let text = fs::read_to_string(example).unwrap();
        let Some((text, what)) = changed(&text, &mut random) else {
            continue;
        };
        let folder = directory.join(at.to_string());
        fs::create_dir_all(&folder).unwrap();
        for beside in fs::read_dir(example.parent().unwrap()).unwrap() {
            let beside = beside.unwrap().path();
            if beside.extension().is_some_and(|e| e == "h") {
                fs::copy(&beside, folder.join(beside.file_name().unwrap())).unwrap();
            }
        }
        fs::write(folder.join("changed.c"), &text).unwrap();
        let builds = std::process::Command::new("clang-19")
            .args(["-fsyntax-only", "-w", "-I"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include"))
            .arg(folder.join("changed.c"))
            .output()
            .expect("clang runs");
        let mut wrong = Vec::new();
        if builds.status.success() {
            // What the persistent heap writes for itself is not modelled: only `check` sees a recovery read that.
            let heap = text.contains("lf_alloc");
            for property in ["invariant", "robust"] {
                if heap && property == "robust" {
                    continue;
                }
                match compare(&folder, "changed.c", property) {
                    Compared::Agree => agree += 1,
                    Compared::Open => {}
                    Compared::Differ(why) => wrong.push(why),
                }
            }
        }
        if wrong.is_empty() {
            let _ = fs::remove_dir_all(&folder);
        }
        let place = || format!("{} {}: {what}", folder.display(), example.display());
        differ.extend(wrong.iter().map(|why| format!("{}: {why}", place())));
    }
    assert!(differ.is_empty(), "{} agree; {}", agree, differ.join("\n"));
    let _ = fs::remove_dir_all(&directory);
    assert!(agree as u64 * 4 >= count, "{agree} of {count}");
}
