//! What a command deletes, empties or moves away, by the manuals of the programs that do.

use alloc::string::String;
use alloc::vec::Vec;

use crate::args::{flag, long, operands, values};
use crate::hook::analysis::{Command, Word};
use crate::places::{self, Place};
use crate::text::Text;
use protected_files::search::Case;

/// One place that loses what is there.
pub struct Removal {
    pub place: Place,
    /// The place as the command names it.
    pub shown: String,
    /// What happens to it, such as "delete".
    pub does: &'static str,
    /// Directories go with all that is in them.
    pub deep: bool,
    /// It goes elsewhere, and can be brought back.
    pub moves: bool,
}

/// What a command removes by itself.
pub fn of(t: &Text, c: &Command) -> Vec<Removal> {
    let all = |words: Vec<&Word>, does: &'static str, deep: bool, moves: bool| -> Vec<Removal> {
        words.into_iter().map(|w| Removal { place: places::of(t, c, w), shown: w.text.clone(), does, deep, moves }).collect()
    };
    let named = |text: &str, does: &'static str| -> Vec<Removal> {
        [Removal { place: places::named(t, c, text), shown: text.into(), does, deep: true, moves: false }].into()
    };
    let program;
    let c = if matches!(c.name.as_str(), "coreutils" | "uutils" | "gcoreutils") {
        program = applet(c);
        &program
    } else {
        c
    };
    match c.name.as_str() {
        "rm" | "grm" | "srm" | "unlink" | "gunlink" | "rmdir" | "wipe" | "scrub" | "erase" => {
            all(operands(c, "", &[]), "delete", is_deep(c), false)
        }
        "shred" | "gshred" => all(operands(c, "ns", &["iterations", "size", "random-source"]), "destroy", false, false),
        // They expand patterns themselves.
        "rimraf" | "del-cli" | "trash" | "trash-put" | "trash-cli" | "gomi" | "rip" | "premove" | "rmtrash" | "shx" => {
            let words: Vec<Word> = operands(c, "", &[])
                .into_iter()
                .map(|w| Word { glob: w.glob || w.text.contains('*'), ..w.clone() })
                .collect();
            all(words.iter().collect(), "delete", true, false)
        }
        "sed" | "gsed" if c.args().iter().any(|w| w.text.starts_with("-i") || w.text.starts_with("--in-place"))
            && c.args().iter().any(|w| matches!(w.text.as_str(), "d" | "1,$d")) =>
        {
            all(operands(c, "ef", &[]).into_iter().skip(1).collect(), "empty", false, false)
        }
        "salt" | "salt-call" | "salt-ssh" => {
            let words = c.args();
            match words.iter().position(|w| w.text == "file.remove") {
                Some(i) => all(words[i + 1..].iter().take(1).collect(), "delete", true, false),
                None => Vec::new(),
            }
        }
        "bleachbit" if c.has_flag('s', &["shred"]) => all(operands(c, "", &[]), "destroy", true, false),
        "ansible" => match crate::ansible::file(c) {
            Some(f) if f.absent => named(&f.path, "delete"),
            _ => Vec::new(),
        },
        "gio" | "gvfs-trash" | "kioclient" | "kioclient5" => {
            let words = operands(c, "", &[]);
            match words.first().map(|w| w.text.as_str()) {
                Some("trash" | "remove" | "move") => all(words[1..].to_vec(), "delete", true, false),
                _ if c.name == "gvfs-trash" => all(words, "delete", true, false),
                _ => Vec::new(),
            }
        }
        "mv" | "gmv" => {
            let words = operands(c, "tS", &["target-directory", "suffix"]);
            let to = !values(c, &["-t", "--target-directory"]).is_empty();
            let last = if to { words.len() } else { words.len().saturating_sub(1) };
            all(words[..last].to_vec(), "move away", true, true)
        }
        "rsync" => rsync(t, c),
        "robocopy" | "Robocopy" | "robocopy.exe" => {
            let mirrors = c.args().iter().any(|w| matches!(w.text.lowered().as_str(), "/mir" | "/purge"));
            let words: Vec<&Word> = c.args().iter().filter(|w| !w.text.starts_with('/')).skip(1).take(1).collect();
            if mirrors { all(words, "delete what is below", true, false) } else { Vec::new() }
        }
        "rclone" => {
            let words = operands(c, "", &["config", "filter", "exclude", "include", "transfers", "checkers"]);
            match words.first().map(|w| w.text.as_str()) {
                Some("purge" | "delete" | "rmdirs" | "deletefile") => all(words[1..].to_vec(), "delete", true, false),
                Some("move" | "moveto") => all(words[1..].iter().take(1).copied().collect(), "move away", true, true),
                Some("sync") => all(words[1..].iter().skip(1).copied().collect(), "delete what is below", true, false),
                _ => Vec::new(),
            }
        }
        "tar" | "gtar" | "bsdtar" if long(c, "remove-files") => tar(t, c),
        "zip" if c.has_flag('m', &["move"]) => all(operands(c, "xi", &[]).into_iter().skip(1).collect(), "delete", true, false),
        "7z" | "7za" | "7zz" if c.args().iter().any(|w| w.text == "-sdel") => {
            all(operands(c, "", &[]).into_iter().skip(2).collect(), "delete", true, false)
        }
        "find" | "gfind" | "bfs" => match crate::find::search(t, c) {
            Some(s) if s.deletes => s.places.into_iter().map(|place| below(place, s.chooses)).collect(),
            _ => Vec::new(),
        },
        "git" => git(t, c),
        "truncate" | "gtruncate" => all(operands(c, "sr", &["size", "reference"]), "empty", false, false),
        "dd" if values(c, &["if="]).iter().any(|v| empty_source(v)) => {
            values(c, &["of="]).iter().flat_map(|v| named(v, "empty")).map(shallow).collect()
        }
        "ln" | "gln" if c.has_flag('f', &["force"]) => {
            match operands(c, "tS", &["target-directory", "suffix"])[..] {
                [from, to] if empty_source(&from.text) => named(&to.text, "empty").into_iter().map(shallow).collect(),
                _ => Vec::new(),
            }
        }
        "cp" | "install" => {
            let words = operands(c, "tSmgo", &["target-directory", "suffix", "mode", "owner", "group"]);
            match words[..] {
                [from, to] if empty_source(&from.text) => named(&to.text, "empty").into_iter().map(shallow).collect(),
                _ => Vec::new(),
            }
        }
        "cat" | ":" | "true" | "printf" | "echo" | "" => emptied(t, c),
        "del" | "erase.exe" | "rd" | "ri" | "Remove-Item" | "remove-item" | "deltree" | "Clear-Content" | "rni" | "Move-Item" => windows(t, c),
        "hdfs" | "hadoop" => match c.args() {
            [fs, rm, rest @ ..] if matches!(fs.text.as_str(), "dfs" | "fs") && rm.text.starts_with("-rm") => {
                all(rest.iter().filter(|w| !w.text.starts_with('-')).collect(), "delete", true, false)
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn shallow(r: Removal) -> Removal {
    Removal { deep: false, ..r }
}

/// The removal of what is found below a place.
fn below(place: Place, chooses: bool) -> Removal {
    let shown = place.path.clone();
    let does = if chooses { "delete what it finds below" } else { "delete what is below" };
    Removal { place, shown, does, deep: true, moves: chooses }
}

/// The command of the program that a binary of many programs is told to be.
fn applet(c: &Command) -> Command {
    let mut words = c.args().to_vec();
    if let Some(name) = words.first_mut() {
        if let Some(program) = name.text.strip_prefix("--coreutils-prog=") {
            name.text = program.into();
        }
    }
    let name = words.first().map_or(String::new(), |w| w.text.clone());
    Command { name, words, ..c.clone() }
}

/// The last place is made like the first: what is not there goes. With another option the first ones go.
fn rsync(t: &Text, c: &Command) -> Vec<Removal> {
    let words = operands(c, "efBTM", &["rsh", "exclude", "include", "filter", "files-from", "exclude-from", "include-from",
        "backup-dir", "suffix", "partial-dir", "bwlimit", "log-file", "compare-dest", "link-dest", "chmod", "chown", "rsync-path",
        "max-delete", "max-size", "min-size", "timeout", "port", "info", "out-format", "temp-dir"]);
    let option = |start: &str| c.args().iter().any(|w| w.text.starts_with(start));
    if c.has_flag('n', &[]) || long(c, "dry-run") {
        return Vec::new();
    }
    let local = |w: &Word, does: &'static str, moves: bool| -> Removal {
        // host:path and rsync://host/path.
        let path = w.text.split_once(':').filter(|(host, _)| !host.contains('/')).map_or(w.text.as_str(), |(_, path)| path);
        let place = if path == w.text { places::of(t, c, w) } else { places::named(t, c, path) };
        Removal { place, shown: w.text.clone(), does, deep: true, moves }
    };
    let mut out = Vec::new();
    if option("--del") {
        out.extend(words.last().filter(|_| words.len() > 1).map(|w| local(w, "delete what is below", false)));
    }
    if long(c, "remove-source-files") || long(c, "remove-sent-files") {
        out.extend(words.iter().take(words.len().saturating_sub(1)).map(|w| local(w, "move away", true)));
    }
    out
}

fn tar(t: &Text, c: &Command) -> Vec<Removal> {
    let dir = values(c, &["-C", "--directory"]).last().copied().unwrap_or("");
    let mut words = operands(c, "CfbgIKLNTVXF", &["directory", "file", "exclude", "exclude-from", "files-from", "use-compress-program"]);
    if c.args().first().map_or(false, |w| !w.text.starts_with('-')) && !words.is_empty() {
        words.remove(0); // the old style: letters without a dash, and the archive
        if c.args()[0].text.contains('f') && !words.is_empty() {
            words.remove(0);
        }
    }
    words
        .into_iter()
        .map(|w| {
            let place = if dir.is_empty() || w.text.starts_with('/') {
                places::of(t, c, w)
            } else {
                places::named(t, c, &alloc::format!("{}/{}", dir, w.text))
            };
            Removal { place, shown: w.text.clone(), does: "delete", deep: true, moves: false }
        })
        .collect()
}

/// `git clean` removes what is not tracked, where the repository is.
fn git(t: &Text, c: &Command) -> Vec<Removal> {
    let mut dir = String::new();
    let mut args = c.args().iter();
    while let Some(w) = args.next() {
        match w.text.as_str() {
            "-C" | "--work-tree" => dir = args.next().map_or(dir, |w| w.text.clone()),
            "-c" | "--git-dir" | "--namespace" => drop(args.next()),
            text if text.starts_with("--work-tree=") => dir = text[12..].into(),
            text if text.starts_with('-') => {}
            "clean" => {
                let rest: Vec<&Word> = args.clone().collect();
                let forced = rest.iter().any(|w| w.text == "--force" || w.text.starts_with('-') && !w.text.starts_with("--") && w.text.contains('f'));
                let dry = rest.iter().any(|w| w.text == "--dry-run" || w.text.starts_with('-') && !w.text.starts_with("--") && w.text.contains('n'));
                let text = if dir.is_empty() { "." } else { dir.as_str() };
                let place = places::named(t, c, text);
                // In a project it removes what can be built again.
                if forced && !dry && place.is_wide() {
                    return [Removal { place, shown: text.into(), does: "delete what is not tracked in", deep: true, moves: false }].into();
                }
                return Vec::new();
            }
            "rm" => {
                let rest: Vec<&Word> = args.clone().collect();
                let kept = rest.iter().any(|w| matches!(w.text.as_str(), "--cached" | "-n" | "--dry-run"));
                let removed = rest.iter().filter(|w| !kept && !w.text.starts_with('-')).map(|w| {
                    let joined = alloc::format!("{}/{}", dir, w.text);
                    let text = if dir.is_empty() || w.text.starts_with(&['/', '~'][..]) { w.text.as_str() } else { joined.as_str() };
                    Removal { place: places::named(t, c, text), shown: w.text.clone(), does: "delete", deep: true, moves: false }
                });
                // In a project its history has what goes.
                return removed.filter(|r| r.place.is_wide()).collect();
            }
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

fn empty_source(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/zero" | "/dev/random" | "/dev/urandom")
}

/// Files that a redirection empties: by a command that prints nothing.
fn emptied(t: &Text, c: &Command) -> Vec<Removal> {
    let silent = match c.name.as_str() {
        "" | ":" | "true" => true,
        "cat" => c.args().iter().any(|w| w.text == "/dev/null"),
        "printf" => c.args().iter().all(|w| w.text.is_empty()),
        "echo" => c.args().iter().all(|w| w.text.is_empty() || w.text == "-n"),
        _ => false,
    };
    if !silent || c.words.is_empty() && c.redirects.is_empty() {
        return Vec::new();
    }
    c.redirects
        .iter()
        .filter(|r| matches!(r.op.as_str(), ">" | ">|" | "&>"))
        .map(|r| Removal { place: places::of(t, c, &r.target), shown: r.target.text.clone(), does: "empty", deep: false, moves: false })
        .collect()
}

fn windows(t: &Text, c: &Command) -> Vec<Removal> {
    c.args()
        .iter()
        .filter(|w| !w.text.starts_with('-') && !(w.text.starts_with('/') && w.text.len() <= 2))
        .map(|w| Removal { place: places::of(t, c, w), shown: w.text.clone(), does: "delete", deep: true, moves: false })
        .collect()
}

/// Whether rm takes directories with all that is in them.
pub fn is_deep(c: &Command) -> bool {
    c.has_flag('r', &[]) || c.has_flag('R', &[]) || long(c, "recursive")
}

/// Whether a command deletes what it is given, apart from where it is.
pub fn deletes_operands(c: &Command) -> bool {
    matches!(
        c.name.as_str(),
        "rm" | "grm" | "srm" | "unlink" | "shred" | "rmdir" | "wipe" | "rimraf" | "trash" | "trash-put" | "mv" | "truncate" | "gmv"
    ) || flag(c, '\0', "remove-files") && c.name.ends_with("tar")
}
