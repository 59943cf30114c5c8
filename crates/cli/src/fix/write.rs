//! Writes patched files: all of them or none, and no file is ever half written.

use super::project::Project;
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
pub(super) fn write(
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
