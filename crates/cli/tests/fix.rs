//! `landfall fix` from a check to a repaired file. What is to become of each broken example is in `repairs.txt`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// An empty directory of this test's own.
fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("fix")
        .join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory.canonicalize().unwrap()
}

fn landfall(directory: &Path, arguments: &[&str]) -> Output {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    Command::new(LANDFALL)
        .args(arguments)
        .current_dir(directory)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// A copy of an example in a directory of its own, checked.
fn checked(test: &str, example: &str, flags: &[&str]) -> (PathBuf, String) {
    let directory = scratch(test);
    let name = Path::new(example)
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    fs::copy(root().join("examples").join(example), directory.join(&name)).unwrap();
    let mut arguments = vec!["check", "--format", "json", "--out", "out"];
    arguments.extend(flags);
    arguments.push(&name);
    let output = landfall(&directory, &arguments);
    assert_eq!(code(&output), 100, "{}", text(&output.stderr));
    (directory, name)
}

fn compiles_without_landfall(file: &Path) -> Result<(), String> {
    let compiler = match file.extension() == Some(OsStr::new("c")) {
        true => "clang-19",
        false => "clang++-19",
    };
    let output = Command::new(compiler)
        .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root().join("include"))
        .arg(file)
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(text(&output.stderr)),
    }
}

/// (program, expectation), and every example with findings is among them.
fn repairs() -> Vec<(String, String)> {
    let list = include_str!("repairs.txt")
        .lines()
        .filter(|l| !l.starts_with('#'));
    let repairs: Vec<(String, String)> = list
        .filter_map(|line| line.split_once(char::is_whitespace))
        .map(|(program, expected)| (program.to_owned(), expected.trim().to_owned()))
        .collect();
    for folder in fs::read_dir(root().join("examples")).unwrap() {
        let folder = folder.unwrap().path();
        for file in fs::read_dir(&folder).into_iter().flatten() {
            let file = file.unwrap().path();
            let expect = fs::read_to_string(file.with_extension("expect")).unwrap_or_default();
            let source = file.extension().is_some_and(|e| e == "c" || e == "cc");
            let name = file
                .strip_prefix(root().join("examples"))
                .unwrap()
                .to_str()
                .unwrap();
            // What comes with pool files or a client is more than a file that can be copied; without persistent memory no flush is missing.
            let beside = ["--pm-dir", "--client"]
                .iter()
                .any(|flag| expect.contains(flag));
            let volatile = name.starts_with("threads/");
            if source && expect.contains("finding ") && !beside && !volatile {
                assert!(
                    repairs.iter().any(|(known, _)| known == name),
                    "{name}: not in repairs.txt"
                );
            }
        }
    }
    repairs
}

fn flags(example: &str) -> Vec<String> {
    let expect = root()
        .join("examples")
        .join(example)
        .with_extension("expect");
    let expect = fs::read_to_string(expect).unwrap();
    let flags = expect.lines().filter_map(|l| l.strip_prefix("flags "));
    flags
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect()
}

fn repair(example: &str, expected: &str) -> Result<(), String> {
    let flags = flags(example);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let (directory, name) = checked(&example.replace('/', "-"), example, &flags);
    let file = directory.join(&name);
    let before = fs::read_to_string(&file).unwrap();
    let output = landfall(&directory, &["fix", "out", "--apply"]);
    let (said, shown) = (text(&output.stderr), text(&output.stdout));
    let after = fs::read_to_string(&file).unwrap();
    let (verdict, words) = expected.split_once(' ').unwrap_or((expected, ""));
    let wanted = match verdict {
        "clean" => 0,
        _ => 100,
    };
    if code(&output) != wanted {
        return Err(format!(
            "exit code {}, expected {wanted}\n{said}{shown}",
            code(&output)
        ));
    }
    if (before == after) != (verdict == "stuck") {
        return Err(format!(
            "the file was changed: {}\n{said}{shown}",
            before != after
        ));
    }
    if !said.contains(words) {
        return Err(format!("`{words}` is not said:\n{said}"));
    }
    compiles_without_landfall(&file).map_err(|e| format!("{e}\n{shown}"))?;
    if verdict == "clean" {
        let backup = directory.join(format!("{name}.orig"));
        if fs::read_to_string(backup).ok().as_deref() != Some(before.as_str()) {
            return Err("the backup is not what the file was".to_owned());
        }
        // Not by its own word: a check of its own.
        let mut arguments = vec!["check", "--out", "again"];
        arguments.extend(&flags);
        arguments.push(&name);
        let again = landfall(&directory, &arguments);
        if code(&again) != 0 {
            return Err(format!("not clean:\n{}{shown}", text(&again.stdout)));
        }
    }
    Ok(())
}

#[test]
fn every_broken_example_comes_to_what_is_expected() {
    let (repairs, next) = (repairs(), AtomicUsize::new(0));
    let work = || {
        let mut wrong = Vec::new();
        while let Some((example, expected)) = repairs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(why) = repair(example, expected) {
                wrong.push(format!("--- {example}\n{why}"));
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers
            .into_iter()
            .flat_map(|w| w.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_apply_a_patch_is_printed_and_nothing_written() {
    let (directory, name) = checked("printed", "commit-flag/missing-flush.c", &[]);
    let before = fs::read_to_string(directory.join(&name)).unwrap();
    let output = landfall(&directory, &["fix", "out"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(directory.join(&name)).unwrap(), before);
    let patch = text(&output.stdout);
    assert!(
        patch.starts_with("--- a/missing-flush.c\n+++ b/missing-flush.c\n@@ "),
        "{patch}"
    );
    assert!(
        patch.contains("\n+  lf_persist(r->data, sizeof r->data);\n"),
        "{patch}"
    );
    assert!(
        text(&output.stderr).contains("with this patch the check is clean"),
        "{}",
        text(&output.stderr)
    );
    // As people would use it.
    fs::write(directory.join("the.patch"), &patch).unwrap();
    let applied = Command::new("patch")
        .args(["-p1", "-i", "the.patch"])
        .current_dir(&directory)
        .output();
    if let Ok(applied) = applied {
        assert!(applied.status.success(), "{}", text(&applied.stdout));
        assert_eq!(code(&landfall(&directory, &["check", &name])), 0);
    }
}

#[test]
fn a_template_is_used_from_the_command_line() {
    let (directory, _) = checked("template", "ring-buffer/item-not-flushed.c", &[]);
    let template = "lf_flush({addr}, {size}); lf_fence()";
    let output = landfall(&directory, &["fix", "out", "--template", template]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let patch = text(&output.stdout);
    assert!(
        patch.contains("\n+  lf_flush(slot, sizeof *slot);\n+  lf_fence();\n"),
        "{patch}"
    );
    let output = landfall(
        &directory,
        &["fix", "out", "--template", "no_such_function({addr})"],
    );
    assert_eq!(code(&output), 100);
    assert!(
        text(&output.stderr).contains("no repair of it builds"),
        "{}",
        text(&output.stderr)
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn what_cannot_be_repaired_is_said_in_a_sentence() {
    let (directory, name) = checked("sentences", "ring-buffer/item-not-flushed.c", &[]);
    let file = directory.join(&name);
    let original = fs::read_to_string(&file).unwrap();
    let run = directory.join("out/run.json");
    let refuses = |arguments: &[&str], said: &str| {
        let output = landfall(&directory, arguments);
        assert_eq!(code(&output), 2, "{said}: {}", text(&output.stdout));
        assert!(
            text(&output.stderr).contains(said),
            "{}",
            text(&output.stderr)
        );
    };
    fs::write(&file, format!("\n{original}")).unwrap();
    refuses(&["fix", "out"], "changed since the check");
    fs::write(&file, &original).unwrap();
    refuses(&["fix", "nowhere"], "RUN is the --out directory");
    refuses(&["fix", &name], "not a run.json");
    let recorded = fs::read_to_string(&run).unwrap();
    fs::write(&run, recorded.replace("\"check\"", "\"other\"")).unwrap();
    refuses(&["fix", "out"], "does not say how the check was made");
    fs::write(&run, &recorded).unwrap();
    // Read-only: the patch is printed, the file stays.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    refuses(&["fix", "out", "--apply"], "read-only");
    assert_eq!(fs::read_to_string(&file).unwrap(), original);
    assert!(!directory.join(format!("{name}.orig")).exists());
}

#[test]
fn links_and_permissions_stay_and_generated_files_are_left_alone() {
    let directory = scratch("links");
    fs::create_dir(directory.join("real")).unwrap();
    let source =
        fs::read_to_string(root().join("examples/ring-buffer/item-not-flushed.c")).unwrap();
    fs::write(directory.join("real/ring.c"), &source).unwrap();
    fs::set_permissions(
        directory.join("real/ring.c"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    symlink("real/ring.c", directory.join("ring.c")).unwrap();
    assert_eq!(
        code(&landfall(&directory, &["check", "--out", "out", "ring.c"])),
        100
    );
    let output = landfall(&directory, &["fix", "out", "--apply"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(
        fs::symlink_metadata(directory.join("ring.c"))
            .unwrap()
            .is_symlink()
    );
    let mode = fs::metadata(directory.join("real/ring.c"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(
        fs::read_to_string(directory.join("real/ring.c.orig")).unwrap(),
        source
    );
    let left: Vec<_> = fs::read_dir(directory.join("real")).unwrap().collect();
    assert_eq!(left.len(), 2, "no temporary file stays: {left:?}");

    let generated = source.replacen("/*", "/* Generated by a tool. DO NOT EDIT.\n *", 1);
    fs::write(directory.join("made.c"), generated).unwrap();
    assert_eq!(
        code(&landfall(&directory, &["check", "--out", "out", "made.c"])),
        100
    );
    let output = landfall(&directory, &["fix", "out", "--apply"]);
    assert_eq!(code(&output), 100);
    assert!(
        text(&output.stderr).contains("it is generated"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_program_that_make_builds_is_repaired_in_a_copy() {
    let directory = scratch("make");
    let source = root().join("examples/ring-buffer/item-not-flushed.c");
    fs::copy(source, directory.join("ring.c")).unwrap();
    let rule = format!("ring: ring.c\n\t'{LANDFALL}' cc -g -o ring ring.c\n");
    fs::write(directory.join("Makefile"), rule).unwrap();
    let made = Command::new("make")
        .current_dir(&directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert_eq!(
        code(&landfall(
            &directory,
            &["check", "--out", "out", "--", "./ring"]
        )),
        100
    );
    let output = landfall(&directory, &["fix", "out"]);
    assert_eq!(code(&output), 2);
    assert!(
        text(&output.stderr).contains("--build make"),
        "{}",
        text(&output.stderr)
    );
    let output = landfall(&directory, &["fix", "out", "--build", "make", "--apply"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(code(&landfall(&directory, &["check", "--", "./ring"])), 0);
}

#[test]
fn a_header_of_the_project_is_repaired_too() {
    let directory = scratch("header");
    fs::create_dir(directory.join("include")).unwrap();
    let header = "#include <landfall.h>\n\
        struct pair { _Alignas(64) long data; _Alignas(64) long valid; };\n\
        static inline void fill(struct pair *p) {\n  p->data = 42;\n}\n";
    let source = "#include \"pair.h\"\n#include <assert.h>\nint main(void) {\n  struct pair *p = lf_pm(sizeof *p);\n  \
        if (p->valid)\n    assert(p->data == 42);\n  fill(p);\n  __atomic_store_n(&p->valid, 1, __ATOMIC_RELEASE);\n  lf_persist(&p->valid, sizeof p->valid);\n}\n";
    fs::write(directory.join("include/pair.h"), header).unwrap();
    fs::write(directory.join("main.c"), source).unwrap();
    let checked = landfall(
        &directory,
        &["check", "--out", "out", "-I./include", "main.c"],
    );
    assert_eq!(code(&checked), 100, "{}", text(&checked.stderr));
    let output = landfall(&directory, &["fix", "out", "--apply"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let repaired = fs::read_to_string(directory.join("include/pair.h")).unwrap();
    assert!(
        repaired.contains("  p->data = 42;\n  lf_persist(&p->data, sizeof(p->data));\n}"),
        "{repaired}"
    );
    assert_eq!(
        fs::read_to_string(directory.join("main.c")).unwrap(),
        source
    );
}

/// The programs of `landfall explain`, as far as a patch can repair what they show; perf findings count.
#[test]
fn what_the_pages_show_is_repaired() {
    let directory = scratch("pages");
    for (kind, expected) in [
        ("assertion", "flush and fence"),
        ("abort", "flush and fence"),
        ("exit", "flush and fence"),
        ("hang", "reset `c->held` when the program starts"),
        ("robustness", "flush and fence"),
        ("persistency-race", "make it atomic"),
        ("redundant-flush", "remove it"),
        ("redundant-fence", "remove it"),
    ] {
        let page = fs::read_to_string(root().join(format!("docs/explain/{kind}.md"))).unwrap();
        let (_, rest) = page.split_once("```c\n").unwrap();
        let (program, _) = rest.split_once("```").unwrap();
        let name = format!("{kind}.c");
        fs::write(directory.join(&name), program).unwrap();
        let mut flags = vec!["check", "--events", "100000", "--fail-on", "perf"];
        if kind == "persistency-race" {
            flags.extend(["--checks", "races"]);
        }
        let check =
            |out: &str| landfall(&directory, &[&flags[..], &["--out", out, &name]].concat());
        assert_eq!(code(&check("out")), 100, "{kind}");
        let output = landfall(&directory, &["fix", "out", "--perf", "--apply"]);
        let said = text(&output.stderr);
        assert_eq!(code(&output), 0, "{kind}: {said}");
        assert!(said.contains(expected), "{kind}: {said}");
        assert_eq!(code(&check("again")), 0, "{kind}: {}", text(&output.stdout));
        compiles_without_landfall(&directory.join(&name)).unwrap();
    }
}

#[test]
fn settings_say_how_to_flush_and_build() {
    let (directory, _) = checked("settings", "ring-buffer/item-not-flushed.c", &[]);
    let settings = |text: &str| fs::write(directory.join("landfall.toml"), text).unwrap();
    settings("[fix]\ntemplate = \"lf_flush({addr}, {size}); lf_fence()\"\n");
    let output = landfall(&directory, &["fix", "out"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let patch = text(&output.stdout);
    assert!(
        patch.contains("\n+  lf_flush(slot, sizeof *slot);\n+  lf_fence();\n"),
        "{patch}"
    );
    // What is typed wins.
    let typed = ["fix", "out", "--template", "lf_persist({addr}, {size})"];
    let patch = text(&landfall(&directory, &typed).stdout);
    assert!(patch.contains("\n+  lf_persist(slot,"), "{patch}");
    for (text_of_it, said) in [
        ("[fix]\nbuild = \"false\"\n", "no repair of it builds"),
        ("[fix]\nbild = \"make\"\n", "no setting `bild` under [fix]"),
        ("[fix]\nbuild = 1\n", "`build` under [fix] must be a text"),
        ("fix = 1\n", "`fix` must be a table"),
    ] {
        settings(text_of_it);
        let output = landfall(&directory, &["fix", "out"]);
        assert_ne!(code(&output), 0, "{text_of_it}");
        let told = text(&output.stderr);
        assert!(told.contains(said), "{text_of_it}: {told}");
    }
}

#[test]
fn an_interrupted_repair_leaves_nothing_behind() {
    let (directory, name) = checked("interrupt", "ring-buffer/item-not-flushed.c", &[]);
    let before = fs::read_to_string(directory.join(&name)).unwrap();
    let temporary = directory.join("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut repair = Command::new(LANDFALL)
        .args(["fix", "out", "--apply"])
        .current_dir(&directory)
        .env("TMPDIR", &temporary)
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let made = |entry: fs::DirEntry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("landfall-fix")
    };
    let left = || fs::read_dir(&temporary).unwrap().any(|e| made(e.unwrap()));
    while !left() {
        assert!(repair.try_wait().unwrap().is_none(), "it ended too early");
        std::thread::yield_now();
    }
    let interrupt = Command::new("kill")
        .args(["-INT", &repair.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    assert_eq!(repair.wait().unwrap().code(), Some(5));
    assert!(!left());
    assert_eq!(fs::read_to_string(directory.join(&name)).unwrap(), before);
}

/// Programs whose repair depends on where blocks of the persistent heap lie: `tests/fix/NAME`, with the patch it must come to in
/// `NAME.diff` (`BLESS=1` writes it). The first lines say how it is checked (`check:`), repaired (`fix:`), and what comes out.
#[test]
fn a_patch_holds_however_blocks_lie() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fix");
    let mut sources: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension() != Some(OsStr::new("diff")))
        .collect();
    sources.sort();
    assert!(sources.len() >= 5);
    for source in sources {
        let program = fs::read_to_string(&source).unwrap();
        let said = |what: &str| {
            let line = program
                .lines()
                .find_map(|line| line.strip_prefix("// ")?.strip_prefix(what));
            line.map(str::trim)
        };
        let words = |what: &str| {
            let words = said(what).unwrap_or_default().split_whitespace();
            words.map(str::to_owned).collect::<Vec<String>>()
        };
        let name = source.file_name().unwrap().to_str().unwrap();
        let directory = scratch(&format!("layout-{name}"));
        fs::write(directory.join(name), &program).unwrap();
        let check = |out: &str, more: &[&str]| {
            let flags = words("check:");
            let mut arguments = vec!["check", "--out", out, "--fail-on", "perf"];
            arguments.extend(flags.iter().map(String::as_str));
            arguments.extend(more);
            arguments.push(name);
            landfall(&directory, &arguments)
        };
        let found = check("out", &[]);
        assert_eq!(code(&found), 100, "{name}: {}", text(&found.stderr));
        let flags = words("fix:");
        let mut arguments = vec!["fix", "out", "--apply"];
        arguments.extend(flags.iter().map(String::as_str));
        let output = landfall(&directory, &arguments);
        let (errors, patch) = (text(&output.stderr), text(&output.stdout));
        let wanted: i32 = said("exit:").unwrap().parse().unwrap();
        assert_eq!(code(&output), wanted, "{name}: {errors}{patch}");
        assert!(errors.contains(said("says:").unwrap()), "{name}: {errors}");
        let diff = folder.join(format!("{name}.diff"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&diff, &patch).unwrap();
        }
        let expected = fs::read_to_string(&diff).unwrap_or_default();
        assert_eq!(patch, expected, "{name}: BLESS=1 accepts it");
        let removed = patch
            .lines()
            .any(|l| l.starts_with('-') && !l.starts_with("---"));
        assert!(!removed, "{name}: {patch}");
        // Not by its own word.
        for moved in ["0", "16", "32", "48", "112"] {
            let again = check("again", &["--checks", "crash", "--heap-offset", moved]);
            assert_eq!(code(&again), 0, "{name} {moved}: {}", text(&again.stdout));
        }
    }
}

/// Names that a shell, a linker's command line or a patch could trip over.
#[test]
fn odd_names_of_source_files_are_checked_and_repaired() {
    let source = root().join("examples/commit-flag/missing-flush.c");
    for (number, name) in [
        "a b.c",
        "it's \"q\".c",
        "new\nline.c",
        "./-dash.c",
        "%s\\.c",
    ]
    .into_iter()
    .enumerate()
    {
        let directory = scratch(&format!("odd-{number}"));
        fs::copy(&source, directory.join(name)).unwrap();
        let found = landfall(&directory, &["check", "--out", "out", "-w", "-pipe", name]);
        assert_eq!(code(&found), 100, "{name}: {}", text(&found.stderr));
        let shown = name.trim_start_matches("./").replace('\n', "\\n");
        let place = format!("\n  --> {shown}:25:5 ");
        assert!(
            text(&found.stdout).contains(&place),
            "{}",
            text(&found.stdout)
        );
        let output = landfall(&directory, &["fix", "out", "--apply"]);
        assert_eq!(code(&output), 0, "{name}: {}", text(&output.stderr));
    }
}
