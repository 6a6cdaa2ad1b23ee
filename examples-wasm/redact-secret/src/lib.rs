//! Replaces secrets in messages and results by a note that says what stood there, before anybody reads them.
//!
//! Only the secret itself goes; the text round it stays readable.

use belay_hook as hook;
use hook::analysis::find_secrets;
use hook::input;
use hook::json::Value;

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

/// A turn may have 64 effects. Beyond this many changed texts a document is replaced as a whole.
const MAX_SINGLE: usize = 24;
/// One effect may have 256 KiB, with its path. What cannot be cleaned is stopped: the hook fails, with a reason.
const MAX_EFFECT: usize = 254 << 10;

fn clean(roots: &[&str]) -> hook::Result {
    for root in roots {
        let mut value = match input::value(root) {
            Some(value) => value,
            None => continue,
        };
        let mut changed = Vec::new();
        walk(&mut value, &mut String::from(*root), "", &mut changed)?;
        if changed.len() > MAX_SINGLE {
            let json = value.to_json();
            if json.len() > MAX_EFFECT {
                return Err("a document holds secrets and is too long to take them out".into());
            }
            hook::rewrite(root, &json);
            continue;
        }
        for (path, text) in changed {
            if text.len() > MAX_EFFECT {
                return Err("a text holds a secret and is too long to take it out".into());
            }
            hook::rewrite_text(&path, &text);
        }
    }
    Ok(())
}

fn walk(v: &mut Value, path: &mut String, name: &str, changed: &mut Vec<(String, String)>) -> hook::Result {
    let here = path.len();
    match v {
        Value::Text(text) => {
            if let Some(clean) = masked(name, text)? {
                changed.push((path.clone(), clean.clone()));
                *text = clean;
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                path.push_str(&format!("/{}", i));
                walk(item, path, "", changed)?;
                path.truncate(here);
            }
        }
        Value::Object(members) => {
            for (member, item) in members {
                path.push_str(&hook::pointer(&[member]));
                walk(item, path, member, changed)?;
                path.truncate(here);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Members that hold prose or output, whose name says nothing about their content.
const PLAIN: [&str; 9] = ["text", "content", "role", "type", "stdout", "stderr", "output", "message", "id"];

/// The text without its secrets, or `None` when there are none. A telling name helps the detector, so it goes with the
/// text as `name: text`.
fn masked(name: &str, text: &str) -> Result<Option<String>, hook::Fail> {
    // Nothing that authenticates is this short, and most strings of a request are.
    if text.len() < 6 {
        return Ok(None);
    }
    let label = if name.is_empty() || PLAIN.contains(&name) { String::new() } else { format!("{}: ", name) };
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
            if start > done {
                out.push_str(&whole[done..start]);
            }
            out.push_str(&format!("[{} removed]", s.kind));
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
