//! Texts with expressions in them.

use alloc::string::String;
use alloc::vec::Vec;

use super::*;

/// A text with expressions in it: "#{x}", "${x}", "$x", "{$x}".
pub fn interpolated(body: &str, lang: Lang) -> Vec<Seg> {
    let c: Vec<char> = body.chars().collect();
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut i = 0;
    let dollar = matches!(lang, Lang::Perl | Lang::Php | Lang::Julia | Lang::Calls);
    while i < c.len() {
        let next = c.get(i + 1).copied().unwrap_or('\0');
        if c[i] == '\\' {
            plain.push(c[i]);
            plain.push(next);
            i += 2;
            continue;
        }
        let opens = c[i] == '#' && next == '{' && matches!(lang, Lang::Ruby | Lang::Elixir)
            || matches!(c[i], '$' | '@') && next == '{' && lang != Lang::Ruby
            || c[i] == '{' && next == '$' && lang == Lang::Php
            || c[i] == '$' && next == '(' && lang == Lang::Julia;
        if opens {
            let from = if c[i] == '{' { i + 1 } else { i + 2 };
            let mut depth = 1;
            let mut k = from;
            while k < c.len() && depth > 0 {
                match c[k] {
                    '{' | '(' => depth += 1,
                    '}' | ')' => depth -= 1,
                    _ => {}
                }
                k += 1;
            }
            flush(&mut plain, &mut out, lang);
            let code: String = c[from..k.saturating_sub(1).max(from)].iter().collect();
            let named = code.chars().all(|c| c.is_alphanumeric() || c == '_');
            out.push(Seg::Code(if named && lang.has_sigils() { alloc::format!("${}", code) } else { code }));
            i = k;
            continue;
        }
        if (c[i] == '$' || c[i] == '@' && lang == Lang::Perl) && dollar && (next.is_alphabetic() || next == '_') {
            let mut k = i + 1;
            while k < c.len() && (c[k].is_alphanumeric() || c[k] == '_') {
                k += 1;
            }
            if k < c.len() && matches!(c[k], '[' | '{') && lang.has_sigils() {
                let close = if c[k] == '[' { ']' } else { '}' };
                if let Some(n) = c[k..].iter().position(|x| *x == close) {
                    k += n + 1;
                }
            }
            flush(&mut plain, &mut out, lang);
            let skip = usize::from(!lang.has_sigils());
            out.push(Seg::Code(c[i + skip..k].iter().collect()));
            i = k;
            continue;
        }
        plain.push(c[i]);
        i += 1;
    }
    flush(&mut plain, &mut out, lang);
    out
}

fn flush(plain: &mut String, out: &mut Vec<Seg>, lang: Lang) {
    if !plain.is_empty() {
        out.push(Seg::Plain(escapes::undone(plain, lang)));
        plain.clear();
    }
}

/// A text with expressions in braces, as f"{x}" has.
pub(super) fn braces(body: &str, raw: bool, lang: Lang) -> Vec<Seg> {
    let c: Vec<char> = body.chars().collect();
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut i = 0;
    let undone = |t: &str| if raw { t.to_string() } else { escapes::undone(t, lang) };
    while i < c.len() {
        let next = c.get(i + 1).copied().unwrap_or('\0');
        if matches!(c[i], '{' | '}') && next == c[i] {
            plain.push(c[i]);
            i += 2;
        } else if c[i] == '{' {
            let mut depth = 0;
            let mut k = i;
            let mut end = 0; // of the expression: a format follows
            while k < c.len() {
                match c[k] {
                    '{' | '(' | '[' => depth += 1,
                    '}' | ')' | ']' => depth -= 1,
                    ':' | '!' if depth == 1 && end == 0 && c.get(k + 1) != Some(&'=') => end = k,
                    _ => {}
                }
                k += 1;
                if depth == 0 {
                    break;
                }
            }
            if !plain.is_empty() {
                out.push(Seg::Plain(undone(&plain)));
                plain.clear();
            }
            let end = if end == 0 { k.saturating_sub(1).max(i + 1) } else { end };
            out.push(Seg::Code(c[i + 1..end].iter().collect()));
            i = k;
        } else {
            plain.push(c[i]);
            i += 1;
        }
    }
    if !plain.is_empty() {
        out.push(Seg::Plain(undone(&plain)));
    }
    out
}
