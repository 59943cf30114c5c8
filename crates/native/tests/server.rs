//! The conversation with servers: images, many runs, many servers, deaths, leaks.

use crate::support::{Scratch, build, programs};
use landfall_native::compiler::{self, Language};
use landfall_native::{
    Execution, Image, Isolation, Job, Outcome, Program, RecordKind, Server, SubjectError,
    first_difference,
};
use std::process::Command;
use std::time::Duration;

fn server(name: &str, isolation: Isolation) -> (Server, Scratch) {
    let scratch = Scratch::new(&format!("{}-{isolation:?}", name.replace('/', "-")));
    let built = build(&programs().join(name), &scratch.0);
    let mut program = Program::new(built);
    program.isolation = isolation;
    (Server::start(&program).expect("starts"), scratch)
}

fn stdout(execution: &Execution) -> String {
    String::from_utf8_lossy(&execution.stdout).into_owned()
}

const MODES: [Isolation; 2] = [Isolation::Fork, Isolation::Restart];

#[test]
fn a_run_starts_on_its_image_and_leaves_no_trace_of_it() {
    for isolation in MODES {
        let (mut server, _scratch) = server("basic.c", isolation);
        let mut recovered = Job::default();
        recovered.image.write(0, &1u64.to_le_bytes());
        recovered.image.write(8, &77u64.to_le_bytes());
        for _ in 0..50 {
            assert!(
                !stdout(&server.run(&Job::default()).expect("runs")).contains("recovered"),
                "{isolation:?}"
            );
            assert!(
                stdout(&server.run(&recovered).expect("runs")).contains("recovered 77"),
                "{isolation:?}"
            );
        }
    }
}

#[test]
fn a_base_is_what_images_are_deltas_of() {
    for isolation in MODES {
        let (mut server, _scratch) = server("basic.c", isolation);
        let mut base = Image::default();
        base.write(0, &1u64.to_le_bytes());
        base.write(8, &5u64.to_le_bytes());
        assert!(!stdout(&server.run(&Job::default()).expect("runs")).contains("recovered"));
        server.set_base(base).expect("fits");
        assert!(
            stdout(&server.run(&Job::default()).expect("runs")).contains("recovered 5"),
            "{isolation:?}"
        );
        let mut fresh = Job::default();
        fresh.image.write(0, &[0; 64]);
        assert!(
            !stdout(&server.run(&fresh).expect("runs")).contains("recovered"),
            "{isolation:?}"
        );
        assert!(
            stdout(&server.run(&Job::default()).expect("runs")).contains("recovered 5"),
            "{isolation:?}"
        );
    }
}

#[test]
fn an_image_is_not_taken_for_a_foreign_store() {
    let far = 600 * 8;
    for (base, isolation) in [false, true]
        .into_iter()
        .flat_map(|base| MODES.map(|m| (base, m)))
    {
        let (mut server, _scratch) = server("foreign_read.c", isolation);
        if base {
            let mut image = Image::default();
            image.write(far, &9u64.to_le_bytes());
            server.set_base(image).expect("fits");
        }
        // What the program's foreign stores write is there already: they are stores all the same.
        let mut same = Job::default();
        same.image.write(far, &7u64.to_le_bytes()); // not in the order of offsets
        same.image.write(0, &5u64.to_le_bytes());
        same.image.write(8, &6u64.to_le_bytes());
        // Other values are there: the foreign stores come first, and reads are of the bytes they left.
        let mut other = Job::default();
        other.image.write(0, &0x100u64.to_le_bytes());
        other.image.write(far, &0x207u64.to_le_bytes());
        for _ in 0..20 {
            let execution = server.run(&same).expect("runs");
            let stores = [(0, 5), (8, 6), (far, 7), (far + 8, 8)];
            assert_eq!(
                values(&execution, RecordKind::Store),
                stores,
                "{isolation:?}"
            );
            assert_eq!(
                values(&execution, RecordKind::Read),
                [(8, 0)],
                "{isolation:?}"
            );
            let execution = server.run(&other).expect("runs");
            let stored = values(&execution, RecordKind::Store);
            assert_eq!(
                stored,
                [(0, 5), (8, 6), (far, 7), (far + 8, 8)],
                "{isolation:?}"
            );
            let read = values(&execution, RecordKind::Read);
            assert_eq!(read, [(8, 0)], "{isolation:?}");
        }
    }
}

/// Where and what the events of one kind read or wrote.
fn values(execution: &Execution, kind: RecordKind) -> Vec<(u64, u64)> {
    let events = execution.events.iter().filter(|event| event.kind == kind);
    events.map(|event| (event.offset, event.value)).collect()
}

/// Descriptors, children and memory files of this process.
fn resources(server: &Server) -> (usize, usize) {
    let descriptors =
        |process: u32| std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
    (
        descriptors(std::process::id()),
        descriptors(server.process()),
    )
}

#[test]
fn ten_thousand_runs_leak_nothing() {
    let (mut server, _scratch) = server("basic.c", Isolation::Fork);
    server.run(&Job::default()).expect("runs");
    let before = resources(&server).1;
    let jobs = vec![Job::default(); 1000];
    let mut good = 0;
    for _ in 0..10 {
        server
            .run_all(&jobs, |_, execution| {
                good += usize::from(execution.outcome == Outcome::Exited { code: 3 })
            })
            .expect("runs");
    }
    assert_eq!((good, resources(&server).1), (10_000, before));
    assert_eq!(children_of(server.process()), 0);
    let process = server.process();
    drop(server);
    assert!(!std::path::Path::new(&format!("/proc/{process}/status")).exists());
}

#[test]
fn in_place_runs_do_not_grow() {
    let (mut server, _scratch) = server("state.c", Isolation::Restart);
    let jobs = vec![Job::default(); 2000];
    let run = |server: &mut Server| {
        server
            .run_all(&jobs, |_, execution| assert!(execution.outcome.is_ok()))
            .expect("runs")
    };
    run(&mut server);
    let before = resident_pages(server.process());
    for _ in 0..4 {
        run(&mut server);
    }
    assert!(
        resident_pages(server.process()) < before + 256,
        "grew from {before} pages"
    );
    assert_eq!(server.runs().0, 0, "{:?}", server.fallback());
}

/// Memory of a server and its children.
fn resident_pages(process: u32) -> u64 {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"))
        .unwrap_or_default();
    let mut processes: Vec<String> = children.split_whitespace().map(str::to_owned).collect();
    processes.push(process.to_string());
    let pages = |process: &String| -> Option<u64> {
        let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
        let mut fields = statm
            .split_whitespace()
            .skip(1)
            .map(|field| field.parse::<u64>().unwrap_or(0));
        let (resident, shared) = (fields.next()?, fields.next()?);
        Some(resident.saturating_sub(shared))
    };
    processes.iter().filter_map(pages).sum()
}

fn children_of(process: u32) -> usize {
    std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"))
        .map_or(0, |text| text.split_whitespace().count())
}

#[test]
fn a_wedged_run_is_killed_and_the_server_goes_on() {
    for isolation in MODES {
        let (mut server, _scratch) = server("hostile/spin.c", isolation);
        let mut job = Job::default();
        job.limits.wall = Duration::from_millis(200);
        for _ in 0..3 {
            assert_eq!(
                server.run(&job).expect("answers").outcome,
                Outcome::Wedged,
                "{isolation:?}"
            );
        }
    }
}

#[test]
fn a_killed_server_is_replaced() {
    let (mut server, _scratch) = server("basic.c", Isolation::Auto);
    server.run(&Job::default()).expect("runs");
    let status = Command::new("kill")
        .args(["-KILL", &server.process().to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
    // The run that it took along is said to be killed; the next one finds another server.
    let killed = server.run(&Job::default());
    assert!(
        matches!(killed, Err(SubjectError::Killed { .. })),
        "{killed:?}"
    );
    let next = server.run(&Job::default()).expect("answers").outcome;
    assert_eq!(next, Outcome::Exited { code: 3 });
}

#[test]
fn servers_run_side_by_side() {
    let scratch = Scratch::new("parallel");
    let built = build(&programs().join("widths.c"), &scratch.0);
    let program = Program::new(built);
    let alone = Server::start(&program)
        .expect("starts")
        .run(&Job::default())
        .expect("runs");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut server = Server::start(&program).expect("starts");
                let jobs = vec![Job::default(); 200];
                server
                    .run_all(&jobs, |_, execution| {
                        assert_eq!(execution.events, alone.events)
                    })
                    .expect("runs");
            });
        }
    });
}

#[test]
fn servers_die_with_the_checker() {
    let scratch = Scratch::new("orphans");
    let built = build(&programs().join("hostile/spin.c"), &scratch.0);
    // This test again, in a process of its own, which is killed in the middle of a run.
    let mut checker = Command::new(std::env::current_exe().expect("a test binary"))
        .args(["--exact", "server::a_checker_that_is_killed", "--ignored"])
        .env("LANDFALL_VICTIM", &built)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("starts");
    let running = || {
        let listed = Command::new("pgrep")
            .arg("-f")
            .arg(&built)
            .output()
            .expect("pgrep");
        String::from_utf8_lossy(&listed.stdout).lines().count()
    };
    wait_until(|| {
        let ended = checker.try_wait().expect("a child");
        assert!(ended.is_none(), "it did not run for long: {ended:?}");
        running() >= 2
    });
    checker.kill().expect("killed");
    checker.wait().expect("reaped");
    wait_until(|| running() == 0);
}

/// However long it takes: who runs the tests has a limit of their own.
fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "the victim of servers_die_with_the_checker"]
fn a_checker_that_is_killed() {
    let victim = std::env::var_os("LANDFALL_VICTIM").expect("set by the other test");
    let mut program = Program::new(victim);
    program.isolation = Isolation::Fork;
    let _ = Server::start(&program)
        .expect("starts")
        .run(&Job::default());
}

#[test]
fn a_program_of_somebody_else_is_refused_by_name() {
    let mut program = Program::new("/bin/true");
    program.isolation = Isolation::Fork;
    let error = Server::start(&program).expect_err("not built with landfall cc");
    assert!(
        matches!(error, SubjectError::NotInstrumented { .. }),
        "{error}"
    );
    let error = Server::start(&Program::new("/does/not/exist")).expect_err("does not exist");
    assert!(matches!(error, SubjectError::Start { .. }), "{error}");
}

#[test]
fn ten_million_events_fit() {
    let (mut server, _scratch) = server("many.c", Isolation::Fork);
    let (outcome, bytes) = server.run_raw(&Job::default(), <[u8]>::len).expect("runs");
    assert_eq!(outcome, Outcome::Exited { code: 0 });
    assert!(bytes <= 24 * 10_000_000, "{bytes} bytes");
    let execution = server.run(&Job::default()).expect("runs");
    assert_eq!(
        execution
            .events
            .iter()
            .filter(|event| matches!(event.kind, RecordKind::Store | RecordKind::Clwb))
            .count(),
        10_000_000
    );
}

/// libc is there for a library whose constructor runs before ours.
#[test]
fn constructors_of_libraries_find_libc() {
    let scratch = Scratch::new("early");
    let directory = &scratch.0;
    let path = |name: &str| directory.join(name).into_os_string();
    let lib = "#include <pthread.h>\n#include <stdlib.h>\nstatic pthread_mutex_t lock;\nint early;\n\
         __attribute__((constructor)) static void begin(void) {\n\
           early = pthread_mutex_init(&lock, 0) == 0 && pthread_mutex_lock(&lock) == 0 && atoi(\"7\") == 7;\n}\n";
    std::fs::write(directory.join("lib.c"), lib).expect("writable");
    let main = "#include <landfall.h>\nextern int early;\nint main(void) { *(int *)lf_pm(64) = early; return early; }\n";
    std::fs::write(directory.join("main.c"), main).expect("writable");
    let mut clang = Command::new("clang-19");
    clang
        .args(["-shared", "-fPIC", "-o"])
        .arg(path("early.so"))
        .arg(path("lib.c"));
    assert!(clang.status().expect("runs").success());
    let arguments = [path("main.c"), path("early.so"), "-o".into(), path("main")];
    let mut command = compiler::command(Language::C, &arguments)
        .expect("clang")
        .command;
    assert!(command.status().expect("runs").success());
    let mut server = Server::start(&Program::new(directory.join("main"))).expect("starts");
    let execution = server.run(&Job::default()).expect("runs");
    assert_eq!(execution.outcome, Outcome::Exited { code: 1 });
}

#[test]
fn a_library_loaded_later_has_its_lines() {
    let scratch = Scratch::new("loaded");
    let directory = &scratch.0;
    let library = directory.join("put.so");
    let build = |name: &str, text: String, more: &[std::ffi::OsString]| {
        std::fs::write(directory.join(name), text).expect("writable");
        let mut arguments = vec![directory.join(name).into_os_string()];
        arguments.extend_from_slice(more);
        let mut command = compiler::command(Language::C, &arguments)
            .expect("clang")
            .command;
        assert!(command.status().expect("runs").success());
    };
    let shared = ["-shared", "-fPIC", "-o"].map(Into::into);
    let lib = "\n\nvoid put(long *p) { *p = 1; }\n".to_owned();
    build(
        "lib.c",
        lib,
        &[&shared[..], &[library.clone().into()]].concat(),
    );
    let main = format!(
        "#include <dlfcn.h>\n#include <landfall.h>\n\
         int main(void) {{ long *p = lf_pm(64); *p = 2; ((void (*)(long *))dlsym(dlopen({library:?}, RTLD_NOW), \"put\"))(p); }}\n"
    );
    let program = directory.join("main");
    build("main.c", main, &["-o".into(), program.clone().into()]);
    for isolation in MODES {
        let mut subject = Program::new(&program);
        subject.isolation = isolation;
        let mut server = Server::start(&subject).expect("starts");
        for _ in 0..3 {
            let execution = server.run(&Job::default()).expect("runs");
            let stores = execution
                .events
                .iter()
                .filter(|event| event.kind == RecordKind::Store);
            let lines = stores.map(|event| server.sites().position(event.origin).map(|at| at.line));
            assert_eq!(lines.collect::<Vec<_>>(), [Some(3), Some(3)]);
            let last = execution.events.last().expect("a store");
            let position = server.sites().position(last.origin).expect("known");
            assert!(position.file.ends_with("lib.c"), "{position:?}");
        }
    }
}

/// A library without sites that writes persistent memory is named; the same library built with `landfall cc` is not.
#[test]
fn an_uninstrumented_library_is_named() {
    let scratch = Scratch::new("libraries");
    let directory = &scratch.0;
    let write =
        |name: &str, text: &str| std::fs::write(directory.join(name), text).expect("writable");
    write(
        "lib.c",
        "long scribble(long *p) { p[1] = 5; p[0] = 6; return p[2]; }\n",
    );
    write(
        "main.c",
        "#include <landfall.h>\nlong scribble(long *);\n\
         int main(void) { long *p = lf_pm(64); *p = 1; scribble(p); lf_persist(p, 16); return (int)p[1]; }\n",
    );
    let path = |name: &str| directory.join(name).into_os_string();
    let link = |library: &str| {
        let arguments = ["main.c", library]
            .map(path)
            .into_iter()
            .chain(["-o".into(), path("main")]);
        let arguments: Vec<_> = arguments
            .chain([format!("-Wl,-rpath,{}", directory.display()).into()])
            .collect();
        let mut command = compiler::command(Language::C, &arguments)
            .expect("clang")
            .command;
        assert!(command.status().expect("runs").success());
        let mut server = Server::start(&Program::new(directory.join("main"))).expect("starts");
        let execution = server.run(&Job::default()).expect("runs");
        (execution, server.symbols())
    };
    let mut clang = Command::new("clang-19");
    let status = clang
        .args(["-shared", "-fPIC", "-o"])
        .arg(path("plain.so"))
        .arg(path("lib.c"))
        .status();
    assert!(status.expect("runs").success());
    let (execution, symbols) = link("plain.so");
    let foreign = execution.foreign.expect("the accesses are noticed");
    assert_eq!((foreign.reads, foreign.writes), (1, 2));
    let place = |event: &landfall_native::Record| symbols.caller(event.origin.caller);
    let accesses = execution.events.iter().filter(|event| {
        event.flag_names().any(|name| name == "foreign")
            && place(event).is_some_and(|at| at.line == 3)
    });
    assert_eq!(accesses.count(), 3, "each names the line of the call");
    let said = foreign.describe(&symbols);
    assert!(
        said.starts_with(
            "`scribble` of plain.so was not compiled with `landfall cc`: 1 read and 2 writes"
        ),
        "{said}"
    );

    let arguments = [
        "-shared".into(),
        "-fPIC".into(),
        "-o".into(),
        path("seen.so"),
        path("lib.c"),
    ];
    let mut command = compiler::command(Language::C, &arguments)
        .expect("clang")
        .command;
    assert!(command.status().expect("runs").success());
    let (execution, _) = link("seen.so");
    assert_eq!(
        (execution.foreign, execution.outcome),
        (None, Outcome::Exited { code: 5 })
    );
    assert_eq!(
        execution
            .events
            .iter()
            .filter(|event| event.kind == RecordKind::Store)
            .count(),
        3
    );
}

/// The runtime's own code must not call what a program may have replaced.
#[test]
fn the_runtime_calls_no_memory_function() {
    let toolbox = compiler::Toolbox::unpack().expect("the toolbox");
    let output = Command::new("objdump")
        .args(["-dr", "--no-show-raw-insn"])
        .arg(toolbox.runtime())
        .output();
    let listing = output.expect("objdump runs").stdout;
    let listing = String::from_utf8_lossy(&listing);
    let mut function = "";
    let mut calls = Vec::new();
    for line in listing.lines() {
        if line.ends_with(">:") {
            function = line;
        }
        let target = line.split_whitespace().last().unwrap_or_default();
        let target = target.split(['-', '+']).next().unwrap_or_default();
        let replaceable = matches!(
            target,
            "memcpy" | "memset" | "memmove" | "memcmp" | "bcmp" | "strlen"
        );
        if line.contains("R_X86_64") && replaceable && function.contains("landfall_runtime") {
            calls.push(format!("{function} {target}"));
        }
    }
    assert!(calls.is_empty(), "{calls:#?}");
}

#[test]
fn a_full_trace_ends_the_run() {
    for isolation in MODES {
        let (mut server, _scratch) = server("many.c", isolation);
        let mut job = Job::default();
        for bytes in [0, 1000, 100_000, 10_000_000] {
            job.limits.trace_bytes = bytes;
            let execution = server.run(&job).expect("answers");
            assert!(
                matches!(execution.outcome, Outcome::Exhausted { .. }),
                "{:?}",
                execution.outcome
            );
            assert_eq!(execution.damaged, None);
            assert!(execution.trace_bytes <= bytes && execution.trace_bytes + 40 > bytes);
        }
    }
}

#[test]
fn a_run_that_leaves_the_path_says_where() {
    let (mut server, _scratch) = server("basic.c", Isolation::Fork);
    let first = server.run(&Job::default()).expect("runs");
    let mut other = Job::default();
    other.image.write(0, &1u64.to_le_bytes());
    let other = server.run(&other).expect("runs");
    assert_eq!(first_difference(&first.events, &first.events), None);
    let difference = first_difference(&first.events, &other.events).expect("they differ");
    assert_eq!(
        (difference.at, difference.expected.map(|event| event.value)),
        (1, Some(0))
    );
    assert_eq!(difference.found.map(|event| event.value), Some(1));
}

#[test]
fn stacks_lead_from_main_to_the_event() {
    let scratch = Scratch::new("stacks");
    let built = build(&programs().join("instrumented/list.c"), &scratch.0);
    let mut server = Server::start(&Program::new(built)).expect("starts");
    let execution = server
        .run(&Job {
            stacks: true,
            ..Job::default()
        })
        .expect("runs");
    let symbols = server.symbols();
    let names = |stack: &Vec<u64>| {
        stack
            .iter()
            .map(|frame| symbols.describe(*frame))
            .collect::<Vec<_>>()
    };
    let stacks: Vec<Vec<String>> = execution.stacks.iter().map(names).collect();
    let found = |name: &str, stack: &Vec<String>| stack.iter().any(|frame| frame.starts_with(name));
    assert!(
        stacks
            .iter()
            .any(|stack| found("head ", stack) && found("main ", stack)),
        "{stacks:#?}"
    );
}

#[test]
fn a_trace_that_only_grows_is_squeezed_down_to_its_reads() {
    let source = programs().join("../support/stores.c");
    for isolation in MODES {
        let scratch = Scratch::new(&format!("stores-{isolation:?}"));
        let mut program = Program::new(build(&source, &scratch.0));
        program.isolation = isolation;
        let mut server = Server::start(&program).expect("starts");
        let whole = server.run(&Job::default()).expect("runs");
        let job = Job {
            reads_only: true,
            ..Job::default()
        };
        let squeezed = server.run(&job).expect("runs");
        let reads = |execution: &Execution| -> Vec<u64> {
            let reads = execution
                .events
                .iter()
                .filter(|e| e.kind == RecordKind::Read);
            reads.map(|event| event.offset).collect()
        };
        assert!(!whole.squeezed && squeezed.squeezed);
        assert_eq!(whole.events.len(), 4_000_021, "and what lf_pm says");
        assert_eq!(reads(&whole).len(), 20);
        assert_eq!(reads(&whole), reads(&squeezed));
        assert_eq!(whole.outcome, squeezed.outcome);
        assert!(squeezed.trace_bytes < 20 << 20, "{}", squeezed.trace_bytes);
        // What it did last is still there.
        let tail = squeezed.events.len() - 1000;
        assert_eq!(
            squeezed.events[tail..],
            whole.events[whole.events.len() - 1000..]
        );
    }
}
