//! Turns what a check found into a patch: a C or C++ source file and a place in, edits out.
//!
//! Nothing here reads a file, runs a compiler or knows whether a patch helps: every [`Candidate`] is a proposal, best first,
//! and whoever asks has to try it. Sources are read by tree-sitter, so macros stay as they are written, comments and layout
//! are kept, and a file the grammar does not fully understand can still be repaired in the parts it does.

mod address;
mod atomic;
mod calls;
mod edit;
mod idiom;
mod loops;
mod macros;
mod order;
mod path;
mod remove;
mod reset;
mod seen;
mod site;
mod snapshot;
mod source;
mod store;
mod wrappers;

pub use edit::{Edit, apply, line_origins, unified_diff};
pub use path::{MemberPath, StoresOfFile};
pub use source::{Place, SourceLanguage, Unit};

use idiom::{FlushNeed, Idiom};
use site::InsertionSite;
use source::ParsedSource;
use store::FoundStore;
use thiserror::Error;

/// What is wrong, and so what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WantedRepair {
    /// These stores have to be durable before another one (a place in the same file, where it is known).
    Durable {
        stores: Vec<StoredBytes>,
        before: Option<Place>,
    },
    /// What is read at this place another thread may not have flushed yet: it has to be durable before the reader goes on.
    Seen { read: Place, bytes: u64 },
    /// The write-back is under way, or needs none: a fence is to follow what is at this place.
    Fence { after: Place, before: Option<Place> },
    /// A call that does nothing useful.
    Without { call: Place, wasted: WastedCall },
    /// A store the compiler may tear.
    Atomic { store: Place },
    /// All is flushed, but what this store announces is not there yet.
    Later { store: Place },
    /// These stores are made in a transaction that does not answer for them: they are to be added before they are made.
    Snapshot { stores: Vec<Place> },
    /// The program waits for a lock whose holder is gone: the place, and the calls that led there, innermost first.
    Reset { stack: Vec<Place> },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredBytes {
    pub at: Place,
    /// As many bytes as were stored, if that is known; 0 if not.
    pub bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WastedCall {
    Flush,
    Fence,
}

/// One way to repair it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// In a few words: `flush and fence after the store`.
    pub what: String,
    pub edits: Vec<Edit>,
}

/// Why there is no patch. Each is a sentence that fits behind `FILE:LINE: `.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NoRepair {
    #[error("the file has no such line: it changed since the check")]
    NoSuchLine,
    #[error("no store is written here that could be understood{}; insert the flush by hand", .0)]
    NoStore(String),
    #[error(
        "the store is inside `{0}`, whose definition is not in this file or its headers; insert the flush by hand"
    )]
    UnknownCall(String),
    #[error("`{0}` stores to several places; insert the flush by hand")]
    ManyStores(String),
    #[error("this statement cannot be read without its macros; insert the flush by hand")]
    Garbled,
    #[error("no statement fits in here; split the expression, or insert the flush by hand")]
    NoRoom,
    #[error("nothing is read here that could be named; flush what the other thread stored by hand")]
    NoRead,
    #[error("what is stored to cannot be named after the store ({0}); insert the flush by hand")]
    NoAddress(String),
    #[error(
        "the file flushes nothing, so its way of doing it is unknown; say how: --template 'flush({{addr}}, {{size}}); fence()'"
    )]
    NoIdiom,
    #[error(
        "the file adds nothing to transactions, so its way of doing it is unknown; add what is stored by hand"
    )]
    NoAdding,
    #[error("no flush or fence is called here that could be removed")]
    NoCall,
    #[error("the declaration of `{0}` is not in this file; make it atomic by hand")]
    NoDeclaration(String),
    #[error("the store cannot be written as an atomic one ({0})")]
    NotAtomic(String),
    #[error("no step of the program follows it in its block that could come first")]
    NoOrder,
    #[error("what the program waits for cannot be named where it starts; reset it there by hand")]
    NoLock,
    #[error("the template lacks {0}: it reads like 'flush({{addr}}, {{size}}); fence()'")]
    Template(&'static str),
}

/// Ways to repair it, best first; never empty.
pub fn candidates(
    unit: &Unit<'_>,
    wanted: &WantedRepair,
    template: Option<&str>,
) -> Result<Vec<Candidate>, NoRepair> {
    let source = ParsedSource::read(unit);
    let mut found = match wanted {
        WantedRepair::Durable { stores, before } => durable(&source, stores, *before, template)?,
        WantedRepair::Seen { read, bytes } => seen::candidates(&source, *read, *bytes, template)?,
        WantedRepair::Fence { after, before } => fence(&source, *after, *before, template)?,
        WantedRepair::Without { call, wasted } => remove::candidates(&source, *call, *wasted)?,
        WantedRepair::Atomic { store } => atomic::candidates(&source, *store)?,
        WantedRepair::Later { store } => order::candidates(&source, *store)?,
        WantedRepair::Snapshot { stores } => snapshot::candidates(&source, stores)?,
        WantedRepair::Reset { stack } => reset::candidates(&source, stack)?,
    };
    // Two ways to the same text are one.
    let mut seen: Vec<Option<String>> = Vec::new();
    found.retain(|candidate| {
        let text = apply(unit.text, &candidate.edits);
        let new = text.is_some() && !seen.contains(&text);
        seen.push(text);
        new
    });
    Ok(found)
}

/// The lines that add these stores to their transaction, in the words of the file, each with the place that it belongs before.
pub fn snapshot_lines(unit: &Unit<'_>, stores: &[Place]) -> Vec<(Place, String)> {
    snapshot::advice(&ParsedSource::read(unit), stores)
}

/// What makes a store durable, if the file does that with PMDK's own calls: `pmemobj_persist(pop, …)`.
pub fn pmdk_line(unit: &Unit<'_>, store: &StoredBytes) -> Option<String> {
    // It is a call that the file makes, or that a header is included for.
    if !unit.text.contains("pmem") {
        return None;
    }
    let source = ParsedSource::read(unit);
    let store = store::find(&source, store.at, store.bytes).ok()?;
    let idioms = Idiom::ranked(&source, store.node, None).ok()?;
    let best = idioms.iter().find(|idiom| idiom.fits(&store.target))?;
    let code = best.code(&source, &store.target, FlushNeed::Both);
    let code = Some(code.on_one_line()).filter(|_| best.is_pmdk() && !store.streamed)?;
    Some(code.trim_end_matches(';').to_owned())
}

fn durable(
    source: &ParsedSource<'_>,
    stores: &[StoredBytes],
    before: Option<Place>,
    template: Option<&str>,
) -> Result<Vec<Candidate>, NoRepair> {
    let mut found: Vec<FoundStore<'_>> = Vec::new();
    for stored in stores {
        let store = store::find(source, stored.at, stored.bytes)?;
        if found.iter().all(|known| known.node != store.node) {
            found.push(store);
        }
    }
    found.sort_by_key(|store| store.node.start_byte());
    let Some(last) = found.last() else {
        return Err(NoRepair::NoStore(String::new()));
    };
    let kept = before.and_then(|at| store::find(source, at, 0).ok());
    let idioms = Idiom::ranked(source, last.node, template)?;
    let mut candidates = Vec::new();
    for idiom in idioms.iter().filter(|idiom| idiom.fits(&last.target)) {
        // All of them share a line of memory and are overtaken by the same store: one flush after the last may do.
        candidates.extend(for_one(source, last, kept.as_ref(), idiom));
        if found.len() > 1 {
            let all = found
                .iter()
                .map(|store| for_one(source, store, None, idiom).into_iter().next_back());
            if let Some(all) = all.collect::<Option<Vec<Candidate>>>() {
                candidates.push(Candidate {
                    what: "flush and fence after each of the stores".to_owned(),
                    edits: all.into_iter().flat_map(|c| c.edits).collect(),
                });
            }
        }
    }
    match candidates.is_empty() {
        true => Err(NoRepair::NoRoom),
        false => Ok(candidates),
    }
}

fn for_one(
    source: &ParsedSource<'_>,
    store: &FoundStore<'_>,
    kept: Option<&FoundStore<'_>>,
    idiom: &Idiom,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut add = |what: &str, edits: Option<Vec<Edit>>| {
        candidates.extend(edits.map(|edits| Candidate {
            what: what.to_owned(),
            edits,
        }));
    };
    let need = match store.streamed {
        true => FlushNeed::Fence,
        false => FlushNeed::Both,
    };
    let way = match need {
        FlushNeed::Both => "flush and fence",
        FlushNeed::Fence => "fence",
    };
    for (site, target) in loops::after_loops(source, store) {
        let code = idiom.code(source, &target, need);
        add(
            &format!("{way} once, after the loop"),
            site.insert(source, &code),
        );
    }
    let code = idiom.code(source, &store.target, need);
    // The same statement holds both stores: only a comma fits in between.
    let shared =
        kept.is_some_and(|kept| source.statement_of(kept.node) == source.statement_of(store.node));
    if !shared {
        let site = InsertionSite::after(source, store);
        add(
            &format!("{way} after the store"),
            site.and_then(|s| s.insert(source, &code)),
        );
    }
    add(
        &format!("{way} right behind the store"),
        site::comma(source, store, &code),
    );
    if let Some(kept) = kept.filter(|_| !shared)
        && let Some(site) = InsertionSite::before(source, store, kept)
    {
        add(
            &format!("{way} before the later store"),
            site.insert(source, &code),
        );
    }
    candidates
}

fn fence(
    source: &ParsedSource<'_>,
    after: Place,
    before: Option<Place>,
    template: Option<&str>,
) -> Result<Vec<Candidate>, NoRepair> {
    let node = source.node_at(after).ok_or(NoRepair::NoSuchLine)?;
    let statement = source
        .statement_of(node)
        .ok_or_else(|| NoRepair::NoStore(String::new()))?;
    let mut candidates = Vec::new();
    for idiom in Idiom::ranked(source, statement, template)? {
        let Some(code) = idiom.fence() else {
            continue;
        };
        let mut add = |what: &str, site: Option<InsertionSite<'_>>| {
            let edits = site.and_then(|site| site.insert(source, &code));
            candidates.extend(edits.map(|edits| Candidate {
                what: what.to_owned(),
                edits,
            }));
        };
        if let Some(site) = loops::around(source, statement) {
            add("fence once, after the loop", Some(site));
        }
        add("fence after it", InsertionSite::behind(source, statement));
        let kept = before.and_then(|at| store::find(source, at, 0).ok());
        let kept = kept.and_then(|kept| source.statement_of(kept.node));
        add(
            "fence before the later store",
            kept.and_then(|kept| InsertionSite::in_front(source, kept)),
        );
    }
    match candidates.is_empty() {
        true => Err(NoRepair::NoIdiom),
        false => Ok(candidates),
    }
}
