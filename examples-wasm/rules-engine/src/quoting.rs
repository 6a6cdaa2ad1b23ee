//! Strings of JSON: what stands between their quotes, and texts as such strings.

use std::borrow::Cow;

use belay_hook as hook;
use hook::json::Value;

use crate::bytes;

/// A string as it stands in a document, without its quotes.
#[derive(Clone, Copy, Default)]
pub struct Quoted<'a> {
    pub source: &'a str,
    /// There are escapes in it.
    pub escapes: bool,
}

impl<'a> Quoted<'a> {
    /// What it takes to read it, in fuel.
    pub fn cost(self) -> usize {
        self.source.len() * if self.escapes { 100 } else { 20 } + 100
    }

    /// The text that it stands for.
    pub fn plain(self) -> Cow<'a, str> {
        if !self.escapes {
            return Cow::Borrowed(self.source);
        }
        match unescaped(self.source) {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(self.source),
        }
    }
}

fn unescaped(source: &str) -> Option<String> {
    let bytes = source.as_bytes();
    let mut out = vec![0; bytes.len()];
    let (mut at, mut len) = (0, 0);
    loop {
        let (read, written) = copy(&mut out[len..], &bytes[at..]);
        at += read;
        len += written;
        if at == bytes.len() {
            break;
        }
        let (c, used) = character(source, at)?;
        len += c.encode_utf8(out.get_mut(len..)?).len();
        at += used;
    }
    out.truncate(len);
    String::from_utf8(out).ok()
}

/// Copies up to the next escape that has digits: byte by byte, since where there are escapes, there are many.
#[inline(never)]
fn copy(to: &mut [u8], from: &[u8]) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    while read < from.len() && written < to.len() {
        let mut b = from[read];
        if b == b'\\' {
            b = match from.get(read + 1) {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b @ (b'"' | b'\\' | b'/')) => *b,
                _ => break,
            };
            read += 1;
        }
        to[written] = b;
        read += 1;
        written += 1;
    }
    (read, written)
}

/// The character that an escape stands for, and how many bytes the escape has.
#[inline(never)]
fn character(source: &str, at: usize) -> Option<(char, usize)> {
    let bytes = source.as_bytes();
    Some((
        match bytes.get(at + 1)? {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => match char::from_u32(hex(bytes, at + 2)?) {
                Some(c) => return Some((c, 6)),
                // Two halves make one character.
                None => match Value::parse(&format!("\"{}\"", source.get(at..at + 12)?))? {
                    Value::Text(one) => return Some((one.chars().next()?, 12)),
                    _ => return None,
                },
            },
            _ => return None,
        },
        2,
    ))
}

fn hex(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |n, &b| Some(n << 4 | char::from(b).to_digit(16)?))
}

/// Appends a text as a string of JSON.
pub fn write(out: &mut String, text: &str) {
    out.push('"');
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let at = bytes::escaped(bytes, from);
        out.push_str(&text[from..at]);
        match bytes.get(at) {
            None => break,
            Some(b'\n') => out.push_str("\\n"),
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(b) => {
                out.push_str("\\u00");
                out.push(char::from(b"0123456789abcdef"[usize::from(b >> 4)]));
                out.push(char::from(b"0123456789abcdef"[usize::from(b & 15)]));
            }
        }
        from = at + 1;
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_as_the_library_reads_them() {
        for source in ["", "x", r"a\nb\t\r\b\f\/\\\u0041\u00e9\ud83d\ude00 end", r"\\\\", r"\u0000", "\u{e9}\\\"\u{1f600}"] {
            let want = Value::parse(&format!("\"{}\"", source));
            let text = Quoted { source, escapes: true }.plain().into_owned();
            assert_eq!(want, Some(Value::Text(text.clone())), "{}", source);
            let mut out = String::new();
            write(&mut out, &text);
            assert_eq!(Value::parse(&out), Some(Value::Text(text)));
        }
        // What is no string of JSON stays.
        for source in ["\\", r"\u12", r"\ud83dx", r"\uzzzz"] {
            assert_eq!(Quoted { source, escapes: true }.plain(), source);
        }
    }
}
