//! Which paths are protected. The rules are written against the keys of `path_resolve`: cleaned, lower case, without
//! encodings and invisible characters, so they know no spelling.

use crate::glob;
use crate::search::{self, any, has};

/// The groups of protected paths, as the configuration names them.
pub const GROUPS: &[&str] = &[
    "ssh-key", "cloud", "keyring", "system-auth", "env-file", "key-file", "agent-auth", "profile", "proc",
];

/// Files of a group: the directories that they are in, as far as these count, and their names.
const FILES: &[(&str, &[&str], &str)] = &[
    ("cloud", &[], ".boto"),
    ("cloud", &[], "credentials.json"),
    ("cloud", &[], "service-account.json"),
    ("cloud", &[], "kubeconfig"),
    ("cloud", &[".kube"], "config"),
    ("agent-auth", &[".claude"], ".credentials.json"),
    ("agent-auth", &[], "auth-profiles.json"),
    ("agent-auth", &[".codex"], "auth.json"),
    ("agent-auth", &[], "github-copilot.token.json"),
    ("agent-auth", &[".qwen"], "oauth_creds.json"),
    ("agent-auth", &[".minimax"], "oauth_creds.json"),
    ("agent-auth", &["gogcli"], "credentials.json"),
    ("agent-auth", &["whatsapp", "default"], "creds.json"),
    ("profile", &[], ".profile"),
    ("profile", &[], ".bashrc"),
    ("profile", &[], ".zshrc"),
    ("profile", &[], ".zprofile"),
    ("profile", &[], ".bash_profile"),
    ("profile", &[".config", "fish"], "config.fish"),
    ("env-file", &[], ".env"),
];

/// Directories of which everything is protected, they themselves included. The first element of each begins with a dot.
const DIRECTORIES: &[(&str, &[&str])] = &[
    ("cloud", &[".aws"]),
    ("cloud", &[".config", "gcloud"]),
    ("keyring", &[".gnupg"]),
    ("keyring", &[".password-store"]),
    ("agent-auth", &[".claude", "credentials"]),
    ("agent-auth", &[".openclaw", "credentials"]),
    ("agent-auth", &[".clawdbot", "credentials"]),
];

/// Files that only commands are kept from: tools of runtimes have no use for them, and tests have many of them.
const IN_COMMANDS: &[&str] = &[".netrc", ".git-credentials"];

/// Private keys; each name begins with `id_`.
const SSH: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
const AUTH: &[&str] = &["passwd", "shadow", "gshadow", "sudoers"];
const KEYS: &[&str] = &["pem", "key", "p12", "pfx"];

/// Directories below which nothing is protected: what is there is made up, or of others.
const EXCEPTED: &[&str] = &["node_modules", "test", "fixtures"];

/// What stands for characters in a pattern.
const WILD: &[u8] = b"*?[";

/// What a saved copy of a file is called.
const SAVED: &[&str] = &["~", ".bak", ".old", ".orig", ".save", ".saved", ".backup", ".copy", ".swp"];

/// Documents and sources: what they are about is in their name, and not in them.
const ABOUT: &[&str] = &[
    "md", "markdown", "mdx", "txt", "rst", "adoc", "html", "htm", "pdf", "go", "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java",
    "kt", "rb", "php", "c", "cc", "cpp", "h", "cs", "swift", "sh", "css", "scss", "pub",
];

/// The rules, as they are configured.
pub struct Rules {
    pub groups: Vec<String>,
    pub protected: Vec<String>,
    pub allowed: Vec<String>,
}

/// A path that is looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Look {
    /// It may have * ? and [ ], which stand for any characters.
    pub glob: bool,
    /// A command names it: it may be one of the files that only commands are kept from.
    pub command: bool,
    /// All that is below it is meant, too: a directory that is known for keys counts.
    pub tree: bool,
    /// With tree: the home directory and /etc count as well.
    pub wide: bool,
}

impl Rules {
    /// The group that protects a path of one of path_resolve's keys, if one does.
    pub fn group(&self, key: &str, look: Look) -> Option<&'static str> {
        let path = Path::new(key, look.glob);
        if self.protected.iter().any(|p| path.means(p)) {
            return Some("protected");
        }
        if excepted(&path.elems) || self.allowed.iter().any(|p| path.means(p)) {
            return None;
        }
        let below = || path.holds().filter(|g| look.wide || !matches!(*g, "home" | "system-auth"));
        let found = path.group(look.command).or_else(|| if look.tree { below() } else { None })?;
        if found == "home" || self.groups.iter().any(|g| g == found) {
            return Some(found);
        }
        None
    }
}

fn excepted(elems: &[&str]) -> bool {
    match elems.split_last() {
        Some((last, dirs)) => {
            dirs.iter().any(|d| EXCEPTED.contains(d)) || has(last, ".test.") || *last == "package-lock.json"
        }
        None => false,
    }
}

/// A path in its elements. Patterns in it count only where the caller says so.
struct Path<'a> {
    elems: Vec<&'a str>,
    absolute: bool,
    glob: bool,
}

impl<'a> Path<'a> {
    fn new(key: &'a str, glob: bool) -> Path<'a> {
        let glob = glob && any(key, WILD);
        let mut elems = Vec::with_capacity(8);
        let mut from = 0;
        for (at, b) in key.bytes().chain([b'/']).enumerate() {
            if b == b'/' {
                if at > from && &key[from..at] != "." {
                    elems.push(&key[from..at]);
                }
                from = at + 1;
            }
        }
        Path { elems, absolute: key.starts_with('/'), glob }
    }

    fn group(&self, command: bool) -> Option<&'static str> {
        let last = *self.elems.last()?;
        if self.glob || self.elems.iter().any(|e| e.starts_with('.')) {
            if let Some((g, _)) = DIRECTORIES.iter().find(|(_, d)| self.below(d)) {
                return Some(g);
            }
        }
        if let Some(g) = self.system() {
            return Some(g);
        }
        let plain = if self.glob { last } else { unsaved(last) };
        if let Some((g, _, _)) = FILES.iter().find(|(_, dirs, f)| (self.glob || *f == plain) && self.ends(dirs, f, plain)) {
            return Some(g);
        }
        if command && IN_COMMANDS.iter().any(|f| self.ends(&[], f, plain)) {
            return Some("cloud");
        }
        let n = self.elems.len();
        if self.glob && n > 1 && self.elems[n - 2] == ".ssh" && matches!(last, "*" | "?*" | ".*" | "**") {
            return Some("ssh-key");
        }
        if ssh_key(last, self.glob) {
            return Some("ssh-key");
        }
        if env_file(last, self.glob) {
            return Some("env-file");
        }
        if key_file(plain, self.glob) {
            return Some("key-file");
        }
        None
    }

    /// Files that count by where they are: from the root, or from the top of a relative path that climbs.
    fn system(&self) -> Option<&'static str> {
        let up = self.elems.iter().take_while(|e| **e == "..").count();
        if !self.absolute && up == 0 {
            return None;
        }
        let at = &self.elems[up..];
        let is = |i: usize, name: &str| at.get(i).map_or(false, |e| self.fits_in(e, name, true));
        if at.len() == 2 && is(0, "etc") {
            let plain = if self.glob { at[1] } else { saved_system(at[1]) };
            if AUTH.iter().any(|n| self.fits_in(plain, n, true)) {
                return Some("system-auth");
            }
        }
        if at.len() >= 2 && is(0, "etc") && is(1, "sudoers.d") {
            return Some("system-auth");
        }
        let ends = |i: usize| at.len() == i + 1 && (is(i, "environ") || is(i, "mem"));
        if is(0, "proc") && (at.len() == 2 && is(1, "kcore") || ends(2) || at.get(2) == Some(&"task") && ends(4)) {
            return Some("proc");
        }
        None
    }

    /// Whether the path is a directory of that name or below one.
    fn below(&self, dir: &[&str]) -> bool {
        self.elems.windows(dir.len()).any(|w| w.iter().zip(dir).all(|(e, n)| self.fits(e, n)))
    }

    /// Whether the last elements are those of a file; last stands for the last one.
    fn ends(&self, dirs: &[&str], file: &str, last: &str) -> bool {
        let at = self.elems.len() - 1;
        if at < dirs.len() || !self.fits_in(last, file, !dirs.is_empty()) {
            return false;
        }
        self.elems[at - dirs.len()..at].iter().zip(dirs).all(|(e, w)| self.fits(e, w))
    }

    fn fits(&self, elem: &str, name: &str) -> bool {
        self.fits_in(elem, name, false)
    }

    /// Whether an element can be a name. A pattern for nearly everything counts only in a place that says what is meant.
    fn fits_in(&self, elem: &str, name: &str, place: bool) -> bool {
        if !self.glob {
            return elem == name;
        }
        (place || glob::says(elem, name)) && glob::can_be(elem, name)
    }

    /// Whether protected files are known to be below the path: what the directory is called.
    fn holds(&self) -> Option<&'static str> {
        let mut elems = &self.elems[..];
        while matches!(elems.last(), Some(&"*") | Some(&"**") | Some(&".*")) {
            elems = &elems[..elems.len() - 1];
        }
        let last = match elems.last() {
            Some(last) => *last,
            None => return if self.absolute { Some("home") } else { None },
        };
        let user = |dir: &str| elems.len() == 2 && elems[0] == dir;
        match last {
            ".ssh" => Some("ssh-key"),
            ".kube" => Some("cloud"),
            "etc" if self.absolute && elems.len() == 1 => Some("system-auth"),
            "~" if elems.len() == 1 => Some("home"),
            "root" | "home" if self.absolute && elems.len() == 1 => Some("home"),
            _ if self.absolute && (user("home") || user("users")) => Some("home"),
            _ => None,
        }
    }

    /// Whether a pattern of the operator means the path: its last elements, from the root when it begins with a slash,
    /// and everything below when it ends in /**.
    fn means(&self, pattern: &str) -> bool {
        let rooted = pattern.starts_with('/');
        let (pattern, tree) = match pattern.strip_suffix("/**") {
            Some(dir) => (dir, true),
            None => (pattern, false),
        };
        let want: Vec<&str> = pattern.split('/').filter(|e| !e.is_empty()).collect();
        let n = self.elems.len();
        if want.is_empty() || n < want.len() {
            return tree && want.is_empty();
        }
        let fits = |at: usize| {
            self.elems[at..at + want.len()].iter().zip(&want).all(|(e, w)| if self.glob { glob::can_be(e, w) } else { glob::is(e, w) })
        };
        match (rooted, tree) {
            (true, true) => self.absolute && fits(0),
            (true, false) => self.absolute && n == want.len() && fits(0),
            (false, true) => (0..=n - want.len()).any(fits),
            (false, false) => fits(n - want.len()),
        }
    }
}

/// A name without what a saved copy adds.
fn unsaved(name: &str) -> &str {
    if !any(name, b"~.") {
        return name;
    }
    SAVED.iter().find_map(|s| name.strip_suffix(s)).filter(|n| !n.is_empty()).unwrap_or(name)
}

/// The same for files of /etc, of which more is saved: by a dash, and under what a package manager adds.
fn saved_system(name: &str) -> &str {
    let plain = unsaved(name);
    if let Some(n) = plain.strip_suffix('-') {
        return n;
    }
    match plain.split_once('.') {
        Some((n, rest)) if !rest.split('.').any(|e| ABOUT.contains(&e) || e == "d") => n,
        _ => plain,
    }
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, e)| e)
}

/// A private key of SSH: by its usual name, with something before or behind it that says whose it is.
fn ssh_key(name: &str, glob: bool) -> bool {
    if glob && any(name, WILD) {
        // A pattern that only public halves fit means them.
        return !name.ends_with(".pub") && SSH.iter().any(|n| glob::says(name, n) && glob::can_be(name, n));
    }
    if !has(name, "id_") || ABOUT.contains(&extension(name)) || has(name, ".pub.") || name.ends_with(".pub~") {
        return false;
    }
    SSH.iter().any(|n| {
        let mut from = 0;
        while let Some(at) = search::at(&name[from..], n).map(|i| i + from) {
            let before = name[..at].chars().last();
            let behind = name[at + n.len()..].chars().next();
            let apart = |c: Option<char>| c.map_or(true, |c| !c.is_ascii_alphabetic());
            if apart(before) && before.map_or(true, |c| !c.is_ascii_digit()) && apart(behind) {
                return true;
            }
            from = at + n.len();
        }
        false
    })
}

/// .env and .env.NAME, but templates and documents.
fn env_file(name: &str, glob: bool) -> bool {
    if glob && any(name, WILD) {
        let harmless = name.split('.').any(|e| TEMPLATES.contains(&e)) || ABOUT.contains(&extension(name));
        return !harmless
            && [".env", ".env.local", ".env.production", ".env.development"].iter().any(|n| glob::says(name, n) && glob::can_be(name, n));
    }
    match name.strip_prefix(".env.") {
        Some(rest) => !rest.split('.').any(|e| TEMPLATES.contains(&e)) && !ABOUT.contains(&extension(rest_or(rest))),
        None => name == ".env" || name == ".env~",
    }
}

/// A rest such as "md" is an extension itself.
fn rest_or(rest: &str) -> &str {
    if rest.contains('.') {
        return rest;
    }
    match ABOUT.iter().find(|a| **a == rest && rest != "c" && rest != "h") {
        Some(_) => ".md",
        None => rest,
    }
}

const TEMPLATES: &[&str] = &["example", "sample", "template"];

fn key_file(name: &str, glob: bool) -> bool {
    let ext = extension(name);
    if glob && any(name, WILD) {
        return KEYS.iter().any(|k| ext.chars().filter(|c| c.is_ascii_alphanumeric()).count() >= 2 && glob::can_be(ext, k));
    }
    KEYS.contains(&ext)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules { groups: GROUPS.iter().map(|g| g.to_string()).collect(), protected: vec![], allowed: vec![] }
    }

    #[test]
    fn names() {
        let plain = Look { glob: false, command: false, tree: false, wide: false };
        for (key, want) in [
            ("/w/.env", "env-file"),
            ("/w/.env.production.local", "env-file"),
            ("/w/.env.example", ""),
            ("/w/.env.md", ""),
            ("/w/.env.test.local", ""),
            ("~/.ssh/id_rsa", "ssh-key"),
            ("id_rsa_work.bak", "ssh-key"),
            ("deploy_id_ed25519", "ssh-key"),
            ("grid_rsa", ""),
            ("id_rsa.pub", ""),
            ("id_rsa_test.go", ""),
            ("/etc/shadow-", "system-auth"),
            ("/etc/passwd.rpmsave", "system-auth"),
            ("../../etc/passwd", "system-auth"),
            ("/etc/passwd.md", ""),
            ("/srv/etc/passwd", ""),
            ("/etc/sudoers.d/x", "system-auth"),
            ("/x/test/server.key", ""),
            ("/x/latest/server.key", "key-file"),
            ("/x/server.key.bak", "key-file"),
            ("/x/server.key.txt", ""),
            ("/proc/1/task/2/environ", "proc"),
            ("/proc/1/maps", ""),
            ("/h/.aws", "cloud"),
            ("/h/.awsrc", ""),
        ] {
            assert_eq!(rules().group(key, plain).unwrap_or(""), want, "{key}");
        }
    }

    #[test]
    fn patterns() {
        let look = Look { glob: true, command: true, tree: false, wide: false };
        for (key, want) in [
            ("/w/.env*", true),
            ("/w/.e*", true),
            ("/w/*", false),
            ("/w/*.json", false),
            ("/w/*.pem", true),
            ("/w/*.p*", false),
            ("/h/.ssh/id_*", true),
            ("/h/.ssh/*.pub", false),
            ("/h/.aws/*", true),
            ("/e?c/sh*w", true),
            ("/etc/*", true),
            ("/etc/*release", false),
            ("/w/.env.ex*", false),
        ] {
            assert_eq!(rules().group(key, look).is_some(), want, "{key}");
        }
    }

    #[test]
    fn operators_patterns() {
        let mut r = rules();
        r.protected = vec!["secrets/**".into(), "/srv/keys/*.txt".into()];
        r.allowed = vec!["dev.pem".into()];
        let look = Look { glob: false, command: false, tree: false, wide: false };
        for (key, want) in [
            ("/w/secrets/a/b", "protected"),
            ("/w/test/secrets/a", "protected"),
            ("/srv/keys/a.txt", "protected"),
            ("/w/srv/keys/a.txt", ""),
            ("/w/dev.pem", ""),
            ("/w/prod.pem", "key-file"),
        ] {
            assert_eq!(r.group(key, look).unwrap_or(""), want, "{key}");
        }
    }
}
