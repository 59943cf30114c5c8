//! The script of a server's client (docs/testing-a-server.md): read line by line, checked, and made into what the runtime follows.

mod conversation;
mod talker;
mod words;

use crate::deadline::Deadline;
use crate::shared::AskedOfClient;
use conversation::{Conversation, NewTelling};
use landfall_vocab::client::{self as code, ClientOp, MOST_CONNECTIONS, alternative};
use landfall_vocab::shared::SCRIPT_LEN;
use landfall_vocab::{digest, pattern, window};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use words::ScriptWord;

/// A client that every run of a program has.
#[derive(Clone, Debug)]
pub struct ClientScript {
    /// As the user names it.
    pub path: PathBuf,
    pub text: Arc<str>,
    pub(crate) code: Arc<[u8]>,
    /// What is asked for and never acknowledged by the client: line and name.
    pub unacknowledged: Vec<(u32, String)>,
    /// Commands that it runs, by their lines, and what they said so far to anybody.
    commands: BTreeMap<u32, String>,
    conversation: Arc<Mutex<Conversation>>,
}

/// What is wrong with a script, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {why}")]
pub struct ScriptError {
    pub line: u32,
    pub why: String,
}

type Parsed<T> = Result<T, String>;

impl ClientScript {
    pub fn parse(path: PathBuf, text: &str) -> Result<ClientScript, ScriptError> {
        let mut script = Script::default();
        for (number, line) in (1..).zip(text.lines()) {
            script.line = number;
            let read = words::split(line).and_then(|words| script.statement(&words));
            read.map_err(|why| ScriptError { line: number, why })?;
        }
        if let Some(open) = script.blocks.pop() {
            let why = "this `if` has no `end`".to_owned();
            return Err(ScriptError {
                line: open.line,
                why,
            });
        }
        let code = script.code();
        if code.len() as u64 > SCRIPT_LEN {
            return Err(ScriptError {
                line: script.line,
                why: "the script is longer than 4 MiB".to_owned(),
            });
        }
        let asked = script.asked.iter();
        let unknown = asked.filter(|(name, _)| !script.acked.contains(name));
        Ok(ClientScript {
            path,
            text: text.into(),
            code: code.into(),
            unacknowledged: unknown.map(|(name, line)| (*line, name.clone())).collect(),
            commands: script.commands,
            conversation: Arc::default(),
        })
    }

    /// What its commands said, as it was written down ([`replies`](Self::replies)).
    pub fn with_replies(self, replies: Vec<u8>) -> ClientScript {
        ClientScript {
            conversation: Arc::new(Mutex::new(Conversation::of(replies))),
            ..self
        }
    }

    /// What its commands said so far: for the next who needs to hear the same.
    pub fn replies(&self) -> Vec<u8> {
        self.conversation().replies().to_vec()
    }

    pub(crate) fn conversation(&self) -> MutexGuard<'_, Conversation> {
        // A conversation changes only when an answer is complete.
        let locked = self.conversation.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out what a command says to that.
    pub(crate) fn learn(
        &self,
        asked: &AskedOfClient,
        directory: &Path,
        until: Deadline,
    ) -> Result<(), String> {
        let new = NewTelling {
            after: asked.after,
            line: asked.line,
            telling: (asked.telling).ok_or("the run asks for what there is not")?,
            told: &asked.told,
        };
        let mut conversation = self.conversation();
        conversation.learn(&new, &self.commands, directory, until)
    }

    /// A line of it, as it is written, without what is around it.
    pub fn line(&self, number: u32) -> &str {
        let at = (number as usize).saturating_sub(1);
        self.text.lines().nth(at).unwrap_or_default().trim()
    }
}

/// An `if` that has not ended.
#[derive(Debug)]
struct OpenIf {
    line: u32,
    /// Where its jump is, and that of its `else`.
    jump: usize,
    has_else: bool,
}

#[derive(Debug, Default)]
struct Script {
    line: u32,
    sections: [Vec<u8>; 2],
    in_recovery: bool,
    /// Connections of this section, by name.
    connections: Vec<String>,
    current: Option<u8>,
    blocks: Vec<OpenIf>,
    acked: Vec<String>,
    asked: BTreeMap<String, u32>,
    digests: BTreeMap<u64, String>,
    commands: BTreeMap<u32, String>,
}

const STATEMENTS: &str = "connect, with, send, expect, expect-line, expect-close, close, shutdown, wait, patience, run, acked, if, else, end, signal, stop";

impl Script {
    fn section(&mut self) -> &mut Vec<u8> {
        &mut self.sections[usize::from(self.in_recovery)]
    }

    fn put(&mut self, op: ClientOp, connection: u8, number: u64, text: &[u8]) {
        let head = code::head(op, connection, self.line, text.len() as u32, number);
        let section = self.section();
        section.extend(head);
        section.extend(text);
    }

    fn code(&self) -> Vec<u8> {
        let [first, recovery] = &self.sections;
        let mut all = Vec::new();
        for section in [first, recovery] {
            all.extend((section.len() as u32).to_le_bytes());
        }
        all.extend(first);
        all.extend(recovery);
        all
    }

    fn statement(&mut self, words: &[ScriptWord]) -> Parsed<()> {
        let (first, rest) = match words {
            [] => return Ok(()),
            [ScriptWord::Plain(first), rest @ ..] => (first.as_str(), rest),
            [other, ..] => {
                return Err(format!(
                    "a line begins with what is to be done ({STATEMENTS}), not with {other}"
                ));
            }
        };
        match first {
            "recovery:" if rest.is_empty() => self.recovery(),
            "connect" => self.connect(rest),
            "with" => {
                let name = one_name(rest, "with NAME")?;
                let known = self.connections.iter().position(|known| known == name);
                let which = known.ok_or_else(|| format!("no connection is called `{name}`"))?;
                self.current = Some(which as u8);
                self.put(ClientOp::With, which as u8, which as u64, b"");
                Ok(())
            }
            "send" => {
                self.connected()?;
                let mut text = Vec::new();
                for word in rest {
                    match word {
                        ScriptWord::Text(more) => text.extend(more),
                        _ => return Err(format!("send \"TEXT\": {word} is no text")),
                    }
                }
                if text.is_empty() {
                    return Err("send \"TEXT\": there is nothing to send".to_owned());
                }
                self.put(ClientOp::Send, 0, 0, &text);
                Ok(())
            }
            "expect" => self.expect(ClientOp::Expect, rest),
            "expect-line" => self.expect(ClientOp::ExpectLine, rest),
            "expect-close" => self.plain(ClientOp::ExpectClose, rest, first),
            "close" => self.plain(ClientOp::Close, rest, first),
            "shutdown" => self.plain(ClientOp::Shutdown, rest, first),
            "wait" => {
                let time = duration(one_name(rest, "wait TIME")?)?;
                self.put(ClientOp::Sleep, 0, time, b"");
                Ok(())
            }
            "patience" => {
                let time = duration(one_name(rest, "patience TIME")?)?;
                self.put(ClientOp::Patience, 0, time, b"");
                Ok(())
            }
            "run" => self.run(rest),
            "acked" => {
                let name = one_name(rest, "acked NAME")?.to_owned();
                self.named(&name)?;
                self.put(ClientOp::Acked, 0, 0, name.as_bytes());
                self.acked.push(name);
                Ok(())
            }
            "if" => self.begin_if(rest),
            "else" if rest.is_empty() => self.otherwise(),
            "end" if rest.is_empty() => self.end(),
            "stop" if rest.is_empty() => self.signal("TERM"),
            "signal" => {
                let name = one_name(rest, "signal NAME")?.to_owned();
                self.signal(&name)
            }
            "else" | "end" | "stop" | "recovery:" => Err(format!(
                "{} comes after `{first}`, which stands alone",
                rest[0]
            )),
            other => Err(format!(
                "`{other}` is nothing a client does; there are: {STATEMENTS}, and `recovery:`"
            )),
        }
    }

    fn recovery(&mut self) -> Parsed<()> {
        if self.in_recovery {
            return Err("there is a `recovery:` already".to_owned());
        }
        if let Some(open) = self.blocks.last() {
            return Err(format!("the `if` of line {} has no `end`", open.line));
        }
        self.in_recovery = true;
        self.connections.clear();
        self.current = None;
        Ok(())
    }

    fn connect(&mut self, rest: &[ScriptWord]) -> Parsed<()> {
        const HOW: &str = "connect unix:PATH, or connect tcp:PORT; then perhaps: as NAME";
        let (address, name) = match rest {
            [ScriptWord::Plain(address)] => (address, "client"),
            [
                ScriptWord::Plain(address),
                ScriptWord::Plain(word),
                ScriptWord::Plain(name),
            ] if word == "as" => (address, name.as_str()),
            _ => return Err(HOW.to_owned()),
        };
        let known = self.connections.iter().position(|known| known == name);
        let which = known.unwrap_or_else(|| {
            self.connections.push(name.to_owned());
            self.connections.len() - 1
        });
        if which >= MOST_CONNECTIONS {
            return Err(format!(
                "there are more than {MOST_CONNECTIONS} connections"
            ));
        }
        let (port, path) = match address.split_once(':') {
            Some(("unix", path)) if !path.is_empty() && path.len() <= 107 => (0, path),
            Some(("unix", _)) => return Err("the path of a socket has 1 to 107 bytes".to_owned()),
            Some(("tcp", port)) => {
                let port: Option<u16> = port.parse().ok().filter(|&port| port > 0);
                (
                    port.ok_or_else(|| format!("`{address}` has no port (1 to 65535)"))?,
                    "",
                )
            }
            _ => return Err(HOW.to_owned()),
        };
        self.current = Some(which as u8);
        self.put(ClientOp::Connect, which as u8, port.into(), path.as_bytes());
        Ok(())
    }

    fn connected(&self) -> Parsed<()> {
        match self.current {
            Some(_) => Ok(()),
            None => Err(
                "there is no connection yet: begin with `connect unix:PATH` or `connect tcp:PORT`"
                    .to_owned(),
            ),
        }
    }

    fn plain(&mut self, op: ClientOp, rest: &[ScriptWord], name: &str) -> Parsed<()> {
        self.connected()?;
        if let Some(more) = rest.first() {
            return Err(format!("{more} comes after `{name}`, which stands alone"));
        }
        self.put(op, 0, 0, b"");
        Ok(())
    }

    fn run(&mut self, rest: &[ScriptWord]) -> Parsed<()> {
        const HOW: &str = "run \"COMMAND\"";
        self.connected()?;
        let [ScriptWord::Text(command)] = rest else {
            return Err(HOW.to_owned());
        };
        let command = String::from_utf8(command.clone());
        let command = command.map_err(|_| format!("{HOW}: the command is no text (UTF-8)"))?;
        if command.trim().is_empty() || command.contains('\0') {
            return Err(format!("{HOW}: that is no command"));
        }
        self.commands.insert(self.line, command);
        self.put(ClientOp::Run, 0, 0, b"");
        Ok(())
    }

    fn expect(&mut self, op: ClientOp, rest: &[ScriptWord]) -> Parsed<()> {
        self.connected()?;
        let name = if op == ClientOp::Expect {
            "expect"
        } else {
            "expect-line"
        };
        let mut text = Vec::new();
        let how = match op {
            ClientOp::Expect => "expect \"TEXT\", perhaps with: or \"TEXT\"",
            _ => "expect-line \"TEXT\" or /PATTERN/, perhaps with: or …",
        };
        for (at, word) in rest.iter().enumerate() {
            if at % 2 == 1 {
                match word {
                    ScriptWord::Plain(word) if word == "or" => continue,
                    other => return Err(format!("{how}; {other} is something else")),
                }
            }
            let (kind, bytes) = match word {
                ScriptWord::Text(bytes) => (alternative::TEXT, bytes),
                ScriptWord::Pattern(bytes) if op == ClientOp::ExpectLine => {
                    pattern::check(bytes).map_err(|(at, why)| {
                        format!("in the pattern, `{}`: {why}", char::from(bytes[at]))
                    })?;
                    (alternative::PATTERN, bytes)
                }
                other => return Err(format!("{how}; {other} is something else")),
            };
            if op == ClientOp::ExpectLine && kind == alternative::TEXT && bytes.contains(&b'\n') {
                return Err(
                    "a line is compared without its end: leave \\r\\n out, or use `expect`"
                        .to_owned(),
                );
            }
            if op == ClientOp::Expect && bytes.is_empty() {
                return Err("an empty text is always there".to_owned());
            }
            text.push(kind);
            text.extend((bytes.len() as u32).to_le_bytes());
            text.extend(bytes);
        }
        if rest.len().is_multiple_of(2) {
            return Err(match rest.is_empty() {
                true => format!("`{name}` needs to know what: {how}"),
                false => "there is nothing behind the last `or`".to_owned(),
            });
        }
        self.put(op, 0, 0, &text);
        Ok(())
    }

    fn begin_if(&mut self, rest: &[ScriptWord]) -> Parsed<()> {
        const HOW: &str = "if acked NAME";
        let [ScriptWord::Plain(word), ScriptWord::Plain(name)] = rest else {
            return Err(HOW.to_owned());
        };
        if word != "acked" {
            return Err(HOW.to_owned());
        }
        self.named(name)?;
        let line = self.line;
        self.asked.entry(name.clone()).or_insert(line);
        let jump = self.section().len();
        self.put(ClientOp::UnlessAcked, 0, 0, name.as_bytes());
        self.blocks.push(OpenIf {
            line,
            jump,
            has_else: false,
        });
        Ok(())
    }

    fn otherwise(&mut self) -> Parsed<()> {
        let Some(block) = self.blocks.pop().filter(|block| !block.has_else) else {
            return Err("there is no `if` that this `else` could belong to".to_owned());
        };
        let jump = self.section().len();
        self.put(ClientOp::Goto, 0, 0, b"");
        self.lands_here(block.jump);
        self.blocks.push(OpenIf {
            jump,
            has_else: true,
            ..block
        });
        Ok(())
    }

    fn end(&mut self) -> Parsed<()> {
        let block = self.blocks.pop();
        let block = block.ok_or("there is no `if` that this `end` could belong to")?;
        self.lands_here(block.jump);
        Ok(())
    }

    /// The jump there leads to what comes next.
    fn lands_here(&mut self, jump: usize) {
        let section = self.section();
        let target = (section.len() as u64).to_le_bytes();
        section[jump + code::HEAD - 8..jump + code::HEAD].copy_from_slice(&target);
    }

    fn signal(&mut self, name: &str) -> Parsed<()> {
        const SIGNALS: [(&str, i32); 6] = [
            ("TERM", libc::SIGTERM),
            ("INT", libc::SIGINT),
            ("HUP", libc::SIGHUP),
            ("QUIT", libc::SIGQUIT),
            ("USR1", libc::SIGUSR1),
            ("USR2", libc::SIGUSR2),
        ];
        let plain = name.strip_prefix("SIG").unwrap_or(name);
        let Some((_, number)) = SIGNALS.iter().find(|(known, _)| *known == plain) else {
            let names: Vec<_> = SIGNALS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "no signal `{name}`; there are: {}",
                names.join(" ")
            ));
        };
        self.put(ClientOp::Signal, 0, *number as u64, b"");
        Ok(())
    }

    /// Two names that the runtime could not tell apart would be taken for one.
    fn named(&mut self, name: &str) -> Parsed<()> {
        if name.len() > 200 {
            return Err("a name has 200 bytes at most".to_owned());
        }
        let digest = digest::of(name.as_bytes()) & !window::ACK_COUNT;
        let known = self
            .digests
            .entry(digest)
            .or_insert_with(|| name.to_owned());
        match known == name {
            true => Ok(()),
            false => Err(format!(
                "`{name}` cannot be told from `{known}`: choose another name"
            )),
        }
    }
}

fn one_name<'a>(rest: &'a [ScriptWord], how: &str) -> Parsed<&'a str> {
    match rest {
        [ScriptWord::Plain(name)] => Ok(name),
        _ => Err(how.to_owned()),
    }
}

/// As in `2s`, `100ms`, `5us`: nanoseconds.
fn duration(text: &str) -> Parsed<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        _ => 0,
    };
    let number: Option<u64> = digits.parse().ok();
    let time = number.and_then(|number| number.checked_mul(unit));
    time.filter(|&time| time > 0)
        .ok_or_else(|| format!("`{text}` is no time; as in 2s, 100ms, 5us"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ClientScript, ScriptError> {
        ClientScript::parse("client.txt".into(), text)
    }

    /// What the runtime would follow.
    fn lines(script: &ClientScript, recovery: bool) -> Vec<(ClientOp, u32, u64, Vec<u8>)> {
        let section = code::section(&script.code, recovery);
        let mut at = 0;
        let mut lines = Vec::new();
        while let Some(line) = code::line(section, at) {
            lines.push((line.op, line.line, line.number, line.text.to_vec()));
            at = line.next;
        }
        lines
    }

    #[test]
    fn scripts_become_lines() {
        let script = parse(
            "# a client\nconnect unix:/tmp/kv\nsend \"set a 1\\r\\n\" \"x\\x00\"\nexpect-line \"OK\" or /E[0-9]+/\nacked a\n\nrecovery:\nconnect tcp:99 as B\nif acked a\n  expect \"1\"\nelse\n  close # no\nend\nstop\n",
        )
        .unwrap();
        let first = lines(&script, false);
        assert_eq!(first[0], (ClientOp::Connect, 2, 0, b"/tmp/kv".to_vec()));
        assert_eq!(first[1], (ClientOp::Send, 3, 0, b"set a 1\r\nx\0".to_vec()));
        let alternatives: Vec<_> = code::alternatives(&first[2].3).collect();
        assert_eq!(
            alternatives,
            [
                (alternative::TEXT, &b"OK"[..]),
                (alternative::PATTERN, b"E[0-9]+")
            ]
        );
        assert_eq!(first[3], (ClientOp::Acked, 5, 0, b"a".to_vec()));
        let recovery = lines(&script, true);
        let ops: Vec<_> = recovery.iter().map(|line| line.0).collect();
        let wanted = [
            ClientOp::Connect,
            ClientOp::UnlessAcked,
            ClientOp::Expect,
            ClientOp::Goto,
            ClientOp::Close,
            ClientOp::Signal,
        ];
        assert_eq!(ops, wanted);
        let section = code::section(&script.code, true);
        let at = |place: u64| code::line(section, place as usize).unwrap().op;
        assert_eq!(at(recovery[1].2), ClientOp::Close);
        assert_eq!(at(recovery[3].2), ClientOp::Signal);
        assert!(script.unacknowledged.is_empty());
        assert_eq!(script.line(12), "close # no");
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, line, why) in [
            ("send \"x\"", 1, "there is no connection yet"),
            ("\nconnect tcp:0", 2, "has no port"),
            ("connect somewhere", 1, "connect unix:PATH"),
            ("connect tcp:1\nsend x", 2, "`x` is no text"),
            ("connect tcp:1\nsend \"x", 2, "does not end"),
            ("connect tcp:1\nsend \"\\q\"", 2, "\\q"),
            ("connect tcp:1\nexpect-line /(a)/", 2, "without groups"),
            ("connect tcp:1\nexpect-line \"a\\n\"", 2, "without its end"),
            ("connect tcp:1\nexpect", 2, "needs to know what"),
            ("connect tcp:1\nexpect \"a\" or", 2, "behind the last `or`"),
            ("connect tcp:1\nexpect \"a\" \"b\"", 2, "something else"),
            ("if acked a\n", 1, "has no `end`"),
            ("else", 1, "no `if`"),
            ("end", 1, "no `if`"),
            ("run \"true\"", 1, "there is no connection yet"),
            ("connect tcp:1\nrun true", 2, "run \"COMMAND\""),
            ("connect tcp:1\nrun \" \"", 2, "no command"),
            ("wait 3", 1, "no time"),
            ("signal KILL", 1, "no signal `KILL`"),
            ("recovery:\nrecovery:", 2, "already"),
            ("dance", 1, "nothing a client does"),
            ("with B", 1, "no connection is called"),
            ("\"a\"", 1, "a line begins with"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.why.contains(why), "{text}: {error}");
        }
    }
}
