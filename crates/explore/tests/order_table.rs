//! The rules of x86 that the schedule search has built in are those of the ordering table.

use landfall_explore::schedule::{Act, Process, Queued, Step};
use landfall_model::order::{OpKind, OrderTable};

const COMPANION: Process = 1;
const STREAMS: Process = 2;

/// What a store buffer keeps of an instruction of this kind, to this line; none if it keeps nothing.
fn queued(kind: OpKind, line: u32) -> Option<Queued> {
    let (process, line) = match kind {
        OpKind::Write | OpKind::Flush => (COMPANION, Some(line)),
        OpKind::Sfence => (COMPANION, None),
        // A stream for each line.
        OpKind::NtWrite => (STREAMS + line as Process, Some(line)),
        OpKind::Read | OpKind::Rmw | OpKind::Mfence | OpKind::FlushOpt => return None,
    };
    Some(Queued {
        commit: (process, 1),
        line,
        visible: true,
    })
}

#[test]
fn store_buffers_keep_the_order_of_the_table() {
    let mut pairs = 0;
    for earlier in OpKind::ALL {
        for later in OpKind::ALL {
            for same_line in [false, true] {
                let first = queued(earlier, 0);
                let second = queued(later, u32::from(!same_line));
                if let (Some(first), Some(second)) = (first, second) {
                    let kept = OrderTable::PX86.ordered(earlier, later, same_line);
                    assert_eq!(second.waits_for(&first), kept, "{earlier}, {later}");
                    pairs += 1;
                }
            }
        }
    }
    assert_eq!(pairs, 4 * 4 * 2);
}

/// Those that make something durable are `clflush` and what drains.
#[test]
fn what_guarantees_durability_is_what_the_table_lets_drain() {
    let acts = [
        (Act::Load, OpKind::Read),
        (Act::Store, OpKind::Write),
        (Act::Commit, OpKind::Write),
        (Act::Rmw, OpKind::Rmw),
        (Act::Cas, OpKind::Rmw),
        (Act::Flush, OpKind::Flush),
        (Act::Fence, OpKind::Mfence),
        (Act::Fence, OpKind::Sfence),
    ];
    for (act, kind) in acts {
        let step = Step {
            act,
            ..Step::NOTHING
        };
        let expected = kind.drains() || kind == OpKind::Flush;
        assert_eq!(step.guarantees(), expected, "{act:?}");
    }
}
