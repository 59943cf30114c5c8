//! What is to be proved: litmus tests are translated, programs compiled.

use crate::error::{Error, ErrorKind};
use crate::litmus_file::read_litmus;
use crate::prove::ProveOptions;
use crate::setup::language;
use landfall_ir::{Module, Place};
use landfall_native::compiler::{self, Language};
use landfall_prove::c::{self, Refusal};
use landfall_prove::litmus;
use landfall_prove::program::ProofProgram;
use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

pub(crate) enum ProofSource {
    Litmus(Box<ProofProgram>),
    Module(Box<ProofModule>),
}

/// A program as it was compiled, and what it is told.
pub(crate) struct ProofModule {
    module: Module,
    language: Language,
    /// Is it one of SV-COMP?
    sv_comp: bool,
    spurious: u32,
    arguments: Vec<Vec<u8>>,
}

fn failure(kind: ErrorKind, files: &[PathBuf], why: impl std::fmt::Display) -> Error {
    let names: Vec<_> = files.iter().map(|f| f.to_string_lossy()).collect();
    Error::new(kind, format!("{}: {why}", names.join(" ")))
}

pub(crate) fn read(files: &[PathBuf], options: &ProveOptions) -> Result<ProofSource, Error> {
    let extension = |path: &PathBuf| {
        let extension = path.extension().and_then(|e| e.to_str());
        extension.unwrap_or_default().to_owned()
    };
    let usage = |why: String| failure(ErrorKind::Usage, files, why);
    if let [path] = files
        && matches!(extension(path).as_str(), "lit" | "litmus")
    {
        let text = read_litmus(path).map_err(usage)?;
        let name = path.to_string_lossy();
        let test = landfall_litmus::parse::parse(&name, &text).map_err(|error| {
            let (found, expected) = (error.found, error.expected);
            let place = format!("{name}:{}:{}", error.line, error.column);
            Error::usage(format!("{place}: found {found}, expected {expected}"))
        })?;
        let program = litmus::translate(&test)
            .map_err(|_| {
                usage(
                    "has transactions, which `prove` does not know yet; `landfall litmus` decides it"
                        .to_owned(),
                )
            })?
            .program;
        return Ok(ProofSource::Litmus(Box::new(program)));
    }
    let language = language(&options.compiler_flags, files);
    for path in files {
        match extension(path).as_str() {
            "c" | "i" | "cc" | "cpp" | "cxx" | "C" | "c++" => {}
            _ => {
                let what = "not a .c, .cc, .lit or .litmus file, which is what can be proved";
                return Err(usage(what.to_owned()));
            }
        }
        if let Err(error) = std::fs::File::open(path) {
            return Err(usage(format!("cannot be read: {error}")));
        }
    }
    let text = compiled(files, options, language)?;
    let module = Module::read(&text).map_err(|error| {
        let why = format!("the compiler's output: {error}");
        failure(ErrorKind::Internal, files, why)
    })?;
    let arguments = options.arguments.iter();
    Ok(ProofSource::Module(Box::new(ProofModule {
        module,
        language,
        sv_comp: options.sv_comp,
        spurious: options.spurious,
        arguments: arguments.map(|a| a.as_bytes().to_vec()).collect(),
    })))
}

/// The program as the compiler's intermediate language.
fn compiled(
    files: &[PathBuf],
    options: &ProveOptions,
    language: Language,
) -> Result<String, Error> {
    let mut command = compiler::intermediate(language, &options.compiler_flags, files)
        .map_err(|error| failure(ErrorKind::Usage, files, error))?;
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failure(ErrorKind::Build, files, format!("the compiler: {error}")))?;
    if !output.status.success() {
        return Err(failure(
            ErrorKind::Build,
            files,
            "the program did not compile",
        ));
    }
    String::from_utf8(output.stdout).map_err(|_| {
        failure(
            ErrorKind::Internal,
            files,
            "the compiler's output is not text",
        )
    })
}

impl ProofSource {
    pub(crate) fn has_loops(&self) -> bool {
        matches!(self, ProofSource::Module(..))
    }

    /// Of a program.
    pub(crate) fn language(&self) -> Option<Language> {
        match self {
            ProofSource::Litmus(_) => None,
            ProofSource::Module(program) => Some(program.language),
        }
    }

    /// The program, with loops unrolled this far.
    pub(crate) fn program(&self, unroll: u32) -> Result<ProofProgram, Refusal> {
        match self {
            ProofSource::Litmus(program) => Ok((**program).clone()),
            ProofSource::Module(program) => {
                let files = RefCell::new(HashMap::new());
                let lines = |place: &Place| line(&files, place);
                let bounds = c::Bounds {
                    unroll,
                    sv_comp: program.sv_comp,
                    spurious: program.spurious,
                    arguments: program.arguments.clone(),
                    ..c::Bounds::default()
                };
                c::translate(&program.module, &bounds, &lines).map_err(|mut refusal| {
                    refusal.what = said(&refusal.what);
                    refusal
                })
            }
        }
    }
}

/// With the names of functions in it as people write them.
fn said(what: &str) -> String {
    let parts = what.split('`').map(landfall_native::demangled);
    parts.collect::<Vec<_>>().join("`")
}

type Files = RefCell<HashMap<String, Option<Vec<String>>>>;

/// The text of a source line.
fn line(files: &Files, place: &Place) -> Option<String> {
    let mut files = files.borrow_mut();
    let lines = files.entry(place.file.clone()).or_insert_with(|| {
        let text = std::fs::read_to_string(Path::new(&place.file)).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    });
    let number = place.line.checked_sub(1)? as usize;
    lines.as_ref()?.get(number).cloned()
}
