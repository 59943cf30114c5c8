//! Power failures in few bytes: there is one for each distinct recovery, and there may be millions of those.

use landfall_model::crash::PowerFailure;
use landfall_model::line::Line;
use landfall_model::log::{Cut, Version};

/// Power failures that followed one another, oldest first.
///
/// Numbers of seven bits to a byte, lowest first: how many they are; of each its cut, how many lines are old, and of each of these how
/// far it lies behind the one before it, and its version.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PackedFailures(Box<[u8]>);

impl PackedFailures {
    /// Lines are told in their order.
    pub fn new(failures: &[PowerFailure]) -> PackedFailures {
        let mut bytes = Vec::new();
        put(&mut bytes, failures.len() as u64);
        for failure in failures {
            put(&mut bytes, failure.cut.0.into());
            put(&mut bytes, failure.old.len() as u64);
            let mut last = 0;
            for &(line, version) in &failure.old {
                put(&mut bytes, line.0.wrapping_sub(last));
                put(&mut bytes, version.0.into());
                last = line.0;
            }
        }
        PackedFailures(bytes.into())
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        take(&mut self.0.iter()) as usize
    }

    /// Where the first of them was.
    pub fn first_cut(&self) -> Option<Cut> {
        let mut bytes = self.0.iter();
        let some = take(&mut bytes) > 0;
        some.then(|| Cut(take(&mut bytes) as u32))
    }

    pub fn unpacked(&self) -> Vec<PowerFailure> {
        let mut bytes = self.0.iter();
        let failures = 0..take(&mut bytes);
        let failure = |_| {
            let cut = Cut(take(&mut bytes) as u32);
            let mut last = 0u64;
            let lines = 0..take(&mut bytes);
            let old = lines.map(|_| {
                last = last.wrapping_add(take(&mut bytes));
                (Line(last), Version(take(&mut bytes) as u32))
            });
            PowerFailure {
                cut,
                old: old.collect(),
            }
        };
        failures.map(failure).collect()
    }
}

impl From<Vec<PowerFailure>> for PackedFailures {
    fn from(failures: Vec<PowerFailure>) -> PackedFailures {
        PackedFailures::new(&failures)
    }
}

impl FromIterator<PowerFailure> for PackedFailures {
    fn from_iter<I: IntoIterator<Item = PowerFailure>>(failures: I) -> PackedFailures {
        failures.into_iter().collect::<Vec<PowerFailure>>().into()
    }
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    let mut left = number;
    while left > 0x7f {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

/// The next number; 0 at the end.
fn take(bytes: &mut std::slice::Iter<'_, u8>) -> u64 {
    let mut number = 0;
    for (at, byte) in bytes.enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failure() -> impl Strategy<Value = PowerFailure> {
        let line = prop_oneof![0..20u64, any::<u64>()];
        let version = prop_oneof![0..4u32, any::<u32>()];
        let old = prop::collection::vec((line, version), 0..6);
        (any::<u32>(), old).prop_map(|(cut, old)| PowerFailure {
            cut: Cut(cut),
            old: old
                .into_iter()
                .map(|(l, v)| (Line(l), Version(v)))
                .collect(),
        })
    }

    proptest! {
        #[test]
        fn what_was_packed_is_there_again(failures in prop::collection::vec(failure(), 0..4)) {
            let packed = PackedFailures::new(&failures);
            prop_assert_eq!(packed.count(), failures.len());
            prop_assert_eq!(packed.first_cut(), failures.first().map(|failure| failure.cut));
            prop_assert_eq!(packed.unpacked(), failures);
        }
    }

    #[test]
    fn few_old_lines_take_few_bytes() {
        let old = (0..8).map(|line| (Line((1 << 28) + 2 * line), Version(1)));
        let failure = PowerFailure {
            cut: Cut(1000),
            old: old.collect(),
        };
        assert!(PackedFailures::new(&[failure]).0.len() < 32);
        assert_eq!(PackedFailures::default().unpacked(), []);
    }
}
