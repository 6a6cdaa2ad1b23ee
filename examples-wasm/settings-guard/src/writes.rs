//! What a command writes, removes, moves or fills, and which text it puts there.

use belay_hook::analysis::{Command, Shell, Word};

use crate::files;

/// Names by what happens to them.
#[derive(Default)]
pub struct Written {
    /// Written as files.
    pub files: Vec<String>,
    /// Linked, mounted or changed in mode: with what is in them.
    pub directories: Vec<String>,
    /// Changed with all that is below.
    pub trees: Vec<String>,
    /// Removed or moved with all that is below.
    pub gone: Vec<String>,
    /// Directories that get files whose names the command does not say.
    pub filled: Vec<String>,
}

pub fn texts<'a>(words: impl Iterator<Item = &'a Word>) -> Vec<String> {
    words.map(|w| w.text.clone()).collect()
}

/// The arguments that are no options; what follows an option with a value is among them: rather once too often.
fn operands(c: &Command) -> Vec<String> {
    texts(c.args().iter().filter(|w| !w.text.starts_with('-')))
}

/// The value of an option: -o VALUE, -oVALUE, --output VALUE, --output=VALUE.
fn option(c: &Command, short: &str, long: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    let args = c.args();
    for (i, w) in args.iter().enumerate() {
        let t = w.text.as_str();
        let next = || args.get(i + 1).map(|n| n.text.clone());
        if let Some(l) = t.strip_prefix("--") {
            let (n, v) = match l.split_once('=') {
                Some((n, v)) => (n, Some(v.to_string())),
                None => (l, None),
            };
            if long.contains(&n) {
                out.extend(v.or_else(next));
            }
        } else if !short.is_empty() && t == format!("-{short}") {
            out.extend(next());
        } else if let Some(v) = t.strip_prefix(&format!("-{short}")[..]).filter(|_| !short.is_empty()) {
            out.push(v.to_string());
        }
    }
    out
}

/// What a command writes.
pub fn of(shell: &Shell, c: &Command) -> Written {
    let mut w = Written::default();
    w.files = c.redirects.iter().filter(|r| r.op.contains('>') && !r.op.ends_with('&')).map(|r| r.target.text.clone()).collect();
    let mut all = operands(c);
    // What a search or a list hands to it is an argument, too.
    if c.args_open && c.via.iter().any(|v| matches!(v.as_str(), "xargs" | "parallel" | "fd --exec" | "fd --exec-batch")) {
        all.extend(shell.commands.iter().filter(|o| !std::ptr::eq(*o, c) && o.via.is_empty()).flat_map(listed));
    }
    if all.iter().any(|a| a.contains("{}")) {
        let found: Vec<String> = shell.commands.iter().filter(|o| o.name == "find").flat_map(found).collect();
        all.extend(found);
    }
    // `which belay` stands for the program.
    if shell.commands.iter().any(|o| matches!(o.name.as_str(), "which" | "command" | "type" | "whence" | "where")) {
        for a in all.clone().iter().filter(|a| matches!(a.as_str(), "belay" | "belay-hook")) {
            all.push(format!("bin/{a}"));
        }
    }
    let target = || option(c, "t", &["target-directory"]);
    match c.name.as_str() {
        "tee" | "sponge" | "truncate" | "fallocate" | "ex" | "ed" | "vi" | "vim" | "nvim" | "nano" | "emacs" | "micro" => w.files.extend(all),
        "patch" => {
            w.directories = option(c, "d", &["directory"]);
            w.files.extend(all);
        }
        "rm" | "unlink" | "rmdir" | "shred" | "srm" | "trash" | "rimraf" | "del" => w.gone = all,
        "chattr" | "chmod" | "chown" | "chgrp" | "setfacl" | "setfattr" | "xattr" => {
            if c.has_flag('R', &["recursive"]) {
                w.trees = all.into_iter().filter(|a| a != "." && a != "..").collect();
            } else {
                w.directories = all;
            }
        }
        "mv" | "rename" => {
            w.directories = landing(c, &all);
            w.directories.extend(target());
            w.gone = all;
        }
        "ln" | "link" | "mount" | "umount" | "mklink" => {
            w.directories = landing(c, &all);
            w.directories.extend(target());
            w.directories.extend(all);
        }
        "cp" | "install" | "rsync" | "scp" | "ditto" => {
            if c.has_flag('s', &["symbolic-link", "link"]) && c.name == "cp" {
                w.directories.extend(all.iter().cloned());
            }
            w.directories.extend(landing(c, &all));
            let mut to = target();
            let last = operands(c).last().cloned();
            if last.as_deref().map_or(false, |l| l.contains("{}")) {
                to.extend(all.iter().cloned()); // what the search finds
            }
            to.extend(last);
            if unnamed(c, &all) {
                w.filled = to.clone();
            }
            if c.has_flag('T', &["no-target-directory"]) || c.args().iter().any(|w| w.text.starts_with("--delete")) {
                w.trees = to.clone();
            }
            w.files.extend(to);
        }
        "sed" | "gsed" => {
            if c.has_flag('i', &["in-place"]) {
                w.files.extend(all.iter().cloned());
            }
            // the command w of a script
            for script in &all {
                let mut after = false;
                for word in script.split(|ch: char| ch.is_whitespace() || ch == ';') {
                    if after {
                        w.files.push(word.to_string());
                    }
                    after = word.ends_with('w');
                }
            }
        }
        "perl" | "ruby" if c.has_flag('i', &[]) => w.files.extend(all),
        "awk" | "gawk" if c.args().iter().any(|a| a.text == "inplace") => w.files.extend(all),
        "yq" if c.has_flag('i', &["inplace", "in-place"]) => w.files.extend(all),
        "dd" => w.files.extend(all.iter().filter_map(|t| t.strip_prefix("of=").map(String::from))),
        "curl" => {
            w.files.extend(option(c, "o", &["output"]));
            w.directories = option(c, "", &["output-dir"]);
        }
        "wget" => {
            w.files.extend(option(c, "O", &["output-document"]));
            w.directories = option(c, "P", &["directory-prefix"]);
        }
        "tar" | "bsdtar" | "unzip" | "7z" | "7za" | "cpio" | "pax" | "jar" => archive(c, &all, &mut w),
        "find" => {
            if c.args().iter().any(|a| matches!(a.text.as_str(), "-delete" | "-fprintf" | "-fprint" | "-fls")) {
                w.gone = found(c);
            }
        }
        "git" => git(c, &mut w),
        "docker" | "podman" | "nerdctl" => {
            let mut mounts = option(c, "v", &["volume", "mount"]);
            mounts.retain(|m| !m.ends_with(":ro") && !m.contains("readonly"));
            let source = |m: &String| {
                let from = m.split(',').find_map(|p| p.strip_prefix("source=").or_else(|| p.strip_prefix("src=")));
                from.unwrap_or_else(|| m.split(':').next().unwrap_or("")).to_string()
            };
            w.trees = mounts.iter().map(source).filter(|s| s.contains('/') || s.starts_with('~') || s.starts_with('.')).collect();
        }
        "sort" => w.files.extend(option(c, "o", &["output"])),
        _ if reader(&c.name) || formats(c) => {}
        _ => w.files.extend(named(c)), // a program that nothing is known about may write what it names
    }
    w
}

/// Archives put files of their own choice where they are extracted, and those that the command names.
fn archive(c: &Command, all: &[String], w: &mut Written) {
    let first = all.first().map(String::as_str).unwrap_or("");
    let flags = c.args().first().map(|a| a.text.as_str()).unwrap_or("");
    let makes = match c.name.as_str() {
        "tar" | "bsdtar" => !c.has_flag('x', &["extract", "get"]) && !(flags.contains('x') && !flags.starts_with("--")),
        "cpio" => !c.has_flag('i', &["extract"]) && !c.has_flag('p', &["pass-through"]),
        "7z" | "7za" => !matches!(first, "x" | "e"),
        "jar" => !flags.contains('x'),
        _ => c.has_flag('l', &[]) || c.has_flag('t', &[]) || c.has_flag('p', &[]),
    };
    if makes {
        return;
    }
    let mut to = option(c, "C", &["directory", "cd"]);
    to.extend(option(c, "d", &[]));
    to.extend(option(c, "D", &["directory"]));
    to.extend(option(c, "o", &[]).into_iter().filter(|_| c.name.starts_with('7')));
    if to.is_empty() {
        to.push(c.cwd.as_ref().map_or(".".into(), |d| d.text.clone()));
    }
    w.filled = to;
    w.directories.extend(all.iter().skip(1).cloned());
}

/// Whether a copy takes what is in a directory, and not the names that the command says.
fn unnamed(c: &Command, all: &[String]) -> bool {
    let deep = c.has_flag('r', &["recursive", "archive"]) || c.has_flag('R', &[]) || c.has_flag('a', &[]);
    let sources = all.len().saturating_sub(1);
    all.iter().take(sources).any(|s| {
        s.ends_with("/.") || s.ends_with("/*") || s == "." || s.ends_with('/') && (c.name == "rsync" || c.name == "ditto") && deep
    })
}

/// Programs that write none of the files that their arguments name. Wrappers are among them: what they wrap is a
/// command of its own.
fn reader(name: &str) -> bool {
    const READ: &[&str] = &[
        "", "cat", "bat", "less", "more", "head", "tail", "tac", "nl", "jq", "yq", "grep", "egrep", "fgrep", "rg", "ag", "diff",
        "cmp", "comm", "wc", "ls", "eza", "tree", "stat", "file", "du", "test", "[", "[[", "echo", "printf", "cut", "tr", "uniq",
        "column", "xxd", "od", "hexdump", "strings", "md5sum", "sha1sum", "sha256sum", "shasum", "cksum", "base64", "readlink",
        "realpath", "basename", "dirname", "cd", "pushd", "popd", "pwd", "export", "declare", "local", "readonly", "unset", "set",
        "read", "which", "type", "command", "sudo", "doas", "env", "nice", "nohup", "timeout", "time", "xargs", "exec", "setsid",
        "stdbuf", "ionice", "eval", "bash", "sh", "dash", "zsh", "watch", "parallel", "busybox", "npx", "code", "open", "xdg-open",
        "zip", "ssh", "claude", "codex", "gemini", "opencode", "openclaw", "belay", "true", "false", ":", "fd", "sleep", "date", "ps", "pgrep",
        "lsof", "source", ".", "getfattr", "getfacl", "lsattr",
    ];
    const CODE: &[&str] = &[
        "sed", "gsed", "awk", "gawk", "mawk", "perl", "ruby", "python", "python2", "python3", "node", "deno", "bun", "php", "lua", "gh",
    ];
    READ.contains(&name) || CODE.contains(&name)
}

fn formats(c: &Command) -> bool {
    matches!(c.name.as_str(), "prettier" | "eslint" | "biome" | "dprint" | "taplo")
        && !c.args().iter().any(|w| matches!(w.text.as_str(), "--write" | "-w" | "--fix" | "format" | "fmt"))
}

/// Whether a command writes nothing by itself, as far as its name tells.
/// A redirection is judged by itself.
pub fn only_reads(c: &Command) -> bool {
    const GIT: &[&str] = &["status", "log", "diff", "show", "blame", "ls-files", "rev-parse", "grep", "branch", "remote", ""];
    let program = reader(&c.name) || formats(c) || c.name == "find" || c.name == "git" && GIT.contains(&git_sub(c));
    program && !(c.name == "sed" && c.has_flag('i', &["in-place"]))
}

/// Everything among the arguments that may name a file: words, values of options, and what stands behind = or @.
fn named(c: &Command) -> Vec<String> {
    let mut out = Vec::new();
    for w in c.args() {
        let t = w.text.as_str();
        if t.contains(char::is_whitespace) {
            continue; // a text, which may speak of anything
        }
        if !t.starts_with('-') {
            out.push(t.to_string());
        }
        if let Some((_, v)) = t.split_once('=') {
            out.push(v.trim_start_matches('@').to_string());
        }
    }
    out
}

/// What a command that lists names hands on.
fn listed(c: &Command) -> Vec<String> {
    match c.name.as_str() {
        "find" => found(c),
        "ls" | "eza" | "echo" | "printf" | "realpath" | "readlink" | "fd" | "rg" | "grep" | "ag" | "locate" => {
            let mut out: Vec<String> = operands(c).iter().flat_map(|o| o.split_whitespace().map(String::from).collect::<Vec<_>>()).collect();
            out.extend(c.redirects.iter().filter(|r| r.op.starts_with("<<")).map(|r| r.target.text.trim().to_string()));
            if c.name == "fd" {
                let plain: String = out.first().map_or(String::new(), |p| p.chars().filter(|ch| !matches!(ch, '^' | '$' | '\\')).collect());
                if files::may_be_settings(&plain, false) {
                    out.push(format!("~/.claude/{plain}"));
                    out.push(format!("~/{plain}"));
                }
            }
            out
        }
        "xargs" => c.redirects.iter().filter(|r| r.op.starts_with("<<")).map(|r| r.target.text.trim().to_string()).collect(),
        _ => Vec::new(),
    }
}

/// What a find would find: below its places, by the names that it looks for.
fn found(c: &Command) -> Vec<String> {
    let mut roots: Vec<String> =
        c.args().iter().map(|w| w.text.clone()).filter(|t| !matches!(t.as_str(), "-L" | "-H" | "-P")).take_while(|t| !t.starts_with(&['-', '(', '!'][..])).collect();
    if roots.is_empty() {
        roots.push(".".into());
    }
    let mut names = Vec::new();
    let mut out = Vec::new();
    for pair in c.args().windows(2) {
        match pair[0].text.as_str() {
            "-path" | "-wholename" | "-ipath" | "-regex" => {
                let pattern = pair[1].text.to_lowercase();
                if pattern.contains("claude") || pattern.contains("codex") || pattern.contains("belay") {
                    out.push("~/.claude".into());
                }
                names.push(pattern.rsplit('/').next().unwrap_or("").to_string());
            }
            "-name" | "-iname" => names.push(pair[1].text.clone()),
            _ => {}
        }
    }
    for r in &roots {
        let r = r.trim_end_matches('/');
        if names.is_empty() {
            out.push(if r.is_empty() { "/".into() } else { r.to_string() });
        }
        let wide = r.is_empty() || r.starts_with('~') && !r[1..].contains('/') || r.starts_with("/home") && r.matches('/').count() <= 2
            || matches!(r, "/root" | "$HOME" | "/etc");
        for n in &names {
            if files::may_be_settings(n, wide) {
                out.push(format!("{r}/.claude/settings.json"));
            }
            out.push(format!("{r}/{n}"));
        }
    }
    out
}

/// Where the sources of a copy end when its target is a directory: cp x/settings.json .claude/ writes .claude/settings.json.
fn landing(c: &Command, all: &[String]) -> Vec<String> {
    let mut dirs = option(c, "t", &["target-directory"]);
    let mut sources = all.to_vec();
    if dirs.is_empty() {
        dirs.extend(sources.pop());
    }
    let mut out = Vec::new();
    let all = c.name == "rsync" || c.has_flag('r', &["recursive", "archive"]) || c.has_flag('R', &[]) || c.has_flag('a', &[]);
    for d in dirs.iter().filter(|d| !d.starts_with("/tmp/") && !d.starts_with("/var/tmp/")) {
        for s in &sources {
            let base = s.trim_end_matches('/').rsplit('/').next().unwrap_or("");
            let base = if matches!(base, "." | "") || s.ends_with('/') && all { "*" } else { base };
            if base == "*" && !d.contains(".c") && !d.contains("claude") && !d.contains("codex") {
                continue; // what fills a directory is judged by itself
            }
            out.push(format!("{}/{}", d.trim_end_matches('/'), base));
        }
    }
    out
}

/// The subcommand of git, behind its own options.
pub fn git_sub(c: &Command) -> &str {
    let mut skip = false;
    for w in c.args() {
        let t = w.text.as_str();
        if skip {
            skip = false;
        } else if matches!(t, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace") {
            skip = true;
        } else if !t.starts_with('-') {
            return t;
        }
    }
    ""
}

/// The files that git itself writes in a working tree, where the command names them.
fn git(c: &Command, w: &mut Written) {
    let sub = git_sub(c);
    const WRITES: &[&str] =
        &["checkout", "restore", "rm", "mv", "clean", "apply", "am", "checkout-index", "reset", "stash"];
    if WRITES.contains(&sub) {
        let mut tree = option(c, "", &["work-tree"]);
        tree.extend(option(c, "C", &[]));
        w.filled = tree;
        w.directories = operands(c).iter().filter(|a| a.len() > 1).map(|a| a.rsplit(':').next().unwrap_or(a).to_string()).collect();
        w.directories.extend(option(c, "", &["directory"]));
    }
    if matches!(sub, "clone" | "worktree" | "init" | "submodule") {
        let last = operands(c).last().cloned().filter(|l| !l.contains("://"));
        w.directories.extend(last.iter().cloned());
        w.directories.extend(operands(c).into_iter().filter(|o| o.contains('/') && !o.contains(':')));
    }
    if matches!(sub, "archive" | "bundle" | "format-patch" | "diff") {
        w.files.extend(option(c, "o", &["output"]));
    }
}

/// The text that a command gets on its input, as far as the line says it.
pub fn input_of(shell: &Shell, c: &Command) -> Option<String> {
    let own: Vec<String> = c.redirects.iter().filter(|r| r.op.starts_with("<<")).map(|r| r.target.text.clone()).collect();
    if !own.is_empty() {
        return Some(own.join("\n"));
    }
    c.stdin_from?;
    // Several commands may stand before a pipe: every text in the line counts.
    let mut out = Vec::new();
    for o in shell.commands.iter().filter(|o| *o != c) {
        out.extend(said(o));
    }
    if out.is_empty() {
        return None;
    }
    Some(out.join("\n"))
}

/// What echo, printf and cat put out, as far as their arguments say it.
fn said(c: &Command) -> Option<String> {
    match c.name.as_str() {
        "echo" | "printf" => {
            let words: Vec<String> = c.args().iter().map(|w| w.text.clone()).filter(|t| !matches!(t.as_str(), "-n" | "-e" | "-ne" | "-en")).collect();
            Some(words.join(" ").replace("\\n", "\n").replace("\\t", "\t"))
        }
        "cat" | "tee" => {
            let here: Vec<String> = c.redirects.iter().filter(|r| r.op.starts_with("<<")).map(|r| r.target.text.clone()).collect();
            (!here.is_empty()).then(|| here.join("\n"))
        }
        _ => None,
    }
}

/// The text that a command writes; `None` when it cannot be told.
pub fn text_of(shell: &Shell, c: &Command) -> Option<String> {
    match c.name.as_str() {
        "sed" | "gsed" | "perl" | "ruby" => Some(texts(c.args().iter()).join("\n")),
        "truncate" | "touch" | ":" | "true" => Some(String::new()),
        _ => said(c).or_else(|| input_of(shell, c)),
    }
}
