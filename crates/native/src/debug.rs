//! One run under a debugger: the job lies in shared memory before the program starts, and the program is the debugger's child.

use crate::error::SubjectError;
use crate::job::{Isolation, Job};
use crate::launch::prepare;
use crate::program::Program;
use crate::server::header;
use crate::shared::{futex_wake, set_bits, set_signals, set_streamed};
use landfall_vocab::shared::{CONTROL_FD, PLAIN_PROCESSOR, PROCESSOR, SERVE, job, slot_state};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::Ordering::Release;

/// Runs `debugger`, in whose hands `program` (in a fork, without random addresses) does one job. The debugger must start the
/// program with its environment and follow the fork.
pub fn debug(
    program: &Program,
    job: &Job,
    mut debugger: Command,
) -> Result<ExitStatus, SubjectError> {
    let mut program = program.clone();
    program.isolation = Isolation::Fork;
    let shared = prepare(&program)?;
    let slot = shared.slot(0);
    if !slot.fill(
        header(job, job.image.lines.len(), job::SHOW),
        &job.image.lines,
        job,
    ) {
        return Err(SubjectError::ImageTooLarge {
            lines: job.image.lines.len(),
        });
    }
    let points = job.threads.points.as_deref();
    set_bits(
        &shared.control().points,
        points.map_or(&[][..], Vec::as_slice),
    );
    set_streamed(&shared.control().streamed, job.threads.streamed.as_deref());
    if let Some(signals) = &job.threads.signals {
        set_signals(shared.control(), signals);
    }
    slot.state().store(slot_state::POSTED, Release);
    debugger.env(PROCESSOR, PLAIN_PROCESSOR).env(SERVE, "1");
    let control = shared.fd();
    // SAFETY: runs between fork and exec; only calls that are safe there, and nothing allocates.
    unsafe {
        debugger.pre_exec(move || {
            if libc::dup2(control, CONTROL_FD) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let name = debugger.get_program().to_string_lossy().into_owned();
    let ended = debugger.spawn().and_then(|mut child| child.wait());
    // Should the debugger have let go of the server, it leaves by itself.
    let control = shared.control();
    control.quit.store(1, Release);
    control.doorbell.fetch_add(1, Release);
    futex_wake(&control.doorbell);
    ended.map_err(|cause| SubjectError::Start {
        program: name,
        cause,
    })
}
