//! Code that no compiler of ours has seen, rewritten in a server's memory so that it calls the runtime: instructions that were
//! trapped because they access persistent memory, and fences, which nothing would trap. `runtime/memory/rewritten` is the other half.
//!
//! An instruction is replaced by a jump, five bytes, to code of ours that does the same and jumps back. Where it is shorter, the
//! ones behind it are moved along. Somebody may jump to one of those: so the bytes of the jump are chosen, by where it leads, such
//! that a trap lies wherever an instruction began, and the runtime goes on where that instruction is now. Nothing has to be known
//! about who jumps where. Where something behind it cannot be moved, a trap takes the place of the jump. An access that cannot be
//! moved itself stays as it is and is trapped as ever.

mod body;
mod fences;
mod modules;
mod room;

pub(crate) use modules::{CodePlace, Modules};

use body::Body;
use iced_x86::Instruction;
use landfall_vocab::rewrite::{CODE, Order, entry};
use modules::Memory;
use room::{BREAKPOINT, Room};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Moved instructions of one process: the runtime has room for so many.
const MOST: u64 = 1 << 14;
/// A jump to anywhere near.
const JUMP: u64 = 5;

/// Instructions that servers of one program were trapped at: the next server rewrites them before its first run.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrappedPlaces(Arc<Mutex<BTreeSet<CodePlace>>>);

impl TrappedPlaces {
    pub(crate) fn add(&self, places: impl IntoIterator<Item = CodePlace>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(places);
    }

    pub(crate) fn all(&self) -> Vec<CodePlace> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().cloned().collect()
    }
}

/// What was rewritten in one process.
#[derive(Debug, Default)]
pub(crate) struct Rewriter {
    rooms: Vec<Room>,
    /// Where it was tried.
    tried: HashSet<u64>,
    /// What is not as it was: first byte, and where it ends.
    taken: BTreeMap<u64, u64>,
    moved: u64,
}

impl Rewriter {
    /// How many instructions were moved.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    /// What to order so that the instructions at these addresses call the runtime.
    pub(crate) fn rewrite(
        &mut self,
        process: u32,
        modules: &Modules,
        entries: [u64; entry::COUNT],
        places: impl IntoIterator<Item = u64>,
    ) -> Vec<(u64, Order)> {
        let mut orders = Vec::new();
        let Some(memory) = Memory::of(process).filter(|_| entries.iter().all(|&at| at != 0)) else {
            return orders;
        };
        for place in places {
            if self.tried.insert(place) {
                self.one(&memory, modules, entries, place, &mut orders);
            }
        }
        orders
    }

    /// Rewrites one instruction, if it can be done.
    fn one(
        &mut self,
        memory: &Memory,
        modules: &Modules,
        entries: [u64; entry::COUNT],
        place: u64,
        orders: &mut Vec<(u64, Order)>,
    ) -> Option<()> {
        let code = memory.read(place, 32)?;
        let is_free = |window: &Vec<Instruction>| {
            let end = window.last().map_or(place, Instruction::next_ip);
            let before = self.taken.range(..end).next_back();
            before.is_none_or(|(_, &taken)| taken <= place)
        };
        let covered = body::window(&code, place, JUMP as usize).filter(is_free);
        let trapped = covered.is_none();
        let window = covered.or_else(|| body::window(&code, place, 1).filter(is_free))?;
        let end = window.last()?.next_ip();
        if self.moved + 8 > MOST {
            return None;
        }
        let serves = |room: &Room| room.serves.contains(&place);
        if !self.rooms.iter().any(serves) {
            let room = Room::beside(place, modules)?;
            let length = room.length();
            orders.push((room.start(), Order::Room { length }));
            put(
                orders,
                room.entries(),
                &entries.map(u64::to_le_bytes).concat(),
            );
            self.rooms.push(room);
        }
        let room = self.rooms.iter_mut().find(|room| serves(room))?;
        let body = Body::write(&window, room.next_body(), room.entries(), self.moved)?;
        let mut landings = body.landings(place);
        let interior: Vec<u64> = landings.iter().map(|(at, _)| at - place).collect();
        let target = room.target(place + JUMP, &interior)?;
        room.keep_body(body.code.len() as u64)?;
        put(orders, body.start, &body.code);
        if target != body.start {
            put(orders, target, &jump(target, body.start)?);
        }
        if trapped {
            landings = vec![(place, body.start)];
        }
        self.moved += body.moved.len() as u64;
        orders.extend(body.moved);
        let landing = |(at, to)| (at, Order::Landing { to });
        orders.extend(landings.into_iter().map(landing));
        match trapped {
            true => put(orders, place, &[BREAKPOINT]),
            false => put(orders, place, &jump(place, target)?),
        }
        self.taken.insert(place, end);
        Some(())
    }
}

/// A jump at `from`.
fn jump(from: u64, to: u64) -> Option<[u8; 5]> {
    let distance = i32::try_from(to.wrapping_sub(from + JUMP) as i64).ok()?;
    let [a, b, c, d] = distance.to_le_bytes();
    Some([0xe9, a, b, c, d])
}

/// Orders code at an address.
fn put(orders: &mut Vec<(u64, Order)>, address: u64, code: &[u8]) {
    for (part, bytes) in code.chunks(CODE).enumerate() {
        let mut padded = [0; CODE];
        padded[..bytes.len()].copy_from_slice(bytes);
        let order = Order::Code {
            bytes: padded,
            length: bytes.len() as u8,
        };
        orders.push((address + (part * CODE) as u64, order));
    }
}

/// Where the fences and locked instructions of libraries are that no compiler of ours has seen.
pub(crate) fn fences(modules: &Modules) -> Vec<u64> {
    modules.foreign().flat_map(fences::of).collect()
}
