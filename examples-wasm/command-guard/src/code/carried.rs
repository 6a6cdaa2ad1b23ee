//! Command lines that stand in the arguments of programs that are no wrappers.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::hook::analysis::Command;

/// Command lines that stand in the arguments of other programs.
pub fn carried(c: &Command) -> Vec<String> {
    let args = || c.args().iter().map(|w| w.text.as_str());
    let after = |flags: &[&str]| -> Vec<String> {
        let mut out: Vec<String> = c
            .args()
            .windows(2)
            .filter(|w| flags.contains(&w[0].text.as_str()))
            .map(|w| w[1].text.clone())
            .collect();
        out.extend(args().filter_map(|a| a.split_once('=')).filter(|(f, _)| flags.contains(f)).map(|(_, v)| v.to_string()));
        out
    };
    match c.name.as_str() {
        "npm" | "npx" | "pnpm" | "yarn" | "bunx" => after(&["-c", "--call"]),
        "git" => after(&["-c", "--config"])
            .iter()
            .filter_map(|v| v.split_once('='))
            .map(|(_, v)| v.trim_start_matches('!').to_string())
            .collect(),
        "vi" | "vim" | "nvim" | "view" | "ex" | "gdb" | "lldb" => args()
            .filter_map(|a| a.split_once('!').or_else(|| a.split_once("shell ")))
            .map(|(_, v)| v.to_string())
            .collect(),
        "make" | "gmake" | "just" => c
            .redirects
            .iter()
            .filter(|r| r.op.starts_with("<<"))
            .flat_map(|r| r.target.text.lines())
            .map(|l| l.trim_start_matches(&['\t', ' ', '@', '-'][..]).to_string())
            .collect(),
        "tar" => after(&["--to-command", "--checkpoint-action", "--use-compress-program", "-I"])
            .into_iter()
            .map(|v| v.trim_start_matches("exec=").to_string())
            .collect(),
        _ => Vec::new(),
    }
}
