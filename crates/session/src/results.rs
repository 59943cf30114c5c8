//! A folder for results. It belongs to one process at a time, by a lock that dies with its holder. What a command leaves there is
//! listed, and only what is listed is ever removed; files appear whole or not at all.

use landfall_native::{Lock, try_lock};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Says that a folder is ours, and which files in it are; whoever writes there holds a lock on it.
const LIST: &str = ".landfall";
/// Folders that are tried where one is taken.
const MOST: u32 = 1000;

/// A folder that nobody else writes to.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) path: PathBuf,
    _lock: File,
}

/// Makes the folder, and claims it. None if another process has it.
pub(crate) fn claim(path: &Path) -> Result<Option<Claimed>, String> {
    let failed = |e: std::io::Error| format!("--out {}: {e}", path.display());
    std::fs::create_dir_all(path).map_err(failed)?;
    let list = path.join(LIST);
    if std::fs::symlink_metadata(&list).is_ok_and(|of| !of.is_file()) {
        // Writing to it would write somewhere else.
        let path = path.display();
        let why = "is no file of landfall's: name another folder";
        return Err(format!("--out {path}: `{LIST}` there {why}"));
    }
    let mut options = OpenOptions::new();
    let lock = options.read(true).append(true).create(true).open(&list);
    let lock = lock.map_err(failed)?;
    // Where there are no locks, all there is is hope.
    if !try_lock(&lock, Lock::Alone).unwrap_or(true) {
        return Ok(None);
    }
    Ok(Some(Claimed {
        path: path.to_owned(),
        _lock: lock,
    }))
}

/// The folder, or where it is taken one beside it.
pub(crate) fn claim_beside(path: &Path) -> Result<Claimed, String> {
    if let Some(claimed) = claim(path)? {
        return Ok(claimed);
    }
    for number in 2..MOST {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{number}"));
        if let Some(claimed) = claim(Path::new(&name))? {
            return Ok(claimed);
        }
    }
    Err(taken(path))
}

/// Why a folder that was asked for cannot be used.
pub(crate) fn taken(path: &Path) -> String {
    format!(
        "--out {}: another landfall writes there: wait for it, or name another folder",
        path.display()
    )
}

/// While it is held, nobody claims the folder. None if somebody has.
#[derive(Debug)]
pub(crate) struct KeptFolder {
    _lock: Option<File>,
}

/// Keeps a folder as it is, for someone who reads from it.
pub(crate) fn keep(path: &Path) -> Option<KeptFolder> {
    let lock = File::open(path.join(LIST)).ok();
    let free = (lock.as_ref()).is_none_or(|lock| try_lock(lock, Lock::Shared).unwrap_or(true));
    free.then_some(KeptFolder { _lock: lock })
}

impl Claimed {
    /// Removes what an earlier command left: bugs of another day would mislead. `ours` says which names may be, where an older
    /// version kept no list.
    pub(crate) fn clear(&self, ours: impl Fn(&str) -> bool) -> Result<(), String> {
        let path = &self.path;
        let failed = |e: std::io::Error| format!("--out {}: {e}", path.display());
        let listed = std::fs::read_to_string(path.join(LIST)).map_err(failed)?;
        let mut known: Vec<String> = listed.lines().map(str::to_owned).collect();
        if known.is_empty() && is_of_older_version(path) {
            let entries = std::fs::read_dir(path).map_err(failed)?.flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            known.extend(names.filter(|name| ours(name)));
        }
        for name in known.iter().filter(|name| ours(name)) {
            match remove(&path.join(name)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
                _ => {}
            }
        }
        File::create(path.join(LIST)).map_err(failed)?;
        // What is there now is somebody else's.
        let entries = std::fs::read_dir(path).map_err(failed)?.flatten();
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if ours(&name) {
                return Err(format!(
                    "--out {}: `{name}` there is not of landfall, and would be replaced: name another folder",
                    path.display()
                ));
            }
        }
        Ok(())
    }
}

/// A file, or a folder that is ours with all that is in it.
fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => std::fs::remove_dir_all(path),
        _ => std::fs::remove_file(path),
    }
}

/// Was it made by a version that kept no list?
fn is_of_older_version(path: &Path) -> bool {
    let run = std::fs::read(path.join("run.json")).unwrap_or_default();
    let run: Option<serde_json::Value> = serde_json::from_slice(&run).ok();
    run.is_some_and(|run| run["tool"] == "landfall")
}

/// Notes that a file of this name is ours, before it is there.
pub(crate) fn list(folder: &Path, name: &str) -> std::io::Result<()> {
    let mut list = OpenOptions::new().append(true).open(folder.join(LIST))?;
    list.write_all(format!("{name}\n").as_bytes())
}

/// Writes a file of a claimed folder.
pub(crate) fn write_listed(folder: &Path, name: &str, text: &[u8]) -> std::io::Result<()> {
    list(folder, name)?;
    write(&folder.join(name), text)
}

/// Writes a file: beside its place first, so that nobody sees half of it.
pub fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let plain = std::fs::metadata(path).map_or(true, |of| of.is_file());
    if !plain {
        // Standard output, a pipe.
        return std::fs::write(path, text);
    }
    let beside = beside(path);
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Where a file is made before it gets its name.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("landfall-out-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        path
    }

    fn is_result(name: &str) -> bool {
        name == "run.json"
    }

    #[test]
    fn a_folder_has_one_owner_and_the_next_gets_one_beside_it() {
        let path = folder("owner");
        let first = claim(&path).unwrap().unwrap();
        assert!(claim(&path).unwrap().is_none());
        assert!(keep(&path).is_none());
        let second = claim_beside(&path).unwrap();
        assert!(second.path.to_string_lossy().ends_with("owner-2"));
        drop(first);
        assert!(keep(&path).is_some());
        assert!(claim(&path).unwrap().is_some());
        let _ = std::fs::remove_dir_all(&second.path);
        let _ = std::fs::remove_dir_all(&path);
    }

    #[test]
    fn only_what_is_listed_is_removed() {
        let path = folder("listed");
        let claimed = claim(&path).unwrap().unwrap();
        claimed.clear(is_result).unwrap();
        std::fs::write(path.join("notes"), "mine").unwrap();
        write_listed(&path, "run.json", b"{}").unwrap();
        claimed.clear(is_result).unwrap();
        assert!(path.join("notes").exists() && !path.join("run.json").exists());
        // Somebody else's file of that name.
        std::fs::write(path.join("run.json"), "mine").unwrap();
        let refused = claimed.clear(is_result).unwrap_err();
        assert!(
            refused.contains("`run.json` there is not of landfall"),
            "{refused}"
        );
        assert_eq!(std::fs::read(path.join("run.json")).unwrap(), b"mine");
        let _ = std::fs::remove_dir_all(&path);
    }

    #[test]
    fn a_list_that_is_a_link_is_not_followed() {
        let path = folder("link");
        std::fs::create_dir_all(&path).unwrap();
        let elsewhere = path.join("elsewhere");
        std::fs::write(&elsewhere, "mine").unwrap();
        std::os::unix::fs::symlink(&elsewhere, path.join(LIST)).unwrap();
        let refused = claim(&path).unwrap_err();
        assert!(refused.contains("is no file of landfall's"), "{refused}");
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"mine");
        let _ = std::fs::remove_dir_all(&path);
    }

    #[test]
    fn results_of_an_older_version_are_ours() {
        let path = folder("older");
        let claimed = claim(&path).unwrap().unwrap();
        std::fs::write(path.join("run.json"), r#"{"tool": "landfall"}"#).unwrap();
        claimed.clear(is_result).unwrap();
        assert!(!path.join("run.json").exists());
        let _ = std::fs::remove_dir_all(&path);
    }
}
