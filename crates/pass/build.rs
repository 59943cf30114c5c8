//! Compiles the C++ shim against LLVM 19's headers. Nothing is linked: the clang that loads the plugin has LLVM inside.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=shim/plugin.cc");
    println!("cargo:rerun-if-changed=shim/ir.cc");
    println!("cargo:rerun-if-env-changed=LANDFALL_LLVM_CONFIG");
    let llvm_config =
        std::env::var("LANDFALL_LLVM_CONFIG").unwrap_or_else(|_| "llvm-config-19".into());
    let include = match Command::new(&llvm_config).arg("--includedir").output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => panic!("{llvm_config} not found: install llvm-19-dev (`make setup` does)"),
    };
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .compiler("clang++-19")
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        // LLVM's own headers are not ours to warn about.
        .flag(format!("-isystem{include}"))
        .file("shim/plugin.cc")
        .file("shim/ir.cc")
        .compile("landfall_pass_shim");
}
