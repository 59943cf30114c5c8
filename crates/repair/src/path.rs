//! What a store stores to, as a variable and the members that lead from it.

use crate::address::without_parentheses;
use crate::source::{Language, Place, Source, Unit, parse};
use crate::store;
use tree_sitter::{Node, Tree};

/// `r->data[i]` is the member `data` of what the variable `r` leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    pub variable: String,
    pub members: Vec<String>,
}

/// A file that is read once, and asked about many places.
#[derive(Debug)]
pub struct Stores {
    text: String,
    language: Language,
    tree: Tree,
}

impl Stores {
    /// None of a text that cannot be read at all.
    pub fn of(text: String, language: Language) -> Option<Stores> {
        let tree = parse(&text, language)?;
        Some(Stores {
            text,
            language,
            tree,
        })
    }

    /// What the store at a place stores to, where the source says it by names.
    pub fn path(&self, at: Place) -> Option<Path> {
        let unit = Unit {
            text: &self.text,
            language: self.language,
            headers: &[],
        };
        let source = Source::unstyled(&unit, self.tree.clone());
        let store = store::find(&source, at, 0).ok()?.node;
        let target = match store.kind() {
            "assignment_expression" => store.child_by_field_name("left")?,
            "update_expression" => store.child_by_field_name("argument")?,
            "call_expression" => {
                let function = store.child_by_field_name("function")?;
                // `x.store(…)`, or a function that is given the address first.
                match function.kind() {
                    "field_expression" => function.child_by_field_name("argument")?,
                    _ => store.child_by_field_name("arguments")?.named_child(0)?,
                }
            }
            _ => return None,
        };
        let mut members = Vec::new();
        let variable = follow(&source, target, &mut members)?;
        Some(Path { variable, members })
    }
}

/// The variable an expression begins with; its members go on the list.
fn follow(source: &Source<'_>, node: Node<'_>, members: &mut Vec<String>) -> Option<String> {
    let node = without_parentheses(node);
    let inner = match node.kind() {
        "identifier" | "this" => return Some(source.of(node).to_owned()),
        "field_expression" => {
            let variable = follow(source, node.child_by_field_name("argument")?, members)?;
            let field = node.child_by_field_name("field")?;
            members.push(source.of(field).to_owned());
            return Some(variable);
        }
        "subscript_expression" | "pointer_expression" => node.child_by_field_name("argument")?,
        "cast_expression" => node.child_by_field_name("value")?,
        "binary_expression" => node.child_by_field_name("left")?,
        _ => return None,
    };
    follow(source, inner, members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_what_is_stored_to() {
        for (store, expected) in [
            ("r->data[i] = 1;", "r data"),
            ("s->block[3].next = 0;", "s block next"),
            ("*slot = item;", "slot"),
            ("(*head)->next = n;", "head next"),
            ("length++;", "length"),
            ("this->held.value = 1;", "this held value"),
            ("__atomic_store_n(&p->free, b, 3);", "p free"),
            ("log->length.store(1);", "log length"),
            ("memcpy(log->text + 4, t, n);", "log text"),
        ] {
            let text = format!("void f() {{\n  {store}\n}}\n");
            let stores = Stores::of(text, Language::Cxx).unwrap();
            let found = stores.path(Place { line: 2, column: 0 });
            let found = found.map(|p| [&[p.variable][..], &p.members].concat().join(" "));
            assert_eq!(found.as_deref(), Some(expected), "{store}");
        }
    }
}
