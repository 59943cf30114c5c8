//! Walking along tokens.

use crate::token::Token;
use crate::types::Type;

/// What went wrong, without its line.
pub(crate) type ParseResult<T> = Result<T, String>;

#[derive(Debug)]
pub(crate) struct Cursor<'t> {
    tokens: &'t [Token],
    at: usize,
    /// Nested types, constants and lists end somewhere: text that does not is refused before the stack is.
    depth: u32,
}

const DEEPEST: u32 = 200;

impl<'t> Cursor<'t> {
    pub(crate) fn new(tokens: &'t [Token]) -> Self {
        Cursor {
            tokens,
            at: 0,
            depth: 0,
        }
    }

    pub(crate) fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    pub(crate) fn peek_after(&self, more: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + more)
    }

    pub(crate) fn next(&mut self) -> ParseResult<&'t Token> {
        let token = self.peek().ok_or("it ends too early")?;
        self.at += 1;
        Ok(token)
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn return_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.peek() == Some(&Token::Mark(mark))
    }

    /// Goes past this mark, if it is next.
    pub(crate) fn mark(&mut self, mark: char) -> bool {
        let is = self.is_mark(mark);
        self.at += usize::from(is);
        is
    }

    pub(crate) fn expect(&mut self, mark: char) -> ParseResult<()> {
        match self.mark(mark) {
            true => Ok(()),
            false => Err(format!("`{mark}` expected, found {:?}", self.peek())),
        }
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(w)) if w == word)
    }

    pub(crate) fn word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> ParseResult<()> {
        match self.word(word) {
            true => Ok(()),
            false => Err(format!("`{word}` expected, found {:?}", self.peek())),
        }
    }

    pub(crate) fn any_word(&mut self) -> ParseResult<&'t str> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            other => Err(format!("a word expected, found {other:?}")),
        }
    }

    pub(crate) fn number(&mut self) -> ParseResult<u64> {
        let word = self.any_word()?;
        word.parse()
            .map_err(|_| format!("a number expected, found `{word}`"))
    }

    /// Goes past `( … )`, whatever is in it.
    pub(crate) fn skip_parentheses(&mut self) -> ParseResult<()> {
        self.expect('(')?;
        let mut open = 1;
        while open > 0 {
            match self.next()? {
                Token::Mark('(') => open += 1,
                Token::Mark(')') => open -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("nested too deeply".to_owned());
        }
        let out = read(self);
        self.depth -= 1;
        out
    }

    pub(crate) fn types(&mut self) -> ParseResult<Type> {
        self.deeper(Type::read)
    }
}
