//! Finds the texts of a JSON document without building it: a document of 1 MiB may hold half a million values, and rules
//! ask about few of them.

use std::borrow::Cow;

use belay_hook as hook;
use hook::json::Value;

/// Goes from text to text. It looks at the structure alone: what the host hands out is valid JSON.
pub struct Scan<'a> {
    source: &'a str,
    at: usize,
    /// The arrays and objects round the place at hand, the outermost first.
    pub frames: Vec<Frame<'a>>,
    /// The next string is the name of a member.
    name: bool,
    broken: bool,
}

/// An array or object that is not at its end.
pub struct Frame<'a> {
    /// The name of the member at hand, as it is written: with its quotes and escapes. "" in an array.
    pub name: &'a str,
    /// The number of the element at hand, in an array.
    pub item: usize,
    /// Free for the user; None again for the next member or element.
    pub note: Option<usize>,
    object: bool,
}

impl<'a> Scan<'a> {
    pub fn new(source: &'a str) -> Scan<'a> {
        Scan { source, at: 0, frames: Vec::new(), name: false, broken: false }
    }

    /// Whether all of the document was read.
    pub fn complete(&self) -> bool {
        !self.broken && self.frames.is_empty() && self.at == self.source.len()
    }

    /// The next text that is a value; None at the end.
    pub fn text(&mut self) -> Option<Cow<'a, str>> {
        let bytes = self.source.as_bytes();
        while self.at < bytes.len() {
            match bytes[self.at] {
                b'"' => {
                    let text = match self.quoted() {
                        Some(text) => text,
                        None => break,
                    };
                    if !self.name {
                        return Some(plain(text));
                    }
                    self.name = false;
                    match self.frames.last_mut() {
                        Some(frame) => frame.name = text,
                        None => break,
                    }
                    continue;
                }
                b @ (b'[' | b'{') => {
                    self.name = b == b'{';
                    self.frames.push(Frame { name: "", item: 0, note: None, object: self.name });
                }
                b']' | b'}' => {
                    self.name = false;
                    if self.frames.pop().is_none() {
                        break;
                    }
                }
                b',' => match self.frames.last_mut() {
                    Some(frame) => {
                        frame.note = None;
                        frame.item += 1;
                        self.name = frame.object;
                    }
                    None => break,
                },
                _ => {}
            }
            self.at += 1;
        }
        self.broken = self.broken || self.at < bytes.len();
        None
    }

    /// The string that begins here, as it is written.
    fn quoted(&mut self) -> Option<&'a str> {
        let bytes = self.source.as_bytes();
        let from = self.at;
        if bytes.get(from) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        loop {
            self.at += bytes[self.at..].iter().position(|&b| b == b'"' || b == b'\\')?;
            if bytes[self.at] == b'"' {
                self.at += 1;
                return self.source.get(from..self.at);
            }
            self.at += 2;
            if self.at > bytes.len() {
                return None;
            }
        }
    }
}

/// The text of a string that stands in a document with its quotes.
pub fn plain(quoted: &str) -> Cow<'_, str> {
    if quoted.contains('\\') {
        if let Some(Value::Text(text)) = Value::parse(quoted) {
            return Cow::Owned(text);
        }
    }
    Cow::Borrowed(quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(json: &str) -> (Vec<(String, String)>, bool) {
        let mut scan = Scan::new(json);
        let mut out = Vec::new();
        while let Some(text) = scan.text() {
            let way = scan.frames.iter().map(|f| match f.name {
                "" => f.item.to_string(),
                name => plain(name).into_owned(),
            });
            out.push((way.collect::<Vec<_>>().join("/"), text.into_owned()));
        }
        (out, scan.complete())
    }

    #[test]
    fn every_text_is_found_with_its_way() {
        let json = r#" { "a" : [ "x" , 1 , { "b\"c" : "y\n" , "" : "e" } , [ ] , "z" ] , "d" : { } , "n" : -1.5e3 , "l" : null , "m":"" } "#;
        let want = [("a/0", "x"), ("a/2/b\"c", "y\n"), ("a/2/", "e"), ("a/4", "z"), ("m", "")];
        let (found, complete) = texts(json);
        let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, want);
        assert!(complete);
        assert_eq!(texts(r#""x""#), (vec![(String::new(), "x".to_string())], true));
        assert_eq!(texts("17"), (vec![], true));
        assert_eq!(texts("[[[[]],{}]]"), (vec![], true));
    }

    #[test]
    fn what_is_no_json_is_told() {
        for json in ["[", "[1", "[1,", "{\"a\"", "{\"a\":", "\"x", "\"x\\", "[]]", "]", "1,2", "[\"x"] {
            assert!(!texts(json).1, "{}", json);
        }
    }
}
