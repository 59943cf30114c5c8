//! What is said about outcomes: places, and herd's `/\ \/ ~ =>` over their values.

use super::ParseError;
use super::cursor::{LitmusToken, TextCursor, TextSpot, quote};
use super::scope::{NO_SYMBOLS, NameScope, NamedRegisters, unknown_thread, whole_register};
use crate::expect::Prop;
use crate::program::{Place, Program};

/// The places a test observes, while its conditions are read.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) places: Vec<Place>,
    pub(crate) growth: Growth,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    /// Whatever a condition names is observed from then on.
    Open,
    /// The file has said what it observes; the text says where, for messages.
    Fixed(&'static str),
}

impl Observed {
    pub(crate) fn index(
        &mut self,
        place: Place,
        name: &str,
        spot: TextSpot,
    ) -> Result<usize, ParseError> {
        if let Some(index) = crate::expect::place_index(&self.places, place) {
            return Ok(index);
        }
        match self.growth {
            Growth::Open => {
                self.places.push(place);
                Ok(self.places.len() - 1)
            }
            Growth::Fixed(by) => Err(spot.error(quote(name), format!("a place that {by} names"))),
        }
    }
}

const A_PLACE: &str = "a variable or a thread's register such as `T0:r1`";

/// A place and the words it was named by: `x`, `[x]`, `T1:r1`, or herd's `1:EAX`.
pub(crate) fn place(
    cursor: &mut TextCursor<'_>,
    scope: &NameScope,
) -> Result<(Place, String, TextSpot), ParseError> {
    let spot = cursor.spot();
    match cursor.peek() {
        LitmusToken::Sign("[") => {
            cursor.next();
            let (name, at) = cursor.word("a variable")?;
            let place = variable(scope, name, at)?;
            cursor.expect("]", "`]` after the variable")?;
            Ok((place, name.to_owned(), spot))
        }
        LitmusToken::Number { text, .. } => {
            cursor.next();
            cursor.expect(":", "`:` and a register after the thread's number")?;
            register(cursor, scope, text, spot)
        }
        LitmusToken::Word(word) => {
            cursor.next();
            if cursor.take(":") {
                return register(cursor, scope, word, spot);
            }
            Ok((variable(scope, word, spot)?, word.to_owned(), spot))
        }
        _ => Err(cursor.unexpected(A_PLACE)),
    }
}

fn variable(scope: &NameScope, name: &str, spot: TextSpot) -> Result<Place, ParseError> {
    match scope.var(name) {
        Some(var) => Ok(Place::Var(var)),
        None => Err(spot.error(
            quote(name),
            format!("a variable of the test ({})", scope.var_list()),
        )),
    }
}

fn register(
    cursor: &mut TextCursor<'_>,
    scope: &NameScope,
    prefix: &str,
    spot: TextSpot,
) -> Result<(Place, String, TextSpot), ParseError> {
    let number = prefix.strip_prefix(['T', 'P']).unwrap_or(prefix);
    let Ok(thread) = number.parse::<u8>() else {
        return Err(spot.error(quote(prefix), "a thread such as `T0` before the `:`"));
    };
    let count = scope.program.threads.len();
    if usize::from(thread) >= count {
        return Err(unknown_thread(thread.into(), count, spot));
    }
    let expected = match cursor.peek() {
        LitmusToken::Other('%') => NO_SYMBOLS,
        _ => "a register",
    };
    let (name, at) = cursor.word(expected)?;
    if scope.registers == NamedRegisters::X86 {
        whole_register(name, at)?;
    }
    match scope.reg(thread.into(), name) {
        Some(reg) => Ok((Place::Reg { thread, reg }, format!("{prefix}:{name}"), spot)),
        None => Err(at.error(
            quote(name),
            format!(
                "a register that thread {thread} uses ({})",
                scope.reg_list(thread.into())
            ),
        )),
    }
}

/// The index of the place that comes next.
pub(crate) fn observed_place(
    cursor: &mut TextCursor<'_>,
    scope: &NameScope,
    observed: &mut Observed,
) -> Result<(usize, TextSpot), ParseError> {
    let (place, name, spot) = place(cursor, scope)?;
    Ok((observed.index(place, &name, spot)?, spot))
}

/// `place = value`, also with herd's `==`, `!=` and `<>`.
fn comparison(
    cursor: &mut TextCursor<'_>,
    scope: &NameScope,
    observed: &mut Observed,
) -> Result<Prop, ParseError> {
    let (index, _) = observed_place(cursor, scope, observed)?;
    let differs = cursor.take("!=") || cursor.take("<>");
    if !differs && !cursor.take("==") {
        cursor.expect("=", "`=` and a value")?;
    }
    let equal = Prop::Eq(index, cursor.value("a number")?);
    Ok(if differs {
        Prop::Not(Box::new(equal))
    } else {
        equal
    })
}

/// Deeper than anyone writes; a bound, so that a hostile file cannot exhaust the stack.
const DEEPEST: usize = 64;

/// A condition up to where it cannot go on; the caller judges what follows.
pub(crate) fn condition(
    cursor: &mut TextCursor<'_>,
    scope: &NameScope,
    observed: &mut Observed,
) -> Result<Prop, ParseError> {
    Grammar { scope, observed }.disjunction(cursor, 0)
}

struct Grammar<'s> {
    scope: &'s NameScope,
    observed: &'s mut Observed,
}

/// As in herd, loosest first: `\/`, `/\`, `=>` (which groups to the right), `~`.
impl Grammar<'_> {
    fn disjunction(
        &mut self,
        cursor: &mut TextCursor<'_>,
        depth: usize,
    ) -> Result<Prop, ParseError> {
        let mut props = vec![self.conjunction(cursor, depth)?];
        while cursor.take("\\/") {
            props.push(self.conjunction(cursor, depth)?);
        }
        Ok(single(props).unwrap_or_else(Prop::Or))
    }

    fn conjunction(
        &mut self,
        cursor: &mut TextCursor<'_>,
        depth: usize,
    ) -> Result<Prop, ParseError> {
        let mut props = vec![self.implication(cursor, depth)?];
        while cursor.take("/\\") {
            props.push(self.implication(cursor, depth)?);
        }
        Ok(single(props).unwrap_or_else(Prop::And))
    }

    fn implication(
        &mut self,
        cursor: &mut TextCursor<'_>,
        depth: usize,
    ) -> Result<Prop, ParseError> {
        let premise = self.literal(cursor, depth)?;
        if !cursor.take("=>") {
            return Ok(premise);
        }
        let conclusion = self.implication(cursor, depth + 1)?;
        Ok(Prop::Or(vec![Prop::Not(Box::new(premise)), conclusion]))
    }

    fn literal(&mut self, cursor: &mut TextCursor<'_>, depth: usize) -> Result<Prop, ParseError> {
        if depth > DEEPEST {
            return Err(cursor.unexpected(format!("at most {DEEPEST} levels of nesting")));
        }
        if cursor.take("~") || cursor.take_word("not") {
            let inner = self.literal(cursor, depth + 1)?;
            return Ok(Prop::Not(Box::new(inner)));
        }
        if cursor.take("(") {
            let inner = self.disjunction(cursor, depth + 1)?;
            cursor.expect(")", "`)`, `/\\`, `\\/` or `=>`")?;
            return Ok(inner);
        }
        if cursor.take_word("true") {
            return Ok(Prop::True);
        }
        if cursor.take_word("false") {
            return Ok(Prop::Not(Box::new(Prop::True)));
        }
        match cursor.peek() {
            LitmusToken::Word(_) | LitmusToken::Number { .. } | LitmusToken::Sign("[") => {
                comparison(cursor, self.scope, self.observed)
            }
            _ => Err(cursor.unexpected(
                "a condition: an equation such as `x=1` or `0:EAX=1`, `~`, `(`, `true` or `false`",
            )),
        }
    }
}

/// The only one, or all of them back.
fn single(mut props: Vec<Prop>) -> Result<Prop, Vec<Prop>> {
    match props.pop() {
        Some(only) if props.is_empty() => Ok(only),
        Some(last) => {
            props.push(last);
            Err(props)
        }
        None => Err(props),
    }
}

/// Writes a condition so that [`condition`] reads the same back.
pub(crate) fn show_condition(prop: &Prop, places: &[Place], program: &Program) -> String {
    let join = |props: &[Prop], sign: &str| {
        let parts: Vec<String> = props
            .iter()
            .map(|p| match p {
                Prop::And(inner) | Prop::Or(inner) if inner.len() > 1 => {
                    format!("({})", show_condition(p, places, program))
                }
                _ => show_condition(p, places, program),
            })
            .collect();
        parts.join(sign)
    };
    match prop {
        Prop::True => "true".into(),
        Prop::Not(inner) if **inner == Prop::True => "false".into(),
        Prop::And(props) if props.is_empty() => "true".into(),
        Prop::Or(props) if props.is_empty() => "false".into(),
        Prop::And(props) => join(props, " /\\ "),
        Prop::Or(props) => join(props, " \\/ "),
        Prop::Not(inner) => format!("~({})", show_condition(inner, places, program)),
        Prop::Eq(index, value) => match places.get(*index) {
            Some(&place) => format!("{}={value}", program.place_name(place)),
            None => "true".into(),
        },
    }
}
