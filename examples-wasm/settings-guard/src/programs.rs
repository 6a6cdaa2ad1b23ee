//! Commands that switch belay off by themselves: environment, processes, belay's own commands, runtimes without hooks.

use belay_hook::analysis::{Command, Shell};

use crate::files::Guarded;

/// Why a command may not run, by what it is.
pub fn judge(guarded: &Guarded, shell: &Shell, c: &Command) -> Option<String> {
    environment(c).or_else(|| account(c)).or_else(|| credentials(guarded, c)).or_else(|| processes(guarded, shell, c)).or_else(|| own_commands(c)).or_else(|| clients(shell, c))
}

/// Whether a command on another host is on this one.
pub fn here(shell: &Shell) -> bool {
    let local = |t: &str| {
        let host = t.rsplit('@').next().unwrap_or(t);
        matches!(host, "localhost" | "::1" | "0" | "0.0.0.0" | "$(hostname)" | "$HOSTNAME") || host.starts_with("127.")
    };
    shell.commands.iter().any(|c| c.name == "ssh" && c.args().iter().any(|w| local(&w.text)))
}

/// Changes the shell of the account, with which Codex starts its hooks.
fn account(c: &Command) -> Option<String> {
    let changes = matches!(c.name.as_str(), "chsh" | "lchsh") && !c.has_flag('l', &["list-shells", "help"])
        || c.name == "usermod" && c.has_flag('s', &["shell", "home"]);
    changes.then(|| format!("{} would change the shell that starts a runtime's hooks", c.name))
}

/// Variables that belay, its hooks or the runtimes read to find their settings, or by which they load no hooks. Lower
/// case: Windows makes no difference, and elsewhere such a name in other letters is no loss.
pub const VARIABLES: &[&str] = &[
    "belay_home", "bash_env", "zdotdir", "claude_config_dir", "claude_code_simple", "codex_home", "gemini_cli_home",
    "gemini_cli_system_settings_path", "gemini_cli_system_defaults_path", "gemini_cli_trust_workspace", "gemini_cli_trusted_folders_path",
    "gemini_restricted_mode", "opencode_pure", "opencode_config", "opencode_config_dir", "opencode_config_content",
    "opencode_disable_project_config", "opencode_test_home", "opencode_test_managed_config_dir", "openclaw_home", "openclaw_state_dir",
    "openclaw_config_path", "openclaw_profile",
];

fn environment(c: &Command) -> Option<String> {
    let ours = |n: &str| n.starts_with("BELAY_UNSAFE") || VARIABLES.iter().any(|v| n.eq_ignore_ascii_case(v));
    let said = |n: &str| Some(format!("the command would set {n}"));
    if let Some((n, _)) = c.assigns.iter().find(|(n, _)| ours(n)) {
        return said(n);
    }
    let sets = matches!(c.name.as_str(), "export" | "declare" | "typeset" | "readonly" | "setenv" | "unset" | "env" | "setx" | "launchctl")
        || c.name == "set" && c.args().iter().any(|w| w.text.starts_with("-") && w.text.contains('x'))
        || c.name == "systemctl" && c.args().iter().any(|w| w.text.ends_with("-environment"))
        || c.name == "tmux" && c.args().iter().any(|w| w.text.starts_with("setenv") || w.text.starts_with("set-env"))
        || c.name == "dbus-update-activation-environment" || c.name == "pam_env";
    if sets {
        let named = c.args().iter().map(|w| w.text.split('=').next().unwrap_or("")).find(|n| ours(n));
        return named.and_then(said);
    }
    None
}

/// Whether a name or pattern of processes or services may mean belay.
fn may_mean_belay(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !matches!(c, '[' | ']' | '\\' | '^' | '$')).collect();
    let literal: String = plain.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    plain.contains("belay")
        || literal.len() >= 2 && literal.len() < plain.len() && "belay".starts_with(&literal[..])
        || plain.len() >= 3 && "belay".contains(&plain[..])
}

/// Talks to belay's daemon, or reads what it knows its callers by. Listing them is no reading.
fn credentials(guarded: &Guarded, c: &Command) -> Option<String> {
    if matches!(c.name.as_str(), "ls" | "stat" | "du" | "file" | "test" | "[" | "find" | "tree" | "echo" | "git" | "gh" | "belay" | "belay-hook") {
        return None;
    }
    let secret = |t: &str| {
        let t = t.to_lowercase();
        let own = guarded.named_in(&t) || t.contains(".local/state/belay") || t.contains("/.belay/");
        t.ends_with("/belay.sock") || t.ends_with("/frame.sock") || own && (t.contains("/keys") || t.contains(".token") || t.contains(".sock"))
    };
    let words = c.words.iter().chain(c.redirects.iter().map(|r| &r.target));
    let hit = words.map(|w| w.text.as_str()).filter(|t| !t.contains(char::is_whitespace)).any(secret);
    hit.then(|| format!("{} would use belay's keys or its socket", c.name))
}

/// Ends belay's own processes.
fn processes(guarded: &Guarded, shell: &Shell, c: &Command) -> Option<String> {
    let names_belay = |c: &Command| {
        c.args().iter().map(|w| w.text.to_lowercase()).any(|t| may_mean_belay(&t) || guarded.named_in(&t))
    };
    let stops = |words: &[&str]| c.args().iter().any(|w| words.contains(&w.text.as_str()));
    let looks = |o: &Command| {
        matches!(o.name.as_str(), "pgrep" | "pidof" | "lsof" | "fuser" | "ps" | "grep" | "egrep" | "rg" | "awk" | "sed" | "cat" | "head" | "systemctl" | "ss" | "jq")
            && names_belay(o)
    };
    const REMOVES: &[&str] =
        &["remove", "purge", "uninstall", "erase", "rm", "un", "unlink", "autoremove", "del", "delete", "-e", "-r", "-P"];
    let ends = match c.name.as_str() {
        "pkill" | "killall" | "skill" | "killall5" => names_belay(c),
        "kill" | "gdb" | "lldb" | "strace" | "renice" | "prlimit" => names_belay(c) || shell.commands.iter().any(looks),
        "fuser" => names_belay(c) && c.has_flag('k', &["kill"]),
        "systemctl" | "service" | "launchctl" | "rc-service" | "sc" | "loginctl" => {
            names_belay(c)
                && stops(&["stop", "disable", "mask", "kill", "restart", "edit", "unload", "bootout", "remove", "delete", "revert",
                    "set-property", "isolate", "freeze", "kickstart"])
        }
        "brew" | "apt" | "apt-get" | "aptitude" | "dnf" | "yum" | "zypper" | "npm" | "pnpm" | "yarn" | "bun" | "cargo" | "pip" | "pip3" | "pipx" | "uv" | "gem"
        | "snap" | "flatpak" | "apk" | "nix-env" | "nix" | "conda" | "dpkg" | "rpm" | "mise" | "asdf" | "choco" | "winget" | "scoop" => {
            names_belay(c) && stops(REMOVES)
        }
        "python" | "python3" => names_belay(c) && stops(&["pip"]) && stops(REMOVES),
        "pacman" => names_belay(c) && c.args().iter().any(|w| w.text.starts_with("-R")),
        "go" => names_belay(c) && stops(&["clean"]) && stops(&["-i"]),
        _ => false,
    };
    if ends {
        return Some(format!("{} would stop or remove belay", c.name));
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
        "events" => ["", "tail", "query", "show", "report", "verify", "prove", "help"].contains(&next),
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
        "openclaw" => Some("openclaw"),
        _ => None,
    }
}

/// Runtimes that are started without their hooks, or whose settings a command of theirs changes.
fn clients(shell: &Shell, c: &Command) -> Option<String> {
    let args: Vec<&str> = c.args().iter().map(|w| w.text.as_str()).collect();
    let has = |list: &[&str]| args.iter().any(|a| list.contains(a) || list.iter().any(|l| a.starts_with(&format!("{l}=")[..])));
    let program_in = |c: &Command| {
        let first = c.args().iter().map(|w| w.text.as_str()).find(|a| !a.starts_with('-')).unwrap_or("");
        match (c.name.as_str(), first) {
            ("npx" | "bunx" | "pnpx" | "pnpm" | "yarn" | "npm", _) => c.args().iter().find_map(|a| program(&a.text)),
            (name, _) => program(name),
        }
    };
    let words: Vec<&str> = args.iter().filter(|a| !a.starts_with('-')).copied().collect();
    let word = |i: usize| words.get(i).copied().unwrap_or("");
    let program = program_in(c)?;
    const HOMES: &[&str] = &["HOME", "XDG_CONFIG_HOME"];
    let elsewhere = c.assigns.iter().any(|(n, _)| HOMES.contains(&n.as_str()))
        || shell.commands.iter().any(|o| {
            matches!(o.name.as_str(), "export" | "declare" | "env") && o.args().iter().any(|w| HOMES.iter().any(|h| w.text.starts_with(&format!("{h}=")[..])))
        });
    if elsewhere {
        return Some(format!("{} would run with settings from elsewhere, without its hooks", c.name));
    }
    // npx PROGRAM: its words begin one later
    let at = usize::from(program != c.name && words.first().map_or(false, |w| self::program(w).is_some()));
    let (first, second) = (word(at), word(at + 1));
    let off = match program {
        "claude" => {
            has(&["--bare", "--settings", "--setting-sources", "--plugin-dir", "--managed-settings"])
                || first == "config" && ["set", "add", "remove", "rm", "unset"].contains(&second)
                || first == "mcp" && ["add", "add-json", "add-from-claude-desktop", "remove", "reset-project-choices"].contains(&second)
                || matches!(first, "plugin" | "plugins") && !["", "list", "ls", "help", "validate", "details"].contains(&second)
        }
        "codex" => {
            let key = |v: &str| ["hook", "features", "profile", "codex_home", "notify", "mcp_servers"].iter().any(|k| v.contains(k));
            args.windows(2).any(|w| matches!(w[0], "-c" | "--config") && key(w[1]))
                || args.iter().any(|a| (a.starts_with("--config=") || a.starts_with("-c") && a.len() > 2) && key(a))
                || has(&["--dangerously-bypass-hook-trust", "--ignore-user-config"])
                || args.windows(2).any(|w| matches!(w[0], "--disable" | "--enable") && w[1].contains("hook"))
                || first == "features" && ["disable", "enable"].contains(&second)
                || first == "mcp" && ["add", "remove"].contains(&second)
        }
        "opencode" => has(&["--pure"]) || first == "plugin",
        "openclaw" => {
            has(&["--profile", "--dev"]) || matches!(first, "configure" | "onboard" | "setup" | "reset" | "uninstall")
                || first == "agent" && second == "exec" // calls no hook of a plugin
                || first == "config" && !["", "get", "file", "validate", "schema", "help"].contains(&second)
                || matches!(first, "plugin" | "plugins") && !["", "list", "inspect", "search", "doctor", "help"].contains(&second)
                || first == "hooks" && ["enable", "disable", "install"].contains(&second)
                || first == "doctor" && has(&["--fix", "--repair", "--force"])
        }
        "gemini" => {
            has(&["--skip-trust"])
                || first == "hooks" && ["disable", "enable", "migrate"].contains(&second)
                || matches!(first, "extensions" | "extension") && ["install", "enable", "disable", "uninstall", "link"].contains(&second)
                || first == "mcp" && ["add", "remove"].contains(&second)
        }
        _ => false,
    };
    if off {
        return Some(format!("{} would run without its hooks, or change its settings", c.name));
    }
    None
}

/// Whether a program runs code of its own language.
pub fn interpreter(name: &str) -> bool {
    const INTERPRETERS: &[&str] = &[
        "python", "python2", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "osascript", "pwsh", "powershell", "awk", "gawk",
        "mawk", "Rscript", "sqlite3", "tclsh", "expect", "emacs", "tsx", "ts-node", "ipython", "nodejs",
    ];
    let base = name.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&base)
}

/// Code that an interpreter is given: as an argument, or on its input.
pub fn code_of(c: &Command) -> Option<String> {
    let edits = matches!(c.name.as_str(), "vi" | "vim" | "nvim" | "ex" | "emacs");
    let runs = c.name == "go" && c.args().first().map_or(false, |w| w.text == "run");
    if !interpreter(&c.name) && !edits && !runs && !c.redirects.iter().any(|r| r.op.starts_with("<<") && !known_input(&c.name)) {
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

/// Programs whose input is no code.
fn known_input(name: &str) -> bool {
    matches!(
        name,
        "cat" | "tee" | "sponge" | "grep" | "rg" | "jq" | "yq" | "wc" | "head" | "tail" | "sort" | "uniq" | "sed" | "tr" | "cut" | "read" | "git" | "gh"
            | "patch" | "crontab" | "at" | "batch" | "mail" | "curl" | "diff" | "base64" | "xargs" | "while" | "bash" | "sh" | "dash" | "zsh" | "make"
            | "less" | "column" | "nl" | "md5sum" | "sha256sum" | "fold" | "fmt" | "pandoc" | "kubectl" | "docker" | "ssh"
    )
}
