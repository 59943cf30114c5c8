//! `landfall doctor`: what is installed, what is missing, how to get it, and whether a check works from end to end.

use crate::exit::Exit;
use landfall::finding::Verdict;
use std::process::Command;

/// One thing Landfall relies on.
struct Requirement {
    what: &'static str,
    need: Necessity,
    /// What was found, or why it is not there.
    state: Result<String, String>,
    remedy: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Necessity {
    /// Nothing can be checked without it.
    Always,
    /// Something can be done without it.
    Sometimes,
}

pub(crate) fn run() -> Exit {
    let mut findings = vec![
        tool(
            "clang-19",
            Necessity::Always,
            "apt-get install clang-19 (or llvm.org's apt.llvm.org script)",
        ),
        tool(
            "clang++-19",
            Necessity::Sometimes,
            "apt-get install clang-19 g++ (to check C++ programs)",
        ),
        tool(
            "gdb",
            Necessity::Sometimes,
            "apt-get install gdb (for landfall replay --gdb)",
        ),
        tool(
            "llvm-config-19",
            Necessity::Sometimes,
            "apt-get install llvm-19-dev (only to build Landfall itself)",
        ),
    ];
    let kernel = landfall_native::kernel_features();
    findings.extend(kernel.into_iter().map(|feature| Requirement {
        what: feature.name,
        need: Necessity::Always,
        state: match feature.present {
            true => Ok(feature.purpose.to_owned()),
            false => Err(format!("missing: {}", feature.purpose)),
        },
        remedy: feature.remedy,
    }));
    findings.push(Requirement {
        what: "a check",
        need: Necessity::Always,
        state: trial(),
        remedy: "what is missing above comes first; then try `landfall check` on a program of your own",
    });
    let mut missing = false;
    for finding in &findings {
        let (what, remedy) = (finding.what, finding.remedy);
        match (&finding.state, finding.need) {
            (Ok(state), _) => println!("  ok       {what:<24} {state}"),
            (Err(state), Necessity::Always) => {
                missing = true;
                println!("  missing  {what:<24} {state}\n           -> {remedy}");
            }
            (Err(state), Necessity::Sometimes) => {
                println!("  absent   {what:<24} {state}\n           -> {remedy}");
            }
        }
    }
    println!(
        "{}",
        match missing {
            true => "something is missing",
            false => "landfall works here",
        }
    );
    if missing { Exit::Internal } else { Exit::Clean }
}

/// One line of output, without a shell in between.
fn tool(name: &'static str, need: Necessity, remedy: &'static str) -> Requirement {
    let state = match Command::new(name).arg("--version").output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()),
        Ok(output) => Err(format!("found, but it fails ({})", output.status)),
        Err(error) => Err(error.to_string()),
    };
    Requirement {
        what: name,
        need,
        state,
        remedy,
    }
}

/// A flag that reaches memory before what it stands for.
const BROKEN: &str = "#include <landfall.h>
int main(void) {
  long *pm = lf_pm(4096);
  if (pm[8]) return pm[0] == 1 ? 0 : 1;
  pm[0] = 1;
  pm[8] = 1;
  lf_persist(pm, 128);
  return 0;
}
";

/// Checks a program with a known bug: compiler, runtime, search and replay all have to work for it to be found.
fn trial() -> Result<String, String> {
    let scratch = std::env::temp_dir().join(format!("landfall-doctor-{}", std::process::id()));
    let found = check_broken(&scratch);
    let _ = std::fs::remove_dir_all(&scratch);
    found
}

fn check_broken(scratch: &std::path::Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", scratch.display());
    std::fs::create_dir_all(scratch).map_err(failed)?;
    let source = scratch.join("broken.c");
    std::fs::write(&source, BROKEN).map_err(failed)?;
    let options = landfall::Options {
        asked_out: Some(scratch.join("out")),
        directory: Some(scratch.to_owned()),
        quiet_compiler: true,
        ..landfall::Options::default()
    };
    let target = landfall::Target::sources([source]);
    match landfall::check(&target, &options, &mut ()) {
        Ok(run) if run.verdict == Verdict::Findings => {
            Ok("a program with a known bug was compiled, checked and found out".to_owned())
        }
        Ok(_) => Err("a known bug was not found: nothing was found".to_owned()),
        Err(error) => Err(format!("a known bug was not found: {error}")),
    }
}
