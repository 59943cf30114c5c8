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
