//! The places that several rules protect: system trees, the home directory, disks, and the files that decide who gets in.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::hook::analysis::{Command, Word};

/// A raw block device.
pub fn is_disk(path: &str) -> bool {
    let dev = match path.strip_prefix("/dev/") {
        Some(dev) => dev,
        None => return false,
    };
    ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper/", "md", "dm-"].iter().any(|p| dev.starts_with(p))
}

/// Files whose content decides who gets in.
pub fn is_protected_file(path: &str) -> bool {
    ["/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ld.so.preload"].contains(&path)
        || path.starts_with("/etc/sudoers.d/")
        || path.starts_with("/etc/pam.d/")
}

/// The files that a command writes over, of those that are told by its arguments.
pub fn overwritten(c: &Command) -> Box<dyn Iterator<Item = &str> + '_> {
    let args = || c.args().iter().map(|w| w.text.as_str()).filter(|t| !t.starts_with('-'));
    match c.name.as_str() {
        "dd" => Box::new(args().filter_map(|t| t.strip_prefix("of="))),
        "tee" | "sponge" | "truncate" | "shred" => Box::new(args()),
        "sed" if c.has_flag('i', &["in-place"]) => Box::new(args()),
        "cp" | "mv" | "ln" | "install" => Box::new(args().last().into_iter()),
        _ => Box::new(core::iter::empty()),
    }
}

/// The absolute path of a word, cleaned; `~` stays. The command's directory is put before a relative one if it is known.
pub fn clean(c: &Command, w: &Word) -> String {
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

pub const TREES: [&str; 24] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin",
    "/srv", "/sys", "/usr", "/var", "/var/lib", "/usr/lib", "/Users", "/System", "/Library", "/Applications",
];

/// A system tree, the home directory, the directory above this one, or all that is in one of them.
pub fn wide(c: &Command, w: &Word) -> bool {
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
pub fn everything(w: &Word) -> bool {
    w.glob && all(w.text.trim_start_matches("./"))
}

/// Something in /etc or /boot, recursive or not.
pub fn critical(w: &Word) -> bool {
    ["/etc/", "/boot/"].iter().any(|p| w.text.starts_with(p) && w.text.len() > p.len())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn word(text: &str) -> Word {
        Word { text: text.into(), known: true, glob: text.contains('*'), tilde: text.starts_with('~') }
    }

    pub fn command(line: &str) -> Command {
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
}
