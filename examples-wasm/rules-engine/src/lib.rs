//! The engine of rules: `belay rules build` writes an index of rules into a copy of this module. Alone it has no rules and
//! fails, so that the action is blocked.
//!
//! A rule is found by the tool, by the programs that would run, or by a piece of text that must occur; only the rules
//! found are tried. What cannot be told about a call counts for a rule that could stop it.

mod answers;
mod arguments;
mod bytes;
mod conditions;
mod facts;
mod few;
mod hosts;
mod index;
mod leaves;
mod lines;
mod masks;
mod paths;
mod programs;
mod question;
mod quoting;
mod reason;
mod scan;
mod trace;
mod wild;
mod work;

use std::collections::BTreeSet;

use belay_hook as hook;

use answers::Answers;
use conditions::{holds, Holds};
use facts::{Facts, Read};
use index::Index;

hook::export!(
    pre_plan => turn,
    pre_send => turn,
    post_receive => turn,
    pre_tool => turn,
    post_tool => turn,
    state_transition => turn,
    spawn => turn,
);

fn turn() -> hook::Result {
    let (index, header) = Index::open()?;
    let facts = Facts::default();
    let name = facts.text("/phase");
    let name = name.as_deref().unwrap_or("");
    let phase = match index.phase(&header, name) {
        Some(at) => at,
        None => return Err("the rules say nothing about this phase".into()),
    };
    if header.trace {
        return trace::turn(&index, &header, &facts, phase);
    }
    let mut answers = Answers::of(name);
    let (found, doubted) = candidates(&index, &facts, phase)?;
    for number in &found {
        let rule = index.rule(&header, *number)?;
        let verdict = applies(&index, &facts, rule)?;
        if verdict != Holds::No {
            answers.add(&index, &facts, rule, &verdict)?;
        }
    }
    // Of rules for which nothing speaks but that it cannot be told, one is enough: first of those that block then.
    let mut settled = false;
    for blocks in [true, false] {
        for number in doubted.difference(&found) {
            let rule = index.rule(&header, *number)?;
            let narrows = index.word(rule + 8)? == NARROWS;
            if (index.word(rule + 16)? == 1) != blocks || settled && !narrows {
                continue;
            }
            let verdict = applies(&index, &facts, rule)?;
            if verdict != Holds::No {
                answers.add(&index, &facts, rule, &verdict)?;
                settled = settled || !narrows && !QUIET.contains(&index.word(rule + 8)?);
            }
        }
    }
    answers.give()
}

/// Answers that narrow scopes, and those that do nothing where it cannot be told whether a rule applies.
const NARROWS: u32 = 11;
const QUIET: [u32; 2] = [3, 9];

/// The rules that may apply, in the order of their names, and those that may only because something cannot be told.
fn candidates(index: &Index, facts: &Facts, phase: usize) -> Read<(BTreeSet<usize>, BTreeSet<usize>)> {
    let mut doubted = BTreeSet::new();
    let mut found: BTreeSet<usize> = index.list(index.size(phase + 4)?)?.collect();
    let tools = index.size(phase + 8)?;
    if tools != 0 {
        for tool in facts.tools()?.iter() {
            if let Some(list) = index.find(tools, tool)? {
                found.extend(index.list(list)?);
            }
        }
    }
    let programs = index.size(phase + 12)?;
    if programs != 0 {
        let commands = facts.commands()?;
        for c in &commands.list {
            if let Some(list) = index.find(programs, &c.name)? {
                found.extend(index.list(list)?);
            }
            // Rules about a subcommand stand under each word that it may be.
            let all = match index.find(programs, &format!("{}\0", c.name))? {
                Some(all) => all,
                None => continue,
            };
            let words = || c.args().iter().filter(|w| !w.text.starts_with('-'));
            if c.args_open || words().any(|w| !w.known) || words().count() > WORDS {
                found.extend(index.list(all)?);
                continue;
            }
            for w in words() {
                if let Some(list) = index.find(programs, &format!("{} {}", c.name, w.text))? {
                    found.extend(index.list(list)?);
                }
            }
        }
        if commands.doubt.is_some() {
            doubted.extend(index.list(index.size(phase + 16)?)?);
        }
    }
    for i in 0..index.size(phase + 20)? {
        let source = phase + 24 + 24 * i;
        let (table, bloom) = (index.size(source + 12)?, index.size(source + 16)?);
        let mut lists = BTreeSet::new();
        let doubt;
        match index.word(source)? {
            1 => {
                let paths = facts.paths()?;
                doubt = paths.doubt.is_some() || paths.list.iter().any(|p| p.glob);
                for key in paths.list.iter().flat_map(|p| &p.keys) {
                    facts.work.take(WINDOW * key.len());
                    index.windows(table, bloom, key.as_bytes(), |list| drop(lists.insert(list)))?;
                }
            }
            2 => {
                let hosts = facts.hosts()?;
                doubt = hosts.doubt.is_some();
                for host in &hosts.list {
                    facts.work.take(WINDOW * host.len());
                    index.windows(table, bloom, host.as_bytes(), |list| drop(lists.insert(list)))?;
                }
            }
            3 => {
                let leaves = facts.leaves(index.text(source + 4)?);
                doubt = leaves.doubt.is_some();
                for leaf in &leaves.list {
                    facts.work.take(WINDOW * leaf.text.len());
                    index.windows(table, bloom, leaf.text.as_bytes(), |list| drop(lists.insert(list)))?;
                }
            }
            _ => return Err("the index of the rules has a source that this engine does not know".into()),
        }
        for list in lists {
            found.extend(index.list(list)?);
        }
        if doubt {
            doubted.extend(index.list(index.size(source + 20)?)?);
        }
    }
    Ok((found, doubted))
}

const WORDS: usize = 16; // of a command, that are looked up
const WINDOW: usize = 25; // fuel of a byte that is looked up

/// Whether a rule applies: every condition of when holds, and not every one of unless.
fn applies(index: &Index, facts: &Facts, rule: usize) -> Read<Holds> {
    facts.met.take();
    let mut maybe = None;
    let (mut unless, mut excluded) = (false, true);
    for i in 0..index.size(rule + 20)? {
        let at = index.size(rule + 24 + 4 * i)?;
        if index.word(at)? >> 16 == 1 {
            unless = true;
            // What cannot be told does not exempt.
            excluded = excluded && holds(index, facts, at)? == Holds::Yes;
            continue;
        }
        match holds(index, facts, at)? {
            Holds::No => return Ok(Holds::No),
            Holds::Maybe(why) => drop(maybe.get_or_insert(why)),
            Holds::Yes => {}
        }
    }
    if unless && excluded {
        return Ok(Holds::No);
    }
    Ok(maybe.map_or(Holds::Yes, Holds::Maybe))
}
