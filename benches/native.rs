//! What running a program under Landfall costs, as ratios to the same program built by clang, measured in one run.

use landfall_native::compiler::{self, Language};
use landfall_native::{Isolation, Job, Program, Server};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let directory = std::env::temp_dir().join(format!("landfall-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let result = table(&directory);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn table(directory: &Path) -> Fallible<()> {
    println!(
        "{:<44} {:>12} {:>12} {:>8}  wanted",
        "", "native", "landfall", "ratio"
    );
    for (name, defines, wanted) in [
        ("hash", &[][..], "<= 10"),
        ("hash", &["-DPERSIST"][..], "<= 10"),
        ("volatile", &[][..], "<= 4"),
    ] {
        let programs = Pair::build(directory, name, defines)?;
        let native = best(5, || programs.native())?;
        let mut server = programs.server(Isolation::Restart)?;
        let mut events = 0;
        let ours = best(5, || {
            let started = Instant::now();
            let (_, bytes) = server.run_raw(&Job::default(), |trace| trace.len())?;
            let elapsed = started.elapsed();
            events = bytes;
            Ok(elapsed)
        })?;
        let label = format!(
            "{name} {} ({} MB of trace)",
            defines.join(" "),
            events >> 20
        );
        row(
            &label,
            native,
            ours,
            ours.as_secs_f64() / native.as_secs_f64(),
            wanted,
        );
    }

    let large = Pair::build(directory, "large", &[])?;
    let exec = median(200, || large.native())?;
    let mut server = large.server(Isolation::Fork)?;
    let fork = median(500, || timed(&mut server))?;
    row(
        "5 MiB process: fork+exec against forked run",
        exec,
        fork,
        exec.as_secs_f64() / fork.as_secs_f64(),
        ">= 3",
    );

    let small = Pair::build(directory, "small", &[])?;
    let mut forking = small.server(Isolation::Fork)?;
    let jobs = vec![Job::default(); 2000];
    let fork = batch(&mut forking, &jobs)?;
    let mut resident = small.server(Isolation::Restart)?;
    let jobs = vec![Job::default(); 20000];
    batch(&mut resident, &jobs[..2000])?;
    let restart = (0..5)
        .map(|_| batch(&mut resident, &jobs))
        .collect::<Fallible<Vec<_>>>()?;
    let restart = restart.into_iter().min().unwrap_or_default();
    row(
        "20 events: forked run against restart in place",
        fork,
        restart,
        fork.as_secs_f64() / restart.as_secs_f64(),
        ">= 10",
    );
    println!(
        "{:<44} {:>12.0} runs/s in place, traces read",
        "",
        1.0 / restart.as_secs_f64()
    );
    Ok(())
}

fn row(label: &str, a: Duration, b: Duration, ratio: f64, wanted: &str) {
    println!(
        "{label:<44} {:>9.1} us {:>9.1} us {ratio:>8.2}  {wanted}",
        a.as_secs_f64() * 1e6,
        b.as_secs_f64() * 1e6
    );
}

/// One source, built by clang alone and by `landfall cc`.
struct Pair {
    native: PathBuf,
    instrumented: PathBuf,
}

impl Pair {
    fn build(directory: &Path, name: &str, defines: &[&str]) -> Fallible<Pair> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = root.join("programs").join(format!("{name}.c"));
        let pair = Pair {
            native: directory.join(format!("{name}.native")),
            instrumented: directory.join(name),
        };
        let mut clang = Command::new("clang-19");
        clang
            .args(["-O2", "-mclwb", "-I"])
            .arg(root.join("../include"))
            .args(defines)
            .arg(&source);
        succeed(clang.arg("-o").arg(&pair.native))?;
        let mut arguments = vec![
            "-O2".into(),
            source.into(),
            "-o".into(),
            pair.instrumented.clone().into(),
        ];
        arguments.extend(defines.iter().map(|define| define.into()));
        succeed(&mut compiler::command(Language::C, &arguments)?.command)?;
        Ok(pair)
    }

    fn native(&self) -> Fallible<Duration> {
        let started = Instant::now();
        succeed(&mut Command::new(&self.native))?;
        Ok(started.elapsed())
    }

    fn server(&self, isolation: Isolation) -> Fallible<Server> {
        let mut program = Program::new(&self.instrumented);
        program.isolation = isolation;
        Ok(Server::start(&program)?)
    }
}

fn succeed(command: &mut Command) -> Fallible<()> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}

fn timed(server: &mut Server) -> Fallible<Duration> {
    let started = Instant::now();
    server.run(&Job::default())?;
    Ok(started.elapsed())
}

/// Time per job of many in flight.
fn batch(server: &mut Server, jobs: &[Job]) -> Fallible<Duration> {
    let started = Instant::now();
    let mut bad = 0;
    server.run_all(jobs, |_, execution| {
        bad += usize::from(!execution.outcome.is_ok())
    })?;
    if bad > 0 {
        Err(format!("{bad} runs failed").into())
    } else {
        Ok(started.elapsed() / jobs.len() as u32)
    }
}

fn best(times: usize, mut measure: impl FnMut() -> Fallible<Duration>) -> Fallible<Duration> {
    let all = (0..times)
        .map(|_| measure())
        .collect::<Fallible<Vec<_>>>()?;
    Ok(all.into_iter().min().unwrap_or_default())
}

fn median(times: usize, mut measure: impl FnMut() -> Fallible<Duration>) -> Fallible<Duration> {
    let mut all = (0..times)
        .map(|_| measure())
        .collect::<Fallible<Vec<_>>>()?;
    all.sort();
    Ok(all[all.len() / 2])
}
