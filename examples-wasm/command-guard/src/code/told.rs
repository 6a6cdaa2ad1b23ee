//! What a program does, as a text of a shell that does the same: the rules for commands judge it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::value::{quoted, Val, ANY, HOLE, HOME};
use protected_files::search::Case;

/// The shell's text, and what has no text in a shell.
#[derive(Debug, Default)]
pub struct Told {
    pub lines: Vec<String>,
    /// There is more than is told.
    pub more: bool,
    /// It opens a connection, or waits for one.
    pub socket: bool,
    /// It starts a shell without a command, or hands its descriptors on.
    pub shell: bool,
}

/// The variable by which a line says that no other program is started: the one that is read does it.
pub const OWN: &str = "_own";

/// The most lines of one program.
const MOST: usize = 96;

/// What is fetched, where the program does not say more.
const FETCH: &str = "curl -s https://network.invalid/";

impl Told {
    pub fn push(&mut self, line: String) {
        if self.lines.len() >= MOST {
            self.more = true;
        } else if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// A line for what the program does by itself, without starting another one.
    pub fn own(&mut self, line: String) {
        self.push(format!("{}= {}", OWN, line));
    }

    /// What runs cannot be told.
    pub fn unknown(&mut self) {
        self.push("eval \"$UNKNOWN\"".into());
    }

    /// A line that a shell runs.
    pub fn line(&mut self, v: &Val) {
        match v {
            Val::Text(t) if t.chars().all(|c| c == HOLE) && !t.is_empty() => self.unknown(),
            Val::Text(t) if !t.trim().is_empty() => {
                self.shell |= is_shell(t);
                let t = shell_text(t);
                self.push(format!("sh -c {}", single(&t)));
            }
            Val::List(words) => self.words(words),
            Val::OneOf(all) => all.iter().for_each(|v| self.line(v)),
            Val::Net => self.push(format!("{} | sh", FETCH)),
            Val::Unknown | Val::Name(_) => self.unknown(),
            Val::Content(p) => {
                if let Val::Text(t) = &**p {
                    self.push(format!("sh {}", quoted(t)));
                }
            }
            _ => {}
        }
    }

    /// A program that is started with words.
    pub fn words(&mut self, words: &[Val]) {
        let mut flat: Vec<String> = Vec::new();
        for w in words {
            match w {
                Val::List(inner) => flat.extend(inner.iter().map(Val::or_hole)),
                Val::Net => flat.push(String::from(HOLE)),
                Val::OneOf(all) if all.len() <= 8 => {
                    // Each of them is a word in the place of this one.
                    flat.extend(all.iter().map(Val::or_hole));
                }
                Val::Map(_) | Val::Function(_) => {}
                w => flat.push(w.or_hole()),
            }
        }
        if words.iter().any(|w| *w == Val::Net) && flat.first().map_or(false, |f| f.starts_with(HOLE) || is_shell(f)) {
            self.push(format!("{} | sh", FETCH));
            return;
        }
        let shell = flat.first().map_or(false, |f| is_shell(f)) && !flat.iter().any(|w| w == "-c" || w == "/c");
        self.shell |= shell;
        let line: Vec<String> = flat.iter().map(|w| if w.contains('*') { single(w) } else { quoted(w) }).collect();
        if let Some(first) = flat.first() {
            if first.chars().any(|c| c == HOLE) {
                // A program of which a part of the name is not known.
                self.push(format!("\"$UNKNOWN\" {}", line[1..].join(" ")));
                return;
            }
            self.push(line.join(" "));
        }
    }

    /// Text that is handed to a command as its input.
    pub fn fed(&mut self, text: &Val, to: &Val) {
        let to = match to {
            Val::Text(t) if !t.starts_with(HOLE) => shell_text(t),
            Val::OneOf(_) | Val::Text(_) | Val::Unknown | Val::Name(_) => return self.unknown(),
            _ => return,
        };
        match text {
            Val::Text(t) if !t.contains(HOLE) => self.push(format!("printf '%s\\n' {} | sh -c {}", single(&plain(t)), single(&to))),
            Val::Net => self.push(format!("{} | {}", FETCH, to)),
            _ => self.push(format!("printf '%s' \"$UNKNOWN\" | {}", to)),
        }
    }

    /// What a line prints, for the program that reads it.
    pub fn output(&self, line: &Val) -> Val {
        let t = match line {
            Val::Text(t) => t.trim_start(),
            _ => return Val::Unknown,
        };
        let first = t.split_whitespace().next().unwrap_or("");
        let base = first.rsplit('/').next().unwrap_or("");
        if matches!(base, "curl" | "wget" | "fetch" | "aria2c") {
            return Val::Net;
        }
        match t.strip_prefix("echo ") {
            Some(rest) if !rest.contains(&['$', '`', '|', '>', ';', '&', '\\', '"', '\''][..]) => Val::text(rest),
            _ => Val::Unknown,
        }
    }

    /// A text that an interpreter runs.
    pub fn run_text(&mut self, program: &str, v: &Val) {
        match v {
            Val::Net => self.push(format!("{} | {}", FETCH, program)),
            Val::Content(p) => match &**p {
                Val::Text(t) if t.contains("://") => self.push(format!("curl -s {} | {}", quoted(t), program)),
                Val::Text(t) => self.push(format!("{} {}", program, quoted(t))),
                _ => self.unknown(),
            },
            Val::OneOf(all) => all.iter().for_each(|v| self.run_text(program, v)),
            Val::Map(_) | Val::Num(_) | Val::Function(_) => {}
            _ => self.unknown(),
        }
    }

    /// Text that a shell gets on its input.
    pub fn run_text_on(&mut self, shell: &str, v: &Val) {
        match v {
            Val::Net => self.push(format!("{} | {}", FETCH, quoted(shell))),
            Val::Text(t) => self.push(format!("{} -c {}", quoted(shell), quoted(t))),
            _ => {}
        }
    }

    /// A command of the shell that does to paths what the program does.
    pub fn paths(&mut self, command: &str, paths: &[Val]) {
        let mut line = String::from(command);
        for p in paths.iter().flat_map(Val::elements) {
            for one in p.each() {
                match path(&one) {
                    Some(t) => {
                        line.push(' ');
                        line.push_str(&quoted(&t));
                    }
                    None => return,
                }
            }
        }
        if line.len() > command.len() {
            self.own(line);
        }
    }

    /// Deletes a tree; one that is not known is a doubt.
    pub fn delete_tree(&mut self, p: &Val) {
        for one in p.elements().iter().flat_map(Val::each) {
            match &one {
                Val::Text(t) if !t.is_empty() => self.own(format!("rm -rf {}", quoted(t))),
                Val::Unknown => self.own("rm -rf \"$UNKNOWN\"".into()),
                Val::Name(n) if !n.contains('(') => self.own("rm -rf \"$UNKNOWN\"".into()),
                _ => {}
            }
        }
    }

    /// Writes a file.
    pub fn write(&mut self, p: &Val, text: &Val, append: bool) {
        let op = if append { ">>" } else { ">" };
        for one in p.each() {
            let to = match path(&one) {
                Some(t) if !t.starts_with(HOLE) => quoted(&t),
                _ => continue,
            };
            match text {
                Val::Text(t) if !t.contains(HOLE) && t.len() <= 4096 && !t.is_empty() => self.own(format!("printf '%s' {} {} {}", single(&plain(t)), op, to)),
                Val::Net => self.own(format!("{} {} {}", FETCH, op, to)),
                _ => self.own(format!(": {} {}", op, to)),
            }
        }
    }

    /// Writes to what a program opened.
    pub fn written(&mut self, file: &Val, text: &Val) {
        if let Val::File(p, true) = file {
            if matches!(&**p, Val::Name(n) if n == "pipe") {
                return;
            }
            if let Val::Map(to) = &**p {
                if let Some((_, to)) = to.first() {
                    return self.fed(text, to);
                }
            }
            self.write(p, text, true);
        }
    }

    /// Saves what is fetched from an address.
    pub fn fetched(&mut self, url: &Val, p: &Val) {
        if let Some(t) = path(p) {
            let url = url.known().unwrap_or_else(|| "https://network.invalid/".into());
            self.own(format!("curl -s {} -o {}", quoted(&url), quoted(&t)));
        }
    }
}

/// The path that a value is.
fn path(v: &Val) -> Option<String> {
    match v {
        Val::Text(t) if !t.is_empty() && !t.chars().all(|c| c == HOLE) => Some(t.clone()),
        _ => None,
    }
}

/// Whether words begin a shell that gets its commands from elsewhere.
fn is_shell(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|w| matches!(*w, "exec" | "/usr/bin/env" | "env"));
    let base = words.next().unwrap_or("").rsplit(&['/', '\\'][..]).next().unwrap_or("").lowered();
    let shell = matches!(base.as_str(), "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "csh" | "tcsh" | "fish" | "cmd" | "cmd.exe" | "powershell" | "powershell.exe" | "pwsh");
    shell && words.next().map_or(true, |w| w.starts_with('-') && !w.contains('c') || w.starts_with('<') || w.starts_with('>') || w.starts_with("0<") || w.starts_with("2>"))
}

/// A line of a shell, with what is not known as variables.
fn shell_text(t: &str) -> String {
    let mut out = String::new();
    for c in t.chars() {
        match c {
            HOLE => out.push_str("$UNKNOWN"),
            ANY => out.push('*'),
            HOME => out.push('~'),
            c => out.push(c),
        }
    }
    out
}

fn plain(t: &str) -> String {
    t.chars().map(|c| if c == HOME { '~' } else { c }).collect()
}

/// A text in single quotes.
pub fn single(t: &str) -> String {
    format!("'{}'", plain(t).replace('\'', "'\\''").replace(HOLE, "x").replace(ANY, "*"))
}
