//! Whether a condition holds: yes, no, or it cannot be told.

use std::borrow::Cow;

use belay_hook as hook;
use hook::analysis::{self, Command, Syntax};
use hook::config;

use crate::facts::{cut, Facts, Read};
use crate::index::Index;
use crate::leaves::Leaf;
use crate::question::{self, Found};
use crate::wild;

#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    No,
    /// Why it cannot be told.
    Maybe(String),
    Yes,
}

impl Holds {
    fn of(yes: bool) -> Holds {
        if yes {
            Holds::Yes
        } else {
            Holds::No
        }
    }

    fn or_doubt(yes: bool, doubt: &Option<String>) -> Holds {
        match (yes, doubt) {
            (true, _) => Holds::Yes,
            (false, Some(why)) => Holds::Maybe(why.clone()),
            (false, None) => Holds::No,
        }
    }
}

/// The kinds of conditions, as the builder numbers them.
const NAMES: [&str; 16] = [
    "", "runtime", "agent", "user", "tool", "mcp_server", "command", "path", "host", "host_not", "size", "text", "time",
    "annotation", "", "config",
];

/// How a condition is called in a rules file.
pub fn name(index: &Index, at: usize) -> Read<&'static str> {
    match index.word(at)? & 0xff {
        14 => Ok(index.text(at + 8)?.rsplit('/').next().unwrap_or("?")),
        kind => Ok(NAMES.get(kind as usize).copied().unwrap_or("?")),
    }
}

pub fn holds(index: &Index, facts: &Facts, at: usize) -> Read<Holds> {
    let kind = index.word(at)? & 0xff;
    let n = index.size(at + 4)?;
    let body = at + 8;
    if !facts.work.left() {
        return Ok(Holds::Maybe(facts.work.why()));
    }
    match kind {
        1 => named(index, facts, "/runtime", body, n),
        2 => named(index, facts, "/agent", body, n),
        3 => named(index, facts, "/user", body, n),
        4 => {
            let patterns = index.texts(body, n)?;
            Ok(Holds::of(facts.tools()?.iter().any(|t| patterns.iter().any(|p| wild::matches(p, t)))))
        }
        5 => {
            let (server, tool) = (facts.text("/mcp/server"), facts.text("/tool"));
            let of_tool = || tool.as_deref()?.strip_prefix("mcp:")?.split(':').next();
            let patterns = index.texts(body, n)?;
            Ok(Holds::of(server.as_deref().or_else(of_tool).map_or(false, |s| patterns.iter().any(|p| wild::matches(p, s)))))
        }
        6 => command(index, facts, body, n),
        7 => path(index, facts, body, n),
        8 => {
            let patterns = index.texts(body, n)?;
            let hosts = facts.hosts()?;
            if !compare(facts, &patterns, &hosts.list) {
                return Ok(Holds::Maybe(facts.work.why()));
            }
            let known = |h: &&String| patterns.iter().any(|p| wild::matches(p, h));
            Ok(host(facts, hosts.list.iter().find(known), &hosts.doubt))
        }
        9 => {
            let patterns = index.texts(body, n)?;
            let hosts = facts.hosts()?;
            if !compare(facts, &patterns, &hosts.list) {
                return Ok(Holds::Maybe(facts.work.why()));
            }
            let other = |h: &&String| !patterns.iter().any(|p| wild::matches(p, h));
            Ok(host(facts, hosts.list.iter().find(other), &hosts.doubt))
        }
        10 => Ok(Holds::of(facts.size(index.text(body)?) > n)),
        11 => text(index, facts, body, n),
        12 => time(index, facts, body, n),
        13 => annotation(index, facts, body, n),
        14 => claimed(index, facts, body, n),
        15 => configured(index, body, n),
        _ => Err("the index of the rules has a condition that this engine does not know".into()),
    }
}

/// Takes what it costs to compare texts with patterns in which * stands for any text.
fn compare(facts: &Facts, patterns: &[&str], texts: &[String]) -> bool {
    let bytes: usize = texts.iter().map(|t| t.len() + 4).sum();
    let each: usize = patterns.iter().map(|p| if p.len() > 1 && p.contains('*') { 4 * p.len() } else { 40 }).sum();
    facts.work.take(bytes.saturating_mul(each) / 4)
}

fn host(facts: &Facts, found: Option<&String>, doubt: &Option<String>) -> Holds {
    if let Some(host) = found {
        facts.met.borrow_mut().host = Some(host.clone());
    }
    Holds::or_doubt(found.is_some(), doubt)
}

fn named(index: &Index, facts: &Facts, at: &str, body: usize, n: usize) -> Read<Holds> {
    let name = facts.text(at);
    let name = name.as_deref().unwrap_or("");
    Ok(Holds::of(index.texts(body, n)?.iter().any(|p| wild::matches(p, name))))
}

/// n offsets of command patterns: the program; words of the subcommand; flags, each a list of alternatives; arguments;
/// the program's flags that take the next word.
fn command(index: &Index, facts: &Facts, body: usize, n: usize) -> Read<Holds> {
    let commands = facts.commands()?;
    let mut maybe = None;
    facts.work.take(EACH * n * commands.list.len());
    for i in 0..n {
        let at = index.size(body + 4 * i)?;
        let program = index.text(at)?;
        let counts = [index.size(at + 8)?, index.size(at + 12)?, index.size(at + 16)?, index.size(at + 20)?];
        let mut next = at + 24;
        let mut texts = |count: usize| -> Read<Vec<&'static str>> {
            let list = index.texts(next, count)?;
            next += 8 * count;
            Ok(list)
        };
        let (sub, flags, args, valued) = (texts(counts[0])?, texts(counts[1])?, texts(counts[2])?, texts(counts[3])?);
        let patterns: usize = [&sub, &flags, &args, &valued].iter().flat_map(|list| list.iter()).map(|text| text.len() + EACH).sum();
        for c in commands.list.iter().filter(|c| program == "*" || program == c.name) {
            if !facts.work.take(c.words.len() * patterns) {
                return Ok(Holds::Maybe(facts.work.why()));
            }
            match one_command(c, &sub, &flags, &args, &valued) {
                Holds::Yes => {
                    facts.met.borrow_mut().command = Some((c.name.clone(), c.line()));
                    return Ok(Holds::Yes);
                }
                Holds::Maybe(why) => drop(maybe.get_or_insert(why)),
                Holds::No => {}
            }
        }
    }
    Ok(match maybe {
        Some(why) => Holds::Maybe(why),
        None => Holds::or_doubt(false, &commands.doubt),
    })
}

fn one_command(c: &Command, sub: &[&str], flags: &[&str], args: &[&str], valued: &[&str]) -> Holds {
    let open = c.args_open || c.args().iter().any(|w| !w.known);
    let mut doubt = None;
    let mut unsure = |what: &str| drop(doubt.get_or_insert_with(|| format!("{} of {} cannot be told beforehand", what, cut(&c.name))));
    if !sub.is_empty() {
        // The words that are no flags, and whether one may be the value of the flag before it.
        let mut words: Vec<(&str, bool, bool)> = Vec::new();
        let mut behind = false;
        let mut skip = false;
        for w in c.args() {
            let t = w.text.as_str();
            if skip {
                skip = false;
                continue;
            }
            if t.starts_with('-') && t.len() > 1 {
                skip = valued.contains(&t);
                behind = !t.contains('=') && t != "--" && !skip;
                continue;
            }
            words.push((t, w.known, behind));
            behind = false;
        }
        let plain: Vec<(&str, bool)> = words.iter().map(|(t, known, _)| (*t, *known)).collect();
        let without: Vec<(&str, bool)> = words.iter().filter(|(_, _, behind)| !behind).map(|(t, known, _)| (*t, *known)).collect();
        match (begins(&plain, sub, c.args_open), begins(&without, sub, c.args_open)) {
            (Some(true), _) => {}
            (Some(false), Some(false)) => return Holds::No,
            // Whether the flag before it takes a value is not known: the word may be the subcommand.
            (Some(false), Some(true)) | (_, None) | (None, _) => unsure("the subcommand"),
        }
    }
    for alternatives in flags {
        match alternatives.split('|').map(|f| flag(c, f)).fold(Some(false), either) {
            Some(true) => {}
            Some(false) if !open => return Holds::No,
            _ => unsure("whether the flag stands among the arguments"),
        }
    }
    for pattern in args {
        // A text with the sign itself in it is matched by all of the pattern.
        let is = |text: &str| pattern.split('|').any(|p| wild::matches(p, text)) || wild::matches(pattern, text);
        if !c.args().iter().any(|w| w.known && is(&w.text)) {
            let may_be = |text: &str| pattern.split('|').any(|p| wild::meet(&p.replace('*', "**"), text));
            let glob = c.args().iter().any(|w| w.glob && may_be(&w.text));
            if !open && !glob {
                return Holds::No;
            }
            unsure("an argument");
        }
    }
    match doubt {
        None => Holds::Yes,
        Some(why) => Holds::Maybe(why),
    }
}

fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) | (_, None) => None,
        _ => Some(false),
    }
}

/// Whether the words begin with those of a subcommand; None when that cannot be told.
fn begins(words: &[(&str, bool)], sub: &[&str], open: bool) -> Option<bool> {
    for (i, want) in sub.iter().enumerate() {
        match words.get(i) {
            Some((_, false)) => return None,
            Some((word, true)) if want.split('|').any(|w| w == *word) => {}
            Some(_) => return Some(false),
            None if open => return None,
            None => return Some(false),
        }
    }
    Some(true)
}

/// Whether a flag stands among the arguments: written out, with a value, in a bundle of short ones, or, which cannot be
/// told, shortened.
fn flag(c: &Command, flag: &str) -> Option<bool> {
    let mut unsure = false;
    for w in c.args() {
        let t = w.text.as_str();
        if t == "--" {
            break;
        }
        if !t.starts_with('-') || !w.known {
            continue;
        }
        let name = t.split('=').next().unwrap_or(t);
        if name == flag {
            return Some(true);
        }
        if flag.starts_with("--") {
            unsure = unsure || name.len() > 3 && flag.starts_with(name);
        } else if flag.len() == 2 && !t.starts_with("--") && t[1..].contains(&flag[1..]) {
            return Some(true);
        }
    }
    if unsure {
        None
    } else {
        Some(false)
    }
}

const GLOB_TEXT: usize = 4096;
const QUESTION: usize = 8 << 10; // bytes of the texts of one question
const EACH: usize = 32; // fuel of a comparison, and bytes that a question costs beside its texts
const CELL: usize = 40; // fuel of a place of a pattern against one of another

/// n patterns, each with the directory that it counts from: 0 none, 1 home, 2 the working directory.
fn path(index: &Index, facts: &Facts, body: usize, n: usize) -> Read<Holds> {
    let paths = facts.paths()?;
    let mut patterns = Vec::with_capacity(n);
    for i in 0..n {
        let (pattern, base) = (index.text(body + 12 * i)?, index.word(body + 12 * i + 8)?);
        patterns.push(match base {
            0 => pattern.to_string(),
            1 => format!("{}/{}", escaped(&facts.folders()?.0), pattern),
            _ => format!("{}/{}", escaped(&facts.folders()?.1), pattern),
        });
    }
    let mut doubt = paths.doubt.clone();
    let each: usize = patterns.iter().map(|p| p.len() + 4).sum();
    let mut keys: Vec<(&str, &str)> = Vec::new(); // with the paths that they stand for
    for p in &paths.list {
        for key in &p.keys {
            if p.glob {
                if !facts.work.take(CELL * each * key.len()) {
                    return Ok(Holds::Maybe(facts.work.why()));
                }
                let (home, cwd) = &*facts.folders()?;
                let key = match key.strip_prefix("~/") {
                    Some(rest) => format!("{}/{}", home, rest),
                    None if key.starts_with('/') => key.clone(),
                    None => format!("{}/{}", cwd, key.trim_start_matches("./")),
                };
                let hidden = key.rsplit('/').next().unwrap_or("").starts_with(&['*', '?', '['][..]) && !paths.hidden;
                let any = key.contains("/.") && (key.contains("/../") || key.contains("/./")) || patterns.iter().any(|p| {
                    // A shell's pattern finds a name that begins with a dot only if it does, too.
                    if hidden && p.rsplit('/').next().map_or(false, |name| name.starts_with('.')) {
                        return false;
                    }
                    wild::meet(p, &key) || p.strip_suffix("/**").map_or(false, |dir| wild::meet(dir, &key))
                });
                if any {
                    doubt.get_or_insert_with(|| format!("which files {} stands for cannot be told beforehand", cut(&key)));
                }
            } else if key.len() > GLOB_TEXT {
                doubt.get_or_insert_with(|| "a path is too long to be compared".to_string());
            } else {
                keys.push((key, &p.path));
            }
        }
    }
    let mut rest = keys.as_slice();
    while !rest.is_empty() {
        let (mut n, mut size) = (0, 0);
        while n < rest.len() && n < 32 && (n == 0 || size + rest[n].0.len() < QUESTION) {
            size += rest[n].0.len() + 1;
            n += 1;
        }
        if !facts.work.take((size + EACH) * (60 + 4 * each)) {
            return Ok(Holds::Maybe(facts.work.why()));
        }
        let (some, others) = rest.split_at(n);
        rest = others;
        match globs(&patterns, some)? {
            Some(Some(n)) => {
                facts.met.borrow_mut().path = Some(some[n].1.to_string());
                return Ok(Holds::Yes);
            }
            Some(None) => {}
            None => drop(doubt.get_or_insert_with(|| "a path is too long to be compared".to_string())),
        }
    }
    Ok(Holds::or_doubt(false, &doubt))
}

/// The first of the keys that a pattern matches. None where that is too much for the host, even for one key.
fn globs(patterns: &[String], keys: &[(&str, &str)]) -> Read<Option<Option<usize>>> {
    let texts: Vec<&str> = keys.iter().map(|k| k.0).collect();
    match analysis::pattern_match(Syntax::Glob, patterns, &texts) {
        Ok(found) => return Ok(Some(found.first().map(|m| m.text))),
        Err(hook::Errno::TooLarge) if keys.len() > 1 => {}
        Err(hook::Errno::TooLarge) => return Ok(None),
        Err(e) => return Err(e.into()),
    }
    let mut told = true;
    for n in 0..keys.len() {
        match globs(patterns, &keys[n..=n])? {
            Some(Some(_)) => return Ok(Some(Some(n))),
            Some(None) => {}
            None => told = false,
        }
    }
    Ok(told.then(|| None))
}

/// A text as a pattern that matches it alone.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim_end_matches('/').chars() {
        if "*?[]{}\\,!".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

const CHUNK: usize = 32 << 10; // of one text, and of the texts of one question

/// A pattern for texts: the expression, whether it can be tried line by line, the longest text, in bytes, that the host
/// tries it on, and the steps that a byte costs.
pub struct Pattern {
    pub text: &'static str,
    pub lines: bool,
    pub most: usize,
    pub steps: usize,
}

pub fn patterns(index: &Index, at: usize, n: usize) -> Read<Vec<Pattern>> {
    let one = |i: usize| {
        let how = index.size(at + 12 * i + 8)?;
        Ok(Pattern {
            text: index.text(at + 12 * i)?,
            lines: how & 1 == 1,
            most: (how >> 1 & 0xffff).clamp(1, CHUNK),
            steps: (how >> 17).max(1),
        })
    };
    (0..n).map(one).collect()
}

/// Pieces of a text that are short enough for the pattern, with their places; None where a line is too long, or the
/// pattern does not go by lines.
pub fn pieces<'a>(text: &'a str, pattern: &Pattern) -> Option<Vec<(usize, &'a str)>> {
    if text.len() <= pattern.most {
        return Some(vec![(0, text)]);
    }
    if !pattern.lines {
        return None;
    }
    let mut out = Vec::new();
    let mut from = 0;
    while text.len() - from > pattern.most {
        let end = from + text.as_bytes()[from..from + pattern.most].iter().rposition(|&b| b == b'\n')? + 1;
        out.push((from, &text[from..end]));
        from = end;
    }
    out.push((from, &text[from..]));
    Some(out)
}

/// How many pointers; the pointers; how many patterns; the patterns.
fn text(index: &Index, facts: &Facts, body: usize, n: usize) -> Read<Holds> {
    let at = body + 8 * n;
    let patterns = patterns(index, at + 4, index.size(at)?)?;
    let mut doubt: Option<String> = None;
    for pointer in index.texts(body, n)? {
        let leaves = facts.leaves(pointer);
        if let Some(why) = &leaves.doubt {
            doubt.get_or_insert_with(|| why.clone());
        }
        match search(facts, &leaves.list, &patterns)? {
            Holds::Yes => return Ok(Holds::Yes),
            Holds::Maybe(why) => drop(doubt.get_or_insert(why)),
            Holds::No => {}
        }
    }
    Ok(Holds::or_doubt(false, &doubt))
}

fn search(facts: &Facts, leaves: &[Leaf], patterns: &[Pattern]) -> Read<Holds> {
    let mut doubt = None;
    for pattern in patterns {
        let mut all: Vec<Cow<str>> = Vec::new();
        let mut short = String::new();
        for leaf in leaves {
            if is_short(&leaf.text, pattern) {
                if short.len() + leaf.text.len() >= pattern.most {
                    all.push(Cow::Owned(core::mem::take(&mut short)));
                }
                join(&mut short, &leaf.text);
                continue;
            }
            match pieces(&leaf.text, pattern) {
                Some(some) => all.extend(some.into_iter().map(|(_, s)| Cow::Borrowed(s))),
                None => drop(doubt.get_or_insert_with(|| too_long(&leaf.text))),
            }
        }
        if !short.is_empty() {
            all.push(Cow::Owned(short));
        }
        let mut from = 0;
        while from < all.len() {
            let (mut to, mut size) = (from, 0);
            while to < all.len() && to - from < 64 && (to == from || size + all[to].len() <= pattern.most) {
                size += all[to].len();
                to += 1;
            }
            match question::matches(facts, pattern, &all[from..to])? {
                Found::Matches(found) if !found.is_empty() => return Ok(Holds::Yes),
                Found::Matches(_) => {}
                Found::TooLong => drop(doubt.get_or_insert_with(|| too_long(&all[from]))),
                Found::TooMuch => return Ok(Holds::Maybe(facts.work.why())),
            }
            from = to;
        }
    }
    Ok(match doubt {
        Some(why) => Holds::Maybe(why),
        None => Holds::No,
    })
}

fn too_long(text: &str) -> String {
    format!("a text is too long to be searched: {} bytes", text.len())
}

const SHORT: usize = 256;

/// Whether a text may be searched as one line among others.
pub fn is_short(text: &str, pattern: &Pattern) -> bool {
    pattern.lines && text.len() < SHORT && text.len() < pattern.most && !text.as_bytes().contains(&b'\n')
}

pub fn join(lines: &mut String, text: &str) {
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines.push_str(text);
}

/// n is the days, Sunday the lowest bit; from and to in minutes of the day; minutes east of UTC.
fn time(index: &Index, facts: &Facts, body: usize, days: usize) -> Read<Holds> {
    let (from, to, east) = (index.word(body)?, index.word(body + 4)?, index.word(body + 8)? as i32);
    let now = match facts.text("/time").as_deref().and_then(minutes) {
        Some(now) => now + i64::from(east),
        None => return Ok(Holds::Maybe("the invocation has no time".into())),
    };
    let minute = now.rem_euclid(24 * 60) as u32;
    let day = |d: i64| days >> (d.rem_euclid(7) as usize) & 1 == 1;
    let today = now.div_euclid(24 * 60) + 4; // 1970-01-01 was a Thursday
    Ok(Holds::of(if from < to {
        day(today) && (from..to).contains(&minute)
    } else {
        // Beyond midnight the window belongs to the day on which it began.
        day(today) && minute >= from || day(today - 1) && minute < to
    }))
}

/// Minutes since 1970 of a time such as 2026-01-02T03:04:05.678Z.
fn minutes(s: &str) -> Option<i64> {
    let n = |from: usize, to: usize| s.get(from..to)?.parse::<i64>().ok();
    let (y, m, d, hour, minute) = (n(0, 4)?, n(5, 7)?, n(8, 10)?, n(11, 13)?, n(14, 16)?);
    if !s.ends_with('Z') || !(1..=12).contains(&m) {
        return None;
    }
    // Days from civil, by Howard Hinnant: years begin in March.
    let y = if m <= 2 { y - 1 } else { y };
    let era = y.div_euclid(400);
    let of_era = y - era * 400;
    let of_year = (153 * (if m > 2 { m - 3 } else { m + 9 }) + 2) / 5 + d - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((days * 24 + hour) * 60 + minute)
}

pub fn seconds(facts: &Facts) -> Option<i64> {
    let s = facts.text("/time")?;
    Some(minutes(&s)? * 60 + s.get(17..19)?.parse::<i64>().ok()?)
}

/// The pointer of the entry; whether a trusted hook must have written it; n values as JSON, none for any.
fn annotation(index: &Index, facts: &Facts, body: usize, n: usize) -> Read<Holds> {
    let entry = match facts.metadata(index.text(body)?)? {
        Some(entry) => entry,
        None => return Ok(Holds::No),
    };
    if index.word(body + 8)? == 1 && entry.text("tier") != "trusted" {
        return Ok(Holds::No);
    }
    let value = match entry.get("value") {
        Some(v) => v.to_json(),
        None => return Ok(Holds::No),
    };
    Ok(Holds::of(n == 0 || index.texts(body + 12, n)?.contains(&value.as_str())))
}

/// What the caller says of itself: the pointer, and n patterns. Where it says nothing, it cannot be told.
fn claimed(index: &Index, facts: &Facts, body: usize, n: usize) -> Read<Holds> {
    let at = index.text(body)?;
    match facts.text(at) {
        Some(s) => Ok(Holds::of(index.texts(body + 8, n)?.iter().any(|p| wild::matches(p, &s)))),
        None => Ok(Holds::Maybe(format!("the runtime does not say {}", at.rsplit('/').next().unwrap_or(at)))),
    }
}

/// What the operator configured for this hook: the pointer, and n values as JSON. What is not configured is none of them.
fn configured(index: &Index, body: usize, n: usize) -> Read<Holds> {
    let value = match config::value(index.text(body)?) {
        Some(v) => v.to_json(),
        None => return Ok(Holds::No),
    };
    Ok(Holds::of(index.texts(body + 8, n)?.contains(&value.as_str())))
}
