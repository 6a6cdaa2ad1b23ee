//! Reading and writing JSON, enough for the replies of the host and for values that a hook builds.
//!
//! The reader takes what the host hands out. It is strict about form (no trailing text, no bad escapes), bounded in
//! depth, keeps the order of members and the source text of numbers; the first of two members with the same name wins
//! (the host hands out none).

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

const MAX_DEPTH: usize = 200;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// An object, in its order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Reads one value that fills the text.
    pub fn parse(text: &str) -> Option<Value> {
        let mut r = Reader::new(text);
        let v = r.value(0)?;
        r.ended().then(|| v)
    }

    /// The member of an object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members().iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The text of a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(s) => Some(s),
            _ => None,
        }
    }

    /// A number that is an integer in range.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Number(s) => s.parse().ok(),
            _ => None,
        }
    }

    /// A boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The elements of an array; none for anything else.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::Array(v) => v,
            _ => &[],
        }
    }

    /// The members of an object; none for anything else.
    pub fn members(&self) -> &[(String, Value)] {
        match self {
            Value::Object(v) => v,
            _ => &[],
        }
    }

    /// The text of a member that is a string, or "".
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_text).unwrap_or("")
    }

    /// A member that is an integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(Value::as_int)
    }

    /// Whether a member is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool) == Some(true)
    }

    /// The elements of a member that is an array.
    pub fn list(&self, name: &str) -> &[Value] {
        self.get(name).map(Value::items).unwrap_or(&[])
    }

    /// Appends the value as JSON.
    pub fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(n) => out.push_str(n),
            Value::Text(s) => quote(out, s),
            Value::Array(v) => {
                out.push('[');
                for (i, e) in v.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    e.write(out);
                }
                out.push(']');
            }
            Value::Object(v) => {
                out.push('{');
                for (i, (k, e)) in v.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    quote(out, k);
                    out.push(':');
                    e.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> String {
        let mut s = String::new();
        self.write(&mut s);
        s
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::Text(s.to_string())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Value {
        Value::Text(s)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Number(n.to_string())
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(v: Vec<T>) -> Value {
        Value::Array(v.into_iter().map(Into::into).collect())
    }
}

/// Builds an object: `object().with("reason", "why").with("max", 3).to_json()`.
pub fn object() -> Value {
    Value::Object(Vec::new())
}

impl Value {
    /// Adds a member to an object; on anything else it does nothing.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Value {
        if let Value::Object(members) = &mut self {
            members.push((name.to_string(), value.into()));
        }
        self
    }
}

/// Appends a text as a JSON string, with its quotes.
pub fn quote(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    for (i, b) in text.bytes().enumerate() {
        if b >= 0x20 && b != b'"' && b != b'\\' {
            continue;
        }
        out.push_str(&text[from..i]);
        from = i + 1;
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                out.push_str("\\u00");
                out.push(char::from(b"0123456789abcdef"[usize::from(b >> 4)]));
                out.push(char::from(b"0123456789abcdef"[usize::from(b & 15)]));
            }
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

/// Reads a document from its begin to its end: [`Value::parse`] into a tree, and the readers of replies member by member,
/// without one. A member of another kind than the reader asks for is passed over, as if it were not there.
pub(crate) struct Reader<'a> {
    s: &'a [u8],
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Reader<'a> {
        Reader { s: text.as_bytes(), text, at: 0 }
    }

    /// Whether nothing is left but blanks.
    pub(crate) fn ended(&mut self) -> bool {
        self.blanks();
        self.at == self.s.len()
    }

    fn blanks(&mut self) {
        while matches!(self.s.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, c: u8) -> Option<()> {
        self.blanks();
        if self.s.get(self.at) == Some(&c) {
            self.at += 1;
            Some(())
        } else {
            None
        }
    }

    /// What the next value begins with.
    fn next(&mut self) -> Option<u8> {
        self.blanks();
        self.s.get(self.at).copied()
    }

    /// Reads an object; each member's value is for `member` to read.
    pub(crate) fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        if self.next()? != b'{' {
            return self.skip(0);
        }
        self.at += 1;
        if self.eat(b'}').is_some() {
            return Some(());
        }
        loop {
            self.blanks();
            let name = self.name()?;
            self.eat(b':')?;
            member(self, &name)?;
            if self.eat(b',').is_none() {
                return self.eat(b'}');
            }
        }
    }

    /// Reads an array; each element is for `item` to read.
    pub(crate) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.next()? != b'[' {
            return self.skip(0);
        }
        self.at += 1;
        if self.eat(b']').is_some() {
            return Some(());
        }
        loop {
            item(self)?;
            if self.eat(b',').is_none() {
                return self.eat(b']');
            }
        }
    }

    /// Reads a string into `to`.
    pub(crate) fn text(&mut self, to: &mut String) -> Option<()> {
        if self.next()? != b'"' {
            return self.skip(0);
        }
        *to = self.string()?;
        Some(())
    }

    /// Reads an integer in range into `to`.
    pub(crate) fn int(&mut self, to: &mut Option<i64>) -> Option<()> {
        if !matches!(self.next()?, b'-' | b'0'..=b'9') {
            return self.skip(0);
        }
        *to = self.digits_of_number()?.parse().ok();
        Some(())
    }

    /// Reads whether the value is `true`.
    pub(crate) fn is_true(&mut self, to: &mut bool) -> Option<()> {
        *to = self.next()? == b't';
        self.skip(0)
    }

    /// Passes over a value.
    pub(crate) fn skip(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.next()? {
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'"' => self.string().map(drop),
            b'[' => self.array(|r| r.skip(depth + 1)),
            b'{' => self.object(|r, _| r.skip(depth + 1)),
            _ => self.digits_of_number().map(drop),
        }
    }

    fn word(&mut self, w: &str) -> Option<()> {
        if self.s[self.at..].starts_with(w.as_bytes()) {
            self.at += w.len();
            Some(())
        } else {
            None
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.next()? {
            b'n' => self.word("null").map(|()| Value::Null),
            b't' => self.word("true").map(|()| Value::Bool(true)),
            b'f' => self.word("false").map(|()| Value::Bool(false)),
            b'"' => Some(Value::Text(self.string()?)),
            b'[' => {
                let mut v = Vec::new();
                self.array(|r| {
                    v.push(r.value(depth + 1)?);
                    Some(())
                })?;
                Some(Value::Array(v))
            }
            b'{' => {
                let mut v = Vec::new();
                self.object(|r, name| {
                    v.push((name.to_string(), r.value(depth + 1)?));
                    Some(())
                })?;
                Some(Value::Object(v))
            }
            _ => Some(Value::Number(self.digits_of_number()?.to_string())),
        }
    }

    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while matches!(self.s.get(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > from {
            Some(())
        } else {
            None
        }
    }

    fn digits_of_number(&mut self) -> Option<&'a str> {
        let from = self.at;
        if self.s.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.s.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.s.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.s.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.s.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(&self.text[from..self.at])
    }

    fn hex4(&mut self) -> Option<u32> {
        let h = self.text.get(self.at..self.at + 4)?;
        if !h.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(h, 16).ok()
    }

    /// Moves to the next quote, backslash or control character. Strings are mostly plain bytes: eight at a time.
    fn plain(&mut self) -> Option<u8> {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x8080_8080_8080_8080;
        // The high bit of each byte that is 0; above the first one it may be wrong.
        let zero = |w: u64| w.wrapping_sub(ONES) & !w & HIGH;
        while let Some(eight) = self.s.get(self.at..self.at + 8) {
            let w = u64::from_le_bytes(eight.try_into().ok()?);
            let control = w.wrapping_sub(ONES * 0x20) & !w & HIGH;
            let stops = control | zero(w ^ (ONES * u64::from(b'"'))) | zero(w ^ (ONES * u64::from(b'\\')));
            if stops != 0 {
                self.at += (stops.trailing_zeros() / 8) as usize;
                return Some(self.s[self.at]);
            }
            self.at += 8;
        }
        self.at += self.s[self.at..].iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20)?;
        Some(self.s[self.at])
    }

    /// A member's name, which is short and has hardly ever an escape.
    fn name(&mut self) -> Option<Cow<'a, str>> {
        if self.s.get(self.at) != Some(&b'"') {
            return None;
        }
        let from = self.at + 1;
        let n = self.s[from..].iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20)?;
        if self.s[from + n] == b'"' {
            self.at = from + n + 1;
            return Some(Cow::Borrowed(&self.text[from..from + n]));
        }
        self.string().map(Cow::Owned)
    }

    fn string(&mut self) -> Option<String> {
        if self.s.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        let mut from = self.at;
        if self.plain()? == b'"' {
            self.at += 1;
            return Some(self.text[from..self.at - 1].to_string());
        }
        let mut out = String::new();
        loop {
            let c = self.plain()?;
            if c < 0x20 {
                return None;
            }
            out.push_str(&self.text[from..self.at]);
            self.at += 1;
            if c == b'"' {
                return Some(out);
            }
            let e = *self.s.get(self.at)?;
            self.at += 1;
            out.push(match e {
                b'"' | b'\\' | b'/' => char::from(e),
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'u' => {
                    let mut u = self.hex4()?;
                    if (0xd800..0xdc00).contains(&u) {
                        if self.s.get(self.at..self.at + 2)? != b"\\u" {
                            return None;
                        }
                        self.at += 2;
                        let low = self.hex4()?;
                        if !(0xdc00..0xe000).contains(&low) {
                            return None;
                        }
                        u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
                    }
                    char::from_u32(u)?
                }
                _ => return None,
            });
            from = self.at;
        }
    }
}
