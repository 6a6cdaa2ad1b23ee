//! Names of files, as an action has them.

use std::collections::BTreeSet;

use crate::rules::Look;

/// A name in an action, and how it is meant.
#[derive(Clone)]
pub struct Name {
    pub text: String,
    /// The directory that it is relative to, where the action says that.
    pub cwd: Option<String>,
    pub look: Look,
    /// The program or tool that would get it.
    pub by: String,
}

impl Name {
    /// Stands for the names that a list has no room for: what they mean cannot be told.
    pub fn more(by: &str) -> Name {
        let look = Look { glob: false, command: false, tree: false, wide: false };
        Name { text: MORE.into(), cwd: None, look, by: by.into() }
    }
}

/// The names, each once for each way in which it is meant: commands in a pipe hand the same names on and on.
pub fn once(names: &[Name]) -> Vec<&Name> {
    let mut seen = BTreeSet::new();
    names.iter().filter(|n| seen.insert((n.text.as_str(), n.cwd.as_deref(), n.look))).collect()
}

/// No file has this name.
pub const MORE: &str = "\0more";

/// A name that means a protected file.
pub struct Hit {
    pub text: String,
    pub group: &'static str,
    pub by: String,
}
