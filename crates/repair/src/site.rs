//! Where new statements go, so that the file still looks like its author wrote it.

use crate::Edit;
use crate::idiom::Code;
use crate::source::{ParsedSource, ancestors, is_block};
use crate::store::{FoundStore, POINTER, StoreShape};
use tree_sitter::Node;

#[derive(Clone, Debug)]
pub(crate) struct InsertionSite<'t> {
    spot: Spot<'t>,
    /// The left side of the store: a pointer to it has to be taken before the statement.
    pointer: Option<(Node<'t>, Node<'t>)>,
}

#[derive(Clone, Copy, Debug)]
enum Spot<'t> {
    /// After a statement of a block.
    Behind(Node<'t>),
    /// After a statement that is alone under an `if`, `for`, …: it gets braces.
    Braces { owner: Node<'t>, body: Node<'t> },
    /// Before a statement of a block.
    InFront(Node<'t>),
    /// First in the body of a function.
    First(Node<'t>),
}

impl<'t> InsertionSite<'t> {
    fn at(spot: Spot<'t>) -> InsertionSite<'t> {
        InsertionSite {
            spot,
            pointer: None,
        }
    }

    /// After the statement of a store.
    pub(crate) fn after(
        source: &ParsedSource<'_>,
        store: &FoundStore<'t>,
    ) -> Option<InsertionSite<'t>> {
        if let StoreShape::Constructor { body } = store.shape {
            return Some(InsertionSite::at(Spot::First(body)));
        }
        let statement = source.statement_of(store.node)?;
        if !matches!(statement.kind(), "expression_statement" | "declaration") {
            return None;
        }
        let mut site = InsertionSite::behind(source, statement)?;
        if let StoreShape::Once { left } = store.shape {
            // A declaration may need the value at once; a new block would hide what it declares.
            if statement.kind() == "declaration" && !matches!(site.spot, Spot::Behind(_)) {
                return None;
            }
            site.pointer = Some((statement, left));
        }
        Some(site)
    }

    pub(crate) fn behind(_: &ParsedSource<'_>, statement: Node<'t>) -> Option<InsertionSite<'t>> {
        let labelled = |n: &Node<'t>| n.parent().is_none_or(|p| p.kind() != "labeled_statement");
        let statement = ancestors(statement).find(labelled)?;
        let parent = statement.parent()?;
        if is_block(parent) {
            return Some(InsertionSite::at(Spot::Behind(statement)));
        }
        let owner = matches!(
            parent.kind(),
            "if_statement"
                | "else_clause"
                | "for_statement"
                | "for_range_loop"
                | "while_statement"
                | "do_statement"
        );
        owner.then(|| {
            InsertionSite::at(Spot::Braces {
                owner: parent,
                body: statement,
            })
        })
    }

    /// First in a block.
    pub(crate) fn first(block: Node<'t>) -> InsertionSite<'t> {
        InsertionSite::at(Spot::First(block))
    }

    pub(crate) fn in_front(_: &ParsedSource<'_>, statement: Node<'t>) -> Option<InsertionSite<'t>> {
        let parent = statement.parent()?;
        is_block(parent).then(|| InsertionSite::at(Spot::InFront(statement)))
    }

    /// Before the statement of a later store, where the names of the earlier one still mean the same.
    pub(crate) fn before(
        source: &ParsedSource<'_>,
        store: &FoundStore<'t>,
        kept: &FoundStore<'t>,
    ) -> Option<InsertionSite<'t>> {
        if !matches!(store.shape, StoreShape::Lvalue { .. } | StoreShape::Call) {
            return None;
        }
        let kept = source.statement_of(kept.node)?;
        let block = kept.parent().filter(|&p| is_block(p))?;
        // Names of an inner block mean nothing out here.
        let same_block = source.statement_of(store.node)?.parent() == Some(block);
        if !same_block || store.node.end_byte() > kept.start_byte() {
            return None;
        }
        InsertionSite::in_front(source, kept)
    }

    pub(crate) fn insert(&self, source: &ParsedSource<'_>, code: &Code) -> Option<Vec<Edit>> {
        let mut edits = match self.spot {
            Spot::Behind(statement) => vec![behind(source, statement, code)],
            Spot::InFront(statement) => vec![in_front(source, statement, code)],
            Spot::First(body) => vec![first(source, body, code)],
            Spot::Braces { owner, body } => {
                if self.pointer.is_some() {
                    return braces_with_pointer(source, owner, body, self.pointer, code);
                }
                braces(source, owner, body, "", code)
            }
        };
        if let (Some((statement, left)), Spot::Behind(_)) = (self.pointer, self.spot) {
            let code = Code::statement(pointer_to(source, left));
            edits.push(in_front(source, statement, &code));
            edits.push(Edit::replace(left.byte_range(), format!("*{POINTER}")));
        }
        Some(edits)
    }
}

fn pointer_to(source: &ParsedSource<'_>, left: Node<'_>) -> String {
    let left = source.of(left);
    match source.is_cxx() {
        true => format!("auto *{POINTER} = &{left};"),
        false => format!("__typeof__({left}) *{POINTER} = &{left};"),
    }
}

fn braces_with_pointer(
    source: &ParsedSource<'_>,
    owner: Node<'_>,
    body: Node<'_>,
    pointer: Option<(Node<'_>, Node<'_>)>,
    code: &Code,
) -> Option<Vec<Edit>> {
    let (_, left) = pointer?;
    let mut edits = braces(source, owner, body, &pointer_to(source, left), code);
    edits.push(Edit::replace(left.byte_range(), format!("*{POINTER}")));
    Some(edits)
}

/// The indentation of a statement: its line's, or one step more where a label or a brace comes right before it.
fn indent(source: &ParsedSource<'_>, statement: Node<'_>) -> String {
    if statement.kind() == "labeled_statement"
        && let Some(inner) =
            statement.named_child(statement.named_child_count().saturating_sub(1) as u32)
    {
        return indent(source, inner);
    }
    let own = source.indent_at(statement.start_byte());
    let before = source.before_on_line(statement.start_byte()).trim();
    match before.ends_with(':') || before.ends_with('{') {
        true => format!("{own}{}", source.step),
        false => own.to_owned(),
    }
}

/// The end of a statement and of the comments behind it on its last line, however they hang in the tree.
pub(crate) fn end_with_comments(source: &ParsedSource<'_>, statement: Node<'_>) -> usize {
    let mut end = statement.end_byte();
    loop {
        let rest = source.after_on_line(end);
        let comment = rest.trim_start();
        let at = end + rest.len() - comment.len();
        if comment.starts_with("//") {
            return at + comment.trim_end().len();
        }
        let closing = source.text[at..].find("*/");
        match closing.filter(|_| comment.starts_with("/*")) {
            Some(closing) => end = at + closing + 2,
            None => return end,
        }
    }
}

fn behind(source: &ParsedSource<'_>, statement: Node<'_>, code: &Code) -> Edit {
    let end = end_with_comments(source, statement);
    let rest = source.after_on_line(end).trim();
    if !rest.is_empty() {
        // Something else is on the line: stay on it too.
        return Edit::insert(statement.end_byte(), format!(" {}", code.on_one_line()));
    }
    let indent = indent(source, statement);
    Edit::insert(end, code.lines(source, &indent))
}

fn in_front(source: &ParsedSource<'_>, statement: Node<'_>, code: &Code) -> Edit {
    let at = statement.start_byte();
    if !source.before_on_line(at).trim().is_empty() {
        return Edit::insert(at, format!("{} ", code.on_one_line()));
    }
    let indent = source.indent_at(at);
    let lines = code.lines(source, indent);
    // `lines` begins with a line end; here it has to come last.
    let text = lines.strip_prefix(source.eol).unwrap_or(&lines);
    let text = text.strip_prefix(indent).unwrap_or(text);
    Edit::insert(at, format!("{text}{}{indent}", source.eol))
}

fn first(source: &ParsedSource<'_>, body: Node<'_>, code: &Code) -> Edit {
    let inside = body.start_byte() + 1;
    let one_line = body.start_position().row == body.end_position().row;
    if one_line {
        let content = source.text.get(inside..body.end_byte().saturating_sub(1));
        if content.is_some_and(|content| content.trim().is_empty()) {
            return Edit::replace(body.byte_range(), format!("{{ {} }}", code.on_one_line()));
        }
        return Edit::insert(inside, format!(" {}", code.on_one_line()));
    }
    let indent = match body.named_child(0) {
        Some(statement) => source.indent_at(statement.start_byte()).to_owned(),
        None => format!("{}{}", source.indent_at(body.start_byte()), source.step),
    };
    Edit::insert(inside, code.lines(source, &indent))
}

/// Braces around a body that had none.
fn braces(
    source: &ParsedSource<'_>,
    owner: Node<'_>,
    body: Node<'_>,
    before: &str,
    code: &Code,
) -> Vec<Edit> {
    let outer = source.indent_at(owner.start_byte());
    let eol = source.eol;
    let mut head = body.prev_sibling();
    while let Some(comment) = head.filter(|n| n.kind() == "comment") {
        head = comment.prev_sibling();
    }
    let head = head.map_or(body.start_byte(), |n| n.end_byte());
    let gap = &source.text[head..body.start_byte()];
    let own_line = source.before_on_line(body.start_byte()).trim().is_empty();
    let inner = match own_line {
        true => source.indent_at(body.start_byte()).to_owned(),
        false => format!("{outer}{}", source.step),
    };
    let brace = match source.hanging_braces {
        true => format!("{eol}{outer}{{"),
        false => " {".to_owned(),
    };
    let mut edits = Vec::new();
    let comment = !gap.trim().is_empty();
    match own_line || comment {
        true => edits.push(Edit::insert(head, brace)),
        false => edits.push(Edit::replace(
            head..body.start_byte(),
            format!("{brace}{eol}{inner}"),
        )),
    }
    if !before.is_empty() {
        edits.push(Edit::insert(
            body.start_byte(),
            format!("{before}{eol}{inner}"),
        ));
    }
    let end = end_with_comments(source, body);
    let close = format!("{}{eol}{outer}}}", code.lines(source, &inner));
    // `else` and the `while` of a do-loop follow the brace.
    let mut next = body.next_sibling();
    while let Some(comment) = next.filter(|n| n.kind() == "comment" && n.end_byte() <= end) {
        next = comment.next_sibling();
    }
    match next.filter(|n| matches!(n.kind(), "else_clause" | "while")) {
        Some(next) if source.text[end..next.start_byte()].trim().is_empty() => {
            let joint = match source.hanging_braces && next.kind() == "else_clause" {
                true => format!("{eol}{outer}"),
                false => " ".to_owned(),
            };
            edits.push(Edit::replace(
                end..next.start_byte(),
                format!("{close}{joint}"),
            ));
        }
        _ => {
            let rest = source.after_on_line(end).trim_start();
            let close = match rest.is_empty() {
                true => close,
                false => format!("{close} "),
            };
            edits.push(Edit::insert(end, close));
        }
    }
    edits
}

/// Flushes inside the expression, right after the store: where a statement would come too late.
pub(crate) fn comma(
    source: &ParsedSource<'_>,
    store: &FoundStore<'_>,
    code: &Code,
) -> Option<Vec<Edit>> {
    let expression = code.expression.as_ref()?;
    let node = store.node;
    let StoreShape::Lvalue { left } = store.shape else {
        return None;
    };
    let parent = node.parent()?;
    let part_of_for = parent.kind() == "for_statement"
        && [
            parent.child_by_field_name("initializer"),
            parent.child_by_field_name("update"),
        ]
        .contains(&Some(node));
    let discarded_comma = parent.kind() == "comma_expression" && {
        let last = ancestors(parent)
            .take_while(|n| n.kind() == "comma_expression")
            .last();
        let outer = last.and_then(|n| n.parent());
        let used = outer
            .is_some_and(|o| o.kind() != "expression_statement" && o.kind() != "for_statement");
        !used || parent.child_by_field_name("left") == Some(node)
    };
    if part_of_for || discarded_comma {
        return Some(vec![Edit::insert(
            node.end_byte(),
            format!(", {expression}"),
        )]);
    }
    if parent.kind() == "expression_statement" {
        return None;
    }
    let value = source.of(left);
    let value = match node.kind() {
        "update_expression" if node.child(0) == Some(left) => {
            let undo = match source.of(node).ends_with("++") {
                true => "-",
                false => "+",
            };
            format!("{value} {undo} 1")
        }
        _ => value.to_owned(),
    };
    let bracketed = matches!(
        parent.kind(),
        "parenthesized_expression" | "return_statement" | "condition_clause"
    );
    let (open, close) = match bracketed {
        true => ("", ""),
        false => ("(", ")"),
    };
    let mut edits = vec![Edit::insert(
        node.end_byte(),
        format!(", {expression}, {value}{close}"),
    )];
    if !open.is_empty() {
        edits.push(Edit::insert(node.start_byte(), open));
    }
    Some(edits)
}
