//! The script of a client, as the checker hands it to the runtime: two sections (before the first power failure, and after one), each
//! a sequence of lines with their length in front.
//!
//! A line is: its operation, a connection, the line of the user's file, a number, and a text behind it. What may be expected is a
//! sequence of alternatives: a kind, a length, and so many bytes.

use crate::pattern;

/// Connections that a client can have at once.
pub const MOST_CONNECTIONS: usize = 32;
/// Of each line: operation, connection, two bytes that mean nothing, the line of the file, length of the text, a number.
pub const HEAD: usize = 20;
/// What is in front of the sections: how long each is.
pub const SECTIONS: usize = 8;

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a line does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum ClientOp { $($(#[$doc])* $name),* }
        impl ClientOp {
            const ALL: &[ClientOp] = &[$(ClientOp::$name),*];
        }
    };
}

operations!(
    /// To the path that is its text, or the port that is its number.
    Connect,
    /// The following lines are about another connection.
    With,
    Send,
    /// The next bytes are one of these.
    Expect,
    /// The next line is one of these.
    ExpectLine,
    ExpectClose,
    Close,
    /// Sends no more, and still listens.
    Shutdown,
    /// So many nanoseconds pass.
    Sleep,
    /// So long it waits for an answer from now on.
    Patience,
    /// What was told so far counts, under this name.
    Acked,
    /// Goes on at the number, if the name was not acknowledged.
    UnlessAcked,
    Goto,
    Signal,
    /// A command whose standard input and output are the connection.
    Run,
);

impl ClientOp {
    /// Does the client do something, or only look at what it got?
    pub const fn is_action(self) -> bool {
        matches!(
            self,
            ClientOp::Connect
                | ClientOp::Send
                | ClientOp::Close
                | ClientOp::Shutdown
                | ClientOp::Sleep
                | ClientOp::Signal
        )
    }
}

/// Kinds of alternatives.
pub mod alternative {
    pub const TEXT: u8 = 0;
    pub const PATTERN: u8 = 1;
}

/// Why a client is not content.
pub mod reason {
    pub const DIFFERS: &[u8] = b"differs";
    /// The server waits, or waits for too long, and has sent no more.
    pub const NOTHING: &[u8] = b"nothing";
    /// The connection is closed.
    pub const CLOSED: &[u8] = b"closed";
    /// The server has ended.
    pub const ENDED: &[u8] = b"ended";
    /// Nobody listens there.
    pub const NOBODY: &[u8] = b"nobody";
    /// A command ended, and not well.
    pub const FAILED: &[u8] = b"failed";
}

/// A line, and where the next one is.
#[derive(Clone, Copy, Debug)]
pub struct ScriptLine<'a> {
    pub op: ClientOp,
    pub connection: u8,
    /// In the user's file.
    pub line: u32,
    pub number: u64,
    pub text: &'a [u8],
    /// Of what is expected: how long the longest is.
    pub longest: usize,
    pub next: usize,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// One of the sections of a script.
pub fn section(all: &[u8], recovery: bool) -> &[u8] {
    let parts = || {
        let first = word(all, 0)? as usize;
        let second = word(all, 4)? as usize;
        let rest = all.get(SECTIONS..)?;
        match recovery {
            false => rest.get(..first),
            true => rest.get(first..first.checked_add(second)?),
        }
    };
    parts().unwrap_or(&[])
}

/// The line that begins at a place of a section.
pub fn line(section: &[u8], at: usize) -> Option<ScriptLine<'_>> {
    let head = section.get(at..at.checked_add(HEAD)?)?;
    let length = word(head, 8)? as usize;
    let end = (at + HEAD).checked_add(length)?;
    let text = section.get(at + HEAD..end)?;
    let op = *ClientOp::ALL.get(head[0] as usize)?;
    let number = u64::from(word(head, 12)?) | u64::from(word(head, 16)?) << 32;
    let longest = match op {
        ClientOp::Expect => alternatives(text).map(|(_, one)| one.len()).max(),
        _ => None,
    };
    Some(ScriptLine {
        op,
        connection: head[1] % MOST_CONNECTIONS as u8,
        line: word(head, 4)?,
        number,
        text,
        longest: longest.unwrap_or(0),
        next: end,
    })
}

/// The head of a line.
pub fn head(op: ClientOp, connection: u8, line: u32, length: u32, number: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = op as u8;
    head[1] = connection;
    head[4..8].copy_from_slice(&line.to_le_bytes());
    head[8..12].copy_from_slice(&length.to_le_bytes());
    head[12..].copy_from_slice(&number.to_le_bytes());
    head
}

/// What may be expected: kinds and bytes.
pub fn alternatives(text: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let kind = *text.get(at)?;
        let length = word(text, at + 1)? as usize;
        let one = text.get(at + 5..(at + 5).checked_add(length)?)?;
        at += 5 + length;
        Some((kind, one))
    })
}

/// How what was received compares with what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// So many bytes of it are what is expected.
    Came(usize),
    Other,
    /// More is to come before it can be told.
    Unfinished,
}

/// Of [`ClientOp::ExpectLine`], `received` is a whole line with its end; otherwise as much as there is, up to the longest alternative.
pub fn compare(line: &ScriptLine<'_>, received: &[u8]) -> Received {
    if line.op == ClientOp::ExpectLine {
        let content = received.strip_suffix(b"\n").unwrap_or(received);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        let is_one = alternatives(line.text).any(|(kind, one)| match kind {
            alternative::PATTERN => pattern::matches(one, content),
            _ => is_same(one, content),
        });
        return match is_one {
            true => Received::Came(received.len()),
            false => Received::Other,
        };
    }
    let mut unfinished = false;
    for (_, one) in alternatives(line.text) {
        let common = one.len().min(received.len());
        if is_same(&one[..common], &received[..common]) {
            if common == one.len() {
                return Received::Came(common);
            }
            unfinished = true;
        }
    }
    match unfinished {
        true => Received::Unfinished,
        false => Received::Other,
    }
}

/// Byte by byte: the runtime has no `memcmp`.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(op: ClientOp, alternatives: &[(u8, &[u8])], received: &[u8]) -> Received {
        let mut text = [0u8; 256];
        let mut length = 0;
        for (kind, one) in alternatives {
            text[length] = *kind;
            text[length + 1..length + 5].copy_from_slice(&(one.len() as u32).to_le_bytes());
            text[length + 5..length + 5 + one.len()].copy_from_slice(one);
            length += 5 + one.len();
        }
        let mut all = [0u8; 512];
        all[..4].copy_from_slice(&((HEAD + length) as u32).to_le_bytes());
        all[SECTIONS..SECTIONS + HEAD].copy_from_slice(&head(op, 3, 7, length as u32, 9));
        all[SECTIONS + HEAD..SECTIONS + HEAD + length].copy_from_slice(&text[..length]);
        let line = line(section(&all, false), 0).unwrap();
        assert_eq!(
            (line.op, line.connection, line.line, line.number),
            (op, 3, 7, 9)
        );
        assert_eq!(line.next, HEAD + length);
        assert!(super::line(section(&all, false), line.next).is_none());
        assert!(super::line(section(&all, true), 0).is_none());
        compare(&line, received)
    }

    #[test]
    fn what_is_received_is_compared() {
        use alternative::{PATTERN, TEXT};
        let two: &[(u8, &[u8])] = &[(TEXT, b"OK\r\n"), (TEXT, b"ERR")];
        assert_eq!(
            expected(ClientOp::Expect, two, b"OK\r\n"),
            Received::Came(4)
        );
        assert_eq!(expected(ClientOp::Expect, two, b"ERR"), Received::Came(3));
        assert_eq!(expected(ClientOp::Expect, two, b"E"), Received::Unfinished);
        assert_eq!(expected(ClientOp::Expect, two, b""), Received::Unfinished);
        assert_eq!(expected(ClientOp::Expect, two, b"EX"), Received::Other);
        let line: &[(u8, &[u8])] = &[(TEXT, b"a 1"), (PATTERN, b"b [0-9]+")];
        assert_eq!(
            expected(ClientOp::ExpectLine, line, b"a 1\r\n"),
            Received::Came(5)
        );
        assert_eq!(
            expected(ClientOp::ExpectLine, line, b"b 23\n"),
            Received::Came(5)
        );
        assert_eq!(
            expected(ClientOp::ExpectLine, line, b"b x\n"),
            Received::Other
        );
    }
}
