//! Small random C programs, of two or three threads, get the same verdicts from `landfall prove` and from `landfall check`: whether an
//! assertion about what a power failure left can fail, and whether they are robust. What prove refutes is seen in a native run.
//!
//! `RANDOM_PROGRAMS=300` tries more of them, `RANDOM_SEED=7` others. A program that differs is left in the temporary directory.

use crate::certificates::verified;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

struct Writer {
    random: Random,
    variables: Vec<&'static str>,
    swaps: usize,
}

impl Writer {
    fn variable(&mut self) -> &'static str {
        self.variables[self.random.below(self.variables.len())]
    }

    fn statement(&mut self, nested: bool) -> String {
        let (v, n) = (self.variable(), 1 + self.random.below(2));
        match self.random.below(100) {
            0..22 => format!("atomic_store_explicit(&m->{v}, {n}, memory_order_release);"),
            22..30 => format!("_mm_stream_si64((long long *)&m->{v}, {n});"),
            30..40 => format!("atomic_store(&m->{v}, {n});"),
            40..50 => format!("atomic_fetch_add(&m->{v}, 1);"),
            50..58 => {
                self.swaps += 1;
                let (s, old) = (self.swaps, self.random.below(2));
                format!("long e{s} = {old}; atomic_compare_exchange_strong(&m->{v}, &e{s}, {n});")
            }
            58..70 => format!("_mm_clflush((void *)&m->{v});"),
            70..78 => format!("_mm_clflushopt((void *)&m->{v});"),
            78..84 => "_mm_sfence();".to_owned(),
            84..88 => "_mm_mfence();".to_owned(),
            88..96 if !nested => {
                let inner = self.statements(1, 2);
                format!(
                    "if (atomic_load_explicit(&m->{v}, memory_order_acquire) == {n}) {{ {inner} }}"
                )
            }
            96.. if !nested => {
                let inner = self.statements(1, 2);
                format!("pthread_mutex_lock(&lock); {inner} pthread_mutex_unlock(&lock);")
            }
            _ => "_mm_sfence();".to_owned(),
        }
    }

    /// Some, inside of another.
    fn statements(&mut self, least: usize, most: usize) -> String {
        let count = least + self.random.below(most - least + 1);
        let all: Vec<String> = (0..count).map(|_| self.statement(true)).collect();
        all.join(" ")
    }

    fn body(&mut self, least: usize, most: usize) -> String {
        let count = least + self.random.below(most - least + 1);
        (0..count).fold(String::new(), |body, _| {
            body + "  " + &self.statement(false) + "\n"
        })
    }
}

fn program(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..9).for_each(|_| _ = random.below(2));
    let variables = ["a", "b", "c", "d"][..3 + random.below(2)].to_vec();
    let mut writer = Writer {
        random,
        variables,
        swaps: 0,
    };
    let mut text = String::from(
        "#include <assert.h>\n#include <immintrin.h>\n#include <landfall.h>\n#include <pthread.h>\n#include <stdatomic.h>\nstruct memory {\n",
    );
    for (number, v) in writer.variables.clone().into_iter().enumerate() {
        let apart = number == 0 || writer.random.chance(60);
        let align = if apart { "_Alignas(64) " } else { "" };
        let _ = writeln!(text, "  {align}_Atomic long {v};");
    }
    text += "};\nstatic struct memory *m;\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic volatile long sink;\n";
    let threads = 1 + writer.random.below(2);
    for t in 1..=threads {
        let body = writer.body(2, 4 - usize::from(threads > 1));
        let _ = writeln!(text, "static void *t{t}(void *u) {{\n{body}  return u;\n}}");
    }
    text += "int main(void) {\n  m = lf_pm(sizeof *m);\n  if (lf_failures() > 0) {\n#ifdef SEE\n";
    for v in writer.variables.clone() {
        let _ = writeln!(text, "    sink = m->{v};");
    }
    let conditions: Vec<String> = (0..1 + writer.random.below(3))
        .map(|_| format!("m->{} == {}", writer.variable(), writer.random.below(3)))
        .collect();
    let bad = conditions.join(" && ");
    let _ = writeln!(
        text,
        "#else\n    assert(!({bad}));\n#endif\n    return 0;\n  }}"
    );
    text += "  pthread_t p[3];\n";
    for t in 1..=threads {
        let _ = writeln!(text, "  pthread_create(&p[{t}], NULL, t{t}, NULL);");
    }
    text += &writer.body(2, 3);
    for t in 1..=threads {
        let _ = writeln!(text, "  pthread_join(p[{t}], NULL);");
    }
    text += &writer.body(0, 2);
    text + "  (void)lock, (void)sink;\n  return 0;\n}\n"
}

pub(crate) fn json(arguments: &[&str], directory: &Path) -> Value {
    let output = Command::new(LANDFALL)
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("landfall runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {text}"))
}

/// What is different about a program, if something is.
fn difference(name: &str, directory: &Path) -> Option<String> {
    let failing = ["assertion", "deadlock"].as_slice();
    let questions = [
        ("invariant", "crash", "-DFAIL", failing),
        ("robust", "robustness", "-DSEE", &["robustness"]),
    ];
    for (property, checks, flag, kinds) in questions {
        let rest = [
            "--format",
            "json",
            "--out",
            "out",
            "-mclflushopt",
            flag,
            name,
        ];
        let proved = json(
            &[
                &["prove", "--alike", "stores", "--property", property],
                &["--certificate", "certificate"][..],
                &rest[..],
            ]
            .concat(),
            directory,
        );
        if let Err(why) = verified(&proved, &directory.join("certificate")) {
            return Some(format!("{property}: {why}"));
        }
        let checked = json(
            &[&["check", "--checks", checks], &rest[..]].concat(),
            directory,
        );
        let findings = checked["findings"].as_array().cloned().unwrap_or_default();
        let found = findings
            .iter()
            .any(|finding| kinds.contains(&finding["kind"].as_str().unwrap_or_default()));
        let answer = &proved["properties"][0];
        let refuted = match answer["verdict"].as_str() {
            Some("refuted") => true,
            Some("proved" | "nothing") => false,
            other => return Some(format!("{property}: {other:?}")),
        };
        if refuted != found || checked["complete"] != true {
            let kinds: Vec<_> = findings.iter().map(|f| f["kind"].clone()).collect();
            return Some(format!(
                "{property}: refuted {refuted}, check found {kinds:?}"
            ));
        }
        if refuted && !answer["replay"].is_string() {
            return Some(format!("{property}: {}", answer["not_replayed"]));
        }
    }
    None
}

#[test]
fn random_programs_get_the_same_verdicts() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let count: u64 = number("RANDOM_PROGRAMS").unwrap_or(6);
    let first: u64 = number("RANDOM_SEED").unwrap_or(1) << 32;
    let directory = std::env::temp_dir().join(format!("landfall-random-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let mut different = Vec::new();
    for seed in first..first + count {
        let name = format!("{seed}.c");
        fs::write(directory.join(&name), program(seed)).unwrap();
        match difference(&name, &directory) {
            None => fs::remove_file(directory.join(&name)).unwrap(),
            Some(what) => different.push(format!("{}/{name}: {what}", directory.display())),
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    let _ = fs::remove_dir_all(&directory);
}
