//! Changes calls of tools before policy sees them, as `command-intercept.yaml` says: searches leave out directories,
//! arguments get defaults, and a tool is refused in favour of a better one.
//!
//! Without configuration, and for tools that it does not name, nothing happens. What is not understood fails.

mod exclude;
mod glob;

use belay_hook as hook;
use hook::json::Value;
use hook::{config, input, pointer, Kind};

hook::export!(pre_tool => pre_tool);

/// A call on its way through the transformers of its tool.
struct Call {
    tool: String,   // belay's name, such as glob
    native: String, // the runtime's own
    runtime: String,
    args: Value, // those that a transformer looks at, as the transformers before have left them
    changed: Vec<String>,
    notes: Vec<String>, // for the agent
    refused: Option<String>,
}

impl Call {
    fn text(&self, name: &str) -> &str {
        self.args.text(name)
    }

    fn set(&mut self, name: &str, value: Value) {
        if let Value::Object(members) = &mut self.args {
            match members.iter_mut().find(|(n, _)| n == name) {
                Some((_, old)) => *old = value,
                None => members.push((name.to_string(), value)),
            }
            if !self.changed.iter().any(|n| n == name) {
                self.changed.push(name.to_string());
            }
        }
    }
}

fn pre_tool() -> hook::Result {
    if config::bool("/enabled") == Some(false) {
        return Ok(());
    }
    let tool = input::text("/tool").ok_or("the action has no tool")?;
    let native = input::text("/native_tool").unwrap_or_else(|| tool.clone());
    let settings = match config::value(&pointer(&["tools", &native])).or_else(|| config::value(&pointer(&["tools", &tool]))) {
        Some(settings) => settings,
        None => return Ok(()),
    };
    if settings.get("enabled").and_then(Value::as_bool) == Some(false) {
        return Ok(());
    }
    if input::kind("/args") != Some(Kind::Object) {
        return Ok(());
    }
    let args = looked_at(settings.list("transformers"));
    let runtime = input::text("/runtime").unwrap_or_default();
    let mut call = Call { tool, native, runtime, args, changed: Vec::new(), notes: Vec::new(), refused: None };
    for transformer in settings.list("transformers") {
        let options = transformer.get("config").cloned().unwrap_or(Value::Null);
        match transformer.text("name") {
            "exclude_directories" => exclude::apply(&mut call, &options)?,
            "default_args" => default_args(&mut call, &options),
            "substitute_tool" => substitute_tool(&mut call, &options),
            other => return Err(format!("configuration: there is no transformer {}", other).into()),
        }
        if call.refused.is_some() {
            break;
        }
    }
    finish(call)
}

/// The arguments that the transformers look at. A call may have 1 MiB of others, which are not taken apart.
fn looked_at(transformers: &[Value]) -> Value {
    let mut names: Vec<&str> = exclude::MEMBERS.iter().flat_map(|list| list.iter().copied()).collect();
    for transformer in transformers {
        let defaults = transformer.get("config").and_then(|c| c.get("args")).map(Value::members).unwrap_or(&[]);
        names.extend(defaults.iter().map(|(name, _)| name.as_str()));
    }
    names.sort_unstable();
    names.dedup();
    let mut members = Vec::new();
    for name in names {
        let path = pointer(&["args", name]);
        let value = match input::kind(&path) {
            None => continue,
            Some(Kind::Text) => input::get(&path).filter(|text| text.len() <= MAX_VALUE).map(Value::Text),
            Some(Kind::Array) => input::get(&path).filter(|json| json.len() <= MAX_VALUE).and_then(|json| Value::parse(&json)),
            Some(_) => None,
        };
        members.push((name.to_string(), value.unwrap_or(Value::Null))); // it is there; what it says does not matter
    }
    Value::Object(members)
}

/// Longer texts and lists stay as they are, in bytes: no system opens such a path, and no command of this length is
/// parsed.
const MAX_VALUE: usize = 64 << 10;

fn finish(call: Call) -> hook::Result {
    if let Some(reason) = call.refused {
        hook::block(&reason);
        return Ok(());
    }
    for name in &call.changed {
        if let Some(value) = call.args.get(name) {
            hook::rewrite(&pointer(&["args", name]), &value.to_json());
        }
    }
    if !call.notes.is_empty() {
        hook::add_context(clip(&call.notes.join("\n"), 4000));
    }
    Ok(())
}

/// Fills in the arguments that the call leaves out.
fn default_args(call: &mut Call, options: &Value) {
    let mut filled = Vec::new();
    for (name, value) in options.get("args").map(Value::members).unwrap_or(&[]) {
        if call.args.get(name).is_none() {
            call.set(name, value.clone());
            filled.push(format!("{}={}", name, clip(&value.to_json(), 200)));
        }
    }
    if !filled.is_empty() {
        call.notes.push(format!("{} got default arguments: {}", call.native, filled.join(", ")));
    }
}

/// Refuses the tool and names the better one.
fn substitute_tool(call: &mut Call, options: &Value) {
    let mut reason = format!("{} is not used here: use {} instead", call.native, options.text("tool"));
    if !options.text("reason").is_empty() {
        reason.push_str(&format!(" ({})", options.text("reason")));
    }
    call.refused = Some(reason);
}

/// The beginning of a text, at most `max` bytes.
fn clip(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests;
