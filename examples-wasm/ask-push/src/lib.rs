//! Asks a person before something is pushed with git, and blocks forced pushes if the operator wants it.

use belay_hook as hook;
use hook::analysis::{self, Command, Line};
use hook::{config, input};

hook::export!(pre_tool => pre_tool);

fn pre_tool() -> hook::Result {
    let found = match analysis::input_lines() {
        Some(found) => found,
        None if input::text("/tool").as_deref() == Some("exec") => {
            cannot_tell("the call runs a command, but not in a form that can be judged");
            return Ok(());
        }
        None => return Ok(()),
    };
    if found.more {
        cannot_tell("the call runs more than can be judged");
        return Ok(());
    }
    let mut ask = None;
    for line in &found.lines {
        if !judge(line, &mut ask)? {
            return Ok(());
        }
    }
    if let Some(text) = ask {
        hook::request_approval(&text, config::int("/ttl_s"));
    }
    Ok(())
}

/// Judges one line; false when the call is blocked or asked about already.
fn judge(line: &Line, ask: &mut Option<String>) -> Result<bool, hook::Fail> {
    let shell = match analysis::shell_parse(&line.text) {
        Ok(shell) => shell,
        Err(hook::Errno::TooLarge) => {
            cannot_tell("the command is too long to tell whether it pushes");
            return Ok(false);
        }
        Err(e) => return Err(e.into()),
    };
    let before = ask.is_some();
    for c in &shell.commands {
        match pushes(c) {
            Push::No => {}
            Push::Yes { forced } => {
                let text = format!("{}: {}", if forced { "a forced git push" } else { "git push" }, c.line());
                if forced && config::text("/forced").as_deref() == Some("block") {
                    hook::block(&text);
                    return Ok(false);
                }
                ask.get_or_insert(text);
            }
            Push::Unknown => drop(ask.get_or_insert(format!("which git command this is cannot be told: {}", c.raw))),
        }
    }
    // A text that was not read to its end may be any push. The text of a command does not tell: words can be written in many ways.
    // Code of another language pushes only where it speaks of git.
    if !shell.ok || shell.truncated {
        if !line.code {
            cannot_tell("the command cannot be read to its end, so it may be a git push");
            return Ok(false);
        }
        if line.text.contains("git") && line.text.contains("push") {
            ask.get_or_insert_with(|| "this code may be a git push".to_string());
        }
        return Ok(true);
    }
    // Where it was read but cannot be told what runs, only text that speaks of a push is worth a question here: judging
    // unknown commands as such is another hook's work.
    let unclear = !shell.unknown.is_empty() || shell.commands.iter().any(|c| c.name.is_empty());
    if (before || ask.is_none()) && unclear && line.text.contains("push") {
        ask.get_or_insert_with(|| "this may be a git push, but what would run cannot be told".to_string());
    }
    Ok(true)
}

/// Stops a call that may be anything: as a forced push would be stopped.
fn cannot_tell(why: &str) {
    if config::text("/forced").as_deref() == Some("block") {
        hook::block(why);
    } else {
        hook::request_approval(why, config::int("/ttl_s"));
    }
}

#[derive(Debug, PartialEq)]
enum Push {
    No,
    Yes { forced: bool },
    Unknown,
}

/// Global options of git that take a value in the next word.
const WITH_VALUE: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"];

fn pushes(c: &Command) -> Push {
    match c.name.as_str() {
        "git" => {}
        // What git runs for a push when it is called by its own file name.
        "git-push" | "git-send-pack" => return Push::Yes { forced: forced(c, 1) },
        _ => return Push::No,
    }
    let mut i = 1;
    while let Some(w) = c.words.get(i) {
        if WITH_VALUE.contains(&w.text.as_str()) {
            i += 2;
        } else if w.text.starts_with('-') {
            i += 1;
        } else if !w.known {
            return Push::Unknown;
        } else {
            return match w.text.as_str() {
                "push" | "send-pack" => Push::Yes { forced: forced(c, i + 1) },
                // Tools that push as part of what they do.
                "subtree" | "svn" | "lfs" if c.words.get(i + 1).map_or(false, |w| w.text == "push" || w.text == "dcommit") => {
                    Push::Yes { forced: false }
                }
                _ => Push::No,
            };
        }
    }
    Push::No
}

/// Whether the arguments from `from` on say that the other side's history may be lost.
fn forced(c: &Command, from: usize) -> bool {
    c.words[from.min(c.words.len())..].iter().any(|w| {
        let t = w.text.as_str();
        match t.strip_prefix("--") {
            // git takes any unambiguous beginning of a long option.
            Some(long) => ["force", "mirror", "delete", "prune"].iter().any(|f| {
                let name = long.split('=').next().unwrap_or("");
                name.starts_with(f) || (name.len() > 1 && f.starts_with(name))
            }),
            None if t.starts_with('-') => t.contains('f') || t.contains('d'),
            None => t.starts_with('+') || t.starts_with(':'),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hook::analysis::Word;

    fn command(line: &str) -> Command {
        let words: Vec<Word> =
            line.split(' ').map(|w| Word { text: w.into(), known: !w.contains('$'), ..Word::default() }).collect();
        Command { name: words[0].text.clone(), words, raw: line.into(), ..Command::default() }
    }

    #[test]
    fn tells_pushes() {
        let (yes, hard) = (Push::Yes { forced: false }, Push::Yes { forced: true });
        for (line, want) in [
            ("git push", &yes),
            ("git -C /w -c a.b=c push origin main", &yes),
            ("git --no-pager push", &yes),
            ("git push -f", &hard),
            ("git push --force-with-lease origin main", &hard),
            ("git push --forc", &hard),
            ("git push origin +main", &hard),
            ("git push origin :old", &hard),
            ("git push --follow-tags", &yes),
            ("git stash push", &Push::No),
            ("git commit -m push", &Push::No),
            ("git $X", &Push::Unknown),
            ("echo git push", &Push::No),
        ] {
            assert_eq!(&pushes(&command(line)), want, "{line}");
        }
    }
}
