//! Keeps an agent from switching belay off: by the runtimes' settings, by belay's own files and programs, by the
//! environment that points to them, or by belay's own commands. Reading passes.
//!
//! It judges the files that a tool or a command would write, in every spelling that the host knows for them, and never
//! the text of a command.

mod commands;
mod files;
mod settings;

use belay_hook as hook;
use hook::analysis::{self, Line};
use hook::json::Value;
use hook::{config, input};

use files::Guarded;

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
    let args = input::value("/args").unwrap_or(Value::Null);
    let names = match tool.as_str() {
        "write" | "edit" => files::path_arguments(&args),
        "apply_patch" => files::patched(&args),
        "exec" => return Ok(None),
        _ => judged_paths(&tool, &args),
    };
    if input::text("/judged/more").is_some() {
        return Ok(Some("the call names more files than can be judged".into()));
    }
    Ok(guarded.first(&names, None)?.map(|hit| format!("{tool} would change {hit}")))
}

/// The files of a tool that nothing is known about, unless it only reads by its name and its arguments.
fn judged_paths(tool: &str, args: &Value) -> Vec<String> {
    let name = tool.to_lowercase();
    let writes = ["write", "edit", "create", "delete", "remove", "move", "rename", "save", "update", "append", "replace",
        "put", "set", "patch", "copy", "link", "chmod", "upload", "restore", "install"];
    let reads = ["read", "get", "view", "list", "search", "find", "stat", "info", "show", "open", "grep", "glob", "send"];
    let carries = args.members().iter().any(|(n, _)| {
        let n = n.to_lowercase();
        ["content", "text", "data", "edit", "patch", "body", "new", "dest", "target"].iter().any(|c| n.contains(c))
    });
    if !carries && !writes.iter().any(|w| name.contains(w)) && reads.iter().any(|r| name.contains(r)) {
        return Vec::new();
    }
    let list = input::value("/judged/paths").unwrap_or(Value::Null);
    list.items().iter().filter_map(|at| at.as_text()).filter_map(input::text).collect()
}

fn judge_line(guarded: &Guarded, line: &Line) -> Result<Option<String>, hook::Fail> {
    let shell = match analysis::shell_parse(&line.text) {
        Ok(shell) => shell,
        Err(hook::Errno::TooLarge) => return Ok(files::mention(guarded, &line.text, true)),
        Err(e) => return Err(e.into()),
    };
    for c in &shell.commands {
        if let Some(what) = commands::judge(guarded, &shell, c)? {
            return Ok(Some(what));
        }
    }
    // What could not be read to its end, or is of another language, is judged by what it mentions.
    if !shell.ok || shell.truncated || line.code {
        return Ok(files::mention(guarded, &line.text, !line.code));
    }
    Ok(None)
}
