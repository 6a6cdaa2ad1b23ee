//! Programs of the system that a text copies or links, and runs by the other name.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::args::operands;
use crate::hook::analysis::{Command, Word};
use crate::places;
use crate::text::Text;

/// The most such commands of one text.
const COMMANDS: usize = 16;

/// Commands that run a program of the system by another name, under which the text copied or linked it, with its own.
pub fn disguised(t: &Text) -> Vec<String> {
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
            if !same || out.len() == COMMANDS {
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

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::Shell;
    use crate::places::tests::command;

    #[test]
    fn another_name() {
        let shell = Shell { commands: [command("ln -s /bin/rm ./x"), command("./x -rf /etc"), command("./y -rf /etc")].into(), ..Shell::default() };
        let t = Text { source: "", shell: &shell, programs: &[] };
        assert_eq!(disguised(&t), ["rm '-rf' '/etc'"]);
    }
}
