//! Fences and locked instructions in a library's code, found by following its functions from their first byte on.

use super::body::{is_fence, is_locked};
use super::modules::Module;
use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use iced_x86::{Decoder, DecoderOptions};
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Code of a library that is looked through. A larger one is no library for persistent memory.
const MOST: u64 = 64 << 20;

/// Which version of a file.
type Version = (PathBuf, u64, Option<SystemTime>);
/// Positions in files.
type Known = Mutex<HashMap<Version, Arc<Vec<u64>>>>;

/// Addresses of fences and locked instructions. Found once for each library.
pub(super) fn of(module: &Module) -> Vec<u64> {
    static KNOWN: std::sync::LazyLock<Known> = std::sync::LazyLock::new(Known::default);
    let Ok(status) = std::fs::metadata(&module.path) else {
        return Vec::new();
    };
    let version = (module.path.clone(), status.len(), status.modified().ok());
    let known = KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&version)
        .cloned();
    let positions = known.unwrap_or_else(|| {
        let found = Arc::new(look(module).unwrap_or_default());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(version, found.clone());
        found
    });
    let addresses = positions
        .iter()
        .map(|position| position.wrapping_add(module.shift));
    addresses
        .filter(|address| module.code.contains(address))
        .collect()
}

/// Positions in the file.
fn look(module: &Module) -> Option<Vec<u64>> {
    if module.code.end - module.code.start > MOST {
        return None;
    }
    let data = std::fs::read(&module.path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    // What was built with `landfall cc` announces its fences.
    if file.sections().any(|section| {
        section
            .name()
            .is_ok_and(|name| name.starts_with("lf_sites"))
    }) {
        return None;
    }
    let mut found = Vec::new();
    for (start, length) in functions(&file)? {
        let Some((section, (position, _))) = file.sections().find_map(|section| {
            let inside =
                section.address() <= start && start + length <= section.address() + section.size();
            inside
                .then_some(())
                .and(section.file_range().map(|range| (section, range)))
        }) else {
            continue;
        };
        let Ok(Some(code)) = section.data_range(start, length) else {
            continue;
        };
        // Most functions have neither.
        let candidate = |bytes: &[u8]| {
            bytes[0] == 0xf0 || matches!(bytes[0], 0x86 | 0x87) || bytes == [0x0f, 0xae]
        };
        if !code.windows(2).any(candidate) {
            continue;
        }
        for instruction in Decoder::with_ip(64, code, start, DecoderOptions::NONE).iter() {
            if instruction.is_invalid() {
                break;
            }
            if is_fence(&instruction) || is_locked(&instruction) {
                found.push(instruction.ip() - section.address() + position);
            }
        }
    }
    Some(found)
}

/// First address and length of every function that can be unwound.
fn functions(file: &object::File<'_>) -> Option<Vec<(u64, u64)>> {
    let section = file.section_by_name(".eh_frame")?;
    let data = section.data().ok()?;
    let frames = EhFrame::from(EndianSlice::new(data, LittleEndian));
    let text = file
        .section_by_name(".text")
        .map_or(0, |text| text.address());
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address())
        .set_text(text);
    let mut entries = frames.entries(&bases);
    let mut functions = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(partial) = entry
            && let Ok(whole) = partial.parse(EhFrame::cie_from_offset)
        {
            functions.push((whole.initial_address(), whole.len()));
        }
    }
    Some(functions)
}
