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
    if let Some(Doubt { what, ask }) = judge(&names::rules())? {
        if ask || config::text("/answer").as_deref() == Some("ask") {
            hook::request_approval(&what, None);
        } else {
            hook::block(&what);
        }
    }
    Ok(())
}

/// Why the call may not run, or why a person decides about it.
struct Doubt {
    what: String,
    /// It cannot be told what the call would open.
    ask: bool,
}

impl From<String> for Doubt {
    fn from(what: String) -> Doubt {
        Doubt { what, ask: false }
    }
}

impl From<&str> for Doubt {
    fn from(what: &str) -> Doubt {
        Doubt::from(String::from(what))
    }
}

/// A question about a name that leads through another process, where there is one.
fn elsewhere(found: &[Name]) -> Option<Doubt> {
    let name = found.iter().find(|n| of_another_process(&n.text))?;
    let what = format!("{} leads through another process, and where that is cannot be told (proc)", shown(&name.text));
    Some(Doubt { what, ask: true })
}

/// Whether a path goes through the root or the working directory of a process that is named by its number.
fn of_another_process(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
    let number = |p: &str| p.bytes().all(|b| b.is_ascii_digit());
    let leads = |p: Option<&&str>| matches!(p, Some(&"cwd" | &"root"));
    parts.iter().enumerate().any(|(i, p)| {
        *p == "proc"
            && parts.get(i + 1).map_or(false, |n| number(n))
            && (leads(parts.get(i + 2)) || parts.get(i + 2) == Some(&"task") && leads(parts.get(i + 4)))
    })
}

fn judge(rules: &Rules) -> Result<Option<Doubt>, hook::Fail> {
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
    Ok(hit.map(|h| format!("{} is a protected file ({})", shown(&h.text), h.group).into()).or_else(|| elsewhere(&found)))
}

fn judge_line(rules: &Rules, line: &Line) -> Result<Option<Doubt>, hook::Fail> {
    let shell = match analysis::shell_parse(&line.text) {
        Ok(shell) => shell,
        Err(hook::Errno::TooLarge) => return Ok(Some("the command is too long to be judged".into())),
        Err(e) => return Err(e.into()),
    };
    if let Some(c) = shell.commands.iter().find(|c| stores::prints(c).is_some()) {
        return Ok(Some(format!("{} would show a secret of {}", c.name, stores::prints(c).unwrap_or("")).into()));
    }
    let mut found = commands::names(&shell);
    if let Some(dir) = names::moved() {
        for n in found.iter_mut().filter(|n| n.cwd.is_none()) {
            n.cwd = Some(dir.clone());
        }
    }
    if let Some(hit) = resolve::first(rules, &found)? {
        return Ok(Some(says(&hit).into()));
    }
    if shell.truncated {
        return Ok(Some("the command runs more than can be judged".into()));
    }
    if !shell.ok || line.code {
        return mentioned(rules, &line.text);
    }
    Ok(elsewhere(&found))
}

/// A text that the shell's grammar does not read to its end is judged by the strings in it.
fn mentioned(rules: &Rules, text: &str) -> Result<Option<Doubt>, hook::Fail> {
    let look = Look { glob: false, command: true, tree: false, wide: false };
    let name = |text: String| Name { text, cwd: None, look, by: "the code".into() };
    let found: Vec<Name> = strings::strings(text).into_iter().map(name).collect();
    Ok(resolve::first(rules, &found)?.map(|hit| says(&hit).into()))
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

#[cfg(test)]
mod tests {
    #[test]
    fn other_processes() {
        for (path, want) in [
            ("/proc/42/cwd/..", true), ("/proc/1/root/etc/hosts", true), ("//proc/./42/cwd", true), ("/proc/42/task/43/cwd/x", true),
            ("/proc/self/cwd/x", false), ("/proc/42/status", false), ("/proc/42/task/43/status", false), ("proc/a/cwd", false),
        ] {
            assert_eq!(super::of_another_process(path), want, "{path}");
        }
    }
}
