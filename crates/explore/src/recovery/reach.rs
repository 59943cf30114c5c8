//! The present point of the walk: what each line may hold, and which reads of the tree that leads to.

use crate::subject::FirstRead;
use crate::tree::NodeId;
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::Log;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The lines the log stores to; reads of all others have one value for good.
pub(super) fn stored_lines(log: &Log, base: &Image) -> FxHashMap<Line, LineWalk> {
    log.lines()
        .map(|line| {
            let walk = LineWalk {
                first: 0,
                contents: vec![base.line(line)],
                stores_left: log.newest(line, log.end()).0,
                top: Vec::new(),
            };
            (line, walk)
        })
        .collect()
}

/// A line at the present point of the log.
#[derive(Debug)]
pub(super) struct LineWalk {
    /// The frontier: the version that `contents[0]` is.
    pub(super) first: u32,
    /// What each feasible version holds.
    pub(super) contents: Vec<LineBytes>,
    /// Stores to come.
    pub(super) stores_left: u32,
    /// Reachable reads of the line with no read of it before them.
    pub(super) top: Vec<ReachId>,
}

impl LineWalk {
    pub(super) fn newest(&self) -> u32 {
        self.first + self.contents.len() as u32 - 1
    }

    pub(super) fn content(&self, version: u32) -> &LineBytes {
        &self.contents[(version - self.first) as usize]
    }

    /// It can never hold anything but what it holds.
    pub(super) fn settled(&self) -> bool {
        self.contents.len() == 1 && self.stores_left == 0
    }
}

/// Refers to a [`Reach`] while it lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReachId {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// A read of the tree that some feasible image comes to.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) generation: u32,
    pub(super) alive: bool,
    pub(super) node: NodeId,
    pub(super) read: FirstRead,
    /// The reachable read above it, and the value that leads here.
    pub(super) parent: Option<(ReachId, u64)>,
    /// Versions up to here have been given to it.
    pub(super) given: u32,
    pub(super) branches: SmallVec<[Branch; 2]>,
}

#[derive(Debug)]
pub(super) struct Branch {
    pub(super) value: u64,
    /// The versions of the line that return this value here and agree with every read of the line above.
    pub(super) versions: SmallVec<[u32; 4]>,
    /// The next reads of the same line below.
    pub(super) below: SmallVec<[ReachId; 1]>,
}

pub(super) fn alive(reaches: &[Reach], id: ReachId) -> bool {
    let reach = &reaches[id.slot as usize];
    reach.alive && reach.generation == id.generation
}
