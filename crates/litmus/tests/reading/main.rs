//! Reading test files: the corpora, what is wrong with bad files, and that nothing makes a parser panic.

mod corpus;
mod errors;
mod fuzz;

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
