//! Writes patched files: all of them or none, and no file is ever half written.

use crate::fix::project::Project;
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A new content, complete on disk beside the file it is for.
struct Ready {
    name: String,
    file: PathBuf,
    new: PathBuf,
    backup: PathBuf,
}

/// Replaces what differs. Says what was written, for people.
pub(crate) fn write(
    directory: &Path,
    patched: &Project,
    original: &Project,
) -> anyhow::Result<Vec<String>> {
    let mut ready: Vec<Ready> = Vec::new();
    for (name, old, new) in patched.changes(original) {
        match prepare(directory, name, old, new) {
            Ok(one) => ready.push(one),
            Err(error) => {
                discard(&ready);
                return Err(error.context("nothing was written"));
            }
        }
    }
    for (done, one) in ready.iter().enumerate() {
        if let Err(error) = fs::rename(&one.new, &one.file) {
            // Back to how it was.
            for earlier in &ready[..done] {
                let _ = fs::copy(&earlier.backup, &earlier.file);
            }
            discard(&ready);
            return Err(error).with_context(|| {
                format!("{}: it was not replaced; nothing was written", one.name)
            });
        }
    }
    let say = |one: &Ready| {
        let backup = one.backup.file_name().unwrap_or_default().to_string_lossy();
        format!("{}: written; the old one is {backup}", one.name)
    };
    Ok(ready.iter().map(say).collect())
}

fn discard(ready: &[Ready]) {
    for one in ready {
        let _ = fs::remove_file(&one.new);
        let _ = fs::remove_file(&one.backup);
    }
}

fn prepare(directory: &Path, name: &str, old: &str, new: &str) -> anyhow::Result<Ready> {
    // Behind a link is the file: the link stays.
    let file = directory
        .join(name)
        .canonicalize()
        .with_context(|| name.to_owned())?;
    let now = fs::read(&file).with_context(|| name.to_owned())?;
    if now != old.as_bytes() {
        bail!(
            "{name}: it was changed while the repair was being checked; run `landfall check` again"
        );
    }
    let permissions = fs::metadata(&file)
        .with_context(|| name.to_owned())?
        .permissions();
    if permissions.readonly() {
        bail!(
            "{name}: it is read-only; make it writable (chmod u+w), or apply the printed patch yourself"
        );
    }
    let folder = file.parent().unwrap_or(Path::new("/"));
    let base = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let fresh = folder.join(format!(".{base}.landfall-{}", std::process::id()));
    let backup = free_name(folder, &base);
    let write = || -> std::io::Result<()> {
        let mut out = File::create(&fresh)?;
        out.write_all(new.as_bytes())?;
        out.set_permissions(permissions.clone())?;
        out.sync_all()?;
        let mut out = File::create(&backup)?;
        out.write_all(old.as_bytes())?;
        out.set_permissions(permissions.clone())?;
        out.sync_all()
    };
    if let Err(error) = write() {
        let _ = fs::remove_file(&fresh);
        let _ = fs::remove_file(&backup);
        return Err(error)
            .with_context(|| format!("{name}: the new content could not be written beside it"));
    }
    Ok(Ready {
        name: name.to_owned(),
        file,
        new: fresh,
        backup,
    })
}

/// `FILE.orig`, or with a number where that is taken.
fn free_name(folder: &Path, base: &str) -> PathBuf {
    let names =
        std::iter::once(format!("{base}.orig")).chain((1..).map(|n| format!("{base}.orig{n}")));
    names
        .map(|name| folder.join(name))
        .find(|path| !path.exists())
        .unwrap_or_else(|| folder.join(format!("{base}.orig")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use landfall_finding::CheckRecord;
    use std::collections::BTreeMap;

    /// A directory with two files, and a project that changes both.
    fn two_files(name: &str) -> (PathBuf, Project, Project) {
        let directory =
            std::env::temp_dir().join(format!("landfall-write-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let directory = directory.canonicalize().unwrap();
        for file in ["a.c", "b.c"] {
            fs::write(directory.join(file), "old\n").unwrap();
        }
        let recorded = CheckRecord {
            directory: directory.clone(),
            arguments: Vec::new(),
            request: serde_json::Value::Null,
            files: BTreeMap::new(),
            allocates: false,
        };
        let mut original = Project::open(&recorded).unwrap();
        let mut patched = original.clone();
        for file in ["a.c", "b.c"] {
            original.remember(file);
            patched.replace(file, "new\n");
        }
        (directory, patched, original)
    }

    fn content(directory: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(directory).unwrap().map(|e| e.unwrap());
        let files = entries.filter(|e| e.file_type().unwrap().is_file());
        let mut files: Vec<(String, String)> = files
            .map(|e| {
                let name = e.file_name().into_string().unwrap();
                (name, fs::read_to_string(e.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    }

    #[test]
    fn all_files_are_replaced_and_the_old_ones_kept() {
        let (directory, patched, original) = two_files("all");
        fs::write(directory.join("b.c.orig"), "older").unwrap();
        write(&directory, &patched, &original).unwrap();
        let expected = [
            ("a.c", "new\n"),
            ("a.c.orig", "old\n"),
            ("b.c", "new\n"),
            ("b.c.orig", "older"),
            ("b.c.orig1", "old\n"),
        ];
        assert_eq!(content(&directory), pairs(&expected));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn one_that_cannot_be_written_leaves_all_as_they_were() {
        let (directory, patched, original) = two_files("none");
        // Where the new content of the second file would go is taken: as on a full disk, the write fails.
        fs::create_dir(directory.join(format!(".b.c.landfall-{}", std::process::id()))).unwrap();
        let error = write(&directory, &patched, &original).unwrap_err();
        assert!(
            format!("{error:#}").contains("nothing was written"),
            "{error:#}"
        );
        assert_eq!(
            content(&directory),
            pairs(&[("a.c", "old\n"), ("b.c", "old\n")])
        );
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_not_overwritten() {
        let (directory, patched, original) = two_files("meanwhile");
        fs::write(directory.join("b.c"), "mine\n").unwrap();
        let error = write(&directory, &patched, &original).unwrap_err();
        assert!(
            format!("{error:#}").contains("b.c: it was changed"),
            "{error:#}"
        );
        assert_eq!(
            content(&directory),
            pairs(&[("a.c", "old\n"), ("b.c", "mine\n")])
        );
        fs::remove_dir_all(directory).unwrap();
    }
}
