//! Which files hold keys and credentials, and which of them a command line would open.
//!
//! Hooks that keep such files from an agent share this: the rules for paths ([`rules`]), what programs do with the
//! files that they name ([`commands`]), what a text of another language reads ([`strings`]), and commands that print a
//! secret without naming a file ([`stores`]). It is no hook: it has no manifest, and decides nothing.

pub mod commands;
mod glob;
pub mod names;
mod programs;
pub mod resolve;
pub mod rules;
pub mod search;
pub mod spelling;
pub mod stores;
pub mod strings;
