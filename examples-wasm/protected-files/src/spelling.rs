//! Forms of a name for comparing, from its spelling alone: for a hook that does not ask the host about paths. Links are
//! not followed.

use std::borrow::Cow;

use crate::names::{once, Hit, Name, MORE};
use crate::rules::Rules;
use crate::search::{any, lower_char};

/// The first name that means a protected file by its spelling.
pub fn first(rules: &Rules, names: &[Name]) -> Option<Hit> {
    for n in once(names) {
        if n.text == MORE {
            return Some(Hit { text: "more names than can be judged".into(), group: "protected", by: n.by.clone() });
        }
        for key in keys(&n.text, n.cwd.as_deref()) {
            if let Some(group) = rules.group(&key, n.look) {
                return Some(Hit { text: n.text.clone(), group, by: n.by.clone() });
            }
        }
    }
    None
}

/// The forms of a name: as it is written, and with an encoding undone.
pub fn keys(name: &str, cwd: Option<&str>) -> Vec<String> {
    let mut out = Vec::new();
    let mut add = |text: &str| {
        let key = cleaned(placed(text, cwd));
        if !key.is_empty() && !out.contains(&key) {
            out.push(key);
        }
    };
    let seen = visible(name);
    let (plain, url) = match file_url(&seen) {
        Some(path) => (path, true),
        None => (seen, false),
    };
    if !url {
        add(&plain);
    }
    if url || any(&plain, b"%") {
        add(&visible(&percent(&plain)));
    }
    if any(&plain, b"\\") {
        add(&windows(&plain));
    }
    out
}

/// The name without characters that are not seen, full-width ones as the usual ones, in lower case.
fn visible(name: &str) -> String {
    if name.bytes().all(|b| b.is_ascii() && b != 0) {
        return name.trim().to_ascii_lowercase();
    }
    let name = name.split('\0').next().unwrap_or("");
    name.chars()
        .filter(|c| !matches!(*c as u32, 0xad | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfe00..=0xfe0f | 0x34f | 0x61c))
        .map(|c| match c as u32 {
            n @ 0xff01..=0xff5e => char::from_u32(n - 0xfee0).unwrap_or(c),
            0x3000 => ' ',
            0x2024 => '.',
            0x2044 | 0x2215 => '/',
            _ => c,
        })
        .map(lower_char)
        .collect::<String>()
        .trim()
        .into()
}

/// The path of a file: URL.
fn file_url(name: &str) -> Option<String> {
    let rest = name.strip_prefix("file:")?;
    let rest = rest.split(&['?', '#'][..]).next().unwrap_or("");
    let path = match rest.strip_prefix("//") {
        Some(host) => host.find('/').map_or("", |at| &host[at..]),
        None => rest,
    };
    Some(path.into())
}

/// A text without the encoding of URLs.
pub fn percent(t: &str) -> String {
    let b = t.as_bytes();
    let mut out = Vec::new();
    let mut i = 0;
    while i < b.len() {
        let two = t.get(i + 1..i + 3).and_then(|d| u8::from_str_radix(d, 16).ok());
        match two {
            Some(v) if b[i] == b'%' => {
                out.push(v);
                i += 3;
            }
            _ => {
                out.push(b[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A name of Windows with slashes, without its drive, its stream and what it drops at the end.
fn windows(t: &str) -> String {
    let t = t.replace('\\', "/");
    let t = t.trim_start_matches("//?/").trim_start_matches("//./");
    let t = match t.as_bytes() {
        [d, b':', ..] if d.is_ascii_alphabetic() => &t[2..],
        _ => t,
    };
    let t = t.split("::$").next().unwrap_or(t);
    t.trim_end_matches(&['.', ' '][..]).into()
}

/// The name from the root or the home directory, where that is known.
fn placed<'a>(t: &'a str, cwd: Option<&str>) -> Cow<'a, str> {
    for home in ["$home", "${home}"] {
        if let Some(rest) = t.strip_prefix(home).filter(|r| r.is_empty() || r.starts_with('/')) {
            return ["~", rest].concat().into();
        }
    }
    if let Some(user) = t.strip_prefix('~').filter(|u| !u.is_empty() && !u.starts_with('/')) {
        let (user, rest) = user.split_once('/').unwrap_or((user, ""));
        return if user == "root" { ["/root/", rest].concat() } else { ["/home/", user, "/", rest].concat() }.into();
    }
    match cwd {
        Some(dir) if !t.starts_with('/') && !t.starts_with('~') => [&visible(dir), "/", t].concat().into(),
        _ => t.into(),
    }
}

/// A path without . and .., double slashes, and the other ways into the same tree.
fn cleaned(t: Cow<str>) -> String {
    if is_clean(&t) {
        return t.into_owned();
    }
    let absolute = t.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for p in t.split('/') {
        match p {
            "" | "." => {}
            ".." if matches!(parts.last(), Some(&l) if l != "..") => drop(parts.pop()),
            ".." if absolute => {}
            p => parts.push(p),
        }
        // /proc/self/root is /, /proc/self/cwd is here
        if absolute && parts.len() >= 3 && parts[0] == "proc" {
            let last = parts[parts.len() - 1];
            if matches!(last, "root" | "cwd") && (parts.len() == 3 || parts.len() == 5 && parts[2] == "task") {
                parts.clear();
            }
        }
    }
    if absolute && parts.first() == Some(&"private") {
        parts.remove(0);
    }
    let path = parts.join("/");
    if absolute {
        ["/", &path].concat()
    } else {
        path
    }
}

/// Whether nothing of a path is left out: it has no element that is empty or begins with a dot, and does not begin with
/// one of the other ways into a tree.
fn is_clean(t: &str) -> bool {
    let rest = match t.strip_prefix('/') {
        Some(rest) if rest.starts_with("proc") || rest.starts_with("private") => return false,
        Some("") => return true,
        Some(rest) => rest,
        None => t,
    };
    let mut begins = true; // an element does
    for b in rest.bytes() {
        if begins && matches!(b, b'/' | b'.') {
            return false;
        }
        begins = b == b'/';
    }
    !begins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (name, cwd, want) in [
            ("/etc/../etc//shadow", None, "/etc/shadow"),
            ("SHADOW", Some("/etc"), "/etc/shadow"),
            ("credentials", Some("~/.aws"), "~/.aws/credentials"),
            ("$HOME/.netrc", None, "~/.netrc"),
            ("~root/.ssh/id_rsa", None, "/root/.ssh/id_rsa"),
            ("file:///etc/shadow?x#y", None, "/etc/shadow"),
            ("file://host/etc/%73hadow", None, "/etc/shadow"),
            ("/proc/self/root/etc/shadow", None, "/etc/shadow"),
            ("/proc/1/task/2/cwd/.env", None, "/.env"),
            ("/private/etc/shadow", None, "/etc/shadow"),
            ("\u{ff0e}env", None, ".env"),
            (".e\u{200b}nv", None, ".env"),
        ] {
            assert!(keys(name, cwd).contains(&want.to_string()), "{name}: {:?}", keys(name, cwd));
        }
        assert!(keys("C:\\Users\\dev\\.ssh\\id_rsa", None).contains(&"/users/dev/.ssh/id_rsa".to_string()));
    }
}
