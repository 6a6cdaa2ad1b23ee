//! What a tool's arguments name, and which texts they would put where.

use belay_hook::json::Value;

/// A text that would be written, and the file, where a tool says it.
pub struct Written {
    pub file: String,
    pub text: String,
}

const OLD: &[&str] = &["old", "search", "find", "pattern"];

fn strings(name: &str, v: &Value, each: &mut dyn FnMut(&str, &str)) {
    for (n, v) in v.members() {
        strings(&n.to_lowercase(), v, each);
    }
    for v in v.items() {
        strings(name, v, each);
    }
    if let Some(s) = v.as_text() {
        each(name, s);
    }
}

/// The strings that name files, at any depth. `both`: where a move or link begins and ends counts as well.
pub fn paths(args: &Value, both: bool) -> Vec<String> {
    let mut out = Vec::new();
    strings("", args, &mut |name, s| {
        let names = ["path", "file", "dir", "folder", "target", "dest", "uri"].iter().any(|p| name.contains(p))
            || both && ["source", "src", "from", "to", "old", "new", "link"].iter().any(|p| name == *p || name.starts_with(p));
        let holds = ["text", "content", "contents", "type", "string"].iter().any(|s| name.ends_with(s));
        if names && !holds && !s.contains('\n') && !s.is_empty() {
            out.push(s.to_string());
        }
    });
    out
}

/// The texts that a file tool would write: everything that neither names a file nor is looked for.
pub fn written(args: &Value) -> Vec<Written> {
    let file = paths(args, false).into_iter().next().unwrap_or_default();
    let mut out = Vec::new();
    strings("", args, &mut |name, s| {
        let holds = ["content", "text", "new", "source", "insert", "replace", "body", "data", "code", "append"];
        if holds.iter().any(|h| name.contains(h)) && !OLD.iter().any(|o| name.contains(o)) && !s.is_empty() {
            out.push(Written { file: file.clone(), text: s.to_string() });
        }
    });
    out
}

/// The files that a patch changes, by its own lines, and what it adds to each.
pub fn patched(text: &str) -> Vec<Written> {
    let mut out: Vec<Written> = Vec::new();
    let mut begin = |name: &str| {
        let name = name.trim().split('\t').next().unwrap_or("").trim_matches('"');
        let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
        out.push(Written { file: name.to_string(), text: String::new() });
    };
    const MARKS: &[&str] = &[
        "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:", "+++ ", "--- ", "rename to ", "rename from ",
        "copy to ", "Index: ", "+++\t",
    ];
    let mut added: Vec<(usize, &str)> = Vec::new();
    let mut count = 0;
    for line in text.lines() {
        if let Some(n) = MARKS.iter().find_map(|p| line.trim_start().strip_prefix(p)) {
            begin(n);
            count += 1;
        } else if let Some(n) = line.strip_prefix("diff --git ") {
            for n in n.split(" b/").take(2) {
                begin(n);
                count += 1;
            }
        } else if let (Some(l), true) = (line.strip_prefix('+'), count > 0) {
            added.push((count - 1, l));
        }
    }
    for (at, l) in added {
        out[at].text.push_str(l);
        out[at].text.push('\n');
    }
    out
}

/// The strings of any name that hold a patch.
pub fn patches(args: &Value) -> Vec<String> {
    let mut out = Vec::new();
    strings("", args, &mut |_, s| {
        if s.contains('\n') {
            out.push(s.to_string());
        }
    });
    out
}
