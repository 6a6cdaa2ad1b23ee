//! Which parts of a document are replaced: as deep as they can be for there to be few enough of them.
//!
//! Nothing is kept for a changed text but its number: a document may have thousands, each below hundreds of names.

use crate::{hook, MAX_EFFECT};
use hook::json::Value;

/// A turn may have 64 effects, and two documents share them.
const MAX_EFFECTS: usize = 30;
/// An effect's path may have so many bytes.
const MAX_PATH: usize = 1024;

/// What replacing at one depth comes to.
#[derive(Clone, Copy, Default)]
struct Level {
    nodes: usize,  // values at this depth that hold changed texts, or are one
    leaves: usize, // of them, changed texts
    path: usize,   // the longest path of the nodes
}

/// Rewrites what has changed below the root of the document: `changed` are the numbers of its texts, counted
/// from 0, in their order.
pub fn rewrite(root: &str, value: &Value, changed: &[usize]) -> hook::Result {
    if changed.is_empty() {
        return Ok(());
    }
    let mut levels = Vec::new();
    Walk { changed, texts: 0 }.measure(value, 0, root.len(), &mut levels);
    // At a depth, a part is what stands there, or a changed text above it.
    let (mut above, mut path, mut best) = (0, 0, None);
    for (depth, level) in levels.iter().enumerate() {
        path = path.max(level.path);
        if level.nodes + above > MAX_EFFECTS || path > MAX_PATH {
            break; // deeper there are no fewer, and no shorter paths
        }
        best = Some(depth);
        above += level.leaves;
    }
    let depth = best.ok_or("a document holds more secrets than can be taken out")?;
    let mut effects = Vec::new();
    Walk { changed, texts: 0 }.collect(value, depth, &mut root.to_string(), &mut effects)?;
    for (path, effect) in effects {
        match effect {
            Effect::Text(text) => hook::rewrite_text(&path, text),
            Effect::Json(json) => hook::rewrite(&path, &json),
        }
    }
    Ok(())
}

enum Effect<'a> {
    Text(&'a str),
    Json(String),
}

/// Passes over the texts of a document and knows which of them have changed.
struct Walk<'a> {
    changed: &'a [usize],
    texts: usize,
}

impl<'a> Walk<'a> {
    /// Whether the next text has changed.
    fn passes(&mut self) -> bool {
        self.texts += 1;
        if self.changed.first() != Some(&(self.texts - 1)) {
            return false;
        }
        self.changed = &self.changed[1..];
        true
    }

    /// Notes what a value at the depth, whose path has so many bytes, would add; whether it holds a changed text.
    fn measure(&mut self, v: &Value, depth: usize, path: usize, levels: &mut Vec<Level>) -> bool {
        if self.changed.is_empty() {
            return false;
        }
        let (mut holds, mut leaf) = (false, false);
        match v {
            Value::Text(_) => {
                leaf = self.passes();
                holds = leaf;
            }
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    holds |= self.measure(item, depth + 1, path + 1 + digits(i), levels);
                }
            }
            Value::Object(members) => {
                for (name, item) in members {
                    holds |= self.measure(item, depth + 1, path + 1 + escaped(name), levels);
                }
            }
            _ => {}
        }
        if holds {
            if levels.len() <= depth {
                levels.resize(depth + 1, Level::default());
            }
            let level = &mut levels[depth];
            level.nodes += 1;
            level.leaves += leaf as usize;
            level.path = level.path.max(path);
        }
        holds
    }

    /// Makes the effects of the parts that are so many steps below v, which stands at the path.
    fn collect(
        &mut self,
        v: &'a Value,
        below: usize,
        path: &mut String,
        effects: &mut Vec<(String, Effect<'a>)>,
    ) -> hook::Result {
        if self.changed.is_empty() {
            return Ok(());
        }
        match v {
            Value::Text(text) => {
                if self.passes() {
                    effects.push((path.clone(), Effect::Text(text)));
                }
            }
            _ if below == 0 => {
                let before = self.changed.len();
                self.skip(v);
                if self.changed.len() < before {
                    let json = v.to_json();
                    if json.len() > MAX_EFFECT {
                        return Err("a document holds secrets and is too long to take them out".into());
                    }
                    effects.push((path.clone(), Effect::Json(json)));
                }
            }
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.step(item, &i.to_string(), below, path, effects)?;
                }
            }
            Value::Object(members) => {
                for (name, item) in members {
                    self.step(item, name, below, path, effects)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn step(
        &mut self,
        v: &'a Value,
        name: &str,
        below: usize,
        path: &mut String,
        effects: &mut Vec<(String, Effect<'a>)>,
    ) -> hook::Result {
        if !matches!(v, Value::Text(_) | Value::Array(_) | Value::Object(_)) {
            return Ok(());
        }
        let len = path.len();
        path.push('/');
        for c in name.chars() {
            match c {
                '~' => path.push_str("~0"),
                '/' => path.push_str("~1"),
                c => path.push(c),
            }
        }
        let done = self.collect(v, below - 1, path, effects);
        path.truncate(len);
        done
    }

    fn skip(&mut self, v: &Value) {
        match v {
            Value::Text(_) => {
                self.passes();
            }
            Value::Array(items) => items.iter().for_each(|item| self.skip(item)),
            Value::Object(members) => members.iter().for_each(|(_, item)| self.skip(item)),
            _ => {}
        }
    }
}

fn digits(mut n: usize) -> usize {
    let mut digits = 1;
    while n > 9 {
        n /= 10;
        digits += 1;
    }
    digits
}

/// The length of a name in a pointer.
fn escaped(name: &str) -> usize {
    name.len() + name.bytes().filter(|b| matches!(b, b'~' | b'/')).count()
}
