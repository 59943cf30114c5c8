//! What is mapped in a process: libraries, their code, and what is free.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file whose code is mapped.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(super) path: PathBuf,
    /// Addresses of its code.
    pub(super) code: Range<u64>,
    /// Address minus position in the file, of its code.
    pub(super) shift: u64,
}

/// An instruction, wherever its library is loaded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodePlace {
    path: PathBuf,
    position: u64,
}

/// All mappings of a process.
#[derive(Debug)]
pub(crate) struct Modules {
    executable: PathBuf,
    modules: Vec<Module>,
    mapped: Vec<Range<u64>>,
}

impl Modules {
    pub(crate) fn of(process: u32, executable: &Path) -> Option<Modules> {
        let text = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
        let executable = executable.canonicalize().ok()?;
        let mut modules = Modules {
            executable,
            modules: Vec::new(),
            mapped: Vec::new(),
        };
        for line in text.lines() {
            modules.add(line);
        }
        Some(modules)
    }

    /// A line of /proc/PID/maps: `from-to rwxp position device inode path`.
    fn add(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let range = number(from)?..number(to)?;
        self.mapped.push(range.clone());
        let rights = words.next()?;
        let position = number(words.next()?)?;
        let path = PathBuf::from(words.nth(2)?);
        if rights == "r-xp" && path.is_absolute() {
            self.modules.push(Module {
                path,
                shift: range.start.wrapping_sub(position),
                code: range,
            });
        }
        Some(())
    }

    pub(super) fn at(&self, address: u64) -> Option<&Module> {
        self.modules
            .iter()
            .find(|module| module.code.contains(&address))
    }

    /// All code that lies near a place.
    pub(super) fn around(&self, place: u64) -> Option<Range<u64>> {
        const NEAR: u64 = 256 << 20;
        self.at(place)?;
        let near = |module: &&Module| module.code.start.abs_diff(place) < NEAR;
        let near = || self.modules.iter().filter(near);
        let start = near().map(|module| module.code.start).min()?;
        Some(start..near().map(|module| module.code.end).max()?)
    }

    pub(super) fn is_free(&self, range: &Range<u64>) -> bool {
        let meets = |mapped: &Range<u64>| mapped.start < range.end && range.start < mapped.end;
        !self.mapped.iter().any(meets)
    }

    /// Libraries that are neither the program nor part of every program.
    pub(super) fn foreign(&self) -> impl Iterator<Item = &Module> {
        const STANDARD: [&str; 14] = [
            "ld-linux",
            "libc.so",
            "libc-",
            "libm.so",
            "libm-",
            "libpthread",
            "libdl",
            "librt",
            "libgcc_s",
            "libstdc++",
            "libc++",
            "libunwind",
            "libatomic",
            "libresolv",
        ];
        self.modules.iter().filter(|module| {
            let name = module
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            module.path != self.executable && !STANDARD.iter().any(|known| name.starts_with(known))
        })
    }

    /// Which instruction of which file lies at an address.
    pub(crate) fn place(&self, address: u64) -> Option<CodePlace> {
        let module = self.at(address)?;
        Some(CodePlace {
            path: module.path.clone(),
            position: address.wrapping_sub(module.shift),
        })
    }

    /// Where it is here.
    pub(crate) fn address(&self, place: &CodePlace) -> Option<u64> {
        self.modules.iter().find_map(|module| {
            let address = place.position.wrapping_add(module.shift);
            (module.path == place.path && module.code.contains(&address)).then_some(address)
        })
    }
}

/// The memory of a process that is ours to look at.
#[derive(Debug)]
pub(super) struct Memory(File);

impl Memory {
    pub(super) fn of(process: u32) -> Option<Memory> {
        File::open(format!("/proc/{process}/mem")).ok().map(Memory)
    }

    pub(super) fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        let got = self.0.read_at(&mut bytes, address).ok()?;
        bytes.truncate(got);
        (got > 0).then_some(bytes)
    }
}
