//! What a command writes to, and which commands switch belay off by themselves.

use belay_hook as hook;
use hook::analysis::{Command, Shell, Word};

use crate::files::{self, Guarded};

/// Why a command may not run.
pub fn judge(guarded: &Guarded, shell: &Shell, c: &Command) -> Result<Option<String>, hook::Fail> {
    if c.remote {
        return Ok(None); // another machine's files
    }
    if let Some(what) = environment(c).or_else(|| processes(shell, c)).or_else(|| own_commands(c)).or_else(|| clients(c)) {
        return Ok(Some(what));
    }
    let cwd = c.cwd.as_ref().map(|d| d.text.as_str());
    let name = if c.name.is_empty() { "the command" } else { c.name.as_str() };
    let says = |hit: Option<String>| hit.map(|f| format!("{name} would change {f}"));
    let redirected: Vec<String> =
        c.redirects.iter().filter(|r| r.op.contains('>') && !r.op.ends_with('&')).map(|r| r.target.text.clone()).collect();
    if let Some(hit) = says(guarded.first(&redirected, cwd)?) {
        return Ok(Some(hit));
    }
    if redirected.iter().any(|t| t.contains("CLAUDE_ENV_FILE")) && c.raw.to_uppercase().contains("BELAY") {
        return Ok(Some(format!("{name} would set belay's environment")));
    }
    let (plain, trees) = written(c);
    if let Some(hit) = says(guarded.first(&plain, cwd)?) {
        return Ok(Some(hit));
    }
    if let Some(hit) = says(guarded.first_tree(&trees, cwd)?) {
        return Ok(Some(hit));
    }
    if let Some(code) = code_of(c) {
        return Ok(files::mention(guarded, &code, matches!(c.name.as_str(), "awk" | "gawk" | "mawk" | "perl")));
    }
    Ok(None)
}

fn texts<'a>(words: impl Iterator<Item = &'a Word>) -> Vec<String> {
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

/// The files that a command writes, and those of which it changes all that is below.
fn written(c: &Command) -> (Vec<String>, Vec<String>) {
    let none = Vec::new;
    let all = || operands(c);
    match c.name.as_str() {
        "tee" | "sponge" | "truncate" | "patch" | "ex" | "ed" | "vi" | "vim" | "nvim" | "nano" | "emacs" | "micro" => {
            (all(), none())
        }
        "rm" | "unlink" | "rmdir" | "shred" | "srm" | "trash" | "chattr" | "chmod" | "chown" | "chgrp" | "setfacl" => {
            (none(), all())
        }
        "mv" | "rename" | "ln" | "link" | "mount" | "umount" => {
            let mut files = all();
            files.extend(option(c, "t", &["target-directory"]));
            files.extend(landing(c));
            (none(), files)
        }
        "cp" | "install" | "rsync" | "scp" | "ditto" => {
            let mut files = option(c, "t", &["target-directory"]);
            files.extend(all().last().cloned());
            (files, landing(c))
        }
        "sed" | "gsed" if c.has_flag('i', &["in-place"]) => (all(), none()),
        "perl" | "ruby" if c.has_flag('i', &[]) => (all(), none()),
        "awk" | "gawk" if c.args().iter().any(|w| w.text == "inplace") => (all(), none()),
        "yq" if c.has_flag('i', &["inplace", "in-place"]) => (all(), none()),
        "dd" => (all().iter().filter_map(|t| t.strip_prefix("of=").map(String::from)).collect(), none()),
        "curl" => (option(c, "o", &["output"]), none()),
        "wget" => (option(c, "O", &["output-document"]), option(c, "P", &["directory-prefix"])),
        "tar" | "bsdtar" => (none(), option(c, "C", &["directory"])),
        "unzip" => (none(), option(c, "d", &[])),
        "find" => {
            let acts = c.args().iter().any(|w| matches!(w.text.as_str(), "-delete" | "-exec" | "-execdir" | "-fprintf" | "-fprint"));
            let places = c.args().iter().take_while(|w| !w.text.starts_with(&['-', '(', '!'][..]));
            let mut files: Vec<String> = places.map(|w| w.text.clone()).collect();
            for pair in c.args().windows(2) {
                match (pair[0].text.as_str(), pair[1].text.as_str()) {
                    ("-path" | "-wholename" | "-ipath", p) => files.push(p.to_string()),
                    ("-name" | "-iname", "settings.local.json" | "managed-settings.json") => files.push(".claude/settings.json".into()),
                    _ => {}
                }
            }
            (none(), if acts { files } else { none() })
        }
        "git" => git(c),
        "docker" | "podman" | "nerdctl" => {
            let mut mounts = option(c, "v", &["volume", "mount"]);
            mounts.retain(|m| !m.ends_with(":ro") && !m.contains("readonly"));
            let source = |m: &String| {
                let from = m.split(',').find_map(|p| p.strip_prefix("source=").or_else(|| p.strip_prefix("src=")));
                from.unwrap_or_else(|| m.split(':').next().unwrap_or("")).to_string()
            };
            (none(), mounts.iter().map(source).collect())
        }
        "sort" => (option(c, "o", &["output"]), none()),
        name if only_reads(name, c) => (none(), none()),
        _ => (named(c), none()), // a program that nothing is known about may write what it names
    }
}

/// Programs that write none of the files that their arguments name. Wrappers are among them: what they wrap is a
/// command of its own.
fn only_reads(name: &str, c: &Command) -> bool {
    const READ: [&str; 94] = [
        "", "cat", "bat", "less", "more", "head", "tail", "tac", "nl", "jq", "yq", "grep", "egrep", "fgrep", "rg", "ag", "diff",
        "cmp", "comm", "wc", "ls", "eza", "tree", "stat", "file", "du", "test", "[", "[[", "echo", "printf", "cut", "tr", "uniq",
        "column", "xxd", "od", "hexdump", "strings", "md5sum", "sha1sum", "sha256sum", "shasum", "cksum", "base64", "readlink",
        "realpath", "basename", "dirname", "cd", "pushd", "popd", "pwd", "export", "declare", "local", "readonly", "unset", "set",
        "read", "which", "type", "command", "sudo", "doas", "env", "nice", "nohup", "timeout", "time", "xargs", "exec", "setsid",
        "stdbuf", "ionice", "eval", "bash", "sh", "dash", "zsh", "watch", "parallel", "busybox", "npx", "code", "open", "xdg-open",
        "zip", "ssh", "claude", "codex", "gemini", "opencode", "belay",
    ];
    const CODE: [&str; 16] = [
        "sed", "gsed", "awk", "gawk", "mawk", "perl", "ruby", "python", "python2", "python3", "node", "deno", "bun", "php", "lua", "gh",
    ];
    READ.contains(&name)
        || CODE.contains(&name)
        || matches!(name, "prettier" | "eslint" | "biome" | "dprint" | "taplo")
            && !c.args().iter().any(|w| matches!(w.text.as_str(), "--write" | "-w" | "--fix" | "format" | "fmt"))
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

/// Where the sources of a copy end when its target is a directory: cp x/settings.json .claude/ writes .claude/settings.json.
fn landing(c: &Command) -> Vec<String> {
    let mut dirs = option(c, "t", &["target-directory"]);
    let mut sources = operands(c);
    if dirs.is_empty() {
        dirs.extend(sources.pop());
    }
    let mut out = Vec::new();
    for d in dirs.iter().filter(|d| !d.starts_with("/tmp/") && !d.starts_with("/var/tmp/")) {
        for s in &sources {
            let base = s.trim_end_matches('/').rsplit('/').next().unwrap_or("");
            let all = c.has_flag('r', &["recursive", "archive"]) || c.has_flag('R', &[]) || c.has_flag('a', &[]);
            let base = if matches!(base, "." | "") || s.ends_with('/') && all { "*" } else { base };
            out.push(format!("{}/{}", d.trim_end_matches('/'), base));
        }
    }
    out
}

/// The files that git itself writes in the working tree, where the command names them.
fn git(c: &Command) -> (Vec<String>, Vec<String>) {
    let args = operands(c);
    let sub = args.iter().find(|a| GIT_WRITES.contains(&a.as_str()));
    match sub.map(|s| s.as_str()) {
        Some(_) => (Vec::new(), args.iter().filter(|a| a.len() > 1).map(|a| a.rsplit(':').next().unwrap_or(a).to_string()).collect()),
        None => (Vec::new(), Vec::new()),
    }
}

const GIT_WRITES: [&str; 8] = ["checkout", "restore", "rm", "mv", "clean", "apply", "checkout-index", "reset"];

/// Variables that belay or its hooks read.
fn environment(c: &Command) -> Option<String> {
    let ours = |n: &str| n == "BELAY_HOME" || n.starts_with("BELAY_UNSAFE") || n == "OPENCODE_PURE" || n == "CLAUDE_CODE_SIMPLE";
    let said = |n: &str| Some(format!("the command would set {n}"));
    if let Some((n, _)) = c.assigns.iter().find(|(n, _)| ours(n)) {
        return said(n);
    }
    if matches!(c.name.as_str(), "export" | "declare" | "typeset" | "readonly" | "setenv" | "unset" | "env" | "setx" | "launchctl") {
        let named = c.args().iter().map(|w| w.text.split('=').next().unwrap_or("")).find(|n| ours(n));
        return named.and_then(said);
    }
    None
}

/// Whether a name or pattern of processes or services may mean belay.
fn may_mean_belay(text: &str) -> bool {
    let literal: String = text.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    text.contains("belay") || literal.len() >= 2 && literal.len() < text.len() && "belay".starts_with(&literal[..])
}

/// Ends belay's own processes.
fn processes(shell: &Shell, c: &Command) -> Option<String> {
    let names_belay = |c: &Command| c.args().iter().any(|w| may_mean_belay(&w.text.to_lowercase()));
    let stops = |words: &[&str]| c.args().iter().any(|w| words.contains(&w.text.as_str()));
    let ends = match c.name.as_str() {
        "pkill" | "killall" | "skill" | "killall5" => names_belay(c),
        "kill" => {
            names_belay(c)
                || shell.commands.iter().any(|o| matches!(o.name.as_str(), "pgrep" | "pidof" | "lsof" | "fuser" | "ps" | "grep" | "rg" | "awk" | "sed" | "cat" | "systemctl") && names_belay(o))
        }
        "fuser" => names_belay(c) && c.has_flag('k', &["kill"]),
        "systemctl" | "service" | "launchctl" | "rc-service" | "sc" | "brew" => {
            names_belay(c)
                && stops(&["stop", "disable", "mask", "kill", "restart", "edit", "unload", "bootout", "remove", "delete", "uninstall", "revert", "set-property", "isolate"])
        }
        "apt" | "apt-get" | "dnf" | "yum" | "npm" | "cargo" => names_belay(c) && stops(&["remove", "purge", "uninstall", "erase"]),
        _ => false,
    };
    if ends {
        return Some(format!("{} would stop belay", c.name));
    }
    None
}

/// Belay's own commands: those that only look are fine.
fn own_commands(c: &Command) -> Option<String> {
    if c.name != "belay" {
        return None;
    }
    let mut words = c.args().iter().map(|w| w.text.as_str()).filter(|t| !t.starts_with('-'));
    let sub = words.next().unwrap_or("");
    let next = words.next().unwrap_or("");
    let looks = match sub {
        "" | "status" | "help" | "version" | "eval" | "test" | "replay" | "redact" | "completion" | "conform" | "demo" | "fuzz" | "bench" => true,
        "doctor" => !c.has_flag('\0', &["fix"]),
        "hook" => ["", "new", "build", "inspect", "verify", "list", "propose", "help"].contains(&next),
        "events" => ["", "tail", "query", "show", "verify", "prove", "help"].contains(&next),
        "approvals" => ["", "list", "show", "watch", "help"].contains(&next),
        "lease" => ["", "list", "show", "check", "help"].contains(&next),
        "trust" => ["", "list", "show", "help"].contains(&next),
        "latch" | "reviewer" | "session" => ["", "list", "show", "help"].contains(&next),
        _ => false,
    };
    let helps = c.args().iter().any(|w| w.text == "--help" || w.text == "-h");
    if looks || helps {
        return None;
    }
    Some(format!("belay {sub} {next} is for a person").replace("  ", " "))
}

/// The runtime that a name of a program or package means.
fn program(name: &str) -> Option<&'static str> {
    let name = name.rsplit('/').next().unwrap_or(name).split('@').next().unwrap_or("");
    match name {
        "claude" | "claude-code" => Some("claude"),
        "codex" => Some("codex"),
        "gemini" | "gemini-cli" => Some("gemini"),
        "opencode" | "opencode-ai" => Some("opencode"),
        _ => None,
    }
}

/// Runtimes that are started without their hooks, or whose settings a command of theirs changes.
fn clients(c: &Command) -> Option<String> {
    let args: Vec<&str> = c.args().iter().map(|w| w.text.as_str()).collect();
    let has = |list: &[&str]| args.iter().any(|a| list.contains(a) || list.iter().any(|l| a.starts_with(&format!("{l}=")[..])));
    let first = args.iter().find(|a| !a.starts_with('-')).copied().unwrap_or("");
    let program = match (c.name.as_str(), first) {
        ("npx" | "bunx" | "pnpx" | "pnpm" | "yarn" | "npm", _) => args.iter().find_map(|a| program(a)),
        (name, _) => program(name),
    };
    const HOMES: [&str; 7] =
        ["HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"];
    if program.is_some() && c.assigns.iter().any(|(n, _)| HOMES.contains(&n.as_str())) {
        return Some(format!("{} would run with settings from elsewhere, without its hooks", c.name));
    }
    let off = match program.unwrap_or("") {
        "claude" => {
            has(&["--bare", "--settings", "--setting-sources", "--plugin-dir"])
                || first == "config" && has(&["set", "add", "remove", "rm", "unset"])
                || first == "plugin" && has(&["install", "enable", "disable", "uninstall", "remove", "update", "marketplace"])
        }
        "codex" => {
            args.windows(2).any(|w| matches!(w[0], "-c" | "--config") && (w[1].contains("hook") || w[1].contains("features")))
                || args.iter().any(|a| (a.starts_with("--config=") || a.starts_with("-c")) && (a.contains("hook") || a.contains("features")))
                || has(&["--dangerously-bypass-hook-trust"])
                || args.windows(2).any(|w| matches!(w[0], "--disable" | "--enable") && w[1].contains("hook"))
                || first == "features" && has(&["disable", "enable"])
        }
        "opencode" => has(&["--pure"]),
        "gemini" => first == "hooks" && has(&["disable", "enable", "migrate"]) || first == "extensions" && has(&["install", "enable", "disable", "uninstall", "link"]),
        _ => false,
    };
    if off {
        return Some(format!("{} would run without its hooks, or change its settings", c.name));
    }
    None
}

/// Code that an interpreter is given: as an argument, or on its input.
fn code_of(c: &Command) -> Option<String> {
    let interpreters = ["python", "python2", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "osascript", "pwsh", "powershell", "awk", "gawk", "Rscript", "sqlite3", "tclsh"];
    let base = c.name.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    if !interpreters.contains(&c.name.as_str()) && !interpreters.contains(&base) {
        return None;
    }
    let mut text = String::new();
    for w in c.args() {
        text.push_str(&w.text);
        text.push('\n');
    }
    for r in c.redirects.iter().filter(|r| r.op.starts_with("<<")) {
        text.push_str(&r.target.text);
        text.push('\n');
    }
    Some(text)
}
