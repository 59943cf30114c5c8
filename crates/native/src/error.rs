//! What can go wrong before a program does.

use std::io;

/// Why a job could not be run at all. What a program does wrong is an [`Outcome`], not an error.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    #[error("{program}: cannot be started: {source}")]
    Start { program: String, source: io::Error },
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
    #[error("the image does not fit: {lines} lines")]
    ImageTooLarge { lines: usize },
    #[error("shared memory: {0}")]
    Shared(io::Error),
    #[error("{directory}: {source}")]
    PoolFiles {
        directory: String,
        source: io::Error,
    },
}
