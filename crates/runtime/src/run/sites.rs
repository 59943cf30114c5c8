//! Source sites: the pass puts them into section `lf_sites` of every linked image; the trace names them by number. Numbers are
//! fixed when serving starts (executable first, then libraries in load order), so that they do not depend on what ran before.

use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::outside::imports::{self, Import};
use crate::run::shared::control;
use crate::run::trace::Site;
use crate::state::server;
use core::arch::global_asm;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::{MAX_SITES, SITES_AT, SITES_LEN, STRINGS_AT, SiteEntry};

// Weak: a program without a single instrumented access has no such section.
global_asm!(
    ".weak __start_lf_sites",
    ".weak __stop_lf_sites",
    ".globl __lf_site_bounds",
    ".type __lf_site_bounds,@function",
    "__lf_site_bounds:",
    "mov rax, [rip + __start_lf_sites@GOTPCREL]",
    "mov rdx, [rip + __stop_lf_sites@GOTPCREL]",
    "ret",
);

unsafe extern "C" {
    fn __lf_site_bounds() -> Bounds;
}

#[repr(C)]
struct Bounds {
    start: usize,
    stop: usize,
}

/// The sites of one library.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    start: usize,
    len: usize,
    first: u32,
    /// First and past the last address of the library's code.
    code: (usize, usize),
}

const SITE: usize = size_of::<Site>();

#[inline(always)]
pub(crate) fn id(site: *const Site) -> u32 {
    let offset = (site as usize).wrapping_sub(server().sites_low.get());
    if offset < server().sites_len.get() {
        (offset / SITE) as u32
    } else {
        id_in_library(site as usize)
    }
}

#[cold]
#[inline(never)]
fn id_in_library(site: usize) -> u32 {
    if let Some(id) = among_libraries(site) {
        return id;
    }
    // A library loaded by this run: every run that loads it gives its sites the same numbers.
    publish_new();
    among_libraries(site).unwrap_or(Builtin::unknown.site())
}

fn among_libraries(site: usize) -> Option<u32> {
    for section in &server().dso[..server().dso_count.get()] {
        let section = section.get();
        let offset = site.wrapping_sub(section.start);
        if offset < section.len {
            return Some(section.first + (offset / SITE) as u32);
        }
    }
    None
}

/// Adds what libraries have that came after the start.
fn publish_new() {
    // SAFETY: sites and their texts are in sections of images that stay mapped.
    unsafe {
        let scratch = Scratch::new(size_of::<Writer>());
        bytes::fill(scratch.start(), 0, size_of::<Writer>());
        let writer = scratch.start() as *mut Writer;
        (*writer).base = server().control.get() as usize + SITES_AT as usize;
        // Only this run's own libraries count: those of an earlier one may be others.
        (*writer).count = server().first_sites.get().0;
        (*writer).strings = server().first_sites.get().1;
        server().dso_count.set(server().first_sites.get().2);
        libc::dl_iterate_phdr(Some(each_library), writer as *mut _);
        control().strings_len.store((*writer).strings, Relaxed);
        control().sites.store((*writer).count, Relaxed);
    }
}

pub(crate) fn find_own() {
    // SAFETY: two addresses that the linker knows.
    let bounds = unsafe { __lf_site_bounds() };
    server().sites_low.set(bounds.start);
    server().sites_len.set(bounds.stop - bounds.start);
}

/// Finds the sections of libraries and copies every site with its strings into shared memory.
pub(crate) fn publish() {
    // SAFETY: sites and their texts are in sections of images that stay mapped.
    unsafe {
        let scratch = Scratch::new(size_of::<Writer>());
        bytes::fill(scratch.start(), 0, size_of::<Writer>());
        let writer = scratch.start() as *mut Writer;
        (*writer).base = server().control.get() as usize + SITES_AT as usize;
        (*writer).strings = 1;
        (*writer).section(server().sites_low.get(), server().sites_len.get());
        libc::dl_iterate_phdr(Some(each_library), writer as *mut _);
        for import in imports::all() {
            (*writer).function(import);
        }
        control().sites.store((*writer).count, Relaxed);
        control().strings_len.store((*writer).strings, Relaxed);
        server()
            .first_sites
            .set(((*writer).count, (*writer).strings, server().dso_count.get()));
    }
}

unsafe extern "C" fn each_library(
    info: *mut libc::dl_phdr_info,
    _: usize,
    writer: *mut libc::c_void,
) -> i32 {
    // SAFETY: sites and their texts are in sections of images that stay mapped.
    unsafe {
        let name = (*info).dlpi_name as *const u8;
        if name.is_null() || *name == 0 || server().dso_count.get() == server().dso.len() {
            return 0;
        }
        if let Some((start, len)) = section_in_file(name) {
            let start = start + (*info).dlpi_addr as usize;
            let known = &server().dso[..server().dso_count.get()];
            if known.iter().any(|section| section.get().start == start) {
                return 0;
            }
            let writer = writer as *mut Writer;
            server().dso[server().dso_count.get()].set(Section {
                start,
                len,
                first: (*writer).count as u32,
                code: code_of(info),
            });
            server().dso_count.set(server().dso_count.get() + 1);
            (*writer).section(start, len);
        }
        0
    }
}

/// Where the code of an image lies.
///
/// # Safety
/// The dynamic linker's record of an image that is mapped.
pub(crate) unsafe fn code_of(info: *const libc::dl_phdr_info) -> (usize, usize) {
    let (mut low, mut high) = (usize::MAX, 0);
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..(*info).dlpi_phnum as usize {
            let part = (*info).dlpi_phdr.add(i);
            if (*part).p_type == libc::PT_LOAD && (*part).p_flags & libc::PF_X != 0 {
                let start = (*info).dlpi_addr as usize + (*part).p_vaddr as usize;
                low = low.min(start);
                high = high.max(start + (*part).p_memsz as usize);
            }
        }
    }
    (low, high)
}

/// Where an image ends.
///
/// # Safety
/// The dynamic linker's record of an image that is mapped.
pub(crate) unsafe fn end_of(info: *const libc::dl_phdr_info) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        let parts = (0..(*info).dlpi_phnum as usize).map(|i| &*(*info).dlpi_phdr.add(i));
        let loaded = parts.filter(|part| part.p_type == libc::PT_LOAD);
        let ends = loaded.map(|part| (part.p_vaddr + part.p_memsz) as usize);
        (*info).dlpi_addr as usize + ends.max().unwrap_or(0)
    }
}

/// Is this code of PMDK as others compiled it? What that does inside is not the program's business.
pub(crate) fn in_pmdk(address: usize) -> bool {
    let known = server().pmdk.iter().map(|code| code.get());
    known
        .into_iter()
        .any(|(low, high)| (low..high).contains(&address))
}

/// Once per server.
pub(crate) fn find_pmdk() {
    // SAFETY: the function has the type that the dynamic linker calls.
    unsafe { libc::dl_iterate_phdr(Some(note_pmdk), core::ptr::null_mut()) };
}

unsafe extern "C" fn note_pmdk(
    info: *mut libc::dl_phdr_info,
    _: usize,
    _: *mut libc::c_void,
) -> i32 {
    const LIBRARIES: [&[u8]; 2] = [b"libpmem.so", b"libpmemobj.so"];
    // SAFETY: the dynamic linker's record of an image that is mapped; its name is a text.
    unsafe {
        let path = crate::memory::bytes::text((*info).dlpi_name.cast(), 4096);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        for (library, code) in LIBRARIES.iter().zip(&server().pmdk) {
            if name.starts_with(library) {
                code.set(code_of(info));
            }
        }
    }
    0
}

/// Is this code of a library that was compiled like the program?
pub(crate) fn in_own_library(address: usize) -> bool {
    let known = &server().dso[..server().dso_count.get()];
    known.iter().any(|section| {
        let (low, high) = section.get().code;
        address >= low && address < high
    })
}

/// Address and size of `lf_sites`, from the section headers of a library's file (they are not loaded).
///
/// # Safety
/// `path` is a text that ends in zero.
unsafe fn section_in_file(path: *const u8) -> Option<(usize, usize)> {
    let fd = crate::syscalls::sys::call(libc::SYS_open, [path as usize, libc::O_RDONLY as usize]);
    if fd < 0 {
        return None;
    }
    // SAFETY: what the caller promises.
    let found = unsafe { section_in(fd as usize) };
    crate::syscalls::sys::call(libc::SYS_close, [fd as usize]);
    found
}

/// # Safety
/// `fd` is open, at the beginning of a file.
unsafe fn section_in(fd: usize) -> Option<(usize, usize)> {
    // SAFETY: what the caller promises.
    unsafe {
        let read = |to: usize, length: usize, at: usize| {
            crate::syscalls::sys::raw(libc::SYS_pread64, [fd, to, length, at]) == length as isize
        };
        let mut header: libc::Elf64_Ehdr = core::mem::zeroed();
        if !read(&raw mut header as usize, size_of_val(&header), 0)
            || header.e_ident[..4] != *b"\x7fELF"
        {
            return None;
        }
        let section = |index: usize| {
            let mut section: libc::Elf64_Shdr = core::mem::zeroed();
            let at = header.e_shoff as usize + index * size_of_val(&section);
            read(&raw mut section as usize, size_of_val(&section), at).then_some(section)
        };
        let names = section(header.e_shstrndx as usize)?.sh_offset as usize;
        for index in 1..header.e_shnum as usize {
            let candidate = section(index)?;
            let mut name = [0u8; 9];
            if read(
                name.as_mut_ptr() as usize,
                9,
                names + candidate.sh_name as usize,
            ) && name == *b"lf_sites\0"
            {
                return Some((candidate.sh_addr as usize, candidate.sh_size as usize));
            }
        }
        None
    }
}

struct Writer {
    base: usize,
    count: u64,
    strings: u64,
    /// Where a string went, by its address: neighbouring sites share file and function.
    cache: [(usize, u32); 256],
}

impl Writer {
    /// # Safety
    /// There are sites from `start` on, so many bytes of them.
    unsafe fn section(&mut self, start: usize, len: usize) {
        #[repr(C)]
        struct Laid {
            file: *const u8,
            function: *const u8,
            line: u32,
            column: u32,
        }
        // SAFETY: what the caller promises.
        unsafe {
            for i in 0..len / SITE {
                if self.count >= MAX_SITES {
                    return;
                }
                let site = &*((start + i * SITE) as *const Laid);
                let entry = SiteEntry {
                    file: self.string(site.file),
                    function: self.string(site.function),
                    line: site.line,
                    column: site.column,
                };
                *((self.base as *mut SiteEntry).add(self.count as usize)) = entry;
                self.count += 1;
            }
        }
    }

    /// A function of a library: a name without a place.
    ///
    /// # Safety
    /// Its name is a text of the executable's.
    unsafe fn function(&mut self, import: &Import) {
        if self.count >= MAX_SITES {
            return;
        }
        // SAFETY: what the caller promises; there is room for so many sites.
        unsafe {
            let entry = SiteEntry {
                function: self.string(import.name),
                ..SiteEntry::default()
            };
            *((self.base as *mut SiteEntry).add(self.count as usize)) = entry;
        }
        import.site.set(self.count as u32);
        self.count += 1;
    }

    /// # Safety
    /// `text` ends in zero.
    unsafe fn string(&mut self, text: *const u8) -> u32 {
        // SAFETY: what the caller promises.
        unsafe {
            if text.is_null() {
                return 0;
            }
            let slot = (text as usize).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
            if self.cache[slot].0 == text as usize {
                return self.cache[slot].1;
            }
            let length = bytes::length(text, 4096);
            let at = self.strings;
            if STRINGS_AT + at + length as u64 + 1 > SITES_LEN {
                return 0;
            }
            let to = (self.base as u64 + STRINGS_AT + at) as *mut u8;
            bytes::copy(to, text, length);
            *to.add(length) = 0;
            self.strings += length as u64 + 1;
            self.cache[slot] = (text as usize, at as u32);
            at as u32
        }
    }
}
