//! Where what a command reads and runs comes from: the network, as far as the same text brings it here.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::getopt::Args;
use crate::fetch::{self, Fetched};
use crate::hook::analysis::{Command, Word};
use crate::text::Text;

/// What of a text comes from the network.
#[derive(Debug, Default)]
pub struct Origin {
    /// By command: what it prints has text from the network.
    prints: Vec<bool>,
    /// Files that hold text from the network.
    files: Vec<String>,
    /// Directories with sources or archives from the network.
    trees: Vec<String>,
    /// Descriptors that are connected to the network.
    sockets: Vec<String>,
    /// Programs of other languages that fetch.
    programs: Vec<String>,
}

/// Places where programs are found by their names.
const BIN: [&str; 7] =
    ["/usr/local/bin/", "/usr/bin/", "/bin/", "~/bin/", "~/.local/bin/", "/usr/local/sbin/", "/opt/bin/"];

/// Names by which programs of other languages fetch.
const FETCHING: [&str; 18] = [
    "urlretrieve", "urlopen", "requests.", "httpx.", "http.get", "https.get", "fetch(", "DownloadFile", "DownloadString",
    "Invoke-WebRequest", "iwr ", "LWP", "open-uri", "Net::HTTP", "file_put_contents", "HTTP::Tiny", "copy('http", "copy(\"http",
];

impl Origin {
    pub fn of(t: &Text) -> Origin {
        let commands = &t.shell.commands;
        let mut o = Origin { prints: vec![false; commands.len()], ..Origin::default() };
        let fetched: Vec<Option<Fetched>> = commands.iter().map(fetch::fetched).collect();
        let socket = |c: &Command| c.redirects.iter().any(|r| is_socket(&r.target.text));
        if fetched.iter().all(Option::is_none) && !commands.iter().any(socket) && t.programs.is_empty() {
            return o;
        }
        let fetches = |text: &str| (text.contains("://") || text.contains("http")) && FETCHING.iter().any(|f| text.contains(f));
        o.programs = t.programs.iter().filter(|p| fetches(&p.text)).map(|p| p.text.clone()).collect();
        for r in commands.iter().filter(|c| c.name == "exec").flat_map(|c| &c.redirects) {
            if is_socket(&r.target.text) {
                o.sockets.push(r.fd.to_string());
            }
        }
        // Commands in >(…) are told before what they read: the second round has all.
        for _ in 0..2 {
            for (i, c) in commands.iter().enumerate() {
                o.command(t, i, c, fetched[i].as_ref());
            }
        }
        o
    }

    /// Nothing comes from the network.
    pub fn is_local(&self) -> bool {
        !self.prints.contains(&true) && self.files.is_empty() && self.trees.is_empty() && self.programs.is_empty()
    }

    fn command(&mut self, t: &Text, i: usize, c: &Command, fetched: Option<&Fetched>) {
        if let Some(f) = fetched {
            f.files.iter().for_each(|file| self.saves(path(c, file)));
            if let Some(tree) = &f.tree {
                self.grows(path(c, tree));
            }
        }
        let reads = self.reads(t, c);
        let names: Vec<String> = c.args().iter().map(|w| path(c, &w.text)).collect();
        let touches = reads || names.iter().any(|p| self.holds(p)) || c.args().iter().any(|w| self.word(t, c, w));
        self.prints[i] = self.prints[i] || fetched.map_or(touches, |f| f.prints);
        if self.prints[i] {
            for r in c.redirects.iter().filter(|r| r.op.contains('>') && !r.op.contains(">&") && r.fd != 2) {
                self.saves(path(c, &r.target.text));
            }
        }
        if touches {
            self.passes_on(c, reads, &names);
        }
    }

    /// Files that a command writes what it reads to.
    fn passes_on(&mut self, c: &Command, reads: bool, names: &[String]) {
        let args = Args::read(c.args(), "CdotO", &["output", "directory", "target-directory", "out"]);
        let operands: Vec<String> = args.operands.iter().map(|w| path(c, &w.text)).collect();
        match c.name.as_str() {
            "tee" | "sponge" if reads => operands.into_iter().for_each(|p| self.saves(p)),
            "dd" if reads => {
                c.args().iter().filter_map(|w| w.text.strip_prefix("of=")).for_each(|f| self.saves(path(c, f)));
            }
            "cp" | "mv" | "ln" | "install" | "ditto" => {
                let to = args.values(&["t", "target-directory"]).next().map(|d| path(c, d));
                let (to, from) = match (to, operands.split_last()) {
                    (Some(to), _) => (to, &operands[..]),
                    (None, Some((last, rest))) => (last.clone(), rest),
                    _ => return,
                };
                for p in from.iter().filter(|p| self.holds(p)).cloned().collect::<Vec<_>>() {
                    let inside = [to.trim_end_matches('/'), "/", last(&p)].concat();
                    if self.trees.contains(&p) {
                        self.grows(to.clone());
                    } else {
                        self.saves(to.clone());
                    }
                    self.saves(clean(&inside));
                }
            }
            "tar" | "bsdtar" | "gtar" | "unzip" | "7z" | "7za" | "unar" | "cpio" | "pax" | "jar" | "bsdcat" | "ar" | "unrar" => {
                let dir = args.values(&["C", "d", "directory"]).next().unwrap_or(".");
                self.grows(path(c, dir));
            }
            "gunzip" | "unxz" | "bunzip2" | "unzstd" | "gzip" | "xz" | "bzip2" | "zstd" | "unlzma" => {
                for p in operands {
                    if let Some((stem, _)) = p.rsplit_once('.') {
                        self.saves(stem.to_string());
                    }
                }
            }
            "gcc" | "cc" | "clang" | "g++" | "rustc" if args.values(&["o"]).next().is_none() => self.saves("a.out".into()),
            "curl" | "wget" | "grep" | "sed" | "awk" | "jq" | "sort" | "sh" | "bash" => {}
            _ if names.iter().any(|p| self.holds(p)) => {
                let outs: Vec<String> = args.values(&["o", "output", "out"]).map(|o| path(c, o)).collect();
                outs.into_iter().for_each(|p| self.saves(p));
            }
            _ => {}
        }
    }

    fn saves(&mut self, path: String) {
        if !path.is_empty() && !path.starts_with("/dev/") && !self.files.contains(&path) && self.files.len() < 256 {
            self.files.push(path);
        }
    }

    fn grows(&mut self, dir: String) {
        if !self.trees.contains(&dir) && self.trees.len() < 64 {
            self.trees.push(dir);
        }
    }

    /// Whether a file holds text from the network.
    pub fn holds(&self, path: &str) -> bool {
        if path.is_empty() || path.starts_with('-') {
            return false;
        }
        self.files.iter().any(|f| f == path || (last(f) == "*" && dir(f) == dir(path)))
            || self.programs.iter().any(|p| quotes(p, last(path)))
    }

    /// The directory from the network that a file is in.
    pub fn tree(&self, path: &str) -> bool {
        self.trees.iter().any(|t| match t.as_str() {
            "" => !path.starts_with(&['/', '~', '$'][..]) && !path.is_empty(),
            t => path.strip_prefix(t).map_or(false, |rest| rest.starts_with('/')),
        })
    }

    /// Whether what a command prints has text from the network.
    pub fn prints(&self, i: usize) -> bool {
        self.prints.get(i).copied().unwrap_or(false)
    }

    /// Whether the standard input of a command, or of one that hands it on, has text from the network.
    pub fn reads(&self, t: &Text, c: &Command) -> bool {
        let own = c.stdin_from.map_or(false, |i| self.prints(i))
            || c.stdin.as_ref().map_or(false, |w| w.from.iter().any(|i| self.prints(*i)))
            || c.redirects.iter().any(|r| r.op.starts_with('<') && r.fd == 0 && self.source(c, &r.op, &r.target));
        own || c.parent.and_then(|p| t.shell.commands.get(p)).map_or(false, |p| {
            matches!(p.name.as_str(), "xargs" | "gxargs" | "parallel" | "rust-parallel" | "sem") && self.reads(t, p)
        })
    }

    fn source(&self, c: &Command, op: &str, from: &Word) -> bool {
        if op == "<&" {
            return self.sockets.contains(&from.text);
        }
        is_socket(&from.text) || from.from.iter().any(|i| self.prints(*i)) || (op == "<" && self.holds(&path(c, &from.text)))
    }

    /// Whether a word has text from the network: the output of a command that fetches, or that reads what this one reads.
    pub fn word(&self, t: &Text, c: &Command, w: &Word) -> bool {
        w.from.iter().any(|i| {
            self.prints(*i)
                || t.shell.commands.get(*i).map_or(false, |s| {
                    s.stdin_from.is_none() && s.stdin.is_none() && s.args().is_empty() && s.redirects.is_empty() && self.reads(t, c)
                })
        })
    }

    /// Whether running a program by its name or path runs a file from the network.
    pub fn is_program(&self, c: &Command) -> bool {
        let word = match c.words.first() {
            Some(word) => word.text.as_str(),
            None => return false,
        };
        let low = word.to_ascii_lowercase();
        if [".exe", ".bat", ".cmd", ".com"].iter().any(|end| low.ends_with(end)) && self.holds(&path(c, word)) {
            return true; // found in the directory itself
        }
        if !word.contains('/') && !word.starts_with('$') {
            return BIN.iter().any(|bin| self.holds(&[bin, word].concat()));
        }
        let path = path(c, word);
        self.holds(&path) || (self.tree(&path) && !builds(last(&path)))
    }

    /// Whether a file that an interpreter runs is from the network.
    pub fn is_script(&self, c: &Command, file: &str) -> bool {
        let path = path(c, file);
        self.holds(&path) || self.tree(&path)
    }
}

/// Programs of a project's sources by which it is built: running one is as ordinary as `make`.
fn builds(name: &str) -> bool {
    matches!(name, "configure" | "gradlew" | "mvnw" | "autogen.sh" | "bootstrap" | "bootstrap.sh" | "buildconf" | "waf")
}

pub fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// Whether a program has a name between quotes or at the end of a path.
fn quotes(program: &str, name: &str) -> bool {
    name.len() > 1
        && program.match_indices(name).any(|(at, _)| {
            let before = program[..at].chars().next_back();
            let behind = program[at + name.len()..].chars().next();
            matches!(before, Some('"' | '\'' | '/' | '`')) && matches!(behind, Some('"' | '\'' | '`' | ')'))
        })
}

/// A path of a command in one spelling: its directory in front where that is known.
pub fn path(c: &Command, text: &str) -> String {
    if text.starts_with(&['/', '~', '$'][..]) {
        return clean(text);
    }
    match &c.cwd {
        Some(dir) => clean(&[dir.text.as_str(), "/", text].concat()),
        None => clean(text),
    }
}

/// Without empty elements, `.` and what `..` takes back.
pub fn clean(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for p in text.split('/') {
        match p {
            "" | "." => {}
            ".." if parts.last().map_or(false, |l| *l != "..") => drop(parts.pop()),
            p => parts.push(p),
        }
    }
    let joined = parts.join("/");
    if text.starts_with('/') {
        ["/", &joined].concat()
    } else {
        joined
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn dir(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}
