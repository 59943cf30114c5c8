//! The parts of persistent memory by name.

use landfall_vocab::window;

/// What the world outside was told.
const ACKNOWLEDGED: &str = landfall_finding::ACKNOWLEDGED;

/// The part an offset of the window lies in, and how far in.
pub fn part_of_memory(offset: u64) -> (String, u64) {
    let parts = [
        (window::REGION, "pm"),
        (window::HEAP, "heap"),
        (window::MALLOC, "malloc"),
        (window::ACKS, ACKNOWLEDGED),
        (window::META, "file-table"),
    ];
    if window::FILES.contains(offset) {
        let within = offset - window::FILES.start;
        let name = format!("file{}", within / window::FILE_SLOT);
        return (name, within % window::FILE_SLOT);
    }
    let part = parts.iter().find(|(area, _)| area.contains(offset));
    part.map_or_else(
        || ("window".to_owned(), offset),
        |(area, name)| ((*name).to_owned(), offset - area.start),
    )
}

/// Does a pipe, a socket or the like lie there?
pub fn is_channel(address: u64) -> bool {
    window::CHANNELS.contains(&address)
}

/// The offset of an address in the window, if it is persistent.
pub fn persistent_offset(address: u64) -> Option<u64> {
    window::offset_of(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_name() {
        let name = |offset| part_of_memory(offset);
        assert_eq!(name(0x40), ("pm".into(), 0x40));
        assert_eq!(name(window::HEAP.start), ("heap".into(), 0));
        let second = window::FILES.start + window::FILE_SLOT + 8;
        assert_eq!(name(second), ("file1".into(), 8));
        assert_eq!(name(window::META.start + 8), ("file-table".into(), 8));
        assert_eq!(persistent_offset(window::BASE + 8), Some(8));
        assert_eq!(persistent_offset(8), None);
    }
}
