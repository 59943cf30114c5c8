//! Objects at file scope: their places and first contents.

use super::knowledge::{CallContext, ObjectKind};
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
            let at =
                self.knowledge
                    .create(here, (size, global.align), &global.name, ObjectKind::Static);
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

    /// What `main` is called with: how many words, the words, and an environment without any.
    pub(super) fn command_line(&mut self) -> Vec<CValue> {
        let words = std::iter::once(b"program".to_vec()).chain(self.bounds.arguments.clone());
        let mut table = Vec::new();
        for (number, mut word) in words.enumerate() {
            word.push(0);
            let name = format!("argv[{number}]");
            let at = self.constant_object(number as u32, &name, word);
            table.extend(at.to_le_bytes());
        }
        let count = table.len() as u64 / 8;
        // Behind the last word is a null, and that is the environment, too.
        table.extend([0; 8]);
        let words = self.constant_object(u32::MAX, "argv", table);
        let numbers = [(32, count), (64, words), (64, words + 8 * count)];
        let term = |(width, value)| CValue::Int(self.program.terms.constant(width, value));
        numbers.map(term).into()
    }

    fn constant_object(&mut self, number: u32, name: &str, bytes: Vec<u8>) -> u64 {
        let place = (u32::MAX - 1, number);
        let here = self.knowledge.context(CallContext(0), place, &[]);
        let size = (bytes.len() as u64, 16);
        let at = self.knowledge.create(here, size, name, ObjectKind::Static);
        if let Some(object) = self.knowledge.objects.get_mut(&at) {
            object.initial = bytes;
        }
        at
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
