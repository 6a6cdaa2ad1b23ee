//! Files that are sent, archived or served.

use belay_hook::analysis::Word;

use super::options::{short, values};
use super::Names;

/// What curl sends, and files that it reads by their address.
pub(super) fn curl(n: &mut Names<'_>, args: &[Word]) {
    for (v, glob) in values(args, &['T'], &["upload-file"]) {
        n.push(v, glob);
    }
    let data = ["data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json", "form", "form-string", "header", "url-query", "variable", "expand-data"];
    for (v, glob) in values(args, &['d', 'F', 'H'], &data) {
        if let Some(at) = v.find(&['@', '<'][..]) {
            for part in v[at + 1..].split(&[',', ';'][..]) {
                n.push(part.trim_start_matches('@'), glob);
            }
        }
    }
    for w in args.iter().filter(|w| w.text.len() > 5 && w.text[..].get(..5).map_or(false, |p| p.eq_ignore_ascii_case("file:"))) {
        n.push(&w.text, w.glob);
    }
    for (v, glob) in values(args, &[], &["url"]) {
        if v.get(..5).map_or(false, |p| p.eq_ignore_ascii_case("file:")) {
            n.push(v, glob);
        }
    }
    for w in args.iter().filter(|w| w.text.starts_with("sftp://") || w.text.starts_with("scp://")) {
        n.word(w);
    }
}

/// What tar puts into an archive.
pub(super) fn tar(n: &mut Names<'_>, args: &[Word]) {
    n.look.tree = true;
    n.look.wide = true;
    let mut mode = false;
    let mut takes_out = false;
    let mut i = 0;
    while i < args.len() {
        let t = args[i].text.as_str();
        let bundle = if i == 0 && !t.starts_with('-') { Some(t) } else { short(t) };
        i += 1;
        if let Some(letters) = bundle {
            mode |= letters.contains(&['c', 'r', 'u', 'A'][..]) && !letters.starts_with(&['C', 'T', 'X'][..]);
            takes_out |= letters.contains(&['x', 't', 'd'][..]) && !letters.contains(&['c', 'r', 'u'][..]) && !letters.starts_with(&['C', 'T', 'X', 'f'][..]);
            if letters == "C" {
                n.cwd = args.get(i).map(|d| d.text.clone());
            }
            if letters == "T" {
                if let Some(w) = args.get(i) {
                    n.push(&w.text, w.glob);
                }
            }
            if letters.ends_with(&['f', 'C', 'T', 'X', 'b', 'I', 'K', 'N'][..]) {
                i += 1;
            }
            continue;
        }
        if let Some(long) = t.strip_prefix("--") {
            mode |= matches!(long, "create" | "append" | "update" | "concatenate");
            takes_out |= matches!(long, "extract" | "get" | "list" | "diff" | "compare");
            if let Some(dir) = long.strip_prefix("directory=") {
                n.cwd = Some(dir.into());
            } else if long == "directory" {
                n.cwd = args.get(i).map(|d| d.text.clone());
                i += 1;
            } else if matches!(long, "file" | "exclude" | "exclude-from" | "transform" | "use-compress-program" | "owner" | "group" | "mode") {
                i += 1;
            }
            continue;
        }
        if mode || !takes_out {
            n.word(&args[i - 1]);
        }
    }
}

/// The directories that a server of files hands out.
pub(super) fn served(n: &mut Names<'_>, args: &[Word]) {
    n.look.tree = true;
    n.look.wide = true;
    for (v, glob) in values(args, &['d', 't'], &["directory", "docroot"]) {
        n.push(v, glob);
    }
}
