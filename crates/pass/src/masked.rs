use crate::ir::Value;
use crate::weaver::Weaver;
pub(crate) fn weave(_weaver: &mut Weaver<'_>, _call: Value, _name: &str) -> bool { false }
