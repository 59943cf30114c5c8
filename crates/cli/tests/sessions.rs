//! Runs every `tests/cases/*.session` and compares it with what it says. A session is what a terminal shows:
//!
//! ```text
//! # a remark
//! @ litmus                    the directory of what follows, from the root of the repository
//! $ landfall litmus px86
//! what it prints
//! ! what it prints on the error stream
//! ? 0
//! ```
//!
//! Without `@` a session runs in `tests/inputs`. `BLESS=1 cargo test -p landfall-cli` writes what was found into the files;
//! read the difference before committing it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn sessions_are_as_recorded() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bless = std::env::var_os("BLESS").is_some();
    let mut differing = String::new();
    let mut sessions: Vec<PathBuf> = (fs::read_dir(here.join("tests/cases")).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "session"))
        .collect();
    sessions.sort();
    assert!(!sessions.is_empty());
    for session in sessions {
        let recorded = fs::read_to_string(&session).unwrap();
        let found = play(&recorded, here);
        if found != recorded && bless {
            fs::write(&session, &found).unwrap();
        } else if found != recorded {
            let (name, lines) = (session.display(), differences(&recorded, &found));
            let _ = writeln!(differing, "--- {name}\n{lines}");
        }
    }
    assert!(
        differing.is_empty(),
        "{differing}\nBLESS=1 accepts what was found"
    );
}

/// The session with what its commands print now.
fn play(recorded: &str, here: &Path) -> String {
    let mut directory = here.join("tests/inputs");
    let mut out = String::new();
    let mut answered = false;
    for line in recorded.lines() {
        if let Some(command) = line.strip_prefix("$ landfall") {
            let _ = writeln!(out, "{line}\n{}", answer(command, &directory));
            answered = true;
        } else if line.starts_with("? ") {
            answered = false; // the end of what the file recorded as the answer
        } else if let Some(path) = line.strip_prefix("@ ").filter(|_| !answered) {
            directory = here.join("../..").join(path.trim());
            let _ = writeln!(out, "{line}");
        } else if !answered {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

fn answer(arguments: &str, directory: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(arguments.split_whitespace())
        .current_dir(directory)
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap();
    let mut out = String::new();
    // Trailing blanks would not survive an editor.
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let _ = writeln!(out, "{}", line.trim_end().replace('\x1b', "␛"));
    }
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        let _ = writeln!(out, "{}", format!("! {line}").trim_end());
    }
    let _ = write!(out, "? {}", output.status.code().unwrap());
    out
}

fn differences(recorded: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (recorded.lines().collect(), found.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let mut out = format!("line {}:\n", same + 1);
    for line in old.iter().skip(same).take(12) {
        let _ = writeln!(out, "- {line}");
    }
    for line in new.iter().skip(same).take(12) {
        let _ = writeln!(out, "+ {line}");
    }
    out
}
