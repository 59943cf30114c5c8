//! Pool files that exist before a check: their contents become part of the base image.

use crate::job::{Image, Line};
use landfall_vocab::window;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file table and the contents of every file directly or indirectly under `directory`, in name order.
pub(crate) fn base(directory: &Path) -> io::Result<Image> {
    let mut paths = Vec::new();
    collect(directory, &mut paths)?;
    paths.sort();
    let mut image = Image::default();
    for (slot, path) in paths.iter().take(window::FILE_SLOTS).enumerate() {
        let contents = std::fs::read(path)?;
        let Ok(relative) = path.strip_prefix(directory) else {
            continue;
        };
        let relative = relative.as_os_str().as_bytes();
        if contents.len() as u64 > window::FILE_SLOT
            || relative.len() as u64 >= window::FILE_PATH_LEN
        {
            continue;
        }
        let entry = window::META.start + slot as u64 * window::FILE_ENTRY;
        image.write(
            entry,
            &window::file_state(relative, window::FILE_EXISTS).to_le_bytes(),
        );
        image.write(entry + 8, &(contents.len() as u64).to_le_bytes());
        image.write(entry + window::FILE_PATH_AT, relative);
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
    Ok(image)
}

fn collect(directory: &Path, paths: &mut Vec<std::path::PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}
