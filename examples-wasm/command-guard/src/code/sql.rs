//! What a client of a database has the server, or itself, do to files. Commands of a shell in it are told by the host.

use alloc::string::String;

use super::lang::Lang;
use super::told::Told;
use super::tokens::{tokens, Seg, Tok};
use super::value::Val;
use protected_files::search::Case;

pub fn told(text: &str, told: &mut Told) {
    let low = text.lowered();
    // The usual statement names no file and no function of files.
    let words = ["file", "outfile", "program", "copy", "attach", "xp_cmdshell", "exec", "system", ".import", ".read", ".open", "\\i", "\\copy", "\\o", "\\w", "read_text", "read_csv", "load", "writefile", "edit(", ".output", ".once", ".backup", ".clone", "lo_import", "lo_export", "dumpfile", "source"];
    if !words.iter().any(|w| low.contains(w)) {
        return;
    }
    for line in text.lines() {
        metacommand(line.trim(), told);
    }
    let quoted = text.replace("''", "'");
    let t = tokens(&quoted, Lang::Calls);
    let string = |k: usize| match t.get(k).map(|t| &t.tok) {
        Some(Tok::Text(s)) => Some(s.iter().map(|s| match s { Seg::Plain(t) => t.clone(), Seg::Code(_) => String::from(super::value::HOLE) }).collect::<String>()),
        _ => None,
    };
    let name = |k: usize| match t.get(k).map(|t| &t.tok) {
        Some(Tok::Name(n)) => n.lowered(),
        _ => String::new(),
    };
    for k in 0..t.len() {
        let n = name(k);
        // The text behind a word, or the first in its parentheses.
        let behind = || (k + 1..(k + 4).min(t.len())).find_map(string);
        match n.as_str() {
            "outfile" | "dumpfile" => {
                if let Some(p) = behind() {
                    told.write(&Val::Text(p), &Val::Unknown, false);
                }
            }
            "pg_read_file" | "pg_read_binary_file" | "load_file" | "lo_import" | "readfile" | "read_text" | "read_blob" | "read_csv" | "read_csv_auto" | "infile" | "attach" | "pg_file_read" => {
                if let Some(p) = behind().or_else(|| (k + 1..(k + 6).min(t.len())).find_map(string)) {
                    told.paths("cat", &[Val::Text(p)]);
                }
            }
            "writefile" | "pg_file_write" | "lo_export" => {
                let all: alloc::vec::Vec<String> = (k + 1..(k + 8).min(t.len())).filter_map(string).collect();
                let p = if n == "lo_export" { all.last() } else { all.first() };
                if let Some(p) = p {
                    told.write(&Val::Text(p.clone()), &Val::Unknown, false);
                }
            }
            "xp_cmdshell" | "sys_exec" | "sys_eval" | "do_system" => {
                if let Some(line) = behind() {
                    told.line(&Val::Text(line));
                }
            }
            "copy" => {
                let end = (k + 1..t.len()).find(|j| t[*j].tok == Tok::End).unwrap_or(t.len());
                for j in k + 1..end {
                    match (name(j).as_str(), string(j + 1)) {
                        ("to", Some(p)) => told.write(&Val::Text(p), &Val::Unknown, false),
                        ("from", Some(p)) => told.paths("cat", &[Val::Text(p)]),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// Commands of the client: \i FILE, .read FILE, .import "|command".
fn metacommand(line: &str, told: &mut Told) {
    let mut words = line.split_whitespace();
    let verb = words.next().unwrap_or("");
    let rest: alloc::vec::Vec<&str> = words.map(|w| w.trim_matches(&['\'', '"'][..])).collect();
    let first = rest.iter().find(|w| !w.starts_with("--")).copied().unwrap_or("");
    if first.is_empty() {
        return;
    }
    match verb {
        "\\i" | "\\ir" | "\\include" | ".read" | "source" | "\\." | ".open" | ".restore" | ".import" => match first.strip_prefix('|') {
            Some(_) => {
                let at = line.find('|').unwrap_or(0);
                let line = line[at + 1..].trim_matches(&['\'', '"'][..]);
                told.line(&Val::text(line.split(&['"', '\''][..]).next().unwrap_or(line)));
            }
            None => told.paths("cat", &[Val::text(first)]),
        },
        "\\copy" => {
            if let Some(k) = rest.iter().position(|w| w.eq_ignore_ascii_case("from")) {
                if let Some(p) = rest.get(k + 1) {
                    told.paths("cat", &[Val::text(*p)]);
                }
            }
            if let Some(k) = rest.iter().position(|w| w.eq_ignore_ascii_case("to")) {
                if let Some(p) = rest.get(k + 1) {
                    told.write(&Val::text(*p), &Val::Unknown, false);
                }
            }
        }
        "\\o" | "\\out" | "\\w" | ".output" | ".once" | ".backup" | ".save" | ".clone" | "tee" | "\\T" | ".log" if !first.starts_with('|') => {
            let p = if verb == ".backup" { rest.last().copied().unwrap_or(first) } else { first };
            told.write(&Val::text(p), &Val::Unknown, false);
        }
        _ => {}
    }
}
