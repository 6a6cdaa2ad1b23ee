//! Reading, copying and sending files with keys and credentials, and printing secrets out of the stores that keep them.
//!
//! The crate protected-files knows the files and what opens them; path-guard, which follows links, is built with it, too.

use alloc::format;

use protected_files::rules::{Rules, GROUPS};
use protected_files::{commands, spelling, stores};

use crate::code;
use crate::finding::Finding;
use crate::text::{shown, Text};

const RULE: &str = "secret-read";

pub fn whole(t: &Text) -> Option<Finding> {
    for c in &t.shell.commands {
        if let Some(what) = stores::prints(c) {
            return Some(Finding::block(RULE, format!("{} would show a secret of {}", c.name, what)));
        }
    }
    let mut names = commands::names_but(t.shell, code::reads);
    // They use a key without showing it, or hand on a command that is judged by itself.
    names.retain(|n| !matches!(n.by.as_str(), "keychain" | "su" | "runuser" | "sg"));
    if names.is_empty() {
        return None;
    }
    let groups = GROUPS.iter().map(|g| (*g).into()).collect();
    let rules = Rules { groups, protected: [].into(), allowed: [].into() };
    let hit = spelling::first(&rules, &names)?;
    Some(Finding::block(RULE, format!("{} would open {}, which is protected ({})", shown(&hit.by), code::printable(&hit.text), hit.group)))
}
