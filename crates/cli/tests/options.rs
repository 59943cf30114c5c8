//! Every option of `landfall check` does something: here is what.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BROKEN: &str = "examples/commit-flag/missing-flush.c";
const INPUTS: &str = "crates/cli/tests/inputs/check";

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

fn landfall(directory: &Path, name: &str, arguments: &[&str]) -> Output {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("options")
        .join(name);
    Command::new(env!("CARGO_BIN_EXE_landfall"))
        .args(["check", "--out"])
        .arg(out)
        .args(arguments)
        .current_dir(directory)
        .env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Exit code and what was printed.
fn human(name: &str, arguments: &[&str]) -> (i32, String) {
    let output = landfall(&root(), name, arguments);
    let told = text(&output.stdout) + &text(&output.stderr);
    (output.status.code().unwrap(), told)
}

/// Exit code and the object.
fn json(name: &str, arguments: &[&str]) -> (i32, Value) {
    let output = landfall(&root(), name, &[&["--format", "json"], arguments].concat());
    let object = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", text(&output.stderr)));
    (output.status.code().unwrap(), object)
}

/// The object without what may differ from run to run.
fn lasting(mut object: Value) -> Value {
    for differing in ["check", "command", "progress"] {
        object.as_object_mut().unwrap().remove(differing);
    }
    let stats = object["stats"].as_object_mut().unwrap();
    stats.remove("seconds");
    stats.remove("compile_seconds");
    stats.remove("isolation");
    object
}

#[test]
fn allowed_findings_are_counted_and_not_listed() {
    for (allow, code) in [
        ("assertion", 0),
        ("assertion:missing-flush.c", 0),
        ("assertion:commit-flag/missing-flush.c:25", 0),
        ("assertion:missing-flush.c:16", 0),
        ("assertion:missing-flush.c:3", 100),
        ("assertion:other.c", 100),
        ("exit", 100),
    ] {
        let (found, object) = json("allow", &["--allow", allow, BROKEN]);
        assert_eq!(found, code, "{allow}");
        let listed = object["findings"].as_array().unwrap().len() as u64;
        assert_eq!(listed + object["allowed"].as_u64().unwrap(), 1, "{allow}");
        assert_eq!(listed == 0, code == 0, "{allow}");
    }
    let (code, told) = human("allow", &["--allow", "assertions", BROKEN]);
    assert_eq!(code, 2);
    assert!(
        told.contains("no kind `assertions`; there are: assertion segfault"),
        "{told}"
    );
    let program = format!("{INPUTS}/exits.c");
    let (code, object) = json("exit", &[&program]);
    assert_eq!(
        (code, &object["findings"][0]["kind"]),
        (100, &"exit".into())
    );
    assert_eq!(
        json("exit", &["--checks=crash", "--allow", "exit", &program]).0,
        0
    );
}

#[test]
fn a_recovery_may_come_to_the_heap_from_outside() {
    let (code, object) = json(
        "heap",
        &["--checks=crash", &format!("{INPUTS}/heap_from_region.c")],
    );
    assert_eq!(code, 0, "{object}");
}

#[test]
fn a_pool_may_be_made_by_the_program() {
    let pools = Path::new(env!("CARGO_TARGET_TMPDIR")).join("options/pools");
    fs::create_dir_all(&pools).unwrap();
    let (directory, pool) = (pools.to_str().unwrap(), pools.join("made"));
    let program = format!("{INPUTS}/pool_made_by_the_program.c");
    let (code, object) = json(
        "made",
        &[
            "--checks=crash",
            "--pm-dir",
            directory,
            &program,
            "--",
            pool.to_str().unwrap(),
        ],
    );
    assert_eq!(code, 0, "{object}");
}

#[test]
fn a_second_power_failure_may_hit_the_recovery() {
    let program = "examples/crash-in-recovery/disarmed-too-early.c";
    assert_eq!(json("failures", &[program]).0, 0);
    let (code, object) = json("failures", &["--failures", "2", program]);
    assert_eq!(code, 100);
    assert_eq!(object["findings"][0]["failures"], 2);
    let (code, told) = human("failures", &["--failures", "0", program]);
    assert_eq!(code, 2, "{told}");
}

#[test]
fn other_ways_to_search_find_the_same() {
    let (_, usual) = json("ways", &[BROKEN]);
    let (usual, runs) = (lasting(usual.clone()), usual["stats"]["runs"].as_u64());
    let (code, one) = json("ways", &["-j", "1", BROKEN]);
    assert_eq!((code, lasting(one)), (100, usual.clone()), "-j 1");
    let (code, two) = json("ways", &["-j", "2", BROKEN]);
    assert_eq!((code, lasting(two)), (100, usual.clone()), "-j 2");
    let cut_by_cut = "examples/ring-buffer/item-not-flushed.c";
    let (_, shared) = json("ways", &[cut_by_cut]);
    for (option, program, than) in [
        ("--no-share", cut_by_cut, shared["stats"]["runs"].as_u64()),
        ("--eager", BROKEN, runs),
    ] {
        let (code, object) = json("ways", &[option, program]);
        assert_eq!(code, 100, "{option}");
        assert!(
            object["stats"]["runs"].as_u64() > than,
            "{option}: {object}"
        );
        assert_eq!(object["complete"], true, "{option}");
    }
    let (code, object) = json("ways", &["--count-eager", BROKEN]);
    assert_eq!((code, &object["stats"]["eager_states"]), (5, &"18".into()));
    assert_eq!(
        (&object["stats"]["runs"], &object["verdict"]),
        (&1.into(), &"incomplete".into())
    );
}

#[test]
fn threads_that_are_alike_are_told_apart_on_demand() {
    let program = ["--model", "sc", "-DN=4", "crates/cli/tests/threads/alike.c"];
    let (code, told) = human("alike", &program);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains(": 1 schedule that stands for 24, "), "{told}");
    let apart = [&["--no-symmetry"], &program[..]].concat();
    let (code, told) = human("alike", &apart);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains(": 24 schedules, "), "{told}");
}

#[test]
fn random_failures_are_named_by_their_seed() {
    let random = |seed: &str| json("random", &["--random", "40", "--seed", seed, BROKEN]);
    let (code, first) = random("7");
    assert_eq!(code, 100);
    assert_eq!(
        (&first["complete"], &first["limits"]),
        (&false.into(), &["random"].as_slice().into())
    );
    assert_eq!(lasting(random("7").1), lasting(first.clone()));
    let behaviours = |object: &Value| object["stats"]["behaviours"].as_u64().unwrap();
    let differ = ["8", "9", "10"]
        .iter()
        .any(|seed| behaviours(&random(seed).1) != behaviours(&first));
    assert!(differ, "the seed makes no difference");
    let sure = "examples/commit-flag/correct.c";
    assert_eq!(
        json("random", &["--random", "5", sure]).0,
        5,
        "some is not all"
    );
}

#[test]
fn limits_are_said() {
    let (code, object) = json("limits", &["--runs", "1", "examples/commit-flag/correct.c"]);
    assert_eq!((code, &object["limits"]), (5, &["runs"].as_slice().into()));
    let (code, told) = human(
        "limits",
        &["--time", "0s", "examples/commit-flag/correct.c"],
    );
    assert_eq!(code, 5, "{told}");
    assert!(told.starts_with("incomplete (limit: time)"), "{told}");
    let program = format!("{INPUTS}/endless.c");
    let (code, object) = json("hang", &["--events", "10000", &program]);
    assert_eq!(
        (code, &object["findings"][0]["kind"]),
        (100, &"hang".into())
    );
    assert_eq!(object["findings"][0]["at"]["function"], "main");
}

/// Of a record behind a checksum, what memory held and single old lines are run, not every mixture; a part that the checksum does not cover is
/// found all the same. Where nothing is said of checksums, it is advised.
#[test]
fn torn_records_behind_a_checksum_are_not_run_in_every_mixture() {
    let program = format!("{INPUTS}/checksum.c");
    let of = |name: &str, options: &[&str]| {
        let (code, run) = json(name, &[&[program.as_str()][..], options].concat());
        let runs = run["stats"]["runs"].as_u64().unwrap();
        (code, run, runs)
    };
    let (code, run, _) = of("checksum", &["-DSAID"]);
    assert_eq!((code, &run["verdict"]), (0, &"clean".into()));
    assert_eq!(run["assumptions"][0]["kind"], "checksum");
    // As many as there are words, and a run for each line besides.
    let growth = [2, 4, 8].map(|lines| of("checksum", &["-DSAID", &format!("-DLINES={lines}")]).2);
    assert!(
        growth[1] < 3 * growth[0] && growth[2] < 3 * growth[1],
        "{growth:?}"
    );
    // PMDK's are known, those of its undo logs as well.
    for level in ["-O0", "-O2"] {
        let (code, run, runs) = of("checksum-pmdk", &["-DPMDK", "-DLINES=8", level]);
        assert_eq!((code, runs), (0, growth[2]), "{level}");
        assert_eq!(run["assumptions"][0]["kind"], "checksum");
    }
    let mixed = ["-DSAID", "-DLINES=3", "--no-checksum-assumption"];
    let (code, run, every) = of("checksum-every", &mixed);
    assert_eq!((code, every), (0, 9 * 9 * 9 + 1));
    assert_eq!(run["assumptions"], Value::Null);
    let (code, run, _) = of("checksum-short", &["-DSAID", "-DSHORT", "-DLINES=3"]);
    assert_eq!(
        (code, &run["findings"][0]["kind"]),
        (100, &"assertion".into())
    );
    let (_, run, _) = of("checksum-unsaid", &["-DLINES=5", "--runs", "2000"]);
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("lf_checksum_begin() before it"));
    assert!(warnings.contains("checksum.c:30:"), "{warnings}");
    // What is accepted and was never there is found: nothing is assumed then.
    let short = "examples/redo-log/checksum-too-short.c";
    let (code, run) = json("checksum-refuted", &[short]);
    assert_eq!((code, &run["assumptions"]), (100, &Value::Null));
}

/// Many recoveries fail for one lost store, or are of a program that is wrong anyway: the rest of them is left out, and counted.
#[test]
fn what_would_show_a_finding_again_is_not_run() {
    let lost = |of: &Value| {
        let findings = of["findings"].as_array().unwrap().iter();
        findings
            .map(|f| (f["kind"].clone(), f["stores"][0]["at"]["line"].clone()))
            .collect::<Vec<_>>()
    };
    let runs = |of: &Value| of["stats"]["runs"].as_u64().unwrap();
    for (name, failures) in [
        ("again", "1"),
        ("again_large", "1"),
        ("again", "2"),
        ("again_threads", "1"),
        ("again_threads", "2"),
    ] {
        let program = format!("{INPUTS}/{name}.c");
        let asked = ["--checks", "crash", "--failures", failures, &program];
        let name = &format!("{name}-{failures}");
        let (code, some) = json(name, &asked);
        let all_of = format!("{name}-all");
        let (all_code, all) = json(&all_of, &[&asked[..], &["--all"]].concat());
        assert_eq!((code, all_code), (100, 100));
        assert_eq!(some["limits"], serde_json::json!(["again"]));
        assert_eq!(all["limits"].as_array().map(Vec::len), Some(0));
        assert_eq!(all["stats"]["skipped"], 0);
        assert!(some["stats"]["skipped"].as_u64().unwrap() > 0);
        let (few, many) = (runs(&some), runs(&all));
        assert!(2 * few < many, "{few} {many}");
        assert_eq!(lost(&some), lost(&all));
        let (_, told) = human(name, &asked);
        let said = "recoveries not run that would show a finding again (--all runs them)";
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn a_recovery_that_throws_dice_is_refused() {
    let program = format!("{INPUTS}/undetermined.c");
    let (code, told) = human("dice", &["--checks", "crash", &program]);
    assert_eq!(code, 102, "{told}");
    for part in ["is not deterministic", "undetermined.c:16:", "rdrand"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn caches_that_survive_forgive() {
    assert_eq!(json("eadr", &["--platform", "eadr", BROKEN]).0, 0);
}

#[test]
fn output_is_as_wanted() {
    let (code, told) = human("quiet", &["--quiet", BROKEN]);
    assert_eq!((code, told.as_str()), (100, ""));
    let (_, short) = human("short", &[BROKEN]);
    let (_, long) = human("long", &["-v", BROKEN]);
    for part in [
        "= stack, lost store:",
        "write_record at examples",
        "or 0x0, as it was at the beginning",
    ] {
        assert!(
            long.contains(part) && !short.contains(part),
            "{part}: {long}"
        );
    }
    for (colour, coloured) in [("always", true), ("never", false), ("auto", false)] {
        let (_, told) = human("colour", &["--color", colour, BROKEN]);
        assert_eq!(told.contains("\x1b[1m"), coloured, "{colour}");
    }
    // What is printed is what is kept.
    let (_, printed) = json("kept", &[BROKEN]);
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("options/kept/run.json");
    let kept: Value = serde_json::from_slice(&fs::read(kept).unwrap()).unwrap();
    assert_eq!(printed, kept);
    assert!(
        kept["stats"]["isolation"]["restarts"].as_u64().unwrap() > 0,
        "{kept}"
    );
}

#[test]
fn settings_are_in_a_file() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("settings");
    fs::create_dir_all(&directory).unwrap();
    let program = root().join("examples/crash-in-recovery/disarmed-too-early.c");
    let program = program.to_str().unwrap();
    let check = |settings: &str, arguments: &[&str]| {
        fs::write(directory.join("landfall.toml"), settings).unwrap();
        let output = landfall(&directory, "settings", &[arguments, &[program]].concat());
        (output.status.code().unwrap(), text(&output.stderr))
    };
    assert_eq!(check("# nothing\n", &[]).0, 0);
    assert_eq!(check("failures = 2\n", &[]).0, 100);
    assert_eq!(
        check(
            "failures = 2\nchecks = [\"crash\"]\nallow = [\"assertion\"]\n",
            &[]
        )
        .0,
        0
    );
    assert_eq!(
        check("failures = 2\n", &["--failures", "1"]).0,
        0,
        "what is typed wins"
    );
    let (code, told) = check("failure = 2\n", &[]);
    assert_eq!(code, 2);
    assert!(
        told.starts_with("landfall: landfall.toml: no setting `failure`"),
        "{told}"
    );
}

#[test]
fn findings_name_callers_pointers_and_whole_objects() {
    let program = format!("{INPUTS}/helper.c");
    let (code, object) = json("helper", &[&program]);
    assert_eq!(code, 100);
    let finding = &object["findings"][0];
    let store = |role: &str| {
        let stores = finding["stores"].as_array().unwrap();
        stores
            .iter()
            .find(|store| store["role"] == role)
            .unwrap()
            .clone()
    };
    assert_eq!(store("lost")["bytes"], 48, "the whole object");
    assert_eq!(store("kept")["stack"][1]["function"], "main");
    assert_eq!(finding["at"]["column"], 5);
    assert_eq!(finding["at"]["function"], "main");
    let (_, told) = human("helper", &[&program]);
    for part in [
        "the 48 bytes stored",
        "the kept store is in set, called from",
        "the lost store is in fill, called from",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let program = format!("{INPUTS}/pointer.c");
    let (_, told) = human("pointer", &[&program]);
    for part in [
        "segmentation fault at address 0x8",
        "the address comes from the pointer 0x0 read at line 12 from pm+0x0, which is what memory held at the beginning",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn recovery_may_be_another_program() {
    let pool = "examples/pool-file/pool";
    let source = "examples/pool-file/count-first.c";
    let define = format!("-DPOOL=\"{pool}/ledger\"");
    let fsck = "examples/pool-file/recovery/fsck.c";
    let (code, object) = json(
        "recover",
        &["--pm-dir", pool, "--recover", fsck, &define, source],
    );
    assert_eq!(
        (code, &object["findings"][0]["at"]["function"]),
        (100, &"main".into())
    );
    // By itself the program looks at nothing.
    let (code, told) = human("recover", &["--pm-dir", pool, &define, source]);
    assert_eq!(code, 0, "{told}");
    for (recover, said) in [
        ("./nosuch", "./nosuch: no such program"),
        ("'./nosuch", "--recover './nosuch: a quote is not closed"),
        ("", "--recover : names no program"),
    ] {
        let (code, told) = human("recover", &["--recover", recover, source]);
        assert_eq!(code, 2);
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn pool_files_that_are_not_there() {
    let source = "examples/pool-file/correct.c";
    let (code, told) = human("pool", &["--pm-dir", "examples/nosuch", source]);
    assert_eq!(
        (code, told.as_str()),
        (2, "landfall: --pm-dir examples/nosuch: no such directory\n")
    );
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pools");
    fs::create_dir_all(&directory).unwrap();
    let define = format!("-DPOOL=\"{}/ledger\"", directory.display());
    let pool = directory.to_str().unwrap();
    for truncated in [None, Some("LEDGER01")] {
        let _ = fs::remove_file(directory.join("ledger"));
        if let Some(content) = truncated {
            fs::write(directory.join("ledger"), content).unwrap();
        }
        let (code, told) = human("pool", &["--pm-dir", pool, &define, source]);
        assert_eq!(code, 100, "{told}");
        assert!(
            told.contains("the program fails without any power failure: exited with 1"),
            "{told}"
        );
    }
}

#[test]
fn a_pool_file_may_grow_again_after_the_power_failed() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("growing");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    let define = format!("-DPOOL=\"{}/count\"", directory.display());
    let program = format!("{INPUTS}/grows.c");
    let pool = directory.to_str().unwrap();
    let (code, told) = human(
        "growing",
        &["--checks", "crash", "--pm-dir", pool, &define, &program],
    );
    assert_eq!(code, 0, "{told}");
}

#[test]
fn the_heap_is_there_when_recovery_starts() {
    let program = format!("{INPUTS}/pointer-first.c");
    let (code, told) = human("pointer-first", &["--checks", "crash", &program]);
    assert_eq!(code, 0, "{told}");
}

#[test]
fn progress_is_for_terminals() {
    // `script` gives the command a terminal of its own and copies what it shows.
    let program = "examples/commit-flag/correct.c";
    let landfall = env!("CARGO_BIN_EXE_landfall");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("options/progress");
    let command = |more: &str| {
        let out = out.display();
        format!("{landfall} check {more} --out {out} {program}")
    };
    let shown = |more: &str| {
        let output = Command::new("script")
            .args(["-qec", &command(more), "/dev/null"])
            .current_dir(root())
            .output()
            .unwrap();
        text(&output.stdout)
    };
    let told = shown("");
    assert!(told.contains("executions, "), "{told}");
    assert!(told.contains("behaviours, power failures "), "{told}");
    assert!(!shown("--quiet").contains("behaviours"));
    assert!(!shown("--format json").contains("behaviours, power"));
    let piped = Command::new("sh")
        .args(["-c", &command("")])
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(text(&piped.stderr), "");
    assert!(!text(&piped.stdout).contains('\r'));
}
