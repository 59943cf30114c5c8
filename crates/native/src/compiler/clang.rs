//! Finding clang 19.

use super::{CompilerError, Language};
use std::path::{Path, PathBuf};

/// Where distributions that do not put a versioned name on the PATH keep it.
const LLVM_DIRECTORIES: [&str; 3] = [
    "/usr/lib/llvm-19/bin",
    "/usr/lib/llvm19/bin",
    "/usr/local/opt/llvm@19/bin",
];

/// The compiler to use: `LANDFALL_CLANG` (a directory) first, then the PATH, then the usual places.
pub fn find_clang(language: Language) -> Result<PathBuf, CompilerError> {
    let (versioned, plain) = match language {
        Language::C => ("clang-19", "clang"),
        Language::Cxx => ("clang++-19", "clang++"),
    };
    if let Some(directory) = std::env::var_os("LANDFALL_CLANG") {
        let directory = Path::new(&directory);
        return [versioned, plain]
            .into_iter()
            .map(|name| directory.join(name))
            .find(|path| path.is_file())
            .ok_or(CompilerError::NoClang);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|directory| directory.join(versioned));
    let usual = LLVM_DIRECTORIES
        .iter()
        .map(|directory| Path::new(directory).join(plain));
    on_path
        .chain(usual)
        .find(|candidate| candidate.is_file())
        .ok_or(CompilerError::NoClang)
}
