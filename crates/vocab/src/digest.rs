//! FNV-1a: enough to tell names and stacks apart that nobody made alike on purpose.

/// Of nothing.
pub const NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// With one more byte, or word.
pub const fn with(digest: u64, more: u64) -> u64 {
    (digest ^ more).wrapping_mul(0x100_0000_01b3)
}

/// Of bytes.
pub fn of(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(NOTHING, |digest, byte| with(digest, u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_fnv_1a() {
        assert_eq!(super::of(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::of(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
