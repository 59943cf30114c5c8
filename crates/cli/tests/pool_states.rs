//! What a power failure leaves of pool files that two threads make, grow, rename and remove, against its definition: calls take effect one after
//! the other, in some order that keeps each thread's, and each is durable when it returns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files by name, with their lengths.
type Files = BTreeMap<char, u8>;

/// `ca` makes `a`, `ga2` makes it 2 words long, `rab` calls it `b`, `ua` removes it.
fn call(files: &mut Files, call: &str) {
    let text: Vec<char> = call.chars().collect();
    match text[..] {
        ['c', name] => {
            files.entry(name).or_insert(0);
        }
        ['g', name, length] => {
            if let Some(known) = files.get_mut(&name) {
                *known = length as u8 - b'0';
            }
        }
        ['r', from, to] => {
            if let Some(length) = files.remove(&from) {
                files.insert(to, length);
            }
        }
        ['u', name] => {
            files.remove(&name);
        }
        _ => panic!("no such call: {call}"),
    }
}

/// As the program below counts it.
fn state(files: &Files) -> u32 {
    let of = |name: char| files.get(&name).map_or(0, |length| u32::from(*length) + 1);
    of('a') * 8 + of('b')
}

fn left(files: &Files, threads: [&[&str]; 2], all: &mut BTreeSet<u32>) {
    all.insert(state(files));
    for thread in 0..2 {
        if let Some((next, rest)) = threads[thread].split_first() {
            let mut files = files.clone();
            call(&mut files, next);
            let mut threads = threads;
            threads[thread] = rest;
            left(&files, threads, all);
        }
    }
}

const PROGRAM: &str = r#"
#include <assert.h>
#include <fcntl.h>
#include <landfall.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static const char *path(char name) { return name == 'a' ? POOL "/a" : POOL "/b"; }
static void *act(void *calls) {
  for (const char *c = calls; c && *c; c = strchr(c, ' ') ? strchr(c, ' ') + 1 : 0) {
    if (*c == 'c') close(open(path(c[1]), O_RDWR | O_CREAT, 0600));
    if (*c == 'g') truncate(path(c[1]), 8 * (c[2] - '0'));
    if (*c == 'r') rename(path(c[1]), path(c[2]));
    if (*c == 'u') unlink(path(c[1]));
  }
  return 0;
}
static int of(char name) {
  struct stat about;
  return stat(path(name), &about) ? 0 : about.st_size / 8 + 1;
}
int main(void) {
  if (lf_failures()) {
    const int allowed[] = {ALLOWED};
    int state = of('a') * 8 + of('b'), found = 0;
    for (unsigned i = 0; i < sizeof allowed / sizeof *allowed; i++) found |= allowed[i] == state;
    assert(found);
    return 0;
  }
  pthread_t one, two;
  pthread_create(&one, 0, act, ONE);
  pthread_create(&two, 0, act, TWO);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
"#;

fn check(directory: &Path, threads: [&[&str]; 2], allowed: &[u32], model: &str) -> Option<i32> {
    let allowed: Vec<String> = allowed.iter().map(u32::to_string).collect();
    let pool = directory.join("pool").display().to_string();
    let checked = Command::new(env!("CARGO_BIN_EXE_landfall"))
        .current_dir(directory)
        .args(["check", "--quiet", "--checks", "crash", "--model", model])
        .args(["--pm-dir", &pool, &format!("-DPOOL=\"{pool}\"")])
        .arg(format!("-DALLOWED={}", allowed.join(",")))
        .arg(format!("-DONE=\"{}\"", threads[0].join(" ")))
        .arg(format!("-DTWO=\"{}\"", threads[1].join(" ")))
        .arg("states.c")
        .output()
        .expect("landfall runs");
    checked.status.code()
}

#[test]
fn files_are_what_some_order_of_the_calls_leaves() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pool-states");
    std::fs::create_dir_all(directory.join("pool")).expect("a directory");
    std::fs::write(directory.join("states.c"), PROGRAM).expect("a file");
    let cases: [([&[&str]; 2], &str); 3] = [
        ([&["ca", "ga1", "rab"], &["cb", "ub"]], "tso"),
        ([&["ca", "rab"], &["ca", "ga2", "rba"]], "sc"),
        ([&["ca", "ga1", "ua"], &["ca", "ga2"]], "tso"),
    ];
    for (threads, model) in cases {
        let mut all = BTreeSet::new();
        left(&Files::new(), threads, &mut all);
        let all: Vec<u32> = all.into_iter().collect();
        assert!(all.len() > 3);
        let code = check(&directory, threads, &all, model);
        assert_eq!(code, Some(0), "{threads:?} {model}: only {all:?}");
        for missing in &all {
            let others: Vec<u32> = all.iter().copied().filter(|s| s != missing).collect();
            let code = check(&directory, threads, &others, model);
            assert_eq!(
                code,
                Some(100),
                "{threads:?} {model}: {missing} is never left"
            );
        }
    }
}
