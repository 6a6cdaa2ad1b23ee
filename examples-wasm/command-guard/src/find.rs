//! What `find` and its like look through, what they choose there, and what a listing hands on.

use alloc::vec::Vec;

use crate::args;
use crate::hook::analysis::{Command, Word};
use crate::places::{self, Place};
use crate::text::Text;

/// A search through directories.
pub struct Search {
    /// Where it begins.
    pub places: Vec<Place>,
    /// It chooses among what it finds, by name or age or the like.
    pub chooses: bool,
    /// It deletes by itself.
    pub deletes: bool,
}

/// The search that a command makes, or the listing that it prints.
pub fn search(t: &Text, c: &Command) -> Option<Search> {
    match c.name.as_str() {
        "find" | "gfind" | "bfs" => Some(find(t, c)),
        "fd" | "fdfind" => Some(fd(t, c)),
        "printf" | "echo" if c.args().iter().any(|w| w.glob) => Some(listing(t, c)),
        "ls" | "gls" | "dir" | "exa" | "eza" | "lsd" | "du" | "tree" => Some(listing(t, c)),
        _ => None,
    }
}

const TERMS: [&str; 18] = [
    "-type", "-xtype", "-mindepth", "-maxdepth", "-depth", "-d", "-xdev", "-mount", "-print", "-print0", "-delete", "-ls",
    "-noleaf", "-follow", "-warn", "-nowarn", "-true", "-ignore_readdir_race",
];

fn find(t: &Text, c: &Command) -> Search {
    let mut rest = c.args();
    // -H, -L, -P, -O3, -D x and, on BSD, -E, -X, -f path before the places.
    while let Some(w) = rest.first() {
        match w.text.as_str() {
            "-D" => rest = rest.get(2..).unwrap_or(&[]),
            "-f" => rest = &rest[1..],
            text if matches!(text, "-H" | "-L" | "-P" | "-E" | "-X" | "-x" | "-s" | "--") || text.starts_with("-O") => rest = &rest[1..],
            _ => break,
        }
    }
    let terms = rest.iter().position(|w| w.known && w.text.starts_with(&['-', '(', '!', ','][..])).unwrap_or(rest.len());
    let (starts, terms) = rest.split_at(terms);
    let mut places: Vec<Place> = starts.iter().map(|w| places::of(t, c, w)).collect();
    if places.is_empty() {
        places.push(places::named(t, c, "."));
    }
    let mut chooses = false;
    let mut deletes = false;
    let mut i = 0;
    while let Some(w) = terms.get(i) {
        i += 1;
        match w.text.as_str() {
            "-delete" => deletes = true,
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                i += terms[i..].iter().position(|w| w.text == ";" || w.text == "+").map_or(terms.len(), |end| end + 1);
            }
            "-type" | "-xtype" | "-mindepth" | "-maxdepth" => i += 1,
            "-name" | "-iname" | "-path" | "-wholename" if terms.get(i).map_or(false, |v| v.text.trim_matches(&['*', '.', '/'][..]).is_empty()) => {
                i += 1;
            }
            "(" | ")" | "!" | "-not" | "-o" | "-or" | "-a" | "-and" | "," => {}
            text if TERMS.contains(&text) || text.starts_with("-fprint") => {}
            _ => chooses = true,
        }
    }
    Search { places, chooses, deletes }
}

fn fd(t: &Text, c: &Command) -> Search {
    // What it runs ends the arguments of its own.
    let end = c.args().iter().position(|w| matches!(w.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
    let own = Command { words: c.words[..end.map_or(c.words.len(), |i| i + 1)].to_vec(), ..c.clone() };
    let valued = ["type", "extension", "exclude", "max-depth", "min-depth", "size", "threads", "base-directory", "changed-within"];
    let words: Vec<Word> = args::operands(&own, "teEdSjCo", &valued).into_iter().cloned().collect();
    let pattern = words.first().map_or("", |w| w.text.as_str());
    let chooses = !pattern.trim_matches(&['.', '*', '^', '$'][..]).is_empty()
        || own.args().iter().any(|w| {
            matches!(w.text.as_str(), "-e" | "-S" | "-g" | "--extension" | "--size" | "--changed-within" | "--changed-before")
                || w.text.starts_with("--extension=")
        });
    let mut places: Vec<Place> = words.iter().skip(1).map(|w| places::of(t, c, w)).collect();
    places.extend(args::values(&own, &["--base-directory", "--search-path"]).iter().map(|v| places::named(t, c, v)));
    if places.is_empty() {
        places.push(places::named(t, c, "."));
    }
    Search { places, chooses, deletes: false }
}

fn listing(t: &Text, c: &Command) -> Search {
    let prints = matches!(c.name.as_str(), "printf" | "echo");
    let mut places: Vec<Place> = args::operands(c, "IL", &[]).into_iter().filter(|w| !prints || w.glob).map(|w| places::of(t, c, w)).collect();
    if places.is_empty() {
        places.push(places::named(t, c, "."));
    }
    Search { places, chooses: false, deletes: false }
}

/// Programs that let some lines of a listing through.
const CHOOSING: [&str; 14] =
    ["grep", "egrep", "fgrep", "rg", "head", "tail", "awk", "gawk", "sed", "fzf", "uniq", "comm", "jq", "cut"];

/// The searches whose results a command may get where its own words do not tell: as its input, through a wrapper that
/// reads it, or in a substitution.
pub fn handing_on(t: &Text, c: &Command) -> Vec<Search> {
    let mut out = Vec::new();
    let mut from: Vec<&Command> = Vec::new();
    let mut chosen = false;
    for one in core::iter::once(c).chain(t.ancestors(c)) {
        from.extend(search_command(one));
        for feeder in t.feeders(one) {
            chosen = chosen || CHOOSING.contains(&feeder.name.as_str());
            from.push(feeder);
            from.extend(t.handed(feeder)); // sudo find ...
        }
    }
    for w in c.words.iter().filter(|w| !w.known) {
        for &i in &w.from {
            if let Some(source) = t.shell.commands.get(i) {
                chosen = chosen || CHOOSING.contains(&source.name.as_str());
                from.push(source);
                for feeder in t.feeders(source) {
                    from.push(feeder);
                }
            }
        }
    }
    for one in from {
        if let Some(mut s) = search(t, one) {
            s.chooses = s.chooses || chosen;
            out.push(s);
        }
    }
    out
}

fn search_command(c: &Command) -> Option<&Command> {
    matches!(c.name.as_str(), "find" | "gfind" | "bfs" | "fd" | "fdfind").then_some(c)
}
