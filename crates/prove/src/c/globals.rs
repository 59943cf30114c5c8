//! Objects at file scope: their places and first contents.

use super::knowledge::CallContext;
use super::machine::{CMachine, CValue, Go};
use landfall_ir::{Constant, Type};

impl CMachine<'_> {
    /// Gives every global a place and its first content.
    pub(super) fn make_globals(&mut self, context: CallContext) -> Go<()> {
        let module = self.module;
        let mut all = Vec::new();
        for (number, global) in module.globals.iter().enumerate() {
            if global.name.starts_with("llvm.") {
                continue;
            }
            let Some(size) = self.layout().size(&global.of) else {
                continue;
            };
            // The same object before and after a failure: only its content is new.
            let here = self
                .knowledge
                .context(CallContext(0), (u32::MAX, number as u32), &[]);
            let at = self
                .knowledge
                .create(here, (size, global.align), &global.name, false);
            self.globals.insert(global.name.clone(), at);
            all.push((global, at, size));
        }
        let _ = context;
        for (global, at, size) in all {
            if size > 1 << 24 {
                continue;
            }
            let mut bytes = vec![0; size as usize];
            if let Some(initial) = &global.initial {
                self.lay_out(&mut bytes, 0, initial, &global.of)?;
            }
            while bytes.last() == Some(&0) {
                bytes.pop();
            }
            if let Some(object) = self.knowledge.objects.get_mut(&at) {
                object.initial = bytes;
            }
        }
        Ok(())
    }

    pub(super) fn lay_out(
        &mut self,
        bytes: &mut [u8],
        at: u64,
        constant: &Constant,
        of: &Type,
    ) -> Go<()> {
        match constant {
            Constant::Zero | Constant::Undef | Constant::Null => {}
            Constant::Other(_) => {} // a number nobody can read without being refused
            Constant::Bytes(text) => {
                for (number, byte) in text.iter().enumerate() {
                    if let Some(place) = bytes.get_mut(at as usize + number) {
                        *place = *byte;
                    }
                }
            }
            Constant::Aggregate(parts) => {
                for (index, (part_of, part)) in parts.iter().enumerate() {
                    if let Some((offset, _)) = self.layout().offset(of, index as u64) {
                        self.lay_out(bytes, at + offset, part, part_of)?;
                    }
                }
            }
            Constant::Int(value) if self.wide_bits(of).is_some() => {
                for (number, byte) in value.to_le_bytes().into_iter().enumerate() {
                    if let Some(place) = bytes.get_mut(at as usize + number) {
                        *place = byte;
                    }
                }
            }
            single => {
                let size = self.size_of(of)?;
                if let CValue::Int(term) = self.constant(single, of)?
                    && let Some(value) = self.program.terms.constant_of(term)
                {
                    for number in 0..size.min(8) {
                        if let Some(place) = bytes.get_mut((at + number) as usize) {
                            *place = (value >> (8 * number)) as u8;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
