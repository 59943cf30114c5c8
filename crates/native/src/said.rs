//! What a program says of its functions: the table that the pass left in it (`crates/pass/src/said.rs`).

use crate::symbols::demangled;
use object::{Object, ObjectSection};
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SayingKind {
    /// Nobody looks at what it does.
    Trusted,
    /// Threads are not preempted in it.
    Sealed,
    /// Something else takes its place; `file` is the rule that asked for it.
    Replaced,
}

/// Something that is said of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Saying {
    pub kind: SayingKind,
    pub function: String,
    pub file: String,
    pub line: u32,
}

/// All that a program says, each once.
pub fn sayings(path: &Path) -> Vec<Saying> {
    let Ok(file) = std::fs::read(path) else {
        return Vec::new();
    };
    let Ok(object) = object::File::parse(&*file) else {
        return Vec::new();
    };
    let section = object.section_by_name("lf_said");
    let data = section.and_then(|section| section.data().ok());
    parse(data.unwrap_or_default())
}

fn parse(mut table: &[u8]) -> Vec<Saying> {
    let mut found: Vec<Saying> = Vec::new();
    while let Some((&kind, rest)) = table.split_first() {
        let mut fields = rest.splitn(4, |byte| *byte == 0);
        let mut field = || {
            let text = fields.next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        let (function, file, line) = (field(), field(), field());
        table = fields.next().unwrap_or_default();
        let kind = match kind {
            1 => SayingKind::Trusted,
            2 => SayingKind::Sealed,
            3 => SayingKind::Replaced,
            // Where sections of two files meet.
            _ => continue,
        };
        let said = Saying {
            kind,
            function: demangled(&function),
            file,
            line: line.parse().unwrap_or(0),
        };
        if !found.contains(&said) {
            found.push(said);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read() {
        let table = b"\x01log\0a.c\x0012\0\x02_Z4sealv\0b.cc\x003\0\x01log\0a.c\x0012\0";
        let found = parse(table);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].kind, SayingKind::Trusted);
        assert_eq!((found[0].file.as_str(), found[0].line), ("a.c", 12));
        assert_eq!(found[1].function, "seal()");
        for broken in [&b"\x01"[..], b"\x01a", b"\x03a\0b", b"\0\0\0"] {
            assert!(parse(broken).len() <= 1);
        }
    }
}
