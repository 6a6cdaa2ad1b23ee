//! Skipping a repository's hooks, or removing, disabling or emptying them.

use alloc::format;
use alloc::string::String;

use crate::getopt::Args;
use crate::finding::Finding;
use crate::git::Git;
use crate::hook::analysis::{Command, Word};
use crate::origin;
use crate::text::{shown, Text};

const RULE: &str = "git-bypass";

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    let found = |what: String| Some(Finding::block(RULE, what));
    if let Some(git) = Git::of(c) {
        if skips(&git) {
            return found(format!("git {} would skip the hooks", git.verb));
        }
        if redirected(t, c, &git) {
            return found(format!("git {} would look for its hooks where none are", git.verb));
        }
        if let Some(name) = switched_off(c, true) {
            return found(format!("{} would skip the hooks of git {}", name, git.verb));
        }
    }
    // npm version commits and tags.
    let commits = matches!(c.name.as_str(), "npm" | "pnpm" | "yarn") && matches!(c.args().first().map_or("", |w| w.text.as_str()), "version" | "publish" | "release");
    if let Some(name) = if commits { switched_off(c, true) } else { None } {
        return found(format!("{} would skip the hooks of the commit", name));
    }
    if let Some(name) = exported(t, c) {
        return found(format!("{} would skip the hooks from here on", name));
    }
    if uninstalls(c) {
        return found(format!("{} would remove the repository's hooks", c.name));
    }
    if c.args().iter().any(|w| matches!(w.text.as_str(), "--no-commit-hooks" | "--commit-hooks=false")) {
        return found(format!("{} would skip the hooks of the commit", c.name));
    }
    if appends_path(t, c) {
        return found(format!("{} would have git look for its hooks where none are", shown(&c.name)));
    }
    disarms(c).map(|what| Finding::block(RULE, what))
}

/// core.hooksPath is written into the configuration of a repository or of the user.
fn appends_path(t: &Text, c: &Command) -> bool {
    let is_config = |path: &str| {
        let path = origin::path(c, path);
        path == ".git/config" || path.ends_with("/.git/config") || path.ends_with(".gitconfig") || path.ends_with("git/config") || path == "/etc/gitconfig"
    };
    let by_redirect = c.redirects.iter().any(|r| r.op.contains('>') && is_config(&r.target.text));
    let by_argument = matches!(c.name.as_str(), "tee" | "sed" | "sponge" | "crudini" | "ed" | "ex") && c.args().iter().any(|w| is_config(&w.text));
    (by_redirect || by_argument) && (names_hooks_path(c) || by_argument && t.feeders(c).any(names_hooks_path))
}

/// The verbs of git itself, and of well-known additions that have a --no-verify of another meaning.
const VERBS: [&str; 84] = [
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "checkout", "cherry", "cherry-pick",
    "citool", "clean", "clone", "commit", "config", "describe", "diff", "difftool", "fetch", "format-patch", "fsck", "gc", "grep", "gui",
    "help", "init", "instaweb", "log", "maintenance", "merge", "mergetool", "mv", "notes", "pull", "push", "range-diff", "rebase",
    "reflog", "remote", "repack", "replace", "reset", "restore", "revert", "rm", "shortlog", "show", "sparse-checkout", "stash",
    "status", "submodule", "switch", "tag", "update-index", "verify-commit", "verify-tag", "worktree", "lfs", "svn", "p4", "send-email",
    "daemon", "rev-parse", "rev-list", "ls-files", "ls-tree", "ls-remote", "diff-tree", "hash-object", "write-tree", "prune", "annex",
    "flow", "crypt", "secret", "bug", "town", "absorb", "machete", "subtree", "var",
];

/// The verbs that have hooks to skip, and the short options of each that take a value.
fn skips(git: &Git) -> bool {
    // A verb that git does not have is an alias: ci for commit.
    let alias = !git.verb.is_empty() && git.verb.len() <= 8 && !VERBS.contains(&git.verb) && !git.verb.contains(&['-', '/'][..]);
    let (values, short) = match git.verb {
        "commit" => ("mFCct", true),
        "am" => ("CpS", true),
        "push" | "merge" | "rebase" | "pull" | "cherry-pick" | "revert" => ("", false),
        verb if alias => (verb, false),
        _ => return false,
    };
    const LONG: [&str; 14] = [
        "--message", "--file", "--author", "--date", "--template", "--reuse-message", "--reedit-message", "--fixup", "--squash",
        "--cleanup", "--trailer", "--pathspec-from-file", "--push-option", "--strategy",
    ];
    let mut at = 0;
    while let Some(word) = git.args.get(at) {
        let text = word.text.as_str();
        at += 1;
        if text == "--" {
            return false;
        }
        if alias && text != "--no-verify" {
            continue;
        }
        if text.starts_with("--") {
            if text.len() >= 6 && "--no-verify".starts_with(text) {
                return true;
            }
            if LONG.contains(&text) {
                at += 1;
            }
            continue;
        }
        if text.len() < 2 || !text.starts_with('-') {
            continue;
        }
        if matches!(git.verb, "push" | "merge" | "pull" | "rebase" | "cherry-pick" | "revert") {
            at += usize::from(matches!(text, "-m" | "-o" | "-s" | "-X" | "-F"));
            continue;
        }
        for (i, letter) in text.char_indices().skip(1) {
            if letter == 'n' && short {
                return true;
            }
            if values.contains(letter) {
                at += usize::from(i + 1 == text.len());
                break;
            }
            if matches!(letter, 'S' | 'u') {
                break; // what follows in the word is its value
            }
        }
    }
    false
}

fn is_hooks_path(name: &str) -> bool {
    name.eq_ignore_ascii_case("core.hookspath")
}

/// A place for hooks that has none.
fn nowhere(dir: &str) -> bool {
    let low = dir.trim_matches(&['\'', '"', ' '][..]).to_ascii_lowercase();
    let low = low.as_str();
    if low.is_empty() || matches!(low, "." | "/" | "./" | "~" | "false" | "off" | "0") {
        return true;
    }
    const NONE: [&str; 13] =
        ["null", "none", "nonexist", "non-exist", "nowhere", "no-hook", "nohook", "no_hook", "empty", "disable", "missing", "dummy", "noop"];
    if NONE.iter().any(|n| low.contains(n)) || ["/dev", "/tmp", "/var/tmp", "/proc", "/sys", "/run", "/var/empty"].iter().any(|d| {
        low.strip_prefix(d).map_or(false, |rest| rest.is_empty() || rest.starts_with('/'))
    }) {
        return true;
    }
    low.starts_with('/') && !low.contains("hook") && !low.contains("husky") && !low.contains("git")
}

/// core.hooksPath is set to nowhere, by an option, a variable or `git config`.
fn redirected(t: &Text, c: &Command, git: &Git) -> bool {
    if matches!(git.verb, "commit" | "push" | "merge" | "am" | "rebase" | "pull" | "cherry-pick") && configured_here(t, c) {
        return true;
    }
    let variable = |name: &str| c.assigns.iter().find(|(n, _)| n == name).map(|(_, w)| w);
    for (setting, by_variable) in &git.settings {
        let (name, value) = setting.split_once('=').unwrap_or((setting, "true"));
        if !is_hooks_path(name) {
            continue;
        }
        if !by_variable {
            return nowhere(value);
        }
        return variable(value).map_or(true, |w| !w.known || nowhere(&w.text));
    }
    let exported = t.shell.commands.iter().filter(|e| is_export(&e.name)).flat_map(|e| e.args()).filter_map(|w| w.text.split_once('='));
    let names = c.assigns.iter().map(|(n, w)| (n.as_str(), w.text.as_str())).chain(exported);
    for (name, value) in names {
        if let Some(number) = name.strip_prefix("GIT_CONFIG_KEY_") {
            if is_hooks_path(value) {
                let held = format!("GIT_CONFIG_VALUE_{}", number);
                let exported = t.shell.commands.iter().filter(|e| is_export(&e.name)).flat_map(|e| e.args());
                let value = exported.filter_map(|w| w.text.split_once('=')).find(|(n, _)| *n == held).map(|(_, v)| v);
                let value = variable(&held).map(|w| w.text.as_str()).or(value);
                return value.map_or(true, nowhere);
            }
        }
        if name == "GIT_CONFIG_PARAMETERS" {
            let low = value.to_ascii_lowercase();
            if let Some(at) = low.find("core.hookspath") {
                return nowhere(low[at + 14..].trim_start_matches(&['\'', '='][..]));
            }
        }
    }
    git.verb == "config" && configures(git)
}

/// The text writes the file that a variable makes git's configuration.
fn configured_here(t: &Text, c: &Command) -> bool {
    let exported = t.shell.commands.iter().filter(|e| is_export(&e.name)).flat_map(|e| e.args()).filter_map(|w| w.text.split_once('='));
    let set = c.assigns.iter().map(|(n, w)| (n.as_str(), w.text.as_str())).chain(exported);
    let files: alloc::vec::Vec<String> =
        set.filter(|(n, v)| matches!(*n, "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" | "GIT_CONFIG") && !v.is_empty()).map(|(_, v)| origin::path(c, v)).collect();
    t.shell.commands.iter().any(|o| {
        o.redirects.iter().filter(|r| r.op.contains('>')).any(|r| files.contains(&origin::path(o, &r.target.text))) && names_hooks_path(o)
    })
}

/// A command's words or input set core.hooksPath to nowhere.
fn names_hooks_path(c: &Command) -> bool {
    c.args().iter().chain(&c.stdin).any(|w| {
        let low = w.text.replace("\\n", "\n").replace("\\t", " ").to_ascii_lowercase();
        low.lines().any(|l| {
            let l = l.trim();
            let value = l.strip_prefix("hookspath").or_else(|| l.find("hookspath").map(|at| &l[at + 9..]));
            value.and_then(|v| v.trim_start().strip_prefix('=')).map_or(false, |v| nowhere(v.trim()))
        })
    })
}

fn is_export(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "setenv" | "set")
}

fn configures(git: &Git) -> bool {
    let args = Args::read(git.args, "f", &["file", "blob", "type", "default", "comment", "value"]);
    let mut operands: &[&Word] = &args.operands;
    if matches!(args.operand(0), "set" | "unset" | "get" | "list" | "edit") {
        if args.operand(0) == "unset" {
            return operands.get(1).map_or(false, |w| is_hooks_path(&w.text));
        }
        if args.operand(0) != "set" {
            return false;
        }
        operands = &operands[1..];
    }
    let name = operands.first().map_or("", |w| w.text.as_str());
    if !is_hooks_path(name) || args.has(&["get", "get-all", "get-regexp", "show-origin", "list", "l"]) {
        return false;
    }
    if args.has(&["unset", "unset-all"]) {
        return true;
    }
    operands.get(1).map_or(false, |w| nowhere(&w.text) || !w.known && w.text.contains("mktemp"))
}

/// A variable with which hooks do not run.
fn switched_off(c: &Command, git: bool) -> Option<&str> {
    c.assigns.iter().find(|(name, value)| switches_off(name, &value.text, git)).map(|(name, _)| name.as_str())
}

fn switches_off(name: &str, value: &str, git: bool) -> bool {
    let off = matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off");
    match name {
        "HUSKY" | "LEFTHOOK" | "GIT_HOOKS" | "HOOKS" | "ENABLE_HOOKS" | "GITHOOKS" => off,
        "HUSKY_SKIP_HOOKS" | "HUSKY_BYPASS" | "SKIP_SIMPLE_GIT_HOOKS" | "OVERCOMMIT_DISABLE" | "GITHOOKS_DISABLE" | "SKIP_HOOKS"
        | "GIT_SKIP_HOOKS" | "SKIP_GIT_HOOKS" | "PRE_COMMIT_ALLOW_NO_CONFIG" | "HOOKS_DISABLED" | "DISABLE_HOOKS" | "NO_VERIFY"
        | "GIT_NO_VERIFY" | "BYPASS_HOOKS" | "CAPTAINHOOK_SKIP_HOOKS" | "PREK_ALLOW_NO_CONFIG" => !off && !value.is_empty(),
        "SKIP" | "LEFTHOOK_EXCLUDE" | "LEFTHOOK_SKIP" | "PREK_SKIP" | "OVERCOMMIT_SKIP" => git && !value.is_empty(),
        _ => false,
    }
}

/// A variable of that kind is exported, and a later command of the text may run git.
fn exported<'a>(t: &'a Text, c: &'a Command) -> Option<&'a str> {
    if !is_export(&c.name) {
        return None;
    }
    let git = t.shell.commands.iter().any(|c| c.name == "git");
    c.args().iter().filter_map(|w| w.text.split_once('=')).find(|(n, v)| switches_off(n, v, git)).map(|(n, _)| n)
}

fn uninstalls(c: &Command) -> bool {
    let says = |word: &str| c.args().iter().any(|w| w.text == word);
    match c.name.as_str() {
        "pre-commit" | "prek" | "husky" | "lefthook" | "simple-git-hooks" | "captainhook" | "githooks" | "yorkie" | "autohook" => {
            says("uninstall") || says("uninit")
        }
        "overcommit" => says("--uninstall") || says("uninstall"),
        name if name.starts_with("python") => says("pre_commit") && says("uninstall"),
        _ => false,
    }
}

/// A hook file, or a directory of hooks.
pub fn is_hook(path: &str) -> bool {
    let parts: alloc::vec::Vec<&str> = path.split('/').collect();
    let dir = parts.iter().enumerate().any(|(i, p)| {
        (*p == "hooks" && i > 0 && (parts[i - 1].ends_with(".git") || parts.contains(&".git"))) || matches!(*p, ".husky" | ".githooks" | ".git-hooks")
    });
    let last = parts.last().copied().unwrap_or("");
    let file = matches!(
        last,
        ".pre-commit-config.yaml" | "lefthook.yml" | ".lefthook.yml" | "lefthook.yaml" | ".huskyrc" | ".huskyrc.json" | ".overcommit.yml"
    );
    let named = ["rev-parse --git-dir)", "rev-parse --git-common-dir)", "rev-parse --absolute-git-dir)", "GIT_DIR"].iter().any(|d| {
        path.find(d).map_or(false, |at| {
            let rest = path[at + d.len()..].trim_start_matches(&['}', '"', '`'][..]);
            rest == "/hooks" || rest.starts_with("/hooks/")
        })
    }) || path.contains("rev-parse --git-path hooks");
    ((dir || named) && !last.ends_with(".sample") && !last.ends_with(".md")) || file
}

/// What a command does to hook files so that they do not run.
fn disarms(c: &Command) -> Option<String> {
    let hook = |w: &&Word| is_hook(&origin::path(c, &w.text));
    let says = |does: &str, w: &Word| Some(format!("{} would {} the hook {}", shown(&c.name), does, w.text));
    let operands = || c.args().iter().filter(|w| !w.text.starts_with('-'));
    match c.name.as_str() {
        "rm" | "grm" | "unlink" | "shred" | "rmdir" | "trash" | "trash-put" | "trash-cli" | "rmtrash" | "gomi" | "rip" | "premove" | "rimraf" | "del-cli" | "shx"
        | "srm" | "wipe" | "del" | "gio" => {
            if let Some(w) = operands().find(hook) {
                return says("delete", w);
            }
            // In the directory itself.
            let here = c.cwd.as_ref().map_or(false, |d| is_hook(&origin::clean(&d.text)));
            if let Some(w) = operands().find(|w| here && !w.text.starts_with(&['/', '~'][..]) && !w.text.ends_with(".sample")) {
                return says("delete", w);
            }
        }
        "mv" | "rename" => {
            let all: alloc::vec::Vec<&Word> = operands().collect();
            if let Some(w) = all.iter().take(all.len().saturating_sub(1)).find(|w| hook(w)) {
                let to = origin::path(c, &all[all.len() - 1].text);
                if !(is_hook(&to) && is_name(&to)) {
                    return says("move away", w);
                }
            }
        }
        "chmod" => {
            let mode = c.args().iter().find(|w| !w.text.starts_with("--") && !matches!(w.text.as_str(), "-R" | "-v" | "-f" | "-c"))?;
            if takes_execution(&mode.text) {
                if let Some(w) = operands().find(hook) {
                    return says("switch off", w);
                }
                let here = c.cwd.as_ref().map_or(false, |d| is_hook(&origin::clean(&d.text)));
                if let Some(w) = operands().find(|w| here && w.text != mode.text) {
                    return says("switch off", w);
                }
            }
        }
        "truncate" => {
            if let Some(w) = operands().find(hook) {
                return says("empty", w);
            }
        }
        "cp" | "ln" | "install" | "ditto" => {
            let all: alloc::vec::Vec<&Word> = operands().collect();
            let (to, from) = all.split_last()?;
            let harmless = |w: &Word| matches!(w.text.as_str(), "/dev/null" | "/bin/true" | "/usr/bin/true" | "true");
            if hook(&to) && from.iter().any(|w| harmless(w)) {
                return says("replace", to);
            }
        }
        "sed" if c.has_flag('i', &["in-place"]) => {
            let script = operands().next().map_or("", |w| w.text.as_str());
            let comments = ["s/^/#", "s|^|#", "s,^,#", "s/.*/#", "s/^.*/#", "2,$s/^/#", "1a exit", "1a\\exit", "2i exit"].iter().any(|s| script.starts_with(s));
            let ends = comments || script.contains("exit 0") || matches!(script, "d" | "1,$d" | "/./d" | "s/.*//" | "/.*/d");
            if let Some(w) = operands().skip(1).find(|w| ends && hook(w)) {
                return says("switch off", w);
            }
        }
        "find" | "fd" => {
            let acts = c.args().iter().any(|w| w.text == "-delete")
                || c.args().windows(2).any(|w| {
                    w[0].text.starts_with("-exec") && matches!(w[1].text.rsplit('/').next(), Some("rm" | "unlink" | "shred" | "mv" | "truncate"))
                })
                || c.args().iter().any(|w| matches!(w.text.as_str(), "-x" | "a-x" | "000" | "644")) && c.args().iter().any(|w| w.text == "chmod");
            let samples = c.args().windows(2).any(|w| w[0].text == "-name" && w[1].text.ends_with(".sample"))
                && !c.args().iter().any(|w| w.text == "!" || w.text == "-not");
            if let Some(w) = operands().find(|w| acts && !samples && hook(w)) {
                return says("change", w);
            }
        }
        "xargs" => {}
        "mount" => {
            if let Some(w) = operands().find(hook) {
                return says("hide", w);
            }
        }
        "rsync" if c.args().iter().any(|w| w.text.starts_with("--del")) => {
            if let Some(w) = operands().last().filter(hook) {
                return says("delete what is in", w);
            }
        }
        "git" | "git.exe" => {
            let git = Git::of(c)?;
            if matches!(git.verb, "rm" | "mv") {
                if let Some(w) = git.args.iter().filter(|w| !w.text.starts_with('-')).find(hook) {
                    return says(if git.verb == "rm" { "delete" } else { "move away" }, w);
                }
            }
        }
        _ => {}
    }
    written(c)
}

/// The name of a hook that git runs.
fn is_name(path: &str) -> bool {
    const NAMES: [&str; 14] = [
        "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push", "pre-rebase", "post-checkout", "post-merge", "pre-merge-commit",
        "applypatch-msg", "pre-applypatch", "pre-receive", "update", "post-rewrite",
    ];
    NAMES.contains(&path.rsplit('/').next().unwrap_or(""))
}

fn takes_execution(mode: &str) -> bool {
    if !mode.is_empty() && mode.bytes().all(|b| b.is_ascii_digit()) {
        return !mode.bytes().rev().take(3).any(|b| (b - b'0') % 2 == 1);
    }
    mode.split(',').any(|part| {
        part.split_once('-').map_or(false, |(who, what)| who.chars().all(|c| "ugoa".contains(c)) && what.contains('x'))
            || part.split_once('=').map_or(false, |(who, what)| (who.is_empty() || who.contains(&['a', 'u'][..])) && !what.contains('x') && !what.contains('X'))
    })
}

/// A hook is written over with what does nothing.
fn written(c: &Command) -> Option<String> {
    let mut targets = c.redirects.iter().filter(|r| r.op.starts_with('>') && !r.op.ends_with('&')).map(|r| &r.target);
    let teed = c.args().iter().filter(|w| c.name == "tee" && !c.args().iter().any(|a| a.text == "-a") && !w.text.starts_with('-'));
    let target = targets.find(|w| is_hook(&origin::path(c, &w.text))).or_else(|| {
        let mut teed = teed;
        teed.find(|w| is_hook(&origin::path(c, &w.text)))
    })?;
    let appends = c.redirects.iter().any(|r| r.op == ">>" && r.target == *target);
    let text = match c.name.as_str() {
        ":" | "true" | "" => Some(String::new()),
        "echo" => Some(c.args().iter().filter(|w| !matches!(w.text.as_str(), "-n" | "-e" | "-ne" | "-en")).map(|w| w.text.as_str()).collect::<alloc::vec::Vec<_>>().join(" ")),
        "printf" => c.args().split_first().map(|(f, rest)| if rest.is_empty() { f.text.clone() } else { rest.iter().map(|w| w.text.as_str()).collect::<alloc::vec::Vec<_>>().join("\n") }),
        "cat" if c.args().iter().any(|w| w.text == "/dev/null") => Some(String::new()),
        "cat" | "tee" => c.stdin.as_ref().map(|w| w.text.clone()),
        _ => None,
    }?;
    let does_nothing = text.replace("\\n", "\n").lines().map(str::trim).all(|l| l.is_empty() || l.starts_with('#') || matches!(l, "exit 0" | "exit" | ":" | "true"));
    (does_nothing && !appends).then(|| format!("{} would empty the hook {}", shown(&c.name), target.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::Shell;
    use crate::places::tests::{command, word};

    fn blocks(c: &Command) -> bool {
        let shell = Shell { commands: alloc::vec![c.clone()], ..Shell::default() };
        judge(&Text { source: "", shell: &shell, programs: &[] }, c).is_some()
    }

    #[test]
    fn skipping_and_disarming() {
        for (line, want) in [
            ("git commit --no-verify", true),
            ("git commit --no-veri -m x", true),
            ("git commit -anm x", true),
            ("git commit -a -n -F .msg", true),
            ("git -C d -p commit -n", true),
            ("git commit -m -n", false),
            ("git commit -mn", false),
            ("git commit -uno -Skeyn", false),
            ("git commit -- -n", false),
            ("git commit --no-verbose", false),
            ("git push --no-verify", true),
            ("git push -n", false),
            ("git am -n p.mbox", true),
            ("git merge -n topic", false),
            ("git rebase --no-verify main", true),
            ("cargo publish --no-verify", false),
            ("npm version patch --no-commit-hooks", true),
            ("git -c core.hooksPath=/dev/null commit", true),
            ("git -c CORE.HOOKSPATH= push", true),
            ("git -c core.hooksPath=.githooks commit", false),
            ("git --config-env=core.hooksPath=X commit", true),
            ("git config core.hooksPath .husky", false),
            ("git config --global core.hooksPath /nonexistent", true),
            ("git config set core.hooksPath /tmp/x", true),
            ("git config --get core.hooksPath", false),
            ("git config core.hooksPath", false),
            ("git config --unset core.hooksPath", true),
            ("rm -f .git/hooks/pre-commit", true),
            ("rm -rf ./.git/hooks", true),
            ("rm .git/hooks/pre-push.sample", false),
            ("rm -rf hooks", false),
            ("mv .husky .husky.off", true),
            ("mv pre-push .git/hooks/pre-push", false),
            ("mv .git/hooks/a .git/hooks/pre-push", false),
            ("chmod -x .git/hooks/pre-commit", true),
            ("chmod 0644 .git/hooks/commit-msg", true),
            ("chmod u=rw,go=r .husky/pre-push", true),
            ("chmod +x .git/hooks/pre-commit", false),
            ("chmod 755 .git/hooks/pre-commit", false),
            ("ln -sf /dev/null .git/hooks/pre-commit", true),
            ("ln -s ../../hooks/pre-commit .git/hooks/pre-commit", false),
            ("cp /bin/true .git/hooks/pre-push", true),
            ("truncate -s 0 .git/hooks/pre-push", true),
            ("sed -i 2iexit0 .git/hooks/pre-push", false),
            ("sed -i s/^/#/ .git/hooks/pre-push", true),
            ("sed -i s/a/b/ .git/hooks/pre-push", false),
            ("git ci --no-verify", true),
            ("git ci -n", false),
            ("git lfs push --no-verify", false),
            ("tee $(git rev-parse --git-dir)/config", false),
            ("find .git/hooks -type f -delete", true),
            ("find .git/hooks -name *.sample -delete", false),
            ("git rm -r .husky", true),
            ("pre-commit uninstall", true),
            ("pre-commit install", false),
            ("overcommit --uninstall", true),
        ] {
            assert_eq!(blocks(&command(line)), want, "{line}");
        }
    }

    #[test]
    fn variables() {
        for (line, name, value, want) in [
            ("git commit", "HUSKY", "0", true),
            ("git commit", "HUSKY", "1", false),
            ("npm ci", "HUSKY", "0", false),
            ("npm version patch", "HUSKY", "0", true),
            ("git push", "SKIP", "lint", true),
            ("make", "SKIP", "lint", false),
            ("git commit", "PRE_COMMIT_ALLOW_NO_CONFIG", "1", true),
            ("git commit", "LEFTHOOK", "false", true),
            ("git commit", "GIT_CONFIG_PARAMETERS", "'core.hooksPath=/dev/null'", true),
        ] {
            let mut c = command(line);
            c.assigns.push((name.into(), word(value)));
            assert_eq!(blocks(&c), want, "{name}={value} {line}");
        }
        let mut c = command("git commit");
        c.assigns = alloc::vec![("GIT_CONFIG_KEY_0".into(), word("core.hooksPath")), ("GIT_CONFIG_VALUE_0".into(), word("/dev/null"))];
        assert!(blocks(&c));
    }
}
