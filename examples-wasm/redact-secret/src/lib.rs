//! Replaces secrets in messages and results by a note that says what stood there, before they are read.
//!
//! Only the secret itself goes; the text round it stays readable.

use belay_hook as hook;
use hook::analysis::find_secrets;
use hook::json::Value;
use hook::{config, input};
use std::collections::VecDeque;
use together::{Together, SHORT};

mod parts;
mod together;

hook::export!(pre_plan => pre_plan, pre_send => pre_send, post_receive => post_receive, post_tool => post_tool);

fn pre_plan() -> hook::Result {
    clean(&["/text"])
}

fn pre_send() -> hook::Result {
    clean(&["/system", "/messages"])
}

fn post_receive() -> hook::Result {
    clean(&["/text", "/messages"])
}

fn post_tool() -> hook::Result {
    clean(&["/result"])
}

/// One effect may have 256 KiB, with its path.
const MAX_EFFECT: usize = 250 << 10;
/// Each text that may hold a secret is looked at by itself, which the fuel has to last for. Two documents share it.
const MAX_SUSPECTS: usize = 7000;

/// What the operator wants.
struct Options {
    leave: Vec<String>,
    allow: Vec<String>,
    with: String,
    shorten: bool,
}

impl Options {
    fn read() -> Options {
        let texts = |path| -> Vec<String> {
            let list = config::value(path).unwrap_or(Value::Null);
            list.items().iter().filter_map(Value::as_text).map(str::to_string).collect()
        };
        Options {
            leave: texts("/leave"),
            allow: texts("/allow"),
            with: config::text("/with").unwrap_or_else(|| "[{kind} removed]".to_string()),
            shorten: config::text("/too_long").as_deref() != Some("block"),
        }
    }

    /// Whether a secret that was found may stay.
    fn stays(&self, kind: &str, secret: &str) -> bool {
        self.leave.iter().any(|k| k == kind) || self.allow.iter().any(|p| fits(p, secret))
    }
}

/// Whether a text fits a pattern in which `*` is any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let mut rest = match text.strip_prefix(parts.next().unwrap_or("")) {
        Some(rest) => rest,
        None => return false,
    };
    let parts: Vec<&str> = parts.collect();
    let (last, between) = match parts.split_last() {
        None => return rest.is_empty(),
        Some(split) => split,
    };
    for part in between {
        rest = match rest.find(part) {
            Some(at) => &rest[at + part.len()..],
            None => return false,
        };
    }
    rest.ends_with(last)
}

fn clean(roots: &[&str]) -> hook::Result {
    let options = Options::read();
    let mut left = MAX_SUSPECTS;
    for root in roots {
        let mut value = match input::value(root) {
            Some(value) => value,
            None => continue,
        };
        let suspects = suspects(&value)?;
        left = left.checked_sub(suspects.len()).ok_or("a document holds more secrets than can be taken out")?;
        let mut search = Search { options: &options, suspects, texts: 0, passed: 0, changed: Vec::new() };
        search.walk(&mut value, "")?;
        parts::rewrite(root, &value, &search.changed)?;
    }
    Ok(())
}

/// The beginning and the end of a text that is too long for an effect.
fn shortened(text: &str) -> String {
    const HALF: usize = 120 << 10;
    let (head, tail) = (boundary(text, HALF), boundary(text, text.len() - HALF));
    let note = format!("\n[{} bytes left out: a text with secrets is shortened to 240 KiB]\n", tail - head);
    [&text[..head], &note, &text[tail..]].concat()
}

/// The numbers of the texts of a document that may hold a secret, as [`Search::walk`] counts them.
fn suspects(value: &Value) -> Result<VecDeque<usize>, hook::Fail> {
    // Memory comes back only at the end of a turn, so that the texts are measured before they are joined.
    let (mut short, mut bytes) = (0, 0);
    gather(value, "", &mut |name, text| {
        if text.len() <= SHORT {
            short += 1;
            bytes += label(name).iter().map(|part| part.len()).sum::<usize>() + text.len();
        }
    });
    let (mut together, mut long, mut texts) = (Together::new(short, bytes), Vec::new(), 0);
    gather(value, "", &mut |name, text| {
        match text.len() {
            0..=SHORT => together.add(texts, &label(name), text),
            _ => long.push(texts),
        }
        texts += 1;
    });
    let mut list = together.suspects()?;
    list.append(&mut long);
    list.sort_unstable();
    Ok(list.into())
}

/// Tells of each text that is long enough for a secret, with the name of its member.
fn gather(v: &Value, name: &str, tell: &mut dyn FnMut(&str, &str)) {
    match v {
        Value::Text(text) if text.len() >= LEAST => tell(name, text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, "", tell)),
        Value::Object(members) => members.iter().for_each(|(member, item)| gather(item, member, tell)),
        _ => {}
    }
}

/// The search for secrets in one document.
struct Search<'a> {
    options: &'a Options,
    suspects: VecDeque<usize>,
    texts: usize,        // so many were passed that are long enough for a secret
    passed: usize,       // and so many in all
    changed: Vec<usize>, // which of all held a secret
}

impl Search<'_> {
    /// Takes the secrets out of the texts of v, whose member has the name.
    fn walk(&mut self, v: &mut Value, name: &str) -> hook::Result {
        if self.suspects.is_empty() {
            return Ok(()); // nothing behind the last one matters
        }
        match v {
            Value::Text(text) => self.text(text, name)?,
            Value::Array(items) => {
                for item in items.iter_mut() {
                    self.walk(item, "")?;
                }
            }
            Value::Object(members) => {
                for (member, item) in members {
                    self.walk(item, member)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &mut String, name: &str) -> hook::Result {
        self.passed += 1;
        if text.len() < LEAST {
            return Ok(());
        }
        self.texts += 1;
        if self.suspects.front() != Some(&(self.texts - 1)) {
            return Ok(());
        }
        self.suspects.pop_front();
        if let Some(mut clean) = masked(name, text, self.options)? {
            if clean.len() > MAX_EFFECT {
                if !self.options.shorten {
                    return Err("a text holds a secret and is too long to take it out".into());
                }
                clean = shortened(&clean);
            }
            *text = clean;
            self.changed.push(self.passed - 1);
        }
        Ok(())
    }
}

/// Nothing that authenticates is shorter, and most strings of a request are.
const LEAST: usize = 6;

/// Members that hold prose or output, whose name says nothing about their content.
const PLAIN: [&str; 9] = ["text", "content", "role", "type", "stdout", "stderr", "output", "message", "id"];

/// What goes to the detector before a text: a telling name helps it. An element of a list has no name of its own.
fn label(name: &str) -> [&str; 2] {
    match name.bytes().all(|b| b.is_ascii_digit()) || PLAIN.contains(&name) {
        true => ["", ""],
        false => [name, ": "],
    }
}

/// The text without its secrets, or `None` when there are none.
fn masked(name: &str, text: &str, options: &Options) -> Result<Option<String>, hook::Fail> {
    let label = label(name).concat();
    let whole = format!("{}{}", label, text);
    let mut out = String::new();
    let mut done = label.len(); // up to here the text is in out, or is to be left out
    let mut from = 0;
    let mut found = false;
    while from < whole.len() {
        let to = boundary(&whole, from + WINDOW);
        let (secrets, more) = find_secrets(&whole[from..to])?;
        if more {
            return Err("a text holds more secrets than can be listed".into());
        }
        for s in secrets {
            let (start, end) = (from + s.start, from + s.end);
            if end <= done || end > whole.len() || !whole.is_char_boundary(start) || !whole.is_char_boundary(end) {
                continue;
            }
            if options.stays(&s.kind, &whole[start..end]) {
                continue;
            }
            if start > done {
                out.push_str(&whole[done..start]);
            }
            out.push_str(&options.with.replace("{kind}", &s.kind));
            done = end;
            found = true;
        }
        if to == whole.len() {
            break;
        }
        from = boundary(&whole, to - OVERLAP);
        // What the next window cannot see any more is final.
        if from > done {
            out.push_str(&whole[done..from]);
            done = from;
        }
    }
    if !found {
        return Ok(None);
    }
    out.push_str(&whole[done..]);
    Ok(Some(out))
}

/// The host looks at 256 KiB at a time. Windows overlap, so that a secret on an edge is whole in one of them.
const WINDOW: usize = 250 << 10;
const OVERLAP: usize = 16 << 10;

fn boundary(s: &str, at: usize) -> usize {
    let mut at = at.min(s.len());
    while !s.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_allowed_values() {
        for (pattern, text, want) in [
            ("AKIAEXAMPLE", "AKIAEXAMPLE", true),
            ("AKIA*", "AKIAEXAMPLE", true),
            ("*EXAMPLE", "AKIAEXAMPLE", true),
            ("*IA*MP*", "AKIAEXAMPLE", true),
            ("*", "", true),
            ("AKIA*X", "AKIAEXAMPLE", false),
            ("AKIA", "AKIAEXAMPLE", false),
            ("a*ab", "ab", false),
        ] {
            assert_eq!(fits(pattern, text), want, "{} {}", pattern, text);
        }
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let text = format!("head{}\u{e4}tail", "\u{e4}".repeat(200 << 10));
        let short = shortened(&text);
        assert!(short.len() < MAX_EFFECT && short.starts_with("head") && short.ends_with("tail"), "{}", short.len());
        let left: usize = short.split('[').nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(short.contains("bytes left out") && left > 100 << 10);
    }
}
