//! What is to be proved: litmus tests are translated, programs compiled.

use super::ProveArgs;
use crate::exit::Exit;
use landfall_ir::{Module, Place};
use landfall_native::compiler::{self, Language};
use landfall_prove::c::{self, Refusal};
use landfall_prove::litmus;
use landfall_prove::program::Program;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

pub(super) enum Source {
    Litmus(Box<Program>),
    Module(Box<Module>, Language),
}

/// Why there is nothing to ask about.
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) why: String,
}

fn failure(exit: Exit, why: impl std::fmt::Display) -> Failure {
    Failure {
        exit,
        why: format!(": {why}"),
    }
}

pub(super) fn read(args: &ProveArgs) -> Result<Source, Failure> {
    let extension = |path: &PathBuf| {
        let extension = path.extension().and_then(|e| e.to_str());
        extension.unwrap_or_default().to_owned()
    };
    if let [path] = args.files.as_slice()
        && matches!(extension(path).as_str(), "lit" | "litmus")
    {
        let test = crate::litmus::read(path).map_err(|why| Failure {
            exit: Exit::Usage,
            why,
        })?;
        let program = litmus::translate(&test).program;
        return Ok(Source::Litmus(Box::new(program)));
    }
    let language = crate::check::language(&args.compiler_flags, &args.files);
    for path in &args.files {
        match extension(path).as_str() {
            "c" | "cc" | "cpp" | "cxx" | "C" | "c++" => {}
            _ => {
                let what = "not a .c, .cc, .lit or .litmus file, which is what can be proved";
                return Err(failure(Exit::Usage, what));
            }
        }
        if let Err(error) = std::fs::File::open(path) {
            return Err(failure(Exit::Usage, format!("cannot be read: {error}")));
        }
    }
    let text = compiled(args, language)?;
    let module = Module::read(&text)
        .map_err(|error| failure(Exit::Internal, format!("the compiler's output: {error}")))?;
    Ok(Source::Module(Box::new(module), language))
}

/// The program as the compiler's intermediate language.
fn compiled(args: &ProveArgs, language: Language) -> Result<String, Failure> {
    let mut command = compiler::intermediate(language, &args.compiler_flags, &args.files)
        .map_err(|error| failure(Exit::Usage, error))?;
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failure(Exit::Build, format!("the compiler: {error}")))?;
    if !output.status.success() {
        return Err(failure(Exit::Build, "the program did not compile"));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| failure(Exit::Internal, "the compiler's output is not text"))
}

impl Source {
    pub(super) fn has_loops(&self) -> bool {
        matches!(self, Source::Module(..))
    }

    /// Of a program.
    pub(super) fn language(&self) -> Option<Language> {
        match self {
            Source::Litmus(_) => None,
            Source::Module(_, language) => Some(*language),
        }
    }

    /// The program, with loops unrolled this far.
    pub(super) fn program(&self, unroll: u32) -> Result<Program, Refusal> {
        match self {
            Source::Litmus(program) => Ok((**program).clone()),
            Source::Module(module, _) => {
                let files = RefCell::new(HashMap::new());
                let lines = |place: &Place| line(&files, place);
                let bounds = c::Bounds {
                    unroll,
                    ..c::Bounds::default()
                };
                c::translate(module, &bounds, &lines)
            }
        }
    }
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
