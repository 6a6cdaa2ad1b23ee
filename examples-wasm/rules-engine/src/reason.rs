//! Reasons that name what they are about: {command}, {path} and so on stand for what fulfils the rule's conditions.

use crate::facts::{Facts, Read};

const LONGEST: usize = 200; // bytes of one value

/// The reason with its names replaced. `{{` is a brace.
pub fn of(text: &str, facts: &Facts) -> Read<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('{') {
            out.push('{');
            rest = behind;
            continue;
        }
        let (name, behind) = rest.split_once('}').ok_or("the index of the rules has a reason that does not end")?;
        let met = facts.met.borrow();
        let value = match name {
            "command" => met.command.as_ref().map(|c| c.1.clone()),
            "program" => met.command.as_ref().map(|c| c.0.clone()),
            "path" => met.path.clone(),
            "host" => met.host.clone(),
            "tool" => facts.text("/tool").map(|t| t.to_string()),
            "agent" => facts.text("/agent").map(|a| a.to_string()),
            _ => return Err("the index of the rules has a reason that this engine does not know".into()),
        };
        show(&mut out, value.as_deref().unwrap_or("?"));
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// A text that may hold what a caller wrote, so that each character of it is seen.
pub fn seen(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    show(&mut out, text);
    out
}

/// Appends a value, so that each character of it is seen: those that a screen would not show stand as \u{...}.
fn show(out: &mut String, value: &str) {
    let from = out.len();
    for c in value.chars() {
        let before = out.len();
        if hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        if out.len() - from > LONGEST {
            out.truncate(before);
            out.push_str("...");
            return;
        }
    }
}

/// Whether a character is of the Unicode classes Cc, Cf, Zl or Zp.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
            | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short_and_seen() {
        let mut out = String::new();
        show(&mut out, "rm \u{202e}x\n\u{e9}");
        assert_eq!(out, "rm \\u{202e}x\\u{a}\u{e9}");
        out.clear();
        show(&mut out, &"\u{e9}".repeat(200));
        assert_eq!(out, "\u{e9}".repeat(100) + "...");
    }
}
