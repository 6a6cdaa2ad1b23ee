//! Deleting, emptying or moving away system trees, the home directory, or all that is in the current one.

use alloc::format;
use alloc::string::String;

use crate::finding::Finding;
use crate::hook::analysis::{Command, Word};
use crate::places::{clean, critical, everything, wide};
use crate::text::Text;

const RULE: &str = "fs-destroy";

pub fn judge(_: &Text, c: &Command) -> Option<Finding> {
    deletes(c).map(|what| Finding::block(RULE, what))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::tests::command;

    #[test]
    fn deleting() {
        for (line, want) in [
            ("find / -delete", true),
            ("find . -delete", false),
            ("find ./ -name x -delete", false),
            ("rm -rf .", true),
        ] {
            assert_eq!(deletes(&command(line)).is_some(), want, "{line}");
        }
    }
}
