//! Building and running the test programs.

use landfall_native::compiler::{self, Language, Toolbox};
use landfall_native::{
    Execution, HeapChecks, Isolation, Job, MallocMetadata, Outcome, Program, Record, RecordKind,
    Server,
};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A directory that goes away with the test.
pub(crate) struct Scratch(pub PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        // Tests run side by side: a number of its own for each.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("landfall-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// All test sources under a directory, in name order.
pub(crate) fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("test programs");
    let is_source = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "c" || extension == "cc")
    };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(is_source)
        .collect();
    paths.sort();
    paths
}

/// Programs under `instrumented` go through the pass; the others call the hooks by hand and are only linked with the runtime.
pub(crate) fn build(source: &Path, directory: &Path) -> PathBuf {
    let program = directory.join(source.file_stem().expect("a name"));
    let cxx = source
        .extension()
        .is_some_and(|extension| extension == "cc");
    let instrumented = source
        .parent()
        .is_some_and(|parent| parent.ends_with("instrumented"));
    let mut command = if instrumented {
        let arguments = [
            "-w".into(),
            if cxx { "-std=c++20" } else { "-std=gnu17" }.into(),
            source.into(),
            "-o".into(),
            program.clone().into(),
        ];
        let language = if cxx { Language::Cxx } else { Language::C };
        compiler::command(language, &arguments)
            .expect("clang is installed")
            .command
    } else {
        let toolbox = Toolbox::unpack().expect("the toolbox");
        let mut clang = Command::new(if cxx { "clang++-19" } else { "clang-19" });
        clang
            .args([
                "-g",
                "-w",
                "-fno-builtin",
                "-fno-omit-frame-pointer",
                "-Wl,--export-dynamic",
                "-Wl,-z,now",
            ])
            .arg(source);
        clang.arg(toolbox.runtime()).arg("-o").arg(&program);
        clang
    };
    assert!(
        command.status().expect("clang runs").success(),
        "{} does not build",
        source.display()
    );
    program
}

/// What a test asks for in its first line: `/* run: --pm-dir --pm-heap --events N */`.
pub(crate) struct Wanted {
    pub program: Program,
    pub job: Job,
    /// Only the outcome is the same every time.
    pub quiet: bool,
}

pub(crate) fn wanted(source: &Path, built: &Path, scratch: &Path) -> Wanted {
    let text = std::fs::read_to_string(source).expect("a source");
    let first = text.lines().next().unwrap_or_default();
    let options = first
        .strip_prefix("/* run:")
        .unwrap_or_default()
        .trim_end_matches("*/");
    let mut program = Program::new(built);
    let mut job = Job::default();
    let mut quiet = false;
    let mut words = options.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--pm-dir" => {
                let directory = scratch.join("pools");
                std::fs::create_dir_all(&directory).expect("a directory");
                program.arguments.push(directory.clone().into());
                program.pm_dir = Some(directory);
            }
            "--seeded" => {
                // Where the tree is comes last and is not printed: it differs from test to test.
                let directory = seeded(scratch);
                program.arguments.push(directory.into());
            }
            "--pm-heap" => program.pm_heap = Some(MallocMetadata::Modelled),
            "--heap" => program.heap = HeapChecks::On,
            "--pm-heap-durable" => program.pm_heap = Some(MallocMetadata::Durable),
            "--events" => {
                job.limits.events = words.next().and_then(|n| n.parse().ok()).expect("a number")
            }
            "--memory" => {
                let mebibytes: u64 = words.next().and_then(|n| n.parse().ok()).expect("a number");
                job.limits.memory_bytes = mebibytes << 20;
            }
            // Ended by looking at it now and then: the events up to there are not the same every time.
            "--quiet" => quiet = true,
            "--processor" => {
                let seconds = words.next().and_then(|n| n.parse().ok()).expect("a number");
                job.limits.processor = std::time::Duration::from_secs(seconds);
            }
            "--threads" => {
                let steps = words.next().expect("steps, or -");
                let steps = steps.split(',').filter_map(|step| step.parse().ok());
                job.schedule = Some(steps.collect());
            }
            "--stacks" => job.stacks = true,
            "--stdin" => job.stdin = words.next().expect("text").into(),
            other => panic!("{}: unknown option {other}", source.display()),
        }
    }
    Wanted {
        program,
        job,
        quiet,
    }
}

/// A directory with a few files that a program may change as it likes, and find unchanged.
fn seeded(scratch: &Path) -> PathBuf {
    let directory = scratch.join("tree");
    if !directory.exists() {
        std::fs::create_dir_all(directory.join("sub")).expect("a directory");
        std::fs::write(directory.join("seed"), "seed\n").expect("writable");
        std::fs::write(directory.join("sub/inner"), "inner\n").expect("writable");
        std::os::unix::fs::symlink("seed", directory.join("to_seed")).expect("a link");
    }
    directory
}

pub(crate) fn start(wanted: &Wanted, isolation: Isolation) -> Server {
    let mut program = wanted.program.clone();
    program.isolation = isolation;
    Server::start(&program).unwrap_or_else(|error| panic!("{error}"))
}

/// An execution as text: what the `.expect` files hold.
pub(crate) fn describe(execution: &Execution, server: &Server, quiet: bool) -> String {
    let mut text = String::new();
    const MOST: usize = 200;
    let events = if quiet { &[] } else { &execution.events[..] };
    // What threads read and write is for the schedule search, and tested there.
    let shown = |event: &&Record| {
        !matches!(
            event.kind,
            RecordKind::Access
                | RecordKind::Watched
                | RecordKind::Foreign
                | RecordKind::Ended
                | RecordKind::Started
                | RecordKind::Identity
        )
    };
    let events: Vec<&Record> = events.iter().filter(shown).collect();
    for event in events.iter().take(MOST) {
        writeln!(text, "{}", line(event, execution, server)).expect("writing to a string");
    }
    if events.len() > MOST {
        writeln!(text, "… {} events", events.len()).expect("writing to a string");
    }
    let outcome = match &execution.outcome {
        Outcome::Heap { .. } => heap(&execution.outcome, server),
        other => outcome(other),
    };
    writeln!(text, "= {outcome}").expect("writing to a string");
    if let Some(foreign) = &execution.foreign {
        writeln!(
            text,
            "foreign: {} reads, {} writes",
            foreign.reads, foreign.writes
        )
        .expect("writing to a string");
    }
    for (name, bytes) in [("out", &execution.stdout), ("err", &execution.stderr)] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
        for line in shown.lines() {
            writeln!(text, "{name}| {}", &line[..line.len().min(200)])
                .expect("writing to a string");
        }
    }
    text
}

fn line(event: &Record, execution: &Execution, server: &Server) -> String {
    let place = match server.sites().position(event.origin) {
        Some(at) => format!("@{}", at.line),
        None => server
            .sites()
            .library(event.origin)
            .unwrap_or("?")
            .to_owned(),
    };
    let flags = event.flag_names().collect::<Vec<_>>().join(" ");
    match event.kind {
        RecordKind::Store | RecordKind::Read => {
            let name = if event.kind == RecordKind::Store {
                "store"
            } else {
                "read"
            };
            let text = format!(
                "{name} {:#x} {:08b} {:#x} {flags} {place}",
                event.offset, event.mask, event.value
            );
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        RecordKind::Step | RecordKind::Blocked | RecordKind::Misuse => {
            let name = format!("{:?}", event.kind).to_lowercase();
            format!("{name} {} {} {place}", event.chosen_as(), event.step_name())
        }
        RecordKind::Stack => format!("stack of {}", execution.stacks[event.value as usize].len()),
        other => {
            let name = format!("{other:?}").to_lowercase();
            format!("{name} {:#x} {} {place}", event.offset, event.value)
        }
    }
}

/// Without addresses: they depend on how the program was linked.
/// Stacks by lines of the source: addresses change with every build.
fn heap(outcome: &Outcome, server: &Server) -> String {
    let Outcome::Heap {
        error,
        address,
        bytes,
        block,
        ..
    } = outcome
    else {
        return String::new();
    };
    let symbols = server.symbols();
    let lines = |stack: &[u64]| -> String {
        let known = stack
            .iter()
            .filter_map(|frame| symbols.return_address(*frame));
        let known = known.filter(|at| at.line > 0);
        let lines: Vec<String> = known.map(|at| at.line.to_string()).collect();
        lines.join(" from ")
    };
    let about = block.as_ref().map_or_else(String::new, |block| {
        format!(
            " at {} of a block of {}, allocated in line {}, freed in line {}",
            address.wrapping_sub(block.start) as i64,
            block.length,
            lines(&block.allocated),
            lines(&block.freed)
        )
    });
    format!("{error:?}, {bytes} bytes{about}")
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Signal { signal, .. } => format!("signal {signal}"),
        Outcome::StackOverflow { .. } => "stack overflow".into(),
        Outcome::Assertion {
            expression,
            function,
            line,
            ..
        } => format!("assertion {expression} in {function} line {line}"),
        Outcome::Hang { why, .. } => format!("hang: {why}"),
        Outcome::Exhausted { why, .. } | Outcome::Stuck { why } => format!("stopped: {why}"),
        other => format!("{other:?}"),
    }
}
