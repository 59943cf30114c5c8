//! Every program under `tests/programs` does what the `.expect` file beside it says: in a fork, in place, and again.
//! `BLESS=1 cargo nextest run -p landfall-native programs::` writes the files.

use crate::support::{Scratch, Wanted, build, describe, programs, sources, start, wanted};
use landfall_native::{Execution, Isolation, Outcome, Server, first_difference};
use std::path::Path;

/// Runs of one job that must all be the same, to the byte; `LANDFALL_REPETITIONS=200` for the full number.
fn repetitions() -> usize {
    let wanted = std::env::var("LANDFALL_REPETITIONS").ok();
    wanted.and_then(|number| number.parse().ok()).unwrap_or(30)
}

fn check_directory(directory: &Path) {
    let scratch = Scratch::new(&directory.file_name().expect("a name").to_string_lossy());
    let blessing = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for source in sources(directory) {
        let built = build(&source, &scratch.0);
        let wanted = wanted(&source, &built, &scratch.0);
        let mut server = start(&wanted, Isolation::Fork);
        let execution = server.run(&wanted.job).expect("the server answers");
        let found = describe(&execution, &server, wanted.quiet);
        let file = source.with_extension("expect");
        if blessing {
            std::fs::write(&file, &found).expect("writable");
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        if found != expected {
            wrong.push(format!(
                "--- {}: expected\n{expected}--- found\n{found}",
                source.display()
            ));
            continue;
        }
        if wanted.quiet {
            continue;
        }
        if let Some(problem) = repeats(&wanted, &mut server, &execution) {
            wrong.push(format!("--- {}: {problem}", source.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn repeats(wanted: &Wanted, server: &mut Server, first: &Execution) -> Option<String> {
    // Fewer of those that do much, and none of those that only end because a limit is reached.
    let repetitions = match first.steps + first.trace_bytes / 16 {
        _ if matches!(first.outcome, Outcome::Hang { .. } | Outcome::Wedged) => 0,
        0..100_000 => repetitions(),
        _ => 3,
    };
    let (_, bytes) = server
        .run_raw(&wanted.job, <[u8]>::to_vec)
        .expect("the server answers");
    for i in 0..repetitions {
        let (_, again) = server
            .run_raw(&wanted.job, <[u8]>::to_vec)
            .expect("the server answers");
        if again != bytes {
            return Some(format!("repetition {i} differs in a fork"));
        }
    }
    let mut resident = start(wanted, Isolation::Auto);
    let mut job = wanted.job.clone();
    job.audit = true;
    let forked = server.run(&job).expect("the server answers");
    for i in 0..repetitions {
        let again = resident.run(&job).expect("the server answers");
        if let Some(difference) = first_difference(&forked.events, &again.events) {
            return Some(format!("repetition {i} differs in place: {difference:?}"));
        }
        let same_end = (&again.outcome, &again.stdout, &again.stderr)
            == (&forked.outcome, &forked.stdout, &forked.stderr);
        if !same_end || again.events.len() != forked.events.len() {
            return Some(format!(
                "repetition {i} ends differently in place: {:?}, not {:?}",
                again.outcome, forked.outcome
            ));
        }
        if again.audit_bytes != 0 {
            return Some(format!(
                "repetition {i}: {} pages were not restored",
                again.audit_bytes
            ));
        }
    }
    None
}

/// What lies on the stack, and where things are mapped, is nobody's business: other environments and arguments, and a path of
/// another length, change nothing.
#[test]
fn whatever_surrounds_them() {
    let scratch = Scratch::new("surroundings");
    let far = (scratch.0).join("a-directory-whose-name-is-as-long-as-some-people-like-them-to-be");
    std::fs::create_dir_all(&far).expect("a directory");
    let mut wrong = Vec::new();
    let folders = [programs(), programs().join("instrumented")];
    for (number, source) in folders.iter().flat_map(|f| sources(f)).enumerate() {
        let text = std::fs::read_to_string(&source).expect("a source");
        let sees_them = ["getenv", "environ", "argv[0]", "/proc/self"];
        if sees_them.iter().any(|word| text.contains(word)) {
            continue;
        }
        let directory = if number % 2 == 0 { &far } else { &scratch.0 };
        let built = build(&source, directory);
        let mut wanted = wanted(&source, &built, &scratch.0);
        let filling = [1, 15, 700, 4_096, 70_000][number % 5];
        let variable = ("FILLING".into(), "f".repeat(filling).into());
        wanted.program.environment.push(variable);
        let mut server = start(&wanted, Isolation::Fork);
        let execution = server.run(&wanted.job).expect("the server answers");
        let found = describe(&execution, &server, wanted.quiet);
        let expected = std::fs::read_to_string(source.with_extension("expect")).unwrap_or_default();
        if found != expected {
            let source = source.display();
            wrong.push(format!(
                "--- {source}, {filling} bytes of environment: expected\n{expected}--- found\n{found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn of_the_runtime() {
    check_directory(&programs());
}

#[test]
fn hostile() {
    check_directory(&programs().join("hostile"));
}

#[test]
fn instrumented() {
    check_directory(&programs().join("instrumented"));
}
