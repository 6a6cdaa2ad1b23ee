//! What backslashes in a text mean, and texts that are encoded.

use alloc::string::String;
use alloc::vec::Vec;

use super::lang::Lang;
pub use protected_files::spelling::percent;

/// A text without its escapes.
pub fn undone(text: &str, lang: Lang) -> String {
    if !text.contains('\\') {
        return text.into();
    }
    let c: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < c.len() {
        if c[i] != '\\' || i + 1 == c.len() {
            out.push(c[i]);
            i += 1;
            continue;
        }
        let e = c[i + 1];
        i += 2;
        let number = |from: usize, most: usize, radix: u32| -> (Option<char>, usize) {
            let n = c[from.min(c.len())..].iter().take(most).take_while(|d| d.is_digit(radix)).count();
            let digits: String = c[from.min(c.len())..][..n].iter().collect();
            (u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32), from + n)
        };
        let (found, next) = match e {
            'x' | 'u' | 'U' if c.get(i) == Some(&'{') => {
                let (f, n) = number(i + 1, 8, 16);
                (f, n + 1)
            }
            'x' => number(i, 2, 16),
            'u' => number(i, 4, 16),
            'U' => number(i, 8, 16),
            '0'..='9' if lang == Lang::Lua => number(i - 1, 3, 10),
            '0'..='7' => number(i - 1, 3, 8),
            'n' => (Some('\n'), i),
            't' => (Some('\t'), i),
            'r' => (Some('\r'), i),
            'e' => (Some('\u{1b}'), i),
            'a' | 'b' | 'f' | 'v' => (Some(' '), i),
            '\n' => (None, i),
            other => (Some(other), i),
        };
        out.extend(found);
        i = next;
    }
    out
}

/// Text in base64, of either alphabet; `None` when it is none.
pub fn base64(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let (mut bits, mut n) = (0u32, 0);
    for b in text.bytes().filter(|b| !b.is_ascii_whitespace()) {
        let v = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => continue,
            _ => return None,
        };
        bits = bits << 6 | u32::from(v);
        n += 6;
        if n >= 8 {
            n -= 8;
            out.push((bits >> n) as u8);
        }
    }
    String::from_utf8(out).ok()
}

/// Text in base32.
pub fn base32(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let (mut bits, mut n) = (0u32, 0);
    for b in text.bytes().filter(|b| !b.is_ascii_whitespace()) {
        let v = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a',
            b'2'..=b'7' => b - b'2' + 26,
            b'=' => continue,
            _ => return None,
        };
        bits = bits << 5 | u32::from(v);
        n += 5;
        if n >= 8 {
            n -= 8;
            out.push((bits >> n) as u8);
        }
    }
    String::from_utf8(out).ok()
}

/// Text in hexadecimal digits.
pub fn hex(text: &str) -> Option<String> {
    let d: Vec<u32> = text.chars().filter(|c| !c.is_whitespace() && *c != ':').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    if d.len() % 2 != 0 {
        return None;
    }
    String::from_utf8(d.chunks(2).map(|p| (p[0] * 16 + p[1]) as u8).collect()).ok()
}

/// Text with its letters turned by 13.
pub fn rot13(text: &str) -> String {
    let turn = |c: char, a: u8| char::from((c as u8 - a + 13) % 26 + a);
    text.chars()
        .map(|c| match c {
            'a'..='z' => turn(c, b'a'),
            'A'..='Z' => turn(c, b'A'),
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(undone("\\x72\\u006d\\040\\57\\u{72}\\'", Lang::Js), "rm /r'");
        assert_eq!(undone("\\114\\109", Lang::Lua), "rm");
        assert_eq!(undone("a\\", Lang::Js), "a\\");
        assert_eq!(base64("cm0gLXJmIC8="), Some("rm -rf /".into()));
        assert_eq!(base64("!"), None);
        assert_eq!(base32("OJWQ===="), Some("rm".into()));
        assert_eq!(hex("726d"), Some("rm".into()));
        assert_eq!(hex("7"), None);
        assert_eq!(rot13("ez -es /"), "rm -rf /");
        assert_eq!(percent("%2fetc%"), "/etc%");
    }
}
