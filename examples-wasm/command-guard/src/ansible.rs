//! The module `file` of ansible, which makes, changes and removes files without a shell.

use alloc::string::{String, ToString};

use crate::args::values;
use crate::hook::analysis::Command;

/// What it is told to do to a file.
pub struct File {
    pub path: String,
    pub absent: bool,
    pub mode: String,
    pub owner: String,
    pub recursive: bool,
}

/// The file that an ad-hoc command of ansible is about.
pub fn file(c: &Command) -> Option<File> {
    let module = values(c, &["-m", "--module-name"]);
    let known = module.last().map_or(false, |m| matches!(m.rsplit('.').next(), Some("file" | "copy" | "template" | "lineinfile" | "blockinfile")));
    let args = values(c, &["-a", "--args"]);
    let args = args.last().filter(|_| known)?;
    let value = |names: &[&str]| -> String {
        args.split_whitespace().filter_map(|p| p.split_once('=')).find(|(n, _)| names.contains(n)).map_or("", |(_, v)| v.trim_matches(&['"', '\''][..])).to_string()
    };
    Some(File {
        path: value(&["path", "dest", "name"]),
        absent: value(&["state"]) == "absent",
        mode: value(&["mode"]),
        owner: value(&["owner"]),
        recursive: matches!(value(&["recurse"]).as_str(), "yes" | "true"),
    })
}
