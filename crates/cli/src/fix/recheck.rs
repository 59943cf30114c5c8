//! Builds and checks patched sources, without touching the real ones.

use super::finding::Finding;
use super::project::Project;
use crate::recorded::Recorded;
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Does the check of a run.json again.
#[derive(Debug)]
pub(super) struct Recheck {
    directory: PathBuf,
    /// Without those that say where results go.
    arguments: Vec<String>,
    /// After `--`.
    command: Vec<String>,
    how: How,
    scratch: Scratch,
    /// The first check reached no limit, and so may none.
    complete: bool,
    /// A file with what it read from standard input, if it did.
    stdin: Option<PathBuf>,
}

#[derive(Debug)]
enum How {
    /// The check compiles sources: clang sees the patched ones in their place.
    Overlay,
    /// A command builds the program: in a copy of the directory.
    Copy { build: String },
}

/// Patched sources, ready to be checked.
#[derive(Debug)]
pub(super) struct Prepared {
    directory: PathBuf,
    flags: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Checked {
    Findings(Vec<Finding>),
    NotBuilt,
    /// It built, but there is no verdict to compare.
    Unusable,
}

impl Recheck {
    pub(super) fn new(
        recorded: &Recorded,
        build: Option<String>,
        complete: bool,
        stdin: Option<PathBuf>,
    ) -> anyhow::Result<Recheck> {
        let (mut arguments, mut command) = (Vec::new(), Vec::new());
        let mut words = recorded.arguments.iter().cloned();
        if words.next().as_deref() != Some("check") {
            bail!("run.json was not written by `landfall check`");
        }
        while let Some(word) = words.next() {
            let name = word.split('=').next().unwrap_or_default();
            match name {
                "--" => command.extend(words.by_ref()),
                "--out" | "--format" | "--color" => {
                    if !word.contains('=') {
                        words.next();
                    }
                }
                "--quiet" | "-v" | "--verbose" => {}
                _ => arguments.push(word),
            }
        }
        let source = |a: &String| {
            let extension = Path::new(a)
                .extension()
                .and_then(|e| e.to_str())
                .unwrap_or("");
            !a.starts_with('-') && ["c", "cc", "cpp", "cxx", "C", "c++"].contains(&extension)
        };
        let named = arguments.iter().any(|a| a.starts_with("-x"));
        let how = match (named || arguments.iter().any(source), build) {
            (true, None) => How::Overlay,
            (_, Some(build)) => How::Copy { build },
            (false, None) => bail!(
                "the check was given a program that was built before: say how to build it, as in --build make"
            ),
        };
        Ok(Recheck {
            directory: recorded.directory.clone(),
            arguments,
            command,
            how,
            scratch: Scratch::new()?,
            complete,
            stdin,
        })
    }

    /// By how many bytes the check moved the blocks of the persistent heap.
    pub(super) fn heap_offset(&self) -> u16 {
        let mut own = 0;
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            let value = match word.split_once('=') {
                Some(("--heap-offset", value)) => Some(value),
                None if word == "--heap-offset" => words.next().map(String::as_str),
                _ => None,
            };
            own = value.and_then(|value| value.parse().ok()).unwrap_or(own);
        }
        own
    }

    /// Patched sources where they can be checked; none if they do not build.
    pub(super) fn prepare(&mut self, project: &Project) -> anyhow::Result<Option<Prepared>> {
        match &self.how {
            How::Overlay => {
                let overlay = self.overlay(project)?;
                Ok(Some(Prepared {
                    directory: self.directory.clone(),
                    flags: vec!["-ivfsoverlay".to_owned(), overlay.display().to_string()],
                }))
            }
            How::Copy { build } => {
                let copy = self.scratch.path.join("copy");
                let _ = std::fs::remove_dir_all(&copy);
                copy_tree(&self.directory, &copy)?;
                for (file, text) in project.texts() {
                    let path = copy.join(file);
                    if Path::new(file).is_absolute() {
                        bail!(
                            "{file}: outside of {}, and so not built by --build",
                            self.directory.display()
                        );
                    }
                    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
                }
                Ok(built(build, &copy)?.then_some(Prepared {
                    directory: copy,
                    flags: Vec::new(),
                }))
            }
        }
    }

    /// What the check finds in them; with the persistent heap's blocks moved, if that is said.
    pub(super) fn with(&self, prepared: &Prepared, moved: Option<u16>) -> anyhow::Result<Checked> {
        let mut flags = prepared.flags.clone();
        // The last one counts.
        flags.extend(moved.map(|bytes| format!("--heap-offset={bytes}")));
        let out = self.scratch.path.join("out");
        self.check(&prepared.directory, &flags, &out)
    }

    /// What the check finds in the files as they are, with its results where the user has them.
    pub(super) fn in_place(&mut self, out: &Path) -> anyhow::Result<Vec<Finding>> {
        if let How::Copy { build } = &self.how
            && !built(build, &self.directory)?
        {
            bail!("`{build}` failed");
        }
        let out = out.canonicalize().unwrap_or_else(|_| out.to_owned());
        // Relative names are what the user typed, and what findings should say.
        let out = out
            .strip_prefix(&self.directory)
            .map_or(out.clone(), Path::to_owned);
        match self.check(&self.directory, &[], &out)? {
            Checked::Findings(findings) => Ok(findings),
            Checked::NotBuilt => bail!("the program did not build with the patch in place"),
            Checked::Unusable => bail!("the check came to no verdict with the patch in place"),
        }
    }

    fn check(&self, directory: &Path, flags: &[String], out: &Path) -> anyhow::Result<Checked> {
        let landfall = std::env::current_exe().context("this program's own path")?;
        let mut command = Command::new(landfall);
        command.arg("check").args(&self.arguments).args(flags);
        command.arg("--out").arg(out).args(["--format", "json"]);
        if !self.command.is_empty() {
            command.arg("--").args(&self.command);
        }
        command
            .current_dir(directory)
            // clang believes it where it can, and the overlay names files by their real directory.
            .env("PWD", directory)
            .stdin(self.input()?);
        let output = landfall_native::run_below(&mut command).context("landfall check")?;
        if landfall_native::interrupted() {
            bail!("interrupted");
        }
        match output.status.code() {
            Some(0 | 5 | 100) => {}
            Some(101) => return Ok(Checked::NotBuilt),
            _ => return Ok(Checked::Unusable),
        }
        let Ok(run) = serde_json::from_slice::<Value>(&output.stdout) else {
            return Ok(Checked::Unusable);
        };
        // A check that stopped early has not looked everywhere.
        if self.complete && run["complete"] != true {
            return Ok(Checked::Unusable);
        }
        let findings = run["findings"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(Checked::Findings(
            findings.iter().map(Finding::read).collect(),
        ))
    }

    /// What the first check read from standard input.
    fn input(&self) -> anyhow::Result<Stdio> {
        let Some(file) = &self.stdin else {
            return Ok(Stdio::null());
        };
        let path = self.directory.join(file);
        let open = std::fs::File::open(&path);
        Ok(open
            .with_context(|| {
                format!(
                    "{}: what the check read from standard input",
                    path.display()
                )
            })?
            .into())
    }

    /// A description for clang of which files to read in place of which.
    fn overlay(&self, project: &Project) -> anyhow::Result<PathBuf> {
        let mut roots = Vec::new();
        for (number, (file, text)) in project.texts().enumerate() {
            let path = self.scratch.path.join(format!("{number}.text"));
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
            let real = self.directory.join(file);
            roots.push(json!({"type": "file", "name": plain(&real), "external-contents": path}));
        }
        let overlay = json!({"version": 0, "case-sensitive": "true", "use-external-names": false, "roots": roots});
        let path = self.scratch.path.join("overlay.yaml");
        std::fs::write(&path, overlay.to_string()).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

/// Without `.` and `..`, as clang compares paths.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

fn built(build: &str, directory: &Path) -> anyhow::Result<bool> {
    let mut command = Command::new("sh");
    command.args(["-c", build]).current_dir(directory);
    command.stdin(Stdio::null());
    let output = landfall_native::run_below(&mut command).with_context(|| format!("`{build}`"))?;
    if landfall_native::interrupted() {
        bail!("interrupted");
    }
    Ok(output.status.success())
}

/// All of a directory but what no build needs.
fn copy_tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    let failed = |path: &Path| path.display().to_string();
    std::fs::create_dir_all(to).with_context(|| failed(to))?;
    for entry in std::fs::read_dir(from).with_context(|| failed(from))? {
        let entry = entry.with_context(|| failed(from))?;
        let (path, name) = (entry.path(), entry.file_name());
        let results = name.to_string_lossy().starts_with("landfall-out");
        if name == ".git" || results {
            continue;
        }
        let target = to.join(&name);
        let kind = entry.file_type().with_context(|| failed(&path))?;
        if kind.is_dir() {
            copy_tree(&path, &target)?;
        } else if kind.is_symlink() {
            let link = std::fs::read_link(&path).with_context(|| failed(&path))?;
            std::os::unix::fs::symlink(link, &target).with_context(|| failed(&target))?;
        } else if kind.is_file() {
            std::fs::copy(&path, &target).with_context(|| failed(&target))?;
            // make goes by times: what was built before must not look new, nor old.
            let times = entry.metadata().and_then(|m| m.modified());
            if let Ok(time) = times
                && let Ok(file) = std::fs::File::options().append(true).open(&target)
            {
                let _ = file.set_modified(time);
            }
        }
    }
    Ok(())
}

/// A directory of this process, gone with it.
#[derive(Debug)]
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new() -> anyhow::Result<Scratch> {
        let path = std::env::temp_dir().join(format!("landfall-fix-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
