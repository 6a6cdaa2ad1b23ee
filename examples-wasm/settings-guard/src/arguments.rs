//! What a tool's arguments name, and which texts they would put where.

use belay_hook::json::Value;

/// A text that would be written, and the file, where a tool says it.
pub struct Written {
    pub file: String,
    pub text: String,
}

const OLD: &[&str] = &["old", "search", "find", "pattern"];

/// The strings of the members whose lower-case name is wanted, at any depth; those of an array have its member's name.
fn strings<'a>(args: &'a Value, wanted: impl Fn(&str) -> bool) -> Vec<&'a str> {
    // A long list of records repeats a few names.
    let mut known: Vec<(&'a str, bool)> = Vec::new();
    let top = wanted("");
    let mut out = Vec::new();
    let mut ask = |name: &'a str| match known.iter().find(|(n, _)| *n == name) {
        Some((_, w)) => *w,
        None => {
            let w = wanted(&name.to_lowercase());
            if known.len() < 64 {
                known.push((name, w));
            }
            w
        }
    };
    walk(args, top, &mut ask, &mut out);
    out
}

fn walk<'a>(v: &'a Value, take: bool, ask: &mut impl FnMut(&'a str) -> bool, out: &mut Vec<&'a str>) {
    for (n, v) in v.members() {
        let take = ask(n);
        walk(v, take, ask, out);
    }
    for v in v.items() {
        walk(v, take, ask, out);
    }
    if let (true, Some(s)) = (take, v.as_text()) {
        out.push(s);
    }
}

/// The strings that name files, at any depth. `both`: where a move or link begins and ends counts as well.
pub fn paths(args: &Value, both: bool) -> Vec<String> {
    let found = strings(args, |name| {
        let names = ["path", "file", "dir", "folder", "target", "dest", "uri"].iter().any(|p| name.contains(p))
            || both && ["source", "src", "from", "to", "old", "new", "link"].iter().any(|p| name.starts_with(p));
        names && !["text", "content", "contents", "type", "string"].iter().any(|s| name.ends_with(s))
    });
    found.into_iter().filter(|s| !s.contains('\n') && !s.is_empty()).map(String::from).collect()
}

/// The texts that a file tool would write, and the files that it names, each once: everything that neither names a file
/// nor is looked for. Where none is named there is one without a name.
pub fn written(args: &Value) -> (Vec<String>, Vec<&str>) {
    let mut files = paths(args, false);
    files.sort_unstable();
    files.dedup();
    if files.is_empty() {
        files.push(String::new());
    }
    let texts = strings(args, |name| {
        let holds = ["content", "text", "new", "source", "insert", "replace", "body", "data", "code", "append"];
        holds.iter().any(|h| name.contains(h)) && !OLD.iter().any(|o| name.contains(o))
    });
    (files, texts.into_iter().filter(|s| !s.is_empty()).collect())
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
pub fn patches(args: &Value) -> Vec<&str> {
    strings(args, |_| true).into_iter().filter(|s| s.contains('\n')).collect()
}
