//! Each program in `tests/constructs` is compiled with the pass at every level and linked with the recorder; the events it
//! prints must be those in the `.events` file beside it.
//!
//! A new construct is two files: `NAME.c` or `NAME.cc`, and `NAME.events`, which `BLESS=1 cargo test -p landfall-pass`
//! writes (read it before you commit it: it is the expectation). Where levels differ, `NAME.O2.events` holds the events of
//! one level. `NAME.warnings` holds what the pass says during compilation; without it, it must say nothing.
//!
//! Comments at the top of a program may hold
//! - `// options: …`, for the compiler,
//! - `// needs: …`, features of the processor without which the program is compiled but not run,
//! - `// mode: as-compiled`, to instrument behind the optimiser.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const LEVELS: [&str; 4] = ["O0", "O1", "O2", "O3"];

struct Construct {
    source: PathBuf,
    options: Vec<String>,
    needs: Vec<String>,
    as_compiled: bool,
}

impl Construct {
    fn read(source: PathBuf) -> Self {
        let text = fs::read_to_string(&source).expect("constructs are text");
        let header = |key: &str| -> Vec<String> {
            let prefix = format!("// {key}: ");
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(&prefix))
                .unwrap_or("");
            line.split_whitespace().map(str::to_owned).collect()
        };
        let as_compiled = header("mode") == ["as-compiled"];
        Self {
            options: header("options"),
            needs: header("needs"),
            as_compiled,
            source,
        }
    }

    fn name(&self) -> &str {
        self.source
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("constructs have names")
    }

    fn beside(&self, extension: &str) -> PathBuf {
        self.source.with_extension(extension)
    }

    /// Compiles, and runs if the processor can: the events and the warnings.
    fn observe(&self, tools: &Tools, level: &str) -> Result<Observation, String> {
        let program = tools.scratch.join(format!("{}-{level}", self.name()));
        let cxx = self
            .source
            .extension()
            .is_some_and(|extension| extension == "cc");
        let mut clang = Command::new(if cxx { "clang++-19" } else { "clang-19" });
        clang
            .args(["-g", "-Xclang", "-disable-O0-optnone", "-Wno-everything"])
            .args(["-Xclang", "-fsanitize-address-use-after-scope"])
            .arg(format!("-{level}"));
        clang.arg(format!("-fpass-plugin={}", tools.pass.display()));
        clang
            .args(&self.options)
            .arg("-o")
            .arg(&program)
            .arg(&self.source)
            .arg(&tools.recorder);
        clang.current_dir(self.source.parent().expect("a file has a directory"));
        clang.env("LANDFALL_VERIFY", "1");
        if self.as_compiled {
            clang.env("LANDFALL_AS_COMPILED", "1");
        }
        let compiled = clang
            .output()
            .map_err(|error| format!("clang-19: {error}"))?;
        let warnings = String::from_utf8_lossy(&compiled.stderr).into_owned();
        if !compiled.status.success() {
            return Err(format!("does not compile:\n{warnings}"));
        }
        if !self
            .needs
            .iter()
            .all(|feature| tools.processor.contains(feature))
        {
            return Ok(Observation {
                events: None,
                warnings,
            });
        }
        let ran = Command::new(&program)
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let _ = fs::remove_file(&program);
        if !ran.status.success() {
            let (out, err) = (
                String::from_utf8_lossy(&ran.stdout),
                String::from_utf8_lossy(&ran.stderr),
            );
            return Err(format!("{}\n{out}{err}", ran.status));
        }
        Ok(Observation {
            events: Some(String::from_utf8_lossy(&ran.stdout).into_owned()),
            warnings,
        })
    }

    fn expected(&self, level: &str) -> String {
        fs::read_to_string(self.beside(&format!("{level}.events")))
            .or_else(|_| fs::read_to_string(self.beside("events")))
            .unwrap_or_else(|_| "(no .events file)\n".to_owned())
    }

    fn check(&self, tools: &Tools, level: &str) -> Result<(), String> {
        let seen = self.observe(tools, level)?;
        let warnings = fs::read_to_string(self.beside("warnings")).unwrap_or_default();
        if seen.warnings != warnings {
            return Err(format!(
                "warnings differ\n{}",
                difference(&warnings, &seen.warnings)
            ));
        }
        match seen.events {
            Some(events) if events != self.expected(level) => Err(format!(
                "events differ\n{}",
                difference(&self.expected(level), &events)
            )),
            _ => Ok(()),
        }
    }

    fn bless(&self, tools: &Tools) -> Result<(), String> {
        let mut all = BTreeMap::new();
        for level in LEVELS {
            let _ = fs::remove_file(self.beside(&format!("{level}.events")));
            all.insert(level, self.observe(tools, level)?);
        }
        let base = &all["O0"];
        let write =
            |path: PathBuf, text: &str| fs::write(path, text).map_err(|error| error.to_string());
        if base.warnings.is_empty() {
            let _ = fs::remove_file(self.beside("warnings"));
        } else {
            write(self.beside("warnings"), &base.warnings)?;
        }
        for (level, seen) in &all {
            match &seen.events {
                Some(events) if *level == "O0" => write(self.beside("events"), events)?,
                Some(events) if seen.events != base.events => {
                    write(self.beside(&format!("{level}.events")), events)?
                }
                _ => {}
            }
        }
        Ok(())
    }
}

struct Observation {
    /// None: this processor cannot run the program.
    events: Option<String>,
    warnings: String,
}

struct Tools {
    pass: PathBuf,
    recorder: PathBuf,
    scratch: PathBuf,
    processor: Vec<String>,
}

impl Tools {
    fn new() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("constructs");
        fs::create_dir_all(&scratch).expect("target/tmp is writable");
        let recorder = scratch.join("recorder.o");
        let built = Command::new("clang-19")
            .args(["-O1", "-c", "-o"])
            .arg(&recorder)
            .arg(here.join("tests/support/recorder.c"))
            .status()
            .expect("clang-19 is installed");
        assert!(built.success(), "the recorder does not compile");
        // Cargo puts the library next to the tests that depend on it.
        let test = std::env::current_exe().expect("a test knows where it is");
        let pass = test.with_file_name("liblandfall_pass.so");
        assert!(pass.is_file(), "{} is missing", pass.display());
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = processor
            .lines()
            .find(|line| line.starts_with("flags"))
            .unwrap_or("");
        Self {
            pass,
            recorder,
            scratch,
            processor: flags.split_whitespace().map(str::to_owned).collect(),
        }
    }
}

fn difference(expected: &str, seen: &str) -> String {
    let (expected, seen): (Vec<_>, Vec<_>) = (expected.lines().collect(), seen.lines().collect());
    let common = expected
        .iter()
        .zip(&seen)
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = format!("  … {common} equal lines\n");
    for line in expected[common..].iter().take(6) {
        text += &format!("  expected {line}\n");
    }
    for line in seen[common..].iter().take(6) {
        text += &format!("  seen     {line}\n");
    }
    text
}

#[test]
fn every_construct_gives_its_events_at_every_level() {
    let tools = Tools::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/constructs");
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut constructs: Vec<Construct> = fs::read_dir(&directory)
        .expect("tests/constructs exists")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "c" || extension == "cc")
        })
        .map(Construct::read)
        .filter(|construct| construct.name().contains(&only))
        .collect();
    constructs.sort_by(|a, b| a.source.cmp(&b.source));
    let bless = std::env::var_os("BLESS").is_some();

    let queue = Mutex::new(constructs.iter());
    let failures = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(construct) = queue.lock().expect("no worker panics").next() else {
                return;
            };
            let levels = if bless { &LEVELS[..1] } else { &LEVELS[..] };
            for level in levels {
                let result = if bless {
                    construct.bless(&tools)
                } else {
                    construct.check(&tools, level)
                };
                if let Err(problem) = result {
                    failures
                        .lock()
                        .expect("no worker panics")
                        .push(format!("{} at -{level}: {problem}", construct.name()));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no worker panics");
    assert!(
        failures.is_empty(),
        "{} of {} constructs fail:\n{}",
        failures.len(),
        constructs.len(),
        failures.join("\n")
    );
    assert!(
        !constructs.is_empty() || !only.is_empty(),
        "no constructs found"
    );
}
