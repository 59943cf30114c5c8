//! What the commands of a script are known to say to what they are told: once for each thing that they are told, however many runs tell
//! it to them.

use super::talker::{Answered, Talker};
use crate::deadline::Deadline;
use landfall_vocab::reply::{self, LISTENS, REPLIES_LEN, Reply, Telling};
use std::collections::BTreeMap;
use std::path::Path;

/// What a run asks.
#[derive(Debug)]
pub(crate) struct NewTelling<'a> {
    pub(crate) after: u32,
    pub(crate) line: u32,
    pub(crate) telling: Telling,
    pub(crate) told: &'a [u8],
}

#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// As runs find them.
    replies: Vec<u8>,
    /// A command that waits to be told more, and what it said last.
    talking: Option<(u32, Talker)>,
}

impl Conversation {
    /// As it was written down.
    pub(super) fn of(replies: Vec<u8>) -> Conversation {
        Conversation {
            replies,
            talking: None,
        }
    }

    pub(crate) fn replies(&self) -> &[u8] {
        &self.replies
    }

    fn known(&self) -> impl Iterator<Item = (u32, Reply<'_>)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let place = at as u32 + 1;
            let (reply, next) = reply::reply(&self.replies, at)?;
            at = next;
            Some((place, reply))
        })
    }

    fn at(&self, place: u32) -> Option<Reply<'_>> {
        // Places come from runs: only those that there are count.
        let found = self.known().find(|(known, _)| *known == place);
        found.map(|(_, reply)| reply)
    }

    /// Finds out what a command says, unless that is known.
    pub(crate) fn learn(
        &mut self,
        asked: &NewTelling,
        commands: &BTreeMap<u32, String>,
        directory: &Path,
        until: Deadline,
    ) -> Result<(), String> {
        let known = self.known().any(|(_, reply)| {
            (reply.after, reply.line) == (asked.after, asked.line)
                && (reply.telling, reply.told) == (asked.telling, asked.told)
        });
        if known {
            return Ok(());
        }
        let no_command = || "the run asks for a command that there is not".to_owned();
        let command = commands.get(&asked.line).ok_or_else(no_command)?;
        let failed = |why| format!("the client's command `{command}`: {why}");
        let mut talker = self
            .talker(asked, command, directory, until)
            .map_err(failed)?;
        let told = match asked.telling {
            Telling::Begin | Telling::Bytes => Some(asked.told),
            Telling::Closed => None,
        };
        let Answered {
            said,
            status,
            complaint,
        } = talker.tell(told, until).map_err(failed)?;
        let reply = Reply {
            after: asked.after,
            line: asked.line,
            telling: asked.telling,
            told: asked.told,
            said: &said,
            status,
            complaint: complaint.as_bytes(),
        };
        let place = self.replies.len() as u32 + 1;
        for part in [&reply::head(&reply)[..], asked.told, &said, reply.complaint] {
            self.replies.extend(part);
        }
        if self.replies.len() as u64 > REPLIES_LEN {
            self.replies.truncate(place as usize - 1);
            return Err(
                "the commands of the client say more than 3 MiB in all runs together".into(),
            );
        }
        if status == LISTENS {
            self.talking = Some((place, talker));
        }
        Ok(())
    }

    /// A process of the command that was told all that came before.
    fn talker(
        &mut self,
        asked: &NewTelling,
        command: &str,
        directory: &Path,
        until: Deadline,
    ) -> Result<Talker, String> {
        match self.talking.take() {
            Some((place, talker)) if place == asked.after && asked.telling != Telling::Begin => {
                return Ok(talker);
            }
            _ => {}
        }
        let mut talker = Talker::start(command, directory)?;
        let mut before = Vec::new();
        let mut place = asked.after;
        while let Some(reply) = self.at(place) {
            before.push(reply);
            // Each goes on from one that was there before it: this ends.
            place = reply.after.min(place - 1);
        }
        for reply in before.iter().rev() {
            let told = (reply.telling != Telling::Closed).then_some(reply.told);
            let again = talker.tell(told, until)?;
            if again.said != reply.said || again.status != reply.status {
                return Err(format!(
                    "told the same, it does not say the same: \"{}\", then \"{}\"",
                    reply.said.escape_ascii(),
                    again.said.escape_ascii()
                ));
            }
        }
        Ok(talker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(
        conversation: &mut Conversation,
        command: &str,
        (after, telling, told): (u32, Telling, &[u8]),
    ) -> Result<(), String> {
        let new = NewTelling {
            after,
            line: 2,
            telling,
            told,
        };
        let commands = BTreeMap::from([(2, command.to_owned())]);
        let here = std::env::temp_dir();
        conversation.learn(&new, &commands, &here, Deadline::default())
    }

    fn last(conversation: &Conversation) -> (u32, String, u32, String) {
        let (place, reply) = conversation.known().last().expect("a reply");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (place, text(reply.said), reply.status, text(reply.complaint))
    }

    #[test]
    fn a_command_says_the_same_to_the_same() {
        let echo = "echo hello; while read a; do echo got $a; done; echo bye >&2; exit 3";
        let mut known = Conversation::default();
        learn(&mut known, echo, (0, Telling::Begin, b"")).unwrap();
        let (first, said, status, _) = last(&known);
        assert_eq!((said.as_str(), status), ("hello\n", LISTENS));
        learn(&mut known, echo, (first, Telling::Bytes, b"a\nb\n")).unwrap();
        let (second, said, status, _) = last(&known);
        assert_eq!((said.as_str(), status), ("got a\ngot b\n", LISTENS));
        // What is known is not asked again, and nothing is added.
        let length = known.replies().len();
        learn(&mut known, echo, (first, Telling::Bytes, b"a\nb\n")).unwrap();
        assert_eq!(known.replies().len(), length);
        // Another way on from the first reply: another process, told the same up to there.
        learn(&mut known, echo, (first, Telling::Bytes, b"c\n")).unwrap();
        assert_eq!(last(&known).1, "got c\n");
        learn(&mut known, echo, (second, Telling::Closed, b"")).unwrap();
        let (_, said, status, complaint) = last(&known);
        assert_eq!((said.as_str(), status), ("", 3));
        assert_eq!(complaint, "exit code 3: bye");
        // As it is written down, it is known to the next.
        let mut again = Conversation::of(known.replies().to_vec());
        learn(&mut again, "exit 9", (first, Telling::Bytes, b"c\n")).unwrap();
        assert_eq!(again.replies(), known.replies());
    }

    #[test]
    fn a_command_that_says_something_else_is_told() {
        let mut known = Conversation::default();
        let command = "cat /proc/sys/kernel/random/uuid; cat";
        learn(&mut known, command, (0, Telling::Begin, b"")).unwrap();
        let (first, ..) = last(&known);
        learn(&mut known, command, (first, Telling::Bytes, b"a")).unwrap();
        assert_eq!(last(&known).1, "a");
        let error = learn(&mut known, command, (first, Telling::Bytes, b"b")).unwrap_err();
        assert!(error.contains("does not say the same"), "{error}");
    }

    #[test]
    fn what_a_run_makes_up_is_refused() {
        let mut known = Conversation::default();
        learn(&mut known, "cat", (0, Telling::Begin, b"")).unwrap();
        let new = NewTelling {
            after: 0,
            line: 7,
            telling: Telling::Begin,
            told: b"",
        };
        let here = std::env::temp_dir();
        let none = known.learn(&new, &BTreeMap::new(), &here, Deadline::default());
        assert!(none.unwrap_err().contains("a command that there is not"));
        // A place where no reply is: the command begins anew, and nothing worse.
        learn(&mut known, "cat", (u32::MAX, Telling::Bytes, b"x")).unwrap();
        assert_eq!(last(&known).1, "x");
    }
}
