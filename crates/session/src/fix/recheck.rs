//! Builds and checks patched sources, without touching the real ones.

use crate::check::check;
use crate::error::{Error, ErrorKind};
use crate::fix::finding::OpenFinding;
use crate::fix::project::Project;
use crate::observer::Observer;
use crate::options::{Options, Stdin, Target};
use crate::record::CheckRequest;
use anyhow::{Context, bail};
use landfall_finding::{CheckRecord, Run};
use serde_json::json;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Makes the check of a run again.
pub(crate) struct Recheck<'a> {
    directory: PathBuf,
    target: Target,
    options: Options,
    how: Rebuild,
    scratch: ScratchFolder,
    /// The first check reached no limit, and so may none.
    complete: bool,
    /// Who watches those checks.
    observer: RefCell<&'a mut dyn Observer>,
}

impl std::fmt::Debug for Recheck<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recheck")
            .field("directory", &self.directory)
            .field("how", &self.how)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Rebuild {
    /// The check compiles sources: clang sees the patched ones in their place.
    Overlay,
    /// A command builds the program: in a copy of the directory.
    Copy { build: String },
}

/// Patched sources, ready to be checked.
#[derive(Debug)]
pub(crate) struct Prepared {
    directory: PathBuf,
    flags: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Checked {
    Found(Vec<OpenFinding>),
    NotBuilt,
    /// It built, but there is no verdict to compare.
    Unusable,
}

impl<'a> Recheck<'a> {
    pub(crate) fn new(
        run: &Run,
        recorded: &CheckRecord,
        build: Option<String>,
        observer: &'a mut dyn Observer,
    ) -> anyhow::Result<Recheck<'a>> {
        let request: CheckRequest = serde_json::from_value(recorded.request.clone())
            .context("run.json does not say what was asked for; run `landfall check` again")?;
        let CheckRequest { target, options } = request;
        let how = match (target.sources.is_empty(), build) {
            (false, None) => Rebuild::Overlay,
            (_, Some(build)) => Rebuild::Copy { build },
            (true, None) => bail!(
                "the check was given a program that was built before: say how to build it, as in --build make"
            ),
        };
        let stdin = match &run.stdin {
            Some(given) => Stdin::File(recorded.directory.join(given.file.path())),
            None => Stdin::Nothing,
        };
        Ok(Recheck {
            directory: recorded.directory.clone(),
            target,
            options: Options {
                stdin,
                quiet_compiler: true,
                sarif: None,
                junit: None,
                ..options
            },
            how,
            scratch: ScratchFolder::new()?,
            complete: run.complete,
            observer: RefCell::new(observer),
        })
    }

    /// By how many bytes the check moved the blocks of the persistent heap.
    pub(crate) fn heap_offset(&self) -> u16 {
        self.options.heap_offset
    }

    /// Patched sources where they can be checked; none if they do not build.
    pub(crate) fn prepare(&mut self, project: &Project) -> anyhow::Result<Option<Prepared>> {
        match &self.how {
            Rebuild::Overlay => {
                let overlay = self.overlay(project)?;
                Ok(Some(Prepared {
                    directory: self.directory.clone(),
                    flags: vec!["-ivfsoverlay".to_owned(), overlay.display().to_string()],
                }))
            }
            Rebuild::Copy { build } => {
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
    pub(crate) fn with(&self, prepared: &Prepared, moved: Option<u16>) -> anyhow::Result<Checked> {
        let mut target = self.target.clone();
        target
            .compiler_flags
            .extend(prepared.flags.iter().map(Into::into));
        let options = Options {
            heap_offset: moved.unwrap_or(self.options.heap_offset),
            directory: Some(prepared.directory.clone()),
            asked_out: Some(self.scratch.path.join("out")),
            ..self.options.clone()
        };
        self.check(&target, &options)
    }

    /// What the check finds in the files as they are, with its results where the user has them.
    pub(crate) fn in_place(&mut self, out: &Path) -> anyhow::Result<Vec<OpenFinding>> {
        if let Rebuild::Copy { build } = &self.how
            && !built(build, &self.directory)?
        {
            bail!("`{build}` failed");
        }
        let out = out.canonicalize().unwrap_or_else(|_| out.to_owned());
        let here = std::env::current_dir().unwrap_or_default();
        // Relative names are what the user typed, and what findings should say.
        let within = |out: &Path| out.strip_prefix(&self.directory).map(Path::to_owned);
        let options = Options {
            asked_out: Some(within(&out).unwrap_or(out)),
            directory: (here != self.directory).then(|| self.directory.clone()),
            ..self.options.clone()
        };
        match self.check(&self.target, &options)? {
            Checked::Found(findings) => Ok(findings),
            Checked::NotBuilt => bail!("the program did not build with the patch in place"),
            Checked::Unusable => bail!("the check came to no verdict with the patch in place"),
        }
    }

    fn check(&self, target: &Target, options: &Options) -> anyhow::Result<Checked> {
        let checked = check(target, options, *self.observer.borrow_mut());
        if landfall_native::interrupted() {
            bail!(Error::new(ErrorKind::Interrupted, "interrupted"));
        }
        match checked {
            // A check that stopped early has not looked everywhere.
            Ok(run) if self.complete && !run.complete => Ok(Checked::Unusable),
            Ok(run) => Ok(Checked::Found(
                run.findings.into_iter().map(OpenFinding::from).collect(),
            )),
            Err(error) if error.kind() == ErrorKind::Build => Ok(Checked::NotBuilt),
            Err(_) => Ok(Checked::Unusable),
        }
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
struct ScratchFolder {
    path: PathBuf,
}

impl ScratchFolder {
    fn new() -> anyhow::Result<ScratchFolder> {
        let path = std::env::temp_dir().join(format!("landfall-fix-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(ScratchFolder { path })
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
