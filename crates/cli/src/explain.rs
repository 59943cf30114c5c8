//! `landfall explain`: what a finding means, with a program that shows it and the usual fix. The texts are pages of `docs/explain`.

use crate::exit::Exit;
use std::fmt::Write;

/// What a finding means, with a small example and the usual fix; without KIND, the list of kinds.
#[derive(clap::Args, Debug)]
pub(crate) struct Explain {
    /// The word in brackets: error[KIND]
    #[arg(value_name = "KIND")]
    kind: Option<String>,
}

macro_rules! pages {
    ($($kind:literal),* $(,)?) => {
        &[$(($kind, include_str!(concat!("../../../docs/explain/", $kind, ".md")))),*]
    };
}

/// Every kind of finding by its name, with its page.
const PAGES: &[(&str, &str)] = pages![
    "assertion",
    "segfault",
    "abort",
    "exit",
    "hang",
    "deadlock",
    "robustness",
    "persistency-race",
    "missing-snapshot",
    "uninitialised",
    "volatile-pointer",
    "data-race",
    "use-after-free",
    "double-free",
    "heap-overflow",
    "lock-misuse",
    "signal-unsafe",
    "client",
    "redundant-flush",
    "redundant-fence",
    "uncontrolled",
];

pub(crate) fn run(options: &Explain) -> Exit {
    let Some(kind) = &options.kind else {
        print!("{}", list());
        return Exit::Clean;
    };
    match page(kind) {
        Some(page) => {
            print!("{page}");
            Exit::Clean
        }
        None => {
            let near = PAGES
                .iter()
                .find(|(known, _)| known.starts_with(kind.as_str()) || kind.starts_with(known));
            let hint = near.map_or_else(String::new, |(known, _)| {
                format!(" (did you mean `{known}`?)")
            });
            eprintln!(
                "landfall: no kind of finding is called `{kind}`{hint}; `landfall explain` lists them"
            );
            Exit::Usage
        }
    }
}

/// `error[assertion]` is understood as it is printed.
fn page(kind: &str) -> Option<&'static str> {
    let inner = kind.split('[').nth(1).and_then(|k| k.strip_suffix(']'));
    let kind = inner.unwrap_or(kind);
    PAGES
        .iter()
        .find(|(known, _)| *known == kind)
        .map(|(_, page)| *page)
}

fn list() -> String {
    let mut out = String::new();
    for (kind, page) in PAGES {
        // `# kind: what it is`
        let title = page.lines().next().unwrap_or_default();
        let what = title.split_once(": ").map_or("", |(_, what)| what);
        let _ = writeln!(out, "  {kind:<18} {what}");
    }
    let _ = writeln!(
        out,
        "\n`landfall explain KIND` says more, with a program that shows it."
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_title_an_example_and_a_fix() {
        for (kind, page) in PAGES {
            assert!(page.starts_with(&format!("# {kind}: ")), "{kind}");
            for part in ["\n## Example\n", "\n```c", "\n## The usual fix\n"] {
                assert!(page.contains(part), "{kind}: no {part:?}");
            }
        }
    }

    #[test]
    fn every_kind_has_a_page() {
        let kinds = landfall::finding::Kind::ALL.iter().map(|kind| kind.name());
        let pages = PAGES.iter().map(|(kind, _)| *kind);
        assert_eq!(kinds.collect::<Vec<_>>(), pages.collect::<Vec<_>>());
    }

    #[test]
    fn kinds_are_found_as_they_are_printed() {
        assert_eq!(page("error[hang]"), page("hang"));
        assert!(page("hang").is_some());
        assert_eq!(page("hung"), None);
    }
}
