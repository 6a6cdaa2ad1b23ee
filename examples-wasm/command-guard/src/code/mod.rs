//! Programs of other languages that a command gives to an interpreter: python3 -c, perl -e, awk, a makefile on its input.
//!
//! A program's text is read (`reader`, and others for languages of other forms), and what it does itself is told as a
//! text of a shell that does the same: rmtree("/etc") is `rm -rf /etc`. So one set of rules judges both. What a program
//! runs and cannot be told is a question; what it prints, counts or parses is nothing.

mod calls;
mod escapes;
mod files;
mod forks;
mod lang;
mod lisp;
mod other;
mod reader;
mod sql;
mod texts;
mod told;
mod tokens;
mod value;
mod words;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::Finding;
use crate::hook::analysis::{Command, Program};
use crate::text::Text;
pub use told::OWN;
use lang::Lang;
use reader::{Given, Reader};
use told::Told;
use value::Val;

/// What a program does.
pub struct Script {
    /// The interpreter, for messages.
    pub by: String,
    /// A text of a shell that does the same.
    pub text: String,
    /// What no text of a shell does.
    pub found: Vec<Finding>,
}

/// The most programs of one text of commands that are read.
const PROGRAMS: usize = 32;

/// What the programs do that the commands of a text run.
pub fn scripts(t: &Text) -> Vec<Script> {
    let mut out = Vec::new();
    for p in t.programs.iter().take(PROGRAMS) {
        let c = match p.command.and_then(|i| t.shell.commands.get(i)) {
            Some(c) => c,
            None => continue,
        };
        if p.text.is_empty() {
            let found = if p.file.is_empty() { fed(t, c, p) } else { None };
            out.extend(found.map(|f| Script { by: c.name.clone(), text: String::new(), found: [f].into() }));
            continue;
        }
        let mut told = Told::default();
        let found = read(&p.language, &c.name, &p.text, &given(t, c, p), &mut told);
        let mut found: Vec<Finding> = found.into_iter().collect();
        if told.socket && told.shell {
            found.push(Finding::block("backdoor", format!("the program given to {} would give a shell to the network", c.name)));
        }
        if told.more {
            found.push(Finding::ask("unknown", format!("the program given to {} does more than can be judged", c.name)));
        }
        if !told.lines.is_empty() || !found.is_empty() {
            out.push(Script { by: c.name.clone(), text: told.lines.join("\n"), found });
        }
    }
    // The host tells what sed runs, and not the files that its program names.
    for c in t.shell.commands.iter().filter(|c| matches!(c.name.as_str(), "sed" | "gsed")).take(PROGRAMS) {
        let mut told = Told::default();
        for w in c.args().iter().filter(|w| !w.text.starts_with('-') || w.text.contains('w')) {
            other::sed(&w.text, &mut told);
        }
        if !told.lines.is_empty() {
            out.push(Script { by: c.name.clone(), text: told.lines.join("\n"), found: Vec::new() });
        }
    }
    if t.programs.len() > PROGRAMS {
        out.push(Script { by: String::new(), text: String::new(), found: [Finding::ask("unknown", "the command runs more programs than can be judged")].into() });
    }
    out
}

/// Whether a command stands for what a program does by itself.
pub fn is_own(c: &Command) -> bool {
    c.assigns.iter().any(|(name, _)| name == OWN)
}

/// Reads a program's text into what it does.
fn read(language: &str, by: &str, text: &str, given: &Given, told: &mut Told) -> Option<Finding> {
    let plain = language == "xonsh" && !text.contains(&['(', '='][..]);
    if let Some(lang) = Lang::of(language).filter(|_| !plain) {
        if matches!(language, "gnuplot" | "octave" | "matlab" | "dc") {
            other::lines_behind(text, &["!", "system ", "shell "], told);
        }
        if language == "applescript" {
            other::applescript(text, told);
        }
        Reader::new(lang, given, told).program(text);
        if forks::unbounded(text, lang) {
            return Some(Finding::block("fork-bomb", format!("the program given to {} would start processes without bound", by)));
        }
        return None;
    }
    match language {
        "sql" => sql::told(text, told),
        "make" => other::make(text, told),
        "vim" | "ed" => other::vim(text, given, told),
        "sed" => other::sed(text, told),
        "gdb" | "lldb" => other::debugger(text, given, told),
        "powershell" | "cmd" | "tcl" | "expect" if forks::endless(text, language) => {
            return Some(Finding::block("fork-bomb", format!("the program given to {} would start processes without bound", by)));
        }
        "powershell" => words::powershell(text, told),
        "cmd" => words::cmd(text, told),
        "tcl" | "expect" => words::tcl(text, told),
        "puppet" => other::puppet(text, told),
        "cmake" => words::cmake(text, told),
        "elisp" | "scheme" | "lisp" | "clojure" | "racket" | "guile" => lisp::told(text, told),
        "fish" | "nu" | "elvish" | "xonsh" => told.push(format!("sh -c {}", told::single(text))),
        _ => {}
    }
    None
}

/// Whether the programs that an interpreter gets are read here.
pub fn reads(interpreter: &str) -> bool {
    let name = interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    matches!(
        name,
        "python" | "pypy" | "ipython" | "perl" | "ruby" | "jruby" | "irb" | "node" | "nodejs" | "deno" | "bun" | "php" | "lua" | "luajit" | "r" | "rscript" | "julia" | "elixir" | "awk" | "gawk" | "mawk" | "nawk" | "psql" | "mysql" | "mariadb"
            | "sqlite" | "sqlite3" | "duckdb" | "vim" | "nvim" | "vi" | "ex" | "view" | "pwsh" | "powershell" | "osascript" | "tclsh" | "expect" | "emacs" | "emacsclient" | "groovy" | "scala" | "swift" | "guile" | "clojure" | "bb" | "sbcl" | "racket" | "sed" | "gsed" | "make"
    )
}

/// A text that fits into a message.
pub fn printable(t: &str) -> String {
    let t: String = t.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    match t.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &t[..end]),
        None => t,
    }
}

/// A program that comes through a pipe and is not told.
fn fed(t: &Text, c: &Command, p: &Program) -> Option<Finding> {
    let plain = ["cat", "head", "tail", "sed", "grep", "tac", "tee", "envsubst", "pv", "git", "jq", "m4", "cpp", "bat", "zcat", "gunzip", "xzcat", "awk", "find", "ls", "sort", "uniq", "cut", "echo", "printf", "yes", "true"];
    if Lang::of(&p.language).map_or(true, |l| l == Lang::Calls || l == Lang::Awk) {
        return None;
    }
    // What is read from the network is judged by another rule.
    let mut feeders = t.feeders(c);
    let from = feeders.find(|f| !plain.contains(&f.name.as_str()))?;
    Some(Finding::ask("unknown", format!("what {} would run comes from {}, and cannot be told beforehand", c.name, crate::text::shown(&from.name))))
}

/// What is known of the place where a program runs.
fn given(t: &Text, c: &Command, p: &Program) -> Given {
    let at = c.words.iter().position(|w| !p.text.is_empty() && w.text == p.text);
    let rest = at.map_or(&[][..], |i| c.words.get(i + 1..).unwrap_or(&[]));
    let rest = match rest.first() {
        Some(w) if w.text == "--" => &rest[1..],
        _ => rest,
    };
    let argv = rest.iter().map(|w| if w.known || w.tilde || w.glob { homely(w) } else { String::from(value::HOLE) }).collect();
    let mut env: Vec<(String, String)> = c.assigns.iter().filter(|(_, v)| v.known).map(|(n, v)| (n.clone(), v.text.clone())).collect();
    // awk -v x=...
    for w in c.words.windows(2).filter(|w| w[0].text == "-v" || w[0].text == "--assign") {
        if let Some((n, v)) = w[1].text.split_once('=') {
            env.push((n.into(), v.into()));
        }
    }
    let network = t.feeders(c).any(|f| matches!(f.name.as_str(), "curl" | "wget" | "fetch" | "aria2c" | "http" | "https" | "nc" | "ncat" | "socat"));
    let stdin = match (&c.stdin, network) {
        (_, true) => Some(Val::Net),
        (Some(w), _) if w.known && w.text != p.text => Some(Val::text(w.text.clone())),
        _ => None,
    };
    Given { argv, env, stdin, partial: p.partial }
}

fn homely(w: &crate::hook::analysis::Word) -> String {
    let t = if w.glob { value::pattern(&w.text) } else { w.text.clone() };
    match t.strip_prefix('~') {
        Some(rest) if w.tilde => format!("{}{}", value::HOME, rest),
        _ => t,
    }
}

/// A text with the shell's variables in it marked.
fn holes(t: &str) -> String {
    let mut out = String::new();
    let mut rest = t;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let end = match tail.chars().next() {
            Some('{') => tail.find('}').map_or(tail.len(), |e| e + 1),
            Some('(') => tail.rfind(')').map_or(tail.len(), |e| e + 1),
            Some(c) if c.is_alphabetic() || c == '_' => tail.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(tail.len()),
            _ => 0,
        };
        out.push(if end > 0 { value::HOLE } else { '$' });
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
