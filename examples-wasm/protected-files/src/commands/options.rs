//! Options and operands of a command, for programs whose options are known.

use belay_hook::analysis::Word;

/// The letters of short options in one word.
pub(super) fn short(t: &str) -> Option<&str> {
    t.strip_prefix('-').filter(|r| !r.is_empty() && !r.starts_with('-'))
}

/// The value of options: -v VALUE, -vVALUE, --volume VALUE, --volume=VALUE.
pub(super) fn values<'a>(args: &'a [Word], shorts: &[char], longs: &[&str]) -> Vec<(&'a str, bool)> {
    let mut out = Vec::new();
    for (i, w) in args.iter().enumerate() {
        let next = args.get(i + 1);
        if let Some(long) = w.text.strip_prefix("--") {
            match long.split_once('=') {
                Some((o, v)) if longs.contains(&o) => out.push((v, w.glob)),
                None if longs.contains(&long) => out.extend(next.map(|n| (n.text.as_str(), n.glob))),
                _ => {}
            }
        } else if let Some(s) = short(&w.text) {
            if let Some(at) = s.find(shorts) {
                let rest = &s[at + 1..];
                if at > 0 && !s[..at].chars().all(|c| c.is_ascii_alphabetic()) {
                    continue;
                }
                match rest {
                    "" => out.extend(next.map(|n| (n.text.as_str(), n.glob))),
                    v => out.push((v.strip_prefix('=').unwrap_or(v), w.glob)),
                }
            }
        }
    }
    out
}

pub(super) fn operands<'a>(args: &'a [Word], takes: &[&str]) -> Vec<&'a Word> {
    let mut out = Vec::new();
    let mut skip = false;
    for w in args {
        if skip {
            skip = false;
        } else if takes.contains(&w.text.as_str()) {
            skip = true;
        } else if !w.text.starts_with('-') {
            out.push(w);
        }
    }
    out
}
