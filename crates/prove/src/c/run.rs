//! Following a function: blocks in the order of its flow, ways that meet becoming one.

use super::flow::Flow;
use super::knowledge::CallContext;
use super::machine::{CMachine, CState, CValue, Go, Stop};
use super::rounds::RoundBegin;
use crate::term::Term;
use landfall_ir::{BlockId, Function, Instruction, Kind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Instructions followed, in all.
const STEPS: usize = 4_000_000;

/// A function in the middle of being followed.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) state: CState,
    pub(super) registers: Vec<Option<CValue>>,
    /// For each loop around this place: rounds that nothing but data decided, and whether this round is decided.
    rounds: Vec<LoopRound>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LoopRound {
    undecided: u32,
    decided: bool,
}

/// Where a function is and in which round of its loops: a head and a round for each loop, then the block.
type BlockKey = Vec<u32>;

impl<'m> CMachine<'m> {
    fn flow(&mut self, function: &Function) -> Rc<Flow> {
        if let Some(known) = self.flows.get(&function.name) {
            return known.clone();
        }
        let flow = Rc::new(Flow::new(function));
        self.flows.insert(function.name.clone(), flow.clone());
        flow
    }

    /// Follows a function; where it returns, if it does.
    pub(super) fn run(
        &mut self,
        function: &'m Function,
        arguments: Vec<CValue>,
        state: CState,
        context: CallContext,
    ) -> Go<Option<(CState, Option<CValue>)>> {
        if self.calls.contains(&function.name) {
            return self.refuse(format!(
                "`{}` calls itself: recursion is not unrolled, write it as a loop",
                function.name
            ));
        }
        let flow = self.flow(function);
        self.program.asserts |= flow.asserts;
        self.calls.push(function.name.clone());
        let mut registers = vec![None; function.registers];
        for (parameter, value) in function.parameters.iter().zip(arguments) {
            registers[parameter.register.0 as usize] = Some(value);
        }
        let first = Frame {
            state,
            registers,
            rounds: vec![LoopRound::default(); flow.loops[0].len()],
        };
        let mut begins = FxHashMap::default();
        let mut pending: BTreeMap<BlockKey, Vec<Frame>> = BTreeMap::new();
        pending.insert(key_into(&flow, 0), vec![first]);
        let mut returned: Option<(CState, Option<CValue>)> = None;
        while let Some((key, frames)) = pending.pop_first() {
            let place = key.last().copied().unwrap_or(0);
            let block = flow.block[place as usize];
            let Some(frame) = self.gather(&flow, block, frames) else {
                continue;
            };
            if flow.loops[block].last() == Some(&flow.place[block]) {
                let events = self.program.events.len();
                begins.insert(key.clone(), RoundBegin::new(&frame, events));
            }
            let mut walk = BlockWalk {
                function,
                begins: &begins,
                flow: &flow,
                key: &key,
                block,
                context,
                pending: &mut pending,
                returned: &mut returned,
            };
            match self.block(frame, &mut walk) {
                Ok(()) | Err(Stop::Ended) => {}
                refused => return refused.map(|()| None),
            }
        }
        self.calls.pop();
        Ok(returned)
    }

    /// Ways that lead to one block, in an order in which neighbours cancel out.
    fn gather(&mut self, flow: &Flow, block: usize, mut frames: Vec<Frame>) -> Option<Frame> {
        while frames.len() > 1 {
            let at = self.best_pair(&frames);
            let second = frames.remove(at.1);
            let first = frames.remove(at.0);
            let met = self.meet_frames(flow, block, first, second);
            frames.push(met);
        }
        frames.pop()
    }

    /// Two ways that differ in one condition, if there are some: what follows them does not depend on it.
    fn best_pair(&mut self, frames: &[Frame]) -> (usize, usize) {
        let terms = &mut self.program.terms;
        let all: Vec<Vec<Term>> = frames
            .iter()
            .map(|f| terms.conjuncts(f.state.condition))
            .collect();
        for (b, of_b) in all.iter().enumerate() {
            for (a, of_a) in all[..b].iter().enumerate() {
                let own_a: Vec<Term> = of_a.iter().copied().filter(|t| !of_b.contains(t)).collect();
                let own_b: Vec<Term> = of_b.iter().copied().filter(|t| !of_a.contains(t)).collect();
                if let ([x], [y]) = (own_a.as_slice(), own_b.as_slice())
                    && terms.not(*x) == *y
                {
                    return (a, b);
                }
            }
        }
        (frames.len() - 2, frames.len() - 1)
    }

    fn meet_frames(&mut self, flow: &Flow, block: usize, a: Frame, b: Frame) -> Frame {
        let first = self.first_way(a.state.condition, b.state.condition);
        let mut registers = Vec::with_capacity(a.registers.len());
        for (number, (x, y)) in a.registers.iter().zip(&b.registers).enumerate() {
            registers.push(match (x, y) {
                (Some(x), Some(y)) if x == y => Some(x.clone()),
                (Some(x), Some(y)) if flow.is_live(block, number) => self.choose(first, x, y),
                _ => None,
            });
        }
        let rounds = a.rounds.iter().zip(&b.rounds).map(|(x, y)| LoopRound {
            undecided: x.undecided.max(y.undecided),
            decided: x.decided && y.decided,
        });
        Frame {
            rounds: rounds.collect(),
            registers,
            state: self.meet(a.state, b.state),
        }
    }

    fn block(&mut self, mut frame: Frame, walk: &mut BlockWalk<'m, '_>) -> Go<()> {
        let instructions = &walk.function.blocks[walk.block].instructions;
        for (number, instruction) in instructions.iter().enumerate() {
            self.steps += 1;
            if self.steps > STEPS {
                return self.refuse("the program is too long to be followed up to here");
            }
            if instruction.place.is_some() {
                self.here = instruction.place;
            }
            if self.last(&mut frame, instruction, walk)? {
                return Ok(());
            }
            let place = (walk.block as u32, number as u32);
            let here = self.knowledge.context(walk.context, place, walk.key);
            let result = self.step(&mut frame, instruction, here)?;
            if let (Some(register), Some(value)) = (instruction.result, result) {
                frame.registers[register.0 as usize] = Some(value);
            }
            if let Kind::Call { then: Some(to), .. } = instruction.kind {
                return self.go(frame, to, walk);
            }
        }
        Ok(())
    }

    /// What ends a block; false for all else.
    fn last(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        walk: &mut BlockWalk<'m, '_>,
    ) -> Go<bool> {
        match &instruction.kind {
            Kind::Jump { to } => self.go(frame.clone(), *to, walk)?,
            Kind::Branch {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.integer(frame, condition, 1)?;
                let condition = self.decided(condition);
                let not = self.program.terms.not(condition);
                self.fork(frame, &[(condition, *then), (not, *otherwise)], walk)?;
            }
            Kind::Switch {
                value,
                cases,
                otherwise,
            } => {
                let of = self.typed_integer(frame, value)?;
                let width = self.program.terms.width(of);
                let mut ways = Vec::new();
                let mut none = self.program.terms.truth(true);
                for &(case, to) in cases {
                    let case = self.program.terms.constant(width, case);
                    let is = self.program.terms.eq(of, case);
                    let is = self.decided(is);
                    let not = self.program.terms.not(is);
                    none = self.program.terms.and(none, not);
                    ways.push((is, to));
                }
                ways.push((none, *otherwise));
                self.fork(frame, &ways, walk)?;
            }
            Kind::Return { value } => {
                let value = match value {
                    Some(value) => Some(self.typed(frame, value)?),
                    None => None,
                };
                let here = (frame.state.clone(), value);
                *walk.returned = Some(match walk.returned.take() {
                    None => here,
                    Some(before) => self.meet_returns(before, here),
                });
            }
            Kind::Unreachable => return Err(Stop::Ended),
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn meet_returns(
        &mut self,
        a: (CState, Option<CValue>),
        b: (CState, Option<CValue>),
    ) -> (CState, Option<CValue>) {
        let first = self.first_way(a.0.condition, b.0.condition);
        let value = match (&a.1, &b.1) {
            (Some(x), Some(y)) => self.choose(first, x, y),
            _ => None,
        };
        (self.meet(a.0, b.0), value)
    }

    /// Branches about addresses are often decided by what their memory can hold.
    fn decided(&mut self, condition: Term) -> Term {
        use crate::term::{Node, Op};
        let terms = &self.program.terms;
        let inner = match terms.node(condition) {
            Node::Not(inner) => inner,
            _ => condition,
        };
        if let Node::Binary(Op::Eq, a, b) = terms.node(inner)
            && terms.width(a) == 64
            && (terms.constant_of(a).is_some() || terms.constant_of(b).is_some())
            && let Some(known) = self.domain(condition)
            && let ([value], false) = (known.values.as_slice(), known.open)
        {
            return self.program.terms.truth(*value == 1);
        }
        condition
    }

    fn fork(
        &mut self,
        frame: &Frame,
        ways: &[(Term, BlockId)],
        walk: &mut BlockWalk<'m, '_>,
    ) -> Go<()> {
        let decides = ways
            .iter()
            .all(|(when, _)| self.program.terms.constant_of(*when).is_some());
        let mut base = frame.clone();
        if decides {
            // A branch that could have left a loop and did not: the loop counts by itself.
            let around = &walk.flow.loops[walk.block];
            for (depth, head) in around.iter().enumerate() {
                let leaves = |to: BlockId| !walk.flow.loops[to.index()].contains(head);
                if ways.iter().any(|&(_, to)| leaves(to)) {
                    base.rounds[depth].decided = true;
                }
            }
        }
        for &(when, to) in ways {
            let mut way = base.clone();
            if self.assume(&mut way.state, when).is_ok() {
                self.go(way, to, walk)?;
            }
        }
        Ok(())
    }

    /// Arrives at a block, with the values its first instructions choose by where control came from.
    fn go(&mut self, mut frame: Frame, to: BlockId, walk: &mut BlockWalk<'m, '_>) -> Go<()> {
        let (flow, target) = (walk.flow, to.index());
        let around = &flow.loops[target];
        self.choose_arriving(&mut frame, target, walk)?;
        let mut key: BlockKey = Vec::new();
        let mut rounds = Vec::new();
        for (depth, &head) in around.iter().enumerate() {
            let inside = flow.loops[walk.block].get(depth) == Some(&head)
                && walk.key[..2 * depth] == key[..];
            let mut round = LoopRound::default();
            let mut number = 0;
            if inside {
                (round, number) = (frame.rounds[depth], walk.key[2 * depth + 1]);
                if flow.place[target] == head {
                    let mut begun = key.clone();
                    begun.extend([head, number, head]);
                    if let Some(begin) = walk.begins.get(&begun) {
                        let in_vain = self.in_vain(begin, &frame, flow, target)?;
                        let changed = self.program.terms.not(in_vain);
                        if self.assume(&mut frame.state, changed).is_err() {
                            return Ok(());
                        }
                    }
                    number += 1;
                    round.undecided += u32::from(!round.decided);
                    round.decided = false;
                    if round.undecided >= self.bounds.unroll.max(1) {
                        return self.bound(&frame.state);
                    }
                    if number >= self.patience {
                        // What others do to its condition may not be known yet: they are followed first.
                        let what = format!("the loop does not end within {} rounds", self.patience);
                        if let Err(Stop::Refused(refusal)) = self.refuse::<()>(what) {
                            self.endless.get_or_insert(refusal);
                        }
                        return Ok(());
                    }
                }
            }
            key.extend([head, number]);
            rounds.push(round);
        }
        key.push(flow.place[target]);
        frame.rounds = rounds;
        walk.pending.entry(key).or_default().push(frame);
        Ok(())
    }

    fn choose_arriving(
        &mut self,
        frame: &mut Frame,
        target: usize,
        walk: &BlockWalk<'m, '_>,
    ) -> Go<()> {
        let from = BlockId(walk.block as u32);
        let mut chosen = Vec::new();
        for instruction in &walk.function.blocks[target].instructions {
            let (Kind::Phi { of, from: ways }, Some(register)) =
                (&instruction.kind, instruction.result)
            else {
                break;
            };
            if let Some((value, _)) = ways.iter().find(|(_, block)| *block == from) {
                chosen.push((register, self.operand(frame, value, of)?));
            }
        }
        for (register, value) in chosen {
            frame.registers[register.0 as usize] = Some(value);
        }
        Ok(())
    }
}

fn key_into(flow: &Flow, block: usize) -> BlockKey {
    let mut key: BlockKey = flow.loops[block]
        .iter()
        .flat_map(|&head| [head, 0])
        .collect();
    key.push(flow.place[block]);
    key
}

/// A block that is being followed.
struct BlockWalk<'m, 'w> {
    function: &'m Function,
    flow: &'w Flow,
    key: &'w BlockKey,
    block: usize,
    context: CallContext,
    begins: &'w FxHashMap<BlockKey, RoundBegin>,
    pending: &'w mut BTreeMap<BlockKey, Vec<Frame>>,
    returned: &'w mut Option<(CState, Option<CValue>)>,
}
