//! Keeps searches out of directories that hold what others made: dependencies, caches, the store of git.

use belay_hook as hook;
use hook::analysis::shell_parse;
use hook::json::Value;

use crate::{clip, glob, Call};

const DEFAULT: [&str; 5] = [".venv", "node_modules", "__pycache__", ".git", "*.egg-info"];

/// The members in which tools take a place, and a pattern of names.
const PLACES: [&str; 5] = ["path", "dir_path", "directory", "target_directory", "cwd"];
const PATTERNS: [&str; 5] = ["pattern", "glob", "include", "glob_pattern", "query"];

/// All members that this transformer looks at.
pub(crate) const MEMBERS: [&[&str]; 3] = [&PLACES, &PATTERNS, &["ignore", "command", "cmd"]];

/// How many names of a path are looked at, and how long each may be: no system opens a path with more, or longer ones.
const MAX_NAMES: usize = 4096;
const MAX_NAME: usize = 255;

pub(crate) fn apply(call: &mut Call, options: &Value) -> hook::Result {
    let own: Vec<&str> = options.list("patterns").iter().filter_map(Value::as_text).collect();
    let names: Vec<&str> = if options.get("patterns").is_some() { own } else { DEFAULT.to_vec() };
    if names.is_empty() || names_one(call, &names) {
        return Ok(()); // who searches in one of them on purpose may
    }
    let commands = match call.tool.as_str() {
        "exec" => match searching(call, &names) {
            Some(name) => Some(name),
            None => return Ok(()),
        },
        _ => None,
    };
    match options.text("strategy") {
        "" | "rewrite" => {
            if commands.is_some() || !rewrite(call, &names, options) {
                advise(call, &names, commands);
            }
        }
        "advise" => advise(call, &names, commands),
        "substitute" => substitute(call, &names, options, commands),
        other => return Err(format!("configuration: there is no strategy {}", other).into()),
    }
    Ok(())
}

/// Whether the call names one of the directories by itself.
fn names_one(call: &Call, names: &[&str]) -> bool {
    // What a search looks for in texts names no place.
    let content = call.tool == "grep";
    PLACES.iter().chain(PATTERNS.iter().filter(|m| !(content && (**m == "pattern" || **m == "query")))).any(|member| {
        let text = call.text(member);
        let mut parts = text.split(|c| c == '/' || c == '\\').take(MAX_NAMES).filter(|n| n.len() <= MAX_NAME);
        !text.starts_with('!') && parts.any(|part| names.iter().any(|n| glob::fits(n, part)))
    })
}

/// Changes the arguments so that the search leaves the directories out. False: this tool has no way to say that.
fn rewrite(call: &mut Call, names: &[&str], options: &Value) -> bool {
    let native = call.native.clone();
    match (call.tool.as_str(), native.as_str()) {
        ("glob", _) => rewrite_glob(call, names, options),
        // Both hand the member to ripgrep as one --glob. A pattern of the call's own stays: two cannot be said in one.
        ("grep", "Grep") => exclude_by(call, "glob", names),
        ("grep", "grep") if call.runtime == "opencode" => exclude_by(call, "include", names),
        ("list", "LS" | "list_directory" | "list") => ignore(call, names),
        _ => false,
    }
}

fn exclude_by(call: &mut Call, member: &str, names: &[&str]) -> bool {
    let exclusion = glob::exclusion(names);
    if call.text(member) == exclusion {
        return true; // seen before
    }
    if call.args.get(member).is_some() {
        return false;
    }
    call.set(member, Value::Text(exclusion));
    note(call, names, "");
    true
}

fn ignore(call: &mut Call, names: &[&str]) -> bool {
    let mut list: Vec<Value> = match call.args.get("ignore") {
        Some(Value::Array(list)) => list.clone(),
        None => Vec::new(),
        Some(_) => return false,
    };
    let before = list.len();
    for name in names {
        if !list.iter().any(|v| v.as_text() == Some(name)) {
            list.push(Value::from(*name));
        }
    }
    if list.len() > before {
        call.set("ignore", Value::Array(list));
        note(call, names, "");
    }
    true
}

fn rewrite_glob(call: &mut Call, names: &[&str], options: &Value) -> bool {
    let pattern = call.text("pattern").to_string();
    let into: Vec<&str> = options.list("into").iter().filter_map(Value::as_text).collect();
    if !into.is_empty() && !PLACES.iter().any(|m| call.args.get(m).is_some()) {
        if let Some(narrow) = glob::into(&pattern, &into) {
            if narrow != pattern {
                call.notes.push(format!("{} was narrowed to {}: it searches from the project's root", call.native, into.join(", ")));
                call.set("pattern", Value::Text(narrow));
            }
            return true;
        }
    }
    if glob::is_without(&pattern) {
        return true; // seen before
    }
    // The two that hand their pattern to ripgrep, which knows braces and classes, and looks at hidden directories.
    if !(call.native == "Glob" || call.runtime == "opencode") {
        return false;
    }
    match glob::without(&pattern, names) {
        Some(narrow) => {
            call.set("pattern", Value::Text(narrow));
            let (out, still): (Vec<&str>, Vec<&str>) = names.iter().partition(|n| glob::is_plain(n));
            let mut more = " Those that lie deeper are still searched".to_string();
            if !still.is_empty() {
                more.push_str(&format!(", and so are {}", still.join(", ")));
            }
            note(call, &out, &format!("{}: ignore what is found there.", more));
            true
        }
        None => false,
    }
}

fn note(call: &mut Call, names: &[&str], more: &str) {
    call.notes.push(format!("{} was changed: it leaves out {}.{}", call.native, names.join(", "), more));
}

fn advise(call: &mut Call, names: &[&str], command: Option<String>) {
    let what = command.unwrap_or_else(|| call.native.clone());
    call.notes.push(format!("{} searches {} as well: leave them out, or ignore what is found there.", what, names.join(", ")));
}

fn substitute(call: &mut Call, names: &[&str], options: &Value, command: Option<String>) {
    let better = match options.text("tool") {
        "" => ripgrep(call, names),
        tool => tool.to_string(),
    };
    let what = command.unwrap_or_else(|| call.native.clone());
    call.refused = Some(format!("{} would search {}: use {} instead", what, names.join(", "), better));
}

/// The same search by ripgrep.
fn ripgrep(call: &Call, names: &[&str]) -> String {
    let mut line = match call.tool.as_str() {
        "glob" => format!("rg --files --glob {}", quoted(call.text("pattern"))),
        "grep" => format!("rg -n {}", quoted(call.text("pattern"))),
        _ => "rg --files".to_string(),
    };
    line.push_str(&format!(" --glob {}", quoted(&glob::exclusion(names))));
    if let Some(place) = PLACES.iter().map(|m| call.text(m)).find(|p| !p.is_empty()) {
        line.push_str(&format!(" {}", quoted(place)));
    }
    line
}

/// A word of a command line.
fn quoted(text: &str) -> String {
    format!("'{}'", clip(text, 300).replace('\'', "'\\''"))
}

/// The first command that goes through directories and does not leave one of them out by itself.
fn searching(call: &Call, names: &[&str]) -> Option<String> {
    let text = [call.text("command"), call.text("cmd")].iter().find(|t| !t.is_empty())?.to_string();
    let shell = shell_parse(&text).ok()?;
    for command in &shell.commands {
        let words: Vec<&str> = command.words.iter().skip(1).map(|w| w.text.as_str()).collect();
        let flag = |letter: char| words.iter().any(|w| w.starts_with('-') && !w.starts_with("--") && w.contains(letter));
        let searches = match command.name.as_str() {
            "find" => !words.iter().any(|w| *w == "-prune" || *w == "-maxdepth"),
            "grep" | "egrep" | "fgrep" => flag('r') || flag('R') || words.contains(&"--recursive"),
            "ls" => flag('R') || words.contains(&"--recursive"),
            "tree" => !flag('I'),
            _ => false,
        };
        let named = words.iter().any(|w| names.iter().any(|n| w.contains(n.trim_matches('*'))));
        if searches && !named && !words.iter().any(|w| w.starts_with("--exclude-dir")) {
            return Some(command.name.clone());
        }
    }
    None
}
