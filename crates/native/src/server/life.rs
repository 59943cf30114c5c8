//! The server process: started, replaced when a run took it along, and gone with its owner.

use super::{PULSE, START, Server};
use crate::error::SubjectError;
use crate::launch::launch;
use crate::shared::futex_wait;
use landfall_vocab::shared::phase;
use std::io::{Read, Seek};
use std::sync::atomic::Ordering::Acquire;
use std::time::Instant;

impl Server {
    pub(super) fn await_start(&mut self) -> Result<(), SubjectError> {
        let program = self.program.path.display().to_string();
        let started = Instant::now();
        loop {
            let control = self.shared.control();
            match control.phase.load(Acquire) {
                phase::SERVING => return Ok(()),
                phase::REFUSED => {
                    return Err(SubjectError::Refused {
                        program,
                        why: self.shared.text(),
                    });
                }
                seen => futex_wait(&control.phase, seen, PULSE),
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                if self.shared.control().phase.load(Acquire) == phase::REFUSED {
                    return Err(SubjectError::Refused {
                        program,
                        why: self.shared.text(),
                    });
                }
                if status.success() {
                    return Err(SubjectError::NotInstrumented { program });
                }
                let output = self.server_output();
                return Err(SubjectError::EndedEarly {
                    program,
                    status: status.to_string(),
                    output,
                });
            }
            if started.elapsed() > START {
                self.kill_all();
                return Err(SubjectError::NotInstrumented { program });
            }
        }
    }

    pub(super) fn server_output(&mut self) -> String {
        let mut text = Vec::new();
        let _ = self.errors.rewind();
        let _ = (&self.errors).take(4096).read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        if text.trim().is_empty() {
            String::new()
        } else {
            format!(":\n{}", text.trim_end())
        }
    }

    /// Starts over with a new process on fresh shared memory. An error where the old one was killed, and not by us: what the run
    /// would have done is not known, and whoever waits for it must not take it for something the program does.
    pub(super) fn replace(&mut self) -> Result<(), SubjectError> {
        self.asked = self.asked();
        self.tell_inputs();
        self.kill_all();
        let (shared, child, errors) = launch(&self.program)?;
        (self.shared, self.child, self.errors, self.next) = (shared, child, errors, 0);
        self.in_flight = 0;
        self.await_start()?;
        self.rewrite_what_is_known()?;
        for image in std::mem::take(&mut self.base) {
            self.set_base(image)?;
        }
        (self.points, self.streamed, self.signals) = (None, None, None);
        match std::mem::take(&mut self.killed) {
            true => Err(SubjectError::Killed {
                program: self.program.path.display().to_string(),
            }),
            false => Ok(()),
        }
    }

    pub(super) fn kill_all(&mut self) {
        // SAFETY: the group was created for this server and is gone once it is reaped, which happens below.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tell_inputs();
        self.kill_all();
    }
}
