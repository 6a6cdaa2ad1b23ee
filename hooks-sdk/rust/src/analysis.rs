//! What the host can tell about shell text, paths, patterns and secrets.
//!
//! A guard treats each of these as "cannot tell", and asks or blocks: an error, [`Shell::ok`] false,
//! [`Shell::truncated`], an entry in [`Shell::unknown`], a command without a name, and a word that matters with
//! [`Word::known`] false.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::errors::Errno;
use crate::json::{object, Value};
use crate::raw;
use crate::reads::{input, last_reply};

fn replied(code: i32) -> Result<Value, Errno> {
    Errno::check(code)?;
    Value::parse(&last_reply()?).ok_or(Errno::Invalid)
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

fn word(v: &Value) -> Word {
    Word {
        text: v.text("text").to_string(),
        known: v.is_true("known"),
        glob: v.is_true("glob"),
        tilde: v.is_true("tilde"),
        from: v.list("from").iter().filter_map(index_of).collect(),
    }
}

fn index_of(v: &Value) -> Option<usize> {
    v.as_int().and_then(|n| usize::try_from(n).ok())
}

fn texts(v: &[Value]) -> Vec<String> {
    v.iter().filter_map(Value::as_text).map(ToString::to_string).collect()
}

fn command(v: &Value) -> Command {
    Command {
        name: v.text("name").to_string(),
        words: v.list("words").iter().map(word).collect(),
        raw: v.text("raw").to_string(),
        assigns: v
            .list("assigns")
            .iter()
            .map(|a| (a.text("name").to_string(), a.get("value").map(word).unwrap_or_default()))
            .collect(),
        redirects: v
            .list("redirects")
            .iter()
            .map(|r| Redirect {
                op: r.text("op").to_string(),
                fd: r.int("fd").unwrap_or(-1),
                target: r.get("target").map(word).unwrap_or_default(),
            })
            .collect(),
        stdin_from: v.int("stdin_from").and_then(|n| usize::try_from(n).ok()),
        stdin: v.get("stdin").map(word),
        pipe: v.int("pipe").unwrap_or(0),
        parent: v.int("parent").and_then(|n| usize::try_from(n).ok()),
        via: texts(v.list("via")),
        context: texts(v.list("context")),
        cwd: v.get("cwd").map(word),
        remote: v.is_true("remote"),
        function: v.is_true("function"),
        recursive: v.is_true("recursive"),
        args_open: v.is_true("args_open"),
    }
}

/// Every command that a shell text would run. At most 64 KiB of text.
pub fn shell_parse(text: &str) -> Result<Shell, Errno> {
    Ok(shell(&replied(unsafe { raw::shell_parse(text.as_ptr(), text.len() as u32) })?))
}

fn shell(v: &Value) -> Shell {
    Shell {
        ok: v.is_true("ok"),
        error: v.text("error").to_string(),
        commands: v.list("commands").iter().map(command).collect(),
        unknown: v
            .list("unknown")
            .iter()
            .map(|u| Unknown {
                what: u.text("what").to_string(),
                raw: u.text("raw").to_string(),
                command: u.int("command").and_then(|n| usize::try_from(n).ok()),
                partial: u.is_true("partial"),
            })
            .collect(),
        truncated: v.is_true("truncated"),
    }
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
    let v = replied(unsafe { raw::path_resolve(request.as_ptr(), request.len() as u32) })?;
    Ok(v.list("results")
        .iter()
        .map(|r| Path {
            path: r.text("path").to_string(),
            resolved: r.text("resolved").to_string(),
            keys: texts(r.list("keys")),
            links: r.text("links").to_string(),
            notes: texts(r.list("notes")),
        })
        .collect())
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

fn index(v: &Value, name: &str) -> usize {
    v.int(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
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
    let v = replied(unsafe { raw::pattern_match(request.as_ptr(), request.len() as u32) })?;
    Ok(v.list("matches")
        .iter()
        .map(|m| Match {
            text: index(m, "text"),
            pattern: index(m, "pattern"),
            start: index(m, "start"),
            end: index(m, "end"),
        })
        .collect())
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
    let v = replied(unsafe { raw::find_secrets(text.as_ptr(), text.len() as u32) })?;
    let secrets = v
        .list("secrets")
        .iter()
        .map(|s| Secret { kind: s.text("kind").to_string(), start: index(s, "start"), end: index(s, "end") })
        .collect();
    Ok((secrets, v.is_true("truncated")))
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
#[inline] // built into the hooks that call it: the others keep their bytes
pub fn unknown_programs(text: &str) -> Result<Vec<Program>, Errno> {
    let v = replied(unsafe { raw::shell_parse(text.as_ptr(), text.len() as u32) })?;
    Ok(programs(&v))
}

/// [`shell_parse`] and [`unknown_programs`] of one text, in one call.
#[inline]
pub fn shell_parse_with_programs(text: &str) -> Result<(Shell, Vec<Program>), Errno> {
    let v = replied(unsafe { raw::shell_parse(text.as_ptr(), text.len() as u32) })?;
    Ok((shell(&v), programs(&v)))
}

#[inline]
fn programs(v: &Value) -> Vec<Program> {
    v.list("unknown_programs")
        .iter()
        .map(|p| Program {
            language: p.text("language").to_string(),
            text: p.text("text").to_string(),
            partial: p.is_true("partial"),
            file: p.text("file").to_string(),
            raw: p.text("raw").to_string(),
            command: p.int("command").and_then(|n| usize::try_from(n).ok()),
        })
        .collect()
}
