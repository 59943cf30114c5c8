//! The litmus tests under `litmus/`, read.

use landfall_litmus::parse::parse;
use landfall_litmus::program::Test;
use std::path::{Path, PathBuf};

pub fn litmus_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus")
}

/// Every test file below `litmus/SUB`, sorted, with its path.
pub fn read_corpus(sub: &str) -> Vec<(PathBuf, Test)> {
    let mut files = Vec::new();
    collect(&litmus_dir().join(sub), &mut files);
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("readable");
            let name = path.file_name().and_then(|n| n.to_str()).expect("utf-8");
            let test =
                parse(name, &text).unwrap_or_else(|error| panic!("{}:{error}", path.display()));
            (path, test)
        })
        .collect()
}

/// The tests below `litmus/` that need no hardware transactions.
pub fn read_corpus_without_transactions() -> Vec<(PathBuf, Test)> {
    let mut corpus = read_corpus("");
    corpus.retain(|(_, test)| !test.program.has_transactions());
    corpus
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("litmus directory") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            collect(&path, out);
        } else if path
            .extension()
            .is_some_and(|e| e == "lit" || e == "litmus")
        {
            out.push(path);
        }
    }
}
