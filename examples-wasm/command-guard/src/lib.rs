//! Stops commands that destroy what cannot be brought back, open the machine to others, or show what is secret, and asks
//! where it cannot be told what a command would do.
//!
//! It judges the commands that the host says would run, with resolved words, never the text: quotes, variables,
//! wrappers and substitutions do not hide anything, and a mention in a string is no command. Each rule is a module;
//! `lines` has all of them judge one text, and `options` says what their findings lead to.

extern crate alloc;

mod ansible;
mod args;
mod backdoor;
mod code;
mod disguised;
mod disk;
mod docker_wipe;
mod fetch;
mod find;
mod finding;
mod fork_bomb;
mod fs_destroy;
mod getopt;
mod git;
mod git_bypass;
mod lines;
mod listed;
mod modes;
mod optin;
mod options;
mod origin;
mod permissions;
mod places;
mod power;
mod remote_exec;
mod removal;
mod salt;
mod setup;
mod secret_read;
mod system_file;
mod text;
mod unknown;
mod writes;

use alloc::string::String;
use alloc::vec::Vec;

use belay_hook as hook;
use hook::{analysis, input};

use finding::Finding;
use options::{Answer, Options};

hook::turn_allocator!();
hook::export!(pre_tool => pre_tool);

fn pre_tool() -> hook::Result {
    let found = match analysis::input_lines() {
        Some(found) => found,
        // A tool that runs commands, and none to be seen: not something to wave through.
        None if input::text("/tool").as_deref() == Some("exec") => {
            hook::block("the call runs a command, but not in a form that can be judged (unreadable)");
            return Ok(());
        }
        None => return Ok(()),
    };
    if found.more {
        hook::block("the call runs more than can be judged (unreadable)");
        return Ok(());
    }
    let options = Options::read();
    let mut findings = Vec::new();
    for line in &found.lines {
        findings.extend(lines::judge(&options, line)?);
    }
    if found.foreign {
        let what = "the tool runs code of another language, and what that does cannot be told beforehand";
        findings.push(Finding::ask("unknown", what));
    }
    match combined(&options, &findings) {
        Some((Answer::Block, reason)) => hook::block(&reason),
        Some((Answer::Ask, reason)) => hook::request_approval(&reason, None),
        _ => {}
    }
    Ok(())
}

/// The most reasons of one question.
const REASONS: usize = 4;

/// One answer for all findings: the first that blocks, or one question with the reasons to ask.
fn combined(options: &Options, findings: &[Finding]) -> Option<(Answer, String)> {
    if let Some(f) = findings.iter().find(|f| options.answer(f) == Answer::Block) {
        return Some((Answer::Block, f.reason()));
    }
    let mut reasons: Vec<String> = Vec::new();
    for f in findings.iter().filter(|f| options.answer(f) == Answer::Ask) {
        let reason = f.reason();
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let more = reasons.len().saturating_sub(REASONS);
    reasons.truncate(REASONS);
    if more > 0 {
        reasons.push(alloc::format!("and {} more", more));
    }
    if reasons.is_empty() {
        return None;
    }
    Some((Answer::Ask, reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer() {
        let o = Options::default();
        let ask = |what: &str| Finding::ask("unknown", what);
        assert_eq!(combined(&o, &[]), None);
        assert_eq!(combined(&o, &[ask("a"), ask("a"), ask("b")]), Some((Answer::Ask, "a (unknown); b (unknown)".into())));
        let many: Vec<Finding> = "abcdef".chars().map(|c| ask(&String::from(c))).collect();
        assert!(combined(&o, &many).unwrap().1.ends_with("d (unknown); and 2 more"));
        let both = [ask("a"), Finding::block("disk", "b")];
        assert_eq!(combined(&o, &both), Some((Answer::Block, "b (disk)".into())));
    }
}
