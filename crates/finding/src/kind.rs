//! The kinds of findings and how bad each is. Their names are promises: they are in run.json, on the terminal, in `--allow`, in
//! `landfall explain`, and in SARIF.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// An enum whose variants have names that files and people use.
macro_rules! named {
    ($(#[$about:meta])* $type:ident: $what:literal { $($(#[$doc:meta])* $variant:ident = $name:literal: $text:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $type {
            $(#[doc = $text] $(#[$doc])* $variant),*
        }

        impl $type {
            /// All of them.
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// Its name in files and on the terminal.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }

            /// What it means, in a sentence or a few words.
            pub const fn meaning(self) -> &'static str {
                match self { $($type::$variant => $text),* }
            }

            /// The one of that name.
            pub fn named(name: &str) -> Option<$type> {
                $type::ALL.iter().copied().find(|one| one.name() == name)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<$type, String> {
                $type::named(name).ok_or_else(|| {
                    let names: Vec<_> = $type::ALL.iter().map(|one| one.name()).collect();
                    format!("no {} `{name}`; there are: {}", $what, names.join(" "))
                })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                let name = Cow::<'de, str>::deserialize(from)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "enum": [$($name),*]})
            }
        }
    };
}

pub(crate) use named;

named! {
    /// What is wrong.
    Kind: "kind" {
        Assertion = "assertion": "An assertion of the program does not hold.",
        Segfault = "segfault": "The program accesses memory it must not.",
        Abort = "abort": "The program gives up.",
        Exit = "exit": "The program ends with a failure code.",
        Hang = "hang": "The program does not come to an end.",
        Deadlock = "deadlock": "Every thread waits for something that cannot happen.",
        Robustness = "robustness": "A store may reach persistent memory before an earlier one.",
        PersistencyRace = "persistency-race": "A store that the compiler may tear can be seen half-done after a power failure.",
        MissingSnapshot = "missing-snapshot": "A store inside a transaction goes to memory that was not added to it.",
        Uninitialised = "uninitialised": "A recovery decides by bytes of persistent memory that nobody wrote.",
        VolatilePointer = "volatile-pointer": "A recovery follows a pointer of a run that is over.",
        DataRace = "data-race": "Two threads access the same memory without order, and one writes.",
        UseAfterFree = "use-after-free": "Memory is used after it was freed.",
        DoubleFree = "double-free": "Memory is freed twice.",
        HeapOverflow = "heap-overflow": "A heap block is accessed beyond its end.",
        LockMisuse = "lock-misuse": "A lock is used against its rules.",
        SignalUnsafe = "signal-unsafe": "A handler of a signal calls a function that it must not.",
        Client = "client": "The client of a server does not get the answer that it expects.",
        RedundantFlush = "redundant-flush": "A cache line is written back for nothing.",
        RedundantFence = "redundant-fence": "A fence has nothing to wait for.",
        Uncontrolled = "uncontrolled": "The program does something that cannot be controlled or repeated.",
    }
}

named! {
    /// How bad it is; the worst is the greatest.
    Severity: "severity" {
        Perf = "perf": "It costs time and breaks nothing.",
        Warning = "warning": "Nothing failed, but it could have.",
        Error = "error": "Something fails.",
    }
}

named! {
    /// What comes of the order in which the accesses of a data race happen; the worst is the greatest.
    RaceEffect: "effect of a data race" {
        Nothing = "nothing": "Either way the program prints and leaves the same.",
        State = "state": "What is in memory at the end depends on it.",
        Output = "output": "What the program prints depends on it.",
        Fails = "fails": "The program fails one way, or either way.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for &kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let why = "crash".parse::<Kind>().unwrap_err();
        assert!(
            why.starts_with("no kind `crash`; there are: assertion segfault"),
            "{why}"
        );
        assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Perf);
    }
}
