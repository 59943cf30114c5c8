//! Stores inside macros: what a macro of this file or its headers stores to, in the words of its caller.

use crate::address::StoreTarget;
use crate::calls;
use crate::source::{ParsedSource, Unit, walk};
use crate::{NoRepair, store};

/// The target of a macro call's only store. None if there is no such macro.
pub(crate) fn target(
    source: &ParsedSource<'_>,
    name: &str,
    call: tree_sitter::Node<'_>,
) -> Result<Option<StoreTarget>, NoRepair> {
    let Some((parameters, body)) = definition(source, name) else {
        return Ok(None);
    };
    let arguments: Vec<String> = calls::arguments(call)
        .into_iter()
        .map(|a| source.of(a).to_owned())
        .collect();
    if parameters.len() != arguments.len() {
        return Err(NoRepair::UnknownCall(name.to_owned()));
    }
    let used_twice = |argument: &String| {
        argument.contains("++")
            || argument.contains("--")
            || argument.contains('(') && !argument.contains("sizeof")
    };
    let body = body.replace("\\\r\n", " ").replace("\\\n", " ");
    // A function around it makes statements of it.
    let head = "void m(void) { ";
    let text = format!("{head}{body}; }}");
    let unit = Unit {
        text: &text,
        language: source.language,
        headers: &[],
    };
    let inner = ParsedSource::read(&unit);
    let mut targets: Vec<StoreTarget> = Vec::new();
    for node in walk(inner.root()) {
        let place = node.start_position();
        let at = crate::Place {
            line: 1,
            column: place.column as u32 + 1,
        };
        let left = match node.kind() {
            "assignment_expression" => node.child_by_field_name("left"),
            "update_expression" => node.child_by_field_name("argument"),
            "call_expression" if calls::storing(&inner, node).is_some() => {
                targets.extend(calls::storing(&inner, node).map(|s| s.target));
                None
            }
            _ => None,
        };
        // Of locals of the macro nothing is left afterwards.
        let local =
            left.is_some_and(|l| l.kind() == "identifier" && !parameters.contains(&inner.of(l)));
        if left.is_some() && !local {
            let found = store::find(&inner, at, 0)?;
            if found.node == node || found.node.byte_range() == node.byte_range() {
                targets.push(found.target);
            } else if let Some(left) = left
                && let crate::address::Lasting::Yes(target) =
                    crate::address::of_lvalue(&inner, left, node, 0)?
            {
                targets.push(target);
            }
        }
    }
    targets.dedup();
    let [target] = &targets[..] else {
        return Err(match targets.is_empty() {
            true => NoRepair::UnknownCall(name.to_owned()),
            false => NoRepair::ManyStores(name.to_owned()),
        });
    };
    let mentioned = |parameter: &str| words(&target.address).any(|w| w == parameter);
    for (parameter, argument) in parameters.iter().zip(&arguments) {
        if mentioned(parameter) && used_twice(argument) {
            return Err(NoRepair::NoAddress(format!(
                "`{argument}` would be evaluated twice"
            )));
        }
    }
    let fill = |text: &str| substitute(text, &parameters, &arguments);
    Ok(Some(StoreTarget {
        address: fill(&target.address),
        size: fill(&target.size),
        word: target.word,
    }))
}

/// The parameters and the body of a function-like macro.
fn definition<'a>(source: &ParsedSource<'a>, name: &str) -> Option<(Vec<&'a str>, &'a str)> {
    source.everything().find_map(|(root, text)| {
        let node = walk(root).find(|n| {
            n.kind() == "preproc_function_def"
                && n.child_by_field_name("name")
                    .is_some_and(|n| &text[n.byte_range()] == name)
        })?;
        let parameters = node.child_by_field_name("parameters")?;
        let parameters = walk(parameters)
            .filter(|n| n.kind() == "identifier")
            .map(|n| &text[n.byte_range()])
            .collect();
        let body = node.child_by_field_name("value")?;
        Some((parameters, &text[body.byte_range()]))
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Parameters become arguments; parentheses that the macro needed and its caller does not are dropped.
fn substitute(text: &str, parameters: &[&str], arguments: &[String]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match parameters.iter().position(|p| *p == word) {
            Some(i) => {
                let simple = arguments[i]
                    .chars()
                    .all(|c| is_word(c) || ".->[]".contains(c));
                if simple
                    && out.ends_with('(')
                    && after.starts_with(')')
                    && !out.ends_with("sizeof(")
                {
                    out.pop();
                    out.push_str(&arguments[i]);
                    rest = &after[1..];
                    continue;
                }
                out.push_str(&arguments[i]);
            }
            None => out.push_str(word),
        }
        let mut chars = after.chars();
        out.extend(chars.next());
        rest = chars.as_str();
    }
    out
}
