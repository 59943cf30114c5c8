//! `landfall cc` and `landfall c++` as compilers: whatever a build system does with clang, it can do with them.
//!
//! The runtime linked here is the recorder of the pass's tests, so that a program says what it did.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

/// A directory of its own for each test, with a cache of its own.
struct Workshop {
    directory: PathBuf,
}

fn recorder() -> &'static Path {
    static ARCHIVE: OnceLock<PathBuf> = OnceLock::new();
    ARCHIVE.get_or_init(|| {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorder");
        fs::create_dir_all(&scratch).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pass/tests/support/recorder.c");
        // Every test is a process of its own that makes it: others must never find half of it.
        let mine = |ending: &str| scratch.join(format!("{}.{ending}", std::process::id()));
        let (object, half, archive) = (mine("o"), mine("a"), scratch.join("recorder.a"));
        let mut compile = Command::new("clang-19");
        compile
            .args(["-O1", "-fPIC", "-c", "-o"])
            .arg(&object)
            .arg(source);
        assert!(compile.status().unwrap().success());
        assert!(
            Command::new("ar")
                .arg("rcs")
                .args([&half, &object])
                .status()
                .unwrap()
                .success()
        );
        fs::remove_file(&object).unwrap();
        fs::rename(&half, &archive).unwrap();
        archive
    })
}

impl Workshop {
    fn new(name: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cc").join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn in_here(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.directory)
            .env("LANDFALL_RUNTIME", recorder());
        command.env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        );
        command
    }

    fn run(&self, wrapper: &str, arguments: &[&str]) -> Output {
        self.in_here(LANDFALL)
            .arg(wrapper)
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Compiles without a word.
    fn cc(&self, arguments: &[&str]) {
        self.quietly("cc", arguments);
    }

    fn quietly(&self, wrapper: &str, arguments: &[&str]) {
        let output = self.run(wrapper, arguments);
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }

    fn clang(&self, arguments: &[&str]) -> Output {
        self.in_here("clang-19").args(arguments).output().unwrap()
    }

    /// What a program did, without source positions.
    fn events(&self, program: &str) -> Vec<String> {
        let output = self.in_here(self.path(program)).output().unwrap();
        assert!(
            output.status.success(),
            "{program}: {} {}",
            output.status,
            stderr(&output)
        );
        let text = stdout(&output);
        text.lines()
            .map(|line| line.split(" @").next().unwrap_or("").to_owned())
            .collect()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const STORE: &str = "int main(void) { *(long *)0x100000000000 = 1; return 0; }\n";
const STORED: [&str; 1] = ["store8 +0 0x1"];

#[test]
fn compiles_and_links_in_one_step_or_two() {
    let w = Workshop::new("steps");
    w.write(
        "a.c",
        "void b(long *p);\nint main(void) { b((long *)0x100000000000); return 0; }\n",
    );
    w.write("b.c", "void b(long *p) { *p = 1; }\n");
    w.cc(&["-Wall", "-Wextra", "-Werror", "-O2", "a.c", "b.c"]);
    assert_eq!(w.events("a.out"), STORED);
    w.cc(&["-c", "a.c", "b.c"]);
    w.cc(&["a.o", "b.o", "-o", "linked"]);
    assert_eq!(w.events("linked"), STORED);
    w.cc(&["-c", "b.c", "-o", "other.o"]);
    w.cc(&["-o", "mixed", "a.c", "other.o"]);
    assert_eq!(w.events("mixed"), STORED);
}

#[test]
fn every_level_of_optimisation_and_of_debugging() {
    let w = Workshop::new("levels");
    w.write("a.c", STORE);
    for option in [
        "-O0",
        "-O1",
        "-O2",
        "-O3",
        "-Os",
        "-Oz",
        "-Og",
        "-g0",
        "-g3",
        "-gdwarf-4",
        "-gline-tables-only",
    ] {
        w.cc(&[option, "a.c", "-o", "program"]);
        assert_eq!(w.events("program"), STORED, "{option}");
    }
    // Debug information is added, unless its amount is asked for.
    let line = |arguments: &[&str]| {
        stdout(&{
            w.cc(arguments);
            w.in_here(w.path("program")).output().unwrap()
        })
    };
    assert!(line(&["a.c", "-o", "program"]).contains("a.c:1:42 main"));
    assert!(line(&["-g0", "a.c", "-o", "program"]).contains("a.c:0:0 main"));
}

#[test]
fn errors_and_warnings_are_clangs_own() {
    let w = Workshop::new("errors");
    w.write("bad.c", "int main(void) { return undeclared; }\n");
    w.write("warn.c", "int main(void) { int unused; return 0; }\n");
    w.write(
        "undefined.c",
        "void missing(void);\nint main(void) { missing(); return 0; }\n",
    );
    let cases: [&[&str]; 9] = [
        &["bad.c"],
        &["-c", "bad.c"],
        &["-c", "-Wall", "warn.c"],
        &["-Wall", "-Werror", "-c", "warn.c"],
        &["no-such-file.c"],
        &["-c", "no-such-file.c"],
        &[],
        &["--no-such-option", "-c", "warn.c"],
        &["-c", "warn.c", "-lm"],
    ];
    for case in cases {
        let (ours, theirs) = (w.run("cc", case), w.clang(case));
        assert_eq!(ours.status.code(), theirs.status.code(), "{case:?}");
        assert_eq!(stderr(&ours), stderr(&theirs), "{case:?}");
    }
    let output = w.run("cc", &["undefined.c"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("undefined reference to `missing'"));
}

#[test]
fn questions_are_answered_as_by_clang() {
    let w = Workshop::new("questions");
    let cases: [&[&str]; 8] = [
        &["--version"],
        &["-dumpversion"],
        &["-dumpmachine"],
        &["-print-search-dirs"],
        &["-print-file-name=libc.so"],
        &["--print-resource-dir"],
        &["-v"],
        &["--help"],
    ];
    for case in cases {
        let (ours, theirs) = (w.run("cc", case), w.clang(case));
        assert_eq!(ours.status.code(), theirs.status.code(), "{case:?}");
        assert_eq!(stdout(&ours), stdout(&theirs), "{case:?}");
    }
}

#[test]
fn stops_where_it_is_told_to() {
    let w = Workshop::new("stops");
    w.write(
        "a.c",
        "#include <landfall.h>\n#ifdef __LANDFALL__\nint under_landfall;\n#endif\n",
    );
    assert!(stdout(&w.run("cc", &["-E", "a.c"])).contains("int under_landfall;"));
    w.cc(&["-S", "a.c"]);
    assert!(w.read("a.s").contains("under_landfall"));
    w.cc(&["-S", "-emit-llvm", "a.c"]);
    assert!(w.has("a.ll"));
    w.cc(&["-fsyntax-only", "a.c"]);
    assert!(stdout(&w.run("cc", &["-M", "a.c"])).contains("landfall.h"));
    assert!(stdout(&w.run("cc", &["-MM", "a.c"])).starts_with("a.o: a.c"));
    w.cc(&["-MD", "-MF", "deps", "-MT", "target", "-c", "a.c"]);
    assert!(w.read("deps").starts_with("target: a.c"));
    assert!(!w.has("a.out"));
}

#[test]
fn plans_show_the_pass_and_the_runtime_where_they_belong() {
    let w = Workshop::new("plans");
    w.write("a.c", STORE);
    w.write("b.o", "");
    let plan = |arguments: &[&str]| {
        let output = w.run("cc", &[&["-###"], arguments].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let runtime = recorder().to_str().unwrap();
    assert!(plan(&["a.c"]).contains(runtime));
    assert!(plan(&["a.c"]).contains("-fpass-plugin="));
    assert!(plan(&["b.o"]).contains(runtime));
    for partial in [
        &["-c", "a.c"][..],
        &["-shared", "b.o"],
        &["-r", "b.o"],
        &["-nostdlib", "b.o"],
        &["-E", "a.c"],
    ] {
        assert!(!plan(partial).contains(runtime), "{partial:?}");
    }
    assert!(!w.has("a.out"));
}

#[test]
fn shared_libraries_use_the_hooks_of_the_program() {
    let w = Workshop::new("shared");
    w.write(
        "lib.c",
        "void put(long *p) { *p = 1; __sync_fetch_and_add(p, 1); }\n",
    );
    w.write(
        "main.c",
        "void put(long *);\nint main(void) { put((long *)0x100000000000); return 0; }\n",
    );
    w.cc(&["-shared", "-fPIC", "lib.c", "-o", "libput.so"]);
    w.cc(&["main.c", "-L.", "-lput", "-Wl,-rpath,.", "-o", "linked"]);
    assert_eq!(
        w.events("linked"),
        ["store8 +0 0x1", "rmw8 +0 add 0x1 0x1->0x2 seq_cst"]
    );
    w.write(
        "loads.c",
        "#include <dlfcn.h>\nint main(void) { void (*put)(long *) = (void (*)(long *))dlsym(dlopen(\"./libput.so\", 2), \"put\");\n\
         put((long *)0x100000000000); return 0; }\n",
    );
    w.cc(&["loads.c", "-o", "loads"]);
    assert_eq!(w.events("loads").len(), 2);
}

#[test]
fn position_independent_or_not() {
    let w = Workshop::new("models");
    w.write("a.c", STORE);
    for options in [
        &["-no-pie", "-fno-pie"][..],
        &["-pie", "-fPIE"],
        &["-mcmodel=large"],
    ] {
        w.cc(&[options, &["a.c", "-o", "program"]].concat());
        assert_eq!(w.events("program"), STORED, "{options:?}");
    }
    // A static libc leaves no room for the runtime: the option is taken out, with a word about it.
    let output = w.run("cc", &["-static", "a.c", "-o", "was-static"]);
    assert!(output.status.success());
    assert_eq!(
        stderr(&output),
        "landfall: -static is left out: the runtime needs libc as a shared library\n"
    );
    assert_eq!(w.events("was-static"), STORED);
    w.cc(&["-static", "-c", "a.c"]);
    w.cc(&[
        "-Wl,--gc-sections",
        "-ffunction-sections",
        "-fdata-sections",
        "-s",
        "a.c",
        "-o",
        "small",
    ]);
    assert_eq!(w.events("small"), STORED);
}

#[test]
fn link_time_optimisation() {
    let w = Workshop::new("lto");
    w.write("a.c", STORE);
    // Needs LLVM's plugin for the system's linker, which distributions package apart.
    if !w.clang(&["-flto", "a.c", "-o", "plain"]).status.success() {
        eprintln!("skipped: clang-19 -flto does not link here");
        return;
    }
    for option in ["-flto", "-flto=thin"] {
        w.cc(&[option, "-O2", "a.c", "-o", "program"]);
        assert_eq!(w.events("program"), STORED, "{option}");
    }
}

#[test]
fn response_files_are_clangs_business() {
    let w = Workshop::new("response");
    w.write("a.c", STORE);
    w.write("compile", "-c a.c -o 'an object.o'\n");
    w.write("link", "\"an object.o\" -o linked\n");
    w.cc(&["@compile"]);
    assert!(w.has("an object.o") && !w.has("a.out"));
    w.cc(&["@link"]);
    assert_eq!(w.events("linked"), STORED);
    w.write("static", "-static\n");
    w.write("nested", "@static a.c -o 'not static'\n");
    let output = w.run("cc", &["@nested"]);
    assert!(
        output.status.success() && stderr(&output).contains("-static is left out"),
        "{}",
        stderr(&output)
    );
    assert_eq!(w.events("not static"), STORED);
}

#[test]
fn libraries_may_insist_on_being_complete() {
    let w = Workshop::new("complete");
    w.write("lib.c", "void put(long *p) { *p = 1; }\n");
    w.write(
        "main.c",
        "void put(long *);\nint main(void) { put((long *)0x100000000000); return 0; }\n",
    );
    for strict in ["-Wl,-z,defs", "-Wl,--no-undefined", "-Wl,-zdefs"] {
        w.cc(&["-shared", "-fPIC", strict, "lib.c", "-o", "libput.so"]);
        w.cc(&["main.c", "./libput.so", "-o", "linked"]);
        assert_eq!(w.events("linked"), STORED, "{strict}");
    }
}

#[test]
fn sanitizers_that_own_memory_are_refused_in_a_sentence() {
    let w = Workshop::new("sanitizers");
    w.write("a.c", STORE);
    for (name, works) in [
        ("address", false),
        ("thread", false),
        ("leak", false),
        ("undefined", true),
    ] {
        let output = w.run(
            "cc",
            &[&format!("-fsanitize={name}"), "a.c", "-o", "program"],
        );
        assert_eq!(
            output.status.success(),
            works,
            "{name}: {}",
            stderr(&output)
        );
        assert_ne!(output.status.code(), Some(127), "the compiler was found");
        let refusal = format!("leave out `-fsanitize={name}`");
        assert_eq!(
            stderr(&output).contains(&refusal),
            !works,
            "{}",
            stderr(&output)
        );
    }
    // Taken back, it is no matter.
    w.cc(&[
        "-fsanitize=address",
        "-fno-sanitize=address",
        "a.c",
        "-o",
        "program",
    ]);
    assert_eq!(w.events("program"), STORED);
}

#[test]
fn assembly_files_are_named_once_each() {
    let w = Workshop::new("assembly");
    w.write("a.s", ".section .note.GNU-stack,\"\",@progbits\n");
    w.write("b.S", ".section .note.GNU-stack,\"\",@progbits\n");
    w.write("c.c", STORE);
    let output = w.run("cc", &["a.s", "b.S", "c.c", "-o", "program"]);
    let told = stderr(&output);
    assert_eq!(
        told.matches("assembly is not instrumented").count(),
        2,
        "{told}"
    );
    assert!(told.contains("a.s: ") && told.contains("b.S: "), "{told}");
    assert_eq!(w.events("program"), STORED);
    w.cc(&["-S", "c.c", "-o", "d.s"]);
    w.cc(&["-E", "b.S", "-o", "e"]);
}

#[test]
fn old_versions_leave_the_cache() {
    let w = Workshop::new("prune");
    w.write("a.c", STORE);
    let cache = w.path("cache/landfall");
    fs::create_dir_all(&cache).unwrap();
    fs::set_permissions(&cache, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let age =
        |days: u64| std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86400);
    for days in 1..=9 {
        let version = cache.join(format!("{days:016x}"));
        fs::create_dir(&version).unwrap();
        fs::write(version.join("landfall-pass.so"), "").unwrap();
        fs::File::open(&version)
            .unwrap()
            .set_modified(age(days))
            .unwrap();
    }
    fs::create_dir(cache.join("somebody-elses")).unwrap();
    let mut command = w.in_here(LANDFALL);
    command
        .args(["cc", "a.c", "-o", "program"])
        .env("XDG_CACHE_HOME", w.path("cache"));
    assert!(command.status().unwrap().success());
    let left = |days: u64| cache.join(format!("{days:016x}")).exists();
    assert_eq!(
        (1..=9).filter(|days| left(*days)).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(cache.join("somebody-elses").exists());
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 5);
}

#[test]
fn other_languages_and_inputs() {
    let w = Workshop::new("languages");
    w.write("a.c", STORE);
    w.write("text", STORE);
    w.write(
        "hooked.txt",
        "#include <vector>\nint main() { *(long *)0x100000000000 = 1; return 0; }\n",
    );
    w.write(
        "plain.s",
        ".globl answer\nanswer: movl $42, %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n",
    );
    w.write("cpp.S", "#ifdef __LANDFALL__\n.globl other\nother: ret\n#endif\n.section .note.GNU-stack,\"\",@progbits\n");
    w.write(
        "uses.c",
        "int answer(void); void other(void);\nint main(void) { other(); return answer() - 42; }\n",
    );
    w.cc(&["-x", "c", "text", "-o", "from-text"]);
    assert_eq!(w.events("from-text"), STORED);
    w.quietly("c++", &["-x", "c++", "hooked.txt", "-o", "from-cxx"]);
    assert_eq!(w.events("from-cxx"), STORED);
    let assembled = w.run("cc", &["uses.c", "plain.s", "cpp.S", "-o", "assembled"]);
    assert!(assembled.status.success());
    assert!(w.events("assembled").is_empty());
    assert!(w.run("cc", &["-c", "plain.s"]).status.success());
    w.cc(&["-o", "after-dashes", "--", "a.c"]);
    assert_eq!(w.events("after-dashes"), STORED);
    w.cc(&["-c", "-emit-llvm", "a.c", "-o", "a.bc"]);
    w.cc(&["a.bc", "-o", "from-bitcode"]);
    assert_eq!(
        w.events("from-bitcode"),
        STORED,
        "instrumented once, not twice"
    );
    let mut child = w
        .in_here(LANDFALL)
        .args(["cc", "-x", "c", "-", "-o", "from-stdin"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), STORE.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(w.events("from-stdin"), STORED);
}

#[test]
fn precompiled_headers() {
    let w = Workshop::new("pch");
    w.write(
        "all.h",
        "#include <stdio.h>\n#include <landfall.h>\nstatic inline void put(long *p) { *p = 1; }\n",
    );
    w.write(
        "a.c",
        "int main(void) { put((long *)0x100000000000); return 0; }\n",
    );
    w.cc(&["-x", "c-header", "all.h", "-o", "all.h.pch"]);
    w.cc(&["-include-pch", "all.h.pch", "a.c", "-o", "program"]);
    assert_eq!(w.events("program"), STORED);
}

#[test]
fn as_compiled_watches_what_the_optimiser_left() {
    let w = Workshop::new("as-compiled");
    w.write(
        "a.c",
        "int main(void) { long *p = (long *)0x100000000000; *p = 1; *p = 2; return 0; }\n",
    );
    w.cc(&["-O2", "a.c", "-o", "source"]);
    assert_eq!(w.events("source"), ["store8 +0 0x1", "store8 +0 0x2"]);
    w.cc(&["--as-compiled", "-O2", "a.c", "-o", "binary"]);
    assert_eq!(w.events("binary"), ["store8 +0 0x2"]);
}

#[test]
fn the_header_works_with_and_without_landfall() {
    let w = Workshop::new("header");
    let program = "#include <landfall.h>\n#include <assert.h>\n#include <string.h>\nlong *other(void);\nlf_trusted static void trusted(void) {}\nlf_sealed static void sealed(void) { trusted(); }\n\
        int main(void) { sealed(); long *p = (long *)lf_pm(4096); assert(*p == 0); *p = 7; lf_persist(p, 8); lf_flush(p, 200); lf_fence();\n\
        assert(other() == p && lf_failures() == 0); *lf_root(3) = lf_alloc(10); lf_free(*lf_root(3)); lf_checksum_begin();\n\
        lf_checksum_end(1); lf_ignore_begin(); lf_ignore_end(); lf_preempt(); lf_lock(p); lf_unlock(p); lf_alloc_mark(p, 8);\n\
        lf_free_mark(p, 8); lf_alloc_mark(p, 8); return lf_yield(); }\n";
    let other = "#include <landfall.h>\nlong *other(void);\nlong *other(void) { return (long *)lf_pm(8); }\n";
    w.write("a.c", program);
    w.write("b.c", other);
    w.write(
        "a.cc",
        &program.replace("long *other", "extern \"C\" long *other"),
    );
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let include = format!("-I{}", include.display());
    for compiler in ["clang-19", "gcc"] {
        for (options, sources) in [
            (&["-std=c99"][..], ["a.c", "b.c"]),
            (&["-std=c11", "-mclwb"], ["a.c", "b.c"]),
        ] {
            let mut command = w.in_here(compiler);
            command
                .args([
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-D_DEFAULT_SOURCE",
                    &include,
                    "-o",
                    "plain",
                ])
                .args(options)
                .args(sources);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{compiler}: {}", stderr(&output));
            if options.len() == 1 {
                assert!(
                    w.in_here(w.path("plain")).status().unwrap().success(),
                    "{compiler}"
                );
            }
        }
    }
    let mut cxx = w.in_here("clang++-19");
    cxx.args([
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        &include,
        "a.cc",
    ]);
    assert!(cxx.status().unwrap().success());
    w.cc(&[
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-c",
        "a.c",
        "b.c",
    ]);
    w.quietly(
        "c++",
        &["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "a.cc"],
    );
}

#[test]
fn without_clang_it_says_what_to_do() {
    let w = Workshop::new("no-clang");
    let output = w
        .in_here(LANDFALL)
        .args(["cc", "a.c"])
        .env("LANDFALL_CLANG", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(127));
    let message = stderr(&output);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(
        message.contains("make setup") && message.contains("landfall doctor"),
        "{message}"
    );
}

#[test]
fn the_first_uses_may_come_all_at_once() {
    let w = Workshop::new("parallel");
    w.write("a.c", STORE);
    let cache = w.path("a cache");
    let children: Vec<_> = (0..8)
        .map(|number| {
            let mut command = w.in_here(LANDFALL);
            command
                .args(["cc", "-c", "a.c", "-o", &format!("{number}.o")])
                .env("XDG_CACHE_HOME", &cache);
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(
        fs::read_dir(cache.join("landfall")).unwrap().count(),
        1,
        "one unpacked directory, no rests"
    );
}

#[test]
fn a_cache_that_cannot_be_used_is_replaced() {
    let w = Workshop::new("cache");
    w.write("a.c", STORE);
    let temporary = w.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let compile = |cache: &Path| {
        let mut command = w.in_here(LANDFALL);
        command
            .args(["cc", "a.c", "-o", "program"])
            .env("XDG_CACHE_HOME", cache)
            .env("TMPDIR", &temporary);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(w.events("program"), STORED);
    };
    // Not a directory: the temporary one is used.
    w.write("file", "");
    compile(&w.path("file"));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
    // Damaged: repaired.
    let cache = w.path("damaged");
    compile(&cache);
    let unpacked = fs::read_dir(cache.join("landfall"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(unpacked.join("landfall-pass.so"), "").unwrap();
    compile(&cache);
    fs::remove_file(unpacked.join("landfall-pass.so")).unwrap();
    compile(&cache);
    // Writable by others: not trusted.
    let open = w.path("open");
    fs::create_dir_all(open.join("landfall")).unwrap();
    fs::set_permissions(
        open.join("landfall"),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    compile(&open);
    assert_eq!(fs::read_dir(open.join("landfall")).unwrap().count(), 0);
}

/// A copy of a project under `tests/projects`.
fn project(name: &str) -> Workshop {
    let w = Workshop::new(&format!("project-{name}"));
    for entry in fs::read_dir(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/projects")
            .join(name),
    )
    .unwrap()
    {
        let file = entry.unwrap().path();
        fs::copy(&file, w.directory.join(file.file_name().unwrap())).unwrap();
    }
    w
}

fn succeeds(mut command: Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}:\n{}{}",
        stdout(&output),
        stderr(&output)
    );
}

const PROJECT_EVENTS: [&str; 3] = ["store8 +0 0x1", "clflush +0", "sfence"];

#[test]
fn make_builds_with_it() {
    let w = project("make");
    let mut make = w.in_here("make");
    make.arg("-j4")
        .arg(format!("CC={LANDFALL} cc"))
        .env_remove("MAKEFLAGS");
    succeeds(make);
    assert_eq!(w.events("program"), PROJECT_EVENTS);
    let mut again = w.in_here("make");
    again
        .args(["-q"])
        .arg(format!("CC={LANDFALL} cc"))
        .env_remove("MAKEFLAGS");
    succeeds(again);
}

#[test]
fn cmake_builds_with_it() {
    let w = project("cmake");
    let mut configure = w.in_here("cmake");
    configure.args(["-S", ".", "-B", "build"]);
    configure
        .env("CC", format!("{LANDFALL} cc"))
        .env("CXX", format!("{LANDFALL} c++"));
    succeeds(configure);
    let mut build = w.in_here("cmake");
    build
        .args(["--build", "build", "-j2"])
        .env_remove("MAKEFLAGS");
    succeeds(build);
    assert_eq!(w.events("build/program"), PROJECT_EVENTS);
}

#[test]
fn configure_scripts_accept_it() {
    let w = project("autotools");
    succeeds(w.in_here("autoconf"));
    let mut configure = w.in_here("sh");
    configure.arg("configure").arg(format!("CC={LANDFALL} cc"));
    succeeds(configure);
    let configured = w.read("config.log");
    assert!(
        configured.contains("ac_cv_header_landfall_h=yes"),
        "landfall.h is found"
    );
    assert!(
        configured.contains("ac_cv_func_no_such_function=no"),
        "what does not exist is not found"
    );
    let mut make = w.in_here("make");
    make.env_remove("MAKEFLAGS");
    succeeds(make);
    assert_eq!(w.events("program"), PROJECT_EVENTS);
}
