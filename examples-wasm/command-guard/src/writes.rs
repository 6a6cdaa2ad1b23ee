//! The files that a command writes, by redirections and by the manuals of the programs that write.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::args::{operands, values};
use crate::hook::analysis::{Command, Word};
use crate::places::{self, Place};
use crate::text::Text;

/// A file that is written.
pub struct Written {
    pub place: Place,
    /// The file as the command names it.
    pub shown: String,
}

/// The files that a command writes, replaces or links over.
pub fn of(t: &Text, c: &Command) -> Vec<Written> {
    let mut out: Vec<Written> = Vec::new();
    for r in c.redirects.iter().filter(|r| r.op.contains('>')) {
        out.push(Written { place: places::of(t, c, &r.target), shown: r.target.text.clone() });
    }
    let mut word = |w: &Word| out.push(Written { place: places::of(t, c, w), shown: w.text.clone() });
    match c.name.as_str() {
        "truncate" | "gtruncate" | "shred" | "gshred" => {
            operands(c, "nsr", &["size", "iterations", "reference"]).into_iter().for_each(word)
        }
        "tee" | "gtee" | "sponge" | "ed" | "sudoedit" | "rvim" | "nano" | "pico" | "vi" | "vim" | "nvim" | "emacs" | "micro" | "joe" | "mcedit" => {
            operands(c, "cp", &["cmd", "prompt"]).into_iter().for_each(word)
        }
        "sed" | "gsed" if in_place(c, 'i', "--in-place") => operands(c, "ef", &["expression", "file"]).into_iter().for_each(word),
        "perl" | "ruby" if in_place(c, 'i', "-i") => operands(c, "e", &[]).into_iter().for_each(word),
        "awk" | "gawk" if values(c, &["-i"]).contains(&"inplace") => operands(c, "ifvF", &[]).into_iter().for_each(word),
        "sd" | "patch" => operands(c, "pdDi", &["input", "strip"]).into_iter().for_each(word),
        "cp" | "gcp" | "mv" | "gmv" | "ln" | "gln" | "install" | "ginstall" | "rsync" | "scp" | "ditto" | "link" => {
            return with_copies(t, c, out);
        }
        "tar" | "gtar" | "bsdtar" | "unzip" | "bsdcpio" => unpacked(c).iter().for_each(|text| word(&known(text))),
        "ansible" => crate::ansible::file(c).iter().filter(|f| !f.absent).for_each(|f| word(&known(&f.path))),
        _ => {}
    }
    for v in outputs(c) {
        // What stands behind the option comes from where the word comes from.
        let of = c.args().iter().find(|w| w.text.ends_with(v)).filter(|w| !w.known);
        let place = of.map_or_else(|| places::named(t, c, v), |w| places::of(t, c, &Word { text: v.into(), ..w.clone() }));
        out.push(Written { place, shown: v.to_string() });
    }
    out.extend(saved(c).into_iter().map(|file| Written { place: places::named(t, c, &file), shown: file }));
    out
}

/// The files that a program saves what it fetches in. Of some it is only known that they are among their words.
fn saved(c: &Command) -> Vec<String> {
    match c.name.as_str() {
        "scp" | "rsync" | "rcp" | "sftp" | "lftp" | "ftp" | "tftp" | "ncftpget" | "smbclient" | "git" | "gh" | "glab" => Vec::new(),
        "chezmoi" => match values(c, &["-D", "--destination"]).last() {
            Some(dir) if c.args().iter().any(|w| matches!(w.text.as_str(), "apply" | "update" | "init")) => [[dir.trim_end_matches('/'), "/*"].concat()].into(),
            _ => Vec::new(),
        },
        _ => crate::fetch::fetched(c).map_or(Vec::new(), |f| f.files).into_iter().filter(|f| f != "*").collect(),
    }
}

fn known(text: &str) -> Word {
    Word { text: text.into(), known: true, ..Word::default() }
}

/// The files that are named to come out of an archive, in the directory where they go.
fn unpacked(c: &Command) -> Vec<String> {
    let first = c.args().first().map_or("", |w| w.text.as_str());
    let extracts = c.name == "unzip" || c.has_flag('x', &["extract", "get"]) || !first.starts_with('-') && first.contains('x');
    let dir = values(c, if c.name == "unzip" { &["-d"] } else { &["-C", "--directory"] });
    match dir.last() {
        Some(dir) if extracts => operands(c, "CfbgIKLNTVXFd", &["directory", "file", "exclude", "files-from"])
            .iter()
            .map(|w| alloc::format!("{}/{}", dir, w.text))
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether a short option is given, with or without a suffix, or a long one.
fn in_place(c: &Command, letter: char, long: &str) -> bool {
    c.args().iter().map(|w| w.text.as_str()).take_while(|t| *t != "--").any(|t| {
        t.starts_with(long) || t.len() > 1 && t.starts_with('-') && !t.starts_with("--") && t[1..].split(&['e', 'f'][..]).next().map_or(false, |b| b.contains(letter))
    })
}

/// The last operand, or what is named in the directory that it is.
fn with_copies(t: &Text, c: &Command, mut out: Vec<Written>) -> Vec<Written> {
    let words = operands(c, "tSmgoeP", &["target-directory", "suffix", "mode", "owner", "group", "rsh", "exclude"]);
    let dirs = values(c, &["-t", "--target-directory"]);
    let (sources, to): (&[&Word], String) = match (dirs.last(), words.split_last()) {
        (Some(dir), _) => (&words, dir.to_string()),
        (None, Some((last, rest))) if !rest.is_empty() => (rest, last.text.clone()),
        _ => return out,
    };
    // host:path is a file there.
    let to = to.split_once(':').filter(|(host, _)| !host.contains('/') && !host.is_empty()).map_or(to.as_str(), |(_, path)| path);
    let named = |text: &str| Written { place: places::named(t, c, text), shown: text.to_string() };
    // The whole word is the place, where it names no host.
    let whole = words.last().filter(|w| dirs.is_empty() && w.text == to);
    let place = whole.map_or_else(|| named(to), |w| Written { place: places::of(t, c, w), shown: to.to_string() });
    let is_dir = to.ends_with('/') || !dirs.is_empty() || sources.len() > 1 || place.place.is_tree() || place.place.is_home();
    out.push(place);
    if is_dir {
        for s in sources {
            let name = s.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
            let text = alloc::format!("{}/{}", to.trim_end_matches('/'), name);
            out.push(named(&text));
        }
    }
    out
}

/// What options name as the file for the output.
fn outputs(c: &Command) -> Vec<&str> {
    match c.name.as_str() {
        "dd" | "gdd" | "dcfldd" | "dc3dd" => values(c, &["of=", "ofs=", "hof="]),
        "curl" => values(c, &["-o", "--output"]),
        "wget" | "wget2" => values(c, &["-O", "--output-document"]),
        "aria2c" | "sort" | "gsort" | "pv" | "http" | "https" | "xh" => values(c, &["-o", "--output"]),
        "openssl" => values(c, &["-out"]),
        "gpg" | "age" | "base64" => values(c, &["-o", "--output"]),
        "find" | "gfind" => values(c, &["-fprint", "-fprint0", "-fprintf", "-fls"]),
        "split" | "csplit" => Vec::new(),
        "ssh-keygen" => Vec::new(),
        "fio" => values(c, &["--filename"]),
        "ddrescue" => operands(c, "bcimKrs", &[]).into_iter().skip(1).take(1).map(|w| w.text.as_str()).collect(),
        "qemu-img" => match operands(c, "fOoSmlB", &[])[..] {
            [verb, .., last] if matches!(verb.text.as_str(), "convert" | "dd" | "create") => [last.text.as_str()].into(),
            _ => Vec::new(),
        },
        "bmaptool" => operands(c, "", &["bmap"]).into_iter().skip(2).map(|w| w.text.as_str()).collect(),
        name if name.starts_with("partclone") => values(c, &["-o", "-O", "--output", "--overwrite"]),
        "ntfsclone" => values(c, &["-O", "--overwrite"]),
        "asr" => values(c, &["--target", "-target"]),
        "ffmpeg" | "sox" | "magick" | "convert" => c.args().last().into_iter().map(|w| w.text.as_str()).collect(),
        _ => Vec::new(),
    }
}
