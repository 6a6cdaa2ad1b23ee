//! The paths that arguments and commands name.

use std::collections::BTreeMap;

use belay_hook as hook;
use hook::analysis::{self, Command, Word};

use crate::bytes;
use crate::facts::{cut, Found, PathFact, Read, MORE_PATHS};
use crate::few::Few;
use crate::work::Work;

const MANY: usize = 1024; // of one call
const TOGETHER: usize = 64; // of one question to the host
const REQUEST: usize = 16 << 10; // bytes of one
const LONGEST: usize = 4096; // bytes of a path that the host resolves

// What resolving a path takes, in fuel: for each, for each of its bytes, and for each directory on the way.
const PATH: usize = 45_000;
const BYTE: usize = 400;
const ELEMENT: usize = 1500;

/// Paths that are to be resolved, and patterns that stand for paths.
pub struct Wanted(Few<Told>);

/// How a path is written.
#[derive(PartialEq)]
enum Told {
    /// From a directory, or from that in which the call starts.
    From(Option<String>),
    /// A pattern of the shell.
    Glob,
}

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted(Few::new(MANY))
    }
}

impl Wanted {
    /// Notes a path.
    pub fn add(&mut self, dir: &Option<String>, path: &str) {
        if self.0.takes(path.len()) {
            self.0.add(path, Told::From(dir.clone()), dir.as_ref().map_or(0, |dir| bytes::number(dir.as_bytes())));
        }
    }

    /// Asks the host what the paths stand for.
    pub fn resolve(mut self, work: &Work, found: &mut Found<PathFact>) -> Read<()> {
        if self.0.more() {
            found.doubt(MORE_PATHS);
        }
        // By directory, so that few questions to the host are needed.
        let mut by: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
        for (path, told) in self.0.take() {
            match told {
                Told::Glob => found.list.push(PathFact { path: String::new(), keys: vec![path.to_ascii_lowercase()], glob: true }),
                Told::From(_) if path.len() > LONGEST => found.doubt("a path is too long to be read"),
                Told::From(dir) => by.entry(dir).or_default().push(path),
            }
        }
        for (dir, paths) in &by {
            let mut some: Vec<&str> = Vec::new();
            let mut size = 0;
            for path in paths {
                let elements = path.bytes().filter(|b| *b == b'/').count();
                if !work.take(PATH + BYTE * path.len() + ELEMENT * elements) {
                    found.doubt(&work.why());
                    return Ok(());
                }
                if some.len() >= TOGETHER || !some.is_empty() && size + path.len() > REQUEST {
                    ask(&some, dir, found)?;
                    some.clear();
                    size = 0;
                }
                size += path.len();
                some.push(path);
            }
            if !some.is_empty() {
                ask(&some, dir, found)?;
            }
        }
        Ok(())
    }
}

fn ask(paths: &[&str], dir: &Option<String>, found: &mut Found<PathFact>) -> Read<()> {
    match analysis::path_resolve(paths, dir.as_deref()) {
        Ok(resolved) => found.list.extend(resolved.into_iter().map(|p| PathFact { path: p.path, keys: p.keys, glob: false })),
        Err(hook::Errno::TooLarge) => found.doubt("a path is too long to be read"),
        Err(e) => return Err(e.into()),
    }
    Ok(())
}

/// Notes the paths that a command names.
pub fn of_command(c: &Command, found: &mut Found<PathFact>, wanted: &mut Wanted) {
    // These print or compute, and open no file that an argument names.
    const NO_FILES: [&str; 12] = ["echo", "printf", "true", "false", ":", "sleep", "exit", "return", "kill", "export", "local", "seq"];
    let cwd = match &c.cwd {
        None => Some(None),
        Some(w) if w.known && w.text.starts_with('/') => Some(Some(w.text.clone())),
        Some(_) => None,
    };
    // Below the directory in which the call starts, or the home directory.
    let below = c.cwd.as_ref().filter(|w| w.known && !w.glob).map(|w| w.text.as_str());
    let mut add = |w: &Word, text: &str| {
        if text.is_empty() {
            return;
        }
        let joined = match (below, &cwd) {
            (Some(dir), None) if !text.starts_with('/') && !w.tilde => format!("{}/{}", dir, text),
            _ => text.to_string(),
        };
        let dir = match &cwd {
            Some(dir) => dir.clone(),
            None if text.starts_with('/') || w.tilde || below.is_some() => None,
            None => {
                found.doubt("a command runs in a directory that cannot be told beforehand");
                None
            }
        };
        if w.glob {
            let joined = match &dir {
                Some(dir) if !joined.starts_with('/') && !w.tilde => format!("{}/{}", dir, joined),
                _ => joined,
            };
            wanted.0.add(&joined, Told::Glob, 1);
            return;
        }
        wanted.add(&dir, &joined);
    };
    let mut unknown = None;
    if !NO_FILES.contains(&c.name.as_str()) {
        for w in c.args() {
            if !w.known {
                unknown = Some(w.text.clone());
            }
            parts(&w.text).into_iter().for_each(|part| add(w, part));
        }
    }
    for r in c.redirects.iter().filter(|r| !r.op.contains("<<") && !r.op.contains('&') || r.op == "&>" || r.op == "&>>") {
        if !r.target.known {
            unknown = Some(r.target.text.clone());
        }
        add(&r.target, &r.target.text);
    }
    if let Some(text) = unknown {
        found.doubt(&format!("which file {} stands for cannot be told beforehand", cut(&text)));
    }
    if c.args_open && !NO_FILES.contains(&c.name.as_str()) {
        found.doubt(&format!("{} gets more arguments than can be told beforehand", cut(&c.name)));
    }
}

/// Notes the files that a patch names. It returns how many lines it has looked at.
pub fn of_patch(patch: &str, wanted: &mut Wanted) -> usize {
    const HEADS: [&str; 8] =
        ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "--- ", "+++ ", "rename from ", "rename to "];
    let (mut from, mut lines) = (0, 0);
    while from < patch.len() {
        lines += 1;
        let end = bytes::either(patch.as_bytes(), from, b'\n', b'\n');
        let line = &patch[from..end];
        from = end + 1;
        if !matches!(line.as_bytes().first(), Some(b'*' | b'-' | b'+' | b'r')) {
            continue;
        }
        if let Some(name) = HEADS.iter().find_map(|h| line.strip_prefix(h)).map(str::trim) {
            // The prefixes of git diff are no directories.
            let plain = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
            wanted.add(&None, name);
            plain.into_iter().for_each(|plain| wanted.add(&None, plain));
        }
    }
    lines
}

/// The parts of a word that may name a file: all of it, the value of NAME=value or --flag=value, what follows @ (curl) or
/// a colon (docker -v, scp), and the value that is written behind a short flag.
fn parts(word: &str) -> Vec<&str> {
    let mut out = vec![word];
    if let Some((_, value)) = word.split_once('=') {
        out.push(value);
    }
    if let Some((_, value)) = word.split_once('@') {
        out.push(value);
    }
    if word.starts_with('-') && !word.starts_with("--") && word.is_char_boundary(2.min(word.len())) {
        out.push(&word[2.min(word.len())..]);
    }
    if !word.contains("://") {
        out.extend(word.split(':').filter(|p| p.len() < word.len()));
    }
    out.retain(|p| !p.is_empty() && p.len() <= 4096);
    out
}
