//! The texts that a call would run, as [`hook::analysis::input_lines`] finds them, without a tree of what stands there:
//! a command may be an array of 1 MiB.

use belay_hook as hook;
use hook::input;
use hook::Kind;

use crate::facts::Facts;
use crate::scan::Scan;

/// What a call would run.
#[derive(Default)]
pub struct Lines {
    pub list: Vec<String>,
    /// The tool runs another language than the shell's.
    pub foreign: bool,
    /// There is more than can be told.
    pub more: bool,
    /// One is longer than the host reads.
    pub long: bool,
}

/// The longest text of a shell that the host reads.
const LONGEST: usize = 64 << 10;

const WORDS: usize = 80; // fuel of a byte of an array of words

enum Line {
    Text(String),
    Long,
    None,
}

/// What the call would run; None when there is nothing of the kind, or not in a form that can be read.
pub fn of(facts: &Facts) -> Option<Lines> {
    let mut lines = Lines::default();
    let judged = match &*facts.judged() {
        Some(judged) => judged.clone(),
        None => {
            let at = ["/args/command", "/args/cmd"].into_iter().find(|at| facts.kind(at).is_some())?;
            match line(facts, at) {
                Line::Text(text) => lines.list.push(text),
                Line::Long => lines.long = true,
                Line::None => return None,
            }
            return Some(lines);
        }
    };
    lines.foreign = judged.is_true("foreign");
    lines.more = judged.is_true("more");
    for at in ["commands", "code"].iter().flat_map(|name| judged.list(name)) {
        match at.as_text().map_or(Line::None, |at| line(facts, at)) {
            Line::Text(text) => lines.list.push(text),
            Line::Long => lines.long = true,
            Line::None => lines.more = true,
        }
    }
    let any = !lines.list.is_empty() || lines.more || lines.long;
    any.then(|| lines)
}

fn line(facts: &Facts, at: &str) -> Line {
    match facts.kind(at) {
        Some(Kind::Text) => {
            facts.work.look_up();
            match input::get(at) {
                Some(text) if text.len() > LONGEST => Line::Long,
                text => text.map_or(Line::None, Line::Text),
            }
        }
        Some(Kind::Array) => {
            let source = facts.source(at);
            facts.work.take(WORDS * source.len());
            words(&source)
        }
        _ => Line::None,
    }
}

/// The words of an array, quoted and joined.
fn words(source: &str) -> Line {
    let mut scan = Scan::new(source);
    let mut line = String::new();
    let mut n = 0;
    while let Some(word) = scan.text() {
        // A text that stands deeper, or something else before it, is no word.
        if scan.frames.len() != 1 || scan.frames[0].object || scan.frames[0].item != n {
            return Line::None;
        }
        n += 1;
        if line.len() > LONGEST {
            continue; // whether all are words is still to be seen
        }
        if n > 1 {
            line.push(' ');
        }
        line.push('\'');
        line.push_str(&word.plain().replace('\'', "'\\''"));
        line.push('\'');
    }
    if n == 0 || !scan.complete() || scan.ended != n {
        return Line::None;
    }
    if line.len() > LONGEST {
        return Line::Long;
    }
    Line::Text(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_line() {
        let line = |json: &str| match words(json) {
            Line::Text(text) => text,
            Line::Long => "long".into(),
            Line::None => "none".into(),
        };
        assert_eq!(line(r#"["ls", "it's", "\u0061\n"]"#), "'ls' 'it'\\''s' 'a\n'");
        let all = |n: usize, last: &str| format!("[{}{}]", "\"word\",".repeat(n), last);
        assert_eq!(line(&all(10_000, "\"x\"")), "long");
        for json in ["[]", "[1]", r#"["a",1]"#, r#"["a",["b"]]"#, r#"["a",{}]"#, r#"{"a":"b"}"#, r#"[1,"a"]"#, &all(10_000, "1")] {
            assert_eq!(line(json), "none");
        }
    }
}
