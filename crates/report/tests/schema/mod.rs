//! As much of JSON Schema (draft 7) as the schemas here use. What it does not know it refuses, so that nothing is left unchecked by accident.

use serde_json::{Map, Value};

/// Everything that is wrong with a value, each with its path.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let root = schema;
    Check {
        root,
        found: &mut found,
    }
    .value(schema, value, "");
    found
}

struct Check<'a> {
    root: &'a Value,
    found: &'a mut Vec<String>,
}

/// Words that describe and do not restrict.
const WORDS: [&str; 9] = [
    "$schema",
    "$id",
    "title",
    "description",
    "default",
    "definitions",
    "format",
    "$comment",
    "examples",
];

impl Check<'_> {
    fn wrong(&mut self, path: &str, what: impl std::fmt::Display) {
        let path = if path.is_empty() { "/" } else { path };
        self.found.push(format!("{path}: {what}"));
    }

    fn value(&mut self, schema: &Value, value: &Value, path: &str) {
        let Some(rules) = schema.as_object() else {
            return;
        };
        if let Some(reference) = rules.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(reference.trim_start_matches('#'));
            let target = target.unwrap_or_else(|| panic!("no {reference}")).clone();
            return self.value(&target, value, path);
        }
        for (rule, wanted) in rules {
            self.rule(rules, rule, wanted, value, path);
        }
    }

    fn rule(
        &mut self,
        all: &Map<String, Value>,
        rule: &str,
        wanted: &Value,
        value: &Value,
        path: &str,
    ) {
        match rule {
            "type" => {
                let names: Vec<&str> = match wanted {
                    Value::String(name) => vec![name],
                    names => names
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter_map(Value::as_str)
                        .collect(),
                };
                if !names.iter().any(|name| is(name, value)) {
                    self.wrong(path, format_args!("{value} is no {}", names.join(" or ")));
                }
            }
            "enum" => {
                if !wanted.as_array().unwrap().contains(value) {
                    self.wrong(path, format_args!("{value} is none of {wanted}"));
                }
            }
            "const" => {
                if wanted != value {
                    self.wrong(path, format_args!("{value} is not {wanted}"));
                }
            }
            "allOf" => {
                for rules in wanted.as_array().unwrap() {
                    self.value(rules, value, path);
                }
            }
            "patternProperties" => {
                let numbers = wanted.get(NUMBER).expect("a pattern for numbers");
                for (name, part) in value.as_object().into_iter().flatten() {
                    if is_number(name) {
                        self.value(numbers, part, &format!("{path}/{name}"));
                    }
                }
            }
            "properties" => {
                for (name, rules) in wanted.as_object().unwrap() {
                    if let Some(part) = value.get(name) {
                        self.value(rules, part, &format!("{path}/{name}"));
                    }
                }
            }
            "required" => {
                for name in wanted.as_array().unwrap().iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        self.wrong(path, format_args!("no {name}"));
                    }
                }
            }
            "additionalProperties" => {
                let known = all.get("properties").and_then(Value::as_object);
                for (name, part) in value.as_object().into_iter().flatten() {
                    let numbers = all.contains_key("patternProperties");
                    if known.is_some_and(|known| known.contains_key(name))
                        || numbers && is_number(name)
                    {
                        continue;
                    }
                    match wanted {
                        Value::Bool(true) => {}
                        Value::Bool(false) => self.wrong(path, format_args!("unknown {name}")),
                        rules => self.value(rules, part, &format!("{path}/{name}")),
                    }
                }
            }
            "items" => {
                for (index, part) in value.as_array().into_iter().flatten().enumerate() {
                    self.value(wanted, part, &format!("{path}/{index}"));
                }
            }
            "anyOf" | "oneOf" => {
                let ways = wanted.as_array().unwrap();
                let fits = |rules: &&Value| {
                    let mut found = Vec::new();
                    let root = self.root;
                    Check {
                        root,
                        found: &mut found,
                    }
                    .value(rules, value, path);
                    found.is_empty()
                };
                let fitting = ways.iter().filter(fits).count();
                if fitting == 0 || rule == "oneOf" && fitting > 1 {
                    self.wrong(path, format_args!("{fitting} ways fit {value}"));
                }
            }
            "minimum" => {
                if value.as_f64() < wanted.as_f64() && value.is_number() {
                    self.wrong(path, format_args!("{value} is less than {wanted}"));
                }
            }
            "maximum" => {
                if value.as_f64() > wanted.as_f64() && value.is_number() {
                    self.wrong(path, format_args!("{value} is more than {wanted}"));
                }
            }
            "minItems" => {
                let items = value.as_array().map(|items| items.len() as u64);
                if items.is_some_and(|items| Some(items) < wanted.as_u64()) {
                    self.wrong(path, format_args!("fewer than {wanted}"));
                }
            }
            "uniqueItems" => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                let again = |(at, item): (usize, &Value)| items[..at].contains(item);
                if *wanted == Value::Bool(true) && items.iter().enumerate().any(again) {
                    self.wrong(path, "something is there twice");
                }
            }
            // Patterns of the SARIF schema restrict parts (GUIDs, languages, versions) that are not written here.
            "pattern" => self.wrong(path, format_args!("pattern {wanted} is not understood")),
            word if WORDS.contains(&word) => {}
            other => panic!("a schema with `{other}`"),
        }
    }
}

/// The one pattern for names that is understood.
const NUMBER: &str = "^\\d+$";

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        other => panic!("a type `{other}`"),
    }
}
