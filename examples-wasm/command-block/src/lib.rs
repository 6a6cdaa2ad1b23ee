//! Blocks commands that destroy what cannot be brought back: deleting system trees or the home directory, writing to
//! disks, running text from the network, and whatever the operator lists.
//!
//! It judges the commands that the host says would run, with resolved words, never the text: quotes, variables,
//! wrappers and substitutions do not hide anything, and a mention in a string is no command.

extern crate alloc;

mod code;

use belay_hook as hook;
use hook::analysis::{self, Command, Line, Shell, Syntax, Word};
use hook::{config, input};

hook::export!(pre_tool => pre_tool);

fn pre_tool() -> hook::Result {
    let found = match analysis::input_lines() {
        Some(found) => found,
        // A tool that runs commands, and none to be seen: not something to wave through.
        None if input::text("/tool").as_deref() == Some("exec") => {
            hook::block("the call runs a command, but not in a form that can be judged");
            return Ok(());
        }
        None => return Ok(()),
    };
    if found.more {
        hook::block("the call runs more than can be judged");
        return Ok(());
    }
    let mut doubts = None;
    for line in &found.lines {
        match judge_line(line)? {
            Judgement::Fine => {}
            Judgement::Doubt(what) => drop(doubts.get_or_insert(what)),
            Judgement::Block(reason) => {
                hook::block(&reason);
                return Ok(());
            }
        }
    }
    if found.foreign {
        doubts.get_or_insert_with(|| "the tool runs code of another language, and what that does cannot be told beforehand".into());
    }
    match doubts {
        None => {}
        Some(what) => match config::text("/unknown").as_deref() {
            Some("allow") => {}
            Some("block") => hook::block(&what),
            _ => hook::request_approval(&what, None),
        },
    }
    Ok(())
}

enum Judgement {
    Fine,
    Doubt(String),
    Block(String),
}

fn judge_line(line: &Line) -> Result<Judgement, hook::Fail> {
    let shell = match analysis::shell_parse(&line.text) {
        Ok(shell) => shell,
        Err(hook::Errno::TooLarge) => return Ok(Judgement::Block("the command is too long to be judged".into())),
        Err(e) => return Err(e.into()),
    };
    let complete = shell.ok && !shell.truncated;
    if !complete && !line.code {
        return Ok(Judgement::Block("the command cannot be read to its end, so it cannot be judged".into()));
    }
    if let Some(reason) = shell.commands.iter().find_map(|c| judge(&shell, c)) {
        return Ok(Judgement::Block(reason));
    }
    if !complete {
        let what = "the call carries code that is no command of a shell, and what it does cannot be told beforehand";
        return Ok(Judgement::Doubt(what.into()));
    }
    if let Some(reason) = listed(&line.text, &shell)? {
        return Ok(Judgement::Block(reason));
    }
    match handed_on(&shell)? {
        Judgement::Fine => {}
        other => return Ok(other),
    }
    Ok(doubt(&shell).map_or(Judgement::Fine, Judgement::Doubt))
}

/// The most commands of one line whose code, or the lines in whose arguments, are judged.
const HANDED_ON: usize = 32;

/// What the commands have other programs run: lines in their arguments, and code.
fn handed_on(shell: &Shell) -> Result<Judgement, hook::Fail> {
    let mut doubts = None;
    let mut judged = 0;
    for c in &shell.commands {
        let mut lines = code::carried(c);
        match code::given(shell, c)? {
            Some(code::Found::Starts(texts)) => {
                lines.extend(texts);
                doubts.get_or_insert_with(|| format!("what the code given to {} would start cannot be told beforehand", c.name));
            }
            Some(code::Found::Deletes) => {
                doubts.get_or_insert_with(|| format!("what the code given to {} would delete cannot be told beforehand", c.name));
            }
            Some(code::Found::Nothing) | None => {}
        }
        for line in &lines {
            judged += 1;
            if judged > HANDED_ON {
                return Ok(Judgement::Doubt("the command hands on more than can be judged".into()));
            }
            // A text that is no command line is judged as far as it was read.
            let inner = match analysis::shell_parse(line) {
                Ok(inner) => inner,
                Err(hook::Errno::TooLarge) => return Ok(Judgement::Block("the command is too long to be judged".into())),
                Err(e) => return Err(e.into()),
            };
            if let Some(reason) = inner.commands.iter().find_map(|c| judge(&inner, c)) {
                return Ok(Judgement::Block(reason));
            }
        }
    }
    Ok(doubts.map_or(Judgement::Fine, Judgement::Doubt))
}

const FETCH: [&str; 6] = ["curl", "wget", "fetch", "aria2c", "http", "https"];
const RUN: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "python", "python3", "perl", "ruby", "node", "php", "lua", "deno",
    "source",
];
const STOP: [&str; 4] = ["shutdown", "reboot", "halt", "poweroff"];

fn judge(shell: &Shell, c: &Command) -> Option<String> {
    let name = c.name.as_str();
    if STOP.contains(&name) {
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
    if let Some(what) = overwritten(c).find(|p| is_protected_file(p)) {
        return Some(format!("{} would write {}", name, what));
    }
    if c.recursive && c.context.iter().any(|x| x == "background") {
        return Some("a function that starts itself in the background never ends".into());
    }
    if RUN.contains(&name) && from_network(shell, c) {
        return Some(format!("{} would run text from the network", name));
    }
    if FETCH.contains(&name) && runs_substituted(shell, c) {
        return Some(format!("what {} fetches would be run", name));
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

/// Whether what a command prints becomes part of a text that is run: eval "$(...)", bash <(...).
fn runs_substituted(shell: &Shell, c: &Command) -> bool {
    let inside = |what: &str| c.context.iter().any(|x| x == what);
    if inside("process_substitution") {
        return shell.commands.iter().any(|r| (RUN.contains(&r.name.as_str()) || r.name == ".") && r.args().iter().any(|w| !w.known));
    }
    inside("substitution") && shell.unknown.iter().any(|u| u.what == "code" || u.what == "name")
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

/// The files that a command writes over, of those that are told by its arguments.
fn overwritten(c: &Command) -> Box<dyn Iterator<Item = &str> + '_> {
    let args = || c.args().iter().map(|w| w.text.as_str()).filter(|t| !t.starts_with('-'));
    match c.name.as_str() {
        "dd" => Box::new(args().filter_map(|t| t.strip_prefix("of="))),
        "tee" | "sponge" | "truncate" | "shred" => Box::new(args()),
        "sed" if c.has_flag('i', &["in-place"]) => Box::new(args()),
        "cp" | "mv" | "ln" | "install" => Box::new(args().last().into_iter()),
        _ => Box::new(core::iter::empty()),
    }
}

/// Programs that change a disk whose name is among their arguments.
fn disk_argument(c: &Command) -> Option<&str> {
    let all = || c.args().iter().map(|w| w.text.as_str());
    let name = c.name.as_str();
    let formats = name == "mkfs" || name.starts_with("mkfs.") || name.starts_with("newfs") || name.starts_with("mke2fs");
    if formats || ["mkswap", "wipefs", "blkdiscard"].contains(&name) {
        return all().find(|p| is_disk(p));
    }
    if ["fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted"].contains(&name) {
        let looks = c.has_flag('l', &["list"]) || c.has_flag('d', &["dump"]) || c.has_flag('p', &["print"]) || all().any(|w| w == "print");
        return all().find(|p| is_disk(p) && !looks);
    }
    overwritten(c).find(|p| is_disk(p))
}

fn deletes(c: &Command) -> Option<String> {
    let targets = || c.args().iter().filter(|w| !w.text.starts_with('-'));
    let says = |w: &Word, does: &str| format!("{} would {} {}", c.name, does, w.text);
    match c.name.as_str() {
        "rm" | "shred" | "srm" => {
            let deep = c.has_flag('r', &["recursive"]) || c.has_flag('R', &[]);
            targets().find(|w| ((deep || w.glob) && wide(c, w)) || critical(w) || everything(w)).map(|w| says(w, "delete"))
        }
        "unlink" | "rimraf" | "del" | "del-cli" | "trash" | "trash-put" => {
            targets().find(|w| wide(c, w) || critical(w)).map(|w| says(w, "delete"))
        }
        // Their last place is made like the first, or emptied.
        "rsync" if c.args().iter().any(|w| w.text.starts_with("--del") || w.text == "--remove-source-files") => {
            targets().find(|w| wide(c, w)).map(|w| says(w, "delete what is below"))
        }
        "tar" if c.has_flag('\0', &["remove-files"]) => targets().find(|w| wide(c, w)).map(|w| says(w, "delete")),
        "mv" => targets().take(targets().count().saturating_sub(1)).find(|w| wide(c, w)).map(|w| says(w, "move away")),
        "chmod" | "chown" | "chgrp" if c.has_flag('R', &["recursive"]) => {
            targets().skip(1).find(|w| wide(c, w)).map(|w| says(w, "change the rights of"))
        }
        "find" => {
            // Before the first expression stand the places where it starts; none means here.
            let acts = c.args().iter().any(|w| w.text == "-delete")
                || c.args().windows(2).any(|w| {
                    matches!(w[0].text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
                        && matches!(w[1].text.rsplit('/').next(), Some("rm" | "shred" | "unlink" | "chmod" | "chown"))
                });
            let mut places = c.args().iter().take_while(|w| !w.text.starts_with(&['-', '(', '!'][..]));
            if acts {
                let here = Word { text: ".".into(), known: true, ..Word::default() };
                if places.clone().next().is_none() && c.cwd.is_some() && wide(c, &here) {
                    return Some("find would change all that is there".into());
                }
                places.find(|w| !clean(c, w).is_empty() && wide(c, w)).map(|w| says(w, "change what is below"))
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

/// A system tree, the home directory, the directory above this one, or all that is in one of them.
fn wide(c: &Command, w: &Word) -> bool {
    let path = clean(c, w);
    // A pattern for everything stands for the directory that it is in.
    let mut dir = path.as_str();
    if w.glob {
        if let Some(at) = path.split('/').position(all) {
            let end = path.split('/').take(at).map(|p| p.len() + 1).sum::<usize>();
            dir = if end == 1 { "/" } else { &path[..end.saturating_sub(1)] };
            if end == 0 {
                return false; // in the current directory: see everything()
            }
        }
    }
    let home = w.tilde || c.cwd.as_ref().map_or(false, |d| d.tilde && !w.text.starts_with('/'));
    TREES.contains(&dir)
        || (home && dir == "~")
        || (!dir.is_empty() && dir.split('/').all(|p| p == ".."))
        || (dir.is_empty() && w.text.starts_with('.'))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Word {
        Word { text: text.into(), known: true, glob: text.contains('*'), tilde: text.starts_with('~') }
    }

    fn command(line: &str) -> Command {
        let words: Vec<Word> = line.split(' ').map(word).collect();
        Command { name: words[0].text.clone(), words, ..Command::default() }
    }

    #[test]
    fn wide_places() {
        for (path, cwd, want) in [
            ("/", None, true),
            ("//usr/./", None, true),
            ("/usr/**/*", None, true),
            ("/usr/local/../../etc", None, true),
            ("/home/dev", None, true),
            ("/home/*/cache", None, true),
            ("~", None, true),
            ("~/", None, true),
            ("~/*", None, true),
            ("..", None, true),
            ("../../*", None, true),
            ("*", Some("/usr"), true),
            (".", Some("~"), true),
            ("etc", Some("/"), true),
            ("~/project/build", None, false),
            ("/tmp/*", None, false),
            ("/var/log/app/*.log", None, false),
            ("build", None, false),
            ("../build", None, false),
            ("*", None, false),
            ("/home/dev/project", None, false),
        ] {
            let mut c = command("rm x");
            c.cwd = cwd.map(word);
            assert_eq!(wide(&c, &word(path)), want, "{path} in {cwd:?}");
        }
    }

    #[test]
    fn disks_and_files() {
        for (line, want) in [
            ("mkfs.ext4 -F /dev/sdb1", true),
            ("mkfs.vfat -C boot.img 65536", false),
            ("fdisk -l /dev/sda", false),
            ("fdisk /dev/vdb", true),
            ("sponge /dev/mmcblk1", true),
            ("cp -f new /etc/shadow", true),
            ("cp /etc/passwd copy", false),
            ("tee -a /etc/sudoers.d/x", true),
            ("dd if=/dev/sda of=disk.img", false),
            ("find . / -delete", true),
            ("find ./ -name x -delete", false),
            ("find . -delete", false),
            ("rm -rf .", true),
        ] {
            assert_eq!(judge(&Shell::default(), &command(line)).is_some(), want, "{line}");
        }
    }
}
