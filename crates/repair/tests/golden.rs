//! Repairs every `tests/cases/NAME.c` and `.cc` and compares the proposals with `NAME.diff`. The first line of a case says what is
//! wanted:
//!
//! ```text
//! // durable [bytes=N] [line-only] [template=TEXT]     the stores at /*@*/, before the one at /*@before*/
//! // seen                                              what is read at /*@*/
//! // fence                                             after what is at /*@*/
//! // without flush|fence                               the call at /*@*/
//! // atomic                                            the store at /*@*/
//! // snapshot                                          the stores at /*@*/
//! // later                                             the store at /*@*/
//! // reset                                             the wait at the first /*@*/, called from the others in turn
//! ```
//!
//! A mark stands before the character that debug information would name, and is taken out first. `NAME.h`, if there is one, is a
//! header of the case. The best proposal has to compile without a warning. `BLESS=1` writes the `.diff` files.

use landfall_repair::{
    Place, SourceLanguage, StoredBytes, Unit, WantedRepair, WastedCall, apply, candidates,
    unified_diff,
};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(here().join("cases")).unwrap();
    let mut cases: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "c" || e == "cc"))
        .collect();
    cases.sort();
    assert!(cases.len() > 40, "{}", cases.len());
    cases
}

/// A source without its marks, and where they were.
struct Case {
    text: String,
    stores: Vec<Place>,
    before: Option<Place>,
    header: Option<String>,
    order: String,
    language: SourceLanguage,
}

impl Case {
    fn read(path: &Path) -> Case {
        let (mut text, mut stores, mut before) = (String::new(), Vec::new(), None);
        let marked = fs::read_to_string(path).unwrap();
        let mut rest = marked.as_str();
        while let Some((plain, mark)) = rest.split_once("/*@") {
            text.push_str(plain);
            let (name, after) = mark.split_once("*/").unwrap();
            let line_start = text.rfind('\n').map_or(0, |at| at + 1);
            let place = Place {
                line: text.matches('\n').count() as u32 + 1,
                column: (text.len() - line_start) as u32 + 1,
            };
            match name {
                "" => stores.push(place),
                "before" => before = Some(place),
                other => panic!("{}: mark `{other}`", path.display()),
            }
            rest = after;
        }
        text.push_str(rest);
        let order = text.lines().next().unwrap();
        let order = order.trim_start_matches('/').trim().to_owned();
        Case {
            order,
            text,
            stores,
            before,
            header: fs::read_to_string(path.with_extension("h")).ok(),
            language: match path.extension().is_some_and(|e| e == "c") {
                true => SourceLanguage::C,
                false => SourceLanguage::Cxx,
            },
        }
    }

    fn wanted(&self) -> (WantedRepair, Option<&str>) {
        let (order, template) = match self.order.split_once("template=") {
            Some((order, template)) => (order, Some(template.trim())),
            None => (self.order.as_str(), None),
        };
        let words: Vec<&str> = order.split_whitespace().collect();
        let at = |i: usize| {
            let mut place = self.stores[i];
            if words.contains(&"line-only") {
                place.column = 0;
            }
            place
        };
        let wanted = match words[..] {
            ["durable", ..] => {
                let bytes = words.iter().find_map(|w| w.strip_prefix("bytes="));
                let bytes = bytes.map_or(8, |b| b.parse().unwrap());
                WantedRepair::Durable {
                    stores: (0..self.stores.len())
                        .map(|i| StoredBytes { at: at(i), bytes })
                        .collect(),
                    before: self.before,
                }
            }
            ["seen"] => WantedRepair::Seen {
                read: at(0),
                bytes: 8,
            },
            ["snapshot"] => WantedRepair::Snapshot {
                stores: (0..self.stores.len()).map(at).collect(),
            },
            ["fence", ..] => WantedRepair::Fence {
                after: at(0),
                before: self.before,
            },
            ["without", "flush"] => WantedRepair::Without {
                call: at(0),
                wasted: WastedCall::Flush,
            },
            ["without", "fence"] => WantedRepair::Without {
                call: at(0),
                wasted: WastedCall::Fence,
            },
            ["atomic"] => WantedRepair::Atomic { store: at(0) },
            ["later"] => WantedRepair::Later { store: at(0) },
            ["reset"] => WantedRepair::Reset {
                stack: (0..self.stores.len()).map(at).collect(),
            },
            _ => panic!("`{}`", self.order),
        };
        (wanted, template)
    }

    /// What is proposed, and the file as the best proposal leaves it.
    fn repair(&self, name: &str) -> (String, Option<String>) {
        let headers: Vec<&str> = self.header.iter().map(String::as_str).collect();
        let unit = Unit {
            text: &self.text,
            language: self.language,
            headers: &headers,
        };
        let (wanted, template) = self.wanted();
        let mut out = String::new();
        match candidates(&unit, &wanted, template) {
            Err(refusal) => (format!("refused: {refusal}\n"), None),
            Ok(found) => {
                let patched = |edits| apply(&self.text, edits).expect("edits that fit together");
                for candidate in &found {
                    let diff = unified_diff(name, &self.text, &patched(&candidate.edits));
                    let _ = write!(out, "== {}\n{diff}", candidate.what);
                }
                (out, found.first().map(|c| patched(&c.edits)))
            }
        }
    }
}

#[test]
fn proposals_are_as_recorded() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = String::new();
    for path in cases() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (found, _) = Case::read(&path).repair(name);
        let recorded = path.with_extension("diff");
        let expected = fs::read_to_string(&recorded).unwrap_or_default();
        if found != expected && bless {
            fs::write(&recorded, &found).unwrap();
        } else if found != expected {
            let _ = writeln!(wrong, "--- {name}: expected\n{expected}--- found\n{found}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nBLESS=1 accepts what was found");
}

#[test]
fn the_best_proposal_compiles() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repaired");
    fs::create_dir_all(&scratch).unwrap();
    let mut wrong = String::new();
    for path in cases() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let case = Case::read(&path);
        if let Some(text) = case.repair(name).1 {
            let file = scratch.join(name);
            fs::write(&file, text).unwrap();
            let compiler = match case.language {
                SourceLanguage::C => "clang-19",
                SourceLanguage::Cxx => "clang++-19",
            };
            let output = Command::new(compiler)
                .args([
                    "-fsyntax-only",
                    "-Wall",
                    "-Werror",
                    "-Wno-unused-function",
                    "-mclwb",
                    "-mclflushopt",
                ])
                .arg("-I")
                .arg(here().join("include"))
                .arg("-I")
                .arg(here().join("cases"))
                .arg("-I")
                .arg(here().join("../../../include"))
                .arg(&file)
                .output()
                .unwrap();
            if !output.status.success() {
                let _ = writeln!(
                    wrong,
                    "--- {name}\n{}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whatever the place and however broken the file, there is an answer.
#[test]
fn every_place_of_every_file_gets_an_answer() {
    for path in cases() {
        let case = Case::read(&path);
        // Also with the file cut off somewhere, which no compiler would accept.
        for end in (1..=8).map(|part| case.text.len() * part / 8) {
            let end = (0..=end)
                .rev()
                .find(|&e| case.text.is_char_boundary(e))
                .unwrap();
            let text = &case.text[..end];
            let unit = Unit {
                text,
                language: case.language,
                headers: &[],
            };
            let first = text.lines().count().saturating_sub(8);
            for (line, number) in text.lines().zip(1..).skip(first) {
                for column in (0..=line.len() as u32 + 2).step_by(4) {
                    let at = Place {
                        line: number,
                        column,
                    };
                    let stores = vec![StoredBytes { at, bytes: 8 }];
                    for wanted in [
                        WantedRepair::Durable {
                            stores,
                            before: Some(at),
                        },
                        WantedRepair::Fence {
                            after: at,
                            before: None,
                        },
                        WantedRepair::Without {
                            call: at,
                            wasted: WastedCall::Flush,
                        },
                        WantedRepair::Atomic { store: at },
                    ] {
                        if let Ok(found) = candidates(&unit, &wanted, None) {
                            assert!(!found.is_empty());
                            for candidate in found {
                                assert!(
                                    apply(text, &candidate.edits).is_some(),
                                    "{}: {wanted:?}",
                                    path.display()
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
