//! The best candidate for each finding, untried: for the report, which has no time to build and check it.

use crate::fix::Settings;
use crate::fix::finding::OpenFinding;
use crate::fix::project::Project;
use landfall_finding::{CheckRecord, Finding};

#[derive(Debug)]
pub(crate) struct Suggestions {
    project: Project,
    template: Option<String>,
}

impl Suggestions {
    pub(crate) fn open(recorded: &CheckRecord) -> anyhow::Result<Suggestions> {
        Ok(Suggestions {
            project: Project::open(recorded)?,
            template: Settings::read(&recorded.directory)?.template,
        })
    }

    /// What it does, and as a unified diff.
    pub(crate) fn first(&self, finding: &Finding) -> Option<(String, String)> {
        let tasks = OpenFinding::from(finding.clone()).tasks().ok()?;
        tasks.iter().find_map(|task| {
            let template = self.template.as_deref();
            let candidates = self.project.candidates(task, template).ok()?;
            let (what, patched) = candidates.into_iter().next()?;
            let old = self.project.text(&task.file).ok()?;
            let new = patched.text(&task.file).ok()?;
            Some((what, landfall_repair::unified_diff(&task.file, &old, &new)))
        })
    }
}
