//! Puts a long result of a tool aside as an artifact, and leaves a capsule in its place: how long it was, its first and
//! last lines, and the lines between them that speak of errors.

use belay_hook as hook;
use hook::json::{object, Value};
use hook::{config, input, Artifact, Kind, Level};

hook::export!(post_tool => post_tool);

/// Artifacts and their texts are bounded by the host: 64 effects, 256 KiB each with all its JSON.
const MAX_CAPSULES: usize = 8;
const MAX_ARTIFACT: usize = 240 << 10;
/// What all artifacts and capsules of a turn may take; the host takes 1 MiB.
const MAX_EFFECTS: usize = 1016 << 10;
/// Bytes of an artifact's name before what is added to it; the host takes 256 in all.
const MAX_NAME: usize = 120;
/// Bytes of a path; the host takes no longer one. What stands deeper stays as it is.
const MAX_PATH: usize = 1024;

fn post_tool() -> hook::Result {
    let max = config::int("/max_bytes").unwrap_or(8192).max(256) as usize;
    let mut room = MAX_EFFECTS;
    match input::kind("/result") {
        Some(Kind::Text) => {
            let text = input::text("/result").unwrap_or_default();
            if text.len() > max {
                encapsulate("/result", "result", &text, max, &mut room);
            }
        }
        // Results with parts, such as {"stdout": ..., "stderr": ...}: each long part by itself.
        Some(Kind::Object | Kind::Array) => {
            let json = input::get("/result").ok_or("the result cannot be read")?;
            if !has_long_text(&json, max) {
                return Ok(()); // most results, some of which have tens of thousands of members
            }
            let value = Value::parse(&json).ok_or("the result cannot be read")?;
            let mut walk = Walk { max, steps: Vec::new(), found: Vec::new() };
            walk.long_texts(&value);
            for (i, Long { path, mut name, text }) in walk.found.into_iter().enumerate() {
                if name.len() > MAX_NAME {
                    name.truncate(MAX_NAME); // ASCII only
                    name.push_str(&format!("-part{}", i + 1));
                }
                encapsulate(&path, &name, text, max, &mut room);
            }
        }
        _ => {}
    }
    Ok(())
}

/// A text that is too long, where it stands, and the name of its artifact.
struct Long<'a> {
    path: String,
    name: String,
    text: &'a str,
}

/// Whether JSON may have a text that is longer, as far as its quotes tell. An escape makes a text shorter, never longer.
fn has_long_text(json: &str, max: usize) -> bool {
    let (mut from, mut escaped, mut inside) = (0, false, false);
    for (i, b) in json.bytes().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => {
                if inside && i - from > max {
                    return true;
                }
                inside = !inside;
                from = i + 1;
            }
            _ => {}
        }
    }
    false
}

/// A step from a value to one in it.
#[derive(Clone, Copy)]
enum Step<'a> {
    Item(usize),
    Member(&'a str),
}

/// One walk over a result. Paths and names are made for what is found, so that deep results cost no more than long ones.
struct Walk<'a> {
    max: usize,
    steps: Vec<Step<'a>>,
    found: Vec<Long<'a>>, // the longest first, as many as may be put aside
}

impl<'a> Walk<'a> {
    fn long_texts(&mut self, v: &'a Value) {
        match v {
            Value::Text(text) if text.len() > self.max => self.find(text),
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.below(Step::Item(i), item);
                }
            }
            Value::Object(members) => {
                for (member, item) in members {
                    self.below(Step::Member(member), item);
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, step: Step<'a>, v: &'a Value) {
        self.steps.push(step);
        self.long_texts(v);
        self.steps.pop();
    }

    fn find(&mut self, text: &'a str) {
        let at = self.found.iter().position(|f| f.text.len() < text.len()).unwrap_or(self.found.len());
        if at == MAX_CAPSULES {
            return;
        }
        let (path, name) = self.place();
        if path.len() > MAX_PATH {
            hook::log(Level::Warn, "a long text lies too deep to be put aside, so it stays as it is");
            return;
        }
        self.found.insert(at, Long { path, name, text });
        self.found.truncate(MAX_CAPSULES);
    }

    /// The path of the value, and the name of its artifact.
    fn place(&self) -> (String, String) {
        let (mut path, mut name) = ("/result".to_string(), "result".to_string());
        for step in &self.steps {
            let (pointer, short) = match step {
                Step::Item(i) => (format!("/{}", i), i.to_string()),
                Step::Member(member) => {
                    let safe = member.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect();
                    (hook::pointer(&[member]), safe)
                }
            };
            path.push_str(&pointer);
            if name.len() <= MAX_NAME {
                name.push('-');
                name.push_str(&short);
            }
        }
        (path, name)
    }
}

/// Puts a text aside, in as many artifacts as it takes. One that does not fit as a whole stays: nothing of it is lost.
fn encapsulate(path: &str, name: &str, text: &str, max: usize, room: &mut usize) {
    let mut parts = Vec::new();
    let (mut rest, mut size) = (text, max);
    while !rest.is_empty() {
        let part = fitting(rest, MAX_ARTIFACT);
        size += escaped(part) + ARTIFACT_FRAME;
        parts.push(part);
        rest = &rest[part.len()..];
    }
    if size > *room {
        hook::log(Level::Warn, &format!("{} is too long to be put aside, so it stays as it is", path));
        return;
    }
    *room -= size;
    for (i, part) in parts.iter().enumerate() {
        let mut meta = object().with("tool", input::text("/tool").unwrap_or_default()).with("bytes", text.len() as i64);
        if parts.len() > 1 {
            meta = meta.with("part", i as i64 + 1).with("parts", parts.len() as i64);
        }
        let name = part_name(name, i);
        hook::put_artifact(Artifact { name: &name, media_type: "text/plain; charset=utf-8", text: part, meta });
    }
    let mut place = part_name(name, 0);
    if parts.len() > 1 {
        place = format!("{} and its parts up to {}", place, part_name(name, parts.len() - 1));
    }
    hook::rewrite_text(path, &capsule(text, &place, max));
}

/// What an artifact takes beside its text.
const ARTIFACT_FRAME: usize = 640;

/// The first part has the plain name.
fn part_name(name: &str, part: usize) -> String {
    if part == 0 {
        format!("{}.txt", name)
    } else {
        format!("{}.{}.txt", name, part + 1)
    }
}

/// The bytes of a text as a JSON string.
fn escaped(text: &str) -> usize {
    text.chars().map(cost).sum()
}

fn cost(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

/// The longest beginning of a text that takes at most `max` bytes as a JSON string.
fn fitting(text: &str, max: usize) -> &str {
    let mut size = 0;
    for (i, c) in text.char_indices() {
        size += cost(c);
        if size > max {
            return &text[..i];
        }
    }
    text
}

/// A part of a line that is not longer than `max` bytes.
fn clip(line: &str, max: usize) -> String {
    if line.len() <= max {
        return line.to_string();
    }
    let mut at = max;
    while !line.is_char_boundary(at) {
        at -= 1;
    }
    format!("{}…", &line[..at])
}

const SIGNS: [&str; 8] = ["error", "fail", "panic", "fatal", "exception", "traceback", "warning", "denied"];

/// Whether a line speaks of trouble. One pass: results can be long, and fuel is counted.
fn telling(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.iter().enumerate().any(|(i, b)| {
        matches!(b | 0x20, b'e' | b'f' | b'p' | b't' | b'w' | b'd')
            && SIGNS.iter().any(|s| bytes.get(i..i + s.len()).map_or(false, |part| part.eq_ignore_ascii_case(s.as_bytes())))
    })
}

/// About half the room for the beginning and the end, the rest for telling lines between.
fn capsule(text: &str, name: &str, max: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let room = max / 4;
    let width = room.min(200) - 4; // a clipped line ends in … and a line break
    let mut head = Vec::new();
    let mut used = 0;
    for line in &lines {
        let line = clip(line, width);
        used += line.len() + 1;
        if used > room {
            break;
        }
        head.push(line);
    }
    let mut tail = Vec::new();
    used = 0;
    for line in lines[head.len()..].iter().rev() {
        let line = clip(line, width);
        used += line.len() + 1;
        if used > room {
            break;
        }
        tail.push(line);
    }
    tail.reverse();
    let between = &lines[head.len()..lines.len() - tail.len()];
    let mut out = format!("[{} bytes in {} lines; all of it is in the artifact {}]\n", text.len(), lines.len(), name);
    out.push_str(&head.join("\n"));
    if between.is_empty() {
        // Only parts of long lines are missing.
        return format!("{}\n[…]\n{}", out, tail.join("\n"));
    }
    out.push_str(&format!("\n[… {} lines left out", between.len()));
    let mut told = String::new();
    for (i, line) in between.iter().enumerate() {
        if telling(line) {
            let line = format!("{}: {}\n", head.len() + i + 1, clip(line, width.min(160) - 8));
            if told.len() + line.len() > room {
                break;
            }
            told.push_str(&line);
        }
    }
    out.push_str(if told.is_empty() { "]\n" } else { "; among them, with their numbers:]\n" });
    out.push_str(&told);
    if !told.is_empty() {
        out.push_str("[…]\n");
    }
    out.push_str(&tail.join("\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capsule_is_short_and_tells_errors() {
        let mut text: String = (1..2000).map(|i| format!("line {i} of the log\n")).collect();
        text.insert_str(text.len() / 2, "ERROR: no such table\n");
        let c = capsule(&text, "result.txt", 2048);
        assert!(c.len() < 2048, "{}", c.len());
        assert!(c.starts_with("[") && c.contains("\nline 1 of") && c.ends_with("line 1999 of the log"), "{c}");
        assert!(c.contains("ERROR: no such table"), "{c}");
    }

    #[test]
    fn one_endless_line() {
        let c = capsule(&"é".repeat(100_000), "result.txt", 4096);
        assert!(c.len() < 4096 && c.contains("200000 bytes in 1 lines"), "{c}");
    }

    #[test]
    fn artifacts_fit() {
        assert_eq!(fitting("a\nb\u{1}c", 9), "a\nb");
        assert_eq!(fitting("abc", 9), "abc");
    }
}
