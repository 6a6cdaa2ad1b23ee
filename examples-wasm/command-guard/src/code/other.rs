//! Programs line by line: makefiles, editors, sed, debuggers, AppleScript.


use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::lang::Lang;
use super::reader::{Given, Reader};
use super::told::Told;
use super::value::Val;

/// Lines that begin with one of the marks are commands.
pub fn lines_behind(text: &str, marks: &[&str], told: &mut Told) {
    for line in text.lines() {
        let line = line.trim();
        if let Some(rest) = marks.iter().find_map(|m| line.strip_prefix(m)) {
            if !rest.trim_start().starts_with(&['(', '=', '"', '\''][..]) {
                told.line(&Val::text(rest.trim_end_matches(';')));
            }
        }
    }
}

/// do shell script "..."
pub fn applescript(text: &str, told: &mut Told) {
    let mut rest = text;
    while let Some(at) = rest.find("do shell script") {
        rest = &rest[at + "do shell script".len()..];
        let t = rest.trim_start();
        if let Some(body) = t.strip_prefix('"') {
            let mut line = String::new();
            let mut c = body.chars();
            while let Some(ch) = c.next() {
                match ch {
                    '\\' => line.extend(c.next()),
                    '"' => break,
                    ch => line.push(ch),
                }
            }
            told.line(&Val::Text(line));
        } else {
            told.unknown();
        }
    }
}

/// The recipes of a makefile, and what its expansions run.
pub fn make(text: &str, told: &mut Told) {
    let mut names: Vec<(String, String)> = Vec::new();
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        shell_calls(line, &names, told);
        let recipe = line.strip_prefix('\t').or_else(|| match (line.split_once(';'), line.contains(':')) {
            (Some((head, rest)), true) if head.contains(':') && !head.contains('=') => Some(rest),
            _ => None,
        });
        if let Some(r) = recipe {
            let r = r.trim_start().trim_start_matches(&['@', '-', '+'][..]);
            if !r.is_empty() {
                told.line(&Val::Text(expanded(r, &names)));
            }
            continue;
        }
        if let Some((name, value)) = line.split_once("!=") {
            told.line(&Val::Text(expanded(value.trim(), &names)));
            names.push((name.trim().into(), String::from(super::value::HOLE)));
        } else if let Some((name, value)) = line.split_once('=') {
            let name = name.trim_end_matches(&[':', '?', '+', ' '][..]).trim();
            if !name.contains(' ') {
                names.push((name.into(), value.trim().into()));
            }
        }
    }
}

fn shell_calls(line: &str, names: &[(String, String)], told: &mut Told) {
    let mut rest = line;
    while let Some(at) = rest.find("$(shell ").or_else(|| rest.find("${shell ")) {
        let body = &rest[at + 8..];
        let mut depth = 1;
        let end = body
            .char_indices()
            .find(|(_, c)| {
                match c {
                    '(' | '{' => depth += 1,
                    ')' | '}' => depth -= 1,
                    _ => {}
                }
                depth == 0
            })
            .map_or(body.len(), |(i, _)| i);
        told.line(&Val::Text(expanded(&body[..end], names)));
        rest = &body[end..];
    }
}

/// A recipe with the makefile's variables, and $$ as $.
fn expanded(text: &str, names: &[(String, String)]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        if let Some(t) = tail.strip_prefix('$') {
            out.push('$');
            rest = t;
            continue;
        }
        let (name, end) = match tail.chars().next() {
            Some('(') => (tail[1..].split(')').next().unwrap_or(""), tail.find(')').map_or(tail.len(), |e| e + 1)),
            Some('{') => (tail[1..].split('}').next().unwrap_or(""), tail.find('}').map_or(tail.len(), |e| e + 1)),
            Some(c) => (&tail[..c.len_utf8()], c.len_utf8()),
            None => ("", 0),
        };
        match (names.iter().rev().find(|(n, _)| n == name), name) {
            (Some((_, v)), _) => out.push_str(v),
            (None, "HOME") => out.push('~'),
            (None, "MAKE") => out.push_str("make"),
            (None, "@" | "<" | "^" | "*" | "?") => out.push('x'),
            (None, "RM") => out.push_str("rm -f"),
            (None, "CURDIR" | "PWD") => out.push('.'),
            _ => out.push(super::value::HOLE),
        }
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}

/// What an editor's commands do besides starting a shell, which the host tells: files that are read or written, and
/// programs in other languages.
pub fn vim(text: &str, given: &Given, told: &mut Told) {
    for line in text.lines().flat_map(|l| l.split(" | ")) {
        let mut t = line.trim().trim_start_matches(':').trim_start();
        for skip in ["silent! ", "silent ", "sil! ", "sil ", "exe ", "execute ", "call ", "let ", "noautocmd ", "keepalt "] {
            if let Some(rest) = t.strip_prefix(skip) {
                t = rest.trim_start();
            }
        }
        let (verb, rest) = t.split_once(' ').unwrap_or((t, ""));
        let rest = rest.trim();
        let language = match verb.trim_end_matches('!') {
            "py" | "python" | "py3" | "python3" | "pyx" | "pythonx" => Some(Lang::Python),
            "lua" => Some(Lang::Lua),
            "ruby" | "rub" => Some(Lang::Ruby),
            "perl" | "pe" => Some(Lang::Perl),
            _ => None,
        };
        if let Some(lang) = language {
            Reader::new(lang, given, told).program(rest);
            continue;
        }
        match verb.trim_end_matches('!').trim_start_matches('%') {
            "w" | "write" | "sav" | "saveas" | "up" | "wq" | "x" if !rest.is_empty() && !rest.starts_with('!') => told.write(&Val::text(rest.trim_start_matches(">> ").trim_start_matches(">>")), &Val::Unknown, true),
            "r" | "read" | "e" | "edit" | "sp" | "split" | "tabe" | "tabedit" | "vs" | "view" | "so" | "source" if !rest.is_empty() && !rest.starts_with('!') => told.paths("cat", &[Val::text(rest)]),
            _ if t.contains('(') => Reader::new(Lang::Calls, given, told).program(t),
            _ => {}
        }
    }
}

/// w FILE and r FILE of sed; what it runs is told by the host.
pub fn sed(text: &str, told: &mut Told) {
    for line in text.split(&['\n', ';', '{', '}'][..]) {
        let line = line.trim();
        let head = line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '!' | '~' | '+'));
        let head = match head.strip_prefix('/') {
            Some(rest) => rest.rsplit_once('/').map_or("", |(_, r)| r),
            None => head,
        };
        let behind = |letters: &str| head.chars().next().filter(|c| letters.contains(*c)).map(|_| head[1..].trim()).filter(|p| !p.is_empty() && !p.contains(' '));
        if let Some(p) = behind("wW") {
            told.write(&Val::text(p), &Val::Unknown, false);
        } else if let Some(p) = behind("rR").filter(|_| head[1..].starts_with(&[' ', '/', '.', '~'][..])) {
            told.paths("cat", &[Val::text(p)]);
        }
    }
    // s/a/b/w FILE
    if let Some((before, p)) = text.rsplit_once("/w ").or_else(|| text.rsplit_once("/gw ")) {
        if before.trim_start().starts_with('s') {
            told.write(&Val::text(p.trim()), &Val::Unknown, false);
        }
    }
}

/// The resources of Puppet that change files and accounts: `file { "/x": ensure => absent }`. What an exec runs is told
/// by the host.
pub fn puppet(text: &str, told: &mut Told) {
    for kind in ["file", "user"] {
        for (at, _) in text.match_indices(kind) {
            let body = match text[at + kind.len()..].trim_start().strip_prefix('{') {
                Some(rest) => rest.split('}').next().unwrap_or(rest),
                None => continue,
            };
            let title = body.split(&['"', '\''][..]).nth(1).unwrap_or("");
            let attribute = |name: &str| {
                let value = body.split(name).nth(1)?.trim_start().strip_prefix("=>")?;
                Some(value.split(',').next().unwrap_or(value).trim().trim_matches(&['"', '\'', ';'][..]))
            };
            let path = Val::text(attribute("path").unwrap_or(title));
            match (kind, attribute("ensure")) {
                ("file", Some("absent")) => told.delete_tree(&path),
                ("file", _) => {
                    if let Some(mode) = attribute("mode") {
                        let deep = if attribute("recurse") == Some("true") { " -R" } else { "" };
                        told.paths(&format!("chmod{} {}", deep, super::value::quoted(mode)), &[path.clone()]);
                    }
                    if attribute("content").is_some() || attribute("source").is_some() || attribute("target").is_some() {
                        told.write(&path, &Val::Unknown, false);
                    }
                }
                ("user", _) if attribute("password").is_some() => told.own(format!("usermod -p x {}", super::value::quoted(title))),
                _ => {}
            }
        }
    }
}

/// python and call of a debugger; what it gives to a shell is told by the host.
pub fn debugger(text: &str, given: &Given, told: &mut Told) {
    for line in text.lines() {
        let t = line.trim();
        let code = ["python ", "pi ", "py ", "script "].iter().find_map(|p| t.strip_prefix(p));
        if let Some(code) = code {
            Reader::new(Lang::Python, given, told).program(code);
        } else if ["call ", "print ", "p ", "expr ", "expression ", "compile code "].iter().any(|p| t.starts_with(p)) {
            if let Some(at) = t.find("system") {
                Reader::new(Lang::Calls, given, told).program(&t[at..]);
            }
        }
    }
}
