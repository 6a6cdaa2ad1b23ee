//! What the host can tell about shell text, paths, patterns and secrets.
//!
//! A guard treats each of these as "cannot tell", and asks or blocks: an error, [`Shell::ok`] false,
//! [`Shell::truncated`], an entry in [`Shell::unknown`], a command without a name, and a word that matters with
//! [`Word::known`] false.

use alloc::string::String;
use alloc::vec::Vec;

use crate::errors::Errno;
use crate::json::{object, Reader, Value};
use crate::raw;
use crate::reads::{input, last_reply};

/// Has `read` read the reply of a call, and all of it.
fn replied(code: i32, read: impl FnOnce(&mut Reader) -> Option<()>) -> Result<(), Errno> {
    Errno::check(code)?;
    let reply = last_reply()?;
    let mut r = Reader::new(&reply);
    read(&mut r).filter(|()| r.ended()).ok_or(Errno::Invalid)
}

/// What `shell_parse` found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shell {
    /// The text is shell and was walked to the end.
    pub ok: bool,
    /// What is wrong when it is not.
    pub error: String,
    /// Every command that would run, wrappers and what they wrap.
    pub commands: Vec<Command>,
    /// What would run but is not known statically.
    pub unknown: Vec<Unknown>,
    /// There is more than is told here.
    pub truncated: bool,
}

/// One simple command that would run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// Last path element of the command word; "" when it is not known.
    pub name: String,
    /// The command word and its arguments after expansion.
    pub words: Vec<Word>,
    /// Its source text, cut.
    pub raw: String,
    /// NAME=value before it.
    pub assigns: Vec<(String, Word)>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// The command whose output it reads.
    pub stdin_from: Option<usize>,
    /// The text on its standard input, where that stands in the text that was parsed.
    pub stdin: Option<Word>,
    /// The number of its pipeline, from 1; 0 outside of one.
    pub pipe: i64,
    /// The innermost wrapper that runs it.
    pub parent: Option<usize>,
    /// Wrappers round it, outermost first.
    pub via: Vec<String>,
    /// Constructs round it: "substitution", "background", "function:NAME"...
    pub context: Vec<String>,
    /// Where it runs, after a `cd` in the text.
    pub cwd: Option<Word>,
    /// It runs on another host or in a container.
    pub remote: bool,
    /// It calls a function of the text.
    pub function: bool,
    /// It calls a function that is already running.
    pub recursive: bool,
    /// More arguments follow that are not known.
    pub args_open: bool,
}

/// A word after quote removal and expansion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Word {
    /// Its text; parts that are not known stand as their source text.
    pub text: String,
    /// `text` is exactly what the command gets, apart from `~` and patterns.
    pub known: bool,
    /// It has a pattern that the shell would expand.
    pub glob: bool,
    /// It begins with `~` or `$HOME`, both written `~`.
    pub tilde: bool,
    /// Where it is not known: the commands whose output is in it.
    pub from: Vec<usize>,
}

/// A redirection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Redirect {
    /// The operator, such as `>`.
    pub op: String,
    /// The descriptor.
    pub fd: i64,
    /// The file, descriptor or text.
    pub target: Word,
}

/// Something that would run and is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unknown {
    /// "name", "code", "script" or "limit".
    pub what: String,
    /// Its source text, cut.
    pub raw: String,
    /// The command that it belongs to.
    pub command: Option<usize>,
    /// Of code: it is known but for words in it, and what it runs is among the commands.
    pub partial: bool,
}

impl Command {
    /// The arguments, without the command word.
    pub fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or(&[])
    }

    /// Whether an argument before `--` is one of the long options, or a bundle of short ones that holds `short`.
    pub fn has_flag(&self, short: char, long: &[&str]) -> bool {
        self.args().iter().map(|w| w.text.as_str()).take_while(|w| *w != "--").any(|w| match w.strip_prefix("--") {
            Some(name) => long.contains(&name.split('=').next().unwrap_or("")),
            None => w.len() > 1 && w.starts_with('-') && w[1..].contains(short),
        })
    }

    /// The words as one line.
    pub fn line(&self) -> String {
        let mut s = String::new();
        for (i, w) in self.words.iter().enumerate() {
            if i > 0 {
                s.push(' ');
            }
            s.push_str(&w.text);
        }
        s
    }
}

fn word(r: &mut Reader, to: &mut Word) -> Option<()> {
    r.object(|r, name| match name {
        "text" => r.text(&mut to.text),
        "known" => r.is_true(&mut to.known),
        "glob" => r.is_true(&mut to.glob),
        "tilde" => r.is_true(&mut to.tilde),
        "from" => r.array(|r| {
            let mut at = None;
            index_of(r, &mut at)?;
            to.from.extend(at);
            Some(())
        }),
        _ => r.skip(0),
    })
}

fn new_word(r: &mut Reader) -> Option<Word> {
    let mut new = Word::default();
    word(r, &mut new)?;
    Some(new)
}

/// Reads an index; a negative one is none.
fn index_of(r: &mut Reader, to: &mut Option<usize>) -> Option<()> {
    let mut n = None;
    r.int(&mut n)?;
    *to = n.and_then(|n| usize::try_from(n).ok());
    Some(())
}

fn texts(r: &mut Reader, to: &mut Vec<String>) -> Option<()> {
    r.array(|r| {
        let mut one = String::new();
        r.text(&mut one)?;
        to.push(one);
        Some(())
    })
}

/// Reads an array of values that have a default.
fn list<T: Default>(r: &mut Reader, to: &mut Vec<T>, read: fn(&mut Reader, &mut T) -> Option<()>) -> Option<()> {
    r.array(|r| {
        let mut one = T::default();
        read(r, &mut one)?;
        to.push(one);
        Some(())
    })
}

fn assign(r: &mut Reader, to: &mut (String, Word)) -> Option<()> {
    r.object(|r, name| match name {
        "name" => r.text(&mut to.0),
        "value" => word(r, &mut to.1),
        _ => r.skip(0),
    })
}

fn redirect(r: &mut Reader, to: &mut Redirect) -> Option<()> {
    to.fd = -1;
    r.object(|r, name| match name {
        "op" => r.text(&mut to.op),
        "fd" => number(r, &mut to.fd),
        "target" => word(r, &mut to.target),
        _ => r.skip(0),
    })
}

/// Reads an integer; anything else leaves what is there.
fn number(r: &mut Reader, to: &mut i64) -> Option<()> {
    let mut n = None;
    r.int(&mut n)?;
    *to = n.unwrap_or(*to);
    Some(())
}

fn command(r: &mut Reader, to: &mut Command) -> Option<()> {
    r.object(|r, name| match name {
        "name" => r.text(&mut to.name),
        "words" => list(r, &mut to.words, word),
        "raw" => r.text(&mut to.raw),
        "assigns" => list(r, &mut to.assigns, assign),
        "redirects" => list(r, &mut to.redirects, redirect),
        "pipe" => number(r, &mut to.pipe),
        "stdin_from" => index_of(r, &mut to.stdin_from),
        "stdin" => {
            to.stdin = Some(new_word(r)?);
            Some(())
        }
        "via" => texts(r, &mut to.via),
        "parent" => index_of(r, &mut to.parent),
        "context" => texts(r, &mut to.context),
        "cwd" => {
            to.cwd = Some(new_word(r)?);
            Some(())
        }
        "remote" => r.is_true(&mut to.remote),
        "function" => r.is_true(&mut to.function),
        "recursive" => r.is_true(&mut to.recursive),
        "args_open" => r.is_true(&mut to.args_open),
        _ => r.skip(0),
    })
}

fn unknown(r: &mut Reader, to: &mut Unknown) -> Option<()> {
    r.object(|r, name| match name {
        "what" => r.text(&mut to.what),
        "raw" => r.text(&mut to.raw),
        "command" => index_of(r, &mut to.command),
        "partial" => r.is_true(&mut to.partial),
        _ => r.skip(0),
    })
}

fn program(r: &mut Reader, to: &mut Program) -> Option<()> {
    r.object(|r, name| match name {
        "language" => r.text(&mut to.language),
        "text" => r.text(&mut to.text),
        "partial" => r.is_true(&mut to.partial),
        "file" => r.text(&mut to.file),
        "raw" => r.text(&mut to.raw),
        "command" => index_of(r, &mut to.command),
        _ => r.skip(0),
    })
}

/// Reads the reply to `shell_parse`; of the commands, or the programs, only where they are wanted.
fn parsed(text: &str, mut shell: Option<&mut Shell>, mut programs: Option<&mut Vec<Program>>) -> Result<(), Errno> {
    replied(unsafe { raw::shell_parse(text.as_ptr(), text.len() as u32) }, |r| {
        r.object(|r, name| match (name, &mut shell, &mut programs) {
            ("unknown_programs", _, Some(to)) => list(r, to, program),
            ("ok", Some(to), _) => r.is_true(&mut to.ok),
            ("error", Some(to), _) => r.text(&mut to.error),
            ("commands", Some(to), _) => list(r, &mut to.commands, command),
            ("unknown", Some(to), _) => list(r, &mut to.unknown, unknown),
            ("truncated", Some(to), _) => r.is_true(&mut to.truncated),
            _ => r.skip(0),
        })
    })
}

/// Every command that a shell text would run. At most 64 KiB of text.
pub fn shell_parse(text: &str) -> Result<Shell, Errno> {
    let mut shell = Shell::default();
    parsed(text, Some(&mut shell), None)?;
    Ok(shell)
}

/// The command line of a tool call: `/args/command` or `/args/cmd`, as a string, or as an array of words, which are
/// quoted and joined. `None` when there is nothing of the kind, or something else stands there. A guard uses
/// [`input_lines`], which finds commands of other tools, too.
pub fn input_command() -> Option<String> {
    for path in ["/args/command", "/args/cmd"] {
        if let Some(v) = input::value(path) {
            return command_line(&v);
        }
    }
    None
}

fn command_line(v: &Value) -> Option<String> {
    match v {
        Value::Text(s) => Some(s.clone()),
        Value::Array(words) if !words.is_empty() => {
            let mut line = String::new();
            for w in words {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push('\'');
                line.push_str(&w.as_text()?.replace('\'', "'\\''"));
                line.push('\'');
            }
            Some(line)
        }
        _ => None,
    }
}

/// One text that a tool call would run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The text, as [`input_command`] returns it.
    pub text: String,
    /// It may be of another language than the shell's.
    pub code: bool,
}

/// What a tool call would run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// At least one.
    pub lines: Vec<Line>,
    /// The tool is known to run another language: what its code does cannot be told from it.
    pub foreign: bool,
    /// There is more than is told here, or something that cannot be read.
    pub more: bool,
}

/// Everything that a tool call would run: of a tool that runs commands, and of one that the host judges as such by what
/// the call carries. `None` when there is nothing of the kind.
pub fn input_lines() -> Option<Lines> {
    let judged = match input::value("/judged") {
        Some(judged) => judged,
        None => return input_command().map(|text| Lines { lines: [Line { text, code: false }].into(), ..Lines::default() }),
    };
    let mut found = Lines { foreign: judged.is_true("foreign"), more: judged.is_true("more"), ..Lines::default() };
    for (name, code) in [("commands", false), ("code", true)] {
        for at in judged.list(name) {
            match at.as_text().and_then(input::value).as_ref().and_then(command_line) {
                Some(text) => found.lines.push(Line { text, code }),
                None => found.more = true,
            }
        }
    }
    if found.lines.is_empty() && !found.more {
        return None;
    }
    Some(found)
}

/// One path in the forms that a rule can be written against.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Absolute where the directory is known, cleaned.
    pub path: String,
    /// Where it leads with symbolic links followed, as far as they may be looked at; "" otherwise.
    pub resolved: String,
    /// Every form for comparing. A rule should look at all of them.
    pub keys: Vec<String>,
    /// "resolved", "partial", "absent", "unknown" or "loop".
    pub links: String,
    /// Spellings that hide something, such as "percent" or "invisible".
    pub notes: Vec<String>,
}

/// Resolves up to 64 paths; relative ones against `cwd`, or the invocation's working directory.
pub fn path_resolve(paths: &[&str], cwd: Option<&str>) -> Result<Vec<Path>, Errno> {
    let mut request = object().with("paths", paths.to_vec());
    if let Some(dir) = cwd {
        request = request.with("cwd", dir);
    }
    let request = request.to_json();
    let mut paths = Vec::new();
    replied(unsafe { raw::path_resolve(request.as_ptr(), request.len() as u32) }, |r| {
        r.object(|r, name| if name == "results" { list(r, &mut paths, path) } else { r.skip(0) })
    })?;
    Ok(paths)
}

fn path(r: &mut Reader, to: &mut Path) -> Option<()> {
    r.object(|r, name| match name {
        "path" => r.text(&mut to.path),
        "resolved" => r.text(&mut to.resolved),
        "keys" => texts(r, &mut to.keys),
        "links" => r.text(&mut to.links),
        "notes" => texts(r, &mut to.notes),
        _ => r.skip(0),
    })
}

/// The syntax of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// RE2, unanchored.
    Re2,
    /// `*`, `**`, `?`, `[class]`, `{a,b}` against the whole text; `/` separates.
    Glob,
}

/// The first match of a pattern in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Index in texts.
    pub text: usize,
    /// Index in patterns.
    pub pattern: usize,
    /// Byte offsets in the text.
    pub start: usize,
    /// See `start`.
    pub end: usize,
}

/// Reads an index; anything else is 0.
fn index(r: &mut Reader, to: &mut usize) -> Option<()> {
    let mut at = None;
    index_of(r, &mut at)?;
    *to = at.unwrap_or(0);
    Some(())
}

/// Which patterns match which texts; at most 64 of each.
pub fn pattern_match<P: AsRef<str>, T: AsRef<str>>(
    syntax: Syntax,
    patterns: &[P],
    texts: &[T],
) -> Result<Vec<Match>, Errno> {
    let request = object()
        .with("kind", if syntax == Syntax::Re2 { "re2" } else { "glob" })
        .with("patterns", patterns.iter().map(|p| p.as_ref()).collect::<Vec<&str>>())
        .with("texts", texts.iter().map(|t| t.as_ref()).collect::<Vec<&str>>())
        .to_json();
    let mut matches = Vec::new();
    replied(unsafe { raw::pattern_match(request.as_ptr(), request.len() as u32) }, |r| {
        r.object(|r, name| if name == "matches" { list(r, &mut matches, matched) } else { r.skip(0) })
    })?;
    Ok(matches)
}

fn matched(r: &mut Reader, to: &mut Match) -> Option<()> {
    r.object(|r, name| match name {
        "text" => index(r, &mut to.text),
        "pattern" => index(r, &mut to.pattern),
        "start" => index(r, &mut to.start),
        "end" => index(r, &mut to.end),
        _ => r.skip(0),
    })
}

/// A secret in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secret {
    /// Such as "github-token" or "private-key".
    pub kind: String,
    /// Byte offsets in the text.
    pub start: usize,
    /// See `start`.
    pub end: usize,
}

/// Kinds and places of the secrets in a text of at most 256 KiB, by place, not overlapping. The second value tells
/// that there are more.
pub fn find_secrets(text: &str) -> Result<(Vec<Secret>, bool), Errno> {
    let (mut secrets, mut truncated) = (Vec::new(), false);
    replied(unsafe { raw::find_secrets(text.as_ptr(), text.len() as u32) }, |r| {
        r.object(|r, name| match name {
            "secrets" => list(r, &mut secrets, secret),
            "truncated" => r.is_true(&mut truncated),
            _ => r.skip(0),
        })
    })?;
    Ok((secrets, truncated))
}

fn secret(r: &mut Reader, to: &mut Secret) -> Option<()> {
    r.object(|r, name| match name {
        "kind" => r.text(&mut to.kind),
        "start" => index(r, &mut to.start),
        "end" => index(r, &mut to.end),
        _ => r.skip(0),
    })
}

/// A program of another language than the shell's: what an interpreter gets as an argument, on its standard input or in
/// a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// "python", "perl", "javascript", "awk", "sql", "make", "crontab", "native" and others.
    pub language: String,
    /// The program, where it is at hand; "" otherwise.
    pub text: String,
    /// Parts of `text` are not known and stand as their source text.
    pub partial: bool,
    /// The file that holds it; "" where there is none.
    pub file: String,
    /// Its source text, cut.
    pub raw: String,
    /// Index of its command.
    pub command: Option<usize>,
}

/// The programs of other languages that a shell text would run. They are no doubt by themselves: a guard that judges
/// what runs judges their texts, or asks. At most 64 KiB of text.
pub fn unknown_programs(text: &str) -> Result<Vec<Program>, Errno> {
    let mut programs = Vec::new();
    parsed(text, None, Some(&mut programs))?;
    Ok(programs)
}

/// [`shell_parse`] and [`unknown_programs`] of one text, in one call.
pub fn shell_parse_with_programs(text: &str) -> Result<(Shell, Vec<Program>), Errno> {
    let (mut shell, mut programs) = (Shell::default(), Vec::new());
    parsed(text, Some(&mut shell), Some(&mut programs))?;
    Ok((shell, programs))
}
