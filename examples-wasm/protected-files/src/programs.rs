//! What programs do with the files that their arguments name. A program that is not listed reads what it names.

/// Programs that name files without showing what is in them, or write them, or source them; also shells, whose text
/// the host takes apart.
const NAMING: &[&str] = &[
    "", ":", "ls", "dir", "vdir", "exa", "eza", "lsd", "stat", "test", "[", "[[", "chmod", "chown", "chgrp", "chattr", "lsattr", "setfacl",
    "getfacl", "chcon", "restorecon", "touch", "mkdir", "rmdir", "rm", "unlink", "trash", "trash-put", "gio", "shred", "srm", "truncate",
    "df", "du", "dust", "ncdu", "tree", "realpath", "readlink", "basename", "dirname", "file", "which", "whereis", "type", "command", "echo", "printf",
    "cd", "pushd", "popd", "pwd", "export", "declare", "local", "typeset", "readonly", "unset", "set", "setenv", "alias", "unalias",
    "true", "false", "read", "mapfile", "readarray", "source", ".", "tee", "sponge", "trap", "exit", "return", "kill", "sleep", "wait",
    "lsof", "fuser", "namei", "findmnt", "mountpoint", "umount", "mktemp", "inotifywait", "ssh-add", "ssh-agent", "ssh-keygen",
    "ssh-copy-id", "ssh-keyscan", "useradd", "usermod", "adduser", "userdel", "passwd", "id", "groups", "getent", "systemctl",
    "journalctl", "service", "pgrep", "pkill", "killall", "ps", "dotenv", "dotenvx", "env-cmd", "direnv", "foreman", "honcho",
    "make", "gmake", "just", "task", "npm", "pnpm", "yarn", "bun", "go", "cargo", "sudo", "doas", "env", "nice", "nohup", "timeout", "gtimeout", "time", "xargs",
    "gxargs", "parallel", "exec", "setsid", "stdbuf", "ionice", "chrt", "taskset", "eval", "bash", "sh", "dash", "zsh", "ksh", "fish",
    "mkcert", "step", "visudo", "getopts", "let", "until", "hash", "complete", "compgen", "builtin", "gh-dash", "fc-list",
];

/// Whether a program only names files.
pub fn names_only(name: &str) -> bool {
    NAMING.contains(&name)
}

/// Programs whose first operand is what they look for, or do, and no file.
pub fn takes_expression(name: &str) -> bool {
    matches!(
        name,
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "ugrep" | "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk" | "jq" | "gojq"
            | "jaq" | "yq" | "ast-grep" | "sd" | "rename" | "perl" | "ruby"
    )
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
        "pwsh" | "powershell" => return matches!(arg.to_lowercase().as_str(), "-c" | "-command" | "/c"),
        "vim" | "nvim" | "vi" | "ex" | "view" => return matches!(arg, "-c" | "--cmd") || arg.starts_with('+'),
        "emacs" | "emacsclient" => return matches!(arg, "--eval" | "-eval"),
        "lftp" => &['c', 'e'],
        "osascript" | "tclsh" | "expect" => &['e', 'c'],
        _ => return false,
    };
    arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with(letters)
}

/// Programs that take a whole program as an operand or on their standard input.
pub fn interprets(name: &str) -> bool {
    matches!(
        family(name),
        "python" | "node" | "deno" | "bun" | "perl" | "ruby" | "php" | "lua" | "luajit" | "julia" | "elixir" | "rscript" | "psql" | "mysql"
            | "mariadb" | "sqlite" | "duckdb" | "pwsh" | "powershell" | "osascript" | "tclsh" | "expect" | "gdb" | "ed" | "ex" | "bc" | "irb"
            | "ipython" | "awk" | "sftp" | "ftp" | "lftp" | "gnuplot" | "groovy"
    )
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
    let o = option.to_lowercase();
    let has = |list: &[&str]| list.iter().any(|w| o.contains(w));
    match (program, o.as_str()) {
        ("curl" | "wget", _) if has(&["upload", "post-file", "body-file", "data", "form", "json"]) => return Use::Reads,
        ("docker" | "podman" | "nerdctl", "volume" | "mount" | "device") => return Use::Reads,
        ("grep" | "egrep" | "rg" | "ag" | "ack" | "ugrep", "include" | "glob" | "iglob") => return Use::Reads,
        ("kubectl" | "oc", "from-file" | "from-env-file") => return Use::Reads,
        ("tar" | "bsdtar" | "rsync" | "zip" | "cpio", "files-from" | "add-file") => return Use::Reads,
        ("jq" | "gojq" | "jaq", _) if has(&["rawfile", "slurpfile", "argfile"]) => return Use::Reads,
        _ => {}
    }
    let names = [
        "key", "cert", "cacert", "ca-", "cafile", "capath", "cabundle", "ssl", "tls", "pem", "identity", "kubeconfig", "env-file", "envfile", "env_file",
        "dotenv", "credential", "netrc", "config", "exclude", "ignore", "skip", "out", "dest", "target", "password-file", "passphrase", "passwd",
        "secret", "sign", "trust", "message", "title", "body", "subject", "comment", "description", "notes", "label", "name", "regexp", "grep",
        "pattern", "filter", "author", "query", "search", "format", "template", "rsh", "ssh", "log", "chdir", "reference", "env", "profile", "user",
    ];
    if o == "c" || o == "ca" || has(&names) {
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

/// Programs that go through directories: to give them one is to give them all that is below it.
pub fn goes_deep(name: &str) -> bool {
    matches!(
        name,
        "cp" | "gcp" | "mv" | "gmv" | "ln" | "gln" | "scp" | "rsync" | "rclone" | "gsutil" | "ditto" | "tar" | "bsdtar" | "gtar" | "zip" | "7z" | "7za" | "7zz"
            | "rar" | "cpio" | "restic" | "borg" | "duplicity" | "croc" | "wormhole" | "sshfs" | "serve" | "http-server" | "docker" | "podman"
            | "nerdctl" | "aws" | "mount" | "rdiff-backup" | "unison" | "magic-wormhole" | "live-server"
    )
}

/// Programs of which nothing but the directory's name makes them go deep.
pub fn searches(name: &str) -> bool {
    matches!(name, "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "ugrep")
}

/// Programs that read every operand, and whose options take no keys.
pub fn reads_plainly(name: &str) -> bool {
    matches!(
        name,
        "cat" | "tac" | "nl" | "head" | "tail" | "less" | "more" | "most" | "bat" | "batcat" | "rev" | "cut" | "sort" | "uniq" | "paste" | "join" | "comm" | "diff"
            | "sdiff" | "colordiff" | "delta" | "cmp" | "wc" | "od" | "xxd" | "hexdump" | "hd" | "strings" | "base64" | "base32" | "basenc" | "column" | "fold" | "fmt"
            | "pr" | "expand" | "unexpand" | "shuf" | "split" | "csplit" | "iconv" | "dos2unix" | "unix2dos" | "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "ugrep"
            | "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk" | "jq" | "gojq" | "jaq" | "gzip" | "bzip2" | "xz" | "zstd" | "lz4" | "vim" | "nvim" | "vi" | "view" | "nano" | "emacs"
            | "micro" | "hx" | "code" | "zcat" | "bzcat" | "xzcat" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum" | "shasum" | "cksum" | "b2sum" | "get-content" | "gc" | "type"
    )
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
