//! Finds the texts of a JSON document without building it: a document of 1 MiB may hold half a million values, and rules
//! ask about few of them.

use crate::bytes;
use crate::quoting::Quoted;

/// Goes from text to text. It looks at the structure alone: what the host hands out is valid JSON.
pub struct Scan<'a> {
    source: &'a str,
    at: usize,
    /// The arrays and objects round the place at hand, the outermost first.
    pub frames: Vec<Frame<'a>>,
    /// How many elements the array had that ended last.
    pub ended: usize,
    /// How many steps it took.
    pub rounds: usize,
    /// The next string is the name of a member.
    name: bool,
    broken: bool,
}

/// An array or object that is not at its end.
pub struct Frame<'a> {
    /// The name of the member at hand, in an object.
    pub name: Quoted<'a>,
    /// The number of the element at hand, in an array.
    pub item: usize,
    /// Free for the user; None again for the next member or element.
    pub note: Option<usize>,
    pub object: bool,
    /// The number of the innermost object up to here, from 1; 0 for none.
    pub member: usize,
}

impl<'a> Scan<'a> {
    pub fn new(source: &'a str) -> Scan<'a> {
        Scan { source, at: 0, frames: Vec::new(), ended: 0, rounds: 0, name: false, broken: false }
    }

    /// Whether all of the document was read.
    pub fn complete(&self) -> bool {
        !self.broken && self.frames.is_empty() && self.at == self.source.len() && self.at > 0
    }

    /// The next text that is a value; None at the end.
    pub fn text(&mut self) -> Option<Quoted<'a>> {
        let bytes = self.source.as_bytes();
        loop {
            self.rounds += 1;
            let going = match bytes.get(self.at) {
                Some(b'"') if !self.name => match self.quoted() {
                    Some(text) => return Some(text),
                    None => None,
                },
                Some(b'"') => self.member(),
                Some(b'[') => self.begin(false),
                Some(b'{') => self.begin(true),
                Some(b']' | b'}') => self.end(),
                Some(_) => self.between(),
                None => return None,
            };
            if going.is_none() {
                self.broken = true;
                return None;
            }
        }
    }

    /// Goes to the next quote or bracket, over numbers and other values that are no texts.
    #[inline(never)]
    fn between(&mut self) -> Option<()> {
        let bytes = self.source.as_bytes();
        let (at, commas) = match bytes[self.at] {
            b',' => (self.at + 1, 1),
            b':' => (self.at + 1, 0),
            _ => bytes::structure(bytes, self.at),
        };
        self.at = at.max(self.at + 1);
        if commas > 0 {
            let frame = self.frames.last_mut()?;
            frame.note = None;
            frame.item += commas;
            self.name = frame.object;
        }
        Some(())
    }

    #[inline(never)]
    fn member(&mut self) -> Option<()> {
        self.name = false;
        let name = self.quoted()?;
        self.frames.last_mut()?.name = name;
        Some(())
    }

    #[inline(never)]
    fn begin(&mut self, object: bool) -> Option<()> {
        self.at += 1;
        if self.source.as_bytes().get(self.at) == Some(if object { &b'}' } else { &b']' }) {
            self.at += 1;
            return Some(()); // nothing is in it
        }
        self.name = object;
        let member = if object { self.frames.len() + 1 } else { self.frames.last().map_or(0, |f| f.member) };
        self.frames.push(Frame { name: Quoted::default(), item: 0, note: None, object, member });
        Some(())
    }

    #[inline(never)]
    fn end(&mut self) -> Option<()> {
        self.at += 1;
        self.name = false;
        self.ended = self.frames.pop()?.item + 1;
        Some(())
    }

    /// The string whose quote is here.
    #[inline(never)]
    fn quoted(&mut self) -> Option<Quoted<'a>> {
        let bytes = self.source.as_bytes();
        let from = self.at + 1;
        let mut at = from;
        let mut escapes = false;
        loop {
            at = bytes::either(bytes, at, b'"', b'\\');
            if *bytes.get(at)? == b'"' {
                self.at = at + 1;
                return Some(Quoted { source: self.source.get(from..at)?, escapes });
            }
            escapes = true;
            at += 2;
        }
    }
}

/// The bytes of an array or object, however it is spelled: without blanks between its parts, and with each character of
/// its strings as it is.
pub fn size(source: &str) -> usize {
    let bytes = source.as_bytes();
    let (mut n, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'"' {
            n += usize::from(!matches!(bytes[at], b' ' | b'\n' | b'\r' | b'\t'));
            at += 1;
            continue;
        }
        let mut scan = Scan::new(source);
        scan.at = at;
        match scan.quoted() {
            Some(text) => n += 2 + text.plain().len(),
            None => return n + bytes.len() - at,
        }
        at = scan.at;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(json: &str) -> (Vec<(String, String)>, bool) {
        let mut scan = Scan::new(json);
        let mut out = Vec::new();
        while let Some(text) = scan.text() {
            let way = scan.frames.iter().map(|f| if f.object { f.name.plain().into_owned() } else { f.item.to_string() });
            let inner = scan.frames.iter().rposition(|f| f.object).map_or(0, |i| i + 1);
            assert_eq!(scan.frames.last().map_or(0, |f| f.member), inner);
            out.push((way.collect::<Vec<_>>().join("/"), text.plain().into_owned()));
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
        for json in ["", "[", "[1", "[1,", "{\"a\"", "{\"a\":", "\"x", "\"x\\", "[]]", "]", "1,2", "[\"x"] {
            assert!(!texts(json).1, "{}", json);
        }
    }
    #[test]
    fn elements_are_counted() {
        for (json, n) in [(r#"["a",1,"b"]"#, 3), (r#"["a","b",[1,2]]"#, 3), (r#"["a"]"#, 1), (r#"["a", null , {} ]"#, 3)] {
            let mut scan = Scan::new(json);
            while scan.text().is_some() {}
            assert_eq!(scan.ended, n, "{}", json);
        }
    }

    #[test]
    fn sizes_are_the_same_however_a_value_is_spelled() {
        for (json, n) in [("[]", 2), ("[ 1 ,\n\t2 ]", 5), (r#"{"a b": "\u0041\n" }"#, 12), ("{\"\u{e9}\":1}", 8), ("[\"x", 3)] {
            assert_eq!(size(json), n, "{}", json);
        }
    }
}
