//! Starting a server process on fresh shared memory, and looking at it from outside.

use crate::error::SubjectError;
use crate::input::Input;
use crate::job::Isolation;
use crate::memory_file::memory_file;
use crate::program::{HeapChecks, MallocMetadata, Program};
use crate::shared::SharedMapping;
use crate::spawn::spawn;
use landfall_vocab::shared::{isolation, option};
use std::os::unix::ffi::OsStrExt;
use std::process::Child;

/// Shared memory with the program's settings in it.
pub(crate) fn prepare(program: &Program) -> Result<SharedMapping, SubjectError> {
    let mut shared = SharedMapping::new().map_err(SubjectError::Shared)?;
    let directory = program
        .pm_dir
        .as_ref()
        .and_then(|directory| directory.canonicalize().ok());
    let client = program.client.as_ref().map(|script| &script.code[..]);
    shared.set_client(client.unwrap_or_default());
    if let Some(script) = &program.client {
        shared.set_replies(script.conversation().replies());
    }
    shared.configure(|control| {
        control.client_len = client.map_or(0, |code| code.len() as u64);
        control.seed = program.seed;
        control.stdin_len = program.stdin.as_ref().map_or(0, Input::length);
        control.heap_offset = u64::from(program.heap_offset);
        control.options = match program.pm_heap {
            None => 0,
            Some(MallocMetadata::Modelled) => option::PM_HEAP,
            Some(MallocMetadata::Durable) => option::PM_HEAP | option::PM_HEAP_DURABLE_META,
        };
        if program.heap == HeapChecks::On {
            control.options |= option::HEAP;
        }
        control.options |= program.fresh.options();
        if program.sv_comp {
            control.options |= option::SV_COMP;
        }
        control.isolation = match program.isolation {
            Isolation::Fork => isolation::FORK,
            Isolation::Restart => isolation::RESTART,
            Isolation::Auto => isolation::AUTO,
        }
        .into();
        if let Some(directory) = &directory {
            let bytes = directory.as_os_str().as_bytes();
            let length = bytes.len().min(control.pm_dir.len());
            control.pm_dir[..length].copy_from_slice(&bytes[..length]);
            control.pm_dir_len = length as u64;
        }
    });
    Ok(shared)
}

pub(crate) fn launch(
    program: &Program,
) -> Result<(SharedMapping, Child, std::fs::File), SubjectError> {
    let shared = prepare(program)?;
    let errors = memory_file(c"landfall-errors").map_err(SubjectError::Shared)?;
    let for_child = errors.try_clone().map_err(SubjectError::Shared)?;
    let child = spawn(program, shared.fd(), for_child).map_err(|cause| SubjectError::Start {
        program: program.path.display().to_string(),
        cause,
    })?;
    Ok((shared, child, errors))
}
