//! Functions of shared libraries, as the program calls them. What they do to memory is done by code that nobody instrumented; while
//! several threads are alive it is seen here, where the call leaves the executable.
//!
//! - `imports`: each entry of the executable's tables for functions of libraries is led through here, once per server
//! - `effects`: what known functions read and write, as data
//! - `crossing`: performs a call: known reads and writes are accesses of the calling thread at the place of the call, memory that is
//!   handed to an unknown function is noted
//!
//! Invariants: nothing happens while there is one thread only, or inside a library's own calls. Functions that the runtime provides
//! itself (`libc`) are in the executable and never come here; so is what the program defines itself.

pub(crate) mod crossing;
pub(crate) mod effects;
pub(crate) mod imports;
