//! What is to be checked: sources are built, programs are found, the folder for results is claimed.

mod init;

use crate::baseline::Baseline;
use crate::error::{Error, ErrorKind};
use crate::observer::CheckWatch;
use crate::options::{Asked, CheckKind, Options, Stdin, Target};
use crate::programs::Programs;
use crate::results::{self, Claimed};
use crate::witness::build_command;
use init::PoolInit;
use landfall_finding::BuildCommand;
use landfall_native::compiler::{self, Compilation, Language};
use landfall_native::{
    ClientScript, HeapChecks, Input, Job, MallocMetadata, Program, Saying, SayingKind,
};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Where results go if nobody says.
const OUT: &str = "landfall-out";
/// What was read from standard input, beside the results.
pub(crate) const INPUT: &str = "stdin";
/// How often to look at a compiler.
const PULSE: Duration = Duration::from_millis(5);

/// Files that a check leaves.
fn is_result(name: &str) -> bool {
    let bug = name.strip_prefix('B').and_then(|n| n.strip_suffix(".json"));
    bug.is_some_and(|n| n.parse::<u32>().is_ok())
        || [
            "run.json",
            "report.html",
            "program",
            "recovery",
            "init",
            init::POOLS,
            INPUT,
        ]
        .contains(&name)
}

/// A program that can be run, and what runs after a power failure.
#[derive(Debug)]
pub(crate) struct BuiltTarget {
    pub(crate) programs: Programs,
    /// How the program was built, where we built it.
    pub(crate) build: Option<BuildCommand>,
    pub(crate) build_recovery: Option<BuildCommand>,
}

/// Builds and finds.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) target: &'a Target,
    pub(crate) options: &'a Asked,
    pub(crate) watch: &'a CheckWatch<'a>,
}

impl Setup<'_> {
    /// Builds the sources, or finds the program.
    pub(crate) fn target(&self) -> Result<BuiltTarget, Error> {
        let mut built = self.programs_built()?;
        self.all_replaced(&built.programs)?;
        if let Some(command) = &self.options.pm_init {
            let pools = self.pools(command)?;
            let programs = &mut built.programs;
            for program in [Some(&mut programs.program), programs.recover.as_mut()] {
                program
                    .into_iter()
                    .for_each(|program| program.pools = Some(pools.clone()));
            }
        }
        Ok(built)
    }

    /// A lock that nothing was put in the place of is not what was asked for.
    fn all_replaced(&self, programs: &Programs) -> Result<(), Error> {
        if self.options.replace.is_empty() {
            return Ok(());
        }
        let program = [Some(&programs.program), programs.recover.as_ref()];
        let said: Vec<Saying> = (program.into_iter().flatten())
            .flat_map(|program| landfall_native::sayings(&program.path))
            .filter(|saying| saying.kind == SayingKind::Replaced)
            .collect();
        for rule in &self.options.replace {
            let of_rule = |ending: &str| {
                let mut of = said.iter().filter(|saying| saying.file == *rule);
                of.any(|saying| saying.function.ends_with(ending))
            };
            let missing = match rule.rsplit_once('_').map(|(_, last)| last) {
                Some("mutex" | "spin" | "rwlock")
                    if !["_lock", "_trylock", "_wrlock"]
                        .iter()
                        .any(|end| of_rule(end)) =>
                {
                    Some("takes it")
                }
                Some("mutex" | "spin" | "rwlock") if !of_rule("unlock") => Some("gives it back"),
                _ if !of_rule("") => Some("is called that"),
                _ => None,
            };
            if let Some(missing) = missing {
                let how = match self.target.sources.is_empty() {
                    true => "; build the program with `landfall cc --replace=…`",
                    false => "",
                };
                return Err(Error::usage(format!(
                    "--replace {rule}: no function that {missing}, with the address of the lock as its first argument{how}"
                )));
            }
        }
        Ok(())
    }

    /// The files in the directory of pools as that command leaves them.
    fn pools(&self, command: &str) -> Result<PathBuf, Error> {
        let init = PoolInit::new(self.options, command)?;
        let compiled = match init.source() {
            Some(source) => {
                let built = self.options.out.join("init");
                readable(self.options, std::slice::from_ref(&source))?;
                self.compile(&[source], &built)?;
                Some(built)
            }
            None => None,
        };
        init.run(compiled)
    }

    fn programs_built(&self) -> Result<BuiltTarget, Error> {
        if self.target.sources.is_empty() {
            let mut command = self.target.command.iter().cloned();
            let program = self.found(PathBuf::from(command.next().unwrap_or_default()))?;
            let (recover, build_recovery) = self.recovery()?;
            return Ok(BuiltTarget {
                programs: self.programs(program, command.collect(), recover),
                build: None,
                build_recovery,
            });
        }
        let program = self.options.out.join("program");
        let build = self.compile(&self.target.sources, &program)?;
        let (recover, build_recovery) = self.recovery()?;
        Ok(BuiltTarget {
            programs: self.programs(program, self.target.command.clone(), recover),
            build: Some(build),
            build_recovery,
        })
    }

    fn programs(
        &self,
        program: PathBuf,
        arguments: Vec<OsString>,
        recover: Option<Program>,
    ) -> Programs {
        let options = self.options;
        let with_memory = |mut program: Program| {
            program.pm_heap = options.pm_heap.then_some(MallocMetadata::Modelled);
            program.heap_offset = options.heap_offset;
            program.fresh = options.fresh_blocks()[0];
            program.sv_comp = options.sv_comp;
            if options.checks(CheckKind::Heap) {
                program.heap = HeapChecks::On;
            }
            program.pm_dir = options.pm_dir.as_ref().map(|dir| options.located(dir));
            program.stdin.clone_from(&options.input);
            program.client.clone_from(&options.talks);
            program.directory.clone_from(&options.directory);
            program
        };
        let mut job = Job::default();
        job.limits.events = options.events;
        Programs {
            program: with_memory(Program::new(program).arguments(arguments)),
            recover: recover.map(with_memory),
            platform: options.platform,
            tear: options.tear,
            job,
            recovery: None,
        }
    }

    /// The command of `--recover`; a source is built first.
    fn recovery(&self) -> Result<(Option<Program>, Option<BuildCommand>), Error> {
        let Some(command) = &self.options.recover else {
            return Ok((None, None));
        };
        let usage = |why: &str| Error::usage(format!("--recover {command}: {why}"));
        let mut words = words(command)
            .ok_or_else(|| usage("a quote is not closed"))?
            .into_iter();
        let program = words.next().ok_or_else(|| usage("names no program"))?;
        let program = PathBuf::from(program);
        if is_source(&program) {
            let built = self.options.out.join("recovery");
            readable(self.options, std::slice::from_ref(&program))?;
            let build = self.compile(&[program], &built)?;
            return Ok((Some(Program::new(built).arguments(words)), Some(build)));
        }
        Ok((
            Some(Program::new(self.found(program)?).arguments(words)),
            None,
        ))
    }

    /// A bare name means the working directory, not PATH: this is a program someone just built.
    fn found(&self, program: PathBuf) -> Result<PathBuf, Error> {
        found(self.options, program)
    }

    fn compile(&self, sources: &[PathBuf], program: &Path) -> Result<BuildCommand, Error> {
        let language = language(&self.target.compiler_flags, sources);
        let mut arguments: Vec<OsString> = Vec::new();
        for (asked, option) in [
            (self.options.sv_comp, "--sv-comp"),
            (self.options.asm_atomic, "--asm-atomic"),
            (self.options.pmdk, "--pmdk"),
            (self.options.kernel, "--kernel"),
        ] {
            arguments.extend(asked.then(|| option.into()));
        }
        let rules = self.options.replace.iter();
        arguments.extend(rules.map(|rule| format!("--replace={rule}").into()));
        arguments.extend(self.target.compiler_flags.iter().cloned());
        arguments.extend(sources.iter().map(|s| s.clone().into_os_string()));
        let build = build_command(language, &arguments);
        let beside = results::beside(program);
        arguments.extend(["-o".into(), beside.as_os_str().to_owned()]);
        let Compilation {
            mut command,
            remarks,
        } = compiler::command_in(self.options.directory.as_deref(), language, &arguments)
            .map_err(Error::usage)?;
        for remark in remarks {
            self.watch.remark(&remark.to_string());
        }
        if self.options.quiet_compiler {
            command.stderr(std::process::Stdio::null());
        }
        let status = command.spawn().and_then(|child| wait(child, self.options));
        let not_built = |why: String| {
            let _ = std::fs::remove_file(&beside);
            Error::new(ErrorKind::Build, why)
        };
        match status {
            Ok(Some(status)) if status.success() => {}
            Ok(Some(_)) => return Err(not_built("the program did not build".to_owned())),
            Ok(None) => {
                let _ = std::fs::remove_file(&beside);
                return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
            }
            Err(error) => return Err(not_built(format!("the compiler: {error}"))),
        }
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let named = results::list(&self.options.out, &name)
            .and_then(|()| std::fs::rename(&beside, program));
        named.map_err(|e| not_built(format!("{}: {e}", program.display())))?;
        Ok(build)
    }
}

/// Takes a folder for the results, and removes what an earlier check left there; reads standard input. Nothing is touched if
/// what is to be checked cannot be found.
pub(crate) fn claim(
    target: &Target,
    options: Options,
    watch: &CheckWatch<'_>,
) -> Result<(Claimed, Asked), Error> {
    if let Some(directory) = &options.pm_dir
        && !options.located(directory).is_dir()
    {
        let why = format!("--pm-dir {}: no such directory", directory.display());
        return Err(Error::usage(why));
    }
    match (target.sources.is_empty(), target.command.first()) {
        (false, _) => readable(&options, &target.sources)?,
        (true, Some(program)) => found(&options, PathBuf::from(program)).map(drop)?,
        (true, None) => {
            let why =
                "nothing to check: name sources, or a program after `--` (landfall check --help)";
            return Err(Error::usage(why));
        }
    }
    let claimed = match &options.asked_out {
        Some(out) => {
            let out = options.located(out);
            let claimed = results::claim(&out).map_err(Error::usage)?;
            claimed.ok_or_else(|| Error::usage(results::taken(&out)))?
        }
        None => {
            let out = options.located(Path::new(OUT));
            let claimed = results::claim_beside(&out).map_err(Error::usage)?;
            if claimed.path != out {
                let path = claimed.path.display();
                watch.remark(&format!(
                    "another check writes to {OUT}: this one writes to {path}"
                ));
            }
            claimed
        }
    };
    // It may be one of the results that are about to be removed.
    let given = match &options.stdin {
        Stdin::File(path) => {
            let path = options.located(path);
            let why = |e| Error::usage(format!("{}: {e}", path.display()));
            Some(Input::open(&path).map_err(why)?)
        }
        Stdin::Nothing | Stdin::Process => None,
    };
    // So may this.
    let known = match &options.baseline {
        Some(path) => Baseline::read(&options.located(path)).map_err(Error::usage)?,
        None => Baseline::default(),
    };
    let talks = options
        .client
        .as_ref()
        .map(|path| read_client(path, &options));
    let talks = talks.transpose()?;
    let mut options = Asked::new(options, claimed.path.clone());
    options.known = known;
    for (line, name) in talks.iter().flat_map(|talks| &talks.unacknowledged) {
        let file = talks.as_ref().map(|talks| talks.path.display().to_string());
        watch.remark(&format!(
            "{}:{line}: nobody acknowledges `{name}`: no line of the script says `acked {name}`, so only lf_ack of the program can",
            file.unwrap_or_default()
        ));
    }
    options.talks = talks;
    claimed.clear(is_result).map_err(Error::usage)?;
    // Known now rather than after the search.
    let probe = |name: &str| results::write_listed(&options.out, name, b"");
    let failed = |e| Error::usage(format!("--out {}: {e}", options.out.display()));
    probe("run.json").map_err(failed)?;
    std::fs::remove_file(options.out.join("run.json")).map_err(failed)?;
    take_input(&mut options, given, watch)?;
    Ok((claimed, options))
}

/// The script of a client, as a file says it.
fn read_client(path: &Path, options: &Options) -> Result<ClientScript, Error> {
    let shown = path.display();
    let text = std::fs::read(options.located(path))
        .map_err(|e| Error::usage(format!("--client {shown}: {e}")))?;
    let text = String::from_utf8(text).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Error::usage(format!(
            "{shown}:{line}: this is no text (UTF-8); write other bytes as \\xHH"
        ))
    })?;
    ClientScript::parse(path.to_owned(), &text)
        .map_err(|e| Error::usage(format!("{shown}:{}: {}", e.line, e.why)))
}

/// Standard input: read once, for all runs, and kept for replay.
fn take_input(
    options: &mut Asked,
    given: Option<Input>,
    watch: &CheckWatch<'_>,
) -> Result<(), Error> {
    let given = match &options.stdin {
        Stdin::Nothing => return Ok(()),
        Stdin::File(_) => given,
        // Nobody is asked to type it.
        Stdin::Process if std::io::stdin().is_terminal() => return Ok(()),
        Stdin::Process => {
            let waits = || {
                watch.remark(
                    "reading standard input to its end, for the program (`< /dev/null` if there is none)",
                );
            };
            match Input::standard(waits) {
                Ok(input) => input,
                Err(_) if landfall_native::interrupted() => {
                    return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
                }
                Err(e) => return Err(Error::usage(format!("standard input: {e}"))),
            }
        }
    };
    if let Some(input) = &given {
        let path = options.out.join(INPUT);
        let beside = results::beside(&path);
        let saved = results::list(&options.out, INPUT)
            .and_then(|()| input.save(&beside))
            .and_then(|()| std::fs::rename(&beside, &path));
        saved.map_err(|e| Error::usage(format!("{}: {e}", path.display())))?;
    }
    options.input = given;
    Ok(())
}

/// What the sources of a program are written in.
pub fn language(flags: &[OsString], sources: &[PathBuf]) -> Language {
    let said = flags.iter().enumerate().rev().find_map(|(at, flag)| {
        let flag = flag.to_str()?.strip_prefix("-x")?;
        match flag {
            "" => flags.get(at + 1)?.to_str(),
            joined => Some(joined),
        }
    });
    let plus = |source: &PathBuf| {
        let extension = source.extension().and_then(OsStr::to_str);
        matches!(extension, Some("cc" | "cpp" | "cxx" | "C" | "c++"))
    };
    match said {
        Some("c++") => Language::Cxx,
        Some("c") => Language::C,
        _ if sources.iter().any(plus) => Language::Cxx,
        _ => Language::C,
    }
}

/// Is it to be compiled first?
fn is_source(program: &Path) -> bool {
    let extension = program.extension().and_then(OsStr::to_str);
    matches!(extension, Some("c" | "cc" | "cpp" | "cxx" | "C" | "c++"))
}

/// Waits for the compiler; none if the user did not want to.
fn wait(mut child: Child, options: &Asked) -> std::io::Result<Option<ExitStatus>> {
    let unwanted = || landfall_native::interrupted() || options.is_cancelled();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status).filter(|_| !unwanted()));
        }
        if unwanted() {
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PULSE);
    }
}

/// Sources that the compiler could not even open are refused before anything is touched.
fn readable(options: &Options, sources: &[PathBuf]) -> Result<(), Error> {
    for source in sources {
        let path = options.located(source);
        let why = match std::fs::File::open(&path) {
            Ok(_) if path.is_file() => continue,
            Ok(_) => format!("{}: not a source file", source.display()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                format!("{}: no such source file", source.display())
            }
            Err(e) => format!("{}: cannot be read: {e}", source.display()),
        };
        return Err(Error::usage(why));
    }
    Ok(())
}

/// A bare name means the working directory, not PATH: this is a program someone just built.
fn found(options: &Options, program: PathBuf) -> Result<PathBuf, Error> {
    let program = match program.components().count() {
        1 => Path::new(".").join(program),
        _ => program,
    };
    let program = options.located(&program);
    match program.is_file() {
        true => Ok(program),
        false => {
            let why = format!("{}: no such program", program.display());
            Err(Error::usage(why))
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
    use super::*;

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

    #[test]
    fn the_language_is_the_last_x_or_that_of_the_names() {
        let of = |flags: &[&str], source: &str| {
            let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
            language(&flags, &[PathBuf::from(source)])
        };
        assert_eq!(of(&[], "a.c"), Language::C);
        assert_eq!(of(&[], "a.cpp"), Language::Cxx);
        assert_eq!(of(&["-x", "c++"], "a.c"), Language::Cxx);
        assert_eq!(of(&["-xc"], "a.cpp"), Language::C);
        assert_eq!(of(&["-Xclang", "-x"], "a.cpp"), Language::Cxx);
    }
}
