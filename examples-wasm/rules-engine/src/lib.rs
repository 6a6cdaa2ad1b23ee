//! The engine of rules: `belay rules build` writes an index of rules into a copy of this module. Alone it has no rules and
//! fails, so that the action is blocked.
//!
//! A rule is found by the tool, by the programs that would run, or by a piece of text that must occur; only the rules
//! found are tried. What cannot be told about a call counts for a rule that could stop it.

mod answers;
mod conditions;
mod facts;
mod index;
mod trace;
mod wild;

use std::collections::BTreeSet;

use belay_hook as hook;
use hook::input;

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
    let phase = match index.phase(&header, &input::text("/phase").unwrap_or_default()) {
        Some(at) => at,
        None => return Err("the rules say nothing about this phase".into()),
    };
    let facts = Facts::default();
    if header.trace {
        return trace::turn(&index, &header, &facts, phase);
    }
    let mut answers = Answers::default();
    for number in candidates(&index, &facts, phase)? {
        let rule = index.rule(&header, number)?;
        let verdict = applies(&index, &facts, rule)?;
        if verdict != Holds::No {
            answers.add(&index, &facts, rule, &verdict)?;
        }
    }
    answers.give()
}

/// The rules that may apply, in the order of their names.
fn candidates(index: &Index, facts: &Facts, phase: usize) -> Read<BTreeSet<usize>> {
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
        }
        if commands.doubt.is_some() {
            found.extend(index.list(index.size(phase + 16)?)?);
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
                    index.windows(table, bloom, key.as_bytes(), |list| drop(lists.insert(list)))?;
                }
            }
            2 => {
                let hosts = facts.hosts()?;
                doubt = hosts.doubt.is_some();
                for host in &hosts.list {
                    index.windows(table, bloom, host.as_bytes(), |list| drop(lists.insert(list)))?;
                }
            }
            3 => {
                let leaves = facts.leaves(index.text(source + 4)?);
                doubt = leaves.doubt.is_some();
                for leaf in &leaves.list {
                    index.windows(table, bloom, leaf.text.as_bytes(), |list| drop(lists.insert(list)))?;
                }
            }
            _ => return Err("the index of the rules has a source that this engine does not know".into()),
        }
        for list in lists {
            found.extend(index.list(list)?);
        }
        if doubt {
            found.extend(index.list(index.size(source + 20)?)?);
        }
    }
    Ok(found)
}

/// Whether a rule applies: every condition of when holds, and not every one of unless.
fn applies(index: &Index, facts: &Facts, rule: usize) -> Read<Holds> {
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
