//! Pool files that exist before a check: their contents become part of the base image.

use crate::job::{Image, Line};
use landfall_vocab::window;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file table and the contents of every file directly or indirectly under `directory`, in name order.
pub(crate) fn base(directory: &Path) -> io::Result<Image> {
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    collect(directory, &mut files, &mut directories)?;
    files.sort();
    directories.sort();
    let most = window::FILE_SLOTS;
    if files.len() > most || directories.len() > window::FILE_ENTRIES - window::DIRECTORIES {
        return Err(io::Error::other(format!(
            "{} files and {} directories; at most {most} of each can be persistent memory",
            files.len(),
            directories.len()
        )));
    }
    let mut image = Image::default();
    for (slot, path) in files.iter().enumerate() {
        let named = |why: String| io::Error::other(format!("{}: {why}", path.display()));
        let length = std::fs::metadata(path)?.len();
        if length > window::FILE_SLOT {
            return Err(named(format!("larger than {} bytes", window::FILE_SLOT)));
        }
        let contents = std::fs::read(path).map_err(|error| named(error.to_string()))?;
        let entry = window::META.start + slot as u64 * window::FILE_ENTRY;
        name(&mut image, entry, directory, path, window::FILE_EXISTS)?;
        image.write(entry + 8, &(contents.len() as u64).to_le_bytes());
        let start = window::FILES.start + slot as u64 * window::FILE_SLOT;
        for (i, chunk) in contents.chunks(window::LINE as usize).enumerate() {
            if chunk.iter().any(|byte| *byte != 0) {
                let mut bytes = [0; window::LINE as usize];
                bytes[..chunk.len()].copy_from_slice(chunk);
                image.lines.push(Line {
                    offset: start + i as u64 * window::LINE,
                    bytes,
                });
            }
        }
    }
    for (i, path) in directories.iter().enumerate() {
        let number = (window::DIRECTORIES + i) as u64;
        let entry = window::META.start + number * window::FILE_ENTRY;
        name(&mut image, entry, directory, path, window::FILE_DIRECTORY)?;
    }
    Ok(image)
}

/// The state word and the path of an entry.
fn name(
    image: &mut Image,
    entry: u64,
    directory: &Path,
    path: &Path,
    state: u64,
) -> io::Result<()> {
    let relative = path.strip_prefix(directory).unwrap_or(path);
    let relative = relative.as_os_str().as_bytes();
    if relative.len() as u64 >= window::FILE_PATH_LEN {
        let why = format!("{}: the name is too long", path.display());
        return Err(io::Error::other(why));
    }
    image.write(entry, &window::file_state(relative, state).to_le_bytes());
    image.write(entry + window::path_at(0), relative);
    Ok(())
}

fn collect(
    directory: &Path,
    files: &mut Vec<PathBuf>,
    directories: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            directories.push(entry.path());
            collect(&entry.path(), files, directories)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}
