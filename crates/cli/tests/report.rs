//! What a check leaves behind for people and for other programs: report.html, SARIF, JUnit; and `landfall report`, which makes
//! them again.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scratch(name: &str) -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("report")
        .join(name);
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).unwrap();
    scratch
}

fn landfall(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(arguments)
        .current_dir(directory)
        .env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .output()
        .unwrap()
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A program whose every word is hostile to a page.
const HOSTILE: &str = r#"#include <landfall.h>
#include <stdio.h>
#include <stdlib.h>
/* </pre><script>alert(1)</script> */
int main(void) {
  long *pm = lf_pm(4096);
  if (pm[8] && !pm[0]) { puts("<script>alert(2)</script>"); fflush(stdout); exit(7); } // <img src=x onerror=alert(3)>
  if (pm[8]) return 0;
  pm[0] = 1; // <script>alert(4)</script>
  pm[8] = 1;
  lf_persist(pm, 128);
  return 0;
}
"#;

#[test]
fn a_check_leaves_a_page_that_nothing_can_break_out_of() {
    let here = scratch("page");
    fs::write(here.join("hostile.c"), HOSTILE).unwrap();
    let checked = landfall(&here, &["check", "hostile.c"]);
    assert_eq!(checked.status.code(), Some(100), "{checked:?}");
    let page = read(here.join("landfall-out/report.html"));
    // One script, ours; what the program says and looks like is text.
    assert_eq!(page.matches("<script").count(), 1);
    for text in [
        "&lt;script&gt;alert(2)&lt;/script&gt;",
        "&lt;img src=x onerror=alert(3)&gt;",
        "landfall replay landfall-out/B1.json",
        "landfall check hostile.c",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for part in [
        "⚡",
        "class=\"lane\"",
        "id=\"coverage\"",
        "id=\"search\"",
        "lf_persist(",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let run: Value = serde_json::from_str(&read(here.join("landfall-out/run.json"))).unwrap();
    assert_eq!(run["findings"][0]["output"], "<script>alert(2)</script>\n");

    // Made again it is the same; with a changed source it says so and shows no text.
    let again = landfall(&here, &["report", "landfall-out", "--html", "again.html"]);
    assert_eq!((again.status.code(), &*again.stderr), (Some(0), &b""[..]));
    assert_eq!(read(here.join("again.html")), page);
    fs::write(here.join("hostile.c"), "int main(void) { return 0; }\n").unwrap();
    let later = landfall(&here, &["report", "landfall-out/run.json", "--html", "-"]);
    let said = String::from_utf8_lossy(&later.stderr);
    assert!(said.contains("hostile.c is not what it was"), "{said}");
    let page = String::from_utf8_lossy(&later.stdout);
    assert!(page.contains("The source was not at hand."));
}

#[test]
fn other_programs_get_sarif_and_junit() {
    let here = scratch("formats");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/commit-flag/missing-flush.c");
    fs::copy(source, here.join("missing-flush.c")).unwrap();
    let options = ["--sarif", "a.sarif", "--junit", "a.xml"];
    let checked = landfall(
        &here,
        &[&["check", "missing-flush.c"][..], &options].concat(),
    );
    assert_eq!(checked.status.code(), Some(100), "{checked:?}");
    let options = ["--sarif", "b.sarif", "--junit", "b.xml"];
    let again = landfall(&here, &[&["report", "landfall-out"][..], &options].concat());
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert_eq!(read(here.join("a.sarif")), read(here.join("b.sarif")));
    let sarif: Value = serde_json::from_str(&read(here.join("a.sarif"))).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    let line = |place: &Value| place["physicalLocation"]["region"]["startLine"].clone();
    // Both sides of the story: the store to repair, and where it was noticed.
    assert_eq!(line(&result["locations"][0]), 16);
    let related = result["relatedLocations"].as_array().unwrap();
    let related: Vec<Value> = related.iter().map(line).collect();
    assert_eq!(related, [17, 25]);
    let junit = read(here.join("b.xml"));
    assert!(junit.contains("errors=\"1\""), "{junit}");
    assert!(junit.contains("replay: landfall replay landfall-out/B1.json"));
}

#[test]
fn what_cannot_be_reported_is_refused_in_a_sentence() {
    let here = scratch("refused");
    fs::write(here.join("other.json"), "{\"tool\": \"other\"}").unwrap();
    for (arguments, said) in [
        (
            &["report", "nowhere", "--html", "x"][..],
            "RUN is the --out directory",
        ),
        (
            &["report", "other.json", "--html", "x"],
            "not a run.json of `landfall check`",
        ),
        (&["report", "other.json"], "--html <FILE>"),
    ] {
        let output = landfall(&here, arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(said), "{arguments:?}: {told}");
    }
}

/// Line 10 is read by recoveries, line 11 by nobody, line 14 is never come to.
const COVERED: &str = r#"#include <landfall.h>
struct s {
  _Alignas(64) long read;
  _Alignas(64) long unread;
  _Alignas(64) long done;
};
int main(int argc, char **argv) {
  struct s *s = lf_pm(sizeof *s);
  if (s->done) return s->read != 7;
  s->read = 7;
  s->unread = 8;
  lf_persist(s, 128);
  if (argc > 1)
    s->read = argv[1][0];
  s->done = 1;
  lf_persist(&s->done, 8);
  return 0;
}
"#;

#[test]
fn coverage_says_what_was_tried_and_what_was_found() {
    let here = scratch("coverage");
    fs::write(here.join("covered.c"), COVERED).unwrap();
    let checked = landfall(&here, &["check", "--checks", "crash", "covered.c"]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let run: Value = serde_json::from_str(&read(here.join("landfall-out/run.json"))).unwrap();
    let line = |number: u32| run["coverage"]["covered.c"][number.to_string()].clone();
    let counts = |number: u32| {
        let of = |name: &str| line(number)[name].as_u64().unwrap();
        ["stores", "flushes", "fences", "found", "reads", "values"].map(of)
    };
    // Whether `read` survived matters only once `done` did, and then it had: recoveries find one value in it, and both in `done`.
    assert_eq!(counts(10), [1, 0, 0, 1, 0, 0]);
    assert_eq!(counts(11), [1, 0, 0, 0, 0, 0]);
    assert_eq!(counts(12), [0, 2, 1, 0, 0, 0]);
    assert_eq!(counts(14), [0; 6]);
    assert_eq!(counts(15), [1, 0, 0, 2, 0, 0]);
    let reading = counts(9);
    assert_eq!(
        (reading[0], reading[5]),
        (0, 3),
        "0 and 1 of `done`, 7 of `read`"
    );
    // The power failed while the stores of lines 10 and 15 were not safe.
    assert!(line(10)["cuts"].as_u64() > Some(0) && line(15)["cuts"].as_u64() > Some(0));
    let page = read(here.join("landfall-out/report.html"));
    for (class, number) in [("unread", 11), ("silent", 14), ("covered", 10)] {
        let row = format!("<tr class=\"{class}\"><td class=\"number\">{number}</td>");
        assert!(page.contains(&row), "{row}");
    }
    // How recoveries ended, and the search over time.
    assert_eq!(run["outcomes"][0]["kind"], "well");
    assert_eq!(run["outcomes"][0]["behaviours"], run["stats"]["behaviours"]);
    let last = run["progress"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["behaviours"], run["stats"]["behaviours"]);
    assert_eq!(last["estimate"].as_f64(), last["runs"].as_f64());
}

#[test]
fn two_power_failures_are_two_lines_across() {
    let here = scratch("twice");
    let example = "examples/crash-in-recovery/disarmed-too-early.c";
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(example);
    fs::copy(source, here.join("twice.c")).unwrap();
    let checked = landfall(
        &here,
        &["check", "--checks", "crash", "--failures", "2", "twice.c"],
    );
    assert_eq!(checked.status.code(), Some(100), "{checked:?}");
    let run: Value = serde_json::from_str(&read(here.join("landfall-out/run.json"))).unwrap();
    let timeline = &run["findings"][0]["timeline"];
    let rows = timeline["rows"].as_array().unwrap();
    let failures: Vec<&Value> = rows
        .iter()
        .filter(|row| row["phase"] == "failure")
        .collect();
    assert_eq!(failures.len(), 2, "{rows:?}");
    // Every read that has a source among the rows names a store above it.
    for (number, row) in rows.iter().enumerate() {
        for from in row["read"]["from"].as_array().into_iter().flatten() {
            let from = from.as_u64().unwrap() as usize;
            assert!(from < number && rows[from]["kind"] == "store", "{row}");
        }
    }
    assert_eq!(rows.last().unwrap()["role"], "failed");
    let lanes = timeline["lanes"].as_array().unwrap();
    assert!(
        lanes
            .iter()
            .any(|lane| lane["name"].as_str().unwrap().contains("power failure 2"))
    );
    for lane in lanes {
        let states = lane["versions"].as_array().unwrap().iter();
        assert_eq!(
            states.filter(|v| v["state"] == "survived").count(),
            1,
            "{lane}"
        );
    }
}
