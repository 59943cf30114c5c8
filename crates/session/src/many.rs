//! Ten thousand findings, and no time to tell them: all are listed, and what is done for each does not grow with their number.

use crate::check::checked;
use crate::options::{CheckKind, Options, Target};
use landfall_finding::{Finding, Kind, Run};
use landfall_native::Deadline;
use std::collections::HashSet;
use std::fmt::Write;
use std::path::PathBuf;

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

/// A check that may ask so often whether there is time left to tell what it found; and what it wrote.
fn told(name: &str, text: &str, questions: u64) -> (Run, Run) {
    let here = folder(name);
    std::fs::write(here.join("many.c"), text).unwrap();
    let options = Options {
        checks: vec![CheckKind::Crash],
        directory: Some(here.clone()),
        ..Options::default()
    };
    let ends = (Deadline::default(), Deadline::after(questions));
    let run = checked(&Target::sources(["many.c"]), &options, &mut (), Some(ends));
    let (_, written) = crate::read_run(&here.join("landfall-out")).unwrap();
    let _ = std::fs::remove_dir_all(&here);
    (run.unwrap(), written)
}

#[test]
fn ten_thousand_findings_are_told_without_time() {
    const QUESTIONS: u64 = 200;
    for (name, findings, threads) in [("alone", 10_000, false), ("threads", 1_000, true)] {
        let (run, written) = told(name, &program(findings, threads), QUESTIONS);
        assert_eq!(run.findings.len(), findings);
        let messages: HashSet<&str> = run.findings.iter().map(|f| &*f.message).collect();
        assert_eq!(messages.len(), findings);
        let whole = run.findings.iter().filter(|f| f.minimised);
        assert!((whole.count() as u64) < QUESTIONS);
        // Nothing is run without a look at the clock.
        let searched = run.stats.behaviours + run.stats.schedules + 2;
        assert!(run.stats.runs <= searched + QUESTIONS, "{}", run.stats.runs);
        assert_eq!(written.findings.len(), findings);
        let says = |finding: &Finding| {
            let mut notes = finding.notes.iter();
            finding.minimised || notes.any(|note| note.contains("not minimised"))
        };
        assert!(written.findings.iter().all(says));
    }
}

/// No checker has a most.
#[test]
fn hundreds_of_wasted_flushes_are_all_told() {
    const WASTED: usize = 250;
    let here = folder("flushes");
    let text = format!(
        "#include <landfall.h>\nint main(void) {{\n  volatile long *p = lf_pm(64);\n  if (lf_failures()) return (int)(p[0] * 0);\n  \
         p[0] = 1;\n  lf_persist((void *)p, 8);\n{}}}\n",
        "  lf_persist((void *)p, 8);\n".repeat(WASTED)
    );
    std::fs::write(here.join("many.c"), text).unwrap();
    let options = Options {
        checks: vec![CheckKind::Flushes],
        directory: Some(here.clone()),
        ..Options::default()
    };
    let run = checked(&Target::sources(["many.c"]), &options, &mut (), None).unwrap();
    let _ = std::fs::remove_dir_all(&here);
    let wasted = run.findings.iter();
    let wasted = wasted.filter(|finding| finding.kind == Kind::RedundantFlush);
    assert_eq!(wasted.count(), WASTED);
}
