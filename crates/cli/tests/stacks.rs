//! A program that ends badly inside a hook ended badly itself: its stack is shown, not the runtime's.

use std::path::Path;
use std::process::Command;

#[test]
fn stacks_show_the_program_only() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/stacks/wild.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wild");
    let landfall = || Command::new(env!("CARGO_BIN_EXE_landfall"));
    let built = landfall()
        .arg("cc")
        .arg(source)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(built.unwrap().success());
    for (way, function) in [("s", "store"), ("c", "copy"), ("t", "text")] {
        let output = landfall()
            .arg("run")
            .arg(&program)
            .arg(way)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let frames: Vec<_> = told
            .lines()
            .filter_map(|line| line.strip_prefix("    at "))
            .filter_map(|frame| frame.split(' ').next())
            .collect();
        assert_eq!(frames, [function, "main"], "{told}");
        assert!(told.contains("signal 11 at address 0x"), "{told}");
        assert!(!told.contains("landfall_runtime"), "{told}");
    }
}
