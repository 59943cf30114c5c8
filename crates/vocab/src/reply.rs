//! What commands of the client's say (`run "COMMAND"` in its script). A command is a function of what it was told: the checker runs it
//! once for each thing that it is told, and writes down what it said to that. A run that tells it something new asks the checker, and
//! waits.
//!
//! Replies lie behind each other in shared memory, each behind the one that it goes on from.

/// Where they lie, from the beginning of the client's area, and what a run asks about.
pub const REPLIES_AT: u64 = 4 << 20;
pub const REPLIES_LEN: u64 = 3 << 20;
pub const QUESTION_AT: u64 = REPLIES_AT + REPLIES_LEN;
pub const QUESTION_LEN: u64 = 1 << 20;

/// In front of each reply: seven numbers of four bytes.
pub const REPLY_HEAD: usize = 28;

/// What a command is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Telling {
    /// It begins.
    Begin = 0,
    /// The server sent these bytes.
    Bytes = 1,
    /// The server sends no more.
    Closed = 2,
}

impl Telling {
    pub const fn from_number(number: u32) -> Option<Telling> {
        match number {
            0 => Some(Telling::Begin),
            1 => Some(Telling::Bytes),
            2 => Some(Telling::Closed),
            _ => None,
        }
    }
}

/// Instead of a status: the command waits to be told more.
pub const LISTENS: u32 = u32::MAX;

/// What a command said to what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// What it goes on from: the place of that reply plus one, or 0 where the command begins.
    pub after: u32,
    /// The line of the script with the command.
    pub line: u32,
    pub telling: Telling,
    pub told: &'a [u8],
    pub said: &'a [u8],
    /// With which status it has ended, or [`LISTENS`].
    pub status: u32,
    /// What it complained of when it ended.
    pub complaint: &'a [u8],
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// The reply at a place, and the place of the next.
pub fn reply(all: &[u8], at: usize) -> Option<(Reply<'_>, usize)> {
    let length = |which: usize| Some(number(all, at + 4 * which)? as usize);
    let told_at = at.checked_add(REPLY_HEAD)?;
    let said_at = told_at.checked_add(length(3)?)?;
    let complaint_at = said_at.checked_add(length(4)?)?;
    let end = complaint_at.checked_add(length(6)?)?;
    let reply = Reply {
        after: number(all, at)?,
        line: number(all, at + 4)?,
        telling: Telling::from_number(number(all, at + 8)?)?,
        told: all.get(told_at..said_at)?,
        said: all.get(said_at..complaint_at)?,
        status: number(all, at + 20)?,
        complaint: all.get(complaint_at..end)?,
    };
    Some((reply, end))
}

/// What is in front of a reply.
pub fn head(reply: &Reply<'_>) -> [u8; REPLY_HEAD] {
    let numbers = [
        reply.after,
        reply.line,
        reply.telling as u32,
        reply.told.len() as u32,
        reply.said.len() as u32,
        reply.status,
        reply.complaint.len() as u32,
    ];
    let mut head = [0; REPLY_HEAD];
    for (place, number) in numbers.into_iter().enumerate() {
        head[4 * place..4 * place + 4].copy_from_slice(&number.to_le_bytes());
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_as_they_were_written() {
        let first = Reply {
            after: 0,
            line: 3,
            telling: Telling::Begin,
            told: b"",
            said: b"hello\n",
            status: LISTENS,
            complaint: b"",
        };
        let second = Reply {
            after: 1,
            line: 3,
            telling: Telling::Bytes,
            told: b"ok\n",
            said: b"",
            status: 1,
            complaint: b"that is not ok",
        };
        let mut all = [0u8; 128];
        let mut at = 0;
        for one in [&first, &second] {
            for part in [&head(one)[..], one.told, one.said, one.complaint] {
                all[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
        }
        let (one, next) = reply(&all[..at], 0).unwrap();
        assert_eq!(one, first);
        let (two, end) = reply(&all[..at], next).unwrap();
        assert_eq!((two, end), (second, at));
        assert!(reply(&all[..at], end).is_none());
        // Whatever is cut short is none.
        for length in next..at {
            assert!(reply(&all[..length], next).is_none());
        }
    }
}
