//! The files that a command line reads, copies, links, archives, mounts or sends. What only names a file, or uses a key
//! without showing it, is not among them.

mod containers;
mod found;
mod general;
mod git;
mod openssl;
mod options;
mod transfer;

use belay_hook::analysis::{Command, Shell, Word};

use crate::names::Name;
use crate::programs;
use crate::rules::Look;
use crate::search::{any, at, has, lower};
use crate::strings;
use found::{handed, in_loop, produced, replace, visible, Finds, FOUND};
use options::values;

/// The names that the commands of a text would open.
pub fn names(shell: &Shell) -> Vec<Name> {
    names_but(shell, |_| false)
}

/// The same for a hook that reads programs of other languages itself: what stands in the text of a program is left out
/// for the interpreters that it names.
pub fn names_but(shell: &Shell, reads_itself: fn(&str) -> bool) -> Vec<Name> {
    let mut out = Vec::new();
    let finds = Finds::new(shell);
    let looped = finds.by_loops();
    for (i, c) in shell.commands.iter().enumerate() {
        let mut own = of(c, &visible(shell, i), reads_itself);
        if own.iter().any(|n| has(&n.text, FOUND)) || own.iter().any(|n| any(&n.text, b"$")) && handed(c) {
            let words = finds.to(i, &looped);
            replace(&mut own, &words, |t| has(t, FOUND) || any(t, b"$"));
        }
        if !looped.is_empty() && (in_loop(c) || c.words.iter().any(|w| has(&w.text, "$(") || has(&w.text, "<("))) {
            replace(&mut own, &looped, |t| any(t, b"$") || has(t, "<("));
        }
        out.append(&mut own);
    }
    out
}

fn plain(text: &str) -> Word {
    Word { text: text.into(), known: true, ..Word::default() }
}

/// Collects the names of one command.
struct Names<'a> {
    by: &'a str,
    cwd: Option<String>,
    look: Look,
    out: Vec<Name>,
    /// Whether the text of a program's programs is read elsewhere.
    reads_itself: fn(&str) -> bool,
}

impl Names<'_> {
    fn push(&mut self, text: &str, glob: bool) {
        let text = text.trim_matches(|c| matches!(c, '"' | '\''));
        if text.is_empty() || text == "-" || web(text) {
            return;
        }
        self.out.push(match self.out.len() {
            0..=1023 => Name { text: text.into(), cwd: self.cwd.clone(), look: Look { glob, ..self.look }, by: self.by.into() },
            1024 => Name::more(self.by),
            _ => return,
        });
    }

    /// A word, and what stands in it behind the marks that programs put before a file.
    fn word(&mut self, w: &Word) {
        let t = w.text.as_str();
        if let Some((scheme, rest)) = address(t) {
            match lower(scheme).as_ref() {
                "file" => self.push(t, w.glob),
                "sftp" | "scp" | "ftp" | "ftps" | "rsync" | "ssh" => {
                    if let Some(at) = rest.find('/') {
                        self.push(&rest[at..], w.glob);
                    }
                }
                _ => {}
            }
            return;
        }
        self.push(t, w.glob);
        if !any(t, b"@=:<") {
            return;
        }
        for mark in ['@', '=', ':', '<'] {
            if let Some((before, behind)) = t.split_once(mark) {
                if mark == ':' && (before.len() == 1 || behind.starts_with(':')) || behind.is_empty() {
                    continue; // a drive, a stream
                }
                self.push(behind.trim_start_matches(&['@', '<'][..]), w.glob);
            }
        }
    }

    /// A command in one word, which the program hands to a shell that is not known here.
    fn line(&mut self, text: &str) {
        for t in strings::command_words(text) {
            self.push(&t, t.contains(&['*', '?'][..]));
        }
    }

    fn text(&mut self, text: &str) {
        if (self.reads_itself)(self.by) {
            return;
        }
        for s in strings::strings(text) {
            self.push(&s, s.contains('*'));
        }
    }
}

/// An address that is no file of here.
fn web(t: &str) -> bool {
    address(t).map_or(false, |(s, _)| !s.eq_ignore_ascii_case("file"))
}

/// The scheme of an address, and what is behind it.
fn address(t: &str) -> Option<(&str, &str)> {
    at(t, "://").map(|i| (&t[..i], &t[i + 3..]))
}

/// The names that a command would open; args are its own.
fn of(c: &Command, args: &[Word], reads_itself: fn(&str) -> bool) -> Vec<Name> {
    let name = lower(&c.name);
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let cwd = c.cwd.as_ref().map(|d| d.text.clone()).filter(|d| d != "?");
    let mut n = Names { by: name, cwd, look: Look { glob: false, command: true, tree: false, wide: false }, out: Vec::new(), reads_itself };
    for r in &c.redirects {
        match r.op.as_str() {
            "<" | "<>" if name != "ssh-add" => n.word(&r.target),
            op if op.starts_with("<<") => given(&mut n, name, args, &r.target.text),
            _ => {}
        }
    }
    let given_one = |list: &[&str]| args.iter().any(|w| list.contains(&w.text.as_str()));
    match name {
        "dd" => args.iter().filter_map(|w| w.text.strip_prefix("if=").map(|t| (t, w.glob))).for_each(|(t, g)| n.push(t, g)),
        "fd" | "fdfind" => {
            let runs = c.args().iter().position(|w| matches!(w.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
            if runs.and_then(|i| c.args().get(i + 1)).map_or(false, |w| !programs::names_only(&w.text)) {
                produced(c).iter().for_each(|w| n.push(&w.text, true));
            }
        }
        "parallel" => {
            let from = args.iter().position(|w| w.text.starts_with(":::"));
            let runs = args.iter().take(from.unwrap_or(0)).find(|w| !w.text.starts_with('-'));
            if let (Some(i), Some(p)) = (from, runs) {
                if !programs::names_only(p.text.split(' ').next().unwrap_or("")) {
                    args[i..].iter().for_each(|w| n.word(w));
                }
            }
        }
        "find" | "gfind" | "ssh" | "autossh" | "mosh" => {}
        "cmd" => {
            let text: Vec<&str> = args.iter().map(|w| w.text.as_str()).filter(|t| !t.starts_with('/') || t.len() > 2).collect();
            n.text(&text.join(" "));
        }
        "ansible" => {
            for (v, _) in values(args, &['a'], &["args"]) {
                n.line(v);
                for part in v.split_whitespace() {
                    if let Some(f) = part.strip_prefix("src=") {
                        n.push(f, false);
                    }
                }
            }
        }
        "smbclient" => {
            for line in values(args, &['c'], &["command"]).iter().flat_map(|(v, _)| v.split(';')) {
                let mut words = line.split_whitespace();
                if matches!(words.next(), Some("put" | "mput" | "reput")) {
                    words.next().into_iter().for_each(|w| n.push(w, w.contains('*')));
                }
            }
        }
        "git" => git::shown(&mut n, args),
        "docker" | "podman" | "nerdctl" | "docker-compose" => containers::container(&mut n, args),
        "kubectl" | "oc" => containers::cluster(&mut n, args),
        "openssl" => openssl::shown(&mut n, args),
        "curl" => transfer::curl(&mut n, args),
        "tar" | "bsdtar" | "gtar" => transfer::tar(&mut n, args),
        "rg" | "ag" if given_one(&["--files"]) => {} // lists names
        "php" if given_one(&["-S"]) => transfer::served(&mut n, args),
        "python" | "python3" if args.windows(2).any(|p| p[0].text == "-m" && p[1].text == "http.server") => transfer::served(&mut n, args),
        _ if programs::names_only(name) => {}
        _ => general::opened(&mut n, name, args, c),
    }
    n.out
}

/// What a program gets on its standard input as a text of the command line.
fn given(n: &mut Names, name: &str, args: &[Word], text: &str) {
    if programs::interprets(name) {
        n.text(text);
    }
    let lists = match name {
        "cpio" | "zip" | "pax" | "xargs" => true,
        "tar" | "rsync" => args.iter().any(|w| matches!(w.text.as_str(), "-T" | "--files-from" | "-T-" | "--files-from=-")),
        "git" => args.iter().any(|w| w.text.starts_with("--batch") || w.text == "--stdin"),
        _ => false,
    };
    if lists {
        text.lines().for_each(|l| n.word(&plain(l.trim())));
    }
}
