//! Traces are untrusted: whatever the bytes, decoding ends without a panic, and what was written is read back.

use landfall_vocab::record::{Origin, RecordKind, Records, head, origin, padded};
use landfall_vocab::window;
use proptest::prelude::*;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

proptest! {
    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let records = Records::new(&bytes).count();
        prop_assert!(records <= bytes.len() / 16 + 1);
    }

    /// Garbage that looks like records: valid kinds, wild everything else.
    #[test]
    fn near_misses_never_panic(kinds in proptest::collection::vec((0u8..30, any::<[u64; 3]>(), 0usize..30), 0..20)) {
        let mut bytes = Vec::new();
        for (kind, fields, cut) in kinds {
            let mut record = words(&[fields[0] & !0xff | u64::from(kind), fields[1], fields[2]]);
            record.truncate(24 - cut.min(24) * usize::from(cut > 20));
            bytes.extend(record);
        }
        for record in Records::new(&bytes).flatten() {
            prop_assert!(record.offset < window::LEN);
            prop_assert!(record.payload.len() <= bytes.len());
        }
    }

    #[test]
    fn stores_are_read_back(word in 0..window::LEN / 8, low in 0u32..8, length in 1u32..9, flags: u8, site: u32, value: u64) {
        prop_assume!(low + length <= 8);
        let mask = (0xffu32 >> (8 - length) << low) as u8;
        let bytes = words(&[head(RecordKind::Store, mask, flags, word * 8), origin(site, 7), value]);
        let records: Vec<_> = Records::new(&bytes).collect();
        prop_assert_eq!(records.len(), 1);
        let record = records[0].expect("well-formed");
        prop_assert_eq!((record.kind, record.offset, record.mask, record.flags), (RecordKind::Store, word * 8, mask, flags));
        prop_assert_eq!((record.origin, record.value), (Origin { site, caller: 7 }, value));
    }

    #[test]
    fn copies_are_read_back(offset in 0..window::LEN - 100, payload in proptest::collection::vec(any::<u8>(), 1..100)) {
        let mut bytes = words(&[head(RecordKind::Run, (offset & 7) as u8, 0, offset), 0, payload.len() as u64]);
        bytes.extend(&payload);
        bytes.resize(24 + padded(payload.len()), 0);
        bytes.extend(words(&[head(RecordKind::Sfence, 0, 0, 0), 0]));
        let records: Vec<_> = Records::new(&bytes).collect::<Result<_, _>>().expect("well-formed");
        prop_assert_eq!(records.len(), 2);
        prop_assert_eq!((records[0].offset, records[0].payload), (offset, &payload[..]));
    }
}
