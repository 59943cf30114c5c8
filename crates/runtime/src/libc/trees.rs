//! Trees and lists of libstdc++: what `std::map`, `std::set` and `std::list` leave to its shared library. Nobody would see what that does
//! to nodes which threads share, so these few functions are ours; nodes lie as libstdc++ has them.

use crate::caller;
use crate::memory::accesses;
use crate::run::outcome;
use crate::run::trace::Origin;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::End;

crate::weak!(
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base" => tree_increment,
    "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base" => tree_increment,
    "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base" => tree_decrement,
    "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base" => tree_decrement,
    "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_" => tree_insert,
    "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_" => tree_erase,
    "_ZNSt8__detail15_List_node_base7_M_hookEPS0_" => list_hook,
    "_ZNSt8__detail15_List_node_base9_M_unhookEv" => list_unhook,
    "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_" => list_transfer,
    "_ZNSt8__detail15_List_node_base10_M_reverseEv" => list_reverse,
    "_ZNSt8__detail15_List_node_base4swapERS0_S1_" => list_swap,
);

/// Counts how far a walk through nodes goes.
struct Walk {
    left: u32,
}

impl Walk {
    /// No tree is as deep as that: two threads at once have made a circle of it.
    const DEEPEST: Walk = Walk { left: 256 };
    const LONGEST: Walk = Walk { left: 1 << 24 };

    fn goes_on(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            outcome::fail(End::Budget, &[b"the nodes of a container lead in a circle"])
        }
    }
}

/// Nodes as their fields lie in memory, each access one of the program's.
#[derive(Clone, Copy)]
struct Nodes(Origin);

impl Nodes {
    fn tree(caller: usize) -> Nodes {
        Nodes(Origin::library(Builtin::std_tree, caller))
    }

    fn list(caller: usize) -> Nodes {
        Nodes(Origin::library(Builtin::std_list, caller))
    }

    /// # Safety
    /// `node` is a node of the program's.
    unsafe fn get(self, node: usize, field: usize) -> usize {
        // SAFETY: what the caller promises.
        unsafe { accesses::fetch(node + field, 8, self.0) as usize }
    }

    /// # Safety
    /// `node` is a node of the program's.
    unsafe fn set(self, node: usize, field: usize, to: usize) {
        // SAFETY: what the caller promises.
        unsafe { accesses::hand_over(node + field, (&raw const to).cast(), 8, self.0) };
    }
}

/// Where a node of a tree has what: its colour, who is above it, what is below it.
const COLOUR: usize = 0;
const PARENT: usize = 8;
const LEFT: usize = 16;
const RIGHT: usize = 24;

const RED: u32 = 0;
const BLACK: u32 = 1;

/// The other side.
const fn opposite(side: usize) -> usize {
    LEFT + RIGHT - side
}

/// A tree by its head, whose parent is the root, and whose children are the first and the last node.
#[derive(Clone, Copy)]
struct Tree {
    nodes: Nodes,
    head: usize,
}

impl Nodes {
    /// # Safety
    /// `node` is a node of the program's, or none.
    unsafe fn is(self, node: usize, colour: u32) -> bool {
        // SAFETY: what the caller promises. Where there is no node, it is black.
        unsafe {
            match node {
                0 => colour == BLACK,
                _ => accesses::fetch(node + COLOUR, 4, self.0) as u32 == colour,
            }
        }
    }

    /// # Safety
    /// `node` is a node of the program's.
    unsafe fn paint(self, node: usize, colour: u32) {
        let colour = (&raw const colour).cast();
        // SAFETY: what the caller promises.
        unsafe { accesses::hand_over(node + COLOUR, colour, 4, self.0) };
    }

    /// The last node that is found by going to one side again and again.
    ///
    /// # Safety
    /// `node` is a node of the program's.
    unsafe fn outermost(self, mut node: usize, side: usize) -> usize {
        let mut walk = Walk::DEEPEST;
        // SAFETY: what the caller promises.
        unsafe {
            loop {
                walk.goes_on();
                match self.get(node, side) {
                    0 => return node,
                    next => node = next,
                }
            }
        }
    }
}

impl Tree {
    /// # Safety
    /// The head is one of the program's.
    unsafe fn root(self) -> usize {
        // SAFETY: what the caller promises.
        unsafe { self.nodes.get(self.head, PARENT) }
    }

    /// Whoever leads to `old` leads to `new` from now on.
    ///
    /// # Safety
    /// `old` is a node of this tree.
    unsafe fn replace(self, old: usize, new: usize) {
        let nodes = self.nodes;
        // SAFETY: what the caller promises.
        unsafe {
            if self.root() == old {
                return nodes.set(self.head, PARENT, new);
            }
            let parent = nodes.get(old, PARENT);
            let side = match nodes.get(parent, LEFT) == old {
                true => LEFT,
                false => RIGHT,
            };
            nodes.set(parent, side, new);
        }
    }

    /// Moves a node down to one side; its child on the other side comes up.
    ///
    /// # Safety
    /// `node` is a node of this tree, with such a child.
    unsafe fn rotate(self, node: usize, side: usize) {
        let nodes = self.nodes;
        // SAFETY: what the caller promises.
        unsafe {
            let child = nodes.get(node, opposite(side));
            let inner = nodes.get(child, side);
            nodes.set(node, opposite(side), inner);
            if inner != 0 {
                nodes.set(inner, PARENT, node);
            }
            nodes.set(child, PARENT, nodes.get(node, PARENT));
            self.replace(node, child);
            nodes.set(child, side, node);
            nodes.set(node, PARENT, child);
        }
    }

    /// A red node below a red one: moves that up until it is none.
    ///
    /// # Safety
    /// `node` is a node of this tree.
    unsafe fn mend_red(self, mut node: usize) {
        let nodes = self.nodes;
        let mut walk = Walk::DEEPEST;
        // SAFETY: what the caller promises.
        unsafe {
            while node != self.root() {
                walk.goes_on();
                let parent = nodes.get(node, PARENT);
                if !nodes.is(parent, RED) {
                    break;
                }
                let above = nodes.get(parent, PARENT);
                let side = match nodes.get(above, LEFT) == parent {
                    true => LEFT,
                    false => RIGHT,
                };
                let beside = nodes.get(above, opposite(side));
                if nodes.is(beside, RED) {
                    nodes.paint(parent, BLACK);
                    nodes.paint(beside, BLACK);
                    nodes.paint(above, RED);
                    node = above;
                    continue;
                }
                if nodes.get(parent, opposite(side)) == node {
                    node = parent;
                    self.rotate(node, side);
                }
                let parent = nodes.get(node, PARENT);
                nodes.paint(parent, BLACK);
                nodes.paint(above, RED);
                self.rotate(above, opposite(side));
            }
            nodes.paint(self.root(), BLACK);
        }
    }

    /// Below `parent`, where `node` is (which may be none), a black node is missing.
    ///
    /// # Safety
    /// Both are nodes of this tree, or `node` is none.
    unsafe fn mend_black(self, mut node: usize, mut parent: usize) {
        let nodes = self.nodes;
        let mut walk = Walk::DEEPEST;
        // SAFETY: what the caller promises.
        unsafe {
            while node != self.root() && nodes.is(node, BLACK) {
                walk.goes_on();
                let side = match nodes.get(parent, LEFT) == node {
                    true => LEFT,
                    false => RIGHT,
                };
                let other = opposite(side);
                let mut beside = nodes.get(parent, other);
                if nodes.is(beside, RED) {
                    nodes.paint(beside, BLACK);
                    nodes.paint(parent, RED);
                    self.rotate(parent, side);
                    beside = nodes.get(parent, other);
                }
                let (near, far) = (nodes.get(beside, side), nodes.get(beside, other));
                if nodes.is(near, BLACK) && nodes.is(far, BLACK) {
                    nodes.paint(beside, RED);
                    node = parent;
                    parent = nodes.get(parent, PARENT);
                    continue;
                }
                if nodes.is(far, BLACK) {
                    nodes.paint(near, BLACK);
                    nodes.paint(beside, RED);
                    self.rotate(beside, other);
                    beside = nodes.get(parent, other);
                }
                let colour = match nodes.is(parent, RED) {
                    true => RED,
                    false => BLACK,
                };
                nodes.paint(beside, colour);
                nodes.paint(parent, BLACK);
                match nodes.get(beside, other) {
                    0 => {}
                    far => nodes.paint(far, BLACK),
                }
                self.rotate(parent, side);
                break;
            }
            if node != 0 {
                nodes.paint(node, BLACK);
            }
        }
    }

    /// # Safety
    /// `node` is new, `parent` is where it belongs.
    unsafe fn insert(self, node: usize, parent: usize, side: usize) {
        let (nodes, head) = (self.nodes, self.head);
        // SAFETY: what the caller promises.
        unsafe {
            nodes.set(node, PARENT, parent);
            nodes.set(node, LEFT, 0);
            nodes.set(node, RIGHT, 0);
            nodes.paint(node, RED);
            let outer = parent != head && nodes.get(head, side) == parent;
            // Below the head, its left is the first node.
            nodes.set(parent, side, node);
            if parent == head {
                nodes.set(head, PARENT, node);
                nodes.set(head, RIGHT, node);
            } else if outer {
                nodes.set(head, side, node);
            }
            self.mend_red(node);
        }
    }

    /// Takes a node out of the tree.
    ///
    /// # Safety
    /// `node` is a node of this tree.
    unsafe fn erase(self, node: usize) {
        let (nodes, head) = (self.nodes, self.head);
        // SAFETY: what the caller promises.
        unsafe {
            let (left, right) = (nodes.get(node, LEFT), nodes.get(node, RIGHT));
            if left == 0 || right == 0 {
                let child = left | right;
                let parent = nodes.get(node, PARENT);
                if child != 0 {
                    nodes.set(child, PARENT, parent);
                }
                self.replace(node, child);
                for side in [LEFT, RIGHT] {
                    if nodes.get(head, side) == node {
                        let outermost = match child {
                            0 => parent,
                            _ => nodes.outermost(child, side),
                        };
                        nodes.set(head, side, outermost);
                    }
                }
                if nodes.is(node, BLACK) {
                    self.mend_black(child, parent);
                }
                return;
            }
            // The next one takes its place.
            let next = nodes.outermost(right, LEFT);
            let child = nodes.get(next, RIGHT);
            let mut parent = next;
            nodes.set(left, PARENT, next);
            nodes.set(next, LEFT, left);
            if next != right {
                parent = nodes.get(next, PARENT);
                if child != 0 {
                    nodes.set(child, PARENT, parent);
                }
                nodes.set(parent, LEFT, child);
                nodes.set(next, RIGHT, right);
                nodes.set(right, PARENT, next);
            }
            self.replace(node, next);
            nodes.set(next, PARENT, nodes.get(node, PARENT));
            let (was_red, red) = (nodes.is(next, RED), nodes.is(node, RED));
            nodes.paint(next, if red { RED } else { BLACK });
            nodes.paint(node, if was_red { RED } else { BLACK });
            if !was_red {
                self.mend_black(child, parent);
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_tree_increment(node: usize) -> usize {
    let nodes = Nodes::tree(caller!());
    let mut walk = Walk::DEEPEST;
    // SAFETY: libstdc++'s templates call it as its own, with a node of the program's.
    unsafe {
        let below = nodes.get(node, RIGHT);
        if below != 0 {
            return nodes.outermost(below, LEFT);
        }
        let (mut node, mut above) = (node, nodes.get(node, PARENT));
        while nodes.get(above, RIGHT) == node {
            walk.goes_on();
            node = above;
            above = nodes.get(above, PARENT);
        }
        // From the last node of a tree that has only its root one comes to the head like this.
        match nodes.get(node, RIGHT) == above {
            true => node,
            false => above,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_tree_decrement(node: usize) -> usize {
    let nodes = Nodes::tree(caller!());
    let mut walk = Walk::DEEPEST;
    // SAFETY: libstdc++'s templates call it as its own, with a node of the program's.
    unsafe {
        let parent = nodes.get(node, PARENT);
        // Only the head is red and its own grandparent.
        if nodes.is(node, RED) && nodes.get(parent, PARENT) == node {
            return nodes.get(node, RIGHT);
        }
        let below = nodes.get(node, LEFT);
        if below != 0 {
            return nodes.outermost(below, RIGHT);
        }
        let (mut node, mut above) = (node, parent);
        while nodes.get(above, LEFT) == node {
            walk.goes_on();
            node = above;
            above = nodes.get(above, PARENT);
        }
        above
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_tree_insert(left: bool, node: usize, parent: usize, head: usize) {
    let nodes = Nodes::tree(caller!());
    let side = if left { LEFT } else { RIGHT };
    // SAFETY: libstdc++'s templates call it as its own, with nodes of the program's.
    unsafe { Tree { nodes, head }.insert(node, parent, side) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_tree_erase(node: usize, head: usize) -> usize {
    let nodes = Nodes::tree(caller!());
    // SAFETY: libstdc++'s templates call it as its own, with nodes of the program's.
    unsafe { Tree { nodes, head }.erase(node) };
    node
}

/// Where a node of a list has its neighbours.
const NEXT: usize = 0;
const BEFORE: usize = 8;

impl Nodes {
    /// # Safety
    /// Both are nodes of the program's.
    unsafe fn join(self, first: usize, second: usize) {
        // SAFETY: what the caller promises.
        unsafe {
            self.set(first, NEXT, second);
            self.set(second, BEFORE, first);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_list_hook(node: usize, position: usize) {
    let nodes = Nodes::list(caller!());
    // SAFETY: libstdc++'s templates call it as its own, with nodes of the program's.
    unsafe {
        let before = nodes.get(position, BEFORE);
        nodes.join(before, node);
        nodes.join(node, position);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_list_unhook(node: usize) {
    let nodes = Nodes::list(caller!());
    // SAFETY: libstdc++'s templates call it as its own, with nodes of the program's.
    unsafe { nodes.join(nodes.get(node, BEFORE), nodes.get(node, NEXT)) };
}

/// Nodes from `first` up to `last`, which stays, come before `position`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_list_transfer(position: usize, first: usize, last: usize) {
    let nodes = Nodes::list(caller!());
    if position == last {
        return;
    }
    // SAFETY: libstdc++'s templates call it as its own, with nodes of the program's.
    unsafe {
        let end = nodes.get(last, BEFORE);
        nodes.join(nodes.get(first, BEFORE), last);
        nodes.join(nodes.get(position, BEFORE), first);
        nodes.join(end, position);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_list_reverse(head: usize) {
    let nodes = Nodes::list(caller!());
    let mut node = head;
    let mut walk = Walk::LONGEST;
    // SAFETY: libstdc++'s templates call it as its own, with nodes of the program's.
    unsafe {
        loop {
            walk.goes_on();
            let (next, before) = (nodes.get(node, NEXT), nodes.get(node, BEFORE));
            nodes.set(node, NEXT, before);
            nodes.set(node, BEFORE, next);
            node = next;
            if node == head {
                return;
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_list_swap(a: usize, b: usize) {
    let nodes = Nodes::list(caller!());
    // SAFETY: libstdc++'s templates call it as its own, with heads of the program's.
    unsafe {
        let of_a = (nodes.get(a, NEXT), nodes.get(a, BEFORE));
        let of_b = (nodes.get(b, NEXT), nodes.get(b, BEFORE));
        for (head, from, (first, last)) in [(a, b, of_b), (b, a, of_a)] {
            // An empty list is its head alone.
            if first == from {
                nodes.join(head, head);
            } else {
                nodes.join(head, first);
                nodes.join(last, head);
            }
        }
    }
}
