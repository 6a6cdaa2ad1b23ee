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
        "gzip" | "pigz" | "bzip2" | "pbzip2" | "lbzip2" | "xz" | "lzma" | "pixz" | "lzip" | "plzip" | "compress" | "zstd" | "lz4" | "brotli" | "lzop" => {
            let own = |letter, names: &[&str]| c.has_flag(letter, names);
            let reads = own('c', &["stdout", "to-stdout"]) || own('l', &["list"]) || own('t', &["test"]) || own('d', &["decompress", "uncompress"]);
            // Some keep the file, if they are not told to remove it.
            let removes = match c.name.as_str() {
                "zstd" | "lz4" => long(c, "rm"),
                "brotli" => own('j', &["rm"]),
                "lzop" => own('U', &["delete"]),
                _ => !own('k', &["keep"]),
            };
            if reads || !removes { Vec::new() } else { all(operands(c, "SbpTMF", &["suffix", "threads"]), "replace by a packed file", own('r', &["recursive"]), true) }
        }
        "rename" | "prename" | "file-rename" | "perl-rename" | "mmv" if !own_dry_run(c) => {
            let from = if c.name == "mmv" { 0 } else { 1 };
            let named = |w: &Word| Word { glob: w.glob || w.text.contains('*'), ..w.clone() };
            let words: Vec<Word> = operands(c, "e", &[]).into_iter().skip(from).map(named).collect();
            let last = if c.name == "mmv" { words.len().saturating_sub(1) } else { words.len() };
            all(words[..last].iter().collect(), "rename", false, true)
        }
        "hg" | "svn" | "bzr" | "brz" | "fossil" => working_copy(t, c),
        "augtool" => {
            let removes = c.args().iter().any(|w| w.text == "rm" || w.text.starts_with("rm "));
            let paths = c.args().iter().flat_map(|w| w.text.split_whitespace()).filter_map(|p| p.strip_prefix("/files")).filter(|_| removes);
            paths.flat_map(|p| named(p.trim_end_matches("/*").split('[').next().unwrap_or(p), "empty")).map(shallow).collect()
        }
        "systemd-tmpfiles" if long(c, "purge") && !long(c, "dry-run") && operands(c, "", &["root", "image", "prefix"]).is_empty() => {
            named("/home", "delete").into()
        }
        "puppet" if c.args().iter().any(|w| w.text == "ensure=absent") => all(operands(c, "", &[]).into_iter().filter(|w| w.text.starts_with('/')).collect(), "delete", true, false),
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
        "rar" if c.args().iter().any(|w| w.text == "m" || w.text == "-df") => {
            all(operands(c, "", &[]).into_iter().skip(2).collect(), "delete", true, false)
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
        "tee" | "gtee" | "sponge" if !c.has_flag('a', &["append"]) && reads_nothing(t, c) => all(operands(c, "", &[]), "empty", false, false),
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

/// Whether the input of a command is empty.
fn reads_nothing(t: &Text, c: &Command) -> bool {
    let outer = |c: &Command| c.parent.and_then(|p| t.shell.commands.get(p)).and_then(|p| p.stdin_from);
    let from = c.stdin_from.or_else(|| outer(c)).and_then(|i| t.shell.commands.get(i));
    c.redirects.iter().any(|r| r.op == "<" && r.target.text == "/dev/null") || from.map_or(false, is_silent)
}

/// Whether a program only says what it would do.
fn own_dry_run(c: &Command) -> bool {
    c.has_flag('n', &["dry-run", "no-act", "nono"])
}

/// What a manager of versions other than git removes of what it does not know, where a directory is named.
fn working_copy(t: &Text, c: &Command) -> Vec<Removal> {
    let has = |list: &[&str]| c.args().iter().any(|w| list.contains(&w.text.as_str()));
    let dirs: Vec<&str> = match c.name.as_str() {
        "hg" if has(&["purge", "clean"]) => values(c, &["-R", "--repository", "--cwd"]),
        "svn" if has(&["--remove-unversioned", "--remove-ignored"]) => operands(c, "", &[]).into_iter().skip(1).map(|w| w.text.as_str()).collect(),
        "bzr" | "brz" if has(&["clean-tree"]) => values(c, &["-d", "--directory"]),
        "fossil" if has(&["clean"]) => operands(c, "", &[]).into_iter().skip(1).map(|w| w.text.as_str()).collect(),
        _ => Vec::new(),
    };
    dirs.into_iter().map(|d| Removal { place: places::named(t, c, d), shown: d.into(), does: "delete what is below", deep: true, moves: true }).collect()
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

/// Whether a command prints nothing.
fn is_silent(c: &Command) -> bool {
    match c.name.as_str() {
        "" | ":" | "true" => true,
        "cat" => c.args().iter().any(|w| w.text == "/dev/null"),
        "printf" => c.args().iter().all(|w| w.text.is_empty()),
        "echo" => c.args().iter().all(|w| w.text.is_empty() || w.text == "-n"),
        _ => false,
    }
}

/// Files that a redirection empties: by a command that prints nothing.
fn emptied(t: &Text, c: &Command) -> Vec<Removal> {
    if !is_silent(c) || c.words.is_empty() && c.redirects.is_empty() {
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
