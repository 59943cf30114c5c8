//! Several tests at a time, their reports in the order of the files.

use super::collect::FoundFile;
use super::progress::LitmusProgress;
use super::report::{CrossCheck, FileReport, TestReport, TestVerdict};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The axiomatic definition recurses once per read of the test; address space is all that an unused stack costs.
const STACK: usize = 64 << 20;
const GLANCE: Duration = Duration::from_millis(200);

pub(super) fn run(
    found: &[FoundFile],
    jobs: Option<NonZeroUsize>,
    judge: impl Fn(&FoundFile) -> FileReport + Sync,
) -> Vec<FileReport> {
    let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let jobs = jobs.map_or_else(processors, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let mut reports: Vec<Option<FileReport>> = found.iter().map(|_| None).collect();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let work = || {
            let sender = sender.clone();
            let (next, judge) = (&next, &judge);
            move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(test) = found.get(index) else { break };
                    // One test that trips over an error of ours must not hide the results of the others.
                    let report = catch_unwind(AssertUnwindSafe(|| judge(test)))
                        .unwrap_or_else(|_| panicked(test));
                    if sender.send((index, report)).is_err() {
                        break;
                    }
                }
            }
        };
        for _ in 0..jobs.min(found.len()) {
            let thread = thread::Builder::new().stack_size(STACK);
            if thread.spawn_scoped(scope, work()).is_err() {
                break; // the system gives no more: those that run share the work
            }
        }
        drop(sender);
        let mut progress = LitmusProgress::new(found.len());
        let mut done = 0;
        loop {
            match receiver.recv_timeout(GLANCE) {
                Ok((index, report)) => {
                    reports[index] = Some(report);
                    done += 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            progress.show(done);
        }
    });
    // Only where the system gave no thread at all.
    let missing =
        |(report, found): (Option<FileReport>, &FoundFile)| report.unwrap_or_else(|| judge(found));
    reports.into_iter().zip(found).map(missing).collect()
}

fn panicked(found: &FoundFile) -> FileReport {
    let message = "the search stopped with a panic (above)".to_owned();
    FileReport {
        file: found.path.clone(),
        found: Ok(TestReport {
            name: found.path.display().to_string(),
            after_failure: false,
            places: Vec::new(),
            outcomes: Vec::new(),
            states: 0,
            expectations: Vec::new(),
            cross_check: CrossCheck::NotRun,
            verdict: TestVerdict::Internal(message),
        }),
    }
}
