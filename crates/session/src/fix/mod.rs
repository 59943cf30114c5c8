//! Findings become a patch. Every patch that comes out was built and checked before.

mod finding;
mod layouts;
mod project;
mod recheck;
mod search;
mod suggest;
mod write;

use crate::error::Error;
use crate::observer::Observer;
use anyhow::{Context, bail};
use finding::OpenFinding;
use landfall_finding::Run;
use layouts::Layouts;
use project::Project;
use recheck::Recheck;
use search::{RepairSearch, StuckFinding};
use std::path::{Path, PathBuf};
pub(crate) use suggest::Suggestions;

/// What to repair, and how.
#[derive(Clone, Debug, Default)]
pub struct FixOptions {
    /// Write the patch into the files (the old ones stay as FILE.orig), and check again.
    pub apply: bool,
    /// Also remove flushes and fences that do nothing.
    pub perf: bool,
    /// How to make memory durable, with {addr} and {size}; otherwise as the file does it.
    pub template: Option<String>,
    /// How to build the program, where the check was given one that was built before.
    pub build: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// There was something to repair.
    pub wanted: bool,
    /// What was done, a line each.
    pub steps: Vec<String>,
    /// The patch, a unified diff for each file.
    pub diffs: Vec<String>,
    /// Findings without a repair: which, and why.
    pub stuck: Vec<(String, String)>,
    /// What was written, a line each.
    pub written: Vec<String>,
    /// Findings that remain.
    pub left: usize,
    /// Why it was not written, or not checked again.
    pub failed: Option<String>,
    /// `, also with …`: the layouts that the patch was checked under.
    pub also: String,
}

/// Repairs what a check found: `path` is its run.json, or the folder with it.
pub fn fix(path: &Path, options: &FixOptions, observer: &mut dyn Observer) -> Result<Fixed, Error> {
    Ok(repair(path, options, observer)?)
}

/// Reads the run.json of a check: its path, or the folder with it.
pub fn read_run(path: &Path) -> Result<(PathBuf, Run), Error> {
    Ok(read(path)?)
}

fn repair(path: &Path, options: &FixOptions, observer: &mut dyn Observer) -> anyhow::Result<Fixed> {
    let (path, run) = read(path)?;
    let Some(recorded) = &run.check else {
        bail!(
            "{}: it does not say how the check was made; run `landfall check` again",
            path.display()
        );
    };
    let settings = Settings::read(&recorded.directory)?;
    let template = options.template.clone().or(settings.template);
    let build = options.build.clone().or(settings.build);
    let findings: Vec<OpenFinding> = run
        .findings
        .iter()
        .cloned()
        .map(OpenFinding::from)
        .collect();
    let wanted = |finding: &OpenFinding| options.perf || !finding.is_perf();
    if !findings.iter().any(wanted) {
        return Ok(Fixed::default());
    }
    let mut project = Project::open(recorded)?;
    let mut recheck = Recheck::new(&run, recorded, build, observer)?;
    let layouts = Layouts::new(recorded.allocates, recheck.heap_offset());
    let mut search = RepairSearch::new(&mut recheck, layouts, template.as_deref(), options.perf);
    let repaired = search.repair(&mut project, findings)?;
    let diffs: Vec<String> = (repaired.project.changes(&project))
        .map(|(file, old, new)| landfall_repair::unified_diff(file, old, new))
        .collect();
    let stuck = repaired.stuck.iter();
    let stuck = stuck.map(|StuckFinding { title, why, .. }| (title.clone(), why.clone()));
    let mut fixed = Fixed {
        wanted: true,
        steps: repaired.steps,
        stuck: stuck.collect(),
        left: repaired.stuck.len(),
        also: repaired.layouts.also(),
        written: Vec::new(),
        failed: None,
        diffs,
    };
    if options.apply && !fixed.diffs.is_empty() {
        let written = write::write(&recorded.directory, &repaired.project, &project);
        let out = path.parent().unwrap_or(Path::new("."));
        // The files as they are now, checked as the user would.
        let found = written.and_then(|written| {
            fixed.written = written;
            recheck.in_place(out)
        });
        match found {
            Ok(found) => fixed.left = found.iter().filter(|finding| wanted(finding)).count(),
            Err(error) => fixed.failed = Some(format!("{error:#}")),
        }
    }
    Ok(fixed)
}

/// The run.json of a folder, or the path itself.
pub fn run_file(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join("run.json"),
        false => path.to_owned(),
    }
}

fn read(path: &Path) -> anyhow::Result<(PathBuf, Run)> {
    let path = run_file(path);
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "{}: RUN is the --out directory of `landfall check`, or its run.json",
            path.display()
        )
    })?;
    let run: Run = serde_json::from_str(&text)
        .with_context(|| format!("{}: not a run.json of `landfall check`", path.display()))?;
    if run.tool != "landfall" {
        bail!("{}: not a run.json of `landfall check`", path.display());
    }
    Ok((path, run))
}

/// `[fix]` of landfall.toml.
#[derive(Debug, Default)]
pub(crate) struct Settings {
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
