//! The memory shared with one server: a memfd of `landfall_vocab::shared` layout, mapped here.

use crate::job::KnownSignals;
use landfall_vocab::reply::{QUESTION_AT, QUESTION_LEN, REPLIES_AT, REPLIES_LEN, Telling};
use landfall_vocab::shared::{
    CHOICES_AT, CLIENT_AT, CONTROL_LEN, Control, IMAGE_AT, IMAGE_LEN, IMAGE_LINE, INPUTS_AT,
    InputValue, JobHeader, MAGIC, MOST_CHOICES, OUTPUT, Outcome, SCRIPT_LEN, SITES_AT, SITES_LEN,
    SLEEPERS_AT, SLOT_LEN, SLOTS, SLOTS_AT, STDERR_AT, STDIN_AT, STDOUT_AT, Sleeper, SlotHeader,
    TOTAL_LEN, TRACE_AT, TRACE_LEN, output_head, point, question, trace_kept,
};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// What a run asks of a command of the client's. Whether it makes sense is for whoever answers to say.
#[derive(Debug)]
pub(crate) struct AskedOfClient {
    pub(crate) after: u32,
    pub(crate) line: u32,
    pub(crate) telling: Option<Telling>,
    pub(crate) told: Vec<u8>,
}

/// An owned mapping; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct SharedMapping {
    base: *mut u8,
    file: OwnedFd,
}

// SAFETY: the pointer is to a mapping this value owns; nothing in it is tied to a thread.
unsafe impl Send for SharedMapping {}

impl SharedMapping {
    pub(crate) fn new() -> io::Result<SharedMapping> {
        // SAFETY: a fresh descriptor, owned here; the mapping is checked before use.
        unsafe {
            let fd = libc::memfd_create(c"landfall".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let file = OwnedFd::from_raw_fd(fd);
            if libc::ftruncate(fd, TOTAL_LEN as i64) != 0 {
                return Err(io::Error::last_os_error());
            }
            let all = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
            let base = libc::mmap(std::ptr::null_mut(), TOTAL_LEN as usize, all, flags, fd, 0);
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let shared = SharedMapping {
                base: base.cast(),
                file,
            };
            let control = shared.base.cast::<Control>();
            (*control).magic = MAGIC;
            (*control).version = landfall_vocab::VERSION;
            (*control).slots = SLOTS as u32;
            Ok(shared)
        }
    }

    pub(crate) fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Settings a server reads once, before it runs.
    pub(crate) fn configure(&mut self, configure: impl FnOnce(&mut Control)) {
        const { assert!(CONTROL_LEN < SITES_AT + 1) };
        // SAFETY: no other process has this mapping yet: `configure` is called before the server starts.
        configure(unsafe { &mut *self.base.cast::<Control>() });
    }

    /// The script of the client, which fits.
    pub(crate) fn set_client(&mut self, code: &[u8]) {
        let length = code.len().min(SCRIPT_LEN as usize);
        // SAFETY: in range, and no other process has this mapping yet.
        unsafe {
            self.base
                .add(CLIENT_AT as usize)
                .copy_from_nonoverlapping(code.as_ptr(), length)
        };
    }

    /// What the commands of the client are known to say: more than before, or the same.
    pub(crate) fn set_replies(&self, replies: &[u8]) {
        let known = self.control().replies_len.load(Relaxed).min(REPLIES_LEN) as usize;
        let length = replies.len().min(REPLIES_LEN as usize);
        let Some(new) = replies.get(known..length) else {
            return;
        };
        let at = (CLIENT_AT + REPLIES_AT) as usize + known;
        // SAFETY: in range; what lies behind the replies that are counted nobody looks at.
        unsafe {
            self.base
                .add(at)
                .copy_from_nonoverlapping(new.as_ptr(), new.len())
        };
        self.control().replies_len.store(length as u64, Release);
    }

    /// What a run wants to know of a command of the client's, if it waits for that.
    pub(crate) fn question(&self) -> Option<AskedOfClient> {
        let asked = &self.control().question;
        if asked.state.load(Acquire) != question::ASKED {
            return None;
        }
        let length = u64::from(asked.length.load(Relaxed)).min(QUESTION_LEN);
        Some(AskedOfClient {
            after: asked.after.load(Relaxed),
            line: asked.line.load(Relaxed),
            telling: Telling::from_number(asked.telling.load(Relaxed)),
            told: self.copy(CLIENT_AT + QUESTION_AT, length),
        })
    }

    /// The run goes on: the answer is among the replies, or there is none for a reason.
    pub(crate) fn answered(&self, answer: Result<(), String>) {
        let asked = &self.control().question;
        let state = match answer {
            Ok(()) => question::ANSWERED,
            Err(why) => {
                let length = why.len().min(QUESTION_LEN as usize);
                let at = (CLIENT_AT + QUESTION_AT) as usize;
                // SAFETY: in range; the run that asked waits.
                unsafe {
                    self.base
                        .add(at)
                        .copy_from_nonoverlapping(why.as_ptr(), length)
                };
                asked.length.store(length as u32, Relaxed);
                question::REFUSED
            }
        };
        asked.state.store(state, Release);
        futex_wake(&asked.state);
    }

    pub(crate) fn control(&self) -> &Control {
        // SAFETY: mapped for as long as `self`. Both sides write its atomics; plain fields are not written once a server
        // runs, except `text`, which is copied byte by byte below.
        unsafe { &*self.base.cast::<Control>() }
    }

    /// What the server said about itself.
    pub(crate) fn text(&self) -> String {
        let length =
            (self.control().text_len.load(Acquire) as usize).min(self.control().text.len());
        let at = std::mem::offset_of!(Control, text);
        String::from_utf8_lossy(&self.copy(at as u64, length as u64)).into_owned()
    }

    /// Replaces what the server said, for what the checker found out.
    pub(crate) fn set_text(&mut self, text: &str) {
        let length = text.len().min(self.control().text.len());
        let at = std::mem::offset_of!(Control, text);
        // SAFETY: in range; the server only writes here right before it stops restarting, which is what this is about.
        unsafe {
            self.base
                .add(at)
                .copy_from_nonoverlapping(text.as_ptr(), length)
        };
        self.control().text_len.store(length as u32, Relaxed);
    }

    fn slot_at(index: usize) -> u64 {
        SLOTS_AT + (index % SLOTS) as u64 * SLOT_LEN
    }

    pub(crate) fn slot(&self, index: usize) -> SharedSlot<'_> {
        SharedSlot {
            shared: self,
            at: Self::slot_at(index),
        }
    }

    fn copy(&self, at: u64, length: u64) -> Vec<u8> {
        if at.checked_add(length).is_none_or(|end| end > TOTAL_LEN) {
            return Vec::new();
        }
        // SAFETY: in range (checked). The server may write concurrently only if it misbehaves; bytes have no invalid values.
        unsafe { std::slice::from_raw_parts(self.base.add(at as usize), length as usize).to_vec() }
    }

    /// The site table and its strings, as they are.
    pub(crate) fn sites(&self) -> (Vec<u8>, Vec<u8>) {
        use landfall_vocab::shared::{MAX_SITES, STRINGS_AT};
        let count = self.control().sites.load(Relaxed).min(MAX_SITES);
        let strings = self
            .control()
            .strings_len
            .load(Relaxed)
            .min(SITES_LEN - STRINGS_AT);
        (
            self.copy(SITES_AT, count * 16),
            self.copy(SITES_AT + STRINGS_AT, strings),
        )
    }

    /// Gives memory of an unusually large trace back to the system.
    pub(crate) fn trim(&self, index: usize, used: u64) {
        let keep = trace_kept(index);
        if used > keep {
            let at = Self::slot_at(index) + TRACE_AT + keep;
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: only changes the contents of our own file, past what anyone still reads.
            unsafe { libc::fallocate(self.fd(), mode, at as i64, (TRACE_LEN - keep) as i64) };
        }
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no reference into it outlives `self`.
        unsafe { libc::munmap(self.base.cast(), TOTAL_LEN as usize) };
    }
}

/// One job's place in the shared memory.
#[derive(Clone, Copy)]
pub(crate) struct SharedSlot<'a> {
    shared: &'a SharedMapping,
    at: u64,
}

impl SharedSlot<'_> {
    fn header(&self) -> *mut SlotHeader {
        // SAFETY: slots lie inside the mapping.
        unsafe { self.shared.base.add(self.at as usize).cast() }
    }

    pub(crate) fn state(&self) -> &AtomicU32 {
        // SAFETY: an atomic inside the mapping, which outlives the borrow of `shared`.
        unsafe { &(*self.header()).state }
    }

    /// Writes a job into a free slot. False if the image or the input does not fit.
    pub(crate) fn fill(
        &self,
        header: JobHeader,
        lines: &[crate::job::Line],
        job: &crate::job::Job,
    ) -> bool {
        let stdin = &job.stdin[..];
        let choices = job.schedule.as_deref().unwrap_or_default();
        let sleepers = &job.threads.sleepers[..header.sleepers as usize];
        let inputs = &job.inputs[..header.inputs as usize];
        if lines.len() as u64 * IMAGE_LINE > IMAGE_LEN
            || stdin.len() as u64 > OUTPUT
            || choices.len() as u64 > MOST_CHOICES
        {
            return false;
        }
        // SAFETY: the slot is free, so the server does not look at it; sizes are checked above.
        unsafe {
            (*self.header()).job = header;
            let mut to = self.shared.base.add((self.at + IMAGE_AT) as usize);
            for line in lines {
                to.cast::<u64>().write_unaligned(line.offset);
                to.add(8)
                    .copy_from_nonoverlapping(line.bytes.as_ptr(), line.bytes.len());
                to = to.add(IMAGE_LINE as usize);
            }
            let to = self.shared.base.add((self.at + STDIN_AT) as usize);
            to.copy_from_nonoverlapping(stdin.as_ptr(), stdin.len());
            let to = self.shared.base.add((self.at + CHOICES_AT) as usize);
            let to = to.cast::<u16>();
            to.copy_from_nonoverlapping(choices.as_ptr(), choices.len());
            let to = self.shared.base.add((self.at + SLEEPERS_AT) as usize);
            let to = to.cast::<Sleeper>();
            to.copy_from_nonoverlapping(sleepers.as_ptr(), sleepers.len());
            let to = self.shared.base.add((self.at + INPUTS_AT) as usize);
            let to = to.cast::<InputValue>();
            to.copy_from_nonoverlapping(inputs.as_ptr(), inputs.len());
        }
        true
    }

    pub(crate) fn outcome(&self) -> Outcome {
        // SAFETY: plain numbers; read when the run is over, or dead.
        unsafe { (&raw const (*self.header()).outcome).read() }
    }

    /// How it ended, with its code and address.
    pub(crate) fn end(&self) -> (u32, i32, u64) {
        // SAFETY: as above.
        unsafe {
            let outcome = &raw const (*self.header()).outcome;
            ((*outcome).end, (*outcome).code, (*outcome).address)
        }
    }

    /// How much of the trace repeats what was asked for, and its digest.
    pub(crate) fn kept(&self) -> (u64, u64) {
        // SAFETY: as above.
        unsafe {
            let header = self.header();
            ((*header).kept, (*header).kept_digest)
        }
    }

    /// Did a thread do what may come out differently another time?
    pub(crate) fn opaque(&self) -> bool {
        // SAFETY: a word inside the mapping; the run is over, so nobody writes.
        unsafe { (&raw const (*self.header()).opaque).read_volatile() != 0 }
    }

    /// What was in memory at the end, where it was asked for.
    pub(crate) fn final_state(&self) -> u64 {
        // SAFETY: a word inside the mapping; the run is over, so nobody writes.
        unsafe { (&raw const (*self.header()).final_state).read_volatile() }
    }

    pub(crate) fn squeezed(&self) -> bool {
        // SAFETY: a word inside the mapping; the run is over, so nobody writes.
        unsafe { (&raw const (*self.header()).squeezed).read_volatile() != 0 }
    }

    pub(crate) fn trace_len(&self) -> u64 {
        // SAFETY: an atomic inside the mapping.
        unsafe { (*self.header()).trace_len.load(Acquire).min(TRACE_LEN) }
    }

    /// Reads the trace where it lies, without a copy.
    pub(crate) fn trace<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: in range; the run is over, so nobody writes.
        read(unsafe {
            std::slice::from_raw_parts(
                self.shared.base.add((self.at + TRACE_AT) as usize),
                self.trace_len() as usize,
            )
        })
    }

    pub(crate) fn stdout(&self, length: u64, limit: u64) -> Vec<u8> {
        self.output(STDOUT_AT, length, limit)
    }

    pub(crate) fn stderr(&self, length: u64, limit: u64) -> Vec<u8> {
        self.output(STDERR_AT, length, limit)
    }

    /// All of a short output; beginning and end of one longer than `limit`, with a line between them that says what is missing.
    fn output(&self, at: u64, length: u64, limit: u64) -> Vec<u8> {
        let limit = limit.min(OUTPUT);
        let kept = self.shared.copy(self.at + at, length.min(limit));
        if length <= limit {
            return kept;
        }
        let (head, ring) = kept.split_at(output_head(limit) as usize);
        let left_out = format!("\n[landfall: {} bytes left out]\n", length - limit);
        let oldest = (length - head.len() as u64) % (ring.len() as u64).max(1);
        let (end, begin) = ring.split_at(oldest as usize);
        [head, left_out.as_bytes(), begin, end].concat()
    }
}

/// Sleeps until `word` is no longer `seen`, or for `timeout`.
pub(crate) fn futex_wait(word: &AtomicU32, seen: u32, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs() as i64,
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    // SAFETY: the word is a valid atomic; the kernel only reads it.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            seen,
            &raw const time,
            0,
            0,
        )
    };
}

pub(crate) fn futex_wake(word: &AtomicU32) {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1, 0, 0, 0) };
}

/// Tells a program a set of origins, or of lines.
pub(crate) fn set_bits(words: &[AtomicU64], members: &[u64]) {
    for word in words {
        word.store(0, Relaxed);
    }
    for &member in members {
        let bit = point(member);
        words[bit / 64].fetch_or(1 << (bit % 64), Relaxed);
    }
}

/// Tells a program what is known of signals.
pub(crate) fn set_signals(control: &Control, known: &KnownSignals) {
    set_bits(&control.handled, &known.touched);
    control.main_blocks.store(known.main_blocks, Relaxed);
    for word in &control.signal_words {
        word.store(0, Relaxed);
    }
    for &number in &known.sent {
        if let Some(word) = control.signal_words.get(number as usize / 64) {
            word.fetch_or(1 << (number % 64), Relaxed);
        }
    }
}

/// Tells a program to which lines non-temporal stores have streams: all, where nobody says.
pub(crate) fn set_streamed(words: &[AtomicU64], lines: Option<&Vec<u64>>) {
    match lines {
        Some(lines) => set_bits(words, lines),
        None => words.iter().for_each(|word| word.store(u64::MAX, Relaxed)),
    }
}
