//! What is to be checked: sources are built, programs are found.

use super::Refusal;
use super::flags;
use super::options::{Check, Judged};
use crate::exit::Exit;
use crate::scene::Scene;
use crate::witness::Build;
use landfall_native::compiler::{self, Compilation};
use landfall_native::{HeapChecks, Job, MallocMetadata, Program};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Target {
    pub(super) scene: Scene,
    /// How the program was built, where we built it.
    pub(super) build: Option<Build>,
    pub(super) build_recovery: Option<Build>,
}

impl Check {
    /// Builds the sources, or finds the program.
    pub(super) fn target(&self) -> Result<Target, Refusal> {
        if let Some(directory) = &self.pm_dir
            && !directory.is_dir()
        {
            let why = format!("--pm-dir {}: no such directory", directory.display());
            return Err(Refusal::new(Exit::Usage, why));
        }
        if self.sources.is_empty() {
            let mut command = self.command.iter().cloned();
            let Some(program) = command.next() else {
                return Err(Refusal::new(
                    Exit::Usage,
                    "nothing to check: name sources, or a program after `--` (landfall check --help)",
                ));
            };
            let program = found(PathBuf::from(program))?;
            self.clear_out()?;
            let (recover, build_recovery) = self.recovery()?;
            return Ok(Target {
                scene: self.scene(program, command.collect(), recover),
                build: None,
                build_recovery,
            });
        }
        readable(&self.sources)?;
        self.clear_out()?;
        let program = self.out.join("program");
        let build = self.compile(&self.sources, &program)?;
        let (recover, build_recovery) = self.recovery()?;
        Ok(Target {
            scene: self.scene(program, self.command.clone(), recover),
            build: Some(build),
            build_recovery,
        })
    }

    fn scene(&self, program: PathBuf, arguments: Vec<OsString>, recover: Option<Program>) -> Scene {
        let with_memory = |mut program: Program| {
            program.pm_heap = self.pm_heap.then_some(MallocMetadata::Modelled);
            program.heap_offset = self.heap_offset;
            if self.checks(Judged::Heap) {
                program.heap = HeapChecks::On;
            }
            program.pm_dir.clone_from(&self.pm_dir);
            program
        };
        let mut job = Job::default();
        job.limits.events = self.events;
        Scene {
            program: with_memory(Program::new(program).arguments(arguments)),
            recover: recover.map(with_memory),
            platform: self.platform.into(),
            tear: self.tear,
            job,
            recovery: None,
        }
    }

    /// The command of `--recover`; a source is built first.
    fn recovery(&self) -> Result<(Option<Program>, Option<Build>), Refusal> {
        let Some(command) = &self.recover else {
            return Ok((None, None));
        };
        let usage = |why: &str| Refusal::new(Exit::Usage, format!("--recover {command}: {why}"));
        let mut words = words(command)
            .ok_or_else(|| usage("a quote is not closed"))?
            .into_iter();
        let program = words.next().ok_or_else(|| usage("names no program"))?;
        let program = PathBuf::from(program);
        let extension = program.extension().and_then(OsStr::to_str);
        if matches!(extension, Some("c" | "cc" | "cpp" | "cxx" | "C" | "c++")) {
            let built = self.out.join("recovery");
            readable(std::slice::from_ref(&program))?;
            let build = self.compile(&[program], &built)?;
            return Ok((Some(Program::new(built).arguments(words)), Some(build)));
        }
        Ok((Some(Program::new(found(program)?).arguments(words)), None))
    }

    /// Makes the output directory and removes what an earlier check left there: bugs of another day would mislead.
    fn clear_out(&self) -> Result<(), Refusal> {
        let failed = |e| {
            let why = format!("--out {}: {e}", self.out.display());
            Refusal::new(Exit::Usage, why)
        };
        std::fs::create_dir_all(&self.out).map_err(failed)?;
        for entry in std::fs::read_dir(&self.out).map_err(failed)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let bug = name.strip_prefix('B').and_then(|n| n.strip_suffix(".json"));
            if bug.is_some_and(|n| n.parse::<u32>().is_ok())
                || name == "run.json"
                || name == "report.html"
            {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        // Known now rather than after the search.
        let probe = self.out.join("run.json");
        std::fs::write(&probe, "").map_err(failed)?;
        std::fs::remove_file(&probe).map_err(failed)
    }

    fn compile(&self, sources: &[PathBuf], program: &Path) -> Result<Build, Refusal> {
        let language = flags::language(&self.compiler_flags, sources);
        let mut arguments: Vec<OsString> = self.compiler_flags.clone();
        arguments.extend(sources.iter().map(|s| s.clone().into_os_string()));
        let build = Build::new(language, &arguments);
        arguments.extend(["-o".into(), program.as_os_str().to_owned()]);
        let Compilation {
            mut command,
            remarks,
        } = compiler::command(language, &arguments).map_err(|e| Refusal::new(Exit::Usage, e))?;
        for remark in remarks {
            eprintln!("landfall: {remark}");
        }
        let status = command.status();
        match status {
            Ok(status) if status.success() => Ok(build),
            Ok(_) => Err(Refusal::new(Exit::Build, "the program did not build")),
            Err(error) => Err(Refusal::new(Exit::Build, format!("the compiler: {error}"))),
        }
    }
}

/// Sources that the compiler could not even open are refused before anything is touched.
fn readable(sources: &[PathBuf]) -> Result<(), Refusal> {
    for source in sources {
        let why = match std::fs::File::open(source) {
            Ok(_) if source.is_file() => continue,
            Ok(_) => format!("{}: not a source file", source.display()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                format!("{}: no such source file", source.display())
            }
            Err(e) => format!("{}: cannot be read: {e}", source.display()),
        };
        return Err(Refusal::new(Exit::Usage, why));
    }
    Ok(())
}

/// A bare name means the working directory, not PATH: this is a program someone just built.
fn found(program: PathBuf) -> Result<PathBuf, Refusal> {
    let program = match program.components().count() {
        1 => Path::new(".").join(program),
        _ => program,
    };
    match program.is_file() {
        true => Ok(program),
        false => {
            let why = format!("{}: no such program", program.display());
            Err(Refusal::new(Exit::Usage, why))
        }
    }
}

/// The words of a command, with quotes as in a shell; none if a quote is not closed.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '\\' if letter == '"' => word.push(letters.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn commands_are_split_as_by_a_shell() {
        let cases: [(&str, Option<&[&str]>); 6] = [
            ("./fsck pool", Some(&["./fsck", "pool"])),
            ("  a  'b c'  ", Some(&["a", "b c"])),
            ("a\"b\\\"c\" ''", Some(&["ab\"c", ""])),
            ("a\\ b", Some(&["a b"])),
            ("", Some(&[])),
            ("a 'b", None),
        ];
        for (command, expected) in cases {
            let found = words(command);
            let expected = expected.map(|words| words.iter().map(|w| (*w).to_owned()).collect());
            assert_eq!(found, expected, "{command}");
        }
    }
}
