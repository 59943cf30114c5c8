//! What lies on the stack of a function: its variables and parameters, those of blocks and of what was inlined there.

use super::{Bytes, MemberEntry, Members, TypeAt, number, reference, type_of};
use gimli::{AttributeValue, EntriesTreeNode, Expression, Operation, Unit, UnitOffset};

/// A function of the debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionAt {
    unit: usize,
    offset: UnitOffset,
}

/// Where a function that is being called is, in addresses of the executable's file, and its registers.
#[derive(Clone, Copy, Debug)]
pub struct CalledFunction {
    /// In the instruction that calls.
    pub at: u64,
    pub stack_pointer: u64,
    /// None if nobody knows.
    pub frame_pointer: Option<u64>,
}

/// A variable of a function, and what of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackVariable {
    /// Whose it is, as a user calls it: `main`, `Pool::run`.
    pub function: String,
    pub variable: String,
    /// `[2].next`, or nothing.
    pub path: String,
}

/// Registers, as debug information numbers them.
const FRAME: u16 = 6;
const STACK: u16 = 7;

/// Blocks in blocks, at most: debug information may be damaged.
const DEEPEST: usize = 64;

/// What is looked for, and the best that was found.
struct Search<'a> {
    called: &'a CalledFunction,
    base: Option<u64>,
    address: u64,
    /// Said of this place in the code; the innermost block comes last.
    found: Option<VariableThere>,
    /// Said of other places in the code.
    elsewhere: Vec<VariableThere>,
}

/// A variable that lies there.
struct VariableThere {
    of: TypeAt,
    /// Which byte of it.
    within: u64,
    variable: String,
    /// The function that it belongs to, where that was inlined.
    inlined: Option<UnitOffset>,
}

impl Members {
    /// The function that has this address of the executable's file.
    pub fn function_at(&self, address: u64) -> Option<FunctionAt> {
        for (number, unit) in self.units.iter().enumerate() {
            let mut entries = unit.entries();
            while let Ok(Some((_, entry))) = entries.next_dfs() {
                if entry.tag() == gimli::DW_TAG_subprogram
                    && self.covers(unit, entry, address) == Some(true)
                {
                    let offset = entry.offset();
                    return Some(FunctionAt {
                        unit: number,
                        offset,
                    });
                }
            }
        }
        None
    }

    /// Does its code have this address? None if it has no code, or does not say.
    fn covers(&self, unit: &Unit<Bytes>, entry: &MemberEntry<'_>, address: u64) -> Option<bool> {
        let mut ranges = self.dwarf.die_ranges(unit, entry).ok()?;
        let mut any = None;
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&address) {
                return Some(true);
            }
            any = Some(false);
        }
        any
    }

    /// Which of its variables lies at an address.
    pub fn local(
        &self,
        of: FunctionAt,
        called: &CalledFunction,
        address: u64,
    ) -> Option<StackVariable> {
        let unit = self.units.get(of.unit)?;
        let mut tree = unit.entries_tree(Some(of.offset)).ok()?;
        let root = tree.root().ok()?;
        let base = match root.entry().attr_value(gimli::DW_AT_frame_base) {
            Ok(Some(AttributeValue::Exprloc(expression))) => base_of(unit, expression, called),
            _ => None,
        };
        let mut search = Search {
            called,
            base,
            address,
            found: None,
            elsewhere: Vec::new(),
        };
        self.look(of.unit, root, None, 0, &mut search);
        // Compilers often know the value of a variable, and leave out that it is in memory as well.
        let alone = search.elsewhere.len() == 1;
        let found = search.found;
        let found = found.or_else(|| search.elsewhere.pop().filter(|_| alone))?;
        Some(StackVariable {
            function: self.called(unit, found.inlined.unwrap_or(of.offset))?,
            variable: found.variable,
            path: self.path(found.of, found.within),
        })
    }

    /// What a user calls a function.
    pub fn name_of(&self, of: FunctionAt) -> Option<String> {
        self.called(self.units.get(of.unit)?, of.offset)
    }

    fn called(&self, unit: &Unit<Bytes>, mut at: UnitOffset) -> Option<String> {
        for _ in 0..4 {
            let entry = unit.entry(at).ok()?;
            if let Some(name) = self.name(unit, &entry) {
                let class = self.parent_of(unit, at);
                let class = class.and_then(|class| {
                    let entry = unit.entry(class).ok()?;
                    Some(self.name(unit, &entry))
                });
                return Some(match class {
                    Some(Some(class)) => format!("{class}::{name}"),
                    // A lambda has a class without a name.
                    Some(None) => match number(&entry, gimli::DW_AT_decl_line) {
                        Some(line) => format!("lambda:{line}"),
                        None => "lambda".to_owned(),
                    },
                    None => name,
                });
            }
            at = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification]
                .iter()
                .find_map(|&to| reference(&entry, to))?;
        }
        None
    }

    /// Looks at a function or a block, and at the blocks in it that are being executed: the innermost one has it.
    fn look(
        &self,
        number: usize,
        node: EntriesTreeNode<'_, '_, '_, Bytes>,
        inlined: Option<UnitOffset>,
        depth: usize,
        search: &mut Search<'_>,
    ) {
        let unit = &self.units[number];
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let Some((within, here)) = self.within(unit, entry, search) else {
                        continue;
                    };
                    let origin = reference(entry, gimli::DW_AT_abstract_origin);
                    let origin = origin.and_then(|at| unit.entry(at).ok());
                    let name = self.name(unit, entry);
                    let name = name.or_else(|| self.name(unit, origin.as_ref()?));
                    let of = type_of(entry).or_else(|| type_of(origin.as_ref()?));
                    let (Some(variable), Some(of)) = (name, of) else {
                        continue;
                    };
                    if within < self.size(unit, of).unwrap_or(0) {
                        let of = TypeAt {
                            unit: number,
                            offset: of,
                        };
                        let found = VariableThere {
                            of,
                            within,
                            variable,
                            inlined,
                        };
                        match here {
                            true => search.found = Some(found),
                            false => search.elsewhere.push(found),
                        }
                    }
                }
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine
                    if depth < DEEPEST
                        && self.covers(unit, entry, search.called.at) != Some(false) =>
                {
                    let inlined = match entry.tag() {
                        gimli::DW_TAG_inlined_subroutine => Some(entry.offset()),
                        _ => inlined,
                    };
                    self.look(number, child, inlined, depth + 1, search);
                }
                _ => {}
            }
        }
    }

    /// Which byte of a variable it is, if that lies in memory and before the address; is that said of this place in the code?
    fn within(
        &self,
        unit: &Unit<Bytes>,
        entry: &MemberEntry<'_>,
        search: &Search<'_>,
    ) -> Option<(u64, bool)> {
        let value = entry.attr_value(gimli::DW_AT_location).ok()??;
        if let AttributeValue::Exprloc(expression) = value {
            return Some((within(unit, expression, search)?, true));
        }
        let mut elsewhere = None;
        let mut places = self.dwarf.attr_locations(unit, value).ok()??;
        while let Ok(Some(place)) = places.next() {
            let here = (place.range.begin..place.range.end).contains(&search.called.at);
            let found = within(unit, place.data, search);
            if here && found.is_some() {
                return Some((found?, true));
            }
            elsewhere = elsewhere.or(found);
        }
        Some((elsewhere?, false))
    }
}

/// What places on the stack are told from.
fn base_of(
    unit: &Unit<Bytes>,
    expression: Expression<Bytes>,
    called: &CalledFunction,
) -> Option<u64> {
    let mut operations = expression.operations(unit.encoding());
    let base = match operations.next().ok()?? {
        Operation::Register { register } if register.0 == FRAME => called.frame_pointer,
        Operation::Register { register } if register.0 == STACK => Some(called.stack_pointer),
        // The caller's stack pointer and the return address are between.
        Operation::CallFrameCFA => called.frame_pointer.map(|frame| frame.wrapping_add(16)),
        _ => None,
    };
    base.filter(|_| matches!(operations.next(), Ok(None)))
}

/// Which byte of a variable that lies there is looked for: all of it in one place, or each piece in one.
fn within(unit: &Unit<Bytes>, expression: Expression<Bytes>, search: &Search<'_>) -> Option<u64> {
    let mut operations = expression.operations(unit.encoding());
    // Where it is, if that was all that was said.
    let mut place: Option<u64> = None;
    let (mut said, mut before, mut pieces) = (0, 0_u64, false);
    while let Some(operation) = operations.next().ok()? {
        if let Operation::Piece {
            size_in_bits,
            bit_offset: None,
        } = operation
        {
            let bytes = size_in_bits / 8;
            let at = place.filter(|_| said == 1);
            let at = at.and_then(|place| search.address.checked_sub(place));
            if let Some(at) = at.filter(|&at| at < bytes) {
                return before.checked_add(at);
            }
            before = before.checked_add(bytes)?;
            (place, said, pieces) = (None, 0, true);
            continue;
        }
        let register = |register: gimli::Register| match register.0 {
            FRAME => search.called.frame_pointer,
            STACK => Some(search.called.stack_pointer),
            _ => None,
        };
        place = match operation {
            Operation::FrameOffset { offset } => {
                search.base.map(|base| base.wrapping_add_signed(offset))
            }
            Operation::RegisterOffset {
                register: number,
                offset,
                ..
            } => register(number).map(|base| base.wrapping_add_signed(offset)),
            _ => None,
        };
        said += 1;
    }
    let place = place.filter(|_| said == 1 && !pieces)?;
    search.address.checked_sub(place)
}
