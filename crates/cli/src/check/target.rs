//! What is to be checked: sources are built, programs are found.

use super::Refusal;
use super::flags;
use super::options::{Check, Judged};
use crate::exit::Exit;
use crate::out::{self, Claimed};
use crate::scene::Scene;
use crate::witness::Build;
use landfall_native::compiler::{self, Compilation};
use landfall_native::{HeapChecks, Input, Job, MallocMetadata, Program};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Where results go if nobody says.
const OUT: &str = "landfall-out";
/// What was read from standard input, beside the results.
pub(super) const INPUT: &str = "stdin";
/// How often to look at a compiler.
const PULSE: Duration = Duration::from_millis(5);

/// Files that a check leaves.
fn is_result(name: &str) -> bool {
    let bug = name.strip_prefix('B').and_then(|n| n.strip_suffix(".json"));
    bug.is_some_and(|n| n.parse::<u32>().is_ok())
        || ["run.json", "report.html", "program", "recovery", INPUT].contains(&name)
}

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
        if self.sources.is_empty() {
            let mut command = self.command.iter().cloned();
            let program = found(PathBuf::from(command.next().unwrap_or_default()))?;
            let (recover, build_recovery) = self.recovery()?;
            return Ok(Target {
                scene: self.scene(program, command.collect(), recover),
                build: None,
                build_recovery,
            });
        }
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
            program.stdin.clone_from(&self.stdin);
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

    /// Takes a folder for the results, and removes what an earlier check left there; reads standard input. Nothing is touched if
    /// what is to be checked cannot be found.
    pub(super) fn claim(&mut self) -> Result<Claimed, Refusal> {
        if let Some(directory) = &self.pm_dir
            && !directory.is_dir()
        {
            let why = format!("--pm-dir {}: no such directory", directory.display());
            return Err(Refusal::new(Exit::Usage, why));
        }
        match (self.sources.is_empty(), self.command.first()) {
            (false, _) => readable(&self.sources)?,
            (true, Some(program)) => found(PathBuf::from(program)).map(drop)?,
            (true, None) => {
                let why = "nothing to check: name sources, or a program after `--` (landfall check --help)";
                return Err(Refusal::new(Exit::Usage, why));
            }
        }
        let usage = |why: String| Refusal::new(Exit::Usage, why);
        let claimed = match &self.asked_out {
            Some(out) => {
                let claimed = out::claim(out).map_err(usage)?;
                claimed.ok_or_else(|| usage(out::taken(out)))?
            }
            None => {
                let claimed = out::claim_beside(Path::new(OUT)).map_err(usage)?;
                if claimed.path != Path::new(OUT) {
                    let path = claimed.path.display();
                    eprintln!("landfall: another check writes to {OUT}: this one writes to {path}");
                }
                claimed
            }
        };
        self.out.clone_from(&claimed.path);
        claimed.clear(is_result).map_err(usage)?;
        // Known now rather than after the search.
        let probe = |name: &str| out::write_listed(&self.out, name, b"");
        let failed = |e| usage(format!("--out {}: {e}", self.out.display()));
        probe("run.json").map_err(failed)?;
        std::fs::remove_file(self.out.join("run.json")).map_err(failed)?;
        self.take_input()?;
        Ok(claimed)
    }

    /// Standard input, unless somebody types it: read once, for all runs, and kept for replay.
    fn take_input(&mut self) -> Result<(), Refusal> {
        if std::io::stdin().is_terminal() {
            return Ok(());
        }
        let waits = || {
            eprintln!(
                "landfall: reading standard input to its end, for the program (`< /dev/null` if there is none)"
            );
        };
        self.stdin = match Input::standard(waits) {
            Ok(input) => input,
            Err(_) if landfall_native::interrupted() => {
                return Err(Refusal::new(Exit::Limit, "interrupted"));
            }
            Err(e) => return Err(Refusal::new(Exit::Usage, format!("standard input: {e}"))),
        };
        if let Some(input) = &self.stdin {
            let path = self.out.join(INPUT);
            let beside = out::beside(&path);
            let saved = out::list(&self.out, INPUT)
                .and_then(|()| input.save(&beside))
                .and_then(|()| std::fs::rename(&beside, &path));
            saved.map_err(|e| Refusal::new(Exit::Usage, format!("{}: {e}", path.display())))?;
        }
        Ok(())
    }

    fn compile(&self, sources: &[PathBuf], program: &Path) -> Result<Build, Refusal> {
        let language = flags::language(&self.compiler_flags, sources);
        let mut arguments: Vec<OsString> = self.compiler_flags.clone();
        arguments.extend(sources.iter().map(|s| s.clone().into_os_string()));
        let build = Build::new(language, &arguments);
        let beside = out::beside(program);
        arguments.extend(["-o".into(), beside.as_os_str().to_owned()]);
        let Compilation {
            mut command,
            remarks,
        } = compiler::command(language, &arguments).map_err(|e| Refusal::new(Exit::Usage, e))?;
        for remark in remarks {
            eprintln!("landfall: {remark}");
        }
        let status = command.spawn().and_then(wait);
        let not_built = |why: String| {
            let _ = std::fs::remove_file(&beside);
            Refusal::new(Exit::Build, why)
        };
        match status {
            Ok(Some(status)) if status.success() => {}
            Ok(Some(_)) => return Err(not_built("the program did not build".to_owned())),
            Ok(None) => {
                let _ = std::fs::remove_file(&beside);
                return Err(Refusal::new(Exit::Limit, "interrupted"));
            }
            Err(error) => return Err(not_built(format!("the compiler: {error}"))),
        }
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let named = out::list(&self.out, &name).and_then(|()| std::fs::rename(&beside, program));
        named.map_err(|e| not_built(format!("{}: {e}", program.display())))?;
        Ok(build)
    }
}

/// Waits for the compiler; none if the user did not want to.
fn wait(mut child: Child) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status).filter(|_| !landfall_native::interrupted()));
        }
        if landfall_native::interrupted() {
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PULSE);
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
