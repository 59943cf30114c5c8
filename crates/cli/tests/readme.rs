//! What README.md shows is what happens: every command in it is typed, and its answer compared.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The commands of a fenced block, each with the answer below it.
fn commands(readme: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            commands.push((command.to_owned(), String::new()));
        } else if inside && let Some((_, answer)) = commands.last_mut() {
            answer.push_str(line);
            answer.push('\n');
        }
    }
    commands
}

/// Seconds differ from run to run.
fn without_times(text: &str) -> String {
    let word = |word: &str| match word.parse::<f64>() {
        Ok(_) if word.contains('.') => "TIME".to_owned(),
        _ => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.trim_end().lines().map(line).collect();
    lines.join("\n")
}

/// A directory that looks like the repository and may be written to.
fn stage(root: &Path) -> PathBuf {
    let stage = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let _ = std::fs::remove_dir_all(&stage);
    std::fs::create_dir_all(&stage).unwrap();
    for part in ["examples", "litmus"] {
        std::os::unix::fs::symlink(root.join(part), stage.join(part)).unwrap();
    }
    stage.canonicalize().unwrap()
}

#[test]
fn every_command_answers_as_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let stage = stage(&root);
    let binary = Path::new(env!("CARGO_BIN_EXE_landfall"));
    let mut path = binary.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let commands = commands(&readme);
    assert!(commands.len() >= 4, "README.md shows hardly anything");
    for (command, answer) in commands {
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(&stage)
            .env("PATH", &path)
            .output()
            .unwrap();
        let found = String::from_utf8_lossy(&output.stdout);
        assert_eq!(without_times(&found), without_times(&answer), "$ {command}");
    }
}
