//! `landfall fix`: findings become a patch. Every patch that is shown was built and checked before.

mod finding;
mod layouts;
mod project;
mod recheck;
mod search;
mod suggest;
mod write;

use crate::exit::Exit;
use crate::recorded::Recorded;
use anyhow::{Context, bail};
use finding::Finding;
use layouts::Layouts;
use project::Project;
use recheck::Recheck;
use search::{Search, Stuck};
use serde::Deserialize;
use std::path::{Path, PathBuf};
pub(crate) use suggest::Suggestions;

/// Turns the findings of a check into a patch, and checks the patch.
///
/// Each finding is repaired in a copy in the way the file already flushes and fences; the copy is built and checked, and the
/// patch is printed only if the finding is gone and none is new. Where blocks of the persistent heap lie is luck, so it is
/// checked with all of them moved, too. Nothing is removed without --perf. Exit code: 0 all findings are repaired, 100 some are not (they are
/// named, with the reason), 101 the program did not build, 2 usage.
#[derive(clap::Args, Debug)]
pub(crate) struct Fix {
    /// The --out directory of a check, or its run.json
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Write the patch into the files (the old ones stay as FILE.orig), and check again
    #[arg(long)]
    apply: bool,

    /// Also remove flushes and fences that do nothing
    #[arg(long)]
    perf: bool,

    /// How to make memory durable, with {addr} and {size} [default: as the file does it]
    #[arg(long, value_name = "CODE")]
    template: Option<String>,

    /// How to build the program, where the check was given one that was built before
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,
}

/// The part of run.json that matters here.
#[derive(Debug, Deserialize)]
struct Run {
    #[serde(default)]
    complete: bool,
    findings: Vec<serde_json::Value>,
    check: Option<Recorded>,
    /// What every execution read from its standard input.
    #[serde(default)]
    stdin: Option<crate::witness::Given>,
}

pub(crate) fn run(options: &Fix) -> Exit {
    // The check that runs at that time ends by itself, and what was made for it is removed.
    landfall_native::watch_interrupts();
    match fix(options) {
        Ok(exit) => exit,
        Err(_) if landfall_native::interrupted() => {
            eprintln!("landfall: interrupted");
            Exit::Limit
        }
        Err(error) => {
            eprintln!("landfall: {error:#}");
            Exit::Usage
        }
    }
}

fn fix(options: &Fix) -> anyhow::Result<Exit> {
    let path = match options.run.is_dir() {
        true => options.run.join("run.json"),
        false => options.run.clone(),
    };
    let run = read(&path)?;
    let Some(recorded) = run.check else {
        bail!(
            "{}: it does not say how the check was made; run `landfall check` again",
            path.display()
        );
    };
    let settings = Settings::read(&recorded.directory)?;
    let template = options.template.clone().or(settings.template);
    let build = options.build.clone().or(settings.build);
    let findings: Vec<Finding> = run.findings.iter().map(Finding::read).collect();
    let wanted = |finding: &Finding| options.perf || !finding.is_perf();
    if !findings.iter().any(wanted) {
        eprintln!("{}: nothing to repair", path.display());
        return Ok(Exit::Clean);
    }
    let mut project = Project::open(&recorded)?;
    let stdin = run.stdin.map(|given| given.file.path());
    let mut recheck = Recheck::new(&recorded, build, run.complete, stdin)?;
    let layouts = Layouts::new(recorded.allocates, recheck.heap_offset());
    let mut search = Search::new(&mut recheck, layouts, template.as_deref(), options.perf);
    let repaired = search.repair(&mut project, findings)?;
    for step in &repaired.steps {
        eprintln!("{step}");
    }
    for (file, old, new) in repaired.project.changes(&project) {
        print!("{}", landfall_repair::unified_diff(file, old, new));
    }
    for Stuck { title, why, .. } in &repaired.stuck {
        eprintln!("{title} stuck: {why}");
    }
    let changed = repaired.project.changes(&project).next().is_some();
    if options.apply && changed {
        let written = write::write(&recorded.directory, &repaired.project, &project)?;
        for line in written {
            eprintln!("{line}");
        }
        let also = repaired.layouts.also();
        return confirm(&mut recheck, &path, options.perf, &also);
    }
    let left = repaired.stuck.len();
    if changed {
        let also = repaired.layouts.also();
        eprintln!("checked: with this patch {}{also}", remaining(left));
        eprintln!("`landfall fix {} --apply` writes it", options.run.display());
    }
    Ok(match left {
        0 => Exit::Clean,
        _ => Exit::Findings,
    })
}

/// The files as they are now, checked as the user would.
fn confirm(recheck: &mut Recheck, run: &Path, perf: bool, also: &str) -> anyhow::Result<Exit> {
    let out = run.parent().unwrap_or(Path::new("."));
    let found = recheck.in_place(out)?;
    let left = found
        .iter()
        .filter(|finding| perf || !finding.is_perf())
        .count();
    eprintln!("checked again: {}{also}", remaining(left));
    Ok(match left {
        0 => Exit::Clean,
        _ => Exit::Findings,
    })
}

fn remaining(left: usize) -> String {
    match left {
        0 => "the check is clean".to_owned(),
        1 => "1 finding remains".to_owned(),
        n => format!("{n} findings remain"),
    }
}

fn read(path: &Path) -> anyhow::Result<Run> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "{}: RUN is the --out directory of `landfall check`, or its run.json",
            path.display()
        )
    })?;
    serde_json::from_str(&text)
        .with_context(|| format!("{}: not a run.json of `landfall check`", path.display()))
}

/// `[fix]` of landfall.toml.
#[derive(Debug, Default)]
struct Settings {
    template: Option<String>,
    build: Option<String>,
}

impl Settings {
    fn read(directory: &Path) -> anyhow::Result<Settings> {
        let path = directory.join("landfall.toml");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Settings::default());
            }
            Err(error) => bail!("{}: {error}", path.display()),
        };
        let document: toml_edit::DocumentMut =
            text.parse().with_context(|| path.display().to_string())?;
        let mut settings = Settings::default();
        let Some(fix) = document.get("fix") else {
            return Ok(settings);
        };
        let Some(fix) = fix.as_table_like() else {
            bail!("{}: `fix` must be a table", path.display());
        };
        for (name, item) in fix.iter() {
            let setting = match name {
                "template" => &mut settings.template,
                "build" => &mut settings.build,
                other => bail!(
                    "{}: no setting `{other}` under [fix]; template or build",
                    path.display()
                ),
            };
            let Some(text) = item.as_str() else {
                bail!("{}: `{name}` under [fix] must be a text", path.display());
            };
            *setting = Some(text.to_owned());
        }
        Ok(settings)
    }
}
