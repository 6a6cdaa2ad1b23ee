//! What cannot be told before the command runs.

use alloc::format;

use crate::finding::Finding;
use crate::text::Text;

const RULE: &str = "unknown";

pub fn judge(t: &Text) -> Option<Finding> {
    let shell = t.shell;
    if let Some(u) = shell.unknown.first() {
        return Some(Finding::ask(RULE, format!("what this would run cannot be told beforehand: {}", u.raw)));
    }
    shell.commands.iter().find_map(|c| {
        if c.name.is_empty() {
            Some(Finding::ask(RULE, format!("which program this runs cannot be told beforehand: {}", c.raw)))
        } else {
            None
        }
    })
}
