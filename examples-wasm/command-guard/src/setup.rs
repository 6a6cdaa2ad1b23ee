//! Local tools that print their own set-up for a shell, as in `eval "$(direnv hook bash)"`.

use crate::hook::analysis::{Command, Shell, Word};

/// A command that prints what it wants a shell to run, and brings nothing from elsewhere: the program is well known for
/// it, or its arguments ask for what only a set-up is called.
pub fn prints_setup(c: &Command) -> bool {
    if c.remote || c.name.is_empty() {
        return false;
    }
    let args = || c.args().iter().map(|w| w.text.as_str());
    let first = args().next().unwrap_or("");
    let says = |word: &str| args().any(|w| w == word);
    match c.name.as_str() {
        "ssh-agent" | "dircolors" | "gdircolors" | "lesspipe" | "lesspipe.sh" | "resize" | "tset" | "keychain" | "gnome-keyring-daemon"
        | "dbus-launch" | "modulecmd" | "lmod" | "register-python-argcomplete" | "register-python-argcomplete3" | "thefuck" | "hub"
        | "shellenv" | "xdg-user-dirs" | "locale" | "luarocks" | "fnm" | "starship" | "zoxide" | "atuin" | "mcfly" | "navi" | "fzf"
        | "direnv" | "rbenv" | "pyenv" | "nodenv" | "goenv" | "jenv" | "phpenv" | "plenv" | "swiftenv" | "tfenv" | "luaenv" | "crenv"
        | "exenv" | "scalaenv" | "rakudobrew" | "asdf" | "mise" | "rtx" | "conda" | "mamba" | "micromamba" | "activate-global-python-argcomplete"
        | "oh-my-posh" | "broot" | "pazi" | "autojump" | "fasd" | "jump" | "pack" | "spack" | "guix" | "devbox" | "pixi" | "ghcup"
        | "rustup" | "sdk" | "volta" | "vfox" | "proto" | "hermit" | "carapace" | "sheldon" | "antibody" | "zinit" | "antidote" | "vivid" => true,
        "gpg-agent" | "gpgconf" => says("--daemon") || says("--list-dirs"),
        "go" => first == "env",
        "brew" => matches!(first, "shellenv" | "command-not-found-init"),
        "opam" => says("env"),
        "docker-machine" => first == "env",
        "minikube" => matches!(first, "docker-env" | "podman-env" | "completion"),
        "nix" => first == "print-dev-env",
        "ros2" | "aws_completer" => true,
        "npm" | "pnpm" | "yarn" | "pip" | "pip3" | "gh" | "kubectl" | "helm" => asks_for_setup(c),
        _ => asks_for_setup(c) && !c.words.first().map_or(false, |w| w.text.contains('/') && !w.text.starts_with('/') && !w.tilde),
    }
}

fn is_shell_name(word: &str) -> bool {
    matches!(word, "bash" | "zsh" | "fish" | "sh" | "posix" | "dash" | "ksh" | "pwsh" | "powershell" | "nu" | "nushell" | "elvish" | "tcsh" | "csh" | "xonsh" | "-")
}

/// Arguments by which programs of all kinds print completions or their set-up.
fn asks_for_setup(c: &Command) -> bool {
    const NOT: [&str; 20] = [
        "curl", "wget", "ssh", "cat", "echo", "printf", "base64", "sh", "bash", "zsh", "nc", "docker", "podman", "aws", "gsutil", "openssl",
        "python", "python3", "perl", "node",
    ];
    if NOT.contains(&c.name.as_str()) && !(c.name == "docker" || c.name == "podman" || c.name == "aws") {
        return false;
    }
    let mut args = c.args().iter().map(|w| w.text.as_str());
    let shell = || c.args().iter().any(|w| is_shell_name(w.text.trim_start_matches("--shell=").trim_start_matches("--")));
    args.any(|w| match w.trim_start_matches('-').split('=').next().unwrap_or("") {
        "completion" | "completions" | "bash-completion" | "zsh-completion" | "completion-bash" | "completion-zsh" | "gen-completions"
        | "generate-shell-completion" | "shell-completion" | "bash-completion-script" | "completion-script" | "complete-bash"
        | "generate-completion" | "show-completion" | "print-completion" | "gen-completion" | "autocomplete" => true,
        "shellenv" | "shell-init" | "shell-hook" | "virtualenv-init" | "docker-env" | "podman-env" => true,
        "init" | "hook" | "activate" | "generate" => shell(),
        _ => false,
    })
}

/// Programs that pass on a text of this machine as it is, or cut.
fn passes(c: &Command) -> bool {
    let args = || c.args().iter().map(|w| w.text.as_str());
    match c.name.as_str() {
        "cat" | "head" | "tail" | "sed" | "gsed" | "grep" | "egrep" | "envsubst" | "tee" | "bat" | "sort" | "uniq" | "cut" | "awk" => true,
        "tr" => args().any(|w| matches!(w, "\\r" | "\r" | "\\015")),
        _ => false,
    }
}

/// Programs that stand in front of another or change nothing of what is printed.
fn stands_by(c: &Command) -> bool {
    matches!(
        c.name.as_str(),
        "sudo" | "env" | "command" | "builtin" | "timeout" | "nice" | "nohup" | "cd" | "export" | ":" | "true" | "[" | "test" | "which" | "type" | "doas" | "set" | "hash"
    )
}

/// Whether all that the commands of a substitution print is a set-up.
pub fn all_setup(shell: &Shell, from: &[usize]) -> bool {
    let commands = || from.iter().filter_map(|i| shell.commands.get(*i));
    let mut any = false;
    for c in commands() {
        if prints_setup(c) {
            any = true;
        } else if !(passes(c) && c.stdin_from.is_some() || stands_by(c)) {
            return false;
        }
    }
    any
}

/// Whether a shell reads files of this machine: `cat deploy.sh | ssh host bash`.
pub fn reads_files(shell: &Shell, c: &Command) -> bool {
    let mut at = c.stdin_from;
    for _ in 0..8 {
        let from = match at.and_then(|i| shell.commands.get(i)) {
            Some(from) => from,
            None => return false,
        };
        if from.remote || !passes(from) {
            return false;
        }
        if from.stdin_from.is_none() {
            let awk = matches!(from.name.as_str(), "awk" | "sed" | "gsed" | "grep" | "egrep" | "tr" | "cut" | "head" | "tail" | "sort" | "uniq");
            let operands = from.args().iter().filter(|w| !w.text.starts_with('-')).count();
            let reads = from.redirects.iter().any(|r| r.op == "<");
            return reads || operands > usize::from(awk && !matches!(from.name.as_str(), "head" | "tail" | "sort" | "uniq")) && from.args().iter().all(|w| is_local(w) || w.text.starts_with('-'));
        }
        at = from.stdin_from;
    }
    false
}

/// A file of this machine by name: known, or known at its end.
pub fn is_local(w: &Word) -> bool {
    if w.text.starts_with("/dev/") || w.text.starts_with("/proc/") || w.text.contains("://") || w.text.starts_with("<(") {
        return false;
    }
    if w.known {
        return true;
    }
    let end = match w.text.rfind(&['}', ')', '`', '"'][..]) {
        Some(at) => &w.text[at + 1..],
        None => w.text.find('$').map_or("", |at| w.text[at..].find('/').map_or("", |slash| &w.text[at + slash..])),
    };
    end.len() > 1 && end.contains('/') && !end.contains('$') && !end.ends_with('/')
}
