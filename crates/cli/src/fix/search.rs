//! Tries repairs until the check is clean or nothing helps any more.

use super::finding::{Finding, Key};
use super::project::Project;
use super::recheck::{Checked, Recheck};

/// Checks of one call. A repair that needs more is none.
const MOST_CHECKS: u32 = 300;
/// Repairs that bring another finding to light are followed this far.
const DEEPEST: u32 = 3;

#[derive(Debug)]
pub(super) struct Search<'a> {
    recheck: &'a mut Recheck,
    template: Option<&'a str>,
    perf: bool,
    checks: u32,
}

#[derive(Debug)]
pub(super) struct Repaired {
    pub(super) project: Project,
    /// What was done, for people.
    pub(super) steps: Vec<String>,
    pub(super) stuck: Vec<Stuck>,
}

#[derive(Debug)]
pub(super) struct Stuck {
    pub(super) title: String,
    pub(super) why: String,
}

/// Sources and what the check says of them.
#[derive(Clone, Debug)]
struct State {
    project: Project,
    findings: Vec<Finding>,
    steps: Vec<String>,
}

impl State {
    fn keys(&self, original: &Project) -> Vec<Key> {
        self.findings
            .iter()
            .map(|f| f.key(&self.project, original))
            .collect()
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(recheck: &'a mut Recheck, template: Option<&'a str>, perf: bool) -> Self {
        Search {
            recheck,
            template,
            perf,
            checks: 0,
        }
    }

    /// `project` is kept as it is on disk; what comes back holds the patched texts.
    pub(super) fn repair(
        &mut self,
        project: &mut Project,
        findings: Vec<Finding>,
    ) -> anyhow::Result<Repaired> {
        let mut state = State {
            project: project.clone(),
            findings,
            steps: Vec::new(),
        };
        let mut stuck: Vec<(Key, Stuck)> = Vec::new();
        loop {
            let open = state.findings.iter().find(|finding| {
                let key = finding.key(&state.project, project);
                (self.perf || finding.severity != "perf")
                    && stuck.iter().all(|(known, _)| *known != key)
            });
            let Some(finding) = open.cloned() else {
                break;
            };
            match self.improve(project, &state, &finding, 0)? {
                Ok(better) => state = better,
                Err(why) => {
                    let key = finding.key(&state.project, project);
                    let title = finding.title(&state.project, project);
                    stuck.push((key, Stuck { title, why }));
                }
            }
        }
        // A later repair may have taken care of it.
        let left = state.keys(project);
        let stuck = stuck.into_iter().filter(|(key, _)| left.contains(key));
        Ok(Repaired {
            stuck: stuck.map(|(_, stuck)| stuck).collect(),
            project: state.project,
            steps: state.steps,
        })
    }

    /// The state after a repair of one finding that brings no other; or why there is none.
    fn improve(
        &mut self,
        original: &mut Project,
        state: &State,
        finding: &Finding,
        depth: u32,
    ) -> anyhow::Result<Result<State, String>> {
        let tasks = match finding.tasks() {
            Ok(tasks) => tasks,
            Err(why) => return Ok(Err(why)),
        };
        let target = finding.key(&state.project, original);
        let known = state.keys(original);
        let (mut refused, mut tried, mut revealing) = (None, 0, Vec::new());
        let mut offered = false;
        for task in &tasks {
            original.remember(&task.file);
            let candidates = match state.project.candidates(task, self.template) {
                Ok(candidates) => candidates,
                Err(why) => {
                    refused.get_or_insert(why);
                    continue;
                }
            };
            for (what, project) in candidates {
                if self.checks == MOST_CHECKS {
                    return Ok(Err(format!("gave up after {MOST_CHECKS} checks")));
                }
                self.checks += 1;
                offered = true;
                let findings = match self.recheck.with(&project)? {
                    Checked::Findings(findings) => findings,
                    Checked::NotBuilt | Checked::Unusable => continue,
                };
                tried += 1;
                let mut next = State {
                    project,
                    findings,
                    steps: state.steps.clone(),
                };
                let title = finding.title(&state.project, original);
                next.steps.push(format!("{title} gone: {what}"));
                let keys = next.keys(original);
                if keys.contains(&target) {
                    continue;
                }
                if keys.iter().all(|key| known.contains(key)) {
                    return Ok(Ok(next));
                }
                revealing.push(next);
            }
        }
        if depth < DEEPEST {
            for next in revealing.into_iter().take(2) {
                if let Some(better) = self.follow(original, next, &known, depth)? {
                    return Ok(Ok(better));
                }
            }
        }
        Ok(Err(match (tried, refused) {
            (0, Some(_)) if !offered && finding.is_order() => finding.no_flush_helps(),
            (0, Some(refused)) if !offered => refused,
            (0, _) => "no repair of it builds".to_owned(),
            (tried, _) => {
                let repairs = match tried {
                    1 => "one repair was tried, and the check does not pass with it".to_owned(),
                    n => format!("{n} repairs were tried, and the check passes with none of them"),
                };
                match finding.has_lost_store() {
                    true => format!("{repairs}: a flush is not all that is missing here"),
                    false => format!("{}; {repairs}", finding.no_flush_helps()),
                }
            }
        }))
    }

    /// Goes on from a repair that brought other findings to light, until none of those is left.
    fn follow(
        &mut self,
        original: &mut Project,
        mut state: State,
        known: &[Key],
        depth: u32,
    ) -> anyhow::Result<Option<State>> {
        loop {
            let new = state
                .findings
                .iter()
                .find(|finding| !known.contains(&finding.key(&state.project, original)));
            let Some(new) = new.cloned() else {
                return Ok(Some(state));
            };
            if new.is_order() {
                return Ok(None);
            }
            match self.improve(original, &state, &new, depth + 1)? {
                Ok(better) => state = better,
                Err(_) => return Ok(None),
            }
        }
    }
}
