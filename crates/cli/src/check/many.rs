//! Ten thousand findings, and no time to tell them: all are listed, and what is done for each does not grow with their number.

use super::finding::Told;
use super::options::Check;
use super::report::Report;
use crate::args::{Args, Command};
use clap::Parser;
use landfall_native::Deadline;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Stores in one function: what clang does takes more than its share for large ones.
const TOGETHER: usize = 50;

/// Each store is overtaken by the next one, and each recovery looks at one of them.
fn program(findings: usize, threads: bool) -> String {
    let mut text = String::from(
        "#include <assert.h>\n#include <landfall.h>\n#include <pthread.h>\n\
         struct line { volatile long v; long pad[7]; };\n",
    );
    let _ = writeln!(text, "struct pm {{ struct line chosen, d[{findings}]; }};");
    let all: Vec<usize> = (0..findings).collect();
    for (part, numbers) in all.chunks(TOGETHER).enumerate() {
        let _ = writeln!(
            text,
            "static void look{part}(struct pm *p, long i) {{\n  switch (i) {{"
        );
        for i in numbers {
            let _ = writeln!(text, "  case {i}:\n    assert(p->d[{i}].v);\n    break;");
        }
        let _ = writeln!(text, "  }}\n}}\nstatic void fill{part}(struct pm *p) {{");
        for i in numbers {
            let _ = writeln!(text, "  p->d[{i}].v = 1;\n  p->chosen.v = {};", i + 1);
            text += "  lf_persist(&p->chosen, 8);\n";
            let _ = writeln!(text, "  lf_persist(&p->d[{i}], 8);");
        }
        text += "}\n";
    }
    text += "static void *nothing(void *unused) { return unused; }\n\
             int main(void) {\n  struct pm *p = lf_pm(sizeof *p);\n  if (lf_failures()) {\n    long i = p->chosen.v - 1;\n";
    let parts = findings.div_ceil(TOGETHER);
    for part in 0..parts {
        let _ = writeln!(
            text,
            "    if (i >= 0 && i / {TOGETHER} == {part}) look{part}(p, i);"
        );
    }
    text += "    return 0;\n  }\n";
    if threads {
        text += "  pthread_t t;\n  pthread_create(&t, 0, nothing, 0);\n  pthread_join(t, 0);\n";
    }
    for part in 0..parts {
        let _ = writeln!(text, "  fill{part}(p);");
    }
    text + "}\n"
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("landfall-many-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A check that may ask so often whether there is time left to tell what it found.
fn checked(name: &str, text: &str, questions: u64) -> (Report, serde_json::Value) {
    let here = folder(name);
    let source = here.join("many.c");
    std::fs::write(&source, text).unwrap();
    let out = here.join("out");
    let mut words: Vec<OsString> = ["landfall", "check", "--quiet", "--checks", "crash", "--out"]
        .map(Into::into)
        .to_vec();
    words.extend([out.clone().into(), source.into()]);
    let Command::Check(mut options) = Args::try_parse_from(words).unwrap().command else {
        unreachable!()
    };
    let ends = (Deadline::default(), Deadline::after(questions));
    options.counted = Some(Box::new(ends));
    let report = report(&mut options);
    let run = std::fs::read(out.join("run.json")).unwrap();
    let _ = std::fs::remove_dir_all(&here);
    (report, serde_json::from_slice(&run).unwrap())
}

fn report(options: &mut Check) -> Report {
    let claimed = options.claim();
    claimed
        .and_then(|_claimed| super::check(options, Instant::now()))
        .unwrap_or_else(|refusal| panic!("{}", refusal.why))
}

#[test]
fn ten_thousand_findings_are_told_without_time() {
    const QUESTIONS: u64 = 200;
    for (name, findings, threads) in [("alone", 10_000, false), ("threads", 1_000, true)] {
        let (report, run) = checked(name, &program(findings, threads), QUESTIONS);
        assert_eq!(report.findings.len(), findings);
        let messages: HashSet<&str> = report.findings.iter().map(|f| &*f.message).collect();
        assert_eq!(messages.len(), findings);
        let whole = report.findings.iter().filter(|f| f.told == Told::Whole);
        assert!((whole.count() as u64) < QUESTIONS);
        // Nothing is run without a look at the clock.
        let searched = report.behaviours as u64 + report.schedules + 2;
        assert!(report.runs <= searched + QUESTIONS, "{}", report.runs);
        let listed = run["findings"].as_array().unwrap();
        assert_eq!(listed.len(), findings);
        let told = |finding: &serde_json::Value| {
            let notes = finding["notes"].to_string();
            finding["minimised"] == true || notes.contains("not minimised")
        };
        assert!(listed.iter().all(told));
    }
}
