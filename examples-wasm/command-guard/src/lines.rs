//! Every rule over one text of commands.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::ManuallyDrop;

use crate::code;
use crate::finding::Finding;
use crate::hook::analysis::{self, Command, Line, Program, Shell};
use crate::hook::{Errno, Fail};
use crate::options::Options;
use crate::text::Text;
use crate::{
    backdoor, disguised, disk, docker_wipe, fork_bomb, fs_destroy, git_bypass, listed, optin, permissions, power, remote_exec, salt, secret_read, system_file, unknown,
};

/// A rule that judges each command.
type OfCommand = fn(&Text, &Command) -> Option<Finding>;

/// A rule that judges all commands of a text together.
type OfText = fn(&Text) -> Option<Finding>;

const OF_COMMAND: [OfCommand; 9] = [
    power::judge,
    disk::judge,
    system_file::judge,
    fork_bomb::judge,
    backdoor::judge,
    git_bypass::judge,
    docker_wipe::judge,
    permissions::judge,
    fs_destroy::judge,
];

const OF_TEXT: [OfText; 2] = [remote_exec::whole, secret_read::whole];

/// What the rules find in a text of the call.
pub fn judge(options: &Options, line: &Line) -> Result<Vec<Finding>, Fail> {
    // The turn ends with them: taking them apart is for nothing.
    let (shell, programs) = match read(&line.text)? {
        Some((shell, programs)) => (ManuallyDrop::new(shell), ManuallyDrop::new(programs)),
        None => return Ok(vec![too_long()]),
    };
    let complete = shell.ok && !shell.truncated;
    if !complete && !line.code {
        let what = "the command cannot be read to its end, so it cannot be judged";
        return Ok(vec![Finding::block("unreadable", what)]);
    }
    let text = Text { source: &line.text, shell: &shell, programs: &programs };
    let mut found = of_shell(&text, "");
    if !line.code && hides(&line.text) {
        let what = "the command has control characters, so it is not what a person sees";
        found.push(Finding::ask("unreadable", what));
    }
    if !complete {
        let what = "the call carries code that is no command of a shell, and what it does cannot be told beforehand";
        found.push(Finding::ask("unknown", what));
        return Ok(found);
    }
    found.extend(optin::judge(options, &text));
    found.extend(listed::judge(options, &text)?);
    found.extend(handed_on(&text, 0)?);
    found.extend(unknown::judge(&text));
    Ok(found)
}

/// Whether a text has characters by which a terminal shows something else than a shell reads.
fn hides(text: &str) -> bool {
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\t' | b'\n')) {
        return false;
    }
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let alone = c == '\r' && !matches!(chars.peek(), None | Some('\n'));
        let control = c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if alone || control || turns {
            return true;
        }
    }
    false
}

/// Reads a text; `None` when it is too long to be judged.
fn read(text: &str) -> Result<Option<(Shell, Vec<Program>)>, Fail> {
    match analysis::shell_parse_with_programs(text) {
        Ok(read) => Ok(Some(read)),
        Err(Errno::TooLarge) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn too_long() -> Finding {
    Finding::block("unreadable", "the command is too long to be judged")
}

/// What the rules find in the commands of a text. Where a program does something by itself, `by` is its name.
fn of_shell(text: &Text, by: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for c in &text.shell.commands {
        let same = salt::command(c);
        let told = same.as_ref().unwrap_or(c);
        let actor = if same.is_some() { c.name.as_str() } else { by };
        let all = OF_COMMAND.iter().filter_map(|rule| rule(text, told));
        found.extend(all.map(|f| if same.is_some() || code::is_own(c) { f.acted(&told.name, actor) } else { f }));
    }
    for f in OF_TEXT.iter().filter_map(|rule| rule(text)) {
        let own = text.shell.commands.iter().find(|c| code::is_own(c) && f.begins(&c.name));
        found.push(match own {
            Some(c) => f.acted(&c.name, by),
            None => f,
        });
    }
    found
}

/// How deep a program may start another one.
const DEPTH: usize = 4;

/// What the commands have other programs run: the system's own by another name, and programs of other languages.
fn handed_on(text: &Text, depth: usize) -> Result<Vec<Finding>, Fail> {
    let mut found = Vec::new();
    for source in disguised::disguised(text) {
        if depth == DEPTH {
            found.push(Finding::ask("unknown", "the command runs programs by other names, more than can be judged"));
            break;
        }
        match read(&source)? {
            Some((shell, programs)) => {
                let script = Text { source: &source, shell: &shell, programs: &programs };
                found.extend(of_shell(&script, ""));
                found.extend(handed_on(&script, depth + 1)?);
                if shell.truncated {
                    found.push(Finding::ask("unknown", "the command writes and runs more than can be judged"));
                }
            }
            None => found.push(too_long()),
        }
    }
    for script in code::scripts(text) {
        found.extend(script.found);
        if script.text.is_empty() {
            continue;
        }
        if depth == DEPTH {
            found.push(Finding::ask("unknown", "the command runs programs in programs, more than can be judged"));
            break;
        }
        found.extend(of_script(&script.text, &script.by, depth)?);
    }
    Ok(found)
}

/// What the rules find in a program's text, as it is told for them.
fn of_script(source: &str, by: &str, depth: usize) -> Result<Vec<Finding>, Fail> {
    let (shell, programs) = match read(source)? {
        Some(read) => read,
        None => return Ok(vec![too_long()]),
    };
    if !shell.ok || shell.truncated {
        return Ok(vec![Finding::ask("unknown", format!("what the program given to {} does cannot be told beforehand", by))]);
    }
    let text = Text { source, shell: &shell, programs: &programs };
    let mut found = of_shell(&text, by);
    found.extend(handed_on(&text, depth + 1)?);
    if let Some(mut doubt) = unknown::judge(&text) {
        doubt.what = format!("what the program given to {} does cannot be told beforehand", by);
        found.push(doubt);
    }
    Ok(found)
}
