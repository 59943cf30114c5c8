//! What lies at an offset inside of a variable or a type: `fork[2]`, `queue.head`, `->stop_`.

use super::{Bytes, DEEPEST, Members, number, type_of};
use gimli::{AttributeValue, Operation, Unit, UnitOffset};
use std::collections::HashSet;

/// A type of the debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeAt {
    pub(super) unit: usize,
    pub(super) offset: UnitOffset,
}

impl Members {
    /// What lies at an address of the executable's file: the variable, and the members and elements that lead there. What standard
    /// libraries keep in their own objects has no name of its own.
    pub fn variable_at(&self, address: u64) -> Option<String> {
        for (number, unit) in self.units.iter().enumerate() {
            let mut entries = unit.entries();
            while let Ok(Some((_, entry))) = entries.next_dfs() {
                if entry.tag() != gimli::DW_TAG_variable {
                    continue;
                }
                let Some(start) = self.address_of(unit, entry) else {
                    continue;
                };
                if start > address {
                    continue;
                }
                // What is defined apart from its declaration has its name and type there.
                let declared = super::reference(entry, gimli::DW_AT_specification);
                let declared = declared.and_then(|at| unit.entry(at).ok());
                let of = type_of(entry).or_else(|| declared.as_ref().and_then(type_of));
                let name = self.name(unit, entry);
                let name = name.or_else(|| self.name(unit, declared.as_ref()?));
                let (Some(of), Some(name)) = (of, name) else {
                    continue;
                };
                let size = self.size(unit, of).unwrap_or(0);
                if address - start < size {
                    let at = TypeAt {
                        unit: number,
                        offset: of,
                    };
                    let path = self.path(at, address - start);
                    return Some(format!("{name}{path}"));
                }
            }
        }
        None
    }

    /// Names of the variables that are always there.
    pub fn variables(&self) -> HashSet<String> {
        let mut names = HashSet::new();
        for unit in &self.units {
            let mut entries = unit.entries();
            while let Ok(Some((_, entry))) = entries.next_dfs() {
                if entry.tag() == gimli::DW_TAG_variable && self.address_of(unit, entry).is_some() {
                    let declared = super::reference(entry, gimli::DW_AT_specification);
                    let declared = declared.and_then(|at| unit.entry(at).ok());
                    let name = self.name(unit, entry);
                    names.extend(name.or_else(|| self.name(unit, declared.as_ref()?)));
                }
            }
        }
        names
    }

    /// A struct or class of this name; `std::pair<int, int>` is `pair<int, int>` here.
    pub fn type_named(&self, name: &str) -> Option<TypeAt> {
        let name = name.trim_start_matches("struct ").trim();
        let before = name.split('<').next().unwrap_or(name);
        let bare = before.rsplit("::").next().unwrap_or(before);
        let bare = format!("{bare}{}", &name[before.len()..]);
        for (number, unit) in self.units.iter().enumerate() {
            let mut entries = unit.entries();
            while let Ok(Some((_, entry))) = entries.next_dfs() {
                let whole = matches!(
                    entry.tag(),
                    gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_typedef
                ) && !matches!(entry.attr_value(gimli::DW_AT_declaration), Ok(Some(_)));
                if whole && self.name(unit, entry).as_deref() == Some(&bare) {
                    return Some(TypeAt {
                        unit: number,
                        offset: entry.offset(),
                    });
                }
            }
        }
        None
    }

    /// How many bytes it has.
    pub fn size_of(&self, at: TypeAt) -> Option<u64> {
        self.size(&self.units[at.unit], at.offset)
    }

    /// What leads from the start of a type to a byte of it: `.head`, `[2].next`; nothing at the start of what has no parts.
    pub fn path(&self, at: TypeAt, offset: u64) -> String {
        let unit = &self.units[at.unit];
        let (mut of, mut rest) = (at.offset, offset);
        let mut path = String::new();
        // Inside of what a library keeps for itself nothing is named.
        let mut theirs = false;
        for _ in 0..DEEPEST {
            let Some((part, next, left)) = self.part(unit, of, rest) else {
                break;
            };
            theirs |= part.strip_prefix('.').is_some_and(is_reserved);
            if !theirs {
                path.push_str(&part);
            }
            (of, rest) = (next, left);
        }
        if rest != 0 && !theirs {
            path.push_str(&format!("+{rest}"));
        }
        path
    }

    /// One step towards a byte: what it is called, its type, and the bytes that are left.
    fn part(
        &self,
        unit: &Unit<Bytes>,
        of: UnitOffset,
        offset: u64,
    ) -> Option<(String, UnitOffset, u64)> {
        let entry = unit.entry(of).ok()?;
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type => Some((String::new(), type_of(&entry)?, offset)),
            gimli::DW_TAG_array_type => {
                let element = type_of(&entry)?;
                let size = self.size(unit, element).filter(|&size| size > 0)?;
                let mut index = offset / size;
                let counts = self.counts(unit, of);
                let mut indices = Vec::new();
                for count in counts.iter().skip(1).rev() {
                    indices.push(index % (*count).max(1));
                    index /= (*count).max(1);
                }
                indices.push(index);
                let part = indices.iter().rev().map(|index| format!("[{index}]"));
                Some((part.collect(), element, offset % size))
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let mut tree = unit.entries_tree(Some(of)).ok()?;
                let mut children = tree.root().ok()?.children();
                // Of what is only declared here, nobody knows how long it is.
                let mut opaque = None;
                while let Ok(Some(child)) = children.next() {
                    let entry = child.entry();
                    let inherits = entry.tag() == gimli::DW_TAG_inheritance;
                    if entry.tag() != gimli::DW_TAG_member && !inherits {
                        continue;
                    }
                    // A static member is no part.
                    if matches!(entry.attr_value(gimli::DW_AT_external), Ok(Some(_))) {
                        continue;
                    }
                    let start = number(entry, gimli::DW_AT_data_member_location).unwrap_or(0);
                    let Some(next) = type_of(entry) else {
                        continue;
                    };
                    let Some(size) = self.size(unit, next) else {
                        let name = self.name(unit, entry).filter(|_| start <= offset);
                        opaque = name.map(|name| (format!(".{name}"), next, 0)).or(opaque);
                        continue;
                    };
                    if (start..start.saturating_add(size)).contains(&offset) {
                        let name = self.name(unit, entry).filter(|_| !inherits);
                        let name = name.map_or_else(String::new, |name| format!(".{name}"));
                        return Some((name, next, offset - start));
                    }
                }
                opaque
            }
            _ => None,
        }
    }

    /// The lengths of an array, in each dimension.
    fn counts(&self, unit: &Unit<Bytes>, of: UnitOffset) -> Vec<u64> {
        let mut counts = Vec::new();
        let Ok(mut tree) = unit.entries_tree(Some(of)) else {
            return counts;
        };
        let Ok(root) = tree.root() else {
            return counts;
        };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_subrange_type {
                let count = number(entry, gimli::DW_AT_count);
                let bound =
                    || number(entry, gimli::DW_AT_upper_bound).map(|most| most.wrapping_add(1));
                counts.push(count.or_else(bound).unwrap_or(0));
            }
        }
        counts
    }

    pub(super) fn size(&self, unit: &Unit<Bytes>, of: UnitOffset) -> Option<u64> {
        let mut at = of;
        let mut factor = 1;
        for _ in 0..DEEPEST {
            let entry = unit.entry(at).ok()?;
            if let Some(size) = number(&entry, gimli::DW_AT_byte_size) {
                return size.checked_mul(factor);
            }
            match entry.tag() {
                gimli::DW_TAG_array_type => {
                    let counts = self.counts(unit, at);
                    let product = |all: u64, count: &u64| all.saturating_mul(*count);
                    factor = counts.iter().fold(factor, product);
                }
                gimli::DW_TAG_pointer_type
                | gimli::DW_TAG_reference_type
                | gimli::DW_TAG_rvalue_reference_type => return factor.checked_mul(8),
                _ => {}
            }
            at = type_of(&entry)?;
        }
        None
    }

    /// Where a variable lies, if it is always there.
    fn address_of(&self, unit: &Unit<Bytes>, entry: &super::MemberEntry<'_>) -> Option<u64> {
        let Ok(Some(AttributeValue::Exprloc(expression))) = entry.attr_value(gimli::DW_AT_location)
        else {
            return None;
        };
        let mut operations = expression.operations(unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(unit, index).ok()?,
            _ => return None,
        };
        // Behind it may stand where in the thread's own memory that is.
        operations.next().ok()?.is_none().then_some(address)
    }
}

/// Names that libraries have for themselves.
fn is_reserved(name: &str) -> bool {
    name.starts_with("__")
        || name.starts_with("_M_")
        || name.starts_with('_') && name[1..].starts_with(|c: char| c.is_ascii_uppercase())
}
