//! Command lines, and what is seen under them.

use super::draw::Dice;
use super::meaning::{Model, Platform, Question};
use super::program::{Language, Program, Source};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How recoveries are searched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Way {
    Shared,
    NoShare,
    Eager,
    Random { count: u32, seed: u64 },
}

/// Which outcomes are findings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Failing {
    /// Those of recoveries.
    Recoveries,
    /// Those of the first execution as well.
    All,
    /// One of recoveries, by a number that looks random.
    One(u64),
    /// None that is allowed.
    None,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Line {
    pub(crate) failures: usize,
    pub(crate) model: Model,
    pub(crate) platform: Platform,
    pub(crate) way: Way,
    pub(crate) failing: Failing,
    /// Only `--checks crash`.
    pub(crate) crash_only: bool,
    pub(crate) jobs: Option<usize>,
    pub(crate) everywhere: bool,
    pub(crate) preempt_first: bool,
    /// `landfall cc` first, then `check -- ./program`.
    pub(crate) built: bool,
    pub(crate) optimise: u8,
    pub(crate) no_builtin: bool,
}

impl Line {
    /// The plainest there is.
    pub(crate) fn plain() -> Line {
        Line {
            failures: 1,
            model: Model::Tso,
            platform: Platform::Adr,
            way: Way::Shared,
            failing: Failing::Recoveries,
            crash_only: true,
            jobs: Some(1),
            everywhere: false,
            preempt_first: false,
            built: false,
            optimise: 0,
            no_builtin: false,
        }
    }

    pub(crate) fn draw(dice: &mut Dice, program: &Program) -> Line {
        let threads = program.has_threads();
        let way = match dice.below(10) {
            0 => Way::NoShare,
            1 => Way::Eager,
            2 => Way::Random {
                count: 30 + dice.below(100) as u32,
                seed: 1 + dice.below(1000) as u64,
            },
            _ => Way::Shared,
        };
        let failing = match dice.below(10) {
            0 => Failing::One(dice.below(1 << 20) as u64),
            2.. if program.threaded_recoveries() => Failing::One(dice.below(1 << 20) as u64),
            1 => Failing::None,
            2..5 if !program.phases[0].threads.is_empty() => Failing::All,
            _ => Failing::Recoveries,
        };
        Line {
            // Power failures in recoveries of several threads are not searched.
            failures: match program.threaded_recoveries() {
                true => 1,
                false => dice.of(&[1, 1, 1, 2, 2, 3]),
            },
            model: match threads && dice.chance(25) {
                true => Model::Sc,
                false => Model::Tso,
            },
            platform: match dice.chance(20) {
                true => Platform::Eadr,
                false => Platform::Adr,
            },
            way,
            failing,
            crash_only: dice.chance(80),
            jobs: dice.of(&[None, Some(1), Some(1), Some(2), Some(3)]),
            everywhere: threads && dice.chance(15),
            preempt_first: threads && dice.chance(10),
            built: false,
            optimise: dice.below(4) as u8,
            no_builtin: dice.chance(15),
        }
    }

    pub(crate) fn question(&self) -> Question {
        Question {
            failures: self.failures,
            model: self.model,
            platform: self.platform,
        }
    }

    /// Options drawn, for the table.
    pub(crate) fn options(&self) -> Vec<String> {
        let mut all = self.search();
        let with_value = |name: &str| {
            matches!(
                name,
                "--failures" | "--model" | "--platform" | "-j" | "--checks"
            )
        };
        let mut options = Vec::new();
        while !all.is_empty() {
            let name = all.remove(0);
            let value =
                name.starts_with('-') && all.first().is_some_and(|next| !next.starts_with('-'));
            let value = if value { all.remove(0) } else { String::new() };
            options.push(match with_value(&name) {
                true => format!("{name} {value}"),
                false => name,
            });
        }
        options.retain(|name| name != "--seed");
        options.push(format!("-O{}", self.optimise));
        if self.no_builtin {
            options.push("-fno-builtin".to_owned());
        }
        if self.built {
            options.push("landfall cc, then check".to_owned());
        }
        options
    }

    fn search(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut add = |words: &[&str]| all.extend(words.iter().map(|word| (*word).to_owned()));
        if self.crash_only {
            add(&["--checks", "crash"]);
        }
        if self.failures != 1 {
            add(&["--failures", &self.failures.to_string()]);
        }
        if self.model == Model::Sc {
            add(&["--model", "sc"]);
        }
        if self.platform == Platform::Eadr {
            add(&["--platform", "eadr"]);
        }
        match self.way {
            Way::Shared => {}
            Way::NoShare => add(&["--no-share"]),
            Way::Eager => add(&["--eager"]),
            Way::Random { count, seed } => {
                add(&["--random", &count.to_string(), "--seed", &seed.to_string()]);
            }
        }
        if let Some(jobs) = self.jobs {
            add(&["-j", &jobs.to_string()]);
        }
        if self.everywhere {
            add(&["--preempt", "everywhere"]);
        }
        if self.preempt_first {
            add(&["--order", "preempt-first"]);
        }
        all
    }

    fn compiling(&self, program: &Program) -> Vec<String> {
        let mut all = vec![
            format!("-O{}", self.optimise),
            "-mclwb".to_owned(),
            "-mclflushopt".to_owned(),
        ];
        if program.language == Language::Cpp {
            all.push("-std=c++17".to_owned());
        }
        if self.no_builtin {
            all.push("-fno-builtin".to_owned());
        }
        all
    }

    /// A check, but for what is checked.
    pub(crate) fn check(&self, program: &Program) -> Vec<String> {
        let mut check = words("check --out out --format json");
        check.extend(self.search());
        if program.source == Source::Pool {
            check.extend(words("--pm-dir pool"));
        }
        if program.threaded_recoveries() {
            check.push("--recover-schedules".to_owned());
        }
        check
    }

    /// How sources of this language are built.
    pub(crate) fn build(&self, program: &Program) -> Vec<String> {
        let mut build = words(match program.language {
            Language::C => "cc",
            Language::Cpp => "c++",
        });
        build.extend(self.compiling(program));
        build.extend(words(&format!(
            "-g {} -o program -pthread",
            source_name(program)
        )));
        build
    }

    /// What to type, from the directory of the source; the last one is the check.
    pub(crate) fn commands(&self, program: &Program) -> Vec<Vec<String>> {
        let mut check = self.check(program);
        match self.built {
            true => {
                check.extend(words("-- ./program"));
                vec![self.build(program), check]
            }
            false => {
                check.extend(self.compiling(program));
                check.push(source_name(program).to_owned());
                vec![check]
            }
        }
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

pub(crate) fn source_name(program: &Program) -> &'static str {
    match program.language {
        Language::C => "program.c",
        Language::Cpp => "program.cpp",
    }
}

/// What a check said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) exit: Option<i32>,
    pub(crate) late: bool,
    pub(crate) complete: bool,
    pub(crate) limits: Vec<String>,
    /// How first executions ended, of those that failed.
    pub(crate) first: BTreeSet<i32>,
    /// How recoveries ended.
    pub(crate) recoveries: BTreeSet<i32>,
    /// Ends that are not the program's own.
    pub(crate) strange: Vec<String>,
    pub(crate) findings: usize,
    pub(crate) said: String,
}

/// A check that takes longer is stopped, and says nothing.
const PATIENCE: Duration = Duration::from_secs(240);

/// Runs the commands in a directory that has the source.
pub(crate) fn run(landfall: &Path, commands: &[Vec<String>], directory: &Path) -> Seen {
    let mut seen = Seen::default();
    let _ = fs::remove_dir_all(directory.join("out"));
    let _ = fs::create_dir_all(directory.join("pool"));
    for command in commands {
        let (exit, said) = one(landfall, command, directory);
        seen.exit = exit;
        seen.late = exit.is_none() && said.is_empty();
        seen.said = said;
        if command[0] != "check" && exit != Some(0) {
            seen.strange.push("does not build".to_owned());
            return seen;
        }
    }
    let Ok(text) = fs::read_to_string(directory.join("out/run.json")) else {
        return seen;
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(run) => read(&run, &mut seen),
        Err(error) => seen.strange.push(format!("run.json: {error}")),
    }
    seen
}

fn one(landfall: &Path, command: &[String], directory: &Path) -> (Option<i32>, String) {
    let errors = directory.join("errors");
    let file = File::create(&errors).expect("writable");
    let child = Command::new(landfall)
        .args(command)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn();
    let mut child = child.expect("landfall starts");
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waits") {
            let said = fs::read_to_string(&errors).unwrap_or_default();
            let code = status.code();
            return (
                code,
                if code.is_none() {
                    format!("{status}\n{said}")
                } else {
                    said
                },
            );
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return (None, String::new());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number in `exited with 17`.
fn code(text: &str) -> Option<i32> {
    text.rsplit_once("exited with ")?.1.parse().ok()
}

fn read(run: &Value, seen: &mut Seen) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    seen.complete = run["complete"] == true;
    seen.limits = list(&run["limits"]).iter().map(text).collect();
    for end in list(&run["outcomes"]) {
        match (end["kind"].as_str(), code(&text(&end["text"]))) {
            (Some("well"), _) => _ = seen.recoveries.insert(0),
            (Some("exit"), Some(code)) => _ = seen.recoveries.insert(code),
            _ => seen
                .strange
                .push(format!("{}: {}", text(&end["kind"]), text(&end["text"]))),
        }
    }
    for finding in list(&run["findings"]) {
        let messages = [finding["message"].clone()]
            .into_iter()
            .chain(list(&finding["other_messages"]));
        let messages: Vec<String> = messages.map(|message| text(&message)).collect();
        match finding["kind"].as_str() {
            Some("exit") => {}
            // Judged, not failed.
            Some(
                "robustness" | "persistency-race" | "missing-snapshot" | "uninitialised"
                | "volatile-pointer" | "data-race" | "redundant-flush" | "redundant-fence",
            ) => continue,
            _ => seen.strange.extend(messages.iter().cloned()),
        }
        seen.findings += 1;
        for message in &messages {
            if message.starts_with("recovery fails") {
                continue;
            }
            match code(message) {
                Some(code) => _ = seen.first.insert(code),
                None => seen.strange.push(message.clone()),
            }
        }
    }
}
