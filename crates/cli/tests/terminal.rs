//! Findings as a terminal of 80 columns shows them, with and without colours: `tests/terminal/*.txt`, one for each example. The first line of
//! a file is the command. `BLESS=1 cargo nextest run -p landfall-cli terminal::` writes what was found; read it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// What a command prints, in a directory that looks like the repository.
fn shown(command: &str, colour: &str, stage: &Path) -> String {
    let arguments = command.split_whitespace().skip(2);
    let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(["check", "--color", colour])
        .args(arguments)
        .current_dir(stage)
        .env("COLUMNS", "80")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 100)),
        "{command}: {said}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

/// Seconds differ from run to run, and what a search costs from version to version.
fn without_times(line: &str) -> String {
    let word = |word: &str| match word.parse::<f64>() {
        Ok(_) if word.contains('.') || line.contains(" tried, ") => "N".to_owned(),
        _ => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn eighty_columns_are_enough() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/terminal");
    let stage = Path::new(env!("CARGO_TARGET_TMPDIR")).join("terminal");
    let _ = fs::remove_dir_all(&stage);
    fs::create_dir_all(&stage).unwrap();
    let links = [
        ("examples", "examples"),
        ("words", "crates/cli/tests/inputs/words"),
    ];
    for (name, of) in links {
        std::os::unix::fs::symlink(root().join(of), stage.join(name)).unwrap();
    }
    let stage = stage.canonicalize().unwrap();
    let bless = std::env::var_os("BLESS").is_some();
    let mut files: Vec<PathBuf> = fs::read_dir(&cases)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 5);
    for file in files {
        let recorded = fs::read_to_string(&file).unwrap();
        let command = recorded.lines().next().unwrap();
        let coloured = shown(command, "always", &stage);
        let bare = shown(command, "never", &stage);
        let times = |text: &str| {
            text.lines()
                .map(without_times)
                .collect::<Vec<_>>()
                .join("\n")
        };
        let stripped = without_colours(&coloured);
        assert_eq!(
            times(&stripped),
            times(&bare),
            "{command}: colours change the text"
        );
        for line in bare.lines() {
            let columns = line.chars().count();
            let pasted = line.starts_with("   = replay: ");
            assert!(
                columns <= 80 || pasted,
                "{command}: {columns} columns: {line}"
            );
        }
        let mut found = format!("{command}\n{}\n\nwith colours:\n", times(&bare));
        for line in coloured.lines() {
            let _ = writeln!(found, "{}", without_times(line).replace('\x1b', "␛"));
        }
        if bless {
            fs::write(&file, &found).unwrap();
        } else {
            assert_eq!(found, recorded, "{}", file.display());
        }
    }
}
