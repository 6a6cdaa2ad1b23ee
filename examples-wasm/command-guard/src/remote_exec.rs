//! Running text from the network.

use alloc::format;

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::text::Text;

const RULE: &str = "remote-exec";

const FETCH: [&str; 6] = ["curl", "wget", "fetch", "aria2c", "http", "https"];
const RUN: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "python", "python3", "perl", "ruby", "node", "php", "lua", "deno",
    "source",
];

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    let name = c.name.as_str();
    if RUN.contains(&name) && t.feeders(c).any(|from| FETCH.contains(&from.name.as_str())) {
        return Some(Finding::block(RULE, format!("{} would run text from the network", name)));
    }
    if FETCH.contains(&name) && runs_substituted(t, c) {
        return Some(Finding::block(RULE, format!("what {} fetches would be run", name)));
    }
    None
}

/// Whether what a command prints becomes part of a text that is run: eval "$(...)", bash <(...).
fn runs_substituted(t: &Text, c: &Command) -> bool {
    let inside = |what: &str| c.context.iter().any(|x| x == what);
    if inside("process_substitution") {
        let runs = |r: &Command| RUN.contains(&r.name.as_str()) || r.name == ".";
        return t.shell.commands.iter().any(|r| runs(r) && r.args().iter().any(|w| !w.known));
    }
    inside("substitution") && t.shell.unknown.iter().any(|u| u.what == "code" || u.what == "name")
}
