//! Texts that are run sooner or later: scripts, make's rules, npm's scripts, jobs, profiles, patches.

use belay_hook as hook;
use hook::analysis;
use hook::json::Value;

use crate::files::{Guarded, Reach};
use crate::programs::VARIABLES;
use crate::{arguments, code, commands};

/// Bytes of a text that the host parses as a shell's.
const MOST_SHELL: usize = 64 << 10;

/// Lines of a list that are judged. One that has more is asked about: harmless lines would hide the others.
const MOST_LINES: usize = 512;

/// What reads a text.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Shell,
    Make,
    Npm,
    Code,
    Patch,
    Cron,
    /// Names of files, one a line, for a command.
    Names,
}

impl Kind {
    pub fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "shell" => Kind::Shell,
            "make" => Kind::Make,
            "npm" => Kind::Npm,
            "code" => Kind::Code,
            "patch" => Kind::Patch,
            "cron" => Kind::Cron,
            "names" => Kind::Names,
            _ => return None,
        })
    }

    /// What will run a file, by its name and first line. `None`: a document, or what is built before it runs.
    pub fn of(path: &str, text: &str) -> Option<Kind> {
        let path = path.to_lowercase();
        let base = path.rsplit('/').next().unwrap_or("");
        if let Some(first) = text.strip_prefix("#!") {
            let first = first.lines().next().unwrap_or("");
            let shell = ["sh", "bash", "dash", "zsh", "ksh"].iter().any(|s| first.split(|c: char| c == '/' || c == ' ').any(|w| w == *s));
            return Some(if shell { Kind::Shell } else { Kind::Code });
        }
        if path.contains("/cron.") || path.contains("/crontab") || path.contains("cron/crontabs/") {
            return Some(Kind::Cron);
        }
        match base {
            "makefile" | "gnumakefile" | "justfile" => return Some(Kind::Make),
            "package.json" => return Some(Kind::Npm),
            _ => {}
        }
        match base.rsplit_once('.').map_or("", |(_, ext)| ext) {
            "sh" | "bash" | "zsh" | "ksh" | "fish" | "command" | "bats" => Some(Kind::Shell),
            "mk" => Some(Kind::Make),
            "patch" | "diff" => None, // judged when it is applied
            "py" | "pyw" | "js" | "mjs" | "cjs" | "ts" | "mts" | "rb" | "pl" | "pm" | "php" | "lua" | "ps1" | "tcl" | "ipynb" => {
                Some(Kind::Code)
            }
            "" if path.contains(".git/hooks/") || path.contains(".husky/") || path.contains(".githooks/") => Some(Kind::Shell),
            _ => None,
        }
    }
}

/// Why a text may not be run. `deep` is how many texts are round it.
pub fn judge(guarded: &Guarded, kind: Kind, text: &str, deep: u32) -> Result<Option<String>, hook::Fail> {
    if deep > 4 {
        return Ok(code::judge(guarded, text, true));
    }
    match kind {
        Kind::Shell => shell(guarded, text, deep),
        Kind::Make if text.len() > MOST_SHELL => Ok(code::judge(guarded, text, true)),
        Kind::Make => shell(guarded, &recipes(text), deep),
        Kind::Npm => npm(guarded, text, deep),
        Kind::Cron => cron(guarded, text, deep),
        Kind::Patch => patch(guarded, text, deep),
        Kind::Names => {
            if text.lines().count() > MOST_LINES {
                return Ok(Some("it names more files than can be judged".into()));
            }
            let names: Vec<String> = text.lines().map(|l| l.trim().to_string()).filter(|l| !l.is_empty()).collect();
            Ok(guarded.first(&names, None, Reach::Parents)?.map(|f| format!("it names {f}")))
        }
        Kind::Code => {
            // a notebook's own way to a shell
            let commands: Vec<&str> = text.lines().filter_map(|l| l.trim_start().strip_prefix('!')).collect();
            if !commands.is_empty() {
                if let Some(what) = shell(guarded, &commands.join("\n"), deep)? {
                    return Ok(Some(what));
                }
            }
            Ok(code::judge(guarded, text, false))
        }
    }
}

fn shell(guarded: &Guarded, text: &str, deep: u32) -> Result<Option<String>, hook::Fail> {
    // A file may be long, and is judged by what it mentions then. The call's own command is not: what pads it would
    // hide the rest.
    let long = |own: &str| if deep == 0 { Some(own.to_string()) } else { code::judge(guarded, text, true) };
    if text.len() > MOST_SHELL {
        return Ok(long("the command is too long to be judged"));
    }
    let shell = match analysis::shell_parse(text) {
        Ok(shell) => shell,
        Err(hook::Errno::TooLarge) => return Ok(long("the command is too long to be judged")),
        Err(e) => return Err(e.into()),
    };
    for c in &shell.commands {
        if let Some(what) = commands::judge(guarded, &shell, c, deep)? {
            return Ok(Some(what));
        }
    }
    // What could not be read to its end is judged by what it mentions.
    let sets = ["PROMPT_COMMAND", "BASH_ENV", "PS0="].iter().any(|n| text.contains(n));
    if shell.truncated {
        return Ok(long("the command runs more than can be judged"));
    }
    if !shell.ok || sets {
        return Ok(code::judge(guarded, text, true));
    }
    Ok(None)
}

/// What make would hand to a shell, of every rule.
fn recipes(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if let Some(recipe) = line.strip_prefix('\t').or_else(|| line.strip_prefix("    ")) {
            let recipe = recipe.trim_start_matches(|c: char| matches!(c, '@' | '-' | '+' | ' '));
            out.push_str(&recipe.replace("$(HOME)", "$HOME").replace("$$", "$"));
            out.push('\n');
        }
    }
    out
}

fn npm(guarded: &Guarded, text: &str, deep: u32) -> Result<Option<String>, hook::Fail> {
    match Value::parse(text) {
        Some(v) => {
            for (_, script) in v.get("scripts").map_or(&[][..], |s| s.members()) {
                if let Some(what) = shell(guarded, script.as_text().unwrap_or(""), deep + 1)? {
                    return Ok(Some(what));
                }
            }
        }
        None => {
            // a part of one: each string may be a script
            for (_, part) in text.split('"').enumerate().filter(|(i, p)| i % 2 == 1 && p.contains(' ')) {
                if let Some(what) = shell(guarded, part, deep + 1)? {
                    return Ok(Some(what));
                }
            }
        }
    }
    Ok(None)
}

fn cron(guarded: &Guarded, text: &str, deep: u32) -> Result<Option<String>, hook::Fail> {
    if text.lines().count() > MOST_LINES {
        return Ok(Some("it has more jobs than can be judged".into()));
    }
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let times = if line.starts_with('@') { 1 } else { 5 };
        // a system's table has the user before the command: both readings are judged
        for skip in [0, times, times + 1] {
            let command = words.get(skip..).unwrap_or(&[]).join(" ");
            if let Some(what) = shell(guarded, &command, deep + 1)? {
                return Ok(Some(what));
            }
        }
    }
    Ok(None)
}

/// What a shell or a login reads before it starts anything: besides what it runs, what it sets and where it ends.
pub fn profile(guarded: &Guarded, text: &str, deep: u32) -> Result<Option<String>, hook::Fail> {
    if text.len() > MOST_SHELL {
        return Ok(Some("it is too long to be judged".into()));
    }
    if let Some(what) = shell(guarded, text, deep + 1)? {
        return Ok(Some(what));
    }
    let lower = text.to_lowercase();
    let sets = ["belay", "ld_preload", "shellopts", "noexec", "kill -9 $$", "kill $$"];
    if let Some(name) = sets.iter().chain(VARIABLES).find(|s| lower.contains(**s)) {
        return Ok(Some(format!("it has {name} in what later shells read")));
    }
    let mut words = lower.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '{' | '}' | '\'' | '"'));
    let renamed = |w: &str| {
        let name = w.split('=').next().unwrap_or("");
        w.contains('=') && matches!(name, "claude" | "codex" | "gemini" | "opencode" | "openclaw" | "home" | "shell" | "env")
    };
    if words.any(|w| matches!(w, "exit" | "logout" | "exec") || w.ends_with("\\nexit") || renamed(w)) {
        return Ok(Some("it ends or replaces the shell that starts a runtime or its hooks".into()));
    }
    Ok(None)
}

/// A patch: the files that it changes, and what it adds to those that are run.
pub fn patch(guarded: &Guarded, text: &str, deep: u32) -> Result<Option<String>, hook::Fail> {
    let files = arguments::patched(text);
    let names: Vec<String> = files.iter().map(|f| f.file.clone()).filter(|n| !n.is_empty() && n != "/dev/null").collect();
    if let Some(hit) = guarded.first(&names, None, Reach::Files)? {
        return Ok(Some(format!("the patch would change {hit}")));
    }
    for f in &files {
        if let Some(what) = content(guarded, &f.file, &f.text, deep)? {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// Why a text may not be written to a file: what will read the file would run it.
pub fn content(guarded: &Guarded, file: &str, text: &str, deep: u32) -> Result<Option<String>, hook::Fail> {
    contents(guarded, &[file.to_string()], &[text], deep)
}

/// The same for texts of which each is written to one of the files: which, a tool that nothing is known about does not
/// tell. What reads a file is asked for once, and a text is read once for each way in which one of them could be.
pub fn contents(guarded: &Guarded, files: &[String], texts: &[&str], deep: u32) -> Result<Option<String>, hook::Fail> {
    if texts.iter().all(|t| t.is_empty()) {
        return Ok(None);
    }
    let profiles = guarded.profiles(files, None)?;
    for text in texts.iter().filter(|t| !t.is_empty()) {
        if let Some(at) = profiles.iter().position(|p| *p) {
            if let Some(what) = profile(guarded, text, deep)? {
                return Ok(Some(format!("{} would be read by later shells: {what}", files[at])));
            }
        }
        let mut read: Vec<Kind> = Vec::new();
        for (file, profiled) in files.iter().zip(&profiles) {
            match Kind::of(file, text) {
                Some(kind) if !profiled && !read.contains(&kind) => {
                    if let Some(what) = judge(guarded, kind, text, deep + 1)? {
                        return Ok(Some(format!("{file} could be run then: {what}")));
                    }
                    read.push(kind);
                }
                _ => {}
            }
        }
    }
    Ok(None)
}
