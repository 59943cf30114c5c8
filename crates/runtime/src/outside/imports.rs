//! The executable's table of functions that libraries have: each entry leads to a stub of ours that knows which function it is. The
//! table is complete before anything of the program runs (`-z now`), and it is the executable's alone: what libraries call among
//! themselves does not come here.

use super::crossing;
use super::effects::{self, Effect, Stranger};
use crate::memory::bytes;
use crate::memory::own::{allocate, place};
use crate::state::server;
use crate::syscalls::sys;
use core::cell::Cell;

/// A function of a library.
#[repr(C)]
pub(crate) struct Import {
    /// Where its stub goes: to `crossing`, with the address of this.
    enter: usize,
    /// The function.
    pub(super) real: usize,
    pub(crate) name: *const u8,
    pub(super) effects: Option<&'static [Effect]>,
    /// Which of its arguments may be pointers, a bit each, as calls in instrumented code have it.
    pub(super) pointers: u32,
    /// If its effects are not known.
    pub(super) stranger: Stranger,
    pub(super) changes_nothing: bool,
    /// Its number among the sites.
    pub(crate) site: Cell<u32>,
}

/// What is known of them.
#[repr(C)]
pub(crate) struct Imports {
    first: Cell<*mut Import>,
    count: Cell<usize>,
    /// The executable, and what of it can be written.
    image: Cell<(usize, usize)>,
    writable: Cell<(usize, usize)>,
    /// What the dynamic linker closed when it was done.
    read_only: Cell<(usize, usize)>,
    /// Memory of libraries: their images, and their variables that the executable has a copy of.
    libraries: [Cell<(usize, usize)>; MOST_RANGES],
    ranges: Cell<usize>,
}

const MOST_RANGES: usize = 128;

// What the pass says of calls in instrumented code (ABI): entries one after the other, a byte with a bit for each register that holds a
// pointer, then the name of the function and a zero.
core::arch::global_asm!(
    ".weak __start_lf_calls",
    ".weak __stop_lf_calls",
    ".globl __lf_call_bounds",
    ".type __lf_call_bounds,@function",
    "__lf_call_bounds:",
    "mov rax, [rip + __start_lf_calls@GOTPCREL]",
    "mov rdx, [rip + __stop_lf_calls@GOTPCREL]",
    "ret",
);

#[repr(C)]
struct Bounds {
    start: usize,
    stop: usize,
}

unsafe extern "C" {
    fn __lf_call_bounds() -> Bounds;
}

fn imports() -> &'static Imports {
    &server().imports
}

/// All of them.
pub(crate) fn all() -> &'static [Import] {
    let imports = imports();
    if imports.count.get() == 0 {
        return &[];
    }
    // SAFETY: made by `redirect`, and kept for ever.
    unsafe { core::slice::from_raw_parts(imports.first.get(), imports.count.get()) }
}

/// Could a thread write there without anybody seeing it? Not what nobody can write, and not what belongs to a library: that is its
/// own business.
pub(super) fn is_program_memory(address: usize) -> bool {
    let within = |(low, high): (usize, usize)| address >= low && address < high;
    let imports = imports();
    if within(imports.image.get()) {
        return within(imports.writable.get()) && !is_library_memory(address);
    }
    // Elsewhere nothing lower is mapped, and nothing higher: then it is no pointer.
    (place::HEAP..1 << 47).contains(&address) && !is_library_memory(address)
}

fn is_library_memory(address: usize) -> bool {
    let imports = imports();
    let within = |(low, high): (usize, usize)| address >= low && address < high;
    imports.libraries[..imports.ranges.get()]
        .iter()
        .any(|range| within(range.get()))
}

fn library_memory(low: usize, high: usize) {
    let at = imports().ranges.get();
    if at < MOST_RANGES {
        imports().libraries[at].set((low, high));
        imports().ranges.set(at + 1);
    }
}

/// What the dynamic linker knows of the executable.
#[derive(Clone, Copy, Default)]
struct Dynamic {
    base: usize,
    symbols: usize,
    strings: usize,
    tables: [(usize, usize); 2],
}

const STUB: usize = 16;
const LONGEST_NAME: usize = 1 << 16;

/// Once per server: leads every entry through a stub.
pub(crate) fn redirect() {
    let mut dynamic = Dynamic::default();
    // SAFETY: the function has the type that the dynamic linker calls; the executable's tables are what the linker made of them.
    unsafe {
        libc::dl_iterate_phdr(Some(image), (&raw mut dynamic).cast());
        let mut count = 0;
        dynamic.each(|_, _| count += 1);
        if count == 0 {
            return;
        }
        let first = allocate(count * size_of::<Import>()) as *mut Import;
        let stubs = (allocate(count * STUB + 2 * 4096) as usize + 4095) & !4095;
        imports().first.set(first);
        let mut known = 0;
        dynamic.each(|slot, name| {
            let real = *slot;
            if real == 0 || crate::run::start::in_executable(real) {
                return;
            }
            // The same function may have two entries.
            let same =
                |at: &usize| (*first.add(*at)).real == real && (*first.add(*at)).name == name;
            let at = (0..known).find(same).unwrap_or(known);
            let stub = stubs + at * STUB;
            if at == known {
                known += 1;
                let text = bytes::text(name, LONGEST_NAME);
                first.add(at).write(Import {
                    enter: crossing::entry(),
                    real,
                    name,
                    effects: effects::of(text),
                    pointers: pointers(text),
                    stranger: effects::stranger(text),
                    changes_nothing: effects::changes_nothing(text),
                    site: Cell::new(0),
                });
                write_stub(stub as *mut u8, first.add(at) as usize);
            }
            open(slot as usize, true);
            *slot = stub;
        });
        // Where they were protected they stay so.
        dynamic.each(|slot, _| open(slot as usize, false));
        imports().count.set(known);
        let all = (libc::PROT_READ | libc::PROT_EXEC) as usize;
        let length = (count * STUB + 4095) & !4095;
        sys::call(libc::SYS_mprotect, [stubs, length, all]);
    }
}

/// `movabs r11, import; jmp [r11]`
///
/// # Safety
/// `code` can be written.
unsafe fn write_stub(code: *mut u8, import: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        code.write(0x49);
        code.add(1).write(0xbb);
        (code.add(2) as *mut usize).write_unaligned(import);
        code.add(10).write(0x41);
        code.add(11).write(0xff);
        code.add(12).write(0x23);
    }
}

/// Lets a page of the table be written, or not any more if it was not before.
fn open(slot: usize, writable: bool) {
    let page = slot & !4095;
    let protection = if writable || !is_read_only(slot) {
        libc::PROT_READ | libc::PROT_WRITE
    } else {
        libc::PROT_READ
    };
    sys::call(libc::SYS_mprotect, [page, 4096, protection as usize]);
}

fn is_read_only(slot: usize) -> bool {
    let (low, high) = imports().read_only.get();
    slot & !4095 >= low & !4095 && slot < high & !4095
}

/// Which arguments of a function are pointers where instrumented code calls it.
///
/// # Safety
/// The pass made the table.
unsafe fn pointers(name: &[u8]) -> u32 {
    // SAFETY: what the caller promises.
    unsafe {
        let Bounds { start, stop } = __lf_call_bounds();
        let (mut at, mut mask) = (start, 0);
        while at < stop {
            let called = bytes::text((at + 1) as *const u8, LONGEST_NAME);
            if bytes::same(called, name) {
                mask |= u32::from(*(at as *const u8));
            }
            at += called.len() + 2;
        }
        mask
    }
}

impl Dynamic {
    /// `each(entry, name)` for what libraries define.
    ///
    /// # Safety
    /// The tables are those of the executable.
    unsafe fn each(&self, mut each: impl FnMut(*mut usize, *const u8)) {
        const ABSOLUTE: u64 = 1;
        const GLOBAL: u64 = 6;
        const JUMP: u64 = 7;
        const FUNCTION: u8 = 2;
        const INDIRECT: u8 = 10;
        // SAFETY: what the caller promises.
        unsafe {
            for (table, length) in self.tables {
                for at in 0..length / size_of::<libc::Elf64_Rela>() {
                    let entry = &*(table as *const libc::Elf64_Rela).add(at);
                    let (kind, symbol) = (entry.r_info & 0xffff_ffff, entry.r_info >> 32);
                    if !matches!(kind, ABSOLUTE | GLOBAL | JUMP) || symbol == 0 {
                        continue;
                    }
                    let symbol = &*(self.symbols as *const libc::Elf64_Sym).add(symbol as usize);
                    let place = self.base + entry.r_offset as usize;
                    let name = (self.strings + symbol.st_name as usize) as *const u8;
                    // Types of symbols that are elsewhere are often not known here: an entry to jump through is one of a function.
                    let kind_known = matches!(symbol.st_info & 15, FUNCTION | INDIRECT);
                    if symbol.st_shndx == 0 && (kind == JUMP || kind_known) && entry.r_addend == 0 {
                        each(place as *mut usize, name);
                    }
                }
            }
        }
    }

    /// Variables of libraries that the executable has in their place.
    ///
    /// # Safety
    /// The tables are those of the executable.
    unsafe fn copies(&self) {
        const COPY: u64 = 5;
        // SAFETY: what the caller promises.
        unsafe {
            for (table, length) in self.tables {
                for at in 0..length / size_of::<libc::Elf64_Rela>() {
                    let entry = &*(table as *const libc::Elf64_Rela).add(at);
                    if entry.r_info & 0xffff_ffff == COPY {
                        let symbol = (entry.r_info >> 32) as usize;
                        let symbol = &*(self.symbols as *const libc::Elf64_Sym).add(symbol);
                        let start = self.base + entry.r_offset as usize;
                        library_memory(start, start + symbol.st_size as usize);
                    }
                }
            }
        }
    }
}

/// An image that the dynamic linker has loaded; the executable is the first.
unsafe extern "C" fn image(
    info: *mut libc::dl_phdr_info,
    _: usize,
    dynamic: *mut libc::c_void,
) -> i32 {
    // SAFETY: the dynamic linker's record of an image that is mapped.
    unsafe {
        let dynamic = &mut *(dynamic as *mut Dynamic);
        let base = (*info).dlpi_addr as usize;
        let is_executable = dynamic.symbols == 0;
        let (mut all, mut writable) = ((usize::MAX, 0), (usize::MAX, 0));
        let grow = |range: &mut (usize, usize), start: usize, length: usize| {
            *range = (range.0.min(start), range.1.max(start + length));
        };
        for at in 0..(*info).dlpi_phnum as usize {
            let part = &*(*info).dlpi_phdr.add(at);
            let start = base + part.p_vaddr as usize;
            match part.p_type {
                libc::PT_LOAD => {
                    grow(&mut all, start, part.p_memsz as usize);
                    if part.p_flags & libc::PF_W != 0 {
                        grow(&mut writable, start, part.p_memsz as usize);
                    }
                }
                libc::PT_DYNAMIC if is_executable => dynamic.read(base, start),
                libc::PT_GNU_RELRO if is_executable => {
                    let end = start + part.p_memsz as usize;
                    imports().read_only.set((start, end));
                }
                _ => {}
            }
        }
        if is_executable {
            if dynamic.symbols == 0 {
                return 1;
            }
            imports().image.set(all);
            imports().writable.set(writable);
            dynamic.copies();
        } else if all.0 < all.1 {
            library_memory(all.0, all.1);
        }
        0
    }
}

impl Dynamic {
    /// # Safety
    /// `section` is the dynamic section of an image that is loaded at `base`.
    unsafe fn read(&mut self, base: usize, section: usize) {
        self.base = base;
        let mut entry = section as *const [usize; 2];
        // SAFETY: what the caller promises; addresses in it are those of memory, as libc leaves them.
        unsafe {
            while (*entry)[0] != 0 {
                let [tag, value] = *entry;
                let at = if value < base { base + value } else { value };
                match tag {
                    2 => self.tables[1].1 = value,
                    5 => self.strings = at,
                    6 => self.symbols = at,
                    7 => self.tables[0].0 = at,
                    8 => self.tables[0].1 = value,
                    23 => self.tables[1].0 = at,
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
    }
}
