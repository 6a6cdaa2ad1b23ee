//! Programs in words, a command on each line: PowerShell, cmd, Tcl and expect, CMake.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::told::Told;
use super::value::{quoted, Val, HOLE, HOME};
use protected_files::search::Case;

/// The statements of a text, each in words. Brackets that substitute are read by themselves, and stand as not known.
fn statements(text: &str, ends: &str, quotes: &str, escape: char) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quote = '\0';
    let mut open = false; // a word is open, if only an empty text
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if quote != '\0' {
            if c == quote {
                quote = '\0';
            } else if c == escape && quote == '"' {
                word.extend(chars.next());
            } else {
                word.push(c);
            }
            continue;
        }
        if c == escape {
            if let Some(n) = chars.next() {
                word.push(n);
                open = true;
            }
            continue;
        }
        if quotes.contains(c) {
            quote = c;
            open = true;
        } else if c == '\n' || ends.contains(c) {
            if open {
                words.push(core::mem::take(&mut word));
                open = false;
            }
            if !words.is_empty() {
                out.push(core::mem::take(&mut words));
            }
        } else if c.is_whitespace() {
            if open {
                words.push(core::mem::take(&mut word));
                open = false;
            }
        } else {
            word.push(c);
            open = true;
        }
    }
    if open {
        words.push(word);
    }
    if !words.is_empty() {
        out.push(words);
    }
    out
}

/// PowerShell: its own commands as those of a shell, and others as they are.
pub fn powershell(text: &str, told: &mut Told) {
    let mut names: Vec<(String, String)> = Vec::new();
    let low = text.lowered();
    let fetches = ["invoke-webrequest", "iwr ", "iwr(", "invoke-restmethod", "irm ", "downloadstring", "downloadfile", "downloaddata", "curl ", "wget ", "net.webclient", "start-bitstransfer"].iter().any(|w| low.contains(w));
    let runs = ["iex", "invoke-expression", "& ([scriptblock]", "[scriptblock]::create", ".invokescript"].iter().any(|w| low.contains(w));
    if fetches && runs {
        told.run_text("sh", &Val::Net);
    }
    if low.contains("net.sockets.tcpclient") || low.contains("net.sockets.tcplistener") {
        told.socket = true;
        told.shell |= runs || ["powershell", "cmd.exe", "/bin/sh", "/bin/bash", "start-process", "process]"].iter().any(|w| low.contains(w));
    }
    statics(text, told);
    let quoted_code = text.replace("@'", "'").replace("'@", "'");
    // Each command of a pipe gets what the one before it names.
    for pipe in statements(&quoted_code, ";{}&()", "'\"", '`') {
        let mut before: Vec<String> = Vec::new();
        for part in pipe.split(|w| w == "|" || w == "||" || w == "&&") {
            let mut words: Vec<String> = part.iter().map(|w| substituted(w, &names)).collect();
            if words.is_empty() {
                continue;
            }
            if words.len() > 2 && words[0].starts_with('$') && words[1] == "=" {
                names.push((words[0][1..].lowered(), words[2..].join(" ")));
                words.drain(..2);
            } else if let Some((n, v)) = words[0].split_once('=').filter(|(n, _)| n.starts_with('$')) {
                names.push((n[1..].lowered(), v.to_string()));
                continue;
            }
            powershell_command(&words, &before, told);
            before = operands(&words[1..]);
        }
    }
}

/// [IO.File]::Delete("x") and its like.
fn statics(text: &str, told: &mut Told) {
    for (at, _) in text.match_indices("]::") {
        let method: String = text[at + 3..].chars().take_while(|c| c.is_alphanumeric()).collect();
        let class = text[..at].rsplit('[').next().unwrap_or("").lowered();
        let class = class.trim_start_matches("system.");
        let args = &text[at + 3 + method.len()..];
        let first = || args.trim_start_matches('(').split(&['"', '\''][..]).nth(1).map(|t| Val::text(powershell_home(t)));
        match (class, method.lowered().as_str()) {
            ("io.file", "delete") => told.paths("rm -f", &first().into_iter().collect::<Vec<_>>()),
            ("io.directory", "delete") => first().iter().for_each(|p| told.delete_tree(p)),
            ("io.file", m) if m.starts_with("read") || m == "openread" => told.paths("cat", &first().into_iter().collect::<Vec<_>>()),
            ("io.file", m) if m.starts_with("write") || m.starts_with("append") || m == "create" => first().iter().for_each(|p| told.write(p, &Val::Unknown, true)),
            ("diagnostics.process", "start") => {
                let all: Vec<Val> = args.split(&['"', '\''][..]).skip(1).step_by(2).take(2).map(Val::text).collect();
                told.words(&all);
            }
            _ => {}
        }
    }
}

fn powershell_home(t: &str) -> String {
    for home in ["$HOME", "$env:HOME", "$env:USERPROFILE", "$Home", "$home", "~"] {
        if let Some(rest) = t.strip_prefix(home) {
            return format!("{}{}", HOME, rest.replace('\\', "/"));
        }
    }
    t.into()
}

fn substituted(w: &str, names: &[(String, String)]) -> String {
    let w = powershell_home(w);
    if let Some(n) = w.strip_prefix('$') {
        let key = n.split(&['.', '/', '\\'][..]).next().unwrap_or("").lowered();
        if let Some((_, v)) = names.iter().rev().find(|(k, _)| *k == key) {
            return v.clone();
        }
        if n.starts_with(|c: char| c.is_alphabetic() || c == '(' || c == '_') {
            return if n.contains(&['/', '\\'][..]) { format!("{}/x", HOLE) } else { format!("${}", n) };
        }
    }
    w
}

/// The words that are no options.
fn operands(words: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut skip = false;
    for w in words {
        if skip {
            skip = false;
        } else if w.starts_with('-') {
            skip = matches!(w.lowered().as_str(), "-value" | "-encoding" | "-filter" | "-include" | "-exclude" | "-erroraction" | "-itemtype" | "-headers" | "-method" | "-body" | "-pattern" | "-raw:" | "-depth");
        } else {
            out.push(w.clone());
        }
    }
    out
}

fn powershell_command(words: &[String], before: &[String], told: &mut Told) {
    let name = words[0].trim_start_matches(&['&', '.', '('][..]).lowered();
    let rest = &words[1..];
    let option = |o: &str| rest.iter().any(|w| w.len() > 1 && w.starts_with('-') && o.starts_with(&w.lowered()));
    let mut paths: Vec<Val> = Vec::new();
    for o in operands(rest) {
        for one in o.split(',') {
            let t = one.trim_matches(&['"', '\'', '(', ')'][..]);
            if t.starts_with('$') {
                paths.push(Val::Unknown);
            } else if !t.is_empty() {
                paths.push(Val::Text(super::value::pattern(t)));
            }
        }
    }
    let piped: Vec<Val> = before.iter().map(|t| Val::Text(super::value::pattern(t))).collect();
    match name.as_str() {
        "remove-item" | "ri" | "rm" | "del" | "erase" | "rd" | "rmdir" => {
            let all = if paths.is_empty() || paths == [Val::Unknown] && !piped.is_empty() { piped } else { paths };
            if option("-recurse") || words.iter().any(|w| matches!(w.as_str(), "-rf" | "-fr" | "-r" | "/s")) {
                all.iter().for_each(|p| told.delete_tree(p));
            } else {
                told.paths("rm -f", &all);
            }
        }
        "clear-content" | "clc" => told.paths("truncate -s 0", &paths),
        "move-item" | "mi" | "mv" | "move" | "rename-item" | "rni" => told.paths("mv", &paths),
        "copy-item" | "cpi" | "cp" | "copy" => told.paths("cp -r", &paths),
        "get-content" | "gc" | "cat" | "type" | "select-string" | "sls" | "import-csv" | "format-hex" | "compress-archive" | "get-filehash" => {
            let skip = usize::from(matches!(name.as_str(), "select-string" | "sls") && paths.len() > 1);
            told.paths("cat", &paths[skip.min(paths.len())..]);
        }
        "set-content" | "sc" | "out-file" | "add-content" | "ac" | "tee-object" | "new-item" | "ni" | "export-csv" => {
            if let Some(p) = paths.first() {
                told.write(p, &Val::Unknown, matches!(name.as_str(), "add-content" | "ac"));
            }
        }
        "set-location" | "cd" | "sl" | "push-location" => {
            if let Some(Val::Text(t)) = paths.first() {
                told.push(format!("cd {}", quoted(t)));
            }
        }
        "invoke-expression" | "iex" => match paths.first().and_then(Val::known).filter(|t| !t.starts_with('$') && rest.len() > 0) {
            Some(_) => {
                let t = rest.join(" ");
                powershell(&t, told);
            }
            None => told.unknown(),
        },
        "start-process" | "saps" | "start" => {
            let words: Vec<Val> = paths.iter().flat_map(|p| p.as_text().map_or(alloc::vec![p.clone()], |t| t.split(' ').map(Val::text).collect())).collect();
            told.words(&words);
        }
        "clear-disk" | "format-volume" | "initialize-disk" | "remove-partition" | "diskpart" => told.own("mkfs.ext4 /dev/sda".into()),
        "stop-computer" | "restart-computer" | "suspend-computer" => told.own("shutdown now".into()),
        _ if is_program(&name) => {
            let line: Vec<String> = words.iter().map(|w| if w.contains('*') { quoted(&super::value::pattern(w)) } else { quoted(w) }).collect();
            told.push(line.join(" "));
        }
        _ => {}
    }
    if let Some(k) = words.iter().position(|w| w == ">" || w == ">>") {
        if let Some(p) = words.get(k + 1) {
            told.write(&Val::text(p.clone()), &Val::Unknown, words[k] == ">>");
        }
    }
}

/// Whether a name may be that of a program: not one of PowerShell's own words, commands or expressions.
fn is_program(name: &str) -> bool {
    const OWN: [&str; 38] = [
        "begin", "break", "catch", "class", "continue", "data", "do", "else", "elseif", "end", "exit", "filter", "finally", "for", "foreach",
        "foreach-object", "format-list", "format-table", "function", "if", "in", "measure-object", "out-host", "out-null", "param", "process",
        "return", "select", "select-object", "set", "sort", "sort-object", "switch", "throw", "trap", "try", "until", "while",
    ];
    let verbs = ["get-", "set-", "new-", "write-", "add-", "convert", "import-", "export-", "test-", "where", "invoke-", "wait-", "install-", "update-"];
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '\\' | ':'))
        && !OWN.contains(&name)
        && !verbs.iter().any(|v| name.starts_with(v))
}

/// cmd.exe
pub fn cmd(text: &str, told: &mut Told) {
    for words in statements(text, "&|\r", "\"", '^') {
        let name = words[0].trim_start_matches('@').lowered();
        let rest: Vec<Val> = words[1..].iter().filter(|w| !(w.starts_with('/') && w.len() <= 3)).map(|w| Val::Text(super::value::pattern(&w.replace("%USERPROFILE%", "~").replace("%HOME%", "~")))).collect();
        let option = |o: &str| words.iter().any(|w| w.eq_ignore_ascii_case(o));
        match name.as_str() {
            "del" | "erase" | "rd" | "rmdir" if option("/s") => rest.iter().for_each(|p| told.delete_tree(p)),
            "del" | "erase" => told.paths("rm -f", &rest),
            "type" | "more" | "find" | "findstr" => told.paths("cat", &rest),
            "copy" | "xcopy" | "robocopy" => told.paths("cp -r", &rest),
            "move" | "ren" => told.paths("mv", &rest),
            "format" | "diskpart" => told.own("mkfs.ext4 /dev/sda".into()),
            "echo" | "rem" | "set" | "cd" | "dir" | "if" | "for" => {}
            _ => {
                let local = [".bat", ".cmd", ".exe", ".ps1"].iter().any(|e| name.ends_with(e)) && !name.contains(&['/', '\\'][..]);
                told.push(format!("{}{}", if local { "./" } else { "" }, words.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" ")));
            }
        }
    }
}

/// Tcl and expect: exec, spawn, send, file, open.
pub fn tcl(text: &str, told: &mut Told) {
    let mut names: Vec<(String, String)> = Vec::new();
    tcl_text(text, &mut names, told, 0);
}

fn tcl_text(text: &str, names: &mut Vec<(String, String)>, told: &mut Told, depth: usize) {
    if depth > 6 {
        told.more = true;
        return;
    }
    for words in tcl_statements(text) {
        for w in &words {
            // [command] in a word, {body} of a control structure
            if let Some(at) = w.find('[') {
                let end = w.rfind(']').filter(|e| *e > at).unwrap_or(w.len());
                tcl_text(&w[at + 1..end], names, told, depth + 1);
            }
        }
        let said: Vec<String> = words.iter().map(|w| tcl_word(w, names)).collect();
        let vals: Vec<Val> = said.iter().map(|w| Val::text(w.clone())).collect();
        match said[0].as_str() {
            "set" if said.len() > 2 => {
                if words[2].starts_with("[socket") {
                    told.socket = true;
                }
                names.push((said[1].clone(), said[2].clone()));
            }
            "exec" | "spawn" => {
                let rest: Vec<Val> = vals[1..].iter().filter(|v| !matches!(v.known().as_deref(), Some("-noecho" | "--" | "-ignorestderr" | "-keepnewline"))).cloned().collect();
                told.words(&rest);
            }
            "system" => told.line(&Val::text(said[1..].join(" "))),
            "send" | "exp_send" => {
                let line = said.last().cloned().unwrap_or_default();
                let line = line.trim_end_matches(&['\r', '\n'][..]);
                // What is typed may be an answer; a line with a blank in it may be a command.
                if line.contains(' ') && !line.starts_with('$') && !line.contains(HOLE) {
                    told.line(&Val::text(line));
                }
            }
            "file" => match said.get(1).map(|s| s.as_str()) {
                Some("delete") => {
                    let rest: Vec<Val> = vals[2..].iter().filter(|v| !v.known().map_or(false, |t| t.starts_with('-'))).cloned().collect();
                    rest.iter().for_each(|p| told.delete_tree(p));
                }
                Some("rename") => told.paths("mv", &vals[2..].iter().filter(|v| v.known().as_deref() != Some("-force")).cloned().collect::<Vec<_>>()),
                Some("copy") => told.paths("cp -r", &vals[2..].iter().filter(|v| v.known().as_deref() != Some("-force")).cloned().collect::<Vec<_>>()),
                Some("attributes") if said.len() > 4 && said[3].starts_with("-perm") => told.own(format!("chmod {} {}", quoted(said[4].trim_start_matches("0o")), quoted(&said[2]))),
                _ => {}
            },
            "open" if said.len() > 1 => match said[1].strip_prefix('|') {
                Some(line) => told.line(&Val::text(line.trim_matches(&['{', '}'][..]))),
                None if said.get(2).map_or(false, |m| m.contains(&['w', 'a'][..])) => told.write(&vals[1], &Val::Unknown, true),
                None => told.paths("cat", &vals[1..2]),
            },
            "source" => told.paths("cat", &vals[1..2.min(vals.len())]),
            "socket" => told.socket = true,
            "foreach" if words.len() > 3 => {
                names.push((said[1].clone(), said[2].split_whitespace().next().unwrap_or("").into()));
                tcl_text(&words[3], names, told, depth + 1);
            }
            "if" | "while" | "for" | "proc" | "catch" | "eval" | "try" | "expect" | "after" | "uplevel" | "namespace" | "else" | "time" => {
                for w in &words[1..] {
                    if w.contains(' ') || said[0] == "catch" {
                        tcl_text(w, names, told, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }
}

fn tcl_statements(text: &str) -> Vec<Vec<String>> {
    let c: Vec<char> = text.chars().collect();
    let mut out: Vec<Vec<String>> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut i = 0;
    while i < c.len() {
        match c[i] {
            '\n' | ';' => {
                if !words.is_empty() {
                    out.push(core::mem::take(&mut words));
                }
                i += 1;
            }
            ch if ch.is_whitespace() => i += 1,
            '#' if words.is_empty() => {
                while i < c.len() && c[i] != '\n' {
                    i += 1;
                }
            }
            open @ ('{' | '"') => {
                let mut depth = 1;
                let from = i + 1;
                i += 1;
                while i < c.len() {
                    match c[i] {
                        '\\' => i += 1,
                        '"' if open == '"' => depth = 0,
                        '{' if open == '{' => depth += 1,
                        '}' if open == '{' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                    i += 1;
                }
                words.push(c[from.min(c.len())..i.min(c.len())].iter().collect());
                i += 1;
            }
            _ => {
                let from = i;
                let mut depth = 0;
                while i < c.len() && (depth > 0 || !c[i].is_whitespace() && c[i] != ';') {
                    match c[i] {
                        '[' => depth += 1,
                        ']' => depth -= 1,
                        _ => {}
                    }
                    i += 1;
                }
                words.push(c[from..i].iter().collect());
            }
        }
    }
    if !words.is_empty() {
        out.push(words);
    }
    out
}

fn tcl_word(w: &str, names: &[(String, String)]) -> String {
    let mut out = String::new();
    let mut rest = w;
    if w.starts_with('[') {
        let inner = w.trim_matches(&['[', ']'][..]);
        if let Some(p) = inner.strip_prefix("glob ") {
            return super::value::pattern(p.trim_start_matches("-nocomplain ").trim());
        }
        if let Some(p) = inner.strip_prefix("join ").or_else(|| inner.strip_prefix("file join ")) {
            return p.split_whitespace().collect::<Vec<_>>().join(if inner.starts_with("file") { "/" } else { "" });
        }
        return HOLE.to_string();
    }
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let tail = rest[at + 1..].trim_start_matches("::");
        let braced = tail.starts_with('{');
        let body = tail.trim_start_matches('{');
        let n = body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
        let mut end = n + usize::from(braced) * 2;
        let name = &body[..n];
        if name == "env" && tail[n..].starts_with("(HOME)") {
            out.push(HOME);
            end = n + "(HOME)".len();
        } else {
            match names.iter().rev().find(|(k, _)| k == name) {
                Some((_, v)) => out.push_str(v),
                None => out.push(HOLE),
            }
        }
        rest = tail.get(end..).unwrap_or("");
    }
    out.push_str(rest);
    super::escapes::undone(&out, super::lang::Lang::Calls)
}

/// CMake: execute_process(COMMAND ...), file(REMOVE_RECURSE ...).
pub fn cmake(text: &str, told: &mut Told) {
    for (call, _) in text.match_indices('(') {
        let name: String = text[..call].chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<Vec<_>>().into_iter().rev().collect();
        let end = text[call..].find(')').map_or(text.len(), |e| call + e);
        let words: Vec<String> = statements(&text[call + 1..end], "", "\"", '\\').into_iter().flatten().collect();
        let vals = |from: usize| words[from.min(words.len())..].iter().map(|w| Val::text(w.clone())).collect::<Vec<_>>();
        match (name.lowered().as_str(), words.first().map(|w| w.as_str())) {
            ("execute_process" | "exec_program", Some(first)) => told.words(&vals(usize::from(first == "COMMAND"))),
            ("file", Some("REMOVE_RECURSE")) => vals(1).iter().for_each(|p| told.delete_tree(p)),
            ("file", Some("REMOVE")) => told.paths("rm -f", &vals(1)),
            ("file", Some("RENAME")) => told.paths("mv", &vals(1)),
            ("file", Some("WRITE" | "APPEND")) => vals(1).first().into_iter().for_each(|p| told.write(p, &Val::Unknown, true)),
            ("file", Some("READ" | "STRINGS")) => told.paths("cat", &vals(1)[..1.min(words.len() - 1)]),
            ("file", Some("DOWNLOAD")) if words.len() > 2 => told.fetched(&Val::text(words[1].clone()), &Val::text(words[2].clone())),
            _ => {}
        }
    }
}
