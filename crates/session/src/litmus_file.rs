//! Litmus tests as files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Nothing this large is a litmus test; reading it would only fill the memory.
const LARGEST_FILE: u64 = 4 << 20;

/// The text of a litmus file, or why it has none.
pub fn read_litmus(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| reason(&error))?;
    file.take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| reason(&error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(format!(
            "larger than {} MiB: not a litmus test",
            LARGEST_FILE >> 20
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("not a text file: byte {at} is not UTF-8")
    })
}

/// The operating system's reason, without the error number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => error.to_string(),
    }
}
