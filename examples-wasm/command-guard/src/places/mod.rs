//! The places that several rules protect: system trees, the home directory, and what is in the current directory.
//!
//! A word becomes a [`Place`]: joined with the directory that its command runs in, cleaned, and back out of a container
//! into what is mounted there. What is not known in it stands as [`OPEN`], and matches anything.

pub mod devices;
pub mod files;
mod glob;
mod windows;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::hook::analysis::{Command, Word};
use crate::text::Text;

/// Stands for a part of a path that is not known.
const OPEN: char = '\u{1}';

/// Stands for a name that is not known, but is certain to be one.
const SOME: char = '\u{2}';

/// System trees: deleting one of them, or all that is in it, cannot be made good.
const TREES: [&str; 54] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt", "/opt",
    "/proc", "/root", "/run", "/sbin", "/snap", "/srv", "/sys", "/usr", "/usr/bin", "/usr/include", "/usr/lib",
    "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/local/bin", "/usr/local/etc", "/usr/local/lib",
    "/usr/local/sbin", "/usr/local/share", "/usr/sbin", "/usr/share", "/var", "/var/backups", "/var/db", "/var/lib",
    "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/systemd", "/var/mail", "/var/run", "/var/spool", "/Users",
    "/System", "/Library", "/Applications", "/Volumes", "/private", "/nix", "/gnu",
];

/// Where the files of a container's own volumes stand: below no tree.
const VOLUME: &str = "/var/lib/docker-volume/one/_data";

/// Trees in which every file counts.
const CRITICAL: [&str; 2] = ["/etc", "/boot"];

/// A place in the file system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Absolute, below `~`, or relative to where the text was started; cleaned.
    pub path: String,
    /// It has a pattern.
    pub glob: bool,
    /// Parts of it are not known.
    pub open: bool,
}

/// The place that a word of a command names.
pub fn of(t: &Text, c: &Command, w: &Word) -> Place {
    if w.known {
        return at(t, c, &w.text, w.glob, false);
    }
    if !w.text.contains(&['$', '`'][..]) && w.from.is_empty() {
        // A pattern that only some shells know; an input of xargs or parallel stands as it is written, such as {}.
        let pattern = w.glob || w.text.contains("!(") || w.text.contains("*(");
        let text = if pattern { w.text.clone() } else { String::from(OPEN) };
        return at(t, c, &text, pattern, !pattern);
    }
    let (text, open) = opened(&resolved(t, w));
    at(t, c, &text, w.glob, open)
}

/// A word's text with the name in place of a substitution that only prints where the name leads: `$(readlink -f X)`. A
/// name of a protected place stands for what it leads to.
fn resolved(t: &Text, w: &Word) -> String {
    let printer = match w.from[..] {
        [i] => t.shell.commands.get(i).filter(|p| matches!(p.name.as_str(), "readlink" | "realpath" | "greadlink" | "grealpath")),
        _ => None,
    };
    let name = match printer.map(|p| crate::args::operands(p, "", &["relative-to", "relative-base"])).as_deref() {
        Some([name]) if name.known => name.text.clone(),
        _ => return w.text.clone(),
    };
    match w.text.find(&['$', '`'][..]) {
        Some(start) => {
            let (end, _) = expansion(&w.text[start..]);
            format!("{}{}{}", &w.text[..start], name, &w.text[start + end..])
        }
        None => w.text.clone(),
    }
}

/// The place that a text of a command names.
pub fn named(t: &Text, c: &Command, text: &str) -> Place {
    at(t, c, text, text.contains(&['*', '?', '['][..]), false)
}

fn at(t: &Text, c: &Command, text: &str, glob: bool, open: bool) -> Place {
    let mut text = text;
    if glob && text.ends_with(')') {
        // Qualifiers of zsh behind a pattern; a text that begins with its parenthesis is another kind of pattern.
        text = text.rfind('(').filter(|&i| text[..i].ends_with(&['*', '?', ']', '/'][..])).map_or(text, |i| &text[..i]);
    }
    let relative = !text.starts_with('/') && !text.starts_with('~');
    let mut open = open;
    let joined = match &c.cwd {
        // A container and another host start in a directory that is not known: what is said about it is said of "here".
        Some(dir) if relative && dir.text != "?" => {
            let (dir, unknown) = if dir.known { (dir.text.clone(), false) } else { opened(&dir.text) };
            open = open || unknown;
            format!("{}/{}", dir, text)
        }
        _ => text.to_string(),
    };
    let path = clean(&joined);
    let path = match mounted(t, c, &path) {
        Some(outside) => outside,
        None => windows::drive(text).unwrap_or(path),
    };
    let path = match path.strip_prefix("../../../") {
        // So far above where it started there is the root, or it must be taken for it.
        Some(rest) => format!("/{}", rest.trim_start_matches("../")),
        None => path,
    };
    let open = open && path.contains(OPEN);
    Place { path, glob, open }
}

/// A word's text with what is not known in it as [`OPEN`]. A `${X:?}` is no doubt: the shell stops where it is empty.
fn opened(text: &str) -> (String, bool) {
    let mut out = String::new();
    let mut rest = text;
    let mut any = false;
    while let Some(at) = rest.find(&['$', '`'][..]) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let (end, doubt) = expansion(tail);
        if end == 0 {
            out.push_str(&tail[..1]);
            rest = &tail[1..];
            continue;
        }
        if let Some(word) = default(&tail[..end]) {
            out.push_str(&word);
            rest = &tail[end..];
            continue;
        }
        // What is certain not to be empty is one name.
        if doubt {
            out.push(OPEN);
            any = true;
        } else {
            out.push(SOME);
        }
        rest = &tail[end..];
    }
    out.push_str(rest);
    (out, any)
}

/// The word that stands for a variable that is not set, `${X:-build}`, where that is plain: the text does not set it.
fn default(expansion: &str) -> Option<String> {
    let inside = expansion.strip_prefix("${")?.strip_suffix('}')?;
    let at = inside.find(|ch: char| !ch.is_ascii_alphanumeric() && ch != '_')?;
    let word = inside[at..].strip_prefix(":-").or_else(|| inside[at..].strip_prefix('-'))?;
    let word = word.trim_matches('"').replace("${HOME}", "~").replace("$HOME", "~");
    (at > 0 && !word.is_empty() && !word.contains(&['$', '`', '{', '}', '"', '\'', '\\'][..])).then(|| word)
}

/// The length of the expansion that a text begins with, 0 where there is none, and whether it may be empty.
fn expansion(text: &str) -> (usize, bool) {
    let b = text.as_bytes();
    match b.get(1) {
        _ if b[0] == b'`' => (text[1..].find('`').map_or(text.len(), |i| i + 2), true),
        Some(b'{') => {
            let end = braces(text);
            (end, !text[..end].contains(":?"))
        }
        Some(b'(') => {
            let mut depth = 0;
            for (i, &ch) in b.iter().enumerate().skip(1) {
                match ch {
                    b'(' => depth += 1,
                    b')' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    return (i + 1, true);
                }
            }
            (text.len(), true)
        }
        Some(ch) if ch.is_ascii_alphanumeric() || *ch == b'_' => {
            let end = b[1..].iter().position(|ch| !ch.is_ascii_alphanumeric() && *ch != b'_').map_or(b.len(), |i| i + 1);
            (end, true)
        }
        Some(b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') => (2, true),
        _ => (0, false),
    }
}

/// The length of `${…}` with what is nested in it.
fn braces(text: &str) -> usize {
    let mut depth = 0;
    for (i, ch) in text.char_indices() {
        match ch {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if ch == '}' && depth == 0 {
            return i + 1;
        }
    }
    text.len()
}

/// A path without `.`, `..`, double slashes, and the roots that lead back to `/`.
fn clean(text: &str) -> String {
    let mut base = "";
    let mut text = text;
    if text == "~+" || text.starts_with("~+/") {
        text = &text[2..];
        text = text.trim_start_matches('/');
    } else if let Some(rest) = text.strip_prefix('~') {
        let end = rest.find('/').unwrap_or(rest.len());
        let user = &rest[..end];
        if user.is_empty() {
            base = "~";
            text = &rest[end..];
        } else if user == "root" {
            return clean(&format!("/root{}", &rest[end..]));
        } else if user != "-" {
            return clean(&format!("/home/{}{}", user, &rest[end..]));
        }
    } else if text.starts_with('/') {
        base = "/";
    }
    let mut parts: Vec<&str> = Vec::new();
    for p in text.split('/') {
        match p {
            "" | "." => {}
            ".." if base == "~" && parts.is_empty() => {
                base = "/";
                parts.push("home");
            }
            ".." if base == "/" || matches!(parts.last(), Some(&l) if l != "..") => drop(parts.pop()),
            p => parts.push(p),
        }
    }
    if base == "/" {
        match parts[..] {
            ["proc", _, "root", ..] => drop(parts.drain(..3)),
            ["private", "etc" | "var" | "tmp", ..] => drop(parts.drain(..1)),
            ["var", "run", ..] => drop(parts.drain(..1)),
            _ => {}
        }
        return format!("/{}", parts.join("/"));
    }
    match (base, parts.is_empty()) {
        // A name that begins with a tilde is no home.
        ("", _) if parts.first().map_or(false, |p| p.starts_with('~')) => format!("./{}", parts.join("/")),
        ("", _) => parts.join("/"),
        (_, true) => base.into(),
        _ => format!("{}/{}", base, parts.join("/")),
    }
}

/// Where a path in a container leads outside of it.
fn mounted(t: &Text, c: &Command, path: &str) -> Option<String> {
    if !c.remote || !path.starts_with('/') {
        return None;
    }
    for outer in t.ancestors(c) {
        for (from, to) in mounts(outer) {
            let to = to.trim_end_matches('/');
            if let Some(rest) = path.strip_prefix(to).filter(|r| r.is_empty() || r.starts_with('/')) {
                // A volume of the container's own has no place on this host.
                let named = !from.starts_with(&['/', '~', '.'][..]);
                return Some(if named { format!("{}{}", VOLUME, rest) } else { clean(&format!("{}{}", from, rest)) });
            }
        }
    }
    None
}

/// What the options of a container mount: from and to.
fn mounts(c: &Command) -> Vec<(&str, &str)> {
    let mut out = Vec::new();
    let args = c.args();
    for (i, w) in args.iter().enumerate() {
        let next = || args.get(i + 1).map_or("", |w| w.text.as_str());
        let value = match w.text.as_str() {
            "-v" | "--volume" | "--mount" | "-B" | "--bind" => next(),
            text => ["--volume=", "--mount=", "--bind=", "-v"].iter().find_map(|p| text.strip_prefix(p)).unwrap_or(""),
        };
        if value.contains("target=") || value.contains("dst=") || value.contains("destination=") {
            let part = |names: &[&str]| {
                value.split(',').filter_map(|p| p.split_once('=')).find(|(n, _)| names.contains(n)).map_or("", |(_, v)| v)
            };
            out.push((part(&["source", "src"]), part(&["target", "dst", "destination"])));
        } else if let Some((from, rest)) = value.split_once(':') {
            out.push((from, rest.split(':').next().unwrap_or("")));
        }
    }
    out.retain(|(from, to)| {
        let path = from.starts_with(&['/', '~', '.'][..]);
        let name = from.len() > 1 && from.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '.' | '-'));
        // What is mounted over a system tree of the container is still that tree for the one who reads it.
        (path || name && !TREES.contains(&to.trim_end_matches('/'))) && to.starts_with('/')
    });
    out
}

impl Place {
    /// A system tree, or all that is in one.
    pub fn is_tree(&self) -> bool {
        windows::is_tree(&self.path) || self.tree().map_or(false, |dir| TREES.iter().any(|t| self.matches(dir, t)))
    }

    /// The home directory of a user, or all that is in one.
    pub fn is_home(&self) -> bool {
        let dir = match self.tree() {
            Some(dir) => dir,
            None => return false,
        };
        dir == "~" || windows::is_home(dir) || ["/home", "/Users"].iter().any(|h| {
            dir.strip_prefix(h).and_then(|r| r.strip_prefix('/')).map_or(false, |user| !user.is_empty() && !user.contains('/'))
        })
    }

    /// Something in a tree where every file counts.
    pub fn is_critical(&self) -> bool {
        CRITICAL.iter().any(|t| self.is_below(t))
    }

    /// A system tree, the home directory, or something critical.
    pub fn is_wide(&self) -> bool {
        self.is_tree() || self.is_home() || self.is_critical()
    }

    /// The directory where the text was started, one above it, or all that is in one of them.
    pub fn is_here(&self) -> bool {
        let rest = self.without_wildcards();
        rest.is_empty() || rest == "." || rest.split('/').all(|p| p == "..")
    }

    /// A pattern for all that is in the directory where the text was started.
    pub fn is_bare_pattern(&self) -> bool {
        self.glob && self.without_wildcards().is_empty()
    }

    /// It, or where its pattern may lead, is in a directory.
    pub fn is_below(&self, dir: &str) -> bool {
        if !self.glob {
            return self.path.strip_prefix(dir).map_or(false, |rest| rest.starts_with('/'));
        }
        let depth = dir.split('/').count();
        let parts: Vec<&str> = self.path.split('/').collect();
        parts.len() > depth && self.matches(&parts[..depth].join("/"), dir)
    }

    /// Exactly this path, or a pattern that matches it.
    pub fn is(&self, path: &str) -> bool {
        self.matches(&self.path, path)
    }

    /// What may be known of a place that is open: it with nothing where something is not known, and it with a pattern.
    pub fn readings(&self) -> [Place; 2] {
        let without: String = self.path.chars().filter(|&ch| ch != OPEN).collect();
        let with: String = self.path.chars().map(|ch| if ch == OPEN { '*' } else { ch }).collect();
        [
            Place { path: clean(&without), glob: self.glob, open: false },
            Place { path: with, glob: true, open: false },
        ]
    }

    fn matches(&self, dir: &str, name: &str) -> bool {
        if !self.glob || !dir.contains(&['*', '?', '[', '{'][..]) {
            return dir == name;
        }
        let (a, b): (Vec<&str>, Vec<&str>) = (dir.split('/').collect(), name.split('/').collect());
        a.len() == b.len() && a.iter().zip(&b).all(|(p, n)| glob::matches(p, n))
    }

    /// The directory that a pattern for all in it stands for: the path itself without one. `None` for a pattern that
    /// chooses within many directories.
    fn tree(&self) -> Option<&str> {
        if !self.glob {
            return Some(&self.path);
        }
        let parts: Vec<&str> = self.path.split('/').collect();
        let first = match parts.iter().position(|p| all(p)) {
            Some(first) => first,
            None => return Some(&self.path),
        };
        let dir = if first == 0 { return None } else { &self.path[..parts[..first].iter().map(|p| p.len() + 1).sum::<usize>() - 1] };
        let dir = if dir.is_empty() { "/" } else { dir };
        if parts[first..].iter().all(|p| all(p)) || ["/", "/home", "/Users"].contains(&dir) || dir == "~" && first + 1 == parts.len() {
            return Some(dir);
        }
        None
    }

    fn without_wildcards(&self) -> &str {
        if !self.glob {
            return &self.path;
        }
        let mut end = self.path.len();
        loop {
            let start = self.path[..end].rfind('/').map_or(0, |i| i + 1);
            if !all(&self.path[start..end]) {
                return &self.path[..end];
            }
            if start == 0 {
                return "";
            }
            end = start - 1;
        }
    }
}

/// A pattern that chooses nothing: `*`, `.*`, `**`, `*.*`, `.[!.]*`, `!(x)`.
fn all(pattern: &str) -> bool {
    if pattern.starts_with("!(") && pattern.ends_with(')') {
        return true;
    }
    let mut wild = false;
    let mut rest = pattern.chars();
    while let Some(ch) = rest.next() {
        match ch {
            '*' => wild = true,
            '?' | '.' => {}
            '[' => {
                if rest.next().map_or(true, |first| first != '!' && first != '^') && pattern != "[a-zA-Z0-9]*" {
                    return false;
                }
                rest.by_ref().find(|&ch| ch == ']');
            }
            '{' => return matches!(pattern, "{*,.*}" | "{.,}*" | "{,.}*"),
            _ => return false,
        }
    }
    wild
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::hook::analysis::Shell;

    pub fn word(text: &str) -> Word {
        let known = !text.contains(&['$', '`', '!'][..]);
        Word { text: text.into(), known, glob: text.contains('*'), tilde: text.starts_with('~'), ..Word::default() }
    }

    pub fn command(line: &str) -> Command {
        let words: Vec<Word> = line.split(' ').map(word).collect();
        Command { name: words[0].text.clone(), words, ..Command::default() }
    }

    fn place(path: &str, cwd: Option<&str>) -> Place {
        let mut c = command("rm x");
        c.cwd = cwd.map(word);
        of(&Text { source: "", shell: &Shell::default(), programs: &[] }, &c, &word(path))
    }

    #[test]
    fn wide_places() {
        for (path, cwd, want) in [
            ("/", None, true),
            ("//usr/./", None, true),
            ("/usr/**/*", None, true),
            ("/usr/local/../../etc", None, true),
            ("/home/dev", None, true),
            ("/home/*/cache", None, true),
            ("~", None, true),
            ("~/", None, true),
            ("~/*", None, true),
            ("~/.[!.]*", None, true),
            ("~/..", None, true),
            ("~root/", None, true),
            ("/e*", None, true),
            ("/usr/**/*(D.)", None, true),
            ("/proc/self/root/etc/hosts", None, true),
            ("/private/etc", None, true),
            ("C:\\Windows", None, true),
            ("/c/Users/dev", None, true),
            ("/d/data", None, false),
            ("../../../../etc", None, true),
            ("~+/../../../etc/", None, true),
            ("*", Some("/usr"), true),
            ("*.conf", Some("/etc"), true),
            (".", Some("~"), true),
            ("etc", Some("/"), true),
            ("~/project/build", None, false),
            ("~/project/*", None, false),
            ("~/*.log", None, false),
            ("/tmp/*", None, false),
            ("/var/log/app/*.log", None, false),
            ("/var/lib/apt/lists/*", None, false),
            ("/usr/local/go", None, false),
            ("/opt/*/logs/*.gz", None, false),
            ("build", None, false),
            ("../build", None, false),
            ("*", None, false),
            ("/home/dev/project", None, false),
        ] {
            assert_eq!(place(path, cwd).is_wide(), want, "{path} in {cwd:?}");
        }
    }

    #[test]
    fn here() {
        for (path, cwd, want) in [
            ("*", None, true),
            ("./*", None, true),
            (".", None, true),
            ("..", None, true),
            ("../../*", None, true),
            (".[!.]*", None, true),
            ("!(keep)", None, true),
            ("*.o", None, false),
            ("build/*", None, false),
            ("*", Some("build"), false),
            ("../*", Some("build"), true),
            ("*", Some("/tmp/x"), false),
        ] {
            assert_eq!(place(path, cwd).is_here(), want, "{path} in {cwd:?}");
        }
    }

    #[test]
    fn open_places() {
        for (path, wide) in [
            ("$X", false),
            ("/$X", true),
            ("$A/$B", true),
            ("/usr/$X", true),
            ("/e$X", true),
            ("~/$X", true),
            ("/tmp/$X", false),
            ("$X/build", false),
            ("build-$X", false),
            ("${X:?}/*", false),
            ("$(pwd)/out", false),
        ] {
            let p = place(path, None);
            let [a, b] = p.readings();
            assert_eq!(a.is_wide() || b.is_wide(), wide, "{path}");
        }
    }
}
