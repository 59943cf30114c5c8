//! From a failure to a crash anyone can see again: made as plain as possible, and run from scratch.

use super::Refusal;
use super::finding::{Finding, kind};
use super::options::Check;
use super::story::Crashed;
use crate::exit::Exit;
use landfall_explore::recovery::Behaviour;
use landfall_model::line::{LINE_BYTES, Line};
use landfall_native::{Execution, Image, Isolation, Job, Program, Server};
use std::ffi::OsStr;
use std::fmt::Write;

#[derive(Debug)]
pub(super) struct Witnesses<'a> {
    program: Program,
    options: &'a Check,
    crashed: &'a Crashed,
    server: Option<Server>,
}

/// A failure that was run from scratch and happened again.
#[derive(Debug)]
pub(super) struct Confirmed {
    pub(super) behaviour: Behaviour,
    pub(super) execution: Execution,
    image: Image,
    pub(super) runs: u64,
}

/// Lines that are tried back at their newest, per failure.
const MOST_TRIES: usize = 64;

impl<'a> Witnesses<'a> {
    pub(super) fn new(program: &Program, options: &'a Check, crashed: &'a Crashed) -> Self {
        let mut program = program.clone();
        program.isolation = Isolation::Fork;
        Witnesses {
            program,
            options,
            crashed,
            server: None,
        }
    }

    /// Runs the failure in a fresh process, with as few lines behind the cut as still fail.
    pub(super) fn confirm(
        &mut self,
        behaviour: &Behaviour,
        failed: &Execution,
    ) -> Result<Confirmed, Refusal> {
        let (execution, image) = self.run(behaviour)?;
        let mut confirmed = Confirmed {
            behaviour: behaviour.clone(),
            execution,
            image,
            runs: 1,
        };
        if confirmed.execution.outcome != failed.outcome {
            let why = "the recovery is not deterministic: a failure did not happen again when run from scratch";
            return Err(Refusal::new(Exit::Uncontrolled, why));
        }
        let lines: Vec<Line> = behaviour.crashes[0]
            .old
            .iter()
            .map(|&(line, _)| line)
            .collect();
        for line in lines.into_iter().take(MOST_TRIES) {
            let mut plainer = confirmed.behaviour.clone();
            plainer.crashes[0].old.retain(|&(l, _)| l != line);
            let (execution, image) = self.run(&plainer)?;
            confirmed.runs += 1;
            let same = kind(&execution.outcome) == kind(&failed.outcome)
                && execution.stack == failed.stack
                && !execution.outcome.is_ok();
            if same {
                confirmed.behaviour = plainer;
                confirmed.execution = execution;
                confirmed.image = image;
            }
        }
        Ok(confirmed)
    }

    fn run(&mut self, behaviour: &Behaviour) -> Result<(Execution, Image), Refusal> {
        let cannot = |error: landfall_native::SubjectError| Refusal::new(Exit::Internal, error);
        let server = match &mut self.server {
            Some(server) => server,
            None => self
                .server
                .insert(Server::start(&self.program).map_err(cannot)?),
        };
        let image = image(self.crashed, behaviour);
        let job = Job {
            image: image.clone(),
            failures: 1,
            ..self.options.job()
        };
        Ok((server.run(&job).map_err(cannot)?, image))
    }

    /// Writes the image beside run.json, and the command that shows the failure.
    pub(super) fn save(&self, finding: &mut Finding, confirmed: &Confirmed) -> Result<(), Refusal> {
        let out = &self.options.out;
        let path = out.join(format!("{}.image", finding.id));
        let mut text = format!("# {}\n", finding.message.replace('\n', " "));
        for line in &confirmed.image.lines {
            let _ = write!(text, "{:#x} ", line.offset);
            for byte in line.bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text.push('\n');
        }
        let failed = |e| Refusal::new(Exit::Usage, format!("{}: {e}", path.display()));
        std::fs::create_dir_all(out).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)?;
        let mut replay = "landfall run --failures 1".to_owned();
        if let Some(events) = self.options.unusual_events() {
            let _ = write!(replay, " --events {events}");
        }
        if self.program.pm_heap.is_some() {
            replay.push_str(" --pm-heap");
        }
        let _ = write!(replay, " --image {}", quoted(path.as_os_str()));
        let _ = write!(replay, " {}", quoted(self.program.path.as_os_str()));
        for argument in &self.program.arguments {
            let _ = write!(replay, " {}", quoted(argument));
        }
        finding.replay = Some(replay);
        finding.witness = Some(path.display().to_string());
        Ok(())
    }
}

/// A word as a shell takes it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Persistent memory as the crash left it, over nothing.
fn image(crashed: &Crashed, behaviour: &Behaviour) -> Image {
    let mut image = Image::default();
    let mut lines: Vec<Line> = crashed.log.lines().collect();
    lines.sort_unstable();
    for line in lines {
        let old = behaviour.crashes[0].old.iter().find(|(l, _)| *l == line);
        let version = old.map_or_else(
            || crashed.log.newest(line, behaviour.crashes[0].cut),
            |&(_, v)| v,
        );
        let mut bytes = [0; LINE_BYTES];
        crashed.log.apply(line, version, &mut bytes);
        if bytes != [0; LINE_BYTES] {
            image.lines.push(landfall_native::Line {
                offset: line.start().0,
                bytes,
            });
        }
    }
    image
}
