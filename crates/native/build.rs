//! Builds what `landfall` carries inside itself: the pass, the runtime, the headers, the machine for kernels.
//!
//! Pass and runtime are crates of this workspace, but of kinds (cdylib, staticlib) that stable cargo cannot hand to
//! another crate. So cargo is run once more here, with a target directory of its own.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let crates = here
        .parent()
        .expect("crates/native has a parent")
        .to_owned();
    let root = crates.parent().expect("crates has a parent").to_owned();
    let out = PathBuf::from(variable("OUT_DIR"));
    let nested = nested_target(&out);

    let pass = out.join("pass.so");
    copy(
        &build(
            &crates.join("pass"),
            &nested,
            "release",
            "liblandfall_pass.so",
        ),
        &pass,
    );
    let runtime = out.join("runtime.a");
    copy(
        &build(
            &crates.join("runtime"),
            &nested,
            "runtime",
            "liblandfall_runtime.a",
        ),
        &runtime,
    );
    let header = root.join("include/landfall.h");
    println!("cargo:rerun-if-changed={}", header.display());
    let configuration = here.join("include/bits/c++config.h");
    println!("cargo:rerun-if-changed={}", configuration.display());
    println!("cargo:rerun-if-changed={}", crates.join("vocab").display());
    let machine = root.join("kernel");
    println!("cargo:rerun-if-changed={}", machine.display());
    let machine = ["kernel.c", "landfall/kernel.h"].map(|file| machine.join(file));

    let mut key = DefaultHasher::new();
    let others = [&pass, &runtime, &header, &configuration];
    for file in others.into_iter().chain(&machine) {
        std::fs::read(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
            .hash(&mut key);
    }
    variable("CARGO_PKG_VERSION").hash(&mut key);
    println!("cargo:rustc-env=LANDFALL_TOOLS_KEY={:016x}", key.finish());
    println!("cargo:rustc-env=LANDFALL_PASS={}", pass.display());
    println!(
        "cargo:rustc-env=LANDFALL_RUNTIME_ARCHIVE={}",
        runtime.display()
    );
    println!("cargo:rustc-env=LANDFALL_HEADER={}", header.display());
    println!(
        "cargo:rustc-env=LANDFALL_CXX_CONFIGURATION={}",
        configuration.display()
    );
    let [source, header] = machine;
    println!("cargo:rustc-env=LANDFALL_KERNEL={}", source.display());
    println!(
        "cargo:rustc-env=LANDFALL_KERNEL_HEADER={}",
        header.display()
    );
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// Shared by all profiles of the outer build: what is embedded is always the optimised form.
fn nested_target(out: &Path) -> PathBuf {
    out.ancestors()
        .find(|directory| directory.ends_with("build"))
        .and_then(|build| build.parent()?.parent())
        .map_or_else(|| out.join("embedded"), |target| target.join("embedded"))
}

fn build(source: &Path, target: &Path, profile: &str, product: &str) -> PathBuf {
    for part in ["src", "shim", "build.rs", "Cargo.toml"] {
        if source.join(part).exists() {
            println!("cargo:rerun-if-changed={}", source.join(part).display());
        }
    }
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["build", "--profile", profile, "--manifest-path"])
        .arg(source.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(target);
    // Symbols of the runtime are needed for linking and for stacks; line tables of our own code are not.
    for setting in ["debug=false", "strip='debuginfo'"] {
        cargo
            .arg("--config")
            .arg(format!("profile.{profile}.{setting}"));
    }
    // Meant for the outer build: clippy's driver, coverage flags, the outer target.
    for foreign in [
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
    ] {
        cargo.env_remove(foreign);
    }
    if profile == "runtime" {
        // Call stacks are walked by frame pointers, through the runtime's own frames too.
        cargo.env("RUSTFLAGS", "-C force-frame-pointers=yes");
    }
    match cargo.status() {
        Ok(status) if status.success() => target.join(profile).join(product),
        Ok(_) => panic!("building {} failed", source.display()),
        Err(error) => panic!("cargo could not be run: {error}"),
    }
}

fn copy(from: &Path, to: &Path) {
    if let Err(error) = std::fs::copy(from, to) {
        panic!("{} -> {}: {error}", from.display(), to.display());
    }
}
