//! Programs of several processes, drawn at random, through the whole command. A process of one thread whose own memory nobody else touches can
//! do to the others what a thread can that keeps its own variables thread-local: the same source, once with `fork` and once with threads, has the
//! same ends, and one execution for each of the same classes.
//!
//! `FORKS_PROGRAMS=300` tries more of them, `FORKS_SEED=7` others. A program that differs is left in the temporary directory.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % sides
    }

    /// What a process does to what all have, and to what it has for itself.
    fn statement(&mut self) -> String {
        let (var, register) = (self.roll(2), self.roll(3));
        let cell = format!("both->v[{var}]");
        match self.roll(10) {
            0..2 => format!("atomic_store_explicit(&{cell}, own + {register}, memory_order_release);"),
            2..4 => format!("r[{register}] = atomic_load(&{cell});"),
            4 => format!("own += atomic_fetch_add(&{cell}, 1);"),
            5 => format!("{{ long e = {register}; if (!atomic_compare_exchange_strong(&{cell}, &e, 7)) own = e; }}"),
            6 => "pthread_mutex_lock(&both->lock); both->plain = both->plain * 2 + own; pthread_mutex_unlock(&both->lock);".to_owned(),
            7 => "pthread_mutex_lock(&own_lock); own += 2; pthread_mutex_unlock(&own_lock);".to_owned(),
            8 => format!("r[{register}] += sem_trywait(&both->given);"),
            _ => format!("*block += own + {register}; sem_post(&both->given);"),
        }
    }

    fn code(&mut self, most: u64) -> Vec<String> {
        (0..1 + self.roll(most)).map(|_| self.statement()).collect()
    }
}

/// All programs in one file, chosen by the first argument.
fn source(programs: &[Vec<Vec<String>>]) -> String {
    let mut text = String::from(
        "#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         #ifdef FORK\n#define OWN static\n#else\n#define OWN static _Thread_local\n#endif\n\
         static struct { atomic_long v[2]; long plain, told[4][5]; pthread_mutex_t lock; sem_t given; } *both;\n\
         OWN long own = 1;\nOWN pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;\n",
    );
    for (number, program) in programs.iter().enumerate() {
        for (thread, code) in program.iter().enumerate() {
            let _ = writeln!(
                text,
                "static void p{number}_{thread}(long *r, long *block) {{\n  {}\n}}",
                code.join("\n  ")
            );
        }
    }
    text += "static void (*codes[][4])(long *, long *) = {\n";
    for (number, program) in programs.iter().enumerate() {
        let names = (0..program.len()).map(|thread| format!("p{number}_{thread}"));
        let _ = writeln!(text, "  {{{}}},", names.collect::<Vec<_>>().join(", "));
    }
    text += "};\n\
        static int program;\n\
        static void run(long me) {\n\
          long r[3] = {0}, *block = calloc(1, sizeof *block);\n\
          codes[program][me](r, block);\n\
          for (int i = 0; i < 3; i++) both->told[me][i] = r[i];\n\
          both->told[me][3] = own;\n\
          both->told[me][4] = *block;\n\
          free(block);\n\
        }\n\
        static void *thread(void *me) { run((long)me); return 0; }\n\
        int main(int count, char **arguments) {\n\
          program = atoi(arguments[1]);\n\
          both = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);\n\
          pthread_mutexattr_t shared; pthread_mutexattr_init(&shared); pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);\n\
          pthread_mutex_init(&both->lock, &shared); sem_init(&both->given, 1, 0);\n\
          int n = 1;\n\
        #ifdef FORK\n\
          pid_t p[4];\n\
          for (; n < 4 && codes[program][n]; n++) if ((p[n] = fork()) == 0) { run(n); _exit(0); }\n\
          run(0);\n\
          for (int i = 1; i < n; i++) waitpid(p[i], 0, 0);\n\
        #else\n\
          pthread_t t[4];\n\
          for (; n < 4 && codes[program][n]; n++) pthread_create(&t[n], 0, thread, (void *)(long)n);\n\
          run(0);\n\
          for (int i = 1; i < n; i++) pthread_join(t[i], 0);\n\
        #endif\n\
          unsigned long d = 0;\n\
          for (int i = 0; i < n; i++) for (int k = 0; k < 5; k++) { d = (d ^ both->told[i][k]) * 0x100000001b3; d = d << 7 | d >> 57; }\n\
          for (int i = 0; i < 2; i++) { d = (d ^ both->v[i]) * 0x100000001b3; d = d << 7 | d >> 57; }\n\
          d = (d ^ both->plain) * 0x100000001b3;\n\
          return 1 + (d ^ d >> 32) % 200;\n\
        }\n";
    text
}

fn landfall(arguments: &[&str], directory: &Path) -> (Option<i32>, Vec<u8>, String) {
    let output = Command::new(LANDFALL)
        .args(arguments)
        .current_dir(directory)
        .output();
    let output = output.expect("landfall runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), output.stdout, said)
}

/// Every end by its message, and how many executions there were of a kind.
fn found(run: &Value) -> (BTreeSet<String>, Option<u64>) {
    let mut ends = BTreeSet::new();
    if run["complete"] != true {
        ends.insert(format!("not complete: {}", run["limits"]));
    }
    for finding in run["findings"].as_array().into_iter().flatten() {
        let messages = std::iter::once(&finding["message"])
            .chain(finding["other_messages"].as_array().into_iter().flatten());
        ends.extend(messages.filter_map(Value::as_str).map(str::to_owned));
    }
    (ends, run["schedules"].as_u64())
}

fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok());
    value.unwrap_or(otherwise)
}

#[test]
fn random_processes_end_as_threads_do() {
    let mut dice = Dice(number("FORKS_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let programs: Vec<Vec<Vec<String>>> = (0..number("FORKS_PROGRAMS", 16))
        .map(|_| {
            let several = 2 + dice.roll(2);
            let most = if several == 2 { 4 } else { 2 };
            (0..several).map(|_| dice.code(most)).collect()
        })
        .collect();
    let directory = std::env::temp_dir().join(format!("landfall-forks-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("forks.c"), source(&programs)).expect("writable");
    for (name, option) in [("processes", "-DFORK"), ("threads", "-DTHREADS")] {
        let build = ["cc", "-w", "-g", "-O1", option, "forks.c", "-o", name];
        let (built, _, said) = landfall(&build, &directory);
        assert_eq!(built, Some(0), "{said}");
    }
    let (mut differences, mut several) = (Vec::new(), 0);
    for (number, program) in programs.iter().enumerate() {
        for model in ["sc", "tso"] {
            let of = number.to_string();
            let [processes, threads] = ["./processes", "./threads"].map(|binary| {
                let arguments = [
                    "check",
                    "--checks",
                    "crash",
                    "--model",
                    model,
                    "--no-symmetry",
                    "--format",
                    "json",
                    "--",
                    binary,
                    &of,
                ];
                let (_, out, said) = landfall(&arguments, &directory);
                let run = serde_json::from_slice::<Value>(&out).unwrap_or_default();
                (found(&run), said)
            });
            several += usize::from(threads.0.0.len() > 1);
            if processes.0 != threads.0 || threads.0.0.is_empty() {
                differences.push(format!(
                    "program {number}, {model}: {:?}, and with threads {:?}\n{program:?}\n{}{}",
                    processes.0, threads.0, processes.1, threads.1
                ));
            }
        }
    }
    assert!(several > programs.len() / 2, "{several} with several ends");
    assert!(
        differences.is_empty(),
        "in {}:\n{}",
        directory.display(),
        differences.join("\n")
    );
    let _ = std::fs::remove_dir_all(directory);
}
