use alloc::string::String;
use alloc::vec::Vec;

use crate::json::{object, Value};
use crate::raw;

macro_rules! one {
    ($f:ident, $text:expr) => {{
        let t: &str = $text;
        unsafe { raw::$f(t.as_ptr(), t.len() as u32) };
    }};
}

macro_rules! two {
    ($f:ident, $a:expr, $b:expr) => {{
        let (a, b): (&str, &str) = ($a, $b);
        unsafe { raw::$f(a.as_ptr(), a.len() as u32, b.as_ptr(), b.len() as u32) };
    }};
}

/// Stops the action. The first reason stays; it is cut at 4 KiB. Never refused.
pub fn block(reason: &str) {
    one!(block, reason)
}

/// Asks a person. `ttl_s`: seconds until the question counts as denied; the operator's default when `None`.
pub fn request_approval(reason: &str, ttl_s: Option<i64>) {
    let mut v = object().with("reason", reason);
    if let Some(s) = ttl_s {
        v = v.with("ttl_s", s);
    }
    one!(request_approval, &v.to_json())
}

fn rewrite_kind(path: &str, value: &str, kind: i32) {
    unsafe { raw::rewrite(path.as_ptr(), path.len() as u32, value.as_ptr(), value.len() as u32, kind) };
}

/// Replaces the value at a path by JSON, or adds it when only its last step is missing.
pub fn rewrite(path: &str, json: &str) {
    rewrite_kind(path, json, 0)
}

/// Replaces the value at a path by a string, or adds it when only its last step is missing.
pub fn rewrite_text(path: &str, text: &str) {
    rewrite_kind(path, text, 1)
}

/// Removes the value at a path.
pub fn remove(path: &str) {
    rewrite_kind(path, "", 2)
}

/// Masks the value at a path, in the action and in the record; the label (≤ 64 bytes) says what stood there.
pub fn redact(path: &str, label: &str) {
    two!(redact, path, label)
}

/// The widest scopes that a hook leaves to an action. `None` leaves a set as it is; an empty list leaves nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// Paths to read: exact, or `DIR/**`.
    pub fs_read: Option<Vec<String>>,
    /// Paths to write.
    pub fs_write: Option<Vec<String>>,
    /// `HOST:PORT`; hosts exact or `*.suffix`.
    pub net: Option<Vec<String>>,
    /// Tools: exact, or `ns:*`.
    pub tools: Option<Vec<String>>,
}

/// Narrows what the action may touch.
pub fn clamp_scopes(scopes: Scopes) {
    let mut v = object();
    for (name, set) in
        [("fs_read", scopes.fs_read), ("fs_write", scopes.fs_write), ("net", scopes.net), ("tools", scopes.tools)]
    {
        if let Some(patterns) = set {
            v = v.with(name, patterns);
        }
    }
    one!(clamp_scopes, &v.to_json())
}

/// Puts a value into the run's metadata, where later hooks and phases read it as `/metadata/KEY/value`.
pub fn annotate(key: &str, value: impl Into<Value>) {
    two!(annotate, key, &value.into().to_json())
}

/// As [`annotate`], for text.
pub fn annotate_text(key: &str, text: &str) {
    annotate(key, text)
}

/// Adds text for the agent, labelled with the hook's name; at most 4 KiB.
pub fn add_context(text: &str) {
    one!(add_context, text)
}

/// Sends the agent on with an instruction, at most `max` times in a run. post_receive only.
pub fn retry(instruction: &str, max: i64) {
    one!(retry, &object().with("instruction", instruction).with("max", max).to_json())
}

/// Answers instead of the model. pre_plan and pre_send only.
pub fn reply(text: &str) {
    one!(reply, &object().with("text", text).to_json())
}

/// A document to leave beside the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifact<'a> {
    /// Its name, such as `result.txt`.
    pub name: &'a str,
    /// Its type, such as `text/plain`.
    pub media_type: &'a str,
    /// Its content.
    pub text: &'a str,
    /// An object with what else is known about it, or `Null`.
    pub meta: Value,
}

/// Leaves a document beside the verdict.
pub fn put_artifact(a: Artifact<'_>) {
    let mut v = object().with("name", a.name).with("media_type", a.media_type).with("text", a.text);
    if a.meta != Value::Null {
        v = v.with("meta", a.meta);
    }
    one!(put_artifact, &v.to_json())
}

/// Spares the agent its own permission prompt. Trusted hooks only.
pub fn grant(reason: &str) {
    one!(grant, reason)
}
