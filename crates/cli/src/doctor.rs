//! `landfall doctor`: what is installed, what is missing, how to get it.

use crate::exit::Exit;
use std::process::Command;

/// One thing Landfall relies on.
struct Finding {
    what: &'static str,
    /// What was found, or why it is not there.
    state: Result<String, String>,
    remedy: &'static str,
}

pub(crate) fn run() -> Exit {
    let mut findings = vec![
        tool(
            "clang-19",
            "apt-get install clang-19 (or llvm.org's apt.llvm.org script)",
        ),
        tool(
            "llvm-config-19",
            "apt-get install llvm-19-dev (only needed to build Landfall itself)",
        ),
        tool(
            "c++",
            "apt-get install g++ (only needed to build Landfall itself)",
        ),
    ];
    findings.extend(
        landfall_native::kernel_features()
            .into_iter()
            .map(|feature| Finding {
                what: feature.name,
                state: if feature.present {
                    Ok(feature.purpose.to_owned())
                } else {
                    Err(format!("missing: {}", feature.purpose))
                },
                remedy: feature.remedy,
            }),
    );
    let mut missing = false;
    for finding in &findings {
        match &finding.state {
            Ok(state) => println!("  ok       {:<24} {state}", finding.what),
            Err(state) => {
                missing = true;
                println!(
                    "  missing  {:<24} {state}\n           -> {}",
                    finding.what, finding.remedy
                );
            }
        }
    }
    if missing { Exit::Internal } else { Exit::Clean }
}

fn tool(name: &'static str, remedy: &'static str) -> Finding {
    let state = match Command::new(name).arg("--version").output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()),
        Ok(output) => Err(format!("found, but it fails ({})", output.status)),
        Err(error) => Err(error.to_string()),
    };
    Finding {
        what: name,
        state,
        remedy,
    }
}
