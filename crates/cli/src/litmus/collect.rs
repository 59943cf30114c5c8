//! From the paths a user gave to the files they mean, in an order that does not depend on the file system.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file to run, or why there is none where the user pointed.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    pub(super) problem: Option<String>,
}

pub(super) fn collect(paths: &[PathBuf]) -> Vec<FoundFile> {
    let mut walk = DirectoryWalk::default();
    for path in paths {
        if path.is_dir() {
            let before = walk.found.len();
            walk.directory(path);
            if walk.found.len() == before && !walk.repeated {
                walk.problem(path, "no .lit or .litmus file in this directory".to_owned());
            }
            walk.repeated = false;
        } else {
            walk.file(path.clone());
        }
    }
    walk.found
}

#[derive(Default)]
struct DirectoryWalk {
    found: Vec<FoundFile>,
    seen: HashSet<PathBuf>,
    /// The directory being walked holds tests, but an earlier argument brought them already.
    repeated: bool,
}

impl DirectoryWalk {
    fn file(&mut self, path: PathBuf) {
        // Opening a pipe would wait for whoever writes to it.
        let problem = match path.metadata() {
            Ok(metadata) if !metadata.is_file() => Some("not a regular file".to_owned()),
            Ok(_) => None,
            Err(error) => Some(reason(&error)),
        };
        if self.seen.insert(identity(&path)) {
            self.found.push(FoundFile { path, problem });
        } else {
            self.repeated = true;
        }
    }

    fn problem(&mut self, path: &Path, problem: String) {
        self.found.push(FoundFile {
            path: path.to_owned(),
            problem: Some(problem),
        });
    }

    fn directory(&mut self, directory: &Path) {
        // By identity, so that a symlink to a directory above ends the descent.
        if !self.seen.insert(identity(directory)) {
            self.repeated = true;
            return;
        }
        let entries = fs::read_dir(directory)
            .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
            .map_err(|error| reason(&error));
        let mut entries: Vec<PathBuf> = match entries {
            Ok(entries) => entries.iter().map(fs::DirEntry::path).collect(),
            Err(problem) => return self.problem(directory, problem),
        };
        entries.sort();
        for path in entries {
            if is_hidden(&path) {
                continue;
            }
            if path.is_dir() {
                self.directory(&path);
            } else if is_litmus(&path) {
                self.file(path);
            }
        }
    }
}

fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn is_litmus(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "lit" || extension == "litmus")
}

/// The operating system's reason, without the error number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => error.to_string(),
    }
}
