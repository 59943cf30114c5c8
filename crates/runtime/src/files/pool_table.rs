//! The table of pool files and directories, at the start of the metadata area: existence and length, durable when the call
//! returns, in call order (MODEL.md §4). Every change that must be seen whole or not at all is one word.

use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::memory::shadow;
use crate::state::run;
use crate::syscalls::dispatch::origin;
use crate::syscalls::error;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::{self, flag};
use landfall_vocab::window::{
    self, DIRECTORIES, FILE_DIRECTORY, FILE_ENTRIES, FILE_ENTRY, FILE_EXISTS, FILE_PATH_LEN,
    FILE_REMOVED, FILE_SLOTS, GENERATIONS, generation, path_at,
};

pub(crate) fn entry(file: u8) -> u64 {
    window::META.start + file as u64 * FILE_ENTRY
}

/// Reads a word of the table, as an event.
pub(crate) fn word(at: u64, function: Builtin) -> u64 {
    shadow::asked();
    accesses::read_word(at, 8, flag::DURABLE, origin(function));
    shadow::word(at)
}

/// Writes a word of the table: durable at once.
pub(crate) fn set_word(at: u64, value: u64, function: Builtin) {
    let address = (window::BASE + at) as usize;
    let word = (&raw const value).cast();
    // SAFETY: entries lie in the window, and a touched page has its content.
    unsafe { accesses::store_durably(address, word, 8, origin(function)) };
}

pub(crate) enum Found {
    Exists(u8),
    /// An entry to create it in.
    Absent(u8),
    Full,
}

const STATE: u64 = 3;
const GENERATION: u64 = (GENERATIONS - 1) << 2;

/// Does this state word say that the path is in this state, in whatever generation?
fn says(word: u64, path: &[u8], state: u64) -> bool {
    word & !GENERATION == window::file_state(path, state)
}

/// The file of that name. While a rename replaces a file there are two; the younger one counts.
pub(crate) fn find(path: &[u8], function: Builtin) -> Found {
    let (mut found, mut free, mut own) = (None, None, None);
    for file in 0..FILE_SLOTS as u8 {
        let word = word(entry(file), function);
        if says(word, path, FILE_EXISTS) {
            let younger = |other: u64| {
                let age = generation(word).wrapping_sub(generation(other)) % GENERATIONS;
                age < GENERATIONS / 2
            };
            if found.is_none_or(|(_, other)| younger(other)) {
                found = Some((file, word));
            }
            continue;
        }
        // A removed file that this run still uses keeps its slot.
        let unused = run().used_files.get() & 1 << file == 0;
        if unused && says(word, path, FILE_REMOVED) {
            own = Some(file);
        } else if free.is_none() && (word == 0 || (unused && word & STATE == FILE_REMOVED)) {
            free = Some(file);
        }
        if word == 0 {
            break;
        }
    }
    match (found, own.or(free)) {
        (Some((file, _)), _) => Found::Exists(file),
        (None, Some(file)) => Found::Absent(file),
        (None, None) => Found::Full,
    }
}

/// Path first, state word last: the file exists from that store on.
pub(crate) fn create(file: u8, path: &[u8], state: u64, function: Builtin) {
    let next = (generation(word(entry(file), function)) + 1) % GENERATIONS;
    set_path(file, path, next, function);
    set_word(entry(file) + 8, 0, function);
    set_state(file, path, state, next, function);
}

fn set_state(file: u8, path: &[u8], state: u64, generation: u64, function: Builtin) {
    let word = window::file_state(path, state) | generation << 2;
    set_word(entry(file), word, function);
}

fn set_path(file: u8, path: &[u8], generation: u64, function: Builtin) {
    // SAFETY: entries lie in the window, and a touched page has its content.
    unsafe {
        let padded = Scratch::new(FILE_PATH_LEN as usize);
        let length = path.len().min(FILE_PATH_LEN as usize - 1);
        bytes::fill(padded.start(), 0, FILE_PATH_LEN as usize);
        bytes::copy(padded.start(), path.as_ptr(), length);
        let target = (window::BASE + entry(file) + path_at(generation)) as usize;
        accesses::store_durably(
            target,
            padded.start(),
            record::padded(length + 1),
            origin(function),
        );
    }
}

/// One word takes the name away.
pub(crate) fn remove(file: u8, path: &[u8], function: Builtin) {
    let generation = generation(word(entry(file), function));
    set_state(file, path, FILE_REMOVED, generation, function);
}

/// One word gives the new name, and hides a file that has it.
pub(crate) fn rename(file: u8, to: &[u8], replaced: Option<u8>) {
    let function = Builtin::rename;
    let own = generation(word(entry(file), function));
    let mut next = (own + 1) % GENERATIONS;
    if let Some(replaced) = replaced {
        next = (generation(word(entry(replaced), function)) + 1) % GENERATIONS;
        if next % 2 == own % 2 {
            // The path must go where the old one is not.
            next = (next + 1) % GENERATIONS;
        }
    }
    set_path(file, to, next, function);
    set_state(file, to, FILE_EXISTS, next, function);
    if let Some(replaced) = replaced {
        remove(replaced, to, function);
    }
}

/// The path of an entry, and its state word; empty for one that does not exist.
fn path<'a>(file: u8, function: Builtin) -> (&'a [u8], u64) {
    let word = word(entry(file), function);
    if word & STATE != FILE_EXISTS && word & STATE != FILE_DIRECTORY {
        return (b"", word);
    }
    let at = entry(file) + path_at(generation(word));
    let address = (window::BASE + at) as *const u8;
    shadow::touch(at);
    // SAFETY: entries lie in the window, and a touched page has its content.
    let path = unsafe { bytes::text(shadow::content(at), FILE_PATH_LEN as usize) };
    let read = record::padded(path.len() + 1);
    accesses::read_span(address as usize, read, flag::DURABLE, origin(function));
    (path, word)
}

/// Every file and directory directly in `directory` (relative, empty for `--pm-dir` itself).
pub(crate) fn listing(directory: &[u8], mut each: impl FnMut(&[u8], u64, u8)) {
    let start = if directory.is_empty() {
        0
    } else {
        directory.len() + 1
    };
    for range in [0..FILE_SLOTS as u8, DIRECTORIES as u8..FILE_ENTRIES as u8] {
        for file in range {
            let (path, word) = path(file, Builtin::readdir);
            let inside = path.len() > start
                && bytes::starts(path, directory)
                && (start == 0 || path[start - 1] == b'/')
                && !path[start..].contains(&b'/');
            let is_directory = word & STATE == FILE_DIRECTORY;
            if inside && (is_directory || is_found(path, file)) {
                let kind = if is_directory {
                    libc::DT_DIR
                } else {
                    libc::DT_REG
                };
                each(&path[start..], file as u64 + 1, kind);
            }
            if word == 0 {
                break;
            }
        }
    }
}

/// Is it the younger of two files with one name?
fn is_found(path: &[u8], file: u8) -> bool {
    matches!(find(path, Builtin::readdir), Found::Exists(found) if found == file)
}

/// The entry of a directory, or one to create it in.
pub(crate) fn find_directory(path: &[u8], function: Builtin) -> Found {
    let mut free = None;
    for file in DIRECTORIES as u8..FILE_ENTRIES as u8 {
        let word = word(entry(file), function);
        if says(word, path, FILE_DIRECTORY) {
            return Found::Exists(file);
        }
        if word & STATE != FILE_DIRECTORY && free.is_none() {
            free = Some(file);
        }
        if word == 0 {
            break;
        }
    }
    free.map_or(Found::Full, Found::Absent)
}

/// Must be a directory for something to be created at `path`.
pub(crate) fn parent_exists(path: &[u8], function: Builtin) -> isize {
    let Some(end) = path.iter().rposition(|byte| *byte == b'/') else {
        return 0;
    };
    match find_directory(&path[..end], function) {
        Found::Exists(_) => 0,
        _ => error(libc::ENOENT),
    }
}
