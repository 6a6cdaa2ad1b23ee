//! Scripts that a text writes and runs: `echo ... > x.sh && sh x.sh`.
//!
//! What they hold is worked out by the host's reader of commands: the command that writes the file is read once more, as
//! if it wrote to the program that runs the file.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::args::operands;
use crate::hook::analysis::{Command, Word};
use crate::places;
use crate::text::Text;

/// The most scripts of one text.
const SCRIPTS: usize = 16;

/// A file that the text writes, by a command whose words are all known.
struct Script {
    path: String,
    /// A command that prints what the file holds.
    prints: String,
}

/// Commands that hand what the text writes into files to what it runs them with.
pub fn scripts(t: &Text) -> Vec<String> {
    let mut files: Vec<Script> = Vec::new();
    for c in &t.shell.commands {
        files.extend(written(t, c));
        if let Some((from, to)) = copied(t, c) {
            let copies: Vec<Script> =
                files.iter().filter(|f| f.path == from).map(|f| Script { path: to.clone(), prints: f.prints.clone() }).collect();
            files.extend(copies);
        }
        if files.len() > SCRIPTS {
            break;
        }
    }
    let mut out = disguised(t);
    if files.is_empty() {
        return out;
    }
    for c in &t.shell.commands {
        for (path, by) in run(t, c) {
            for f in files.iter().filter(|f| f.path == path) {
                let text = format!("{} | {}", f.prints, by.clone().unwrap_or_else(|| interpreter(&f.prints)));
                if out.len() < SCRIPTS && !out.contains(&text) {
                    out.push(text);
                }
            }
        }
    }
    out
}

/// Commands that run a program of the system by another name, under which the text copied or linked it, with its own.
fn disguised(t: &Text) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (i, made) in t.shell.commands.iter().enumerate() {
        let (from, to) = match copied(t, made) {
            Some(copy) => copy,
            None => continue,
        };
        let program = match SYSTEM.iter().find_map(|dir| from.strip_prefix(dir)) {
            Some(program) if !program.is_empty() && !program.contains('/') => program,
            _ => continue,
        };
        for c in t.shell.commands.iter().skip(i + 1) {
            let word = match c.words.first() {
                Some(word) if c.words.iter().all(|w| w.known) => word,
                _ => continue,
            };
            let same = if word.text.contains('/') {
                path_of(t, c, word).map_or(false, |path| path == to)
            } else {
                word.text != program && to.rsplit('/').next() == Some(&word.text) && to.contains("bin/")
            };
            if !same || out.len() == SCRIPTS {
                continue;
            }
            let args: Vec<String> = c.args().iter().map(|w| quoted(&w.text)).collect();
            let fed = c.stdin_from.and_then(|i| t.shell.commands.get(i)).filter(|f| f.words.iter().all(|w| w.known));
            let feed = fed.map_or(String::new(), |f| format!("{} | ", f.words.iter().map(|w| quoted(&w.text)).collect::<Vec<_>>().join(" ")));
            out.push(format!("{}{} {}", feed, program, args.join(" ")));
        }
    }
    out
}

/// Where the programs of the system are.
const SYSTEM: [&str; 6] = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"];

fn path_of(t: &Text, c: &Command, w: &Word) -> Option<String> {
    if !w.known || w.text.is_empty() {
        return None;
    }
    Some(places::of(t, c, w).path)
}

/// The files that a command writes what it prints to.
fn written(t: &Text, c: &Command) -> Vec<Script> {
    let tee = matches!(c.name.as_str(), "tee" | "gtee" | "sponge");
    let mut to: Vec<&Word> = c.redirects.iter().filter(|r| r.fd <= 1 && matches!(r.op.as_str(), ">" | ">>" | ">|" | "&>")).map(|r| &r.target).collect();
    if tee {
        to.extend(operands(c, "", &[]));
    }
    if to.is_empty() || c.name.is_empty() || !tee && c.words.iter().any(|w| !w.known) {
        return Vec::new();
    }
    let input = match &c.stdin {
        Some(text) if text.known => format!(" <<< {}", quoted(text.text.strip_suffix('\n').unwrap_or(&text.text))),
        _ if tee || c.stdin_from.is_some() => return Vec::new(),
        _ => String::new(),
    };
    let words = if tee { String::from("cat") } else { c.words.iter().map(|w| quoted(&w.text)).collect::<Vec<_>>().join(" ") };
    to.into_iter().filter_map(|w| path_of(t, c, w)).map(|path| Script { path, prints: format!("{}{}", words, input) }).collect()
}

/// The file that a command makes another one of.
fn copied(t: &Text, c: &Command) -> Option<(String, String)> {
    if !matches!(c.name.as_str(), "cp" | "mv" | "ln" | "install") {
        return None;
    }
    match operands(c, "mogtS", &["mode", "owner", "group", "suffix"])[..] {
        [from, to] => Some((path_of(t, c, from)?, path_of(t, c, to)?)),
        _ => None,
    }
}

const SHELLS: [&str; 12] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "mksh", "source", ".", "rbash", "busybox"];

/// Programs that take a program of their language on their input.
const INTERPRETERS: [&str; 12] =
    ["python", "python2", "python3", "perl", "ruby", "node", "nodejs", "php", "lua", "psql", "sqlite3", "tclsh"];

/// The files that a command runs, each with the command that runs such a text on its input; without one, its first line
/// tells.
fn run(t: &Text, c: &Command) -> Vec<(String, Option<String>)> {
    let name = c.name.as_str();
    let reads = |by: &str| -> Vec<(String, Option<String>)> {
        let mut out = Vec::new();
        out.extend(operands(c, "OoWX", &["rcfile", "init-file"]).first().and_then(|w| path_of(t, c, w)).map(|p| (p, Some(by.to_string()))));
        for r in c.redirects.iter().filter(|r| r.op == "<" || r.op == "<>") {
            out.extend(path_of(t, c, &r.target).map(|p| (p, Some(by.to_string()))));
        }
        out
    };
    if SHELLS.contains(&name) {
        return reads("sh");
    }
    if INTERPRETERS.contains(&name) {
        return reads(name);
    }
    match name {
        "crontab" => reads("crontab -"),
        "at" | "batch" => reads("at now"),
        "make" | "gmake" => {
            let files = crate::args::values(c, &["-f", "--file", "--makefile"]);
            let mut out: Vec<(String, Option<String>)> =
                files.iter().map(|f| (places::named(t, c, f).path, Some("make -f -".into()))).collect();
            if files.is_empty() {
                out.push((places::named(t, c, "Makefile").path, Some("make -f -".into())));
            }
            out
        }
        _ => c.words.first().filter(|w| w.text.contains('/')).and_then(|w| path_of(t, c, w)).map(|p| (p, None)).into_iter().collect(),
    }
}

/// The interpreter that the first line of a text names.
fn interpreter(text: &str) -> String {
    let first = match text.find("#!") {
        Some(at) => text[at..].split(&['\n', '\\'][..]).next().unwrap_or(""),
        None => return "sh".into(),
    };
    INTERPRETERS.iter().rev().find(|i| first.contains(*i)).unwrap_or(&"sh").to_string()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::{Redirect, Shell};
    use crate::places::tests::{command, word};

    #[test]
    fn another_name() {
        let shell = Shell { commands: [command("ln -s /bin/rm ./x"), command("./x -rf /etc"), command("./y -rf /etc")].into(), ..Shell::default() };
        let t = Text { source: "", shell: &shell, programs: &[] };
        assert_eq!(scripts(&t), ["rm '-rf' '/etc'"]);
    }

    #[test]
    fn handing_over() {
        let mut echo = command("echo it's");
        echo.redirects.push(Redirect { op: ">".into(), fd: 1, target: word("./x") });
        let shell = Shell {
            commands: [echo, command("cp x y"), command("chmod +x y"), command("./y"), command("bash -e x"), command("sh z")].into(),
            ..Shell::default()
        };
        let t = Text { source: "", shell: &shell, programs: &[] };
        assert_eq!(scripts(&t), ["'echo' 'it'\\''s' | sh"]);
    }
}
