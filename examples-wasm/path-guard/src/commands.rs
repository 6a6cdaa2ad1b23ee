//! The files that a command line reads, copies, links, archives, mounts or sends. What only names a file, or uses a key
//! without showing it, is not among them.

use belay_hook::analysis::{Command, Shell, Word};

use crate::code;
use crate::names::Name;
use crate::programs::{self, Use};
use crate::rules::Look;

/// Stands for the names that another command finds: those of xargs, and {} of find.
const FOUND: &str = "{}";

/// Every name of a protected kind that the commands of a text would open.
pub fn names(shell: &Shell) -> Vec<Name> {
    let mut out = Vec::new();
    let looped: Vec<Word> = shell.commands.iter().flat_map(|c| found_by_loop(shell, c)).collect();
    for (i, c) in shell.commands.iter().enumerate() {
        let mut own = of(c, visible(shell, i));
        if own.iter().any(|n| n.text.contains(FOUND)) || own.iter().any(|n| n.text.contains('$')) && handed(c) {
            let words = found(shell, c, &looped);
            replace(&mut own, &words, |t| t.contains(FOUND) || t.contains('$'));
        }
        if !looped.is_empty() && (in_loop(c) || c.words.iter().any(|w| w.text.contains("$(") || w.text.contains("<("))) {
            replace(&mut own, &looped, |t| t.contains('$') || t.contains("<("));
        }
        out.append(&mut own);
    }
    out
}

/// Whether another command hands names to this one, or to a shell that it is in.
fn handed(c: &Command) -> bool {
    c.via.iter().any(|v| FINDERS.contains(&v.split(' ').next().unwrap_or("")))
}

const FINDERS: &[&str] = &["find", "gfind", "fd", "fdfind", "xargs", "gxargs", "parallel"];

fn in_loop(c: &Command) -> bool {
    c.context.iter().any(|x| x == "loop")
}

/// Adds, for a name that stands for others, those others.
fn replace(own: &mut Vec<Name>, words: &[Word], stands: impl Fn(&str) -> bool) {
    if let Some(sample) = own.iter().find(|n| stands(&n.text)).cloned() {
        for w in words {
            let look = Look { glob: w.glob, ..sample.look };
            own.push(Name { text: w.text.clone(), look, cwd: None, by: sample.by.clone() });
        }
    }
}

/// The arguments of a command without those of a command that it runs, which is listed itself.
fn visible(shell: &Shell, at: usize) -> Vec<Word> {
    let c = &shell.commands[at];
    let mut args = c.args().to_vec();
    for inner in shell.commands.iter().skip(at + 1).filter(|o| o.via.len() > c.via.len()) {
        let n = inner.words.len();
        if n > 0 && n < c.words.len() && c.words[c.words.len() - n..].iter().zip(&inner.words).all(|(a, b)| a.text == b.text) {
            args.truncate(c.words.len() - n - 1);
            break;
        }
    }
    let pipe = c.stdin_from.is_some() && programs::lists_input(&c.name);
    if pipe || c.args_open && c.via.last().map_or(false, |v| matches!(v.as_str(), "xargs" | "gxargs" | "parallel")) {
        args.push(plain(FOUND));
    }
    args
}

fn plain(text: &str) -> Word {
    Word { text: text.into(), known: true, ..Word::default() }
}

/// The names that find, fd or a pipe hand to a command.
fn found(shell: &Shell, c: &Command, looped: &[Word]) -> Vec<Word> {
    let mut out = looped.to_vec();
    if let Some(i) = shell.commands.iter().position(|o| core::ptr::eq(o, c)) {
        out.extend(piped(shell, i));
    }
    for via in c.via.iter().map(|v| v.split(' ').next().unwrap_or("")).filter(|v| FINDERS.contains(v)) {
        for (i, o) in shell.commands.iter().enumerate().filter(|(_, o)| o.name == via) {
            out.extend(produced(o));
            out.extend(piped(shell, i));
        }
    }
    out
}

/// What the commands before a command in its pipe name.
fn piped(shell: &Shell, at: usize) -> Vec<Word> {
    let mut out = Vec::new();
    let mut from = shell.commands[at].stdin_from;
    for _ in 0..shell.commands.len() {
        match from.and_then(|i| shell.commands.get(i)) {
            Some(p) => {
                out.extend(produced(p));
                from = p.stdin_from;
            }
            None => break,
        }
    }
    out
}

/// Names that a loop goes through: those that a pipe hands to `read`, or that a substitution prints.
fn found_by_loop(shell: &Shell, c: &Command) -> Vec<Word> {
    if matches!(c.name.as_str(), "read" | "mapfile" | "readarray") {
        return shell.commands.iter().position(|o| core::ptr::eq(o, c)).map_or(Vec::new(), |i| piped(shell, i));
    }
    if c.context.iter().any(|x| x == "substitution" || x == "process_substitution") {
        return produced(c);
    }
    Vec::new()
}

/// The names that a command prints: patterns of find, operands of ls and echo, and what a filter looks for.
fn produced(c: &Command) -> Vec<Word> {
    let args = c.args();
    match c.name.as_str() {
        "find" | "gfind" => {
            let mut out = Vec::new();
            for (i, w) in args.iter().enumerate() {
                let before = |n: usize| i.checked_sub(n).map_or("", |j| args[j].text.as_str());
                let not = matches!(before(2), "!" | "-not") || args.get(i + 1).map_or(false, |n| n.text == "-prune");
                match before(1) {
                    "-name" | "-iname" if !not => out.push(pattern(&w.text)),
                    "-path" | "-ipath" | "-wholename" | "-iwholename" if !not => out.push(pattern(&w.text)),
                    "-regex" | "-iregex" if !not => out.push(pattern(&unescaped(&w.text))),
                    _ => {}
                }
            }
            if out.is_empty() {
                let places = args.iter().take_while(|w| !w.text.starts_with(&['-', '(', '!'][..]));
                out.extend(places.map(|w| pattern(&format!("{}/*", w.text.trim_end_matches('/')))));
            }
            out
        }
        "fd" | "fdfind" => {
            let mut out = Vec::new();
            for (i, w) in args.iter().enumerate() {
                let before = i.checked_sub(1).map_or("", |j| args[j].text.as_str());
                match before {
                    "-e" | "--extension" => out.push(pattern(&format!("x.{}", w.text))),
                    "-E" | "--exclude" => {}
                    "-x" | "-X" | "--exec" | "--exec-batch" => break,
                    _ if !w.text.starts_with('-') => out.push(pattern(&unescaped(&w.text))),
                    _ => {}
                }
            }
            out
        }
        "grep" | "egrep" | "rg" if args.iter().any(|w| w.text == "-v" || w.text == "--invert-match") => Vec::new(),
        "grep" | "egrep" | "rg" => args.iter().filter(|w| !w.text.starts_with('-')).map(|w| pattern(&unescaped(&w.text))).collect(),
        "ls" | "echo" | "printf" | "realpath" | "readlink" | "git" | "locate" | "mdfind" | "compgen" => args
            .iter()
            .filter(|w| !w.text.starts_with('-') && !w.text.contains('%'))
            .flat_map(|w| {
                let glob = w.glob || c.name == "git" || c.name == "locate";
                w.text.split_whitespace().map(move |t| Word { text: t.into(), known: true, glob, tilde: false }).collect::<Vec<_>>()
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn pattern(text: &str) -> Word {
    Word { text: text.into(), known: true, glob: true, tilde: false }
}

/// A regular expression as a name: \.env$ is .env.
fn unescaped(text: &str) -> String {
    text.replace(".*", "*").chars().filter(|c| !matches!(c, '\\' | '^' | '$' | '(' | ')')).collect()
}

/// Collects the names of one command.
struct Names {
    by: String,
    cwd: Option<String>,
    look: Look,
    out: Vec<Name>,
}

impl Names {
    fn push(&mut self, text: &str, glob: bool) {
        let text = text.trim_matches(&['"', '\''][..]);
        if text.is_empty() || text == "-" || web(text) {
            return;
        }
        self.out.push(match self.out.len() {
            0..=1023 => Name { text: text.into(), cwd: self.cwd.clone(), look: Look { glob, ..self.look }, by: self.by.clone() },
            1024 => Name::more(&self.by),
            _ => return,
        });
    }

    /// A word, and what stands in it behind the marks that programs put before a file.
    fn word(&mut self, w: &Word) {
        let t = w.text.as_str();
        if let Some((scheme, rest)) = t.split_once("://") {
            match scheme.to_lowercase().as_str() {
                "file" => self.push(t, w.glob),
                "sftp" | "scp" | "ftp" | "ftps" | "rsync" | "ssh" => {
                    if let Some(at) = rest.find('/') {
                        self.push(&rest[at..], w.glob);
                    }
                }
                _ => {}
            }
            return;
        }
        self.push(t, w.glob);
        for mark in ['@', '=', ':', '<'] {
            if let Some((before, behind)) = t.split_once(mark) {
                if mark == ':' && (before.len() == 1 || behind.starts_with(':')) || behind.is_empty() {
                    continue; // a drive, a stream
                }
                self.push(behind.trim_start_matches(&['@', '<'][..]), w.glob);
            }
        }
    }

    /// A command in one word, which the program hands to a shell that is not known here.
    fn line(&mut self, text: &str) {
        for t in code::command_words(text) {
            self.push(&t, t.contains(&['*', '?'][..]));
        }
    }

    fn text(&mut self, text: &str) {
        for s in code::strings(text) {
            self.push(&s, s.contains('*'));
        }
    }
}

/// An address that is no file of here.
fn web(t: &str) -> bool {
    t.split_once("://").map_or(false, |(s, _)| !s.eq_ignore_ascii_case("file"))
}

/// The names that a command would open; args are its own.
fn of(c: &Command, args: Vec<Word>) -> Vec<Name> {
    let name = c.name.to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let cwd = c.cwd.as_ref().map(|d| d.text.clone()).filter(|d| d != "?");
    let mut n = Names { by: name.into(), cwd, look: Look { glob: false, command: true, tree: false, wide: false }, out: Vec::new() };
    for r in &c.redirects {
        match r.op.as_str() {
            "<" | "<>" if name != "ssh-add" => n.word(&r.target),
            op if op.starts_with("<<") => given(&mut n, name, &args, &r.target.text),
            _ => {}
        }
    }
    let has = |list: &[&str]| args.iter().any(|w| list.contains(&w.text.as_str()));
    match name {
        "dd" => args.iter().filter_map(|w| w.text.strip_prefix("if=").map(|t| (t, w.glob))).for_each(|(t, g)| n.push(t, g)),
        "fd" | "fdfind" => {
            let runs = c.args().iter().position(|w| matches!(w.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
            if runs.and_then(|i| c.args().get(i + 1)).map_or(false, |w| !programs::names_only(&w.text)) {
                produced(c).iter().for_each(|w| n.push(&w.text, true));
            }
        }
        "parallel" => {
            let from = args.iter().position(|w| w.text.starts_with(":::"));
            let runs = args.iter().take(from.unwrap_or(0)).find(|w| !w.text.starts_with('-'));
            if let (Some(i), Some(p)) = (from, runs) {
                if !programs::names_only(p.text.split(' ').next().unwrap_or("")) {
                    args[i..].iter().for_each(|w| n.word(w));
                }
            }
        }
        "find" | "gfind" | "ssh" | "autossh" | "mosh" => {}
        "cmd" => {
            let text: Vec<&str> = args.iter().map(|w| w.text.as_str()).filter(|t| !t.starts_with('/') || t.len() > 2).collect();
            n.text(&text.join(" "));
        }
        "ansible" => {
            for (v, _) in values(&args, &['a'], &["args"]) {
                n.line(v);
                for part in v.split_whitespace() {
                    if let Some(f) = part.strip_prefix("src=") {
                        n.push(f, false);
                    }
                }
            }
        }
        "git" => git(&mut n, &args),
        "docker" | "podman" | "nerdctl" | "docker-compose" => container(&mut n, &args),
        "kubectl" | "oc" => cluster(&mut n, &args),
        "openssl" => openssl(&mut n, &args),
        "curl" => curl(&mut n, &args),
        "tar" | "bsdtar" | "gtar" => tar(&mut n, &args),
        "rg" | "ag" if has(&["--files"]) => {} // lists names
        "php" if has(&["-S"]) => served(&mut n, &args),
        "python" | "python3" if args.windows(2).any(|p| p[0].text == "-m" && p[1].text == "http.server") => served(&mut n, &args),
        _ if programs::names_only(name) => {}
        _ => general(&mut n, name, &args, c),
    }
    n.out
}

/// What a program gets on its standard input as a text of the command line.
fn given(n: &mut Names, name: &str, args: &[Word], text: &str) {
    if programs::interprets(name) {
        n.text(text);
    }
    let lists = match name {
        "cpio" | "zip" | "pax" | "xargs" => true,
        "tar" | "rsync" => args.iter().any(|w| matches!(w.text.as_str(), "-T" | "--files-from" | "-T-" | "--files-from=-")),
        "git" => args.iter().any(|w| w.text.starts_with("--batch") || w.text == "--stdin"),
        _ => false,
    };
    if lists {
        text.lines().for_each(|l| n.word(&plain(l.trim())));
    }
}

/// A program by what its options are called.
fn general(n: &mut Names, name: &str, args: &[Word], c: &Command) {
    let expression = programs::takes_expression(name);
    let in_place = matches!(name, "sed" | "gsed" | "perl" | "ruby")
        && args.iter().any(|w| w.text.starts_with("--in-place") || short(&w.text).map_or(false, |s| s.contains('i') && !s.starts_with(&['I', 'M', 'e'][..])));
    if in_place {
        return; // it changes the file, and shows nothing of it
    }
    let given = args.iter().any(|w| programs::gives_expression(name, &w.text));
    let plain_reader = programs::reads_plainly(name);
    let copier = programs::copies(name);
    let recursive = c.has_flag('r', &["recursive"]) || c.has_flag('R', &[]) || matches!(name, "rg" | "ag" | "ack");
    n.look.tree = programs::goes_deep(name) || programs::searches(name) && recursive;
    n.look.wide = programs::goes_deep(name) && !matches!(name, "ln" | "gln" | "mv" | "gmv");
    let mut operands: Vec<&Word> = Vec::new();
    let mut excluding = false;
    let mut into = false; // -t names where to
    let mut i = 0;
    let mut ended = false;
    while i < args.len() {
        let w = &args[i];
        let t = w.text.as_str();
        let next = args.get(i + 1).filter(|v| !v.text.starts_with('-') || v.text == "-");
        i += 1;
        if ended || !t.starts_with('-') || t == "-" {
            if !excluding {
                operands.push(w);
            }
            continue;
        }
        excluding = name == "zip" && matches!(t, "-x" | "--exclude");
        if t == "--" {
            ended = true;
        } else if let Some(long) = t.strip_prefix("--").or_else(|| if programs::code_option(name, t) { None } else { one_dash(name, t) }) {
            let (option, value) = match long.split_once('=') {
                Some((o, v)) => (o, Some(v)),
                None => (long, None),
            };
            into |= copier && option == "target-directory";
            let used = programs::long_option(name, option);
            match (value, used) {
                (Some(v), Use::Reads) => n.word(&Word { text: v.into(), glob: w.glob || chosen(option), ..w.clone() }),
                (None, Use::Reads) if chosen(option) && next.is_some() => {
                    n.push(&args[i].text, true);
                    i += 1;
                }
                (None, Use::Names) if next.is_some() && programs::takes_value(option, plain_reader || copier) => i += 1,
                _ => {}
            }
        } else if programs::code_option(name, t) {
            if let Some(v) = next {
                n.text(&v.text);
                i += 1;
            } else if let Some(v) = t.strip_prefix('+') {
                n.text(v);
            }
        } else {
            let letters = &t[1..];
            let first = letters.chars().next().unwrap_or(' ');
            let last = letters.chars().last().unwrap_or(' ');
            into |= copier && last == 't' && matches!(name, "cp" | "mv" | "ln" | "install");
            if letters.len() > 1 && programs::short_option(name, first) == Use::Reads {
                n.word(&Word { text: letters[first.len_utf8()..].into(), ..w.clone() });
            }
            let takes = programs::short_option(name, last) == Use::Names;
            if programs::searches(name) && letters == "g" && next.is_some() {
                n.push(&args[i].text, true);
                i += 1;
            } else if takes && letters.len() == 1 && next.is_some() {
                i += 1;
            } else if into && last == 't' && next.is_some() {
                i += 1;
            }
        }
    }
    if expression && !given && !operands.is_empty() {
        let program = operands.remove(0);
        if matches!(name, "sed" | "gsed") {
            code::sed_files(&program.text).iter().for_each(|f| n.push(f, false));
        } else if programs::interprets(name) {
            n.text(&program.text);
        }
    }
    let skip = match name {
        "zip" | "rar" => 1,
        "7z" | "7za" | "7zz" | "ar" => 2,
        _ => 0,
    };
    operands.drain(..skip.min(operands.len()));
    if copier && !into && operands.len() > 1 {
        operands.pop();
    }
    let s3 = name == "aws" && matches!(operands.get(1).map(|w| w.text.as_str()), Some("cp" | "mv" | "sync"));
    if s3 && operands.len() > 3 {
        operands.pop();
    }
    for w in operands {
        if !w.text.contains(char::is_whitespace) || plain_reader || copier {
            n.word(w);
        } else {
            n.line(&w.text);
        }
    }
}

/// Options of a search whose value chooses files.
fn chosen(option: &str) -> bool {
    matches!(option, "include" | "glob" | "iglob")
}

/// The letters of short options in one word.
fn short(t: &str) -> Option<&str> {
    t.strip_prefix('-').filter(|r| !r.is_empty() && !r.starts_with('-'))
}

/// Long options that begin with one dash, as programs in Go and Java, and PowerShell, have them.
fn one_dash<'a>(name: &str, t: &'a str) -> Option<&'a str> {
    let rest = t.strip_prefix('-')?;
    let word = rest.split('=').next().unwrap_or("");
    let bundles = programs::reads_plainly(name) || programs::copies(name) || matches!(name, "perl" | "ruby" | "python" | "zip");
    if !bundles && (word.len() > 2 || word == "ca") && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') && !rest.contains('/') {
        return Some(rest);
    }
    None
}

/// The value of options: -v VALUE, -vVALUE, --volume VALUE, --volume=VALUE.
fn values<'a>(args: &'a [Word], shorts: &[char], longs: &[&str]) -> Vec<(&'a str, bool)> {
    let mut out = Vec::new();
    for (i, w) in args.iter().enumerate() {
        let next = args.get(i + 1);
        if let Some(long) = w.text.strip_prefix("--") {
            match long.split_once('=') {
                Some((o, v)) if longs.contains(&o) => out.push((v, w.glob)),
                None if longs.contains(&long) => out.extend(next.map(|n| (n.text.as_str(), n.glob))),
                _ => {}
            }
        } else if let Some(s) = short(&w.text) {
            if let Some(at) = s.find(shorts) {
                let rest = &s[at + 1..];
                if at > 0 && !s[..at].chars().all(|c| c.is_ascii_alphabetic()) {
                    continue;
                }
                match rest {
                    "" => out.extend(next.map(|n| (n.text.as_str(), n.glob))),
                    v => out.push((v.strip_prefix('=').unwrap_or(v), w.glob)),
                }
            }
        }
    }
    out
}

fn operands<'a>(args: &'a [Word], takes: &[&str]) -> Vec<&'a Word> {
    let mut out = Vec::new();
    let mut skip = false;
    for w in args {
        if skip {
            skip = false;
        } else if takes.contains(&w.text.as_str()) {
            skip = true;
        } else if !w.text.starts_with('-') {
            out.push(w);
        }
    }
    out
}

/// What git shows of the working tree or of older versions.
fn git(n: &mut Names, args: &[Word]) {
    let mut i = 0;
    while i < args.len() && args[i].text.starts_with('-') {
        match args[i].text.as_str() {
            "-C" => {
                n.cwd = args.get(i + 1).map(|d| d.text.clone());
                i += 2;
            }
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" | "--exec-path" => i += 2,
            _ => i += 1,
        }
    }
    let sub = args.get(i).map_or("", |w| w.text.as_str());
    let rest = args.get(i + 1..).unwrap_or(&[]);
    let has = |list: &[&str]| rest.iter().take_while(|w| w.text != "--").any(|w| list.contains(&w.text.split('=').next().unwrap_or("")));
    let brief = has(&["--name-only", "--name-status", "--stat", "--shortstat", "--numstat", "--summary", "--quiet", "--raw", "-s", "--no-patch", "--dirstat", "--compact-summary"]);
    let patch = has(&["-p", "-u", "--patch", "--patch-with-stat", "-c", "--cc", "--full-diff"])
        || rest.iter().any(|w| w.text.starts_with("-U") || w.text.starts_with("-L") || w.text.starts_with("--unified"));
    let lists = has(&["-l", "-L", "-c", "--files-with-matches", "--name-only", "--count", "-q", "--quiet"]);
    let reads = match sub {
        "show" => !brief,
        "diff" | "diff-tree" | "diff-index" | "diff-files" | "difftool" | "range-diff" => !brief || patch,
        "log" | "whatchanged" | "reflog" | "rev-list" => patch,
        "stash" => rest.first().map_or(false, |w| w.text == "show") && patch,
        "cat-file" => !has(&["-e", "-t", "-s"]),
        "blame" | "annotate" | "archive" | "format-patch" | "praise" | "gui" => true,
        "grep" => !lists,
        _ => false,
    };
    if !reads {
        return;
    }
    let mut words: Vec<&Word> = rest.iter().filter(|w| !w.text.starts_with('-')).collect();
    if sub == "grep" && !has(&["-e", "-f"]) && !words.is_empty() {
        words.remove(0);
    }
    for w in words {
        let out = [":!", ":^", ":(exclude"].iter().any(|p| w.text.starts_with(p));
        if !out {
            n.push(&w.text, true);
            if let Some((_, path)) = w.text.split_once(':') {
                n.push(path.trim_start_matches(&[':', '/'][..]), true);
                n.push(path, true);
            }
        }
    }
    for w in rest.iter().filter(|w| w.text.starts_with("-L")) {
        n.push(w.text.rsplit(':').next().unwrap_or(""), false);
    }
}

/// What a container gets of the host's files, and what is copied out of one.
fn container(n: &mut Names, args: &[Word]) {
    n.look.tree = true;
    n.look.wide = true;
    for (v, glob) in values(args, &['v'], &["volume", "mount"]) {
        let named = v.split(',').find_map(|p| ["source=", "src=", "device="].iter().find_map(|k| p.strip_prefix(k)));
        let drive = v.len() > 2 && v.as_bytes()[1] == b':' && v.as_bytes()[2] == b'\\';
        let from = named.unwrap_or_else(|| if drive { v } else { v.split(':').next().unwrap_or("") });
        if from.starts_with(&['/', '~', '.', '$'][..]) || from.contains(&['/', '\\'][..]) {
            n.push(from, glob);
        }
    }
    let words = operands(args, &["-H", "--host", "--context", "-c", "-f", "--file", "-p"]);
    let is = |i: usize, list: &[&str]| words.get(i).map_or(false, |w| list.contains(&w.text.as_str()));
    let at = if is(0, &["container", "compose"]) { 1 } else { 0 };
    if is(at, &["cp"]) {
        if let Some(w) = words.get(at + 1) {
            n.word(w);
        }
    }
    if is(at, &["secret", "config"]) && is(at + 1, &["create"]) {
        words.iter().skip(at + 2).for_each(|w| n.word(w));
    }
}

/// What a cluster gets, and what is copied out of it.
fn cluster(n: &mut Names, args: &[Word]) {
    let words = operands(args, &["-n", "--namespace", "--context", "--kubeconfig", "-c", "--container"]);
    if words.first().map_or(false, |w| w.text == "cp") {
        n.look.tree = true;
        n.look.wide = true;
        if let Some(w) = words.get(1) {
            n.word(w);
        }
    }
    for (v, glob) in values(args, &[], &["from-file", "from-env-file"]) {
        n.word(&Word { text: v.into(), known: true, glob, tilde: false });
    }
}

/// What openssl shows: of a certificate nothing is secret, and a key may be used.
fn openssl(n: &mut Names, args: &[Word]) {
    let has = |list: &[&str]| args.iter().any(|w| list.contains(&w.text.as_str()));
    let sub = args.first().map_or("", |w| w.text.as_str());
    let shows = match sub {
        "rsa" | "pkey" | "ec" | "dsa" | "pkcs8" => !has(&["-pubout", "-pubin", "-text_pub"]) && (!has(&["-noout"]) || has(&["-text"])),
        "pkcs12" => !has(&["-export", "-nokeys"]) && !has(&["-noout"]),
        "x509" | "req" | "crl" | "verify" | "s_client" | "s_server" | "s_time" | "ocsp" | "ts" | "pkcs7" | "ca" | "genrsa" | "genpkey" | "gendsa" | "ecparam"
        | "dhparam" | "rand" | "version" | "ciphers" | "list" | "passwd" | "speed" | "crl2pkcs7" | "cms" | "smime" | "spkac" | "pkeyutl" | "rsautl" => false,
        _ => true,
    };
    if !shows {
        return;
    }
    let mut i = 1;
    while i < args.len() {
        let t = args[i].text.as_str();
        match t {
            "-in" | "-inkey" if sub != "dgst" || t == "-in" => {
                if let Some(w) = args.get(i + 1) {
                    n.word(w);
                }
                i += 2;
            }
            "-out" | "-sign" | "-verify" | "-prverify" | "-signature" | "-hmac" | "-k" | "-K" | "-iv" | "-S" | "-md" | "-passin" | "-passout" | "-pass" | "-kfile"
            | "-inform" | "-outform" | "-keyform" | "-engine" | "-config" | "-mac" | "-macopt" | "-sigopt" => i += 2,
            _ => {
                if !t.starts_with('-') {
                    n.word(&args[i]);
                }
                i += 1;
            }
        }
    }
}

/// What curl sends, and files that it reads by their address.
fn curl(n: &mut Names, args: &[Word]) {
    for (v, glob) in values(args, &['T'], &["upload-file"]) {
        n.push(v, glob);
    }
    let data = ["data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json", "form", "form-string", "header", "url-query", "variable", "expand-data"];
    for (v, glob) in values(args, &['d', 'F', 'H'], &data) {
        if let Some(at) = v.find(&['@', '<'][..]) {
            for part in v[at + 1..].split(&[',', ';'][..]) {
                n.push(part.trim_start_matches('@'), glob);
            }
        }
    }
    for w in args.iter().filter(|w| w.text.len() > 5 && w.text[..].get(..5).map_or(false, |p| p.eq_ignore_ascii_case("file:"))) {
        n.push(&w.text, w.glob);
    }
    for (v, glob) in values(args, &[], &["url"]) {
        if v.get(..5).map_or(false, |p| p.eq_ignore_ascii_case("file:")) {
            n.push(v, glob);
        }
    }
    for w in args.iter().filter(|w| w.text.starts_with("sftp://") || w.text.starts_with("scp://")) {
        n.word(w);
    }
}

/// What tar puts into an archive.
fn tar(n: &mut Names, args: &[Word]) {
    n.look.tree = true;
    n.look.wide = true;
    let mut mode = false;
    let mut takes_out = false;
    let mut i = 0;
    while i < args.len() {
        let t = args[i].text.as_str();
        let bundle = if i == 0 && !t.starts_with('-') { Some(t) } else { short(t) };
        i += 1;
        if let Some(letters) = bundle {
            mode |= letters.contains(&['c', 'r', 'u', 'A'][..]) && !letters.starts_with(&['C', 'T', 'X'][..]);
            takes_out |= letters.contains(&['x', 't', 'd'][..]) && !letters.contains(&['c', 'r', 'u'][..]) && !letters.starts_with(&['C', 'T', 'X', 'f'][..]);
            if letters == "C" {
                n.cwd = args.get(i).map(|d| d.text.clone());
            }
            if letters == "T" {
                if let Some(w) = args.get(i) {
                    n.push(&w.text, w.glob);
                }
            }
            if letters.ends_with(&['f', 'C', 'T', 'X', 'b', 'I', 'K', 'N'][..]) {
                i += 1;
            }
            continue;
        }
        if let Some(long) = t.strip_prefix("--") {
            mode |= matches!(long, "create" | "append" | "update" | "concatenate");
            takes_out |= matches!(long, "extract" | "get" | "list" | "diff" | "compare");
            if let Some(dir) = long.strip_prefix("directory=") {
                n.cwd = Some(dir.into());
            } else if long == "directory" {
                n.cwd = args.get(i).map(|d| d.text.clone());
                i += 1;
            } else if matches!(long, "file" | "exclude" | "exclude-from" | "transform" | "use-compress-program" | "owner" | "group" | "mode") {
                i += 1;
            }
            continue;
        }
        if mode || !takes_out {
            n.word(&args[i - 1]);
        }
    }
}

/// The directories that a server of files hands out.
fn served(n: &mut Names, args: &[Word]) {
    n.look.tree = true;
    n.look.wide = true;
    for (v, glob) in values(args, &['d', 't'], &["directory", "docroot"]) {
        n.push(v, glob);
    }
}
