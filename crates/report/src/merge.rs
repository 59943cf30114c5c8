//! Several checks as one: for a page about all drivers of a project.

use landfall_finding::{RecoveryOutcome, Run, Sample, Scope, Stats, Verdict};

/// Findings are numbered anew, and say which command found them.
pub fn merge(runs: Vec<Run>) -> Run {
    let mut runs = runs.into_iter();
    let Some(first) = runs.next() else {
        return Run::default();
    };
    let mut rest = runs.peekable();
    if rest.peek().is_none() {
        return first;
    }
    let mut all = Run {
        tool: first.tool.clone(),
        version: first.version.clone(),
        verdict: Verdict::Clean,
        complete: true,
        ..Run::default()
    };
    let mut commands = Vec::new();
    for run in std::iter::once(first).chain(rest) {
        add(&mut all, run, &mut commands);
    }
    all.command = commands.join("\n");
    all
}

fn add(all: &mut Run, run: Run, commands: &mut Vec<String>) {
    // The worst of all.
    all.verdict = all.verdict.max(run.verdict);
    all.complete &= run.complete;
    for limit in run.limits {
        if !all.limits.contains(&limit) {
            all.limits.push(limit);
        }
    }
    for mut finding in run.findings {
        finding.id = format!("B{}", all.findings.len() + 1);
        if !run.command.is_empty() {
            finding
                .notes
                .insert(0, format!("found by: {}", run.command));
        }
        all.findings.push(finding);
    }
    for assumption in run.assumptions {
        if !all.assumptions.contains(&assumption) {
            all.assumptions.push(assumption);
        }
    }
    all.warnings.extend(run.warnings);
    all.scope = match (all.scope.take(), run.scope) {
        (Some(known), Some(new)) => Some(wider(known, new)),
        (known, new) => known.or(new),
    };
    outcomes(all, run.outcomes);
    progress(all, &run.progress);
    stats(&mut all.stats, &run.stats);
    for (file, lines) in run.coverage.0 {
        let known = all.coverage.0.entry(file).or_default();
        for (number, line) in lines {
            let sum = known.entry(number).or_default();
            sum.stores += line.stores;
            sum.flushes += line.flushes;
            sum.fences += line.fences;
            sum.cuts += line.cuts;
            sum.found = sum.found.max(line.found);
            sum.reads += line.reads;
            sum.values = sum.values.max(line.values);
        }
    }
    if !run.command.is_empty() {
        commands.push(run.command);
    }
}

fn wider(mut known: Scope, new: Scope) -> Scope {
    for check in new.checks {
        if !known.checks.contains(&check) {
            known.checks.push(check);
        }
    }
    known.failures = known.failures.max(new.failures);
    known
}

/// Adds how recoveries ended: equal ends become one, whatever the program.
fn outcomes(all: &mut Run, outcomes: Vec<RecoveryOutcome>) {
    for outcome in outcomes {
        let same = |known: &&mut RecoveryOutcome| {
            (&known.kind, &known.text) == (&outcome.kind, &outcome.text)
        };
        match all.outcomes.iter_mut().find(same) {
            Some(known) => {
                known.behaviours += outcome.behaviours;
                known.at.extend(outcome.at);
            }
            None => all.outcomes.push(outcome),
        }
    }
}

/// One search after the other.
fn progress(all: &mut Run, samples: &[Sample]) {
    let before = all.progress.last().cloned().unwrap_or_default();
    all.progress.extend(samples.iter().map(|sample| Sample {
        seconds: before.seconds + sample.seconds,
        runs: before.runs + sample.runs,
        behaviours: before.behaviours + sample.behaviours,
        nodes: sample.nodes,
        schedules: before.schedules + sample.schedules,
        // An estimate is about one search.
        estimate: None,
    }));
}

fn stats(all: &mut Stats, run: &Stats) {
    // One schedule is none to speak of.
    all.schedules += run.schedules.saturating_sub(1);
    all.cuts += run.cuts;
    all.runs += run.runs;
    all.behaviours += run.behaviours;
    all.events += run.events;
    all.seconds += run.seconds;
}

#[cfg(test)]
mod tests {
    use super::*;
    use landfall_finding::{Finding, Kind, Severity};

    fn run(verdict: Verdict, findings: usize, command: &str) -> Run {
        Run {
            verdict,
            complete: true,
            findings: vec![Finding::new(Kind::Exit, Severity::Error, "m"); findings],
            command: command.to_owned(),
            stats: Stats {
                runs: 3,
                ..Stats::default()
            },
            progress: vec![Sample {
                seconds: 1.0,
                runs: 3,
                ..Sample::default()
            }],
            ..Run::default()
        }
    }

    #[test]
    fn findings_are_numbered_and_the_worst_verdict_counts() {
        let all = merge(vec![
            run(Verdict::Clean, 0, "a"),
            run(Verdict::Findings, 2, "b"),
            run(Verdict::Incomplete, 1, "c"),
        ]);
        let ids: Vec<&str> = all.findings.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(
            (all.verdict, ids),
            (Verdict::Findings, vec!["B1", "B2", "B3"])
        );
        assert_eq!(all.findings[2].notes, ["found by: c"]);
        assert_eq!((all.stats.runs, all.command.as_str()), (9, "a\nb\nc"));
        assert_eq!(
            all.progress.last().map(|s| (s.seconds, s.runs)),
            Some((3.0, 9))
        );
    }

    #[test]
    fn one_alone_stays_as_it_is() {
        assert_eq!(
            merge(vec![run(Verdict::Clean, 1, "a")]),
            run(Verdict::Clean, 1, "a")
        );
    }
}
