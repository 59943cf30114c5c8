//! Manual pages, completions and the doctor: they know every command and every option that there is.

use std::fs;
use std::path::Path;
use std::process::Command;

fn landfall(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(arguments)
        .env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code().unwrap(), told)
}

/// The commands that `--help` lists.
fn commands() -> Vec<String> {
    let (_, help) = landfall(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap();
    let list = list.split("\n\n").next().unwrap();
    let named = list
        .lines()
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    let names = named.map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| name != "help").collect()
}

/// The long options of a command.
fn options(command: &str) -> Vec<String> {
    let (_, help) = landfall(&[command, "--help"]);
    let words = help.lines().filter(|l| l.trim_start().starts_with('-'));
    words
        .flat_map(|line| line.split([' ', ',']))
        .filter(|word| word.starts_with("--"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_has_a_page_with_its_options() {
    let pages = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    let (code, _) = landfall(&["man", pages.to_str().unwrap()]);
    assert_eq!(code, 0);
    let (code, first) = landfall(&["man"]);
    assert_eq!(
        (code, &first),
        (0, &fs::read_to_string(pages.join("landfall.1")).unwrap())
    );
    let commands = commands();
    assert!(
        commands.iter().any(|c| c == "check") && commands.len() > 10,
        "{commands:?}"
    );
    for command in commands {
        let page = fs::read_to_string(pages.join(format!("landfall-{command}.1"))).unwrap();
        if command == "cc" || command == "c++" {
            continue; // Their options are clang's.
        }
        for option in options(&command) {
            assert!(
                page.contains(&option.replace('-', "\\-")),
                "{command} {option}"
            );
        }
    }
}

#[test]
fn every_shell_completes_every_option_of_check() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script) = landfall(&["completions", shell]);
        assert_eq!(code, 0, "{shell}");
        for option in options("check") {
            let name = option.trim_start_matches("--");
            assert!(script.contains(name), "{shell}: {option}");
        }
    }
    assert_eq!(landfall(&["completions", "tcsh"]).0, 2);
}

/// It tries a check from end to end, so that "works here" means something.
#[test]
fn the_doctor_finds_this_machine_in_order() {
    let (code, told) = landfall(&["doctor"]);
    assert_eq!(code, 0, "{told}");
    for line in [
        "a check",
        "clang-19",
        "syscall user dispatch",
        "landfall works here",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let nowhere = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .arg("doctor")
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&nowhere.stdout);
    assert_eq!(nowhere.status.code(), Some(1), "{told}");
    assert!(told.contains("missing  clang-19"), "{told}");
    assert!(told.contains("-> apt-get install clang-19"), "{told}");
}
