//! What a call is about, as far as a rule can ask: found when the first rule asks, and once.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use belay_hook as hook;
use hook::analysis::{self, Command, Shell, Word};
use hook::input;
use hook::json::Value;
use hook::Kind;

use crate::arguments::{self, Class};
use crate::conditions::Pattern;
use crate::leaves::Leaves;
use crate::programs;

pub type Read<T> = Result<T, hook::Fail>;

/// Things found, and why there may be others that cannot be told.
pub struct Found<T> {
    pub list: Vec<T>,
    pub doubt: Option<String>,
    /// Patterns of the shell find names that begin with a dot, too.
    pub hidden: bool,
    /// Why files or hosts may be touched that cannot be told, by programs of other languages.
    pub touches: Option<String>,
}

impl<T> Found<T> {
    fn new() -> Found<T> {
        Found { list: Vec::new(), doubt: None, hidden: false, touches: None }
    }

    pub fn doubt(&mut self, why: &str) {
        self.doubt.get_or_insert_with(|| why.to_string());
    }
}

/// A path in all the spellings that a rule is compared with, or a pattern of a shell that stands for paths.
pub struct PathFact {
    pub path: String,
    pub keys: Vec<String>,
    pub glob: bool,
}

type Once<T> = RefCell<Option<Rc<T>>>;

#[derive(Default)]
pub struct Facts {
    shell: Once<Found<Command>>,
    paths: Once<Found<PathFact>>,
    hosts: Once<Found<String>>,
    tools: Once<Vec<String>>,
    folders: Once<(String, String)>,
    args: Once<String>, // their source
    searched: Cell<usize>,
    leaves: RefCell<Vec<(String, Rc<Leaves>)>>,
    /// By what the conditions of the rule that is looked at now hold.
    pub met: RefCell<Met>,
}

/// What of a call fulfils conditions: for reasons, and for `belay rules explain`.
#[derive(Default)]
pub struct Met {
    pub command: Option<(String, String)>, // the program, and all of it
    pub path: Option<String>,
    pub host: Option<String>,
}

fn once<T>(slot: &Once<T>, make: impl FnOnce() -> Read<T>) -> Read<Rc<T>> {
    if let Some(v) = &*slot.borrow() {
        return Ok(v.clone());
    }
    let v = Rc::new(make()?);
    *slot.borrow_mut() = Some(v.clone());
    Ok(v)
}

const STEPS: usize = 50_000_000; // of patterns in texts; the host counts four units of fuel for each
const EACH: usize = 64; // bytes that a question costs beside its texts
const MANY: usize = 4096; // hosts of one call
const MANY_PATHS: usize = 1024; // of one call

impl Facts {
    /// The names under which rules see the tool: its own, and those of what the call carries.
    pub fn tools(&self) -> Read<Rc<Vec<String>>> {
        once(&self.tools, || {
            let mut names: Vec<String> = input::text("/tool").into_iter().collect();
            if let Some(judged) = input::value("/judged") {
                names.extend(judged.list("as").iter().filter_map(Value::as_text).map(String::from));
            }
            Ok(names)
        })
    }

    /// Every command that would run.
    pub fn commands(&self) -> Read<Rc<Found<Command>>> {
        once(&self.shell, || {
            let mut found = Found::new();
            let lines = match analysis::input_lines() {
                Some(lines) => lines,
                None => {
                    if input::text("/tool").as_deref() == Some("exec") {
                        found.doubt("the call runs a command, but not in a form that can be read");
                    }
                    return Ok(found);
                }
            };
            if lines.more {
                found.doubt("the call runs more than can be told");
            }
            if lines.foreign {
                found.doubt("the tool runs code of another language");
            }
            for line in &lines.lines {
                match analysis::shell_parse(&line.text) {
                    Ok(shell) => {
                        programs::add(&mut found)?;
                        add_shell(&mut found, shell);
                    }
                    Err(hook::Errno::TooLarge) => found.doubt("the command is too long to be read"),
                    Err(e) => return Err(e.into()),
                }
            }
            Ok(found)
        })
    }

    /// Every path that the call names.
    pub fn paths(&self) -> Read<Rc<Found<PathFact>>> {
        once(&self.paths, || self.find_paths())
    }

    fn find_paths(&self) -> Read<Found<PathFact>> {
        let mut found = Found::new();
        // By directory, so that few questions to the host are needed.
        let mut wanted: Vec<(Option<String>, BTreeSet<String>)> = vec![(None, BTreeSet::new())];
        let mut more = false;
        self.each_argument(&mut found, |class, text| {
            let mine = &mut wanted[0].1;
            if class.is_path() && !mine.contains(&*text) {
                mine.insert(text.clone().into_owned());
            }
            if class.is_patch() {
                mine.extend(patched(&text));
            }
            more = mine.len() > MANY_PATHS;
            !more
        });
        if let Some(judged) = input::value("/judged") {
            for at in judged.list("paths") {
                match at.as_text().and_then(input::text) {
                    Some(path) => drop(wanted[0].1.insert(path)),
                    None => found.doubt("the call names a path that cannot be read"),
                }
            }
            if judged.is_true("more") {
                found.doubt("the call names more paths than can be told");
            }
        }
        let commands = self.commands()?;
        for why in commands.doubt.iter().chain(&commands.touches) {
            found.doubt(why);
        }
        found.hidden = commands.list.iter().any(|c| {
            let says = |w: &Word| w.text.contains("dotglob") || w.text.to_ascii_lowercase().replace('_', "").contains("globdots");
            matches!(c.name.as_str(), "shopt" | "setopt" | "set" | "bash" | "zsh") && c.args().iter().any(says)
        });
        for c in &commands.list {
            self.command_paths(c, &mut found, &mut wanted);
        }
        let mut left = MANY_PATHS;
        for (cwd, paths) in &wanted {
            more = more || paths.len() > left;
            let paths: Vec<&str> = paths.iter().map(String::as_str).take(left).collect();
            left -= paths.len();
            for some in paths.chunks(64) {
                match analysis::path_resolve(some, cwd.as_deref()) {
                    Ok(resolved) => found.list.extend(resolved.into_iter().map(|p| PathFact { path: p.path, keys: p.keys, glob: false })),
                    Err(hook::Errno::TooLarge) => found.doubt("a path is too long to be read"),
                    Err(e) => return Err(e.into()),
                }
            }
        }
        if more {
            found.doubt("the call names more paths than can be told");
        }
        Ok(found)
    }

    /// Calls f for the texts among the arguments, until it says that it is enough.
    fn each_argument<T>(&self, found: &mut Found<T>, f: impl FnMut(Class, Cow<'_, str>) -> bool) {
        if matches!(input::kind("/args"), Some(Kind::Object | Kind::Array)) {
            let source = self.args.borrow_mut().get_or_insert_with(|| Rc::new(input::get("/args").unwrap_or_default())).clone();
            if !arguments::texts(&source, f) {
                found.doubt("the arguments cannot be read");
            }
        }
    }

    fn command_paths(&self, c: &Command, found: &mut Found<PathFact>, wanted: &mut Vec<(Option<String>, BTreeSet<String>)>) {
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
                found.list.push(PathFact { path: String::new(), keys: vec![joined.to_ascii_lowercase()], glob: true });
                return;
            }
            match wanted.iter_mut().find(|(d, _)| *d == dir) {
                Some((_, paths)) => drop(paths.insert(joined)),
                None => wanted.push((dir, BTreeSet::from([joined]))),
            }
        };
        let mut unknown = None;
        if !NO_FILES.contains(&c.name.as_str()) {
            for w in c.args() {
                if !w.known {
                    unknown = Some(w.text.clone());
                }
                for part in parts(&w.text) {
                    add(w, part);
                }
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

    /// The home directory and the working directory, as they stand in keys.
    pub fn folders(&self) -> Read<Rc<(String, String)>> {
        once(&self.folders, || {
            let resolved = analysis::path_resolve(&["~", "."], None)?;
            let key = |i: usize| resolved.get(i).and_then(|p| p.keys.first()).cloned().unwrap_or_default();
            Ok((key(0), key(1)))
        })
    }

    /// Every host that the call names.
    pub fn hosts(&self) -> Read<Rc<Found<String>>> {
        once(&self.hosts, || {
            let mut found = Found::new();
            let commands = self.commands()?;
            let mut hosts = Found::new();
            self.each_argument(&mut found, |class, text| {
                if !class.is_no_call() {
                    add_host(&mut hosts, &text, class.is_host());
                }
                hosts.list.len() <= MANY
            });
            let mut found = Found { list: hosts.list, doubt: found.doubt.or(hosts.doubt), ..found };
            for why in commands.doubt.iter().chain(&commands.touches) {
                found.doubt(why);
            }
            for c in &commands.list {
                let network = NETWORK.contains(&c.name.as_str());
                let mut first = true;
                let mut flag = false;
                for w in c.args() {
                    if !w.known && (network || w.text.contains("://")) {
                        found.doubt(&format!("which host {} stands for cannot be told beforehand", cut(&w.text)));
                        continue;
                    }
                    let is_flag = w.text.starts_with('-');
                    // Behind a flag stands its value or the host: both are looked at.
                    let bare = network && !is_flag && (first || flag || w.text.contains('.'));
                    let text = if is_flag { w.text.split_once('=').map_or("", |(_, v)| v) } else { w.text.as_str() };
                    add_host(&mut found, text, bare && !flag);
                    if bare && flag && looks_like_host(text) {
                        add_host(&mut found, text, true);
                    }
                    first = first && is_flag;
                    flag = is_flag && !w.text.contains('=');
                }
                if network && c.args_open {
                    found.doubt(&format!("{} gets more arguments than can be told beforehand", cut(&c.name)));
                }
            }
            if found.list.len() > MANY {
                found.doubt("the call names more hosts than can be told");
                found.list.truncate(MANY);
            }
            Ok(found)
        })
    }

    /// Whether so many bytes may be searched for a pattern: a turn has fuel for so much, and for the rest of the rules.
    pub fn may_search(&self, bytes: usize, pattern: &Pattern) -> bool {
        self.searched.set(self.searched.get().saturating_add((bytes + EACH).saturating_mul(pattern.steps)));
        self.searched.get() <= STEPS
    }

    /// The texts below a pointer; names of members are none.
    pub fn leaves(&self, at: &str) -> Rc<Leaves> {
        if let Some((_, v)) = self.leaves.borrow().iter().find(|(a, _)| a == at) {
            return v.clone();
        }
        let found = Rc::new(Leaves::of(input::kind(at), &input::get(at).unwrap_or_default(), at));
        self.leaves.borrow_mut().push((at.to_string(), found.clone()));
        found
    }
}

fn add_shell(found: &mut Found<Command>, shell: Shell) {
    if !shell.ok {
        found.doubt("the command cannot be read to its end");
    }
    if shell.truncated {
        found.doubt("the command runs more than can be told, so it cannot be read to its end");
    }
    if let Some(u) = shell.unknown.first() {
        found.doubt(&format!("what this would run cannot be told beforehand: {}", cut(&u.raw)));
    }
    if let Some(c) = shell.commands.iter().find(|c| c.name.is_empty() && !c.words.is_empty()) {
        found.doubt(&format!("which program this runs cannot be told beforehand: {}", cut(&c.raw)));
    }
    found.list.extend(shell.commands);
}

pub fn cut(s: &str) -> &str {
    let mut end = s.len().min(120);
    while !s.is_char_boundary(end) {
        end -= 1;
    }
    &s[..end]
}

/// The files that a patch names.
fn patched(patch: &str) -> Vec<String> {
    const HEADS: [&str; 8] =
        ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "--- ", "+++ ", "rename from ", "rename to "];
    let of = |line: &str| HEADS.iter().find_map(|h| line.strip_prefix(h)).map(|name| name.trim().to_string());
    let mut out: Vec<String> = patch.lines().filter_map(of).take(MANY_PATHS + 1).collect();
    // The prefixes of git diff are no directories.
    let plain: Vec<String> = out.iter().filter_map(|n| n.strip_prefix("a/").or_else(|| n.strip_prefix("b/"))).map(String::from).collect();
    out.extend(plain);
    out
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

const NETWORK: [&str; 26] = [
    "curl", "wget", "aria2c", "http", "https", "xh", "fetch", "nc", "ncat", "netcat", "telnet", "ftp", "lftp", "sftp", "ssh", "scp",
    "rsync", "ping", "dig", "nslookup", "host", "mosh", "socat", "openssl", "axel", "lynx",
];

fn looks_like_host(s: &str) -> bool {
    let name = host_of(s).unwrap_or_default();
    name == "localhost" || name.rsplit_once('.').map_or(false, |(_, top)| top.len() > 1 && top.bytes().all(|b| b.is_ascii_alphabetic()))
        || name.split('.').count() == 4 && name.bytes().all(|b| b == b'.' || b.is_ascii_digit())
}

/// Notes the host of an address. bare: a text without a scheme names a host, too.
fn add_host(found: &mut Found<String>, text: &str, bare: bool) {
    if !bare && !text.as_bytes().contains(&b':') {
        return; // most texts
    }
    let address = text.contains("://");
    // user@host:path, as ssh, scp and git write it
    let remote = !address && text.split_once('@').map_or(false, |(user, rest)| !user.contains('/') && rest.contains(':'));
    if !address && !bare && !remote {
        return;
    }
    if address {
        // A text may hold several addresses.
        for part in text.split("://").skip(1) {
            push_host(found, part);
        }
        return;
    }
    push_host(found, text);
}

fn push_host(found: &mut Found<String>, rest: &str) {
    match host_of(rest) {
        Some(host) if host.is_empty() => {}
        Some(host) => found.list.push(host),
        None => found.doubt(&format!("which host {} names cannot be told", cut(rest))),
    }
}

/// The host at the start of what follows a scheme; None when programs may read it differently.
fn host_of(rest: &str) -> Option<String> {
    let end = rest.find(|c: char| matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | ')' | ' ' | '\n' | '\t' | ',')).unwrap_or(rest.len());
    let authority = &rest[..end];
    if authority.contains('\\') || authority.contains('%') || !authority.is_ascii() || authority.bytes().any(|b| b < 0x20) {
        return None;
    }
    let name = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match name.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or(""),
        None => name.split(':').next().unwrap_or(""),
    };
    Some(name.trim_end_matches('.').to_ascii_lowercase())
}
