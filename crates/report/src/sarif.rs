//! SARIF 2.1.0, for code-scanning views. The few structures needed are written out here: the crates for it are abandoned.

use landfall_finding::{Finding, Kind, Place, Run, Severity, StoreRole};
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The findings as SARIF.
pub fn sarif(run: &Run) -> String {
    let rules: Vec<Value> = Kind::ALL
        .iter()
        .map(|kind| {
            let (id, text) = (kind.name(), kind.meaning());
            let help = format!("`landfall explain {id}` says more, with a program that shows it.");
            json!({"id": id, "shortDescription": {"text": text}, "help": {"text": help}})
        })
        .collect();
    let results: Vec<Value> = run.findings.iter().map(result).collect();
    let notes: Vec<Value> = run
        .warnings
        .iter()
        .map(|text| json!({"level": "warning", "message": {"text": text}}))
        .chain(run.limits.iter().map(|limit| {
            json!({"level": "warning", "message": {"text": format!("the search was ended by a limit: {limit}")}})
        }))
        .collect();
    let mut invocation = json!({
        "executionSuccessful": true,
        "toolExecutionNotifications": notes,
    });
    if !run.command.is_empty() {
        invocation["commandLine"] = json!(run.command);
    }
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "Landfall", "version": run.version, "rules": rules}},
            "invocations": [invocation],
            "results": results,
            "columnKind": "utf16CodeUnits",
        }],
    });
    format!("{log:#}\n")
}

fn result<'a>(found: &'a Finding) -> Value {
    let level = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Perf => "note",
    };
    // The place to look at first is where the repair goes; where it was noticed is the other side of the story.
    let lost = found.lost();
    let primary = lost
        .and_then(|store| store.at.as_ref())
        .or(found.at.as_ref())
        .or(found.crash_at.as_ref());
    let mut related = Vec::new();
    let mut told: Vec<&Place> = primary.into_iter().collect();
    let mut relate = |at: Option<&'a Place>, text: &str| {
        if let Some(at) = at.filter(|at| !told.contains(at)) {
            told.push(at);
            let mut place = location(at);
            place["id"] = json!(related.len() + 1);
            place["message"] = json!({"text": text});
            related.push(place);
        }
    };
    for store in &found.stores {
        let text = match store.role {
            StoreRole::Kept if store.is_acknowledgement() => "the world outside is told here",
            StoreRole::Kept => "this later store reached persistent memory",
            StoreRole::Lost => "this earlier store was lost",
            StoreRole::Racing => "another store of this story",
            StoreRole::Unadded => "nothing added this to its transaction",
        };
        relate(store.at.as_ref(), text);
    }
    relate(found.crash_at.as_ref(), "the power failed here");
    relate(found.at.as_ref(), "noticed here");
    // A view shows related places that the message links to. `](` would be a link.
    let mut text = found.message.replace("](", "]\\(");
    for place in &related {
        let (id, said) = (
            &place["id"],
            place["message"]["text"].as_str().unwrap_or_default(),
        );
        text.push_str(&format!("\n[{said}]({id})"));
    }
    for fix in &found.fix {
        text.push_str(&format!("\nFix: {}", fix.sentence()));
    }
    if let Some(witness) = &found.witness {
        text.push_str(&format!("\nReplay: landfall replay {witness}"));
    }
    let mut result = json!({
        "ruleId": found.kind,
        "level": level,
        "message": {"text": text},
        "locations": primary.map(location).into_iter().collect::<Vec<_>>(),
        "relatedLocations": related,
        "partialFingerprints": {"landfall/v1": fingerprint(found, primary)},
        "properties": {"executions": found.executions, "id": found.id},
    });
    // As a path to follow: what was lost, what was kept, where the power failed, where it was noticed.
    let steps: Vec<Value> = primary
        .map(|at| {
            let mut first = location(at);
            let said = match lost.is_some() {
                true => "this store did not reach persistent memory",
                false => "here",
            };
            first["message"] = json!({"text": said});
            first
        })
        .into_iter()
        .chain(related.iter().cloned())
        .map(|location| json!({"location": location}))
        .collect();
    if steps.len() > 1 {
        result["codeFlows"] = json!([{"threadFlows": [{"locations": steps}]}]);
    }
    let index = Kind::ALL.iter().position(|&kind| kind == found.kind);
    result["ruleIndex"] = json!(index);
    result
}

/// What stays of a finding from run to run of one program, whatever moved around it.
fn fingerprint(found: &Finding, at: Option<&Place>) -> String {
    let (file, function) = at.map_or(("", ""), |at| (&at.file, &at.function));
    format!("{}:{file}:{function}", found.kind)
}

fn location(at: &Place) -> Value {
    let mut region = json!({"startLine": at.line.max(1)});
    if at.column > 0 {
        region["startColumn"] = json!(at.column);
    }
    let mut location = json!({
        "physicalLocation": {"artifactLocation": {"uri": uri(&at.file)}, "region": region},
    });
    if !at.function.is_empty() {
        location["logicalLocations"] = json!([{"name": at.function, "kind": "function"}]);
    }
    location
}

/// A path as a URI reference: relative ones stay relative, so that a code-scanning view finds them in the repository.
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("src/a b.c"), "src/a%20b.c");
        assert_eq!(uri("/tmp/ü.c"), "file:///tmp/%C3%BC.c");
    }
}
