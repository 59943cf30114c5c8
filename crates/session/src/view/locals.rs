//! Names for what lies on stacks: variables and parameters of functions that are being called.

use crate::names::ProgramNames;
use landfall_native::{Activation, Naming};
use std::collections::{HashMap, HashSet};

/// Something on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OnStack {
    /// Of the call that it belongs to.
    thread: usize,
    frame: u64,
    function: String,
    /// None of what has no name: how far it is from the end of that call's stack.
    variable: Option<String>,
    path: String,
}

/// Whose a variable is: its function, the thread, and the call.
type Owner = (String, usize, u64);

/// Variables on stacks that have the same name in one execution.
#[derive(Debug, Default)]
pub(crate) struct SameNames {
    owners: HashMap<String, HashSet<Owner>>,
    /// There was too much to look at: any name may be another one's, too.
    too_many: bool,
}

impl SameNames {
    /// Words of stacks that are looked at.
    const MOST: usize = 2048;

    pub(crate) fn of(names: &ProgramNames, naming: &Naming) -> SameNames {
        let mut all = SameNames::default();
        for (at, word) in naming.activations.words().enumerate() {
            if at == Self::MOST {
                all.too_many = true;
                break;
            }
            // Two variables may share a word.
            for address in [word, word + 4] {
                let Some(found) = find(names, naming, address) else {
                    continue;
                };
                if let Some(variable) = &found.variable {
                    let owners = all.owners.entry(variable.clone()).or_default();
                    owners.insert((found.function.clone(), found.thread, found.frame));
                }
            }
        }
        all
    }

    /// As short as it can be: `x`, `f's x`, `f's x in thread 2`; with its address if the thread is in that function twice.
    fn name(&self, found: &OnStack, address: u64, is_global: impl Fn(&str) -> bool) -> String {
        let OnStack { function, path, .. } = found;
        let Some(variable) = &found.variable else {
            return format!("{function}'s stack{path}");
        };
        let others: Vec<&Owner> = { self.owners.get(variable).into_iter().flatten() }
            .filter(|owner| **owner != (function.clone(), found.thread, found.frame))
            .collect();
        if others.is_empty() && !self.too_many && !is_global(variable) {
            return format!("{variable}{path}");
        }
        let name = format!("{function}'s {variable}{path}");
        let same = || others.iter().filter(|(other, ..)| other == function);
        if same().any(|(_, thread, _)| *thread == found.thread) {
            return format!("{name} at {address:#x}");
        }
        match same().next() {
            Some(_) => format!("{name} in {}", super::schedule::column(found.thread)),
            None => name,
        }
    }
}

/// What lies at an address of a stack, if it was the same thing each time.
fn find(names: &ProgramNames, naming: &Naming, address: u64) -> Option<OnStack> {
    let mut variables: Vec<OnStack> = Vec::new();
    let mut nameless: Vec<OnStack> = Vec::new();
    for owners in naming.activations.owners(address)? {
        let variable = (owners.iter())
            .find_map(|owner| Some((owner, names.local(owner, address)?)))
            .map(|(owner, local)| OnStack {
                thread: owner.thread,
                frame: owner.frame,
                function: local.function,
                variable: Some(local.variable),
                path: local.path,
            });
        match variable {
            Some(variable) => variables.push(variable),
            None => nameless.extend(owners.iter().find_map(|owner| rest(names, owner, address))),
        }
    }
    let known = if variables.is_empty() {
        nameless
    } else {
        variables
    };
    let (first, others) = known.split_first()?;
    (others.iter().all(|other| other == first)).then(|| first.clone())
}

/// Part of a function's stack that has no name.
fn rest(names: &ProgramNames, owner: &Activation, address: u64) -> Option<OnStack> {
    let below = owner
        .frame
        .checked_sub(address)
        .filter(|&below| below > 0)?;
    Some(OnStack {
        thread: owner.thread,
        frame: owner.frame,
        function: names.function_called(owner)?,
        variable: None,
        path: format!("-{below:#x}"),
    })
}

/// What lies at an address of a stack.
pub(crate) fn name(
    names: &ProgramNames,
    naming: &Naming,
    same: &SameNames,
    address: u64,
) -> Option<String> {
    let found = find(names, naming, address)?;
    Some(same.name(&found, address, |name| names.has_variable(name)))
}
