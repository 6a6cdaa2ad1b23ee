//! What the functions of Salt do to files and accounts, as the command that does the same.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::hook::analysis::{Command, Word};

/// The command that does what a function of Salt does; `None` for other commands and functions.
pub fn command(c: &Command) -> Option<Command> {
    if !matches!(c.name.as_str(), "salt" | "salt-call" | "salt-ssh") {
        return None;
    }
    let at = c.args().iter().position(|w| w.text.starts_with("file.") || w.text.starts_with("shadow.") || w.text.starts_with("user."))?;
    let args: Vec<Word> = c.args()[at + 1..].iter().filter(|w| !w.text.starts_with('-')).cloned().collect();
    let arg = |i: usize| args.get(i).map_or("", |w| w.text.as_str());
    let said = |text: &str| Word { text: text.into(), known: true, ..Word::default() };
    let mut front: Vec<Word> = Vec::new();
    let mut say = |words: &[&str]| front.extend(words.iter().map(|w| said(w)));
    let rest: &[Word] = match c.args()[at].text.as_str() {
        "file.remove" | "file.rmdir" => {
            say(&["rm", "-rf"]);
            args.get(..1)?
        }
        "file.chown" | "file.lchown" => {
            let owner: String = format!("{}:{}", arg(1), arg(2));
            say(&["chown", &owner]);
            args.get(..1)?
        }
        "file.set_mode" => {
            say(&["chmod", arg(1)]);
            args.get(..1)?
        }
        "file.append" | "file.prepend" | "file.write" | "file.replace" | "file.line" | "file.manage_file" | "file.comment" | "file.uncomment" | "file.truncate" => {
            say(&["tee", "-a"]);
            args.get(..1)?
        }
        "file.copy" => {
            say(&["cp"]);
            args.get(..2)?
        }
        "file.rename" | "file.move" => {
            say(&["mv"]);
            args.get(..2)?
        }
        "file.symlink" | "file.link" => {
            say(&["ln", "-sf"]);
            args.get(..2)?
        }
        "shadow.set_password" | "shadow.del_password" => {
            say(&["passwd"]);
            args.get(..1)?
        }
        _ => return None,
    };
    front.extend(rest.iter().cloned());
    let name = front[0].text.clone();
    Some(Command { name, words: front, ..c.clone() })
}
