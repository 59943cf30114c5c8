//! Tries repairs until the check is clean or nothing helps any more.

use crate::fix::finding::{Key, OpenFinding};
use crate::fix::layouts::Layouts;
use crate::fix::project::Project;
use crate::fix::recheck::{Checked, Recheck};

/// Checks of one call. A repair that needs more is none.
const MOST_CHECKS: u32 = 300;
/// Repairs that bring another finding to light are followed this far.
const DEEPEST: u32 = 3;

#[derive(Debug)]
pub(crate) struct RepairSearch<'a, 'r> {
    recheck: &'a mut Recheck<'r>,
    layouts: Layouts,
    template: Option<&'a str>,
    perf: bool,
    checks: u32,
}

#[derive(Debug)]
pub(crate) struct Repaired {
    pub(crate) project: Project,
    /// What was done, for people.
    pub(crate) steps: Vec<String>,
    pub(crate) stuck: Vec<StuckFinding>,
    /// What the patch was checked under besides the check as it was.
    pub(crate) layouts: Layouts,
}

#[derive(Debug)]
pub(crate) struct StuckFinding {
    pub(crate) title: String,
    pub(crate) why: String,
    /// It stays, since it is needed where blocks lie otherwise.
    needed: bool,
}

/// Sources and what the check says of them.
#[derive(Clone, Debug)]
struct Patched {
    project: Project,
    findings: Vec<OpenFinding>,
    steps: Vec<String>,
}

impl Patched {
    fn keys(&self, original: &Project) -> Vec<Key> {
        self.findings
            .iter()
            .map(|f| f.key(&self.project, original))
            .collect()
    }
}

impl<'a, 'r> RepairSearch<'a, 'r> {
    pub(crate) fn new(
        recheck: &'a mut Recheck<'r>,
        layouts: Layouts,
        template: Option<&'a str>,
        perf: bool,
    ) -> Self {
        RepairSearch {
            recheck,
            layouts,
            template,
            perf,
            checks: 0,
        }
    }

    /// `project` is kept as it is on disk; what comes back holds the patched texts.
    pub(crate) fn repair(
        &mut self,
        project: &mut Project,
        findings: Vec<OpenFinding>,
    ) -> anyhow::Result<Repaired> {
        let mut stuck: Vec<(Key, StuckFinding)> = Vec::new();
        // What is wrong with it as it is, however blocks lie.
        let (mut state, needed) = self.at_first(project, findings)?;
        if self.perf {
            stuck.extend(needed);
        }
        loop {
            let open = state.findings.iter().find(|finding| {
                let key = finding.key(&state.project, project);
                self.is_asked(finding) && stuck.iter().all(|(known, _)| *known != key)
            });
            let Some(finding) = open.cloned() else {
                break;
            };
            match self.improve(project, &state, &finding, 0)? {
                Ok(better) => state = better,
                Err(why) => {
                    let key = finding.key(&state.project, project);
                    let title = finding.title(&state.project, project);
                    let needed = false;
                    stuck.push((key, StuckFinding { title, why, needed }));
                }
            }
        }
        // A later repair may have taken care of it.
        let left = state.keys(project);
        let remains = |(key, stuck): &(Key, StuckFinding)| stuck.needed || left.contains(key);
        let stuck = stuck.into_iter().filter(remains);
        Ok(Repaired {
            layouts: self.layouts.clone(),
            stuck: stuck.map(|(_, stuck)| stuck).collect(),
            project: state.project,
            steps: state.steps,
        })
    }

    /// Flushes and fences that do nothing stay unless somebody asks.
    fn is_asked(&self, finding: &OpenFinding) -> bool {
        self.perf || !finding.is_perf()
    }

    /// The project as it is, with what the check finds of it however blocks lie; and what looks useless where they lie now and is
    /// not elsewhere.
    fn at_first(
        &mut self,
        project: &Project,
        findings: Vec<OpenFinding>,
    ) -> anyhow::Result<(Patched, Vec<(Key, StuckFinding)>)> {
        let state = |findings| Patched {
            project: project.clone(),
            findings,
            steps: Vec::new(),
        };
        if self.layouts.is_empty() {
            return Ok((state(findings), Vec::new()));
        }
        let Some(prepared) = self.recheck.prepare(project)? else {
            self.layouts.clear();
            return Ok((state(findings), Vec::new()));
        };
        let key = |finding: &OpenFinding| finding.key(project, project);
        let seen = (self.layouts).check_first(self.recheck, &prepared, findings, &key)?;
        let needed = seen.needed.iter().map(|(finding, moved)| {
            let stuck = StuckFinding {
                title: finding.title(project, project),
                why: Layouts::needed(*moved),
                needed: true,
            };
            (key(finding), stuck)
        });
        Ok((state(seen.findings), needed.collect()))
    }

    /// The state after a repair of one finding that brings no other; or why there is none.
    fn improve(
        &mut self,
        original: &mut Project,
        state: &Patched,
        finding: &OpenFinding,
        depth: u32,
    ) -> anyhow::Result<Result<Patched, String>> {
        let tasks = match finding.tasks() {
            Ok(tasks) => tasks,
            Err(why) => return Ok(Err(why)),
        };
        let target = finding.key(&state.project, original);
        let known = state.keys(original);
        let (mut refused, mut tried, mut revealing) = (None, 0, Vec::new());
        let (mut slower, mut by_luck) = (None, None);
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
                let Some(prepared) = self.recheck.prepare(&project)? else {
                    continue;
                };
                let Checked::Found(findings) = self.recheck.with(&prepared, None)? else {
                    continue;
                };
                tried += 1;
                let key = |finding: &OpenFinding| finding.key(&project, original);
                if findings.iter().any(|finding| key(finding) == target) {
                    continue;
                }
                let seen = match self
                    .layouts
                    .check(self.recheck, &prepared, findings, &key)?
                {
                    Ok(seen) => seen,
                    // Nothing to compare where blocks lie otherwise, though there was before.
                    Err(moved) => {
                        by_luck.get_or_insert(moved);
                        continue;
                    }
                };
                if let Some(again) = seen.findings.iter().find(|f| key(f) == target) {
                    by_luck = by_luck.or(again.moved);
                    continue;
                }
                let mut next = Patched {
                    findings: seen.findings,
                    steps: state.steps.clone(),
                    project,
                };
                let title = finding.title(&state.project, original);
                next.steps.push(format!("{title} gone: {what}"));
                let new = next
                    .findings
                    .iter()
                    .filter(|finding| !known.contains(&finding.key(&next.project, original)));
                let new: Vec<&OpenFinding> = new.collect();
                if new.is_empty() {
                    return Ok(Ok(next));
                }
                match new.iter().any(|finding| self.is_asked(finding)) {
                    true => revealing.push(next),
                    // Right, but something is flushed twice now: only if nothing else is right.
                    false => _ = slower.get_or_insert(next),
                }
            }
        }
        if let Some(slower) = slower {
            return Ok(Ok(slower));
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
                let repairs = match (tried, by_luck) {
                    (1, Some(moved)) => {
                        Layouts::holds_by_luck("one repair was tried: it holds", moved)
                    }
                    (n, Some(moved)) => Layouts::holds_by_luck(
                        &format!("{n} repairs were tried: the best holds"),
                        moved,
                    ),
                    (1, None) => {
                        "one repair was tried, and the check does not pass with it".to_owned()
                    }
                    (n, None) => {
                        format!("{n} repairs were tried, and the check passes with none of them")
                    }
                };
                match finding.has_lost_store() {
                    true => repairs,
                    false if finding.is_perf() => repairs,
                    false => format!("{}; {repairs}", finding.no_flush_helps()),
                }
            }
        }))
    }

    /// Goes on from a repair that brought other findings to light, until none of those is left.
    fn follow(
        &mut self,
        original: &mut Project,
        mut state: Patched,
        known: &[Key],
        depth: u32,
    ) -> anyhow::Result<Option<Patched>> {
        loop {
            let new = state.findings.iter().find(|finding| {
                self.is_asked(finding) && !known.contains(&finding.key(&state.project, original))
            });
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
