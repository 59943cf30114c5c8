//! What README.md and the handbook show is what happens: every command in them is typed, and its answer compared.
//!
//! In a fenced block, a line `$ COMMAND` is a command; what follows is what it prints on standard output. A block
//! whose first line is ```` ```c,file=NAME ```` is a file of that name for the commands after it; in a block of YAML the
//! lines that call `landfall` are run, and must not be refused. Commands in a block ```` ```pmdk ```` need PMDK's sources: they are typed
//! where the variable LANDFALL_PMDK names those (`scripts/pmdk SOURCE` does). Each page has a directory of its own that looks like the
//! repository. `BLESS=1 cargo nextest run -p landfall-cli pages::` writes the answers into the pages; read the
//! difference before committing it.

use std::path::{Path, PathBuf};
use std::process::Command;

macro_rules! pages {
    ($($name:ident = $path:literal),* $(,)?) => {
        const PAGES: &[&str] = &[$($path),*];
        $(#[test] fn $name() { play($path); })*
    };
}

pages! {
    readme = "README.md",
    introduction = "docs/introduction.md",
    tour = "docs/tour.md",
    first_crash_bug = "docs/first-crash-bug.md",
    testing_a_library = "docs/testing-a-library.md",
    testing_a_server = "docs/testing-a-server.md",
    testing_a_pmdk_program = "docs/testing-a-pmdk-program.md",
    testing_a_lock_free_structure = "docs/testing-a-lock-free-structure.md",
    testing_a_kernel = "docs/testing-a-kernel.md",
    testing_your_own_locks = "docs/testing-your-own-locks.md",
    testing_transactions = "docs/testing-transactions.md",
    reading_the_report = "docs/reading-the-report.md",
    what_is_proved = "docs/what-is-proved.md",
    found_in_the_wild = "docs/found.md",
    the_model = "docs/the-model.md",
    options = "docs/options.md",
    formats = "docs/formats.md",
    continuous_integration = "docs/continuous-integration.md",
    add_a_checker = "docs/add-a-checker.md",
    add_a_construct = "docs/add-a-construct.md",
    add_a_memory_model = "docs/add-a-memory-model.md",
}

const PMDK: &str = "LANDFALL_PMDK";

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// What a page asks for, in its order.
#[derive(Debug)]
enum Part {
    /// Text that is kept as it is.
    Text(String),
    File {
        name: String,
        text: String,
    },
    /// A command and the answer below it.
    Command {
        line: String,
        answer: String,
    },
    /// A command of a CI configuration: no answer is shown.
    Job(String),
}

fn parts(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut fence: Option<&str> = None;
    for line in page.lines() {
        if let Some(info) = line.strip_prefix("```") {
            fence = match fence {
                None => Some(info),
                Some(_) => None,
            };
            parts.push(Part::Text(format!("{line}\n")));
            if let Some(name) = info.split(',').find_map(|word| word.strip_prefix("file=")) {
                let (name, text) = (name.to_owned(), String::new());
                parts.push(Part::File { name, text });
            }
            continue;
        }
        match (fence, parts.last_mut()) {
            (Some("pmdk"), _) if std::env::var_os(PMDK).is_none() => {
                parts.push(Part::Text(format!("{line}\n")));
            }
            (Some(_), _) if line.starts_with("$ ") => parts.push(Part::Command {
                line: line[2..].to_owned(),
                answer: String::new(),
            }),
            (Some(_), Some(Part::File { text, .. })) => *text += &format!("{line}\n"),
            (Some(_), Some(Part::Command { answer, .. })) => *answer += &format!("{line}\n"),
            (Some("yaml"), _) => {
                parts.push(Part::Text(format!("{line}\n")));
                let words = line.trim_start().trim_start_matches("- ");
                let words = words.trim_start_matches("run: ");
                if words.starts_with("landfall ") {
                    parts.push(Part::Job(words.to_owned()));
                }
            }
            _ => parts.push(Part::Text(format!("{line}\n"))),
        }
    }
    parts
}

/// Seconds differ from run to run.
fn without_times(text: &str) -> String {
    let word = |word: &str| match word.trim_end_matches(',').parse::<f64>() {
        Ok(_) if word.contains('.') => "TIME".to_owned(),
        _ => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.trim_end().lines().map(line).collect();
    lines.join("\n")
}

/// A directory that looks like the repository and may be written to.
fn stage(root: &Path, page: &str) -> PathBuf {
    let name = page.replace(['/', '.'], "-");
    let stage = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("pages")
        .join(name);
    let _ = std::fs::remove_dir_all(&stage);
    std::fs::create_dir_all(&stage).unwrap();
    for part in [
        "crates", "docs", "examples", "include", "kernel", "litmus", "scripts",
    ] {
        std::os::unix::fs::symlink(root.join(part), stage.join(part)).unwrap();
    }
    stage.canonicalize().unwrap()
}

fn play(page: &str) {
    let root = root();
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let stage = stage(&root, page);
    let binary = Path::new(env!("CARGO_BIN_EXE_landfall"));
    let mut path = binary.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let shell = |command: &str| {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(&stage)
            .env("PATH", &path)
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .unwrap();
        let code = output.status.code();
        (code, String::from_utf8_lossy(&output.stdout).into_owned())
    };
    if let (Some(source), true) = (std::env::var_os(PMDK), text.contains("\n```pmdk\n")) {
        let built = Command::new(binary)
            .args(["pmdk", "build"])
            .arg(source)
            .status();
        assert!(built.unwrap().success());
    }
    let mut found = String::new();
    for part in parts(&text) {
        match part {
            Part::Text(text) => found += &text,
            Part::File { name, text } => {
                let file = stage.join(&name);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, &text).unwrap();
                found += &text;
            }
            Part::Command { line, answer } => {
                let (_, told) = shell(&line);
                let same = without_times(&told) == without_times(&answer);
                // Where only times differ the page stays as it is; an empty line ends an answer that another follows.
                let blank = if answer.ends_with("\n\n") { "\n" } else { "" };
                let told = match same {
                    true => answer,
                    false => format!("{}\n{blank}", told.trim_end()),
                };
                found += &format!("$ {line}\n{told}");
            }
            Part::Job(line) => {
                let (code, told) = shell(&line);
                assert!(
                    matches!(code, Some(0 | 100)),
                    "{page}: {line}: {code:?} {told}"
                );
            }
        }
    }
    if found != text && std::env::var_os("BLESS").is_some() {
        std::fs::write(root.join(page), &found).unwrap();
        return;
    }
    for (number, (now, then)) in found.lines().zip(text.lines()).enumerate() {
        assert_eq!(
            now,
            then,
            "{page}:{}: BLESS=1 accepts what was found",
            number + 1
        );
    }
    assert_eq!(found.lines().count(), text.lines().count(), "{page}");
}

/// Every page is here and in the table of contents, and the table of contents names nothing else.
#[test]
fn every_page_is_played_and_listed() {
    let docs = root().join("docs");
    let contents = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let link = |line: &str| Some(line.split_once("](")?.1.split_once(')')?.0.to_owned());
    let listed = contents.lines().filter_map(link);
    // `[title]()` is a heading without a page.
    let listed: Vec<String> = listed.filter(|name| !name.is_empty()).collect();
    for name in &listed {
        assert!(docs.join(name).is_file(), "SUMMARY.md names {name}");
    }
    for folder in ["", "explain/", "design/"] {
        for entry in std::fs::read_dir(docs.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !name.ends_with(".md") || name == "SUMMARY.md" {
                continue;
            }
            let path = format!("{folder}{name}");
            assert!(listed.contains(&path), "SUMMARY.md does not name {path}");
            let page = format!("docs/{path}");
            assert!(
                !folder.is_empty() || PAGES.contains(&page.as_str()),
                "{page} is not played"
            );
        }
    }
}

/// A link to a file of the repository leads somewhere.
#[test]
fn links_lead_somewhere() {
    let root = root();
    let mut pages: Vec<String> = PAGES.iter().map(|&page| page.to_owned()).collect();
    for page in [
        "docs/SUMMARY.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ] {
        pages.push(page.to_owned());
    }
    for folder in ["docs/design", "crates"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let page = match path.is_dir() {
                true => path.join("README.md"),
                false => path,
            };
            if page.is_file() {
                let page = page.strip_prefix(&root).unwrap();
                pages.push(page.to_str().unwrap().to_owned());
            }
        }
    }
    for page in pages {
        let text = std::fs::read_to_string(root.join(&page)).unwrap();
        for rest in text.split("](").skip(1) {
            let target = rest.split(')').next().unwrap();
            if target.is_empty() || target.contains("://") || target.starts_with('#') {
                continue;
            }
            let file = target.split('#').next().unwrap();
            let near = root.join(&page).parent().unwrap().join(file);
            assert!(near.exists(), "{page}: {target}");
        }
    }
}

/// The chapter on options names all there are, and no others.
#[test]
fn the_options_chapter_is_complete() {
    let chapter = std::fs::read_to_string(root().join("docs/options.md")).unwrap();
    let help = |command: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
            .args([command, "--help"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let commands = [
        "check",
        "replay",
        "fix",
        "report",
        "litmus",
        "prove",
        "verify",
        "explain",
        "pmdk",
        "man",
        "completions",
    ];
    for command in commands {
        let help = help(command);
        let title = format!("\n## landfall {command}\n");
        let (_, section) = chapter
            .split_once(&title)
            .unwrap_or_else(|| panic!("no {title}"));
        let section = section.split("\n## ").next().unwrap();
        let words = |text: &str| -> Vec<String> {
            let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
            text.split(|c: char| c.is_whitespace() || "`([|,=<".contains(c))
                .filter(|word| word.starts_with("--") && word.len() > 3)
                .map(|word| word.split(end).next().unwrap().to_owned())
                .collect()
        };
        let offered: Vec<String> = help
            .lines()
            .filter(|line| line.trim_start().starts_with('-'))
            .flat_map(words)
            .filter(|option| option != "--help")
            .collect();
        // The first cell of a row of a table names an option.
        let told: Vec<String> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .flat_map(|line| words(line.split(" |").next().unwrap()))
            .collect();
        for option in &offered {
            assert!(
                told.contains(option),
                "docs/options.md: {command} has {option}"
            );
        }
        for option in &told {
            assert!(
                offered.contains(option),
                "docs/options.md: {command} has no {option}"
            );
        }
    }
}
