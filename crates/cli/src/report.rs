//! `landfall report`: what a check found, once more, as a page or for other programs. Made from run.json alone.

use crate::exit::Exit;
use anyhow::Context;
use landfall_report::Sources;
use std::path::{Path, PathBuf};

/// Writes what a check found as a page, as SARIF or as JUnit
///
/// Everything comes from run.json; source files that changed since the check are named, and shown without their text. FILE may
/// be - for standard output. Exit code: 0 written, 2 usage.
#[derive(clap::Args, Debug)]
pub(crate) struct ReportArgs {
    /// The --out directory of a check, or its run.json; several become one report
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    #[command(flatten)]
    to: To,
}

#[derive(clap::Args, Debug)]
#[group(required = true, multiple = true)]
struct To {
    /// A page for people: one file, for any browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// SARIF 2.1.0, for code-scanning views
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// JUnit XML, for CI views
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub(crate) fn run(options: &ReportArgs) -> Exit {
    match report(options) {
        Ok(()) => Exit::Clean,
        Err(error) => {
            eprintln!("landfall: {error:#}");
            Exit::Usage
        }
    }
}

fn report(options: &ReportArgs) -> anyhow::Result<()> {
    let (mut runs, mut sources) = (Vec::new(), Sources::new());
    for path in &options.runs {
        let (_, run) = landfall::read_run(path)?;
        if options.to.html.is_some() {
            let check = run.check.as_ref();
            let directory = check.map_or(Path::new(""), |check| &check.directory);
            let texts = landfall::texts(&run, directory);
            for file in &texts.changed {
                eprintln!(
                    "landfall: {file} is not what it was when it was checked: shown without its text"
                );
            }
            sources.extend(texts.found);
        }
        runs.push(run);
    }
    let run = landfall_report::merge(runs);
    if let Some(path) = &options.to.html {
        write(path, &landfall_report::page(&run, &sources))?;
    }
    if let Some(path) = &options.to.sarif {
        write(path, &landfall_report::sarif(&run))?;
    }
    if let Some(path) = &options.to.junit {
        write(path, &landfall_report::junit(&run))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        print!("{text}");
        return Ok(());
    }
    landfall::write(path, text.as_bytes()).with_context(|| path.display().to_string())
}
