//! Programs that switch the machine off.

use alloc::format;

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::text::Text;

const RULE: &str = "power";

const STOP: [&str; 4] = ["shutdown", "reboot", "halt", "poweroff"];

pub fn judge(_: &Text, c: &Command) -> Option<Finding> {
    // -c takes back what was planned.
    let cancels = c.name == "shutdown" && c.args().iter().any(|w| w.text == "-c");
    if STOP.contains(&c.name.as_str()) && !cancels {
        return Some(Finding::block(RULE, format!("{} is not for agents", c.name)));
    }
    None
}
