//! Sizes and offsets, as x86-64 has them.

use crate::types::Type;
use rustc_hash::FxHashMap;

/// The layout of a module's types.
#[derive(Clone, Copy, Debug)]
pub struct DataLayout<'m> {
    pub(crate) named: &'m FxHashMap<String, Type>,
}

/// Types name each other, and a program could name itself.
const DEEPEST: u32 = 64;

impl<'m> DataLayout<'m> {
    /// Bytes from one element of an array to the next; none for what has no size.
    pub fn size(self, of: &Type) -> Option<u64> {
        Some(self.both(of, 0)?.0)
    }

    pub fn align(self, of: &Type) -> Option<u64> {
        Some(self.both(of, 0)?.1)
    }

    /// The type itself, behind its name.
    pub fn resolve<'t>(self, of: &'t Type) -> &'t Type
    where
        'm: 't,
    {
        let mut of = of;
        for _ in 0..DEEPEST {
            match of {
                Type::Named(name) => match self.named.get(name) {
                    Some(known) => of = known,
                    None => return of,
                },
                _ => return of,
            }
        }
        of
    }

    /// Where a field of a struct, or an element of an array, begins.
    pub fn offset(self, of: &Type, index: u64) -> Option<(u64, Type)> {
        match self.resolve(of) {
            Type::Array(_, element) | Type::Vector(_, element) => {
                let at = self.size(element)?.checked_mul(index)?;
                Some((at, (**element).clone()))
            }
            Type::Struct { fields, packed } => {
                let mut at = 0u64;
                for (number, field) in fields.iter().enumerate() {
                    let (size, align) = self.both(field, 0)?;
                    if !packed {
                        at = at.checked_next_multiple_of(align)?;
                    }
                    if number as u64 == index {
                        return Some((at, field.clone()));
                    }
                    at = at.checked_add(size)?;
                }
                None
            }
            _ => None,
        }
    }

    fn both(self, of: &Type, depth: u32) -> Option<(u64, u64)> {
        if depth > DEEPEST {
            return None;
        }
        Some(match self.resolve(of) {
            Type::Int(bits) => {
                let bytes = u64::from(*bits).div_ceil(8).next_power_of_two();
                (bytes, bytes.min(16))
            }
            Type::Pointer => (8, 8),
            Type::Float(name) => match name.as_str() {
                "half" | "bfloat" => (2, 2),
                "float" => (4, 4),
                "double" => (8, 8),
                _ => (16, 16),
            },
            Type::Array(count, element) => {
                let (size, align) = self.both(element, depth + 1)?;
                (size.checked_mul(*count)?, align)
            }
            Type::Vector(count, element) => {
                let size = self.both(element, depth + 1)?.0.checked_mul(*count)?;
                let size = size.max(1).checked_next_power_of_two()?;
                (size, size)
            }
            Type::Struct { fields, packed } => {
                let (mut at, mut most) = (0u64, 1);
                for field in fields {
                    let (size, align) = self.both(field, depth + 1)?;
                    if !packed {
                        at = at.checked_next_multiple_of(align)?;
                        most = most.max(align);
                    }
                    at = at.checked_add(size)?;
                }
                (at.checked_next_multiple_of(most)?, most)
            }
            Type::Void | Type::Named(_) | Type::Other => return None,
        })
    }
}
