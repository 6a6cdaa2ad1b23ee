//! Files that the text of a program names. It is of a language that is not known here, so what counts is: a string that
//! means a protected file, not where strings are only compared or printed, in a text that reads something.

use crate::names::MORE;
use crate::search;
use crate::search::Case;

/// The strings of a program that it may read as files.
pub fn strings(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    bare(text, &mut out);
    let low = text.lowered();
    if !READS.iter().any(|w| search::has(&low, w)) {
        return out;
    }
    for variant in [text.to_string(), glued(text, "+.", ""), glued(text, ",/", "/")] {
        quoted(&variant, &mut out);
    }
    let more = out.len() > MOST;
    out.sort();
    out.dedup();
    if more {
        out.push(MORE.into());
    }
    out
}

/// Strings of one text that are judged.
const MOST: usize = 1000;

/// What reads, in one language or another.
const READS: &[&str] = &[
    "open", "read", "cat", "load", "copy", "slurp", "getline", "<", "include", "require", "stream", "send", "upload", "file", "exec", "system", "popen",
    "spawn", "subprocess", "backtick", "`", "import", "get-content", "gc ", "type ", "zip", "tar", "put ", "get ", "pg_", "\\i", "attach", "source",
    "path(", "io.", "link", "rename", "move", "download", "infile", ":r",
];

/// What stands before a string that is only named.
const NAMES: &[&str] = &[
    "exists(", "existssync(", "isfile(", "is_file(", "file?(", "exist?(", "stat(", "statsync(", "access(", "print(", "println(", "log(", "puts", "echo", "print",
    "==", "!=", "assert", "endswith(", "startswith(", "includes(", "append(", "push(", "write(", "writeline(", "chmod(", "unlink(", "remove(",
];

/// How many characters before a string are looked at: more than any of [`NAMES`] has.
const NAME: usize = 16;

/// The strings in quotes of a text, without those that are only named.
fn quoted(text: &str, out: &mut Vec<String>) {
    let b = text.as_bytes();
    let mut i = 0;
    while i < b.len() {
        let q = b[i];
        if q != b'\'' && q != b'"' && q != b'`' {
            i += 1;
            continue;
        }
        let mut end = i + 1;
        while end < b.len() && b[end] != q && end - i < 4096 {
            end += if b[end] == b'\\' { 2 } else { 1 };
        }
        if end >= b.len() || b[end] != q {
            i += 1;
            continue;
        }
        if let Some(s) = text.get(i + 1..end) {
            let before = text.get(..i).unwrap_or("").trim_end();
            let before = before.trim_end_matches(|c: char| matches!(c, 'r' | 'R' | 'f' | 'F' | 'b' | 'B' | ' '));
            let far = before.char_indices().rev().nth(NAME).map_or(0, |(at, _)| at);
            let before = before[far..].lowered();
            let behind = text.get(end + 1..).unwrap_or("").trim_start();
            let named = NAMES.iter().any(|n| before.ends_with(n)) || behind.starts_with("in ") || behind.starts_with("not in ")
                || behind.starts_with("==") || behind.starts_with(".in?");
            if !named && !s.is_empty() {
                add(s, out);
            }
        }
        i = end + 1;
    }
}

/// Notes a string, and the words of one that may be a command or a mode with a name: "</etc/shadow", "cat .env".
fn add(s: &str, out: &mut Vec<String>) {
    if out.len() > MOST {
        return;
    }
    let s = s.trim();
    let whole = s.trim_start_matches(&['<', '>', '+', '|'][..]).trim();
    out.push(whole.to_string());
    out.extend(command_words(whole));
}

/// The words of a text that is a command which reads what it names.
pub fn command_words(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().skip_while(|w| matches!(*w, "sudo" | "exec" | "command" | "env")).collect();
    if words.len() > 1 && COMMANDS.contains(&words[0].rsplit('/').next().unwrap_or("")) {
        return words[1..].iter().map(|w| w.trim_matches(&['\'', '"'][..]).to_string()).collect();
    }
    Vec::new()
}

/// The files that a program of sed reads: r FILE, R FILE.
pub fn sed_files(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in text.split(&['\n', ';', '{', '}'][..]) {
        if let Some(at) = line.find(&['r', 'R'][..]) {
            let address = line[..at].trim();
            let place = address.is_empty() || address.ends_with(&['/', '$', '!'][..]) || address.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '$');
            if place && line[at + 1..].starts_with(&[' ', '.', '/', '~'][..]) {
                out.push(line[at + 1..].trim().to_string());
            }
        }
    }
    out
}

/// Commands in a string that read what they name.
const COMMANDS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "cp", "mv", "scp", "tar", "base64", "xxd", "od", "strings", "grep", "sed", "awk", "curl", "bat", "nl", "tac",
    "zip", "rsync", "dd", "type", "get-content", "gc", "copy", "openssl", "ln", "hexdump",
];

/// Words without quotes, for languages that name files without them: editors, transfers, databases, PowerShell.
fn bare(text: &str, out: &mut Vec<String>) {
    for line in text.split(&['\n', ';', '|'][..]) {
        let mut words = line.split_whitespace();
        let verb = match words.next() {
            Some(v) => v.trim_start_matches(&[':', '+', '(', '$', '!'][..]).lowered(),
            None => continue,
        };
        let takes = matches!(
            verb.as_str(),
            "put" | "get" | "mput" | "mget" | "reput" | "reget" | "mirror" | "r" | "read" | "e" | "edit" | "sp" | "split" | "tabe" | "view" | "get-content" | "gc" | "type" | "cat"
                | "copy-item" | "copy" | "cpi" | "cp" | "move-item" | "select-string" | "sls" | "findstr" | "more" | "\\i" | "\\ir" | ".read" | ".import" | ".open"
                | "source" | "\\copy" | "invoke-webrequest" | "iwr" | "format-hex" | "certutil" | "compress-archive" | "xcopy" | "robocopy" | "shell"
        );
        if takes {
            out.extend(words.map(|w| w.trim_matches(&['\'', '"', ')', ','][..]).to_string()).filter(|w| !w.starts_with('-')));
        }
    }
}

/// Joins strings that stand beside each other with one of the marks between: 'a'+'b' is ab, 'a', 'b' is a/b.
fn glued(text: &str, marks: &str, with: &str) -> String {
    let b: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < b.len() {
        if b[i] == '\'' || b[i] == '"' {
            let mut j = i + 1;
            while j < b.len() && b[j] == ' ' {
                j += 1;
            }
            if j < b.len() && marks.contains(b[j]) {
                let mut k = j + 1;
                while k < b.len() && b[k] == ' ' {
                    k += 1;
                }
                if k < b.len() && (b[k] == '\'' || b[k] == '"') && i > 0 {
                    out.push_str(with);
                    i = k + 1;
                    continue;
                }
            }
        }
        out.push(b[i]);
        i += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read() {
        for (text, name, want) in [
            ("print(open('.env').read())", ".env", true),
            ("print('.env is ignored')", ".env", false),
            ("import os; print(os.path.exists('.env'))", ".env", false),
            ("assert '.env' in open('.gitignore').read()", ".env", false),
            ("open F,\"</etc/shadow\";print <F>", "/etc/shadow", true),
            ("open('/etc/'+'shadow').read()", "/etc/shadow", true),
            ("open(os.path.join(h, '.ssh', 'id_rsa'))", ".ssh/id_rsa", true),
            ("os.system('cat .env')", ".env", true),
            (":r .env", ".env", true),
            ("put .env", ".env", true),
            ("Get-Content .env", ".env", true),
        ] {
            assert_eq!(strings(text).iter().any(|s| s == name), want, "{text}: {:?}", strings(text));
        }
    }
}
