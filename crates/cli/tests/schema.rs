//! What `landfall check` writes for other programs is what the schemas say: docs/schema/run.schema.json for run.json, and the OASIS schema
//! for SARIF. The latter is not ours to copy: the crate serde-sarif carries it, which Cargo.toml names for that alone.

#[path = "../../report/tests/schema/mod.rs"]
mod validator;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

fn read(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

fn ours() -> Value {
    read(&root().join("docs/schema/run.schema.json"))
}

/// Where cargo keeps the crate.
fn official() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|p| p["name"] == "serde-sarif").unwrap();
    let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
    read(&manifest.with_file_name("src").join("schema.json"))
}

/// run.json and SARIF of a check.
fn check(name: &str, arguments: &[&str]) -> (Value, Value) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("schema")
        .join(name);
    std::fs::create_dir_all(&out).unwrap();
    let sarif = out.join("out.sarif");
    let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(["check", "--quiet", "--out"])
        .arg(&out)
        .arg("--sarif")
        .arg(&sarif)
        .args(arguments)
        .current_dir(root())
        .env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .output()
        .unwrap();
    assert!(
        matches!(output.status.code(), Some(0 | 5 | 100)),
        "{arguments:?}: {output:?}"
    );
    (read(&out.join("run.json")), read(&sarif))
}

#[test]
fn real_outputs_are_what_the_schemas_say() {
    let (ours, official) = (ours(), official());
    let nothing = Vec::<String>::new();
    for (name, arguments) in [
        ("findings", &["examples/commit-flag/missing-flush.c"][..]),
        ("clean", &["examples/commit-flag/correct.c"]),
        ("limit", &["--runs", "3", "examples/btree/correct.cc"]),
        ("count", &["--count-eager", "examples/btree/correct.cc"]),
        (
            "random",
            &[
                "--checks",
                "crash",
                "--random",
                "5",
                "examples/ring-buffer/item-not-flushed.c",
            ],
        ),
        (
            "judged",
            &[
                "--checks",
                "robustness,races,flushes",
                "examples/append-log/first-line-only.c",
            ],
        ),
        (
            "twice",
            &[
                "--failures",
                "2",
                "examples/crash-in-recovery/disarmed-too-early.c",
            ],
        ),
        ("streamed", &["examples/append-log/streamed-no-fence.c"]),
        ("race", &["crates/cli/tests/threads/lost_update.c"]),
        ("deadlock", &["crates/cli/tests/threads/two_locks.c"]),
        ("alone", &["crates/cli/tests/inputs/check/exits.c"]),
        (
            "hang",
            &["--events", "100000", "examples/lock-word/still-held.cc"],
        ),
    ] {
        let (run, sarif) = check(name, arguments);
        assert_eq!(
            validator::violations(&ours, &run),
            nothing,
            "{name}: run.json"
        );
        assert_eq!(
            validator::violations(&official, &sarif),
            nothing,
            "{name}: SARIF"
        );
    }
}

/// A schema that accepts anything would say nothing.
#[test]
fn the_schemas_refuse_what_is_wrong() {
    let (run, sarif) = check("refused", &["examples/commit-flag/missing-flush.c"]);
    let spoilt = |value: &Value, pointer: &str, wrong: Value| {
        let mut value = value.clone();
        *value.pointer_mut(pointer).unwrap() = wrong;
        value
    };
    for (pointer, wrong) in [
        ("/verdict", json!("fine")),
        ("/findings/0/kind", json!("oops")),
        ("/findings/0/at/line", json!("25")),
        ("/findings/0/timeline/rows/1/phase", json!("during")),
        ("/stats/runs", json!(-1)),
        ("/stats", json!({})),
        ("/coverage", json!({"a.c": {"1": {"shops": 1}}})),
    ] {
        let found = validator::violations(&ours(), &spoilt(&run, pointer, wrong));
        assert!(!found.is_empty(), "{pointer}");
    }
    let official = official();
    for (pointer, wrong) in [
        ("/version", json!("2.0.0")),
        ("/runs/0/results/0/level", json!("fatal")),
        (
            "/runs/0/results/0/locations/0/physicalLocation/region/startLine",
            json!(0),
        ),
        ("/runs/0/tool", json!({})),
    ] {
        let found = validator::violations(&official, &spoilt(&sarif, pointer, wrong));
        assert!(!found.is_empty(), "{pointer}");
    }
}

/// The schema is what the types say. `BLESS=1` writes it.
#[test]
fn the_schema_is_generated_from_the_types() {
    let path = root().join("docs/schema/run.schema.json");
    let generated = landfall::run_schema();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        kept, generated,
        "BLESS=1 writes docs/schema/run.schema.json"
    );
}
