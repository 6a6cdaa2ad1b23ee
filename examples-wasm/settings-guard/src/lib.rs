//! Keeps an agent from switching belay off: by the runtimes' settings, by belay's own files and programs, by the
//! environment that points to them, or by belay's own commands. Reading passes.
//!
//! It judges the files that a tool or a command would write, in every spelling that the host knows for them, and what is
//! written where it will be run: scripts, jobs, profiles, patches. Texts of other kinds are never judged.

mod arguments;
mod code;
mod commands;
mod files;
mod programs;
mod settings;
mod texts;
mod writes;

use belay_hook as hook;
use hook::analysis::{self, Line};
use hook::json::Value;
use hook::{config, input};

use files::{Guarded, Reach};
use texts::Kind;

hook::turn_allocator!();
hook::export!(pre_tool => pre_tool, pre_plan => settings::remember, state_transition => state_transition);

fn pre_tool() -> hook::Result {
    stop(judge(&Guarded::from_config())?)
}

fn state_transition() -> hook::Result {
    stop(settings::changed()?)
}

fn stop(what: Option<String>) -> hook::Result {
    if let Some(what) = what {
        let way = "A person can make the change outside of the agent";
        if config::text("/way").as_deref() == Some("block") {
            hook::block(&format!("{what}. {way}."));
        } else {
            hook::request_approval(&format!("{what}. {way}, or allow this one with `belay approvals approve`."), None);
        }
    }
    Ok(())
}

fn judge(guarded: &Guarded) -> Result<Option<String>, hook::Fail> {
    let tool = input::text("/tool").unwrap_or_default();
    let args = input::value("/args").unwrap_or(Value::Null);
    if let Some(what) = settings::tool_of_runtime(&tool, &args) {
        return Ok(Some(what));
    }
    if tool == "apply_patch" {
        return judge_patch(guarded, &args);
    }
    if let Some(found) = analysis::input_lines() {
        if found.more {
            return Ok(Some("the call runs more than can be judged".into()));
        }
        for line in &found.lines {
            if let Some(what) = judge_line(guarded, line)? {
                return Ok(Some(what));
            }
        }
    }
    if let Some(what) = judge_read_files(guarded)? {
        return Ok(Some(what));
    }
    if tool == "exec" {
        return Ok(None);
    }
    let (names, reach) = match tool.as_str() {
        "write" | "edit" => (arguments::paths(&args, false), Reach::Files),
        _ => judged_paths(&tool, &args),
    };
    if input::text("/judged/more").is_some() {
        return Ok(Some("the call names more files than can be judged".into()));
    }
    if let Some(hit) = guarded.first(&names, None, reach)? {
        return Ok(Some(format!("{tool} would change {hit}")));
    }
    let (files, written) = arguments::written(&args);
    texts::contents(guarded, &files, &written, 0)
}

fn judge_patch(guarded: &Guarded, args: &Value) -> Result<Option<String>, hook::Fail> {
    if let Some(hit) = guarded.first(&arguments::paths(args, false), None, Reach::Files)? {
        return Ok(Some(format!("apply_patch would change {hit}")));
    }
    for text in arguments::patches(args) {
        if let Some(what) = texts::patch(guarded, text, 0)? {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// The files of a tool that nothing is known about, unless it only reads by its name and its arguments.
fn judged_paths(tool: &str, args: &Value) -> (Vec<String>, Reach) {
    let name = tool.to_lowercase();
    let any = |list: &[&str]| list.iter().any(|w| name.contains(w));
    let moves = any(&["move", "rename", "delete", "remove", "link", "chmod", "rmdir", "trash"]);
    let writes = any(&["write", "edit", "create", "save", "update", "append", "replace", "put", "set", "patch", "copy", "upload",
        "restore", "install", "extract", "unzip"]);
    let reads = any(&["read", "get", "view", "list", "search", "find", "stat", "info", "show", "open", "grep", "glob", "send"]);
    let carries = args.members().iter().any(|(n, _)| {
        let n = n.to_lowercase();
        ["content", "text", "data", "edit", "patch", "body", "new", "dest", "target"].iter().any(|c| n.contains(c))
    });
    if !carries && !writes && !moves && reads {
        return (Vec::new(), Reach::Files);
    }
    let list = input::value("/judged/paths").unwrap_or(Value::Null);
    let mut names: Vec<String> = list.items().iter().filter_map(|at| at.as_text()).filter_map(input::text).collect();
    if moves {
        names.extend(arguments::paths(args, true));
    }
    (names, if moves { Reach::Parents } else { Reach::Files })
}

fn judge_line(guarded: &Guarded, line: &Line) -> Result<Option<String>, hook::Fail> {
    let deep = if line.code { 1 } else { 0 }; // code is read as a shell's as far as it goes
    if let Some(what) = texts::judge(guarded, Kind::Shell, &line.text, deep)? {
        return Ok(Some(what));
    }
    if line.code {
        return Ok(code::judge(guarded, &line.text, false)); // of another language, perhaps
    }
    Ok(None)
}

/// What lies in the files that the call would run or apply, as the host has read them.
fn judge_read_files(guarded: &Guarded) -> Result<Option<String>, hook::Fail> {
    let list = input::value("/metadata/caller/runs").unwrap_or(Value::Null);
    for f in list.items() {
        let path = f.text("path");
        let kind = match Kind::named(f.text("kind")) {
            Some(kind) => kind,
            None => return Ok(Some(format!("{path} would be run by a program that is not known"))),
        };
        let what = match f.get("text").and_then(Value::as_text) {
            Some(text) => texts::judge(guarded, kind, text, 1)?,
            None => Some(format!("it cannot be judged, {}", f.text("why"))),
        };
        if let Some(what) = what {
            let digest = f.text("digest");
            let which = if digest.is_empty() { String::new() } else { format!(" ({})", &digest[..digest.len().min(19)]) };
            return Ok(Some(format!("{path}{which} would be run: {what}")));
        }
    }
    Ok(None)
}
