//! Keeps files that hold keys and credentials from an agent: in every tool that takes a path, and in commands that read,
//! copy, link, archive, mount or send them. What only names such a file passes, and so does using a key.
//!
//! It judges the forms that the host gives for a path, with links followed, and the commands that the host says would
//! run. It knows no spelling and no quoting.

mod names;
mod tools;

use belay_hook as hook;
use hook::analysis::{self, Line};
use hook::{config, input};
use protected_files::names::{Hit, Name};
use protected_files::rules::{Look, Rules};
use protected_files::{commands, resolve, stores, strings};

hook::turn_allocator!();
hook::export!(pre_tool => pre_tool);

fn pre_tool() -> hook::Result {
    if let Some(what) = judge(&names::rules())? {
        if config::text("/answer").as_deref() == Some("ask") {
            hook::request_approval(&what, None);
        } else {
            hook::block(&what);
        }
    }
    Ok(())
}

/// Why the call may not run.
fn judge(rules: &Rules) -> Result<Option<String>, hook::Fail> {
    let tool = input::text("/tool").unwrap_or_default();
    if let Some(found) = analysis::input_lines() {
        if found.more {
            return Ok(Some("the call runs more than can be judged".into()));
        }
        for line in &found.lines {
            if let Some(what) = judge_line(rules, line)? {
                return Ok(Some(what));
            }
        }
    }
    if tool == "exec" {
        return Ok(None);
    }
    let found = match tools::names(&tool) {
        Some(found) if input::text("/judged/more").is_none() => found,
        _ => return Ok(Some("the call names more files than can be judged".into())),
    };
    let hit = resolve::first(rules, &found)?;
    Ok(hit.map(|h| format!("{} is a protected file ({})", shown(&h.text), h.group)))
}

fn judge_line(rules: &Rules, line: &Line) -> Result<Option<String>, hook::Fail> {
    let shell = match analysis::shell_parse(&line.text) {
        Ok(shell) => shell,
        Err(hook::Errno::TooLarge) => return Ok(Some("the command is too long to be judged".into())),
        Err(e) => return Err(e.into()),
    };
    if let Some(c) = shell.commands.iter().find(|c| stores::prints(c).is_some()) {
        return Ok(Some(format!("{} would show a secret of {}", c.name, stores::prints(c).unwrap_or(""))));
    }
    let mut found = commands::names(&shell);
    if let Some(dir) = names::moved() {
        for n in found.iter_mut().filter(|n| n.cwd.is_none()) {
            n.cwd = Some(dir.clone());
        }
    }
    if let Some(hit) = resolve::first(rules, &found)? {
        return Ok(Some(says(&hit)));
    }
    if shell.truncated {
        return Ok(Some("the command runs more than can be judged".into()));
    }
    if !shell.ok || line.code {
        return mentioned(rules, &line.text);
    }
    Ok(None)
}

/// A text that the shell's grammar does not read to its end is judged by the strings in it.
fn mentioned(rules: &Rules, text: &str) -> Result<Option<String>, hook::Fail> {
    let look = Look { glob: false, command: true, tree: false, wide: false };
    let name = |text: String| Name { text, cwd: None, look, by: "the code".into() };
    let found: Vec<Name> = strings::strings(text).into_iter().map(name).collect();
    Ok(resolve::first(rules, &found)?.map(|hit| says(&hit)))
}

fn says(hit: &Hit) -> String {
    let by = if hit.by.is_empty() || hit.by == ":" { "the command" } else { &hit.by };
    format!("{by} would open {}, which is protected ({})", shown(&hit.text), hit.group)
}

/// A name that fits into a message.
fn shown(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
