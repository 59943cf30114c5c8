//! Reading test files: the corpora, what is wrong with bad files, and that nothing makes a parser panic.

mod corpus;
mod errors;
mod forms;
mod fuzz;

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// All files under a folder that end so, in a fixed order.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is part of the repository");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| {
            let extension = path.extension().and_then(|e| e.to_str());
            extension.is_some_and(|e| extensions.contains(&e))
        })
        .collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or("")
}

/// The litmus tests that come with Landfall, by file name.
fn corpus() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus");
    ["px86", "tso"]
        .iter()
        .flat_map(|folder| files(&root.join(folder), &["lit", "litmus"]))
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a readable test");
            (name(&path).to_owned(), text)
        })
        .collect()
}

/// Compares what is said about each file of a folder under `tests` with the file beside it that holds the answer.
/// With `BLESS=1` the answers are written instead.
fn judge(folder: &str, answer: &str, at_least: usize, say: impl Fn(&str, &str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = String::new();
    let cases = files(&folder, &["lit", "litmus", "txt"]);
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    for path in cases {
        let text = std::fs::read_to_string(&path).expect("a readable case");
        let said = say(name(&path), &text);
        let mut beside = path.clone().into_os_string();
        beside.push(".");
        beside.push(answer);
        if bless {
            std::fs::write(&beside, &said).expect("a writable folder");
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if said != expected {
            let _ = write!(wrong, "{}\nsays\n{said}not\n{expected}", name(&path));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
