//! `landfall.toml` in the working directory: the options of `check`, by their long names. They come before what is typed, so that
//! the command line has the last word.

use clap::{Args, CommandFactory};
use std::ffi::OsString;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Value};

pub(crate) const FILE: &str = "landfall.toml";

/// A command line for the program `landfall check`, settings first.
pub(crate) fn with_settings(
    arguments: Vec<OsString>,
    directory: &Path,
) -> Result<Vec<OsString>, String> {
    let path = directory.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(arguments),
        Err(error) => return Err(format!("{FILE}: {error}")),
    };
    let settings = options(&text)?;
    let mut all = arguments;
    // After `landfall check`.
    let at = all.len().min(2);
    all.splice(at..at, settings);
    Ok(all)
}

fn options(text: &str) -> Result<Vec<OsString>, String> {
    let document: DocumentMut = text.parse().map_err(|e| format!("{FILE}: {e}"))?;
    let check = super::CheckArgs::augment_args(crate::args::Args::command());
    let known = |name: &str| {
        let argument = check.get_arguments().find(|a| a.get_long() == Some(name))?;
        Some(argument.get_action().takes_values())
    };
    let mut options = Vec::new();
    for (name, item) in document.iter() {
        // That table is for `landfall fix`.
        if name == "fix" && item.is_table_like() {
            continue;
        }
        let Some(takes_value) = known(name) else {
            return Err(format!(
                "{FILE}: no setting `{name}`: settings are the long options of `landfall check --help`"
            ));
        };
        let wrong = |wanted: &str| format!("{FILE}: `{name}` must be {wanted}");
        match (item, takes_value) {
            (Item::Value(Value::Boolean(on)), false) => {
                if *on.value() {
                    options.push(format!("--{name}").into());
                }
            }
            (_, false) => return Err(wrong("true or false")),
            (Item::Value(Value::Array(values)), true) => {
                for value in values {
                    let value = word(value).ok_or_else(|| wrong("a list of texts or numbers"))?;
                    options.push(format!("--{name}={value}").into());
                }
            }
            (Item::Value(value), true) => {
                let value = word(value).ok_or_else(|| wrong("a text or a number"))?;
                options.push(format!("--{name}={value}").into());
            }
            (_, true) => return Err(wrong("a text or a number")),
        }
    }
    Ok(options)
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_options() {
        let text =
            "failures = 2\npm-heap = true\nno-share = false\nallow = [\"exit\", \"hang:a.c\"]\n";
        let found = options(text).unwrap();
        assert_eq!(
            found,
            [
                "--failures=2",
                "--pm-heap",
                "--allow=exit",
                "--allow=hang:a.c"
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, said) in [
            ("failure = 2", "no setting `failure`"),
            ("pm-heap = 1", "`pm-heap` must be true or false"),
            ("failures = 1.5", "`failures` must be a text or a number"),
            ("failures", "landfall.toml"),
        ] {
            let error = options(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
