//! Structs and their members, from the debug information of the program: which one a name in the source is about.

mod inside;
mod locals;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianArcSlice, Reader, RunTimeEndian,
    SectionId, Unit, UnitOffset,
};
use object::{Object, ObjectSection};
use std::sync::Arc;

pub use inside::TypeAt;
pub use locals::{CalledFunction, FunctionAt, StackVariable};

type Bytes = EndianArcSlice<RunTimeEndian>;
type MemberEntry<'a> = DebuggingInformationEntry<'a, 'a, Bytes>;

/// A member of a struct, class or union.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// As the source writes it: `struct node`, `Node`.
    pub of: String,
    pub name: String,
    /// In bytes, from the start of the struct.
    pub offset: u64,
    /// Of the struct.
    pub size: u64,
    /// In which file and line it is declared.
    pub declared: Option<(String, u32)>,
}

/// A variable, and the members that lead from it to something: `r->data[i]` is `data` of `r`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path<'a> {
    pub function: &'a str,
    pub variable: &'a str,
    pub members: &'a [String],
}

/// The debug information of one program.
pub struct Members {
    units: Vec<Unit<Bytes>>,
    dwarf: Dwarf<Bytes>,
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members")
            .field("units", &self.units.len())
            .finish_non_exhaustive()
    }
}

/// Typedefs, qualifiers, pointers and arrays around a type, at most: debug information may be damaged.
const DEEPEST: usize = 32;

impl Members {
    /// Of an executable file; none if it cannot be read.
    pub fn read(path: &std::path::Path) -> Option<Members> {
        let file = std::fs::read(path).ok()?;
        let object = object::File::parse(&*file).ok()?;
        let endian = match object.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let section = |id: SectionId| -> Result<Bytes, gimli::Error> {
            let section = object.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok());
            Ok(EndianArcSlice::new(
                Arc::from(&*data.unwrap_or_default()),
                endian,
            ))
        };
        let dwarf = Dwarf::load(section).ok()?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header).ok());
        }
        Some(Members { units, dwarf })
    }

    /// The last member of a path. In a method the variable may be a member itself.
    pub fn member(&self, path: &Path<'_>) -> Option<Member> {
        self.units.iter().find_map(|unit| self.in_unit(unit, path))
    }

    /// Is there a function of this name, be it inlined everywhere?
    pub fn has_function(&self, name: &str) -> bool {
        let bare = name
            .split('(')
            .next()
            .and_then(|name| name.rsplit("::").next());
        self.units.iter().any(|unit| {
            let mut entries = unit.entries();
            while let Ok(Some((_, entry))) = entries.next_dfs() {
                let code = entry.tag() == gimli::DW_TAG_subprogram
                    && !matches!(entry.attr_value(gimli::DW_AT_declaration), Ok(Some(_)));
                if code && self.name(unit, entry).as_deref() == bare {
                    return true;
                }
            }
            false
        })
    }

    fn in_unit(&self, unit: &Unit<Bytes>, path: &Path<'_>) -> Option<Member> {
        // `Counter::add` is `add` here.
        let bare = path.function.split('(').next()?.rsplit("::").next()?;
        let mut entries = unit.entries();
        let mut depth = 0;
        // Inside the function: how deep it is. Its class, if it is a method.
        let mut function: Option<(isize, Option<UnitOffset>)> = None;
        let mut classes: Vec<(isize, UnitOffset)> = Vec::new();
        while let Ok(Some((delta, entry))) = entries.next_dfs() {
            depth += delta;
            classes.retain(|&(of, _)| of < depth);
            if let Some((of, class)) = function
                && depth <= of
            {
                // All of the function was seen, and the variable is none of its own.
                if let Some(found) = class.and_then(|class| self.of_class(unit, class, path)) {
                    return Some(found);
                }
                function = None;
            }
            match entry.tag() {
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                    classes.push((depth, entry.offset()));
                }
                gimli::DW_TAG_subprogram if function.is_none() => {
                    let (named, class) = self.function(unit, entry);
                    let class = class.or(classes.last().map(|&(_, class)| class));
                    if named.as_deref() == Some(bare) {
                        function = Some((depth, class));
                    }
                }
                gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable
                    if function.is_some()
                        && self.name(unit, entry).as_deref() == Some(path.variable) =>
                {
                    return self.along(unit, type_of(entry)?, path.members);
                }
                _ => {}
            }
        }
        let (_, class) = function?;
        self.of_class(unit, class?, path)
    }

    /// The variable is a member of the object.
    fn of_class(&self, unit: &Unit<Bytes>, class: UnitOffset, path: &Path<'_>) -> Option<Member> {
        let mut members = vec![path.variable.to_owned()];
        members.extend(path.members.iter().cloned());
        self.along(unit, class, &members)
    }

    /// The name of a function, and the class that declares it.
    fn function(
        &self,
        unit: &Unit<Bytes>,
        entry: &MemberEntry<'_>,
    ) -> (Option<String>, Option<UnitOffset>) {
        if let Some(name) = self.name(unit, entry) {
            return (Some(name), None);
        }
        let declared = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin]
            .iter()
            .find_map(|&at| reference(entry, at));
        let Some(declared) = declared else {
            return (None, None);
        };
        let Ok(entry) = unit.entry(declared) else {
            return (None, None);
        };
        (self.name(unit, &entry), self.parent_of(unit, declared))
    }

    /// The class that a declaration stands in.
    fn parent_of(&self, unit: &Unit<Bytes>, wanted: UnitOffset) -> Option<UnitOffset> {
        let mut entries = unit.entries();
        let (mut depth, mut classes) = (0, Vec::<(isize, UnitOffset)>::new());
        while let Ok(Some((delta, entry))) = entries.next_dfs() {
            depth += delta;
            classes.retain(|&(of, _)| of < depth);
            if entry.offset() == wanted {
                return classes.last().map(|&(_, class)| class);
            }
            if matches!(
                entry.tag(),
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type
            ) {
                classes.push((depth, entry.offset()));
            }
        }
        None
    }

    fn along(&self, unit: &Unit<Bytes>, from: UnitOffset, members: &[String]) -> Option<Member> {
        let mut of = from;
        let mut found = None;
        for wanted in members {
            let (member, next) = self.member_of(unit, of, wanted)?;
            found = Some(member);
            of = next;
        }
        found
    }

    /// A member of a type, whatever is around it, and the member's type.
    fn member_of(
        &self,
        unit: &Unit<Bytes>,
        of: UnitOffset,
        wanted: &str,
    ) -> Option<(Member, UnitOffset)> {
        let (holder, spelled) = self.holder(unit, of)?;
        let mut tree = unit.entries_tree(Some(holder)).ok()?;
        let root = tree.root().ok()?;
        let entry = root.entry();
        let size = number(entry, gimli::DW_AT_byte_size).unwrap_or(0);
        let keyword = match entry.tag() {
            gimli::DW_TAG_union_type => "union ",
            _ => "struct ",
        };
        let is_c = self.is_c(unit);
        let of = match self.name(unit, entry) {
            Some(name) if is_c => format!("{keyword}{name}"),
            Some(name) => name,
            None => spelled?,
        };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let member = entry.tag() == gimli::DW_TAG_member;
            if member && self.name(unit, entry).as_deref() == Some(wanted) {
                let offset = number(entry, gimli::DW_AT_data_member_location).unwrap_or(0);
                let name = wanted.to_owned();
                let member = Member {
                    of,
                    name,
                    offset,
                    size,
                    declared: self.declared(unit, entry),
                };
                return Some((member, type_of(entry)?));
            }
        }
        None
    }

    fn declared(&self, unit: &Unit<Bytes>, entry: &MemberEntry<'_>) -> Option<(String, u32)> {
        let line = u32::try_from(number(entry, gimli::DW_AT_decl_line)?).ok()?;
        let file = match entry.attr_value(gimli::DW_AT_decl_file).ok()?? {
            AttributeValue::FileIndex(index) => index,
            other => other.udata_value()?,
        };
        let text = |value| {
            let text = self.dwarf.attr_string(unit, value).ok()?;
            Some(text.to_string_lossy().ok()?.into_owned())
        };
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(file)?;
        let mut path = std::path::PathBuf::new();
        if let Some(directory) = &unit.comp_dir {
            path.push(&*directory.to_string_lossy().ok()?);
        }
        path.push(file.directory(header).and_then(text).unwrap_or_default());
        path.push(text(file.path_name())?);
        Some((path.display().to_string(), line))
    }

    /// The struct inside pointers, arrays and qualifiers, and the last typedef's name for it.
    fn holder(&self, unit: &Unit<Bytes>, of: UnitOffset) -> Option<(UnitOffset, Option<String>)> {
        let (mut at, mut spelled) = (of, None);
        for _ in 0..DEEPEST {
            let entry = unit.entry(at).ok()?;
            match entry.tag() {
                gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type => return Some((at, spelled)),
                gimli::DW_TAG_typedef => spelled = self.name(unit, &entry),
                _ => {}
            }
            at = type_of(&entry)?;
        }
        None
    }

    fn is_c(&self, unit: &Unit<Bytes>) -> bool {
        let mut entries = unit.entries();
        let Ok(Some((_, root))) = entries.next_dfs() else {
            return true;
        };
        let language = root.attr_value(gimli::DW_AT_language);
        let cxx = [
            gimli::DW_LANG_C_plus_plus,
            gimli::DW_LANG_C_plus_plus_11,
            gimli::DW_LANG_C_plus_plus_14,
            gimli::DW_LANG_C_plus_plus_17,
            gimli::DW_LANG_C_plus_plus_20,
        ];
        !matches!(language, Ok(Some(AttributeValue::Language(language))) if cxx.contains(&language))
    }

    fn name(&self, unit: &Unit<Bytes>, entry: &MemberEntry<'_>) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name).ok()??;
        let name = self.dwarf.attr_string(unit, value).ok()?;
        Some(name.to_string_lossy().ok()?.into_owned())
    }
}

fn reference(entry: &MemberEntry<'_>, at: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(at) {
        Ok(Some(AttributeValue::UnitRef(offset))) => Some(offset),
        _ => None,
    }
}

fn type_of(entry: &MemberEntry<'_>) -> Option<UnitOffset> {
    reference(entry, gimli::DW_AT_type)
}

fn number(entry: &MemberEntry<'_>, at: gimli::DwAt) -> Option<u64> {
    entry.attr_value(at).ok()??.udata_value()
}
