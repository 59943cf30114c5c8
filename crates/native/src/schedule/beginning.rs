//! What a run repeats of the one before is not read again: the runtime says how long it was and what its digest is, and the
//! bytes are still here. So that part of shared memory stays with the processor that writes it.

use landfall_vocab::record::DigestSoFar;

#[derive(Clone, Debug, Default)]
pub(super) struct Beginning {
    /// The trace of the last run.
    bytes: Vec<u8>,
    /// Where each of its choices begins.
    choices: Vec<usize>,
    /// Of bytes with which all runs began since it was made: they are looked at once.
    digest: Option<DigestSoFar>,
}

impl Beginning {
    /// A run has repeated the first `keep` choices of the last one. True if that part of its trace is what it was, which is known by
    /// its length and digest, or looked at.
    pub(super) fn go_on(&mut self, keep: usize, trace: &[u8], kept: Option<(u64, u64)>) -> bool {
        let length = self.choices.get(keep).copied().filter(|_| keep > 0);
        let known = length.and_then(|length| self.bytes.get(..length));
        let so_far = &mut self.digest;
        let mut digest = |known: &[u8]| {
            let so_far = match so_far {
                Some(so_far) if so_far.length() <= known.len() => so_far,
                _ => {
                    let mut anew = DigestSoFar::default();
                    anew.take(known);
                    so_far.insert(anew)
                }
            };
            so_far.and(&known[so_far.length()..])
        };
        let same = known.is_some_and(|known| match kept {
            Some(kept) => trace.len() >= known.len() && kept == (known.len() as u64, digest(known)),
            None => trace.starts_with(known),
        });
        if !same {
            self.digest = None;
        }
        let length = length.filter(|_| same).unwrap_or(0);
        self.choices.truncate(if same { keep } else { 0 });
        self.bytes.truncate(length);
        self.bytes.extend_from_slice(&trace[length..]);
        same
    }

    /// Of the choices that are known, the first so many need not be read again.
    pub(super) fn read_from(&mut self, choice: usize) {
        self.choices.truncate(choice);
    }

    /// A choice begins there; its number.
    pub(super) fn choice(&mut self, at: usize) -> usize {
        self.choices.push(at);
        self.choices.len() - 1
    }

    /// The trace of the last run.
    pub(super) fn trace(&self) -> &[u8] {
        &self.bytes
    }

    /// The trace; to be given back.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    pub(super) fn give_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use landfall_vocab::record::digest;

    fn told(trace: &[u8], length: usize) -> Option<(u64, u64)> {
        Some((length as u64, digest(&trace[..length])))
    }

    #[test]
    fn what_is_repeated_is_kept_and_what_is_not_is_read() {
        let mut beginning = Beginning::default();
        let first: Vec<u8> = (0..64).collect();
        assert!(!beginning.go_on(0, &first, Some((0, 0))));
        for at in [0, 24, 40] {
            beginning.choice(at);
        }
        let mut second = first.clone();
        second[50] = 200;
        // Nobody looks at what was there before: here it is something else.
        let mut unread = second.clone();
        unread[3] = 77;
        assert!(beginning.go_on(2, &unread, told(&second, 40)));
        beginning.read_from(0);
        let bytes = beginning.take();
        assert_eq!(bytes, second);
        beginning.give_back(bytes);
        for at in [0, 24, 40] {
            beginning.choice(at);
        }
        // It did something else: read as it is.
        assert!(!beginning.go_on(2, &unread, told(&unread, 40)));
        assert_eq!(beginning.take(), unread);
    }
}
