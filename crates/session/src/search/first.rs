//! Where every search begins: the program has run once, and nothing has failed around it.

use crate::error::{Error, ErrorKind};
use crate::options::Asked;
use crate::programs::{Programs, base_of};
use crate::report::SearchReport;
use landfall_model::image::Image;
use landfall_native::{Execution, Job, Outcome, Server};

pub(crate) struct FirstRun {
    pub(crate) server: Server,
    pub(crate) execution: Execution,
    /// What every run of this program starts from.
    pub(crate) base: Image,
}

impl FirstRun {
    pub(crate) fn of(programs: &Programs, job: &Job) -> Result<FirstRun, Error> {
        let mut server = Server::start(&programs.program).map_err(Error::cannot_run)?;
        let execution = server.run(job).map_err(Error::cannot_run)?;
        let base = base_of(&server);
        Ok(FirstRun {
            server,
            execution,
            base,
        })
    }

    /// Can a power failure make a difference? Another program may do anything after it; the same one does the same again if it never asked
    /// for persistent memory.
    pub(crate) fn persists(&self, programs: &Programs) -> bool {
        self.server.asked() || programs.recover.is_some()
    }

    /// What can be said of a search before it has begun; `earlier` says what was found with other values.
    pub(crate) fn report(&self, options: &Asked, earlier: &SearchReport) -> SearchReport {
        let mut report = earlier.clone();
        report.events += self.execution.events.len() as u64;
        report.not_judged = (options.checks.is_empty())
            .then(|| options.leaves_no_tree().map(str::to_owned))
            .flatten();
        report.note_foreign("", self.execution.foreign.as_ref(), &self.server.symbols());
        report.note_input(self.execution.read_input, options);
        report
    }

    /// Why no search can be built on it.
    pub(crate) fn refusal(&self) -> Option<Error> {
        match &self.execution.outcome {
            Outcome::Thread { why } | Outcome::Forbidden { why, .. } => {
                Some(Error::new(ErrorKind::Usage, why))
            }
            Outcome::Internal { why } => Some(Error::new(ErrorKind::Internal, why)),
            Outcome::Strayed => Some(Error::new(
                ErrorKind::Uncontrolled,
                "the program is not deterministic under control: a thread that went on before cannot go on now",
            )),
            _ => None,
        }
    }
}
