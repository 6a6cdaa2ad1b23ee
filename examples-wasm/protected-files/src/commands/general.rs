//! Programs without rules of their own: what their options and operands are is told by their names.

use belay_hook::analysis::{Command, Word};

use super::options::short;
use super::Names;
use crate::programs::{self, Use};
use crate::strings;

/// A program by what its options are called.
pub(super) fn opened(n: &mut Names<'_>, name: &str, args: &[Word], c: &Command) {
    let expression = programs::takes_expression(name);
    let in_place = matches!(name, "sed" | "gsed" | "perl" | "ruby")
        && args.iter().any(|w| w.text.starts_with("--in-place") || short(&w.text).map_or(false, |s| s.contains('i') && !s.starts_with(&['I', 'M', 'e'][..])));
    if in_place {
        return; // it changes the file, and shows nothing of it
    }
    let plain_reader = programs::reads_plainly(name);
    let copier = programs::copies(name);
    let recursive = c.has_flag('r', &["recursive"]) || c.has_flag('R', &[]) || matches!(name, "rg" | "ag" | "ack");
    n.look.tree = programs::goes_deep(name) || programs::searches(name) && recursive;
    n.look.wide = programs::goes_deep(name) && !matches!(name, "ln" | "gln" | "mv" | "gmv");
    let mut operands: Vec<&Word> = Vec::new();
    let mut excluding = false;
    let mut into = false; // -t names where to
    let mut i = 0;
    let mut ended = false;
    while i < args.len() {
        let w = &args[i];
        let t = w.text.as_str();
        let next = args.get(i + 1).filter(|v| !v.text.starts_with('-') || v.text == "-" || v.text.starts_with("- "));
        i += 1;
        if ended || !t.starts_with('-') || t == "-" || t.starts_with("- ") {
            if !excluding {
                operands.push(w);
            }
            continue;
        }
        excluding = name == "zip" && matches!(t, "-x" | "--exclude");
        if t == "--" {
            ended = true;
        } else if let Some(long) = t.strip_prefix("--").or_else(|| if programs::code_option(name, t) { None } else { one_dash(name, t) }) {
            let (option, value) = match long.split_once('=') {
                Some((o, v)) => (o, Some(v)),
                None => (long, None),
            };
            into |= copier && option == "target-directory";
            let used = programs::long_option(name, option);
            match (value, used) {
                (Some(v), Use::Reads) => n.word(&Word { text: v.into(), glob: w.glob || chosen(option), ..w.clone() }),
                (None, Use::Reads) if chosen(option) && next.is_some() => {
                    n.push(&args[i].text, true);
                    i += 1;
                }
                (None, Use::Names) if next.is_some() && programs::takes_value(option, plain_reader || copier) => i += 1,
                _ => {}
            }
        } else if programs::code_option(name, t) {
            if let Some(v) = next {
                n.text(&v.text);
                i += 1;
            } else if let Some(v) = t.strip_prefix('+') {
                n.text(v);
            }
        } else {
            let letters = &t[1..];
            let first = letters.chars().next().unwrap_or(' ');
            let last = letters.chars().last().unwrap_or(' ');
            into |= copier && last == 't' && matches!(name, "cp" | "mv" | "ln" | "install");
            if letters.len() > 1 && programs::short_option(name, first) == Use::Reads {
                n.word(&Word { text: letters[first.len_utf8()..].into(), ..w.clone() });
            }
            let takes = programs::short_option(name, last) == Use::Names;
            if programs::searches(name) && letters == "g" && next.is_some() {
                n.push(&args[i].text, true);
                i += 1;
            } else if takes && letters.len() == 1 && next.is_some() {
                i += 1;
            } else if into && last == 't' && next.is_some() || letters.len() == 1 && "mbtd".contains(first) && next.map_or(false, says) {
                i += 1;
            }
        }
    }
    if expression && !operands.is_empty() && !args.iter().any(|w| programs::gives_expression(name, &w.text)) {
        let program = operands.remove(0);
        if matches!(name, "sed" | "gsed") {
            strings::sed_files(&program.text).iter().for_each(|f| n.push(f, false));
        } else if programs::interprets(name) {
            n.text(&program.text);
        }
    }
    let skip = match name {
        "zip" | "rar" => 1,
        "7z" | "7za" | "7zz" | "ar" => 2,
        _ => 0,
    };
    operands.drain(..skip.min(operands.len()));
    if copier && !into && operands.len() > 1 {
        operands.pop();
    }
    let s3 = name == "aws" && matches!(operands.get(1).map(|w| w.text.as_str()), Some("cp" | "mv" | "sync"));
    if s3 && operands.len() > 3 {
        operands.pop();
    }
    for w in operands {
        if !w.text.contains(char::is_whitespace) || plain_reader || copier {
            n.word(w);
        } else if !programs::speaks(name) {
            n.line(&w.text);
        }
    }
}

/// Whether the value of an option such as -m is a sentence, as it is of several words.
fn says(w: &Word) -> bool {
    w.text.contains(char::is_whitespace)
}

/// Options of a search whose value chooses files.
fn chosen(option: &str) -> bool {
    matches!(option, "include" | "glob" | "iglob")
}

/// Long options that begin with one dash, as programs in Go and Java, and PowerShell, have them.
fn one_dash<'a>(name: &str, t: &'a str) -> Option<&'a str> {
    let rest = t.strip_prefix('-')?;
    let word = rest.split('=').next().unwrap_or("");
    let bundles = || programs::reads_plainly(name) || programs::copies(name) || matches!(name, "perl" | "ruby" | "python" | "zip");
    if (word.len() > 2 || word == "ca") && !bundles() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') && !rest.contains('/') {
        return Some(rest);
    }
    None
}
