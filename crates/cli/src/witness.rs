//! The file that keeps a bug: everything that is needed to see it happen again, from scratch.

use crate::scene::{Failure, Scene, Threaded};
use anyhow::{Context, bail};
use landfall_model::image::Image;
use landfall_model::line::{LINE_BYTES, Line};
use landfall_model::log::{Cut, Version};
use landfall_model::order::Platform;
use landfall_native::compiler::{self, Language};
use landfall_native::{HeapChecks, Input, Job, MallocMetadata, Program};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Witness {
    pub(crate) tool: String,
    pub(crate) version: String,
    /// Where the check ran: paths start there.
    pub(crate) directory: Word,
    pub(crate) program: Built,
    /// What runs after a power failure, if it is something else.
    pub(crate) recover: Option<Built>,
    pub(crate) persistent_memory: Memory,
    /// Steps of one execution before it counts as a hang.
    pub(crate) events: u64,
    /// What every execution read from its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stdin: Option<Given>,
    /// How the threads of the first execution ran, if it had several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<Threads>,
    /// How those of the last recovery did, where not by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recovery_threads: Option<Threads>,
    pub(crate) failures: Vec<PowerFailure>,
    pub(crate) outcome: Ended,
    pub(crate) finding: Value,
}

/// A file that was given to every execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Given {
    pub(crate) file: Word,
    pub(crate) bytes: u64,
}

impl Given {
    pub(crate) fn input(&self) -> anyhow::Result<Input> {
        let path = self.file.path();
        let name = path.display();
        let input = Input::open(&path)
            .with_context(|| format!("{name}: what the program read from its standard input"))?;
        if input.length() != self.bytes {
            bail!("{name}: not what the program read from its standard input: its size is another");
        }
        Ok(input)
    }
}

/// A schedule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Threads {
    pub(crate) model: String,
    /// Who takes each step: a thread, or from 32 on its store buffer. With streams of non-temporal stores, store buffers are numbered
    /// from `most` on, and each thread's streams after those.
    pub(crate) schedule: Vec<u8>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) streams: u8,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) most: u8,
    /// Plain accesses are steps: all of them, or these.
    pub(crate) everywhere: bool,
    pub(crate) points: Vec<u64>,
    /// Stores to persistent memory, flushes and fences are steps.
    #[serde(default)]
    pub(crate) persistency: bool,
    /// So are creations of threads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) creations: bool,
}

fn is_nothing(bytes: &u16) -> bool {
    *bytes == 0
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl Threads {
    pub(crate) fn of_recovery(recovery: &Threaded) -> Option<Threads> {
        Threads::of(&Job {
            schedule: Some(recovery.schedule.clone()),
            threads: recovery.threads.clone(),
            ..Job::default()
        })
    }

    pub(crate) fn of(job: &Job) -> Option<Threads> {
        let schedule = job.schedule.clone()?;
        let points = job.threads.points.as_ref();
        Some(Threads {
            model: if job.threads.buffered { "tso" } else { "sc" }.to_owned(),
            schedule,
            streams: job.threads.streams,
            most: job.threads.most,
            everywhere: job.threads.everywhere,
            persistency: job.threads.persistency,
            creations: job.threads.creations,
            points: points.map_or_else(Vec::new, |points| points.to_vec()),
        })
    }

    fn prepare(&self, job: &mut Job) -> anyhow::Result<()> {
        job.schedule = Some(self.schedule.clone());
        job.threads.buffered = match self.model.as_str() {
            "tso" => true,
            "sc" => false,
            other => bail!("the witness names a model `{other}`; tso or sc"),
        };
        (job.threads.streams, job.threads.most) = (self.streams, self.most);
        job.threads.everywhere = self.everywhere;
        job.threads.persistency = self.persistency;
        job.threads.creations = self.creations;
        job.threads.points = Some(Arc::new(self.points.clone()));
        Ok(())
    }
}

/// A program, and how to build it again should it be gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Built {
    pub(crate) path: Word,
    pub(crate) arguments: Vec<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) build: Option<Build>,
}

/// The sources of a program and the options they were compiled with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Build {
    pub(crate) language: String,
    pub(crate) arguments: Vec<Word>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) platform: String,
    pub(crate) dir: Option<Word>,
    pub(crate) heap: bool,
    /// By how many bytes its blocks were moved.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub(crate) heap_offset: u16,
    /// The volatile heap was looked at.
    #[serde(default)]
    pub(crate) heap_checks: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tear: bool,
    /// A digest of memory before the first execution: of the files under `dir`.
    pub(crate) at_first: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PowerFailure {
    /// Entries of the execution's log that had happened.
    pub(crate) cut: u32,
    /// Lines that are older than they could be.
    pub(crate) old: Vec<OldLine>,
    /// Persistent memory as it was left, where it differs from the beginning; of very much memory, the first lines.
    pub(crate) image: Vec<ImageLine>,
    /// Of all of it, where not all of it is here: the failures say how to make it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) image_digest: Option<String>,
}

/// Lines of an image that a witness shows.
pub(crate) const MOST_LINES: usize = 256;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OldLine {
    pub(crate) line: String,
    pub(crate) version: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ImageLine {
    pub(crate) line: String,
    pub(crate) bytes: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// A path or an argument: text, or bytes where it is none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Word {
    Text(String),
    Bytes(Vec<u8>),
}

impl Word {
    pub(crate) fn new(word: &OsStr) -> Word {
        match word.to_str() {
            Some(text) => Word::Text(text.to_owned()),
            None => Word::Bytes(word.as_bytes().to_vec()),
        }
    }

    pub(crate) fn os(&self) -> OsString {
        match self {
            Word::Text(text) => text.into(),
            Word::Bytes(bytes) => OsString::from_vec(bytes.clone()),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.os().into()
    }
}

impl Built {
    pub(crate) fn new(program: &Program, build: Option<Build>) -> Built {
        Built {
            path: Word::new(program.path.as_os_str()),
            arguments: program.arguments.iter().map(|a| Word::new(a)).collect(),
            build,
        }
    }

    /// The program, built again if it is gone.
    fn program(&self) -> anyhow::Result<Program> {
        let path = self.path.path();
        if !path.exists() {
            let Some(build) = &self.build else {
                bail!(
                    "{}: no such program, and no sources to build it from",
                    path.display()
                );
            };
            build.again(&path)?;
        }
        Ok(Program::new(path).arguments(self.arguments.iter().map(Word::os)))
    }
}

impl Build {
    pub(crate) fn new(language: Language, arguments: &[OsString]) -> Build {
        Build {
            language: match language {
                Language::C => "c".to_owned(),
                Language::Cxx => "c++".to_owned(),
            },
            arguments: arguments.iter().map(|a| Word::new(a)).collect(),
        }
    }

    fn again(&self, path: &Path) -> anyhow::Result<()> {
        let language = match self.language.as_str() {
            "c" => Language::C,
            "c++" => Language::Cxx,
            other => bail!("the witness names a language `{other}`; c or c++"),
        };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        }
        // Others may do the same at the same time.
        let beside = crate::out::beside(path);
        let mut arguments: Vec<OsString> = self.arguments.iter().map(Word::os).collect();
        arguments.extend(["-o".into(), beside.as_os_str().to_owned()]);
        let status = compiler::command(language, &arguments)?.command.status()?;
        if !status.success() {
            bail!("{}: the program did not build", path.display());
        }
        std::fs::rename(&beside, path).with_context(|| path.display().to_string())
    }
}

impl Witness {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Witness> {
        let text = std::fs::read(path).with_context(|| path.display().to_string())?;
        let witness: Witness = serde_json::from_slice(&text)
            .with_context(|| format!("{}: not a witness of landfall check", path.display()))?;
        Ok(witness)
    }

    /// The programs as they were checked.
    pub(crate) fn scene(&self) -> anyhow::Result<Scene> {
        let memory = &self.persistent_memory;
        let platform = match memory.platform.as_str() {
            "adr" => Platform::Adr,
            "eadr" => Platform::Eadr,
            other => bail!("the witness names a platform `{other}`; adr or eadr"),
        };
        let input = self.stdin.as_ref().map(Given::input).transpose()?;
        let program = |built: &Built| -> anyhow::Result<Program> {
            let mut program = built.program()?;
            program.pm_dir = memory.dir.as_ref().map(Word::path);
            program.stdin.clone_from(&input);
            program.pm_heap = memory.heap.then_some(MallocMetadata::Modelled);
            program.heap_offset = memory.heap_offset;
            if memory.heap_checks {
                program.heap = HeapChecks::On;
            }
            Ok(program)
        };
        let mut job = Job::default();
        job.limits.events = self.events;
        if let Some(threads) = &self.threads {
            threads.prepare(&mut job)?;
        }
        let recovery = self.recovery_threads.as_ref();
        let recovery = recovery.map(|threads| {
            let mut job = Job::default();
            threads.prepare(&mut job)?;
            anyhow::Ok(Threaded {
                schedule: threads.schedule.clone(),
                threads: job.threads,
            })
        });
        Ok(Scene {
            recovery: recovery.transpose()?,
            program: program(&self.program)?,
            recover: self.recover.as_ref().map(program).transpose()?,
            platform,
            tear: memory.tear,
            job,
        })
    }

    pub(crate) fn failures(&self) -> anyhow::Result<Vec<Failure>> {
        self.failures.iter().map(PowerFailure::model).collect()
    }
}

impl PowerFailure {
    pub(crate) fn new(failure: &Failure, left: &Image, base: &Image) -> PowerFailure {
        let lines = left.delta(base).take(MOST_LINES + 1).count();
        PowerFailure {
            cut: failure.cut.0,
            old: (failure.old.iter())
                .map(|&(line, version)| OldLine {
                    line: format!("{:#x}", line.start().0),
                    version: version.0,
                })
                .collect(),
            image: image_lines(left, base),
            image_digest: (lines > MOST_LINES).then(|| digest(left)),
        }
    }

    fn model(&self) -> anyhow::Result<Failure> {
        let line = |old: &OldLine| -> anyhow::Result<(Line, Version)> {
            let digits = old.line.trim_start_matches("0x");
            let start = u64::from_str_radix(digits, 16)
                .with_context(|| format!("the witness names a line `{}`", old.line))?;
            Ok((Line(start / LINE_BYTES as u64), Version(old.version)))
        };
        Ok(Failure {
            cut: Cut(self.cut),
            old: self
                .old
                .iter()
                .map(line)
                .collect::<anyhow::Result<Vec<_>>>()?,
        })
    }
}

/// Where an image differs from another, in as many lines as a witness shows.
pub(crate) fn image_lines(image: &Image, base: &Image) -> Vec<ImageLine> {
    image
        .delta(base)
        .take(MOST_LINES)
        .map(|(line, bytes)| ImageLine {
            line: format!("{:#x}", line.start().0),
            bytes: bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            }),
        })
        .collect()
}

/// A digest of an image, to notice that it is not the same any more.
pub(crate) fn digest(image: &Image) -> String {
    let nothing = Image::default();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for (line, bytes) in image.delta(&nothing) {
        for byte in line.0.to_le_bytes().into_iter().chain(bytes) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
