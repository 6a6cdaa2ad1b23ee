//! What a session's settings were when it began, and whether a change of them is one that switches belay off.
//!
//! The host tells which settings files there are and a digest of what counts in each: hooks, environment, plugins, and
//! whatever names belay. It is kept for each file, in the hook's own state, until the next session begins.

use belay_hook as hook;
use hook::json::{object, Value};
use hook::{input, Errno};

/// A hook has 64 values: many files share one.
const SLOTS: u32 = 48;

fn slot(path: &str) -> String {
    let hash = path.bytes().fold(2166136261u32, |h, b| (h ^ u32::from(b)).wrapping_mul(16777619));
    format!("settings-{}", hash % SLOTS)
}

fn kept(path: &str) -> Result<Value, hook::Fail> {
    match hook::state_get(&slot(path)) {
        Ok(text) => Ok(core::str::from_utf8(&text).ok().and_then(Value::parse).unwrap_or_else(object)),
        Err(Errno::Absent) => Ok(object()),
        Err(e) => Err(e.into()),
    }
}

fn told() -> Vec<(String, String)> {
    let list = input::value("/metadata/caller/settings").unwrap_or(Value::Null);
    list.items().iter().map(|f| (f.text("path").to_string(), f.text("counts").to_string())).collect()
}

/// At the start of a session: remembers its settings.
pub fn remember() -> hook::Result {
    if input::text("/kind").as_deref() != Some("session_start") {
        return Ok(());
    }
    for (path, counts) in told() {
        let mut files = object().with(&path, counts.as_str());
        for (name, v) in kept(&path)?.members().iter().filter(|(n, _)| *n != path).take(99) {
            files = files.with(name, v.clone());
        }
        hook::state_put(&slot(&path), files.to_json().as_bytes())?;
    }
    Ok(())
}

/// A change of settings in mid-session: why it may not be taken into use.
pub fn changed() -> Result<Option<String>, hook::Fail> {
    if input::text("/machine").as_deref() != Some("config") {
        return Ok(None);
    }
    let to = input::text("/to").unwrap_or_default();
    if to == "skills" {
        return Ok(None); // files of skills: no settings
    }
    let told = told();
    if told.is_empty() {
        return Ok(Some(format!("a change of {to} cannot be looked at")));
    }
    for (path, counts) in told {
        let files = kept(&path)?;
        match files.get(&path).and_then(Value::as_text) {
            Some(before) if before == counts => {}
            Some(_) => return Ok(Some(format!("{path} has other hooks, environment or plugins, or names belay differently"))),
            None if counts.is_empty() => {}
            None => return Ok(Some(format!("{path} has hooks, environment or plugins that the session did not begin with"))),
        }
    }
    Ok(None)
}

/// A tool of the runtime's own that changes which plugins it loads: OpenClaw's, which has belay's as one of them.
pub fn tool_of_runtime(tool: &str, args: &Value) -> Option<String> {
    if input::text("/runtime").as_deref() != Some("openclaw") {
        return None;
    }
    let action = args.text("action");
    let changes = match tool {
        "openclaw" => true, // hands a task to a turn of its own, which changes settings
        "plugins" => !["list", "inspect", "search"].contains(&action),
        "gateway" => !["config.get", "config.schema.lookup"].contains(&action),
        _ => false,
    };
    changes.then(|| format!("{tool} {action} can change which plugins the runtime asks").replace("  ", " "))
}
