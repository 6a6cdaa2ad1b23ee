//! Programs of other languages that stand in a command: python -c, awk, psql -c. What they do is not told; most of them
//! compute and print. A rule doubts those that name a way to start a command, to open a file or to reach a host.

use belay_hook as hook;
use hook::analysis::Command;
use hook::json::Value;
use hook::raw;

use crate::facts::{cut, Found, Read};

const STARTS: [&str; 24] = [
    "system", "exec", "popen", "spawn", "subprocess", "eval", "fork", "process", "shell", "`", "| \"", "|\"", "import os", "import pty",
    "__import__", "importlib", "ctypes", "run(", "getattr", "getline", "require", "qx", "invoke-", "loadstring",
];

const TOUCHES: [&str; 19] = [
    "open", "read", "write", "file", "path", "unlink", "remove", "copy", "http", "socket", "url", "request", "fetch",
    "connect", "net.", "fs.", "io.", "<", ">",
];

/// Notes what the last reply of shell_parse says of such programs.
pub fn add(found: &mut Found<Command>) -> Read<()> {
    let reply = last_reply()?;
    if !reply.contains("\"unknown_programs\"") {
        return Ok(());
    }
    let reply = Value::parse(&reply).ok_or("the host's reply is no JSON")?;
    for program in reply.list("unknown_programs") {
        let why = format!("what this {} program does cannot be told beforehand: {}", program.text("language"), cut(program.text("raw")));
        let text = program.get("text").and_then(Value::as_text).map(str::to_ascii_lowercase);
        let has = |marks: &[&str]| text.as_deref().map_or(false, |t| marks.iter().any(|m| t.contains(m)));
        // A file that is run is a program like any other: what stands in it is not in the call.
        let elsewhere = text.is_none() && program.text("file").is_empty();
        if elsewhere || program.is_true("partial") || program.text("language") == "native" || has(&STARTS) {
            found.doubt(&why);
        } else if has(&TOUCHES) {
            found.touches.get_or_insert(why);
        }
    }
    Ok(())
}

/// The reply that the last analysis left.
fn last_reply() -> Read<String> {
    let len = hook::Errno::check(unsafe { raw::reply_read(core::ptr::null_mut(), 0) })?;
    let mut bytes = vec![0; len];
    if hook::Errno::check(unsafe { raw::reply_read(bytes.as_mut_ptr(), len as u32) })? != len {
        return Err("the host's reply has another length".into());
    }
    String::from_utf8(bytes).map_err(|_| "the host's reply is no text".into())
}
