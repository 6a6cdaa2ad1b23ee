//! Looking for short words in short texts. What `str` has for it prepares the search, which costs more than searching
//! does here: names and options have a few dozen bytes.

use std::borrow::Cow;

/// Whether a text has a word in it.
pub fn has(text: &str, word: &str) -> bool {
    at(text, word).is_some()
}

/// Where the first such word begins.
pub fn at(text: &str, word: &str) -> Option<usize> {
    let (t, w) = (text.as_bytes(), word.as_bytes());
    let first = match w.first() {
        Some(first) => *first,
        None => return Some(0),
    };
    let last = t.len().checked_sub(w.len())?;
    (0..=last).find(|&i| t[i] == first && t[i..i + w.len()] == *w)
}

/// Whether a text has one of some characters of ASCII.
pub fn any(text: &str, of: &[u8]) -> bool {
    text.bytes().any(|b| of.contains(&b))
}

/// A text in lower case; one that is already is not copied.
pub fn lower(text: &str) -> Cow<str> {
    if text.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.lowered())
    }
}

/// Texts in one case. Only what can turn into a letter of ASCII is changed, as the names and options that texts are
/// compared with are of ASCII: tables of all letters would be a third of a hook's data.
pub trait Case {
    /// In lower case.
    fn lowered(&self) -> String;
    /// In upper case.
    fn uppered(&self) -> String;
}

impl Case for str {
    fn lowered(&self) -> String {
        self.chars().map(lower_char).collect()
    }

    fn uppered(&self) -> String {
        let one = |c: char| match c {
            '\u{17f}' => 'S',
            '\u{131}' => 'I',
            c => c.to_ascii_uppercase(),
        };
        self.chars().map(one).collect()
    }
}

/// A letter in lower case, where that is of ASCII.
pub fn lower_char(c: char) -> char {
    match c {
        '\u{212a}' => 'k', // the sign of Kelvin
        '\u{130}' => 'i',
        c => c.to_ascii_lowercase(),
    }
}

/// Whether a sorted list has a word.
pub fn listed(list: &[&str], word: &str) -> bool {
    list.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_texts() {
        for text in ["", "a", "aab", "ab", "xaab.aab", "äab"] {
            for word in ["", "a", "ab", "aab", "b", "aaab", "ä"] {
                assert_eq!(at(text, word), text.find(word), "{word} in {text}");
            }
        }
        assert!(any("a?b", b"*?[") && !any("ab", b"*?["));
        assert_eq!((lower("\u{212a}B\u{e4}").as_ref(), lower("ab").as_ref()), ("kb\u{e4}", "ab"));
        assert_eq!("a\u{17f}".uppered(), "AS");
    }
}
