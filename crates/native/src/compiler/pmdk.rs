//! PMDK, instrumented: built from its sources by its own makefiles with `landfall cc`, once for each version of Landfall, into the cache.
//!
//! What is kept is what a program needs: headers, static libraries, and the sources that findings point into. Of libpmem nothing is
//! needed but its header: the runtime has its functions, and what they do is seen at the call.

use super::Toolbox;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What became of a build: the name of its directory below the toolbox.
const DIRECTORY: &str = "pmdk";
/// Where its sources are kept, in there.
const SOURCES: &str = "source";
/// Written last: the version, and where the sources came from.
const ABOUT: &str = "about";

/// Libraries that are built if the sources have them. The first one must be there.
const LIBRARIES: [&str; 3] = ["libpmemobj", "libpmemlog", "libpmemblk"];

/// Libraries that programs may name, and whose functions the runtime has.
const PROVIDED: [&str; 1] = ["libpmem"];

/// Parts of a source tree that no library is made of.
const LEFT_OUT: [&str; 8] = [
    "benchmarks",
    "debug",
    "examples",
    "nondebug",
    "rpmem_common",
    "test",
    "tools",
    ".git",
];

/// What PMDK's makefiles are told. They would ask for libraries that concern only real devices, look for tools that only they need,
/// and stop at what another compiler warns about.
const VARIABLES: [&str; 10] = [
    "NDCTL_ENABLE=n",
    "PMEMOBJ_IGNORE_DIRTY_SHUTDOWN=y",
    "PMEMOBJ_IGNORE_BAD_BLOCKS=y",
    "DEBUG=",
    "PKG_CONFIG_CHECKED=y",
    "USE_LIBUNWIND=n",
    "CHECK_OS=:",
    "CSTYLEON=0",
    "BUILD_RPMEM=n",
    "LIB_OUTDIR=../nondebug",
];

/// What stands for files of PMDK that ask devices.
const REPLACED: [(&str, &str); 3] = [
    (
        "src/core/valgrind/pmemcheck.h",
        include_str!("pmdk_transactions.h"),
    ),
    (
        "src/libpmem2/badblocks_none.c",
        include_str!("pmdk_no_device.c"),
    ),
    (
        "src/libpmem2/usc_none.c",
        include_str!("pmdk_no_shutdowns.c"),
    ),
];

/// Where a transaction's work is done, or given up: what follows in it is not undone with it. PMDK tells its tools only when all of
/// it ends.
const STAGES: &str = "src/libpmemobj/tx.c";
const WORK_ENDS: [&str; 2] = [
    "tx->stage = TX_STAGE_ONCOMMIT;",
    "tx->stage = TX_STAGE_ONABORT;",
];

/// Would change the build behind everybody's back.
const ENVIRONMENT: [&str; 8] = [
    "CFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "EXTRA_CFLAGS",
    "OBJDIR",
];

/// Lines of a failed build that are shown.
const SHOWN: usize = 12;

#[derive(Debug, thiserror::Error)]
pub enum PmdkError {
    #[error(
        "no PMDK is built for this version of landfall: `landfall pmdk build SOURCE` builds it from PMDK's sources (git clone https://github.com/pmem/pmdk), `landfall pmdk build` from Debian's source package"
    )]
    NotBuilt,
    #[error("{}: no sources of PMDK: `src/libpmemobj/Makefile` is not there", directory.display())]
    NoSources { directory: PathBuf },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{program} could not be run: {source}; {program} is needed to build PMDK")]
    Tool {
        program: &'static str,
        source: io::Error,
    },
    #[error(
        "Debian's source package of PMDK cannot be had:\n{output}\nIt takes a `deb-src` line in apt's sources and the package dpkg-dev. Or name a source tree: landfall pmdk build SOURCE"
    )]
    Package { output: String },
    #[error("{library} did not build; the end of {}:\n{output}", log.display())]
    Build {
        library: &'static str,
        log: PathBuf,
        output: String,
    },
}

/// PMDK as it lies in the cache.
#[derive(Clone, Debug)]
pub struct Pmdk {
    directory: PathBuf,
    /// Of the sources.
    pub version: String,
    /// Where they came from.
    pub from: String,
}

impl Pmdk {
    /// The build of this version of Landfall.
    pub fn find(toolbox: &Toolbox) -> Result<Pmdk, PmdkError> {
        let directory = toolbox.directory().join(DIRECTORY);
        let about = fs::read_to_string(directory.join(ABOUT)).map_err(|_| PmdkError::NotBuilt)?;
        let (version, from) = about.split_once('\n').ok_or(PmdkError::NotBuilt)?;
        Ok(Pmdk {
            version: version.to_owned(),
            from: from.trim_end().to_owned(),
            directory,
        })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn include(&self) -> PathBuf {
        self.directory.join("include")
    }

    /// Where `-lpmemobj` is found.
    pub(super) fn libraries(&self) -> PathBuf {
        self.directory.join("lib")
    }

    /// What a program is linked with.
    pub(super) fn archives(&self) -> Vec<OsString> {
        let archive = |library: &&str| self.libraries().join(format!("{library}.a"));
        let all = LIBRARIES.iter().map(archive);
        let there = all.filter(|archive| archive.is_file());
        there.map(PathBuf::into_os_string).collect()
    }
}

/// The name of the library, if a source file is of one that was built here.
pub fn library(file: &str) -> Option<&'static str> {
    file.contains(&format!("/{DIRECTORY}/{SOURCES}/src/"))
        .then_some("PMDK")
}

/// Builds PMDK with `landfall`, the command that runs. Without a source tree, Debian's source package is asked for.
pub fn build(toolbox: &Toolbox, source: Option<&Path>, landfall: &Path) -> Result<Pmdk, PmdkError> {
    let whole = toolbox.directory().join(DIRECTORY);
    // Beside its place first: whoever checks a program meanwhile has the old one, or none.
    let scratch = toolbox
        .directory()
        .join(format!("{DIRECTORY}.{}", std::process::id()));
    let built = build_in(&scratch, &whole, source, landfall);
    let named = built.and_then(|()| {
        let _ = fs::remove_dir_all(&whole);
        fs::rename(&scratch, &whole).map_err(|source| file(&whole, source))
    });
    match named {
        Ok(()) => Pmdk::find(toolbox),
        // The log is what a failure is understood by.
        Err(error @ PmdkError::Build { .. }) => Err(error),
        Err(error) => {
            let _ = fs::remove_dir_all(&scratch);
            Err(error)
        }
    }
}

fn build_in(
    scratch: &Path,
    whole: &Path,
    source: Option<&Path>,
    landfall: &Path,
) -> Result<(), PmdkError> {
    let _ = fs::remove_dir_all(scratch);
    make(scratch)?;
    let (tree, from) = match source {
        Some(source) => {
            let tree = tree(source).ok_or_else(|| PmdkError::NoSources {
                directory: source.to_owned(),
            })?;
            let from = fs::canonicalize(&tree).unwrap_or_else(|_| tree.clone());
            (tree, from.display().to_string())
        }
        None => (package(scratch)?, "Debian's source package".to_owned()),
    };
    let version = version(&tree);
    let sources = scratch.join(SOURCES);
    for part in ["src", "utils"] {
        copy(&tree.join(part), &sources.join(part))?;
    }
    for (name, text) in REPLACED {
        let path = sources.join(name);
        if path.is_file() {
            fs::write(&path, text).map_err(|source| file(&path, source))?;
        }
    }
    tell_stages(&sources.join(STAGES))?;
    let compiler = scratch.join("cc");
    wrap(&compiler, landfall, scratch, whole)?;
    make(&scratch.join("lib"))?;
    for library in LIBRARIES {
        let directory = sources.join("src").join(library);
        let archive = format!("{library}.a");
        if library != LIBRARIES[0] && !directory.join("Makefile").is_file() {
            continue;
        }
        run_make(&directory, library, &archive, &version, scratch)?;
        let made = sources.join("src/nondebug").join(&archive);
        let kept = scratch.join("lib").join(&archive);
        fs::copy(&made, &kept).map_err(|source| file(&made, source))?;
    }
    for library in PROVIDED {
        // An archive of nothing, for those who name it.
        let path = scratch.join("lib").join(format!("{library}.a"));
        fs::write(&path, b"!<arch>\n").map_err(|source| file(&path, source))?;
    }
    copy(&sources.join("src/include"), &scratch.join("include"))?;
    let _ = fs::remove_dir_all(sources.join("src/nondebug"));
    let _ = fs::remove_dir_all(scratch.join("package"));
    let about = scratch.join(ABOUT);
    fs::write(&about, format!("{version}\n{from}\n")).map_err(|source| file(&about, source))
}

/// Says where the work of transactions ends; in sources that look different, it ends where the transaction does.
fn tell_stages(path: &Path) -> Result<(), PmdkError> {
    let failed = |source| file(path, source);
    let Ok(text) = fs::read_to_string(path) else {
        return Ok(());
    };
    match with_stages(&text) {
        Some(told) => fs::write(path, told).map_err(failed),
        None => Ok(()),
    }
}

fn with_stages(text: &str) -> Option<String> {
    if !WORK_ENDS.iter().all(|ends| text.contains(ends)) {
        return None;
    }
    // Lines keep their numbers: findings point at them.
    let told = WORK_ENDS.iter().fold(text.to_owned(), |text, ends| {
        text.replace(ends, &format!("lf_tx_end(), {ends}"))
    });
    Some(format!("#define LANDFALL_STAGES 1\n#line 1\n{told}"))
}

/// The top of a source tree, for somebody who names that or its `src`.
fn tree(named: &Path) -> Option<PathBuf> {
    let is_top = |top: &Path| top.join("src/libpmemobj/Makefile").is_file();
    let above = named.join("..");
    [named.to_owned(), above]
        .into_iter()
        .find(|top| is_top(top))
}

/// Debian's source package, unpacked.
fn package(scratch: &Path) -> Result<PathBuf, PmdkError> {
    let directory = scratch.join("package");
    make(&directory)?;
    let output = Command::new("apt-get")
        .args(["source", "--quiet", "pmdk"])
        .current_dir(&directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| PmdkError::Tool {
            program: "apt-get",
            source,
        })?;
    let entries = fs::read_dir(&directory).map_err(|source| file(&directory, source))?;
    let unpacked = entries.flatten().find_map(|entry| tree(&entry.path()));
    unpacked
        .filter(|_| output.status.success())
        .ok_or_else(|| PmdkError::Package {
            output: end(&[output.stdout, output.stderr].concat()),
        })
}

/// What a source tree says it is.
fn version(tree: &Path) -> String {
    let says = |name: &str| fs::read_to_string(tree.join(name)).ok();
    let released = says("VERSION").map(|text| text.trim().to_owned());
    let last_change = || {
        let changes = says("ChangeLog")?;
        let (_, version) = changes.split_once("* Version ")?;
        version.split_whitespace().next().map(str::to_owned)
    };
    let version = released.or_else(last_change);
    // It becomes a word of a make command.
    let is_plain = |text: &String| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".+-~_".contains(c))
    };
    version
        .filter(is_plain)
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The compiler as PMDK's makefiles call it: make splits words, and a path may have blanks. What is built here is found there later.
///
/// Pools with a shutdown state open (`SDS_ENABLED`); those that are made have none.
fn wrap(path: &Path, landfall: &Path, here: &Path, there: &Path) -> Result<(), PmdkError> {
    use std::os::unix::fs::PermissionsExt;
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let moved = format!("{}={}", here.display(), there.display());
    let script = format!(
        "#!/bin/sh\nexec {} cc \"$@\" -Wno-error -O1 -DSDS_ENABLED -ffile-prefix-map={}\n",
        quoted(landfall),
        quoted(Path::new(&moved))
    );
    fs::write(path, script)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o700)))
        .map_err(|source| file(path, source))
}

fn run_make(
    directory: &Path,
    library: &'static str,
    archive: &str,
    version: &str,
    scratch: &Path,
) -> Result<(), PmdkError> {
    let log = scratch.join("build.log");
    let cannot = |source| file(&log, source);
    let to_log = || fs::OpenOptions::new().create(true).append(true).open(&log);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut command = Command::new("make");
    command
        .arg(format!("-j{jobs}"))
        .args(VARIABLES)
        .arg(format!("SRCVERSION={version}"))
        .arg("CC=../../../cc")
        .arg(format!("../nondebug/{archive}"))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(to_log().map_err(cannot)?)
        .stderr(to_log().map_err(cannot)?);
    for name in ENVIRONMENT {
        command.env_remove(name);
    }
    let status = command.status().map_err(|source| PmdkError::Tool {
        program: "make",
        source,
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(PmdkError::Build {
            library,
            output: end(&fs::read(&log).unwrap_or_default()),
            log,
        }),
    }
}

/// The last lines of what a command said.
fn end(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(SHOWN);
    lines[from..]
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn file(path: &Path, source: io::Error) -> PmdkError {
    PmdkError::File {
        path: path.to_owned(),
        source,
    }
}

fn make(directory: &Path) -> Result<(), PmdkError> {
    fs::create_dir_all(directory).map_err(|source| file(directory, source))
}

/// A part of a source tree; nothing, where there is none.
fn copy(from: &Path, to: &Path) -> Result<(), PmdkError> {
    let failed = |source| file(from, source);
    if !from.exists() {
        return Ok(());
    }
    make(to)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (name, path) = (entry.file_name(), entry.path());
        if LEFT_OUT.iter().any(|part| name == *part) {
            continue;
        }
        // A link is what it leads to.
        match fs::metadata(&path) {
            Ok(about) if about.is_dir() => copy(&path, &to.join(&name))?,
            Ok(about) if about.is_file() => {
                fs::copy(&path, to.join(&name)).map_err(|source| file(&path, source))?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_what_the_sources_say() {
        let scratch = std::env::temp_dir().join(format!("landfall-pmdk-{}", std::process::id()));
        let _ = fs::remove_dir_all(&scratch);
        fs::create_dir_all(&scratch).unwrap();
        assert_eq!(version(&scratch), "unknown");
        let changes = "Mon Jan 1 2024 Somebody\n\n\t* Version 2.0.1\n\n\t* Version 1.9\n";
        fs::write(scratch.join("ChangeLog"), changes).unwrap();
        assert_eq!(version(&scratch), "2.0.1");
        fs::write(scratch.join("VERSION"), "1.12.1\n").unwrap();
        assert_eq!(version(&scratch), "1.12.1");
        fs::write(scratch.join("VERSION"), "$(shell id)").unwrap();
        assert_eq!(version(&scratch), "unknown");
        let _ = fs::remove_dir_all(&scratch);
    }

    #[test]
    fn the_work_of_a_transaction_ends_where_its_stage_changes() {
        let text =
            "a\n\tif (x)\n\t\ttx->stage = TX_STAGE_ONABORT;\ntx->stage = TX_STAGE_ONCOMMIT;\n";
        let told = with_stages(text).unwrap();
        let (first, rest) = told.split_once("#line 1\n").unwrap();
        assert_eq!(first, "#define LANDFALL_STAGES 1\n");
        assert!(
            rest.contains("\n\t\tlf_tx_end(), tx->stage = TX_STAGE_ONABORT;\n"),
            "{rest}"
        );
        assert_eq!(rest.lines().count(), text.lines().count());
        assert_eq!(with_stages("tx->stage = TX_STAGE_ONABORT;"), None);
    }

    #[test]
    fn of_a_long_output_the_end_is_shown() {
        let output: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let shown = end(output.as_bytes());
        assert_eq!(shown.lines().count(), SHOWN);
        assert!(shown.ends_with("  line 99"), "{shown}");
    }
}
