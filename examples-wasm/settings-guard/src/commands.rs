//! Whether one command of a shell text may run.

use belay_hook as hook;
use hook::analysis::{Command, Shell};

use crate::files::{Guarded, Reach};
use crate::texts::{self, Kind};
use crate::{code, programs, writes};

/// Why a command may not run. `deep` is how many texts are round it.
pub fn judge(guarded: &Guarded, shell: &Shell, c: &Command, deep: u32) -> Result<Option<String>, hook::Fail> {
    if c.remote && !programs::here(shell) {
        return Ok(None); // another machine's files
    }
    if let Some(what) = programs::judge(guarded, shell, c) {
        return Ok(Some(what));
    }
    let cwd = c.cwd.as_ref().map(|d| d.text.as_str()).filter(|d| *d != "?");
    let name = if c.name.is_empty() { "the command" } else { c.name.as_str() };
    let written = writes::of(shell, c);
    for (names, reach) in [
        (&written.files, Reach::Files),
        (&written.directories, Reach::Directories),
        (&written.trees, Reach::Parents),
        (&written.gone, Reach::Project),
        (&written.filled, Reach::Fill),
    ] {
        if let Some(hit) = guarded.first(names, cwd, reach)? {
            return Ok(Some(format!("{name} would change {hit}")));
        }
    }
    // In a protected directory, what writes need not name it.
    if let Some(dir) = cwd.filter(|_| !writes::only_reads(c)) {
        if let Some(hit) = guarded.first(&[dir.to_string()], None, Reach::Directories)? {
            return Ok(Some(format!("{name} would run in {hit}")));
        }
    }
    if let Some(what) = contents(guarded, shell, c, cwd, &written.files, deep)? {
        return Ok(Some(what));
    }
    if let Some(what) = later(guarded, shell, c, deep)? {
        return Ok(Some(what));
    }
    if let Some(text) = programs::code_of(c) {
        return Ok(code::judge(guarded, &text, matches!(c.name.as_str(), "awk" | "gawk" | "mawk" | "perl" | "osascript" | "expect")));
    }
    Ok(None)
}

/// What the text that a command writes would do where it is read.
fn contents(
    guarded: &Guarded, shell: &Shell, c: &Command, cwd: Option<&str>, files: &[String], deep: u32,
) -> Result<Option<String>, hook::Fail> {
    if files.is_empty() || writes::only_reads(c) && c.redirects.is_empty() {
        return Ok(None);
    }
    let text = writes::text_of(shell, c);
    let mut judged = Vec::new(); // ways in which the text was read, and found harmless
    let mut profiled = false;
    for (f, profile) in files.iter().zip(guarded.profiles(files, cwd)?) {
        if profile && !profiled {
            profiled = true;
            let what = match &text {
                Some(text) => texts::profile(guarded, text, deep)?,
                None if matches!(c.name.as_str(), "vi" | "vim" | "nvim" | "nano" | "chmod" | "chown" | "touch") => None,
                None => Some("what it would hold cannot be told".into()),
            };
            if let Some(what) = what {
                return Ok(Some(format!("{f} would be read by later shells: {what}")));
            }
        } else if let Some(text) = text.as_deref().filter(|t| !profile && !t.is_empty()) {
            let base = f.rsplit('/').next().unwrap_or(f);
            if let Some(kind) = Kind::of(f, text).or_else(|| run_here(shell, c, base)).filter(|k| !judged.contains(k)) {
                if let Some(what) = texts::judge(guarded, kind, text, deep + 1)? {
                    return Ok(Some(format!("{f} could be run then: {what}")));
                }
                judged.push(kind);
            }
        }
    }
    Ok(None)
}

/// How a file that one command writes is run by another of the same text.
fn run_here(shell: &Shell, writer: &Command, base: &str) -> Option<Kind> {
    let is = |t: &str| t.ends_with(base) && t.rsplit('/').next() == Some(base);
    for c in shell.commands.iter().filter(|c| !std::ptr::eq(*c, writer)) {
        let started = c.words.first().map_or(false, |w| is(&w.text));
        let named = c.args().iter().any(|w| is(&w.text)) || c.redirects.iter().any(|r| r.op == "<" && is(&r.target.text));
        if !started && !named {
            continue; // most commands of a long text
        }
        let kind = match c.name.as_str() {
            "bash" | "sh" | "dash" | "zsh" | "ksh" | "source" | "." | "at" | "batch" => Kind::Shell,
            "crontab" => Kind::Cron,
            "git" | "patch" => Kind::Patch,
            "make" | "gmake" => Kind::Make,
            "xargs" => Kind::Names,
            _ if started => return Some(Kind::Shell),
            _ if programs::interpreter(&c.name) => Kind::Code,
            _ => continue,
        };
        if named {
            return Some(kind);
        }
    }
    None
}

/// Texts that a command hands to something that runs them later, or that it reads as a patch.
fn later(guarded: &Guarded, shell: &Shell, c: &Command, deep: u32) -> Result<Option<String>, hook::Fail> {
    let input = || writes::input_of(shell, c).unwrap_or_default();
    let first = c.args().iter().map(|w| w.text.as_str()).find(|t| !t.starts_with('-')).unwrap_or("");
    let (kind, text) = match c.name.as_str() {
        "crontab" if !c.has_flag('l', &[]) => {
            if c.has_flag('r', &[]) {
                return Ok(None);
            }
            (Kind::Cron, input())
        }
        "at" | "batch" => (Kind::Shell, input()),
        "patch" => (Kind::Patch, input()),
        "git" if matches!(writes::git_sub(c), "apply" | "am") => (Kind::Patch, input()),
        "make" | "gmake" if c.has_flag('f', &["file", "makefile"]) => (Kind::Make, input()),
        "git" if writes::git_sub(c) == "config" => {
            let values = c.args().iter().filter_map(|w| w.text.strip_prefix('!')).collect::<Vec<_>>().join("\n");
            (Kind::Shell, values)
        }
        "alias" => {
            let defined = c.args().iter().filter_map(|w| w.text.split_once('='));
            let mut text = String::new();
            for (name, value) in defined {
                if matches!(name, "claude" | "codex" | "gemini" | "opencode" | "openclaw" | "belay" | "belay-hook" | "belay-eval") {
                    return Ok(Some(format!("{name} would mean something else")));
                }
                text.push_str(value);
                text.push('\n');
            }
            (Kind::Shell, text)
        }
        "tar" | "bsdtar" | "unzip" | "cpio" | "7z" | "7za" => (Kind::Names, upstream_names(shell, c)),
        "systemd-run" | "su" | "runuser" | "tmux" | "screen" => (Kind::Shell, spaced(c)),
        _ if first.is_empty() || deep > 3 => return Ok(None),
        _ => return Ok(None),
    };
    if text.is_empty() {
        return Ok(None);
    }
    texts::judge(guarded, kind, &text, deep + 1)
}

/// Arguments that are command lines of their own.
fn spaced(c: &Command) -> String {
    c.args().iter().map(|w| w.text.as_str()).filter(|t| t.contains(' ')).collect::<Vec<_>>().join("\n")
}

/// What the commands before a pipe name: an archive of it is what comes through.
fn upstream_names(shell: &Shell, c: &Command) -> String {
    let mut out = String::new();
    let mut at = c.stdin_from;
    for _ in 0..4 {
        let before = match at.and_then(|i| shell.commands.get(i)) {
            Some(before) => before,
            None => break,
        };
        for w in before.args() {
            out.push_str(&w.text);
            out.push('\n');
        }
        at = before.stdin_from;
    }
    out
}
