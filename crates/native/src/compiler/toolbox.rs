//! The files clang needs from us, carried inside the executable and unpacked once per user and version.

use super::CompilerError;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// Changes with the content: versions never disturb each other, and nothing has to be checked for staleness.
const KEY: &str = env!("LANDFALL_TOOLS_KEY");

/// What programs export to the shared libraries they load: those resolve their hooks from the executable.
const EXPORTS: &[u8] = b"{ __lf_*; lf_*; pmem_*; };\n";

/// Linked to every program.
pub(crate) const RUNTIME: &[u8] = include_bytes!(env!("LANDFALL_RUNTIME_ARCHIVE"));

const FILES: [(&str, &[u8]); 7] = [
    ("landfall-pass.so", include_bytes!(env!("LANDFALL_PASS"))),
    ("liblandfall-runtime.a", RUNTIME),
    (
        "include/landfall.h",
        include_bytes!(env!("LANDFALL_HEADER")),
    ),
    (
        "include/bits/c++config.h",
        include_bytes!(env!("LANDFALL_CXX_CONFIGURATION")),
    ),
    ("exports.list", EXPORTS),
    (KERNEL, include_bytes!(env!("LANDFALL_KERNEL"))),
    (
        "include/landfall/kernel.h",
        include_bytes!(env!("LANDFALL_KERNEL_HEADER")),
    ),
];

/// The machine that kernels run on.
const KERNEL: &str = "landfall-kernel/kernel.c";

/// Is this source ours, though it is compiled with the program?
pub fn is_ours(file: &str) -> bool {
    file.ends_with(KERNEL)
}

/// A directory with all of `FILES`.
#[derive(Clone, Debug)]
pub struct Toolbox {
    directory: PathBuf,
}

impl Toolbox {
    /// Finds the unpacked files, or unpacks them: into the user's cache, or a private temporary directory if there is
    /// none to write to.
    pub fn unpack() -> Result<Self, CompilerError> {
        let mut first_failure = None;
        for parent in candidates() {
            match unpack_below(&parent) {
                Ok(directory) => return Ok(Self { directory }),
                Err(source) => {
                    first_failure.get_or_insert(CompilerError::Unpack {
                        directory: parent,
                        source,
                    });
                }
            }
        }
        Err(first_failure.unwrap_or_else(|| CompilerError::Unpack {
            directory: std::env::temp_dir(),
            source: io::ErrorKind::NotFound.into(),
        }))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn pass(&self) -> PathBuf {
        self.directory.join("landfall-pass.so")
    }

    /// Developers of the runtime may link another one.
    pub fn runtime(&self) -> PathBuf {
        std::env::var_os("LANDFALL_RUNTIME").map_or_else(
            || self.directory.join("liblandfall-runtime.a"),
            PathBuf::from,
        )
    }

    pub fn include(&self) -> PathBuf {
        self.directory.join("include")
    }

    /// The source of the machine that kernels run on.
    pub fn kernel(&self) -> PathBuf {
        self.directory.join(KERNEL)
    }

    pub fn exports(&self) -> PathBuf {
        self.directory.join("exports.list")
    }
}

fn candidates() -> Vec<PathBuf> {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = from("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(from("HOME")?.join(".cache")));
    let mut candidates: Vec<PathBuf> = cache
        .into_iter()
        .map(|cache| cache.join("landfall"))
        .collect();
    if let Some(user) = own_user() {
        candidates.push(std::env::temp_dir().join(format!("landfall-{user}")));
    }
    candidates
}

/// Files this process makes belong to whoever owns its entry in /proc.
fn own_user() -> Option<u32> {
    Some(fs::metadata("/proc/self").ok()?.uid())
}

fn unpack_below(parent: &Path) -> io::Result<PathBuf> {
    // Code is loaded from here into the compiler: nobody else may be able to put files in place.
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(parent)?;
    let owner = fs::metadata(parent)?;
    if own_user().is_some_and(|user| user != owner.uid()) || owner.mode() & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may write there",
        ));
    }
    let directory = parent.join(KEY);
    if is_whole(&directory) {
        refresh(&directory);
        return Ok(directory);
    }
    // Several compilers of one `make -j`, or several threads of one process, may be here at once. Each writes a directory
    // of its own; one rename wins.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mine = parent.join(format!("{KEY}.{}.{number}", std::process::id()));
    let written = write_files(&mine).and_then(|()| match fs::rename(&mine, &directory) {
        Err(_) if is_whole(&directory) => Ok(()),
        // What is in the way is damaged (a full disk, a curious user).
        Err(_) => fs::remove_dir_all(&directory).and_then(|()| fs::rename(&mine, &directory)),
        renamed => renamed,
    });
    if written.is_err() || mine.exists() {
        let _ = fs::remove_dir_all(&mine); // the rename may have left it, and a rest does no harm
    }
    match written {
        // Lost against a process that repaired the same damage: theirs is as good.
        Err(_) if is_whole(&directory) => Ok(directory),
        Err(error) => Err(error),
        Ok(()) => {
            prune(parent);
            Ok(directory)
        }
    }
}

/// Versions that stay, besides every one used since yesterday.
const KEPT: usize = 4;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Notes that a version is in use, now and then.
fn refresh(directory: &Path) {
    let used = fs::metadata(directory).and_then(|about| about.modified());
    let age = used.map(|used| used.elapsed().unwrap_or_default());
    if age.is_ok_and(|age| age > DAY / 24) {
        // Only a hint for pruning: a cache that cannot be written serves as well.
        let _ = fs::File::open(directory).and_then(|file| file.set_modified(SystemTime::now()));
    }
}

/// Removes versions nobody used for long. What another process is just reading is renamed first: it sees all of it, or nothing
/// and unpacks again.
fn prune(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    let mut versions: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let about = entry.metadata().ok()?;
            let ours = about.is_dir() && is_version(entry.file_name().to_str()?);
            ours.then(|| Some((about.modified().ok()?, entry.path())))?
        })
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    for (used, path) in versions.into_iter().skip(KEPT) {
        if used.elapsed().is_ok_and(|age| age > DAY) {
            let away = path.with_extension(format!("old.{}", std::process::id()));
            if fs::rename(&path, &away).is_ok() {
                let _ = fs::remove_dir_all(&away); // the rest is pruned the next time
            }
        }
    }
}

/// A key, or what an interrupted process left of one: `key.pid.number`, `key.old.pid`.
fn is_version(name: &str) -> bool {
    let key = name.split('.').next().unwrap_or_default();
    key.len() == KEY.len() && key.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn write_files(directory: &Path) -> io::Result<()> {
    for (name, content) in FILES {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    Ok(())
}

fn is_whole(directory: &Path) -> bool {
    FILES.iter().all(|(name, content)| {
        fs::metadata(directory.join(name))
            .is_ok_and(|file| file.is_file() && file.len() == content.len() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::RUNTIME;
    use object::read::archive::ArchiveFile;
    use object::{File, Object, ObjectSymbol};

    /// Who asks for one symbol of it gets it whole: that is how it is linked.
    #[test]
    fn the_runtime_is_one_object() {
        let mut with_symbols_of_ours = Vec::new();
        for member in ArchiveFile::parse(RUNTIME).expect("an archive").members() {
            let member = member.expect("a member");
            let object = member.data(RUNTIME).map(File::parse);
            let Ok(Ok(object)) = object else { continue };
            let ours = ["__lf_", "lf_", "pmem_", "pthread_", "malloc"];
            let defines = |name: &str| {
                (object.symbols()).any(|s| {
                    s.is_definition() && s.name().is_ok_and(|found| found.starts_with(name))
                })
            };
            let found: Vec<&str> = ours.into_iter().filter(|name| defines(name)).collect();
            if !found.is_empty() {
                with_symbols_of_ours.push((String::from_utf8_lossy(member.name()), found));
            }
        }
        let [(_, found)] = &with_symbols_of_ours[..] else {
            panic!("{with_symbols_of_ours:?}");
        };
        assert_eq!(found.len(), 5, "{found:?}");
    }
}
