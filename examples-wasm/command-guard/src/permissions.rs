//! Opening, closing or giving away system trees.

use alloc::format;

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::places::wide;
use crate::text::Text;

const RULE: &str = "permissions";

pub fn judge(_: &Text, c: &Command) -> Option<Finding> {
    if !["chmod", "chown", "chgrp"].contains(&c.name.as_str()) || !c.has_flag('R', &["recursive"]) {
        return None;
    }
    let targets = c.args().iter().filter(|w| !w.text.starts_with('-')).skip(1);
    let place = targets.into_iter().find(|w| wide(c, w))?;
    Some(Finding::block(RULE, format!("{} would change the rights of {}", c.name, place.text)))
}
