//! How git reads its command line.

use alloc::vec::Vec;

use crate::hook::analysis::{Command, Word};

/// A git command: its verb, what stands behind it, and the settings in front of it.
pub struct Git<'a> {
    pub verb: &'a str,
    pub args: &'a [Word],
    /// NAME=VALUE of -c, and NAME=VARIABLE of --config-env.
    pub settings: Vec<(&'a str, bool)>,
}

impl<'a> Git<'a> {
    pub fn of(c: &'a Command) -> Option<Git<'a>> {
        if !matches!(c.name.as_str(), "git" | "git.exe" | "hub" | "yadm" | "dotfiles" | "tg") {
            return None;
        }
        let words = c.args();
        let mut settings = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            if !text.starts_with('-') {
                return Some(Git { verb: text, args: &words[at + 1..], settings });
            }
            let value = words.get(at + 1).map_or("", |w| w.text.as_str());
            match text {
                "-c" => settings.push((value, false)),
                "--config-env" => settings.push((value, true)),
                _ if text.starts_with("--config-env=") => settings.push((&text[13..], true)),
                _ if text.starts_with("-c") && text.len() > 2 && !text.starts_with("--") => settings.push((&text[2..], false)),
                _ => {}
            }
            let takes = matches!(
                text,
                "-c" | "-C" | "--config-env" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--super-prefix" | "--attr-source"
            );
            at += if takes { 2 } else { 1 };
        }
        Some(Git { verb: "", args: &[], settings })
    }
}
