//! Tells the binary which commit it was built from (`landfall --version`).

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=LANDFALL_COMMIT={}", commit());
}

fn commit() -> String {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        // A path that is not there would make cargo run this script every time.
        let path = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists());
        if let Some(path) = path {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    // In a tarball unpacked inside somebody else's repository, that repository's commit is not ours.
    git(&["ls-files", "--error-unmatch", "build.rs"])
        .and_then(|_| git(&["rev-parse", "--short=12", "HEAD"]))
        .unwrap_or_else(|| "unknown".to_owned())
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
