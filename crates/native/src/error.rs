//! What can go wrong before a program does.

use std::io;

// Causes are part of the sentence and no `source`: a printer of chains would say them twice.

/// Why a job could not be run at all. What a program does wrong is an [`Outcome`], not an error.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    #[error("{program}: cannot be started: {cause}")]
    Start { program: String, cause: io::Error },
    #[error("{program}: not built with `landfall cc` (it runs, but nothing in it answers)")]
    NotInstrumented { program: String },
    #[error("{program}: {why}")]
    Refused { program: String, why: String },
    #[error("{program}: ended before main ({status}){output}")]
    EndedEarly {
        program: String,
        status: String,
        output: String,
    },
    #[error(
        "{program}: its process was killed from outside (SIGKILL): by someone, or by the system for want of memory (`dmesg` says so); there is no verdict, check it again"
    )]
    Killed { program: String },
    #[error("the image does not fit: {lines} lines")]
    ImageTooLarge { lines: usize },
    /// The deadline of the job is reached.
    #[error("there was no time to run it")]
    Stopped,
    #[error("shared memory: {0}")]
    Shared(io::Error),
    #[error("{directory}: {cause}")]
    PoolFiles { directory: String, cause: io::Error },
}
