//! Commands that start themselves without bound.

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::text::Text;

const RULE: &str = "fork-bomb";

pub fn judge(_: &Text, c: &Command) -> Option<Finding> {
    if c.recursive && c.context.iter().any(|x| x == "background") {
        return Some(Finding::block(RULE, "a function that starts itself in the background never ends"));
    }
    None
}
