//! Programs of other languages that stand in a command: python -c, awk, psql -c. What they do is not told; most of them
//! compute and print. A rule doubts those that name a way to start a command, to open a file or to reach a host.

use belay_hook as hook;
use hook::analysis::{Command, Program};

use crate::facts::{cut, Found};

const STARTS: [&str; 24] = [
    "system", "exec", "popen", "spawn", "subprocess", "eval", "fork", "process", "shell", "`", "| \"", "|\"", "import os", "import pty",
    "__import__", "importlib", "ctypes", "run(", "getattr", "getline", "require", "qx", "invoke-", "loadstring",
];

const TOUCHES: [&str; 19] = [
    "open", "read", "write", "file", "path", "unlink", "remove", "copy", "http", "socket", "url", "request", "fetch",
    "connect", "net.", "fs.", "io.", "<", ">",
];

/// Notes what the host says of such programs.
pub fn add(programs: &[Program], found: &mut Found<Command>) {
    for program in programs {
        let why = format!("what this {} program does cannot be told beforehand: {}", program.language, cut(&program.raw));
        let text = program.text.to_ascii_lowercase();
        let has = |marks: &[&str]| marks.iter().any(|m| text.contains(m));
        // A file that is run is a program like any other: what stands in it is not in the call.
        let elsewhere = text.is_empty() && program.file.is_empty();
        if elsewhere || program.partial || program.language == "native" || has(&STARTS) {
            found.doubt(&why);
        } else if has(&TOUCHES) {
            found.touches.get_or_insert(why);
        }
    }
}
