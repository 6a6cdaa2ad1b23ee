//! The names of files in the arguments of a tool that is no command.

extern crate alloc;

use alloc::collections::BTreeSet;

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

/// The names among a call's arguments, at any depth, each once; `None` when there are more than can be judged.
pub fn names(tool: &str) -> Option<Vec<Name>> {
    if TEXTS.contains(&tool) {
        return Some(Vec::new());
    }
    let args = input::value("/args").unwrap_or(Value::Null);
    let mut walk = Walk { tool, cwd: moved(), members: Members::default(), seen: BTreeSet::new(), out: Vec::new() };
    let top = walk.members.of("");
    walk.value(top, &args);
    if tool == "apply_patch" {
        walk.patches(&args);
    }
    (walk.out.len() <= MOST).then(|| walk.out)
}

/// What a member's name says about the strings in it.
#[derive(Clone, Copy, PartialEq)]
struct Member {
    /// It names a file or a directory.
    path: bool,
    /// It holds text.
    text: bool,
    /// It narrows down which files a search takes.
    filter: bool,
    /// It is the pattern of a search for names.
    pattern: bool,
}

/// The names of members that were seen last: a long list of records repeats a few of them.
#[derive(Default)]
struct Members {
    known: Vec<(String, Member)>,
}

impl Members {
    fn of(&mut self, name: &str) -> Member {
        if let Some((_, m)) = self.known.iter().find(|(n, _)| n == name) {
            return *m;
        }
        let folded = folded(name);
        let text = is_text(&folded);
        let m = Member {
            path: !text && names_a_file(&folded),
            text,
            filter: matches!(folded.as_str(), "glob" | "include" | "globs" | "includes" | "filter" | "fileglob" | "filepattern"),
            pattern: folded == "pattern" || folded == "patterns",
        };
        if self.known.len() < 64 {
            self.known.push((name.into(), m));
        }
        m
    }
}

/// Names of files beyond which a call names more than can be judged.
const MOST: usize = 4096;

struct Walk<'a> {
    tool: &'a str,
    cwd: Option<String>,
    members: Members,
    seen: BTreeSet<(bool, String)>,
    out: Vec<Name>,
}

impl Walk<'_> {
    fn push(&mut self, text: &str, glob: bool) {
        if self.out.len() > MOST || !self.seen.insert((glob, text.into())) {
            return;
        }
        let look = Look { glob, command: false, tree: self.tool == "grep", wide: false };
        self.out.push(Name { text: text.into(), cwd: self.cwd.clone(), look, by: self.tool.into() });
    }

    fn value(&mut self, m: Member, v: &Value) {
        if self.out.len() > MOST {
            return; // it cannot be judged: the rest does not matter
        }
        for (n, v) in v.members() {
            let m = self.members.of(n);
            self.value(m, v);
        }
        for v in v.items() {
            self.value(m, v);
        }
        if let Some(s) = v.as_text() {
            self.text(m, s);
        }
    }

    fn text(&mut self, m: Member, s: &str) {
        // A file's name is judged however long it is: the host says that it cannot tell what a longer one means.
        if s.is_empty() || !m.path && (s.len() > 4096 || s.contains('\n')) {
            return;
        }
        let scheme = s.find(':').filter(|at| s[*at..].starts_with("://")).map(|at| s[..at].trim());
        let url = scheme.map_or(false, |scheme| !scheme.eq_ignore_ascii_case("file"));
        if url && !m.path || self.tool == "web_fetch" && !s.trim_start().to_lowercase().starts_with("file:") {
            return;
        }
        match self.tool {
            // A search shows what is in the files that it takes; one for names shows names, but of a protected place.
            "grep" if m.filter => self.push(s, true),
            "glob" if m.pattern => {
                let root = s.find(&['*', '?', '[', '{'][..]).and_then(|at| s[..at].rfind('/')).map(|end| &s[..end]);
                if let Some(root) = root.filter(|r| !r.is_empty()) {
                    self.push(root, false);
                }
            }
            _ if m.path => self.push(s, false),
            _ if self.known() || m.text => {}
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

/// Members that name a file or a directory, unless they hold text.
fn names_a_file(name: &str) -> bool {
    let names = ["path", "file", "dir", "folder", "uri", "target", "dest", "source", "src", "root", "attachment", "location", "document"];
    names.iter().any(|p| name.contains(p))
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
