//! `landfall report`: what a check found, once more, as a page or for other programs. Made from run.json alone.

use crate::exit::Exit;
use anyhow::{Context, bail};
use landfall_report::{Run, Sources};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Writes what a check found as a page, as SARIF or as JUnit
///
/// Everything comes from run.json; source files that changed since the check are named, and shown without their text. FILE may
/// be - for standard output. Exit code: 0 written, 2 usage.
#[derive(clap::Args, Debug)]
pub(crate) struct Report {
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

pub(crate) fn run(options: &Report) -> Exit {
    match report(options) {
        Ok(()) => Exit::Clean,
        Err(error) => {
            eprintln!("landfall: {error:#}");
            Exit::Usage
        }
    }
}

fn report(options: &Report) -> anyhow::Result<()> {
    let (mut runs, mut sources) = (Vec::new(), Sources::new());
    for path in &options.runs {
        let (run, value) = read(path)?;
        runs.push(run);
        if options.to.html.is_some() {
            let directory = value["check"]["directory"].as_str().unwrap_or_default();
            let texts = crate::check::texts(&value, Path::new(directory));
            for file in &texts.changed {
                eprintln!(
                    "landfall: {file} is not what it was when it was checked: shown without its text"
                );
            }
            sources.extend(texts.found);
        }
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

fn read(run: &Path) -> anyhow::Result<(Run, Value)> {
    let path = match run.is_dir() {
        true => run.join("run.json"),
        false => run.to_owned(),
    };
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "{}: RUN is the --out directory of `landfall check`, or its run.json",
            path.display()
        )
    })?;
    let not_ours = || format!("{}: not a run.json of `landfall check`", path.display());
    let value: Value = serde_json::from_str(&text).with_context(not_ours)?;
    if value["tool"] != "landfall" {
        bail!(not_ours());
    }
    let run = serde_json::from_value(value.clone()).with_context(not_ours)?;
    Ok((run, value))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        print!("{text}");
        return Ok(());
    }
    crate::out::write(path, text.as_bytes()).with_context(|| path.display().to_string())
}
