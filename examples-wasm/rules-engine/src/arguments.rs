//! The texts among a tool's arguments, with what the names of their members say about them.

use crate::quoting::Quoted;
use crate::scan::Scan;

/// What a member's name says about the texts in it, or in arrays in it.
#[derive(Clone, Copy, PartialEq)]
pub struct Class(usize);

impl Class {
    const PATH: usize = 1;
    const PATCH: usize = 2;
    const ADDRESS: usize = 4;
    const HOST: usize = 8;
    const NO_CALL: usize = 16;

    pub fn is_path(self) -> bool {
        self.0 & Class::PATH != 0
    }

    /// Text in which lines name files, as diff writes it.
    pub fn is_patch(self) -> bool {
        self.0 & Class::PATCH != 0
    }

    /// A text without a scheme that names a host.
    pub fn is_host(self) -> bool {
        self.0 & (Class::ADDRESS | Class::HOST) != 0
    }

    /// The texts of commands are read as commands; those of files are no calls.
    pub fn is_no_call(self) -> bool {
        self.0 & Class::NO_CALL != 0
    }

    fn of(name: &str) -> Class {
        // Only the end of a name counts, and short names in full.
        const LONGEST: usize = 64;
        let mut from = name.len().saturating_sub(LONGEST);
        while !name.is_char_boundary(from) {
            from += 1;
        }
        let mut buffer = [0; LONGEST];
        let mut n = 0;
        for b in name.bytes().skip(from).filter(|b| !matches!(b, b'_' | b'-' | b'.' | b' ')) {
            buffer[n] = b.to_ascii_lowercase();
            n += 1;
        }
        let name = std::str::from_utf8(&buffer[..n]).unwrap_or("");
        let ends = ["path", "paths", "file", "files", "dir", "directory", "filename"];
        let mut bits = match name {
            "folder" | "source" | "destination" | "src" | "dst" | "dest" | "target" | "root" | "from" | "to" | "filenames" => Class::PATH,
            _ if ends.iter().any(|end| name.ends_with(end)) => Class::PATH,
            _ => 0,
        };
        if from > 0 {
            return Class(bits);
        }
        bits |= match name {
            "patch" | "input" | "patchtext" | "diff" => Class::PATCH,
            "host" | "hostname" | "domain" | "server" => Class::HOST,
            "url" | "uri" | "urls" | "endpoint" => Class::ADDRESS,
            "command" | "cmd" | "content" | "newstring" | "oldstring" | "prompt" | "description" => Class::NO_CALL,
            _ => 0,
        };
        Class(bits)
    }
}

/// Calls f for each text that is a member, or stands in arrays in one. Whether all of the document was read, and in how
/// many steps.
pub fn texts<'a>(source: &'a str, mut f: impl FnMut(Class, Quoted<'a>)) -> (bool, usize) {
    let mut scan = Scan::new(source);
    while let Some(text) = scan.text() {
        let member = scan.frames.last().map_or(0, |frame| frame.member);
        let class = match member.checked_sub(1).and_then(|i| scan.frames.get_mut(i)) {
            Some(frame) => match frame.note {
                Some(class) => class,
                None => *frame.note.insert(Class::of(&frame.name.plain()).0),
            },
            None => continue,
        };
        f(Class(class), text);
    }
    (scan.complete(), scan.rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_texts_are() {
        let json = r#"{"file_path":"a","x":{"Target-Dir":["b",["c",{"y":"d"}]]},"patch":"e","url":["f"],"HOST":"g","command":"h","n":1}"#;
        let mut out = String::new();
        assert!(texts(json, |class, text| out += &format!("{}{} ", text.plain(), class.0)).0);
        assert_eq!(out, "a1 b1 c1 d0 e2 f4 g8 h16 ");
        let long = format!("{}_path", "\u{e9}".repeat(100));
        assert_eq!((Class::of(&long).0, Class::of(&format!("{}url", long)).0), (1, 0));
    }

    #[test]
    fn what_is_cut_is_not_complete() {
        assert!(!texts(r#"{"a":["x","y","z"]"#, |_, _| {}).0);
    }
}
