//! How far a library function reads a text depends on the text: the search must be able to follow that.

use std::path::Path;
use std::process::Command;

#[test]
fn texts_of_any_length_are_followed() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/strings");
    for (program, code) in [("durable.c", 0), ("lost.c", 100)] {
        let output = Command::new(env!("CARGO_BIN_EXE_landfall"))
            .args(["check", "--checks", "crash", program, "--out"])
            .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(program))
            .current_dir(&directory)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{program}: {told}");
    }
}
