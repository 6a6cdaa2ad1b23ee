//! Blocks commands that destroy what cannot be brought back: deleting system trees or the home directory, writing to
//! disks, running text from the network, and whatever the operator lists.
//!
//! It judges the commands that the host says would run, with resolved words, never the text: quotes, variables,
//! wrappers and substitutions do not hide anything, and a mention in a string is no command.

use belay_hook as hook;
use hook::analysis::{self, Command, Shell, Syntax, Word};
use hook::{config, input};

hook::export!(pre_tool => pre_tool);

fn pre_tool() -> hook::Result {
    let line = match analysis::input_command() {
        Some(line) => line,
        // A tool that runs commands, and none to be seen: not something to wave through.
        None if input::text("/tool").as_deref() == Some("exec") => {
            hook::block("the call runs a command, but not in a form that can be judged");
            return Ok(());
        }
        None => return Ok(()),
    };
    let shell = match analysis::shell_parse(&line) {
        Ok(shell) => shell,
        Err(hook::Errno::TooLarge) => {
            hook::block("the command is too long to be judged");
            return Ok(());
        }
        Err(e) => return Err(e.into()),
    };
    if !shell.ok || shell.truncated {
        hook::block("the command cannot be read to its end, so it cannot be judged");
        return Ok(());
    }
    let reason = shell.commands.iter().find_map(|c| judge(&shell, c));
    if let Some(reason) = reason {
        hook::block(&reason);
        return Ok(());
    }
    if let Some(reason) = listed(&line, &shell)? {
        hook::block(&reason);
        return Ok(());
    }
    match doubt(&shell) {
        None => {}
        Some(what) => match config::text("/unknown").as_deref() {
            Some("allow") => {}
            Some("block") => hook::block(&what),
            _ => hook::request_approval(&what, None),
        },
    }
    Ok(())
}

const FETCH: [&str; 6] = ["curl", "wget", "fetch", "aria2c", "http", "https"];
const RUN: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "python", "python3", "perl", "ruby", "node", "php", "lua", "deno",
    "source",
];
const STOP: [&str; 7] = ["shutdown", "reboot", "halt", "poweroff", "wipefs", "blkdiscard", "mkswap"];

fn judge(shell: &Shell, c: &Command) -> Option<String> {
    let name = c.name.as_str();
    if STOP.contains(&name) || name == "mkfs" || name.starts_with("mkfs.") {
        return Some(format!("{} is not for agents", name));
    }
    for r in &c.redirects {
        if r.op.contains('>') && is_disk(&r.target.text) {
            return Some(format!("{} would write to the disk {}", shown(name), r.target.text));
        }
        if r.op.contains('>') && is_protected_file(&r.target.text) {
            return Some(format!("{} would write {}", shown(name), r.target.text));
        }
    }
    if let Some(what) = disk_argument(c) {
        return Some(format!("{} would write to the disk {}", name, what));
    }
    if c.recursive && c.context.iter().any(|x| x == "background") {
        return Some("a function that starts itself in the background never ends".into());
    }
    if RUN.contains(&name) && from_network(shell, c) {
        return Some(format!("{} would run text from the network", name));
    }
    deletes(c)
}

fn shown(name: &str) -> &str {
    if name.is_empty() {
        "the command"
    } else {
        name
    }
}

/// Whether a command reads, directly or through filters, what another one fetches.
fn from_network(shell: &Shell, c: &Command) -> bool {
    let mut at = c.stdin_from;
    for _ in 0..shell.commands.len() {
        let from = match at.and_then(|i| shell.commands.get(i)) {
            Some(from) => from,
            None => return false,
        };
        if FETCH.contains(&from.name.as_str()) {
            return true;
        }
        at = from.stdin_from;
    }
    false
}

fn is_disk(path: &str) -> bool {
    let dev = match path.strip_prefix("/dev/") {
        Some(dev) => dev,
        None => return false,
    };
    ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper/", "md", "dm-"].iter().any(|p| dev.starts_with(p))
}

/// Files whose content decides who gets in.
fn is_protected_file(path: &str) -> bool {
    ["/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ld.so.preload"].contains(&path)
        || path.starts_with("/etc/sudoers.d/")
        || path.starts_with("/etc/pam.d/")
}

fn disk_argument(c: &Command) -> Option<&str> {
    match c.name.as_str() {
        "dd" => c.args().iter().filter_map(|w| w.text.strip_prefix("of=")).find(|p| is_disk(p)),
        "tee" | "shred" | "sgdisk" | "parted" | "sfdisk" => {
            let listing = c.has_flag('l', &["list", "dump", "print"]);
            c.args().iter().map(|w| w.text.as_str()).find(|p| is_disk(p) && !listing)
        }
        "cp" | "mv" => c.args().last().map(|w| w.text.as_str()).filter(|p| is_disk(p)),
        _ => None,
    }
}

fn deletes(c: &Command) -> Option<String> {
    let targets = || c.args().iter().filter(|w| !w.text.starts_with('-'));
    let says = |w: &Word, does: &str| format!("{} would {} {}", c.name, does, w.text);
    match c.name.as_str() {
        "rm" | "shred" | "srm" => {
            let deep = c.has_flag('r', &["recursive"]) || c.has_flag('R', &[]);
            targets().find(|w| (deep && wide(c, w)) || critical(w) || everything(w)).map(|w| says(w, "delete"))
        }
        "mv" => targets().take(targets().count().saturating_sub(1)).find(|w| wide(c, w)).map(|w| says(w, "move away")),
        "chmod" | "chown" | "chgrp" if c.has_flag('R', &["recursive"]) => {
            targets().skip(1).find(|w| wide(c, w)).map(|w| says(w, "change the rights of"))
        }
        "find" => {
            // Before the first expression stand the places where it starts; none means here.
            let acts = c.args().iter().any(|w| w.text == "-delete")
                || c.args().windows(2).any(|w| {
                    matches!(w[0].text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
                        && matches!(w[1].text.rsplit('/').next(), Some("rm" | "shred" | "unlink"))
                });
            let mut places = c.args().iter().take_while(|w| !w.text.starts_with(&['-', '(', '!'][..]));
            if acts {
                places.find(|w| wide(c, w)).map(|w| says(w, "delete below"))
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The absolute path of a word, cleaned; `~` stays. The command's directory is put before a relative one if it is known.
fn clean(c: &Command, w: &Word) -> String {
    let joined = match &c.cwd {
        Some(dir) if !w.text.starts_with('/') && !w.tilde => format!("{}/{}", dir.text, w.text),
        _ => w.text.clone(),
    };
    let absolute = joined.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for p in joined.split('/') {
        match p {
            "" | "." => {}
            ".." if absolute => drop(parts.pop()),
            ".." if matches!(parts.last(), Some(&l) if l != "..") => drop(parts.pop()),
            p => parts.push(p),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

const TREES: [&str; 24] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin",
    "/srv", "/sys", "/usr", "/var", "/var/lib", "/usr/lib", "/Users", "/System", "/Library", "/Applications",
];

/// A system tree, the home directory, or all that is in one of them or in the current directory's parents.
fn wide(c: &Command, w: &Word) -> bool {
    let path = clean(c, w);
    let dir = match path.rsplit_once('/') {
        Some(("", last)) if w.glob && all(last) => "/",
        Some((dir, last)) if w.glob && all(last) => dir,
        _ => path.as_str(),
    };
    TREES.contains(&dir)
        || (w.tilde && !dir.contains('/'))
        || dir.trim_start_matches("../").trim_start_matches("..").is_empty() && !w.text.is_empty()
        || dir.strip_prefix("/home/").or_else(|| dir.strip_prefix("/Users/")).map_or(false, |user| !user.contains('/'))
}

fn all(pattern: &str) -> bool {
    matches!(pattern, "*" | "**" | ".*" | "{*,.*}" | "?*")
}

/// A bare pattern for all that is in the current directory.
fn everything(w: &Word) -> bool {
    w.glob && all(w.text.trim_start_matches("./"))
}

/// Something in /etc or /boot, recursive or not.
fn critical(w: &Word) -> bool {
    ["/etc/", "/boot/"].iter().any(|p| w.text.starts_with(p) && w.text.len() > p.len())
}

/// What the operator forbids by name or pattern.
fn listed(line: &str, shell: &Shell) -> Result<Option<String>, hook::Fail> {
    let texts = |path: &str| -> Vec<String> {
        let list = config::value(path);
        list.iter().flat_map(|v| v.items()).filter_map(|v| v.as_text()).map(String::from).collect()
    };
    let names = texts("/commands");
    if let Some(c) = shell.commands.iter().find(|c| names.contains(&c.name)) {
        return Ok(Some(format!("{} is not allowed here", c.name)));
    }
    let patterns = texts("/patterns");
    if patterns.is_empty() {
        return Ok(None);
    }
    // The line as written, and each command as it would run. At most 64 texts in one call.
    let mut lines: Vec<String> = vec![line.to_string()];
    lines.extend(shell.commands.iter().map(Command::line));
    for some in lines.chunks(64) {
        if let Some(m) = analysis::pattern_match(Syntax::Re2, &patterns, some)?.first() {
            return Ok(Some(format!("the command matches the forbidden pattern {}", patterns[m.pattern])));
        }
    }
    Ok(None)
}

/// What cannot be told before the command runs.
fn doubt(shell: &Shell) -> Option<String> {
    if let Some(u) = shell.unknown.first() {
        return Some(format!("what this would run cannot be told beforehand: {}", u.raw));
    }
    shell.commands.iter().find_map(|c| {
        let deep = c.name == "rm" && (c.has_flag('r', &["recursive"]) || c.has_flag('R', &[]));
        if c.name.is_empty() {
            Some(format!("which program this runs cannot be told beforehand: {}", c.raw))
        } else if deep && (c.args_open || c.args().iter().any(|w| !w.known)) {
            Some(format!("what this would delete cannot be told beforehand: {}", c.raw))
        } else {
            None
        }
    })
}
