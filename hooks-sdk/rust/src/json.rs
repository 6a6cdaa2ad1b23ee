//! Reading and writing JSON, enough for the replies of the host and for values that a hook builds.
//!
//! The reader takes what the host hands out. It is strict about form (no trailing text, no bad escapes), bounded in
//! depth, keeps the order of members and the source text of numbers; the first of two members with the same name wins
//! (the host hands out none).

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
        let mut r = Reader { s: text.as_bytes(), text, at: 0 };
        let v = r.value(0)?;
        r.blanks();
        if r.at == r.s.len() {
            Some(v)
        } else {
            None
        }
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

struct Reader<'a> {
    s: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
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

    fn word(&mut self, w: &str, v: Value) -> Option<Value> {
        if self.s[self.at..].starts_with(w.as_bytes()) {
            self.at += w.len();
            Some(v)
        } else {
            None
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.blanks();
        match *self.s.get(self.at)? {
            b'n' => self.word("null", Value::Null),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'"' => Some(Value::Text(self.string()?)),
            b'[' => {
                self.at += 1;
                let mut v = Vec::new();
                if self.eat(b']').is_some() {
                    return Some(Value::Array(v));
                }
                loop {
                    v.push(self.value(depth + 1)?);
                    if self.eat(b',').is_none() {
                        self.eat(b']')?;
                        return Some(Value::Array(v));
                    }
                }
            }
            b'{' => {
                self.at += 1;
                let mut v = Vec::new();
                if self.eat(b'}').is_some() {
                    return Some(Value::Object(v));
                }
                loop {
                    self.blanks();
                    let k = self.string()?;
                    self.eat(b':')?;
                    v.push((k, self.value(depth + 1)?));
                    if self.eat(b',').is_none() {
                        self.eat(b'}')?;
                        return Some(Value::Object(v));
                    }
                }
            }
            _ => self.number(),
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

    fn number(&mut self) -> Option<Value> {
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
        Some(Value::Number(self.text[from..self.at].to_string()))
    }

    fn hex4(&mut self) -> Option<u32> {
        let h = self.text.get(self.at..self.at + 4)?;
        if !h.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(h, 16).ok()
    }

    fn string(&mut self) -> Option<String> {
        if self.s.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        let mut out = String::new();
        let mut from = self.at;
        loop {
            // Long strings are mostly plain bytes.
            self.at += self.s[self.at..].iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20)?;
            let c = self.s[self.at];
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
