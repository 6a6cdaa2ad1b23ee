//! A text of commands as the host read it, and what several rules ask about it.

use crate::hook::analysis::{Command, Program, Shell};

/// One text of commands.
pub struct Text<'a> {
    /// The text as written.
    pub source: &'a str,
    /// The commands that would run.
    pub shell: &'a Shell,
    /// The programs of other languages that would run.
    pub programs: &'a [Program],
}

impl<'a> Text<'a> {
    /// The commands whose output a command reads, the nearest first, through filters.
    pub fn feeders<'b>(&'b self, c: &Command) -> impl Iterator<Item = &'a Command> + 'b {
        let mut at = c.stdin_from;
        let mut left = self.shell.commands.len();
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let from = self.shell.commands.get(at?)?;
            at = from.stdin_from;
            Some(from)
        })
    }

    /// The commands that a wrapper runs.
    pub fn handed<'b>(&'b self, c: &'b Command) -> impl Iterator<Item = &'a Command> + 'b {
        let commands = &self.shell.commands;
        let mine = move |o: &&'a Command| o.parent.and_then(|p| commands.get(p)).map_or(false, |p| core::ptr::eq(p, c));
        commands.iter().filter(mine)
    }

    /// The wrappers that run a command, the innermost first.
    pub fn ancestors<'b>(&'b self, c: &Command) -> impl Iterator<Item = &'a Command> + 'b {
        let mut at = c.parent;
        let mut left = self.shell.commands.len();
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let outer = self.shell.commands.get(at?)?;
            at = outer.parent;
            Some(outer)
        })
    }
}

/// A program's name for a message.
pub fn shown(name: &str) -> &str {
    if matches!(name, "" | ":" | "." | "[") {
        "the command"
    } else {
        name
    }
}
