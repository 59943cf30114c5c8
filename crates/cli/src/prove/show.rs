//! How answers are printed.

use super::{ProveArgs, exit};
use crate::exit::Exit;
use crate::screen::plain;
use landfall::{Answers, ProofRound, PropertyAnswer};
use landfall_prove::encode::CrashEncoding;
use landfall_prove::prove::ProofVerdict;
use landfall_prove::witness::{Fate, Refutation};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

fn word(answer: &PropertyAnswer) -> &'static str {
    match answer.verdict {
        _ if answer.is_bounded() => "bounded",
        ProofVerdict::Proved => "proved",
        ProofVerdict::Refuted(_) => "refuted",
        ProofVerdict::Unknown(_) => "unknown",
        ProofVerdict::Nothing => "nothing",
    }
}

pub(super) fn human(file: &str, all: &Answers, verbose: bool) -> String {
    let mut out = String::new();
    if let Some(refusal) = &all.refusal {
        let place = match &refusal.place {
            Some(place) => place.to_string(),
            None => file.to_owned(),
        };
        let _ = writeln!(out, "{}: unknown: {}", plain(&place), plain(&refusal.what));
    }
    for answer in &all.answers {
        let PropertyAnswer {
            property,
            verdict,
            sizes,
            took,
            limits,
            unroll,
            native,
        } = answer;
        let _ = match verdict {
            _ if answer.is_bounded() => writeln!(
                out,
                "{file}: {property}: bounded, holds as far as loops were followed ({unroll} rounds); some execution goes further:"
            ),
            ProofVerdict::Nothing if *property == "robust" => {
                writeln!(
                    out,
                    "{file}: {property}: nothing to prove, no recovery reads"
                )
            }
            ProofVerdict::Nothing => writeln!(
                out,
                "{file}: {property}: nothing to prove, nothing is forbidden"
            ),
            ProofVerdict::Unknown(why) => writeln!(out, "{file}: {property}: unknown, {why}"),
            _ => writeln!(out, "{file}: {property}: {}", word(answer)),
        };
        if answer.is_bounded() {
            for limit in limits {
                let _ = writeln!(out, "  {}", plain(limit));
            }
        }
        if let ProofVerdict::Refuted(witness) = verdict {
            for line in witness.to_string().lines() {
                let _ = writeln!(out, "  {}", plain(line));
            }
        }
        match native {
            Some(Ok(file)) => {
                let file = plain(&file.to_string_lossy());
                let _ = writeln!(out, "  seen in a native run: landfall replay {file}");
            }
            Some(Err(why)) => {
                let _ = writeln!(out, "  not seen in a native run: {}", plain(why));
            }
            None => {}
        }
        if verbose && sizes.questions > 0 {
            let _ = writeln!(
                out,
                "  {} events, {} variables, {} clauses, {} edges; {} conflicts, {} by the theory; {:.3} s",
                sizes.events,
                sizes.variables,
                sizes.clauses,
                sizes.fixed_edges + sizes.guarded_edges,
                sizes.effort.conflicts,
                sizes.effort.theory.conflicts,
                took.as_secs_f64()
            );
        }
    }
    let rests_on = |a: &PropertyAnswer| matches!(a.verdict, ProofVerdict::Proved);
    if all.answers.iter().any(rests_on) && !all.assumptions.is_empty() {
        let _ = writeln!(out, "assuming that");
        for assumption in &all.assumptions {
            let _ = writeln!(out, "  - {}", plain(assumption));
        }
    }
    match &all.certificate {
        Some(Ok(folder)) => {
            let folder = plain(&folder.to_string_lossy());
            let _ = writeln!(out, "certificate: landfall verify {folder}");
        }
        Some(Err(why)) => {
            let _ = writeln!(out, "no certificate: {}", plain(why));
        }
        None => {}
    }
    if verbose && all.rounds.len() + usize::from(all.refusal.is_some()) > 0 {
        for round in &all.rounds {
            let _ = writeln!(
                out,
                "  loops up to {}: {} events; following {:.3} s, searching {:.3} s, bounds {:.3} s",
                round.unroll,
                round.events,
                round.translating.as_secs_f64(),
                round.searching.as_secs_f64(),
                round.bounding.as_secs_f64()
            );
        }
    }
    out
}

pub(super) fn machine(file: &str, args: &ProveArgs, answers: &Answers) -> String {
    let overall = match exit(answers) {
        Exit::Findings => "refuted",
        Exit::Limit if is_bounded(answers) => "bounded",
        Exit::Limit => "unknown",
        Exit::Clean => "proved",
        _ => "nothing",
    };
    let properties: Vec<Value> = answers.answers.iter().map(one).collect();
    let mut answer = json!({
        "tool": "landfall",
        "version": env!("CARGO_PKG_VERSION"),
        "file": file,
        "verdict": overall,
        "crash": CrashEncoding::from(args.crash).name(),
        "properties": properties,
        "assumptions": answers.assumptions,
        "rounds": answers.rounds.iter().map(round).collect::<Vec<_>>(),
    });
    match &answers.certificate {
        Some(Ok(folder)) => answer["certificate"] = json!(folder.to_string_lossy()),
        Some(Err(why)) => answer["no_certificate"] = json!(why),
        None => {}
    }
    let natively = answers.answers.iter().find_map(|a| a.native.as_ref());
    seen(&mut answer, natively);
    if let Some(refusal) = &answers.refusal {
        answer["refused"] = json!({
            "what": refusal.what,
            "place": refusal.place.as_ref().map(|place| json!({"file": place.file, "line": place.line, "column": place.column})),
        });
    }
    format!("{answer:#}\n")
}

/// Nothing is wrong or undecided but how far loops go.
fn is_bounded(answers: &Answers) -> bool {
    let unknown = |a: &PropertyAnswer| matches!(a.verdict, ProofVerdict::Unknown(_));
    answers.refusal.is_none() && !answers.answers.iter().any(unknown)
}

fn round(round: &ProofRound) -> Value {
    json!({
        "unroll": round.unroll,
        "events": round.events,
        "seconds": {
            "following": round.translating.as_secs_f64(),
            "searching": round.searching.as_secs_f64(),
            "bounds": round.bounding.as_secs_f64(),
        },
    })
}

fn one(answer: &PropertyAnswer) -> Value {
    let (sizes, theory) = (&answer.sizes, &answer.sizes.effort.theory);
    let mut value = json!({
        "property": answer.property,
        "verdict": word(answer),
        "bounds": answer.limits,
        "unroll": answer.unroll,
        "stats": {
            "events": sizes.events,
            "variables": sizes.variables,
            "clauses": sizes.clauses,
            "edges": sizes.fixed_edges + sizes.guarded_edges,
            "questions": sizes.questions,
            "conflicts": sizes.effort.conflicts,
            "theory": {
                "edges": theory.edges,
                "conflicts": theory.conflicts,
                "propagations": theory.propagations,
                "explanations": theory.explanations,
            },
            "seconds": answer.took.as_secs_f64(),
        },
    });
    match &answer.verdict {
        ProofVerdict::Unknown(why) => value["why"] = json!(why),
        ProofVerdict::Refuted(witness) => value["witness"] = graph(witness),
        _ => {}
    }
    seen(&mut value, answer.native.as_ref());
    value
}

/// How to see a refutation run, or why it cannot be.
fn seen(value: &mut Value, natively: Option<&Result<PathBuf, String>>) {
    match natively {
        Some(Ok(file)) => value["replay"] = json!(file.to_string_lossy()),
        Some(Err(why)) => value["not_replayed"] = json!(why),
        None => {}
    }
}

fn graph(witness: &Refutation) -> Value {
    let steps = witness.steps.iter().map(|step| {
        json!({
            "event": step.event.0,
            "thread": witness.threads[step.thread.index()],
            "text": step.label,
            "read": step.read.map(|(value, source)| json!({"value": value as i64, "from": source.map(|e| e.0)})),
            "written": step.written.map(|value| value as i64),
            "fate": match step.fate {
                Fate::Passed => None,
                Fate::Survived => Some("survived"),
                Fate::Lost => Some("lost"),
            },
            "before_failure": step.before_failure,
        })
    });
    let found = witness.found.iter().map(|found| {
        json!({"name": found.name, "value": found.value as i64, "from": found.source.map(|e| e.0)})
    });
    let pairs = |pairs: &[(u32, u32)]| json!(pairs);
    let coherence: Vec<(u32, u32)> = witness.coherence.iter().map(|(a, b)| (a.0, b.0)).collect();
    json!({
        "broken": witness.broken,
        "inputs": witness.inputs.iter().map(|(name, value)| json!({"name": name, "value": *value as i64})).collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
        "co": pairs(&coherence),
        "flushed": witness.flushed.iter().map(|(flush, line)| json!({"event": flush.0, "line": line.0})).collect::<Vec<_>>(),
        "found": found.collect::<Vec<_>>(),
        "failed": witness.failed,
    })
}
