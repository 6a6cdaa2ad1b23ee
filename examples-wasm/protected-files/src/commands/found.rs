//! Names that one command finds and another one opens: by find, xargs, a pipe or a loop.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use belay_hook::analysis::{Command, Shell, Word};

use super::plain;
use crate::names::Name;
use crate::programs;
use crate::rules::Look;

/// Stands for the names that another command finds: those of xargs, and {} of find.
pub(super) const FOUND: &str = "{}";

/// Whether another command hands names to this one, or to a shell that it is in.
pub(super) fn handed(c: &Command) -> bool {
    c.via.iter().any(|v| FINDERS.contains(&v.split(' ').next().unwrap_or("")))
}

const FINDERS: &[&str] = &["find", "gfind", "fd", "fdfind", "xargs", "gxargs", "parallel"];

pub(super) fn in_loop(c: &Command) -> bool {
    c.context.iter().any(|x| x == "loop")
}

/// Adds, for a name that stands for others, those others.
pub(super) fn replace(own: &mut Vec<Name>, words: &[Word], stands: impl Fn(&str) -> bool) {
    if let Some(sample) = own.iter().find(|n| stands(&n.text)).cloned() {
        for w in words {
            let look = Look { glob: w.glob, ..sample.look };
            own.push(Name { text: w.text.clone(), look, cwd: None, by: sample.by.clone() });
        }
    }
}

/// The arguments of a command without those of a command that it runs, which is listed itself.
pub(super) fn visible(shell: &Shell, at: usize) -> Cow<[Word]> {
    let c = &shell.commands[at];
    let mut args = c.args();
    for inner in shell.commands.iter().skip(at + 1).filter(|o| o.via.len() > c.via.len()) {
        let n = inner.words.len();
        if n > 0 && n < c.words.len() && c.words[c.words.len() - n..].iter().zip(&inner.words).all(|(a, b)| a.text == b.text) {
            args = &args[..c.words.len() - n - 1];
            break;
        }
    }
    let pipe = c.stdin_from.is_some() && programs::lists_input(&c.name);
    if pipe || c.args_open && c.via.last().map_or(false, |v| matches!(v.as_str(), "xargs" | "gxargs" | "parallel")) {
        let mut args = args.to_vec();
        args.push(plain(FOUND));
        return args.into();
    }
    args.into()
}

/// What the commands of a text name for others, each looked at once: a pipe may have hundreds of commands, and each hands
/// on what those before it have named.
pub(super) struct Finds<'a> {
    shell: &'a Shell,
    produced: Vec<Vec<Word>>,                 // by each command
    by: RefCell<BTreeMap<String, Vec<Word>>>, // by all commands of a name, and what is piped to them
}

impl<'a> Finds<'a> {
    pub(super) fn new(shell: &'a Shell) -> Finds<'a> {
        Finds { shell, produced: shell.commands.iter().map(produced).collect(), by: RefCell::default() }
    }

    /// The names that find, fd or a pipe hand to the command at a place.
    pub(super) fn to(&self, at: usize, looped: &[Word]) -> Vec<Word> {
        let mut out = looped.to_vec();
        out.extend(self.piped(&[at], false));
        let mut by = self.by.borrow_mut();
        for via in self.shell.commands[at].via.iter().map(|v| v.split(' ').next().unwrap_or("")).filter(|v| FINDERS.contains(v)) {
            if !by.contains_key(via) {
                let all: Vec<usize> = (0..self.produced.len()).filter(|i| self.shell.commands[*i].name == via).collect();
                by.insert(via.to_string(), self.piped(&all, true));
            }
            out.extend(by[via].iter().cloned());
        }
        once(out)
    }

    /// What the commands before some commands in their pipes name, and those themselves where they count.
    fn piped(&self, some: &[usize], themselves: bool) -> Vec<Word> {
        let mut seen = vec![false; self.produced.len()];
        let mut out = Vec::new();
        for i in some {
            let mut from = if themselves { Some(*i) } else { self.shell.commands[*i].stdin_from };
            while let Some(i) = from.filter(|i| seen.get(*i) == Some(&false)) {
                seen[i] = true;
                out.extend(self.produced[i].iter().cloned());
                from = self.shell.commands[i].stdin_from;
            }
        }
        once(out)
    }

    /// Names that loops go through: those that a pipe hands to `read`, or that a substitution prints.
    pub(super) fn by_loops(&self) -> Vec<Word> {
        let mut out = Vec::new();
        for (i, c) in self.shell.commands.iter().enumerate() {
            if matches!(c.name.as_str(), "read" | "mapfile" | "readarray") {
                out.extend(self.piped(&[i], false));
            } else if c.context.iter().any(|x| x == "substitution" || x == "process_substitution") {
                out.extend(self.produced[i].iter().cloned());
            }
        }
        once(out)
    }
}

/// The words, each once.
fn once(words: Vec<Word>) -> Vec<Word> {
    let mut seen = BTreeSet::new();
    let first: Vec<bool> = words.iter().map(|w| seen.insert((w.text.as_str(), w.glob))).collect();
    drop(seen);
    let mut first = first.into_iter();
    words.into_iter().filter(|_| first.next() == Some(true)).collect()
}

/// The names that a command prints: patterns of find, operands of ls and echo, and what a filter looks for.
pub(super) fn produced(c: &Command) -> Vec<Word> {
    let args = c.args();
    match c.name.as_str() {
        "find" | "gfind" => {
            let mut out = Vec::new();
            for (i, w) in args.iter().enumerate() {
                let before = |n: usize| i.checked_sub(n).map_or("", |j| args[j].text.as_str());
                let not = matches!(before(2), "!" | "-not") || args.get(i + 1).map_or(false, |n| n.text == "-prune");
                match before(1) {
                    "-name" | "-iname" if !not => out.push(pattern(&w.text)),
                    "-path" | "-ipath" | "-wholename" | "-iwholename" if !not => out.push(pattern(&w.text)),
                    "-regex" | "-iregex" if !not => out.push(pattern(&unescaped(&w.text))),
                    _ => {}
                }
            }
            if out.is_empty() {
                let places = args.iter().take_while(|w| !w.text.starts_with(&['-', '(', '!'][..]));
                out.extend(places.map(|w| pattern(&format!("{}/*", w.text.trim_end_matches('/')))));
            }
            out
        }
        "fd" | "fdfind" => {
            let mut out = Vec::new();
            for (i, w) in args.iter().enumerate() {
                let before = i.checked_sub(1).map_or("", |j| args[j].text.as_str());
                match before {
                    "-e" | "--extension" => out.push(pattern(&format!("x.{}", w.text))),
                    "-E" | "--exclude" => {}
                    "-x" | "-X" | "--exec" | "--exec-batch" => break,
                    _ if !w.text.starts_with('-') => out.push(pattern(&unescaped(&w.text))),
                    _ => {}
                }
            }
            out
        }
        "grep" | "egrep" | "rg" if args.iter().any(|w| w.text == "-v" || w.text == "--invert-match") => Vec::new(),
        "grep" | "egrep" | "rg" => args.iter().filter(|w| !w.text.starts_with('-')).map(|w| pattern(&unescaped(&w.text))).collect(),
        "ls" | "echo" | "printf" | "realpath" | "readlink" | "git" | "locate" | "mdfind" | "compgen" => args
            .iter()
            .filter(|w| !w.text.starts_with('-') && !w.text.contains('%'))
            .flat_map(|w| {
                let glob = w.glob || c.name == "git" || c.name == "locate";
                w.text.split_whitespace().map(move |t| Word { text: t.into(), known: true, glob, tilde: false, ..Word::default() }).collect::<Vec<_>>()
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn pattern(text: &str) -> Word {
    Word { text: text.into(), known: true, glob: true, tilde: false, ..Word::default() }
}

/// A regular expression as a name: \.env$ is .env.
fn unescaped(text: &str) -> String {
    text.replace(".*", "*").chars().filter(|c| !matches!(c, '\\' | '^' | '$' | '(' | ')')).collect()
}
