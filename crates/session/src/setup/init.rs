//! `--pm-init`: a command prepares pools before the check, as a user would on the command line. It must not change the disk, or the next
//! check would begin with what this one left; and nobody can tell an ordinary command to write elsewhere. So it gets a working directory
//! that looks like the real one, link by link, in which the directory of pools is a copy. What it leaves there is what the check begins with.

use super::{is_source, words};
use crate::error::{Error, ErrorKind};
use crate::options::Asked;
use crate::results;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the command leaves, in the folder for results.
pub(super) const POOLS: &str = "pools";

/// Where the command works while it does.
const DIRECTORY: &str = "init-directory";

/// A command, and where it works.
#[derive(Debug)]
pub(super) struct PoolInit<'a> {
    options: &'a Asked,
    command: &'a str,
    words: Vec<String>,
    /// The directory of pools, from the working directory on.
    pools: PathBuf,
}

impl<'a> PoolInit<'a> {
    pub(super) fn new(options: &'a Asked, command: &'a str) -> Result<PoolInit<'a>, Error> {
        let usage = |why: &str| Error::usage(format!("--pm-init {command}: {why}"));
        let words = words(command).ok_or_else(|| usage("a quote is not closed"))?;
        if words.is_empty() {
            return Err(usage("names no program"));
        }
        let directory = options.pm_dir.as_deref();
        let directory = directory.ok_or_else(|| usage("there is no --pm-dir for it to fill"))?;
        let here = fs::canonicalize(options.here());
        let there = fs::canonicalize(options.located(directory));
        let (Ok(here), Ok(there)) = (here, there) else {
            return Err(usage("the directory of pools cannot be found"));
        };
        let below = there.strip_prefix(&here).ok();
        let below = below.filter(|path| path.components().next().is_some());
        let pools = below.ok_or_else(|| {
            usage(&format!(
                "{} is not below the working directory: only then can the command be given a copy of it",
                directory.display()
            ))
        })?;
        Ok(PoolInit {
            options,
            command,
            words,
            pools: pools.to_owned(),
        })
    }

    /// The source that is to be built first, if it names one.
    pub(super) fn source(&self) -> Option<PathBuf> {
        Some(PathBuf::from(&self.words[0])).filter(|program| is_source(program))
    }

    /// Runs it, or what was compiled of it, and says where the pools are then.
    pub(super) fn run(&self, compiled: Option<PathBuf>) -> Result<PathBuf, Error> {
        let out = fs::canonicalize(&self.options.out).map_err(|e| self.failed(&e))?;
        let directory = out.join(DIRECTORY);
        let made = self.make(&directory);
        let made = made.map_err(|e| self.failed(&e));
        let ran = made.and_then(|()| self.start(&directory, &out, compiled));
        let pools = ran.and_then(|()| {
            let pools = out.join(POOLS);
            results::list(&self.options.out, POOLS)
                .and_then(|()| fs::rename(directory.join(&self.pools), &pools))
                .map_err(|e| self.failed(&e))?;
            Ok(self.options.out.join(POOLS))
        });
        let _ = fs::remove_dir_all(&directory); // links, or what a command left halfway
        pools
    }

    fn start(&self, directory: &Path, out: &Path, compiled: Option<PathBuf>) -> Result<(), Error> {
        let program = match compiled.as_ref().and_then(|path| path.file_name()) {
            Some(name) => out.join(name),
            None => PathBuf::from(&self.words[0]),
        };
        let child = Command::new(&program)
            .args(&self.words[1..])
            .current_dir(directory)
            .env("PWD", directory)
            .stdin(Stdio::null())
            // The results of the check are printed there.
            .stdout(Stdio::null())
            .spawn();
        let child = child.map_err(|e| Error::usage(format!("--pm-init {}: {e}", self.command)))?;
        match super::wait(child, self.options) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(Error::usage(format!(
                "--pm-init {}: {status}: the pools are not prepared",
                self.command
            ))),
            Ok(None) => Err(Error::new(ErrorKind::Interrupted, "interrupted")),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::usage(format!("--pm-init {}: {error}", self.command))
    }

    /// The working directory as the command sees it.
    fn make(&self, directory: &Path) -> io::Result<()> {
        let _ = fs::remove_dir_all(directory); // of a check that was killed
        let mut real = fs::canonicalize(self.options.here())?;
        let mut seen = directory.to_owned();
        for part in self.pools.components() {
            fs::create_dir_all(&seen)?;
            for entry in fs::read_dir(&real)? {
                let name = entry?.file_name();
                if name != part.as_os_str() {
                    std::os::unix::fs::symlink(real.join(&name), seen.join(&name))?;
                }
            }
            real.push(part);
            seen.push(part);
        }
        copy(&real, &seen)
    }
}

/// Files and directories; pools are nothing else.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
