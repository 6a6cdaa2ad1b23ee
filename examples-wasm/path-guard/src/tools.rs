//! The names of files in the arguments of a tool that is no command.

use belay_hook as hook;
use hook::input;
use hook::json::Value;
use protected_files::names::Name;
use protected_files::rules::Look;

use crate::names::moved;

/// Tools whose arguments are texts.
const TEXTS: &[&str] = &[
    "todo", "plan", "ask_user", "web_search", "memory_search", "memory_get", "memory_save", "sessions_list", "sessions_history", "sessions_send",
    "session_status", "agents_list", "tool_search", "tts",
];

/// The names among a call's arguments, at any depth.
pub fn names(tool: &str) -> Vec<Name> {
    if TEXTS.contains(&tool) {
        return Vec::new();
    }
    let args = input::value("/args").unwrap_or(Value::Null);
    let mut walk = Walk { tool, cwd: moved(), out: Vec::new() };
    walk.value("", &args);
    if tool == "apply_patch" {
        walk.patches(&args);
    }
    walk.out
}

struct Walk<'a> {
    tool: &'a str,
    cwd: Option<String>,
    out: Vec<Name>,
}

impl Walk<'_> {
    fn push(&mut self, text: &str, glob: bool) {
        let searches = matches!(self.tool, "grep");
        let look = Look { glob, command: false, tree: searches, wide: false };
        self.out.push(match self.out.len() {
            0..=1023 => Name { text: text.into(), cwd: self.cwd.clone(), look, by: self.tool.into() },
            1024 => Name::more(self.tool),
            _ => return,
        });
    }

    fn value(&mut self, name: &str, v: &Value) {
        for (n, v) in v.members() {
            self.value(&folded(n), v);
        }
        for v in v.items() {
            self.value(name, v);
        }
        if let Some(s) = v.as_text() {
            self.text(name, s);
        }
    }

    fn text(&mut self, name: &str, s: &str) {
        // A file's name is judged however long it is: the host says that it cannot tell what a longer one means.
        if s.is_empty() || !is_path(name) && (s.len() > 4096 || s.contains('\n')) {
            return;
        }
        let url = s.split_once("://").map_or(false, |(scheme, _)| !scheme.trim().eq_ignore_ascii_case("file"));
        if url && !is_path(name) || self.tool == "web_fetch" && !s.trim_start().to_lowercase().starts_with("file:") {
            return;
        }
        match self.tool {
            // A search shows what is in the files that it takes; one for names shows names, but of a protected place.
            "grep" if matches!(name, "glob" | "include" | "globs" | "includes" | "filter" | "fileglob" | "filepattern") => self.push(s, true),
            "glob" if name == "pattern" || name == "patterns" => {
                let root = s.find(&['*', '?', '[', '{'][..]).and_then(|at| s[..at].rfind('/')).map(|end| &s[..end]);
                if let Some(root) = root.filter(|r| !r.is_empty()) {
                    self.push(root, false);
                }
            }
            _ if is_path(name) => self.push(s, false),
            _ if self.known() || is_text(name) => {}
            // A tool of which nothing is known: whatever looks like one name.
            _ if !s.contains(char::is_whitespace) || s.starts_with(&['/', '~', '.', ' '][..]) => self.push(s, false),
            _ => {}
        }
    }

    fn known(&self) -> bool {
        matches!(self.tool, "read" | "write" | "edit" | "apply_patch" | "grep" | "glob" | "list" | "lsp" | "skill" | "sessions_spawn")
    }

    /// The files that patches name in their own lines.
    fn patches(&mut self, v: &Value) {
        for (_, v) in v.members() {
            self.patches(v);
        }
        for v in v.items() {
            self.patches(v);
        }
        for line in v.as_text().unwrap_or("").split(&['\n', '\r'][..]) {
            let line = line.trim();
            let heads = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:", "+++ ", "--- ", "rename to ", "rename from ", "copy from ", "copy to "];
            if let Some(n) = heads.iter().find_map(|p| line.strip_prefix(p)) {
                let n = n.split('\t').next().unwrap_or("").trim();
                let n = n.strip_prefix("a/").or_else(|| n.strip_prefix("b/")).unwrap_or(n);
                if n != "/dev/null" && !n.is_empty() {
                    self.push(n, false);
                }
            }
        }
    }
}

/// A member's name as it is compared: file_path, filePath and file-path are one.
fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Members that name a file or a directory.
fn is_path(name: &str) -> bool {
    let names = ["path", "file", "dir", "folder", "uri", "target", "dest", "source", "src", "root", "attachment", "location", "document"];
    names.iter().any(|p| name.contains(p)) && !is_text(name)
}

/// Members that hold text.
fn is_text(name: &str) -> bool {
    let ends = [
        "text", "content", "contents", "string", "str", "prompt", "message", "query", "pattern", "patterns", "regex", "regexp", "description", "reason", "title",
        "body", "summary", "instruction", "instructions", "comment", "code", "script", "command", "edit", "diff", "patch", "data", "type", "types", "label", "note", "notes",
        "question", "answer", "subject", "language", "filter", "options", "replacement", "search", "value",
    ];
    ends.iter().any(|e| name.ends_with(e))
}
