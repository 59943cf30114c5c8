//! A parsed source file, and how it is laid out.

use std::cell::RefCell;
use std::collections::VecDeque;
use tree_sitter::{Node, Parser, Point, Tree};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceLanguage {
    C,
    Cxx,
}

/// Counted from 1, as compilers do; columns in bytes, 0 where unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

/// A source file and what it includes, as texts.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    pub text: &'a str,
    pub language: SourceLanguage,
    /// Headers of the project that it includes: wrappers, macros and struct members are looked up there too.
    pub headers: &'a [&'a str],
}

#[derive(Debug)]
pub(crate) struct ParsedSource<'a> {
    pub(crate) text: &'a str,
    pub(crate) language: SourceLanguage,
    tree: Tree,
    pub(crate) headers: Vec<Parsed<'a>>,
    pub(crate) eol: &'static str,
    /// One level of indentation.
    pub(crate) step: String,
    /// `sizeof x` rather than `sizeof(x)`.
    bare_sizeof: bool,
    /// Opening braces on lines of their own.
    pub(crate) hanging_braces: bool,
}

#[derive(Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) text: &'a str,
    pub(crate) tree: Tree,
}

/// A text that was parsed, and what came of it.
struct Remembered {
    text: String,
    language: SourceLanguage,
    tree: Tree,
}

/// Texts that are remembered: a source and its headers, which one finding after the other asks about.
const REMEMBERED: usize = 80;

thread_local! {
    /// The newest last. Parsing is the same every time, and takes longer than all else.
    static TREES: RefCell<VecDeque<Remembered>> = const { RefCell::new(VecDeque::new()) };
}

/// The tree of a text.
pub(crate) fn parse(text: &str, language: SourceLanguage) -> Option<Tree> {
    TREES.with_borrow_mut(|trees| {
        let same = |known: &&Remembered| known.language == language && known.text == text;
        if let Some(known) = trees.iter().find(same) {
            return Some(known.tree.clone());
        }
        let tree = parse_anew(text, language)?;
        if trees.len() == REMEMBERED {
            trees.pop_front();
        }
        trees.push_back(Remembered {
            text: text.to_owned(),
            language,
            tree: tree.clone(),
        });
        Some(tree)
    })
}

fn parse_anew(text: &str, language: SourceLanguage) -> Option<Tree> {
    let mut parser = Parser::new();
    let grammar = match language {
        SourceLanguage::C => tree_sitter_c::LANGUAGE,
        SourceLanguage::Cxx => tree_sitter_cpp::LANGUAGE,
    };
    parser.set_language(&grammar.into()).ok()?;
    parser.parse(text, None)
}

/// Every node below, itself included, in the order of the text.
pub(crate) fn walk<'t>(root: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let mut waiting = vec![root];
    std::iter::from_fn(move || {
        let node = waiting.pop()?;
        // By a cursor: the n-th child of a wide node is found in n steps otherwise.
        let children = waiting.len();
        waiting.extend(node.children(&mut node.walk()));
        waiting[children..].reverse();
        Some(node)
    })
}

pub(crate) fn ancestors<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    std::iter::successors(Some(node), |node| node.parent())
}

pub(crate) fn is_statement(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "expression_statement"
            | "declaration"
            | "return_statement"
            | "if_statement"
            | "while_statement"
            | "do_statement"
            | "for_statement"
            | "for_range_loop"
            | "switch_statement"
            | "labeled_statement"
            | "throw_statement"
            | "co_return_statement"
            | "goto_statement"
            | "break_statement"
            | "continue_statement"
    )
}

/// What holds statements one after the other.
pub(crate) fn is_block(node: Node<'_>) -> bool {
    let case_body = node.kind() == "case_statement";
    case_body
        || node.kind() == "compound_statement"
        || node.kind().starts_with("preproc_if")
        || node.kind().starts_with("preproc_el")
}

impl<'a> ParsedSource<'a> {
    pub(crate) fn read(unit: &Unit<'a>) -> ParsedSource<'a> {
        let empty = || parse("", unit.language).expect("the grammars fit this tree-sitter");
        let tree = parse(unit.text, unit.language).unwrap_or_else(empty);
        let headers = unit
            .headers
            .iter()
            .filter_map(|&text| {
                let tree = parse(text, unit.language)?;
                Some(Parsed { text, tree })
            })
            .collect();
        let mut source = ParsedSource {
            headers,
            eol: match unit.text.contains("\r\n") {
                true => "\r\n",
                false => "\n",
            },
            step: step(unit.text),
            ..ParsedSource::unstyled(unit, tree)
        };
        source.learn_style();
        source
    }

    /// For questions about what is there: how it would be written does not matter, nor do headers.
    pub(crate) fn unstyled(unit: &Unit<'a>, tree: Tree) -> ParsedSource<'a> {
        ParsedSource {
            text: unit.text,
            language: unit.language,
            tree,
            headers: Vec::new(),
            eol: "\n",
            step: String::new(),
            bare_sizeof: false,
            hanging_braces: false,
        }
    }

    fn learn_style(&mut self) {
        let (mut bare, mut bracketed, mut hanging, mut trailing) = (0, 0, 0, 0);
        for node in walk(self.root()) {
            match node.kind() {
                "sizeof_expression" => match node.child_by_field_name("value").map(|v| v.kind()) {
                    Some("parenthesized_expression") => bracketed += 1,
                    Some(_) => bare += 1,
                    None => {}
                },
                "compound_statement" => {
                    let own = self.before_on_line(node.start_byte()).trim().is_empty();
                    match own && node.parent().is_some_and(|p| !is_block(p)) {
                        true => hanging += 1,
                        false => trailing += 1,
                    }
                }
                _ => {}
            }
        }
        self.bare_sizeof = bare > bracketed;
        self.hanging_braces = hanging > trailing;
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(crate) fn is_cxx(&self) -> bool {
        self.language == SourceLanguage::Cxx
    }

    /// This file and its headers: their nodes and texts.
    pub(crate) fn everything(&self) -> impl Iterator<Item = (Node<'_>, &'a str)> {
        let headers = self.headers.iter().map(|h| (h.tree.root_node(), h.text));
        std::iter::once((self.root(), self.text)).chain(headers)
    }

    pub(crate) fn of(&self, node: Node<'_>) -> &'a str {
        &self.text[node.byte_range()]
    }

    pub(crate) fn has_line(&self, at: Place) -> bool {
        at.line > 0 && self.text.lines().count() >= at.line as usize
    }

    /// The smallest node at a place.
    pub(crate) fn node_at(&self, at: Place) -> Option<Node<'_>> {
        let row = at.line.checked_sub(1)? as usize;
        let line = self.text.lines().nth(row)?;
        let column = match at.column {
            0 => line.len() - line.trim_start().len(),
            column => column as usize - 1,
        };
        let (from, to) = (
            Point::new(row, column),
            Point::new(row, (column + 1).min(line.len().max(column))),
        );
        self.root().descendant_for_point_range(from, to)
    }

    pub(crate) fn statement_of<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        // A declaration in the head of a loop belongs to the loop.
        ancestors(node).find(|&n| is_statement(n) && !is_head(n))
    }

    pub(crate) fn function_of<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        ancestors(node).find(|n| matches!(n.kind(), "function_definition" | "lambda_expression"))
    }

    fn line_start(&self, byte: usize) -> usize {
        self.text[..byte].rfind('\n').map_or(0, |at| at + 1)
    }

    pub(crate) fn before_on_line(&self, byte: usize) -> &'a str {
        &self.text[self.line_start(byte)..byte]
    }

    /// The rest of a line, without its end.
    pub(crate) fn after_on_line(&self, byte: usize) -> &'a str {
        let rest = &self.text[byte..];
        let rest = rest.split('\n').next().unwrap_or_default();
        rest.strip_suffix('\r').unwrap_or(rest)
    }

    /// The blanks a line begins with.
    pub(crate) fn indent_at(&self, byte: usize) -> &'a str {
        let line = &self.text[self.line_start(byte)..];
        let end = line
            .find(|c: char| c != ' ' && c != '\t')
            .unwrap_or(line.len());
        &line[..end]
    }

    /// The bytes of whole lines, their end included.
    pub(crate) fn whole_lines(&self, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let end = self.text[range.end..].find('\n');
        self.line_start(range.start)..end.map_or(self.text.len(), |at| range.end + at + 1)
    }

    pub(crate) fn sizeof(&self, expression: &str) -> String {
        let primary = expression
            .chars()
            .all(|c| c.is_alphanumeric() || "_.->*[]:".contains(c));
        match self.bare_sizeof && primary {
            true => format!("sizeof {expression}"),
            false => format!("sizeof({expression})"),
        }
    }

    pub(crate) fn includes(&self, header: &str) -> bool {
        self.text.lines().any(|line| {
            let line = line.trim_start().strip_prefix('#').map(str::trim_start);
            let named = line.and_then(|l| l.strip_prefix("include")).map(str::trim);
            named.is_some_and(|n| {
                n.starts_with(&format!("<{header}>")) || n.starts_with(&format!("\"{header}\""))
            })
        })
    }

    /// The declaration of a member of this name, wherever it is.
    pub(crate) fn member(&self, name: &str) -> Option<(Node<'_>, &'a str)> {
        self.everything().find_map(|(root, text)| {
            let declares = |node: &Node<'_>| {
                node.kind() == "field_declaration"
                    && walk(*node)
                        .any(|n| n.kind() == "field_identifier" && &text[n.byte_range()] == name)
            };
            Some((walk(root).find(declares)?, text))
        })
    }
}

/// In the head of a `for`, an `if` or a `switch`.
fn is_head(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        let head = matches!(
            parent.kind(),
            "for_statement" | "condition_clause" | "init_statement"
        );
        head && parent.child_by_field_name("body") != Some(node)
    })
}

/// What one level of indentation is: the smallest that is used, or a tab.
fn step(text: &str) -> String {
    let indents = text
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.trim_start().starts_with('*'));
    let (mut tabs, mut smallest) = (0, usize::MAX);
    for line in indents {
        if line.starts_with('\t') {
            tabs += 1;
        } else {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            if blanks > 1 {
                smallest = smallest.min(blanks);
            }
        }
    }
    match (tabs, smallest) {
        (1.., _) => "\t".to_owned(),
        (_, usize::MAX) => "  ".to_owned(),
        (_, blanks) => " ".repeat(blanks.min(8)),
    }
}
