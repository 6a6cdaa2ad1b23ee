//! What a command has other programs do: code that it gives to an interpreter, and commands in its arguments.
//!
//! Code is no shell text, and what it does cannot be told from it. So the texts in code that starts programs are judged
//! as the commands that they may be, and code that starts programs, deletes, or makes code is a doubt. Other code is
//! fine: most of what agents run by `python3 -c` or `node -e` looks at data.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::finding::Finding;
use crate::hook::analysis::{self, Command, Syntax};
use crate::text::Text;

/// How a language starts programs where names alone do not tell it.
#[derive(Clone, Copy, PartialEq)]
enum Language {
    /// Python, JavaScript, Lua, R and the like: by functions.
    Functions,
    /// Perl, Ruby and PHP: also between backticks and by `open`.
    Backticks,
    /// awk: also by pipes.
    Awk,
}

fn language(c: &Command) -> Option<Language> {
    let base = c.name.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    match base {
        "python" | "pypy" | "node" | "nodejs" | "deno" | "bun" | "lua" | "luajit" | "Rscript" | "R" | "julia" | "tclsh"
        | "osascript" | "ipython" | "elixir" | "groovy" | "pwsh" | "powershell" => Some(Language::Functions),
        "perl" | "ruby" | "php" | "jruby" => Some(Language::Backticks),
        "awk" | "gawk" | "mawk" | "nawk" => Some(Language::Awk),
        _ => None,
    }
}

/// Names by which code starts programs.
const STARTS: [&str; 9] = [
    r#"\bsystem2?\s*(\(\s*[^)\s]|["'$@{<])"#,
    r#"\b(system|popen|spawn|exec|run)\s+as\b|\bimport\b[^\n;]*\b(system|popen|remove|unlink|rmdir)\b"#,
    r"\b(popen[234]?|posix_spawnp?|spawn\w*|exec(v|l|vp|lp|ve|le|vpe|lpe|Sync|File|FileSync))\s*[(\x22'$]",
    r#"(^|[^.\w])exec\s*(\(\s*[^)\s]|["'$@])"#,
    r"\b(subprocess|child_process|shell_exec|passthru|proc_open|pcntl_exec|Open3|execa|shelljs|getoutput|getstatusoutput|startfile)\b",
    r"\bos\s*\.\s*execute\b|\bBun\s*\.\s*(spawn|\$)|\bDeno\s*\.\s*(Command|run)\b|\bpty\s*\.|\bctypes\b|\bdlopen\b|\bffi\b",
    r"\bdo shell script\b|\b(?i:Invoke-Expression|Start-Process|iex)\b",
    r#"(^|[^.\w])(eval|compile|loadstring)\s*(\(|["'$@])|\bnew\s+Function\b|\b(instance|class|module)_eval\b"#,
    r"\b__import__\b|\b__builtins__\b|\bimportlib\b|\bgetattr\s*\(|\bglobals\s*\(|\bprocess\s*\.\s*binding\b",
];

/// The same where backticks and `open` do, too.
const BACKTICKS: [&str; 2] = [r"`|\bqx\b|%x\W", r"\bopen\b[^\n]*\||\bIO\.(popen|read|write)\b"];

/// The same in awk.
const AWK: [&str; 3] = [
    r#"\bsystem\s*\("#,
    r#"\|&?\s*"[^"]*\b(sh|bash|dash|zsh|ksh|xargs|rm)\b|\|&?\s*getline\b"#,
    r"\bprintf?\b[^;}|\n]*\|&?\s*[A-Za-z_(]",
];

/// Names by which code deletes or moves away.
const DELETES: [&str; 5] = [
    r"\b(rmtree|remove_tree|rm_rf?|rm_r|remove_dir(_all)?|remove_entry\w*|secure_rm|rimraf|removedirs|send2trash)\b",
    r"\b(rm|rmdir|unlink|remove|emptyDir|rename|truncate)Sync\b|\bDeno\s*\.\s*(remove|rename|truncate)\b",
    r"\b(rmdir|unlink)\s*[({\x22'$@]|\bunlink\b[^\n]*\b(glob|recursive)\b|\bfile_remove\b|\bFileUtils\b",
    r"\bos\s*\.\s*(remove|unlink|rmdir|removedirs|rename|replace|truncate)\b|\bshutil\s*\.\s*move\b|\.(unlink|rmdir)\s*\(",
    r"\b(File|Dir)\s*\.\s*(delete|unlink|rmdir|rename)\b|\{[^}]*\brm\b[^}]*\}|\.\s*rm\s*\(|\b(?i:Remove-Item)\b",
];

const RULE: &str = "unknown";

/// Judges the code that a command gives to an interpreter, in its arguments or on its input. The second value are the
/// texts in it that may be the command lines of what it starts.
pub fn judge(t: &Text, c: &Command) -> Result<(Option<Finding>, Vec<String>), crate::hook::Fail> {
    let language = match language(c) {
        Some(language) => language,
        None => return Ok((None, Vec::new())),
    };
    let mut text = String::new();
    let mut add = |s: &str| {
        text.push_str(s);
        text.push('\n');
    };
    c.args().iter().for_each(|w| add(&w.text));
    c.redirects.iter().filter(|r| r.op.starts_with("<<")).for_each(|r| add(&r.target.text));
    if let Some(from) = t.feeder(c) {
        if matches!(from.name.as_str(), "echo" | "printf" | "cat") {
            from.args().iter().for_each(|w| add(&w.text));
            from.redirects.iter().filter(|r| r.op.starts_with("<<")).for_each(|r| add(&r.target.text));
        }
    }
    let mut patterns: Vec<&str> = Vec::new();
    if language == Language::Awk {
        patterns.extend(AWK);
    } else {
        patterns.extend(STARTS);
    }
    if language == Language::Backticks {
        patterns.extend(BACKTICKS);
    }
    let starts = patterns.len();
    if language != Language::Awk {
        patterns.extend(DELETES);
    }
    let found = analysis::pattern_match(Syntax::Re2, &patterns, &[text.as_str()])?;
    if found.iter().any(|m| m.pattern < starts) {
        let what = format!("what the code given to {} would start cannot be told beforehand", c.name);
        return Ok((Some(Finding::ask(RULE, what)), lines(&text)));
    }
    if found.is_empty() {
        return Ok((None, Vec::new()));
    }
    let what = format!("what the code given to {} would delete cannot be told beforehand", c.name);
    Ok((Some(Finding::ask(RULE, what)), Vec::new()))
}

/// The most texts of one code that are judged one by one.
const TEXTS: usize = 16;

/// The texts between quotes: all of them as one line, as in ["rm", "-rf", "~"], and each that has a blank.
fn lines(code: &str) -> Vec<String> {
    let mut one = String::new();
    let mut out = Vec::new();
    for text in quoted(code) {
        if text.contains(' ') && out.len() < TEXTS {
            out.push(text.to_string());
        }
        one.push_str(text);
        one.push(' ');
    }
    out.push(one);
    out
}

/// The texts between quotes of one kind, without looking at escapes.
fn quoted(code: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(&['"', '\'', '`'][..]) {
        let quote = rest.as_bytes()[at] as char;
        let tail = &rest[at + 1..];
        let end = match tail.find(quote) {
            Some(end) => end,
            None => break,
        };
        if end > 0 {
            out.push(&tail[..end]);
        }
        rest = &tail[end + 1..];
    }
    out
}

/// Command lines that stand in the arguments of other programs.
pub fn carried(c: &Command) -> Vec<String> {
    let args = || c.args().iter().map(|w| w.text.as_str());
    let after = |flags: &[&str]| -> Vec<String> {
        let mut out: Vec<String> = c
            .args()
            .windows(2)
            .filter(|w| flags.contains(&w[0].text.as_str()))
            .map(|w| w[1].text.clone())
            .collect();
        out.extend(args().filter_map(|a| a.split_once('=')).filter(|(f, _)| flags.contains(f)).map(|(_, v)| v.to_string()));
        out
    };
    match c.name.as_str() {
        "npm" | "npx" | "pnpm" | "yarn" | "bunx" => after(&["-c", "--call"]),
        "git" => after(&["-c", "--config"])
            .iter()
            .filter_map(|v| v.split_once('='))
            .map(|(_, v)| v.trim_start_matches('!').to_string())
            .collect(),
        "vi" | "vim" | "nvim" | "view" | "ex" | "gdb" | "lldb" => args()
            .filter_map(|a| a.split_once('!').or_else(|| a.split_once("shell ")))
            .map(|(_, v)| v.to_string())
            .collect(),
        "make" | "gmake" | "just" => c
            .redirects
            .iter()
            .filter(|r| r.op.starts_with("<<"))
            .flat_map(|r| r.target.text.lines())
            .map(|l| l.trim_start_matches(&['\t', ' ', '@', '-'][..]).to_string())
            .collect(),
        "tar" => after(&["--to-command", "--checkpoint-action", "--use-compress-program", "-I"])
            .into_iter()
            .map(|v| v.trim_start_matches("exec=").to_string())
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_code() {
        assert_eq!(lines(r#"system("rm -rf ~")"#), ["rm -rf ~", "rm -rf ~ "]);
        assert_eq!(lines(r#"run(["rm", "-rf", "~"])"#), ["rm -rf ~ "]);
        assert_eq!(lines("print(1)"), [""]);
        assert_eq!(lines("it's"), [""]);
    }
}
