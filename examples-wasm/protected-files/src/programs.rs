//! What programs do with the files that their arguments name. A program that is not listed reads what it names.

use crate::search::{self, listed, lower};
use crate::search::Case;

/// Programs that name files without showing what is in them, or write them, or source them; also shells, whose text
/// the host takes apart. Sorted, as the lists below.
const NAMING: &[&str] = &[
    "", ".", ":", "[", "[[", "adduser", "alias", "basename", "bash", "builtin", "bun", "cargo", "cd", "chattr",
    "chcon", "chgrp", "chmod", "chown", "chrt", "command", "compgen", "complete", "dash", "declare", "df", "dir",
    "direnv", "dirname", "doas", "dotenv", "dotenvx", "du", "dust", "echo", "env", "env-cmd", "eval", "exa", "exec",
    "exit", "export", "eza", "false", "fc-list", "file", "findmnt", "fish", "foreman", "fuser", "getent", "getfacl",
    "getopts", "gh-dash", "gio", "gmake", "go", "groups", "gtimeout", "gxargs", "hash", "honcho", "id",
    "inotifywait", "ionice", "journalctl", "just", "kill", "killall", "ksh", "let", "local", "ls", "lsattr", "lsd",
    "lsof", "make", "mapfile", "mkcert", "mkdir", "mktemp", "mountpoint", "namei", "ncdu", "nice", "nohup", "npm",
    "parallel", "passwd", "pgrep", "pkill", "pnpm", "popd", "printf", "ps", "pushd", "pwd", "read", "readarray",
    "readlink", "readonly", "realpath", "restorecon", "return", "rm", "rmdir", "service", "set", "setenv",
    "setfacl", "setsid", "sh", "shred", "sleep", "source", "sponge", "srm", "ssh-add", "ssh-agent", "ssh-copy-id",
    "ssh-keygen", "ssh-keyscan", "stat", "stdbuf", "step", "sudo", "systemctl", "task", "taskset", "tee", "test",
    "time", "timeout", "touch", "trap", "trash", "trash-put", "tree", "true", "truncate", "type", "typeset",
    "umount", "unalias", "unlink", "unset", "until", "useradd", "userdel", "usermod", "vdir", "visudo", "wait",
    "whereis", "which", "xargs", "yarn", "zsh",
];

/// Whether a program only names files.
pub fn names_only(name: &str) -> bool {
    listed(NAMING, name)
}

/// Programs that hand sentences to people, or to a tracker that people read: what such a sentence names is not opened.
pub fn speaks(name: &str) -> bool {
    matches!(
        name,
        "notify-send" | "terminal-notifier" | "growlnotify" | "say" | "espeak" | "wall" | "write" | "logger" | "dialog" | "whiptail" | "zenity" | "kdialog"
            | "gum" | "cowsay" | "figlet" | "toilet" | "banner" | "ntfy" | "gh" | "glab" | "hub" | "tea" | "jira" | "linear" | "slackcat" | "hg" | "svn" | "jj"
            | "p4" | "bzr" | "fossil" | "bd" | "todo" | "todo.sh" | "taskwarrior"
    )
}

const EXPRESSION: &[&str] = &[
    "ack", "ag", "ast-grep", "awk", "egrep", "fgrep", "gawk", "gojq", "grep", "gsed", "jaq", "jq", "mawk", "nawk",
    "perl", "rename", "rg", "ruby", "sd", "sed", "ugrep", "yq", "zgrep",
];

/// Programs whose first operand is what they look for, or do, and no file.
pub fn takes_expression(name: &str) -> bool {
    listed(EXPRESSION, name)
}

/// Options whose value is the expression, so that every operand is a file.
pub fn gives_expression(name: &str, arg: &str) -> bool {
    match name {
        "perl" | "ruby" => arg.starts_with('-') && !arg.starts_with("--") && arg.contains(&['e', 'E'][..]),
        "jq" | "gojq" | "jaq" | "yq" => matches!(arg, "-f" | "--from-file"),
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "ugrep" => {
            arg == "--files" || arg.starts_with("--regexp") || arg.starts_with("--file") || bundle(arg, 'e') || bundle(arg, 'f')
        }
        "sed" | "gsed" => arg.starts_with("--expression") || arg.starts_with("--file") || bundle(arg, 'e') || bundle(arg, 'f'),
        "awk" | "gawk" | "mawk" | "nawk" => arg.starts_with("--file") || bundle(arg, 'f'),
        _ => false,
    }
}

/// Whether short options in one word end in a letter, or the word is the letter with its value.
fn bundle(arg: &str, letter: char) -> bool {
    match arg.strip_prefix('-') {
        Some(rest) if !rest.starts_with('-') => rest.starts_with(letter) || rest.ends_with(letter),
        _ => false,
    }
}

/// Interpreters whose option takes a program, and which letters do.
pub fn code_option(name: &str, arg: &str) -> bool {
    let letters: &[char] = match family(name) {
        "python" => &['c'],
        "node" | "deno" | "bun" => return matches!(arg, "-e" | "-p" | "-pe" | "--eval" | "--print" | "eval"),
        "perl" | "ruby" => &['e', 'E'],
        "php" => &['r'],
        "lua" | "luajit" | "julia" | "elixir" | "rscript" | "guile" | "groovy" | "scala" => &['e'],
        "psql" | "pgcli" | "duckdb" => return matches!(arg, "-c" | "--command"),
        "mysql" | "mariadb" => return matches!(arg, "-e" | "--execute"),
        "pwsh" | "powershell" => return matches!(arg.lowered().as_str(), "-c" | "-command" | "/c"),
        "vim" | "nvim" | "vi" | "ex" | "view" => return matches!(arg, "-c" | "--cmd") || arg.starts_with('+'),
        "emacs" | "emacsclient" => return matches!(arg, "--eval" | "-eval"),
        "lftp" => &['c', 'e'],
        "osascript" | "tclsh" | "expect" => &['e', 'c'],
        _ => return false,
    };
    arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with(letters)
}

const INTERPRETERS: &[&str] = &[
    "awk", "bc", "bun", "deno", "duckdb", "ed", "elixir", "ex", "expect", "ftp", "gdb", "gnuplot", "groovy",
    "ipython", "irb", "julia", "lftp", "lua", "luajit", "mariadb", "mysql", "node", "osascript", "perl", "php",
    "powershell", "psql", "pwsh", "python", "rscript", "ruby", "sftp", "sqlite", "tclsh",
];

/// Programs that take a whole program as an operand or on their standard input.
pub fn interprets(name: &str) -> bool {
    listed(INTERPRETERS, family(name))
}

/// The program without its version: python3.11 is python.
pub fn family(name: &str) -> &str {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    match plain {
        "pypy" | "python" | "pythonw" | "py" => "python",
        "nodejs" => "node",
        "gawk" | "mawk" | "nawk" => "awk",
        "" => name,
        p => p,
    }
}

/// What the value of an option is to a program.
#[derive(Clone, Copy, PartialEq)]
pub enum Use {
    /// A file that is read, copied or sent.
    Reads,
    /// A key that is used, a configuration, an exclusion, a result that is written: named, not shown.
    Names,
}

/// What a long option's value is, by what the option is called. Programs that are not listed use keys as they say.
pub fn long_option(program: &str, option: &str) -> Use {
    let o = lower(option);
    let has = |list: &[&str]| list.iter().any(|w| search::has(&o, w));
    match (program, o.as_ref()) {
        ("curl" | "wget", _) if has(&["upload", "post-file", "body-file", "data", "form", "json"]) => return Use::Reads,
        ("docker" | "podman" | "nerdctl", "volume" | "mount" | "device") => return Use::Reads,
        ("grep" | "egrep" | "rg" | "ag" | "ack" | "ugrep", "include" | "glob" | "iglob") => return Use::Reads,
        ("kubectl" | "oc", "from-file" | "from-env-file") => return Use::Reads,
        ("tar" | "bsdtar" | "rsync" | "zip" | "cpio", "files-from" | "add-file") => return Use::Reads,
        ("jq" | "gojq" | "jaq", _) if has(&["rawfile", "slurpfile", "argfile"]) => return Use::Reads,
        _ => {}
    }
    const NAMES: &[&str] = &[
        "key", "cert", "cacert", "ca-", "cafile", "capath", "cabundle", "ssl", "tls", "pem", "identity", "kubeconfig", "env-file", "envfile", "env_file",
        "dotenv", "credential", "netrc", "config", "exclude", "ignore", "skip", "out", "dest", "target", "password-file", "passphrase", "passwd",
        "secret", "sign", "trust", "message", "title", "body", "subject", "comment", "description", "notes", "label", "name", "regexp", "grep",
        "pattern", "filter", "author", "query", "search", "format", "template", "rsh", "ssh", "log", "chdir", "reference", "env", "profile", "user",
    ];
    if o == "c" || o == "ca" || has(NAMES) {
        return Use::Names;
    }
    Use::Reads
}

/// What a short option's value is.
pub fn short_option(program: &str, letter: char) -> Use {
    match program {
        "ssh" | "scp" | "sftp" | "sshfs" | "mosh" | "autossh" | "rsync" | "ssh-copy-id" if matches!(letter, 'i' | 'F' | 'o' | 'S' | 'e' | 'E') => Use::Names,
        "curl" => match letter {
            'E' | 'o' | 'K' | 'c' | 'D' | 'w' | 'A' | 'e' | 'u' | 'x' | 'X' | 'm' | 'Y' | 'y' | 'z' | 'r' | 'C' | 'P' | 'Q' | 't' => Use::Names,
            _ => Use::Reads,
        },
        "wget" if matches!(letter, 'O' | 'o' | 'a' | 'P' | 'U' | 'e') => Use::Names,
        "tar" | "bsdtar" if matches!(letter, 'X') => Use::Names,
        "zip" if matches!(letter, 'x' | 'b') => Use::Names,
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" if matches!(letter, 'e' | 'A' | 'B' | 'C' | 'm' | 't' | 'T') => Use::Names,
        "docker" | "podman" | "nerdctl" if !matches!(letter, 'v') => Use::Names,
        "gh" | "glab" | "hub" if matches!(letter, 'b' | 't' | 'm' | 'R' | 'l' | 'n' | 'q') => Use::Names,
        "http-server" | "gunicorn" | "uvicorn" | "hypercorn" | "live-server" | "stunnel" | "socat" if matches!(letter, 'C' | 'K' | 'p') => Use::Names,
        "mysql" | "psql" | "mariadb" | "ansible" | "ansible-playbook" if !matches!(letter, 'f') => Use::Names,
        "mutt" | "mail" | "mailx" if matches!(letter, 's' | 'b' | 'c' | 'r') => Use::Names,
        "sed" | "gsed" if matches!(letter, 'e' | 'f' | 'l') => Use::Names,
        "awk" | "gawk" | "mawk" | "nawk" if matches!(letter, 'F' | 'v' | 'f') => Use::Names,
        "python" | "python2" | "python3" if matches!(letter, 'm' | 'W' | 'X') => Use::Names,
        "perl" | "ruby" if matches!(letter, 'I' | 'M' | 'm' | 'F' | 'C') => Use::Names,
        "nginx" | "caddy" | "haproxy" | "sshd" | "openvpn" | "terraform" | "tofu" | "packer" | "helm" | "nmap" | "certbot" => Use::Names,
        "minisign" | "age" | "rage" | "signify" | "cosign" if matches!(letter, 'i' | 's' | 'r' | 'R' | 'o') => Use::Names,
        "cpio" | "pax" => Use::Reads,
        _ if matches!(letter, 'o') => Use::Names,
        _ => Use::Reads,
    }
}

/// Programs that copy: the last operand, or what -t names, is where to.
pub fn copies(name: &str) -> bool {
    matches!(name, "cp" | "gcp" | "mv" | "gmv" | "ln" | "gln" | "install" | "link" | "scp" | "rsync" | "rclone" | "gsutil" | "ditto" | "pscp")
}

const DEEP: &[&str] = &[
    "7z", "7za", "7zz", "aws", "borg", "bsdtar", "cp", "cpio", "croc", "ditto", "docker", "duplicity", "gcp", "gln",
    "gmv", "gsutil", "gtar", "http-server", "live-server", "ln", "magic-wormhole", "mount", "mv", "nerdctl",
    "podman", "rar", "rclone", "rdiff-backup", "restic", "rsync", "scp", "serve", "sshfs", "tar", "unison",
    "wormhole", "zip",
];

/// Programs that go through directories: to give them one is to give them all that is below it.
pub fn goes_deep(name: &str) -> bool {
    listed(DEEP, name)
}

/// Programs of which nothing but the directory's name makes them go deep.
pub fn searches(name: &str) -> bool {
    matches!(name, "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "ugrep")
}

const READING: &[&str] = &[
    "ack", "ag", "awk", "b2sum", "base32", "base64", "basenc", "bat", "batcat", "bzcat", "bzip2", "cat", "cksum",
    "cmp", "code", "colordiff", "column", "comm", "csplit", "cut", "delta", "diff", "dos2unix", "egrep", "emacs",
    "expand", "fgrep", "fmt", "fold", "gawk", "gc", "get-content", "gojq", "grep", "gsed", "gzip", "hd", "head",
    "hexdump", "hx", "iconv", "jaq", "join", "jq", "less", "lz4", "mawk", "md5sum", "micro", "more", "most", "nano",
    "nawk", "nl", "nvim", "od", "paste", "pr", "rev", "rg", "sdiff", "sed", "sha1sum", "sha256sum", "sha512sum",
    "shasum", "shuf", "sort", "split", "strings", "tac", "tail", "type", "ugrep", "unexpand", "uniq", "unix2dos",
    "vi", "view", "vim", "wc", "xxd", "xz", "xzcat", "zcat", "zgrep", "zstd",
];

/// Programs that read every operand, and whose options take no keys.
pub fn reads_plainly(name: &str) -> bool {
    listed(READING, name)
}

/// Whether the word behind a long option is its value. Of programs that are known few options take one.
pub fn takes_value(option: &str, known: bool) -> bool {
    const KNOWN: &[&str] = &[
        "exclude", "exclude-from", "exclude-dir", "include", "include-from", "target-directory", "rsh", "suffix", "mode", "owner", "group", "filter", "password-file", "log-file",
        "regexp", "label", "color", "output", "config", "reference", "ignore-file", "glob",
    ];
    let flag = option.starts_with("no") || matches!(option, "tls" | "ssl" | "verbose" | "sign" | "ignore-case" | "ignore" | "skip" | "user" | "out" | "log" | "ssh");
    if known {
        KNOWN.contains(&option)
    } else {
        !flag
    }
}

/// Programs that take the names of files on their standard input.
pub fn lists_input(name: &str) -> bool {
    matches!(name, "cpio" | "pax" | "zip" | "tar" | "bsdtar" | "rsync" | "git" | "restic" | "7z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for list in [NAMING, EXPRESSION, INTERPRETERS, DEEP, READING] {
            assert!(list.windows(2).all(|w| w[0] < w[1]), "{list:?}");
        }
    }
}
