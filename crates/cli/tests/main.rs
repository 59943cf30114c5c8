//! The command, from outside: every test here starts `landfall`, or reads what it leaves.
//!
//! One program for all of them: linking costs more than compiling. `cargo nextest run -p landfall-cli NAME::` runs one file.

#![allow(missing_docs)]

mod behaviour;
mod browser;
mod cc;
mod certificates;
mod clock;
mod draws;
mod examples;
mod explain;
mod fix;
mod foreign;
mod forks;
mod frames;
mod judge;
mod killed;
mod manual;
mod meets;
mod nets;
mod nets_litmus;
mod options;
mod pages;
mod pmdk;
mod pool_states;
mod prove;
mod prove_lifetimes;
mod prove_mutations;
mod prove_random;
mod replay;
mod report;
mod run;
mod schema;
mod servers;
mod sessions;
mod stacks;
mod strings;
mod terminal;
mod threads;
