//! Functions that store through an argument.

use crate::address::StoreTarget;
use crate::source::{ParsedSource, walk};
use tree_sitter::Node;

/// How many bytes such a function stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallSize {
    /// This argument says so.
    Argument(usize),
    /// The product of two arguments.
    Product(usize, usize),
    /// This argument, in units of a type.
    Units(usize, &'static str),
    /// A text and the zero behind it.
    Text,
    /// What the argument points to.
    Pointee,
    /// The object the method is called on.
    Object,
    Fixed(u32),
}

struct CallRow {
    names: &'static [&'static str],
    destination: usize,
    size: CallSize,
    /// Written around the cache: a fence is enough.
    streamed: bool,
}

const fn row(names: &'static [&'static str], destination: usize, size: CallSize) -> CallRow {
    CallRow {
        names,
        destination,
        size,
        streamed: false,
    }
}

const TABLE: &[CallRow] = &[
    row(
        &[
            "memcpy",
            "memmove",
            "memset",
            "mempcpy",
            "strncpy",
            "stpncpy",
            "pmem_memcpy",
            "pmem_memmove",
            "pmem_memset",
            "lf_memcpy",
        ],
        0,
        CallSize::Argument(2),
    ),
    row(
        &["bzero", "explicit_bzero", "getrandom"],
        0,
        CallSize::Argument(1),
    ),
    row(&["memccpy"], 0, CallSize::Argument(3)),
    row(&["bcopy"], 1, CallSize::Argument(2)),
    row(&["read", "pread", "recv"], 1, CallSize::Argument(2)),
    row(&["fread"], 0, CallSize::Product(1, 2)),
    row(
        &["wmemcpy", "wmemmove", "wmemset"],
        0,
        CallSize::Units(2, "wchar_t"),
    ),
    row(
        &[
            "strcpy",
            "stpcpy",
            "strcat",
            "strncat",
            "strlcpy",
            "strlcat",
            "sprintf",
            "vsprintf",
            "snprintf",
            "vsnprintf",
            "fgets",
        ],
        0,
        CallSize::Text,
    ),
    CallRow {
        names: &[
            "pmem_memcpy_nodrain",
            "pmem_memmove_nodrain",
            "pmem_memset_nodrain",
        ],
        destination: 0,
        size: CallSize::Argument(2),
        streamed: true,
    },
    row(
        &[
            "_mm_store_si128",
            "_mm_storeu_si128",
            "_mm_store_ps",
            "_mm_store_pd",
        ],
        0,
        CallSize::Fixed(16),
    ),
    row(
        &["_mm256_store_si256", "_mm256_storeu_si256"],
        0,
        CallSize::Fixed(32),
    ),
    row(
        &["_mm512_store_si512", "_mm512_storeu_si512"],
        0,
        CallSize::Fixed(64),
    ),
];

/// Methods of std::atomic and std::atomic_flag that store.
const ATOMIC_METHODS: &[&str] = &[
    "store",
    "exchange",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "compare_exchange_weak",
    "compare_exchange_strong",
    "test_and_set",
    "clear",
];

fn is_atomic_function(name: &str) -> bool {
    let other = name.contains("fence") || name.contains("_is_lock_free");
    let prefixed = ["atomic_", "__atomic_", "__sync_", "__c11_atomic_"];
    !other && prefixed.iter().any(|prefix| name.starts_with(prefix))
}

/// Does it only read?
fn is_load(name: &str) -> bool {
    name == "load" || is_atomic_function(name) && name.contains("_load")
}

/// What an atomic operation reads from, if the call is one that reads.
pub(crate) fn reading(source: &ParsedSource<'_>, call: Node<'_>) -> Option<StoreTarget> {
    let name = name(call, source.text)?;
    let stores = name == "store" || name == "clear" || name.contains("_store");
    let atomic = is_load(name) || ATOMIC_METHODS.contains(&name) || is_atomic_function(name);
    let found = through_argument(source, call).filter(|_| atomic && !stores)?;
    Some(found.target)
}

fn is_streaming(name: &str) -> bool {
    [
        "_mm_stream_",
        "_mm256_stream_",
        "_mm512_stream_",
        "__builtin_nontemporal_store",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// The plain name of what is called: `std::memcpy` and `__builtin_memcpy` are `memcpy`.
pub(crate) fn name<'a>(call: Node<'_>, text: &'a str) -> Option<&'a str> {
    let function = call.child_by_field_name("function")?;
    let last = match function.kind() {
        "identifier" => function,
        "field_expression" => function.child_by_field_name("field")?,
        "qualified_identifier" | "template_function" => {
            let mut inner = function;
            while let Some(name) = inner.child_by_field_name("name") {
                inner = name;
            }
            inner
        }
        _ => return None,
    };
    let name = &text[last.byte_range()];
    let builtin = name
        .strip_prefix("__builtin_")
        .filter(|n| TABLE.iter().any(|r| r.names.contains(n)));
    Some(builtin.unwrap_or(name))
}

pub(crate) fn arguments<'t>(call: Node<'t>) -> Vec<Node<'t>> {
    let Some(list) = call.child_by_field_name("arguments") else {
        return Vec::new();
    };
    (0..list.named_child_count())
        .filter_map(|i| list.named_child(i as u32))
        .filter(|n| n.kind() != "comment")
        .collect()
}

#[derive(Debug)]
pub(crate) struct StoringCall {
    pub(crate) target: StoreTarget,
    pub(crate) streamed: bool,
}

/// What a call stores to, if it is one that does.
pub(crate) fn storing(source: &ParsedSource<'_>, call: Node<'_>) -> Option<StoringCall> {
    let loads = is_load(name(call, source.text)?);
    through_argument(source, call).filter(|_| !loads)
}

/// The memory that a call is about.
fn through_argument(source: &ParsedSource<'_>, call: Node<'_>) -> Option<StoringCall> {
    let name = name(call, source.text)?;
    let arguments = arguments(call);
    let method = call.child_by_field_name("function")?.kind() == "field_expression";
    let (destination, size, streamed) = if method {
        if !ATOMIC_METHODS.contains(&name) && !is_load(name) {
            return None;
        }
        let object = call
            .child_by_field_name("function")?
            .child_by_field_name("argument")?;
        (object, CallSize::Object, false)
    } else if let Some(row) = TABLE.iter().find(|row| row.names.contains(&name)) {
        (*arguments.get(row.destination)?, row.size, row.streamed)
    } else if is_streaming(name) {
        let pointer = match name {
            "__builtin_nontemporal_store" => 1,
            _ => 0,
        };
        (*arguments.get(pointer)?, CallSize::Pointee, true)
    } else if is_atomic_function(name) {
        (*arguments.first()?, CallSize::Pointee, false)
    } else {
        return None;
    };
    let effects = |node: Node<'_>| {
        walk(node).any(|n| matches!(n.kind(), "update_expression" | "assignment_expression"))
    };
    if effects(destination) {
        return None;
    }
    let argument = |i: usize| {
        arguments
            .get(i)
            .filter(|&&n| !effects(n))
            .map(|&n| source.of(n))
    };
    let pointer = source.of(destination);
    let size = match size {
        CallSize::Argument(i) => argument(i)?.to_owned(),
        CallSize::Product(a, b) => format!("{} * {}", factor(argument(a)?), factor(argument(b)?)),
        CallSize::Units(i, unit) => format!("{} * {}", factor(argument(i)?), source.sizeof(unit)),
        CallSize::Text => format!("strlen({pointer}) + 1"),
        CallSize::Fixed(bytes) => bytes.to_string(),
        CallSize::Pointee => match pointer.strip_prefix('&') {
            Some(object) => source.sizeof(object),
            None => source.sizeof(&format!("*{}", factor(pointer))),
        },
        CallSize::Object => {
            return Some(StoringCall {
                target: object(source, call)?.word(),
                streamed: false,
            });
        }
    };
    let single = size.parse::<u32>().is_ok_and(|n| n <= 8)
        || size.starts_with("sizeof") && name.contains("atomic");
    let mut target = StoreTarget::new(pointer, size);
    target.word = single;
    Some(StoringCall { target, streamed })
}

/// The object that a method is called on, as a whole.
pub(crate) fn object(source: &ParsedSource<'_>, call: Node<'_>) -> Option<StoreTarget> {
    let method = call.child_by_field_name("function")?;
    let object = method.child_by_field_name("argument")?;
    let changes = |node: Node<'_>| {
        matches!(
            node.kind(),
            "update_expression" | "assignment_expression" | "new_expression"
        )
    };
    if method.kind() != "field_expression" || walk(object).any(changes) {
        return None;
    }
    let operator = method.child_by_field_name("operator")?;
    let text = source.of(object);
    Some(match source.of(operator) {
        "->" => StoreTarget::new(text, source.sizeof(&format!("*{}", factor(text)))),
        _ => StoreTarget::new(format!("&{text}"), source.sizeof(text)),
    })
}

/// As an operand of `*`.
fn factor(expression: &str) -> String {
    let simple = expression
        .chars()
        .all(|c| c.is_alphanumeric() || "_.->[]:".contains(c));
    match simple && !expression.contains(" - ") {
        true => expression.to_owned(),
        false => format!("({expression})"),
    }
}
