//! The arguments of a command: operands, options and their values, as getopt reads them.

use alloc::vec::Vec;

use crate::hook::analysis::{Command, Word};

/// The arguments that are no options. `valued` are the options whose value is the next argument: short ones as their
/// letters, long ones by name.
pub fn operands<'a>(c: &'a Command, letters: &str, long: &[&str]) -> Vec<&'a Word> {
    let mut out = Vec::new();
    let mut args = c.args().iter();
    while let Some(w) = args.next() {
        let text = w.text.as_str();
        if text == "--" {
            out.extend(args);
            break;
        }
        if let Some(name) = text.strip_prefix("--") {
            if !name.contains('=') && long.contains(&name) {
                args.next();
            }
        } else if text.len() > 1 && text.starts_with('-') {
            // The value of the first letter that has one is the rest of the word, or the next.
            let last = text.char_indices().skip(1).find(|(_, ch)| letters.contains(*ch));
            if last.map_or(false, |(i, ch)| i + ch.len_utf8() == text.len()) {
                args.next();
            }
        } else {
            out.push(w);
        }
    }
    out
}

/// Whether a long option is given, in full or as a beginning of it that getopt takes, of at least three letters.
pub fn long(c: &Command, name: &str) -> bool {
    c.args().iter().map(|w| w.text.as_str()).take_while(|t| *t != "--").any(|t| {
        t.strip_prefix("--").map_or(false, |given| {
            let given = given.split('=').next().unwrap_or("");
            given.len() >= 3 && name.starts_with(given) || given == name
        })
    })
}

/// Whether a short or a long option is given.
pub fn flag(c: &Command, short: char, name: &str) -> bool {
    c.has_flag(short, &[]) || long(c, name)
}

/// The values of an option: in the next word, behind `=`, or behind its letter, also in a bundle of letters.
pub fn values<'a>(c: &'a Command, options: &[&str]) -> Vec<&'a str> {
    let mut out = Vec::new();
    let args = c.args();
    for (i, w) in args.iter().enumerate() {
        for o in options {
            if w.text == *o {
                out.extend(args.get(i + 1).map(|v| v.text.as_str()));
            } else if let Some(rest) = w.text.strip_prefix(o) {
                if o.starts_with("--") {
                    out.extend(rest.strip_prefix('='));
                } else if !rest.is_empty() {
                    out.push(rest);
                }
            } else if let Some(rest) = bundled(&w.text, o) {
                if rest.is_empty() {
                    out.extend(args.get(i + 1).map(|v| v.text.as_str()));
                } else {
                    out.push(rest);
                }
            }
        }
    }
    out
}

/// What follows the letter of an option in a bundle of letters, as in `-qO`.
fn bundled<'a>(text: &'a str, option: &str) -> Option<&'a str> {
    let letter = option.strip_prefix('-').filter(|l| l.len() == 1)?;
    let bundle = text.strip_prefix('-').filter(|b| !b.starts_with('-'))?;
    let (before, rest) = bundle.split_once(letter)?;
    before.bytes().all(|b| b.is_ascii_alphabetic()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::tests::command;

    #[test]
    fn reading() {
        let texts = |line: &str| -> Vec<String> {
            operands(&command(line), "mo", &["owner"]).iter().map(|w| w.text.clone()).collect()
        };
        assert_eq!(texts("install -m 755 -o root a b"), ["a", "b"]);
        assert_eq!(texts("install -m755 --owner root a -v b"), ["a", "b"]);
        assert_eq!(texts("install -vm 755 --owner=root a -- -b"), ["a", "-b"]);
        assert!(long(&command("rm --rec x"), "recursive") && !long(&command("rm -- --recursive"), "recursive"));
        assert_eq!(values(&command("curl -o a --output b --output=c -od"), &["-o", "--output"]), ["a", "b", "c", "d"]);
        assert_eq!(values(&command("wget -qO a -nvOb"), &["-O"]), ["a", "b"]);
    }
}
