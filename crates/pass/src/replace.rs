//! Locks that were checked, and are taken for granted in their clients (`--replace MINE=pthread_mutex`): each of their functions becomes a call
//! of the runtime's own, with the lock's address. It happens before anything is inlined.

use crate::ir::Value;
use crate::said::{self, REPLACED};
use llvm_sys::prelude::*;

/// A function of a primitive, what it is called in locks of one's own, and the hook in its place.
type LockFunction = (&'static str, &'static [&'static str], &'static str);

const FAMILIES: [(&str, &[LockFunction]); 3] = [
    ("pthread_mutex", &MUTEX),
    ("pthread_spin", &MUTEX),
    (
        "pthread_rwlock",
        &[
            (
                "rdlock",
                &["rdlock", "read_lock", "lock_read", "lock_shared"],
                "__lf_replaced_rdlock",
            ),
            (
                "wrlock",
                &["wrlock", "write_lock", "lock_write", "lock"],
                "__lf_replaced_wrlock",
            ),
            (
                "unlock",
                &[
                    "unlock",
                    "rdunlock",
                    "wrunlock",
                    "read_unlock",
                    "write_unlock",
                    "unlock_read",
                    "unlock_write",
                    "unlock_shared",
                ],
                "__lf_replaced_rwunlock",
            ),
            ("init", &["init"], "__lf_replaced_init"),
            ("destroy", &["destroy"], "__lf_replaced_destroy"),
        ],
    ),
];

const MUTEX: [LockFunction; 5] = [
    ("lock", &["lock", "acquire"], "__lf_replaced_lock"),
    (
        "trylock",
        &["trylock", "try_lock", "try_acquire", "tryacquire"],
        "__lf_replaced_trylock",
    ),
    ("unlock", &["unlock", "release"], "__lf_replaced_unlock"),
    ("init", &["init"], "__lf_replaced_init"),
    ("destroy", &["destroy"], "__lf_replaced_destroy"),
];

/// What takes the place of a function that is called this, by a rule.
fn role(name: &str, rule: &str) -> Option<(String, &'static str)> {
    let (mine, primitive) = rule.split_once('=')?;
    for (family, functions) in FAMILIES {
        for &(function, synonyms, hook) in functions {
            let whole = format!("{family}_{function}");
            let stands = match primitive == family {
                true => synonyms.iter().any(|synonym| is_of(name, mine, synonym)),
                false => primitive == whole && is_called(name, mine),
            };
            if stands {
                return Some((whole, hook));
            }
        }
    }
    None
}

/// Is this the function of a lock that does this? `my_lock`, `my_unlock`; `spin_lock`, `spin_unlock` of `spin`; `Spin::lock`.
fn is_of(name: &str, lock: &str, does: &str) -> bool {
    let of_stem = |stem: &str| is_called(name, &format!("{stem}{does}"));
    is_called(name, &format!("{lock}_{does}"))
        || is_called(name, &format!("{lock}::{does}"))
        || lock.strip_suffix("lock").is_some_and(of_stem)
}

/// Does a user who writes `asked` mean this function? As `landfall check --within` has it.
fn is_called(name: &str, asked: &str) -> bool {
    let bare = name.split('(').next().unwrap_or(name);
    let plain = bare.split('<').next().unwrap_or(bare);
    bare == asked || plain == asked || plain.ends_with(&format!("::{asked}"))
}

/// Replaces the functions that rules name; was there one?
pub(crate) fn replace(module: LLVMModuleRef, functions: Vec<Value>) -> bool {
    let Ok(rules) = std::env::var("LANDFALL_REPLACE") else {
        return false;
    };
    let mut entries = Vec::new();
    for function in functions.into_iter().filter(|f| !f.is_declaration()) {
        let (name, _, line) = function.definition();
        let found = rules
            .split(';')
            .find_map(|rule| Some((rule, role(&name, rule)?)));
        let Some((rule, (primitive, hook))) = found else {
            continue;
        };
        if function.becomes_call_of(hook) {
            entries.push((
                REPLACED,
                format!("{name}={primitive}"),
                rule.to_owned(),
                line,
            ));
        } else {
            crate::ir::say(&format!(
                "landfall: warning: --replace {rule}: `{name}` does not take the address of the lock first, or returns no number: it stays as it is"
            ));
        }
    }
    said::describe(module, &entries);
    !entries.is_empty()
}

#[cfg(test)]
mod tests {
    use super::role;

    #[test]
    fn functions_of_a_lock_are_known_by_their_names() {
        let hook = |name: &str, rule: &str| role(name, rule).map(|(_, hook)| hook);
        for (name, rule, expected) in [
            ("spin_lock", "spin=pthread_mutex", "__lf_replaced_lock"),
            ("spin_release", "spin=pthread_mutex", "__lf_replaced_unlock"),
            ("my_lock", "my_lock=pthread_mutex", "__lf_replaced_lock"),
            ("my_unlock", "my_lock=pthread_mutex", "__lf_replaced_unlock"),
            (
                "Spin::try_lock()",
                "Spin=pthread_spin",
                "__lf_replaced_trylock",
            ),
            ("a::Spin::lock()", "Spin=pthread_spin", "__lf_replaced_lock"),
            ("enter", "enter=pthread_mutex_lock", "__lf_replaced_lock"),
            (
                "rw_lock_shared",
                "rw=pthread_rwlock",
                "__lf_replaced_rdlock",
            ),
        ] {
            assert_eq!(hook(name, rule), Some(expected), "{name} {rule}");
        }
        for (name, rule) in [
            ("unlocked", "spin=pthread_mutex"),
            ("spin_locked", "spin=pthread_mutex"),
            ("respin_lock", "spin=pthread_mutex"),
            ("enter", "enter=pthread_mutex"),
            ("spin_lock", "spin=sem"),
        ] {
            assert_eq!(hook(name, rule), None, "{name} {rule}");
        }
    }
}
