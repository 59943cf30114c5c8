//! Code that was not compiled with `landfall cc` takes part: its reads of persistent memory decide recoveries like any other.

use std::path::Path;
use std::process::Command;

#[test]
fn reads_of_foreign_objects_are_followed() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/foreign");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    std::fs::create_dir_all(&directory).unwrap();
    let run = |command: &mut Command| {
        let output = command.current_dir(&directory).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&told).into_owned(),
        )
    };
    let landfall = || Command::new(env!("CARGO_BIN_EXE_landfall"));
    let plain = sources.join("plain.c");
    let built = run(Command::new("clang-19").args(["-c", "-O1"]).arg(plain));
    assert_eq!(built.0, Some(0), "{}", built.1);
    // With FIRST=0 the foreign object is reached in recoveries alone.
    for (name, define, first, code) in [
        ("durable", "-DKEPT", "-DFIRST=1", 0),
        ("lost", "-DLOST", "-DFIRST=1", 100),
        ("later", "-DKEPT", "-DFIRST=0", 0),
    ] {
        let built = run(landfall()
            .args(["cc", define, first, "plain.o", "-o", name])
            .arg(sources.join("main.c")));
        assert_eq!(built.0, Some(0), "{}", built.1);
        let (exit, told) = run(landfall()
            .args(["check", "--out", "out", "--"])
            .arg(directory.join(name)));
        assert_eq!(exit, Some(code), "{told}");
        let note = format!("`get` of {name} was not compiled with `landfall cc`");
        assert!(told.contains(&note), "{told}");
        let only_then = told.contains("in a recovery, ");
        assert_eq!(only_then, name == "later", "{told}");
    }
}

/// Fences of a library order what the program flushed, whatever they are made of.
#[test]
fn fences_of_libraries_order() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/foreign");
    for (name, fence, code) in [
        ("none", "-DNONE", 100),
        ("load", "-DFENCE=_mm_lfence()", 100),
        ("store", "-DFENCE=_mm_sfence()", 0),
        ("full", "-DFENCE=_mm_mfence()", 0),
        (
            "locked",
            "-DFENCE=__atomic_fetch_add(&locked,1,__ATOMIC_SEQ_CST)",
            0,
        ),
    ] {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("foreign-{name}"));
        std::fs::create_dir_all(&directory).unwrap();
        let library = directory.join("liborder.so");
        let built = Command::new("clang-19")
            .args(["-shared", "-fPIC", "-w", "-O1", fence, "-o"])
            .args([&library, &sources.join("order.c")])
            .status();
        assert!(built.unwrap().success());
        let checked = Command::new(env!("CARGO_BIN_EXE_landfall"))
            .current_dir(&directory)
            .args(["check", "--checks", "crash", "--out", "out"])
            .args([&sources.join("fences.c"), Path::new("-L.")])
            .args(["-lorder", "-Wl,-rpath,."])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&checked.stdout);
        assert_eq!(checked.status.code(), Some(code), "{name}: {told}");
    }
}

/// What string functions store for a library that was compiled like the program has a place in the library, however that was
/// optimised.
#[test]
fn calls_of_own_libraries_keep_their_place() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/foreign/own_library");
    let landfall = |arguments: &[&str], directory: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
            .current_dir(directory)
            .args(arguments)
            .output()
            .unwrap();
        let code = output.status.code();
        (code, String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for level in ["-O0", "-O2"] {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("own{level}"));
        std::fs::create_dir_all(&directory).unwrap();
        for file in ["record.h", "record.c", "main.c"] {
            std::fs::copy(sources.join(file), directory.join(file)).unwrap();
        }
        let library = [
            level,
            "-g",
            "-shared",
            "-fPIC",
            "record.c",
            "-o",
            "librecord.so",
        ];
        let program = [
            level,
            "-g",
            "main.c",
            "-L.",
            "-lrecord",
            "-Wl,-rpath,.",
            "-o",
            "main",
        ];
        for arguments in [&library[..], &program] {
            let built = landfall(&[&["cc"], arguments].concat(), &directory);
            assert_eq!(built.0, Some(0));
        }
        let checked = landfall(&["check", "--checks", "crash", "--", "./main"], &directory);
        let (code, told) = checked;
        assert_eq!(code, Some(100), "{told}");
        for wanted in [
            "after record.c:7:3, before record.c:8:3",
            "nothing flushes it before line 8 (line 9 does, too late)",
        ] {
            assert!(told.contains(wanted), "{level}: {told}");
        }
    }
}

/// What somebody else's binary of PMDK does inside is counted, as that of PMDK built by us is; other libraries are told.
#[test]
fn what_is_inside_of_a_binary_of_pmdk_is_counted() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/foreign");
    for (name, code) in [("pmemobj", 0), ("other", 100)] {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("inside-{name}"));
        std::fs::create_dir_all(&directory).unwrap();
        let library = directory.join(format!("lib{name}.so"));
        let built = Command::new("clang-19")
            .args(["-shared", "-fPIC", "-w", "-O1", "-o"])
            .args([&library, &sources.join("inside.c")])
            .status();
        assert!(built.unwrap().success());
        let checked = |more: &[&str]| {
            let checked = Command::new(env!("CARGO_BIN_EXE_landfall"))
                .current_dir(&directory)
                .args(["check", "--out", "out"])
                .args(more)
                .args([&sources.join("inside_main.c"), Path::new("-L.")])
                .args([&format!("-l{name}"), "-Wl,-rpath,."])
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&checked.stdout).into_owned();
            (checked.status.code(), told)
        };
        let (found, told) = checked(&[]);
        assert_eq!(found, Some(code), "{name}: {told}");
        let counted = told.contains("about the inside of PMDK are not listed");
        assert_eq!(counted, name == "pmemobj", "{told}");
        let wasted = told.contains("redundant-flush");
        assert_eq!(wasted, name == "other", "{told}");
        // Whoever asks is told.
        let (found, told) = checked(&["--checks", "robustness"]);
        assert_eq!(found, Some(100), "{name}: {told}");
    }
}
