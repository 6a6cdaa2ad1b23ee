//! What an expression of a program is worth, as far as its text tells.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A part of a text that is not known.
pub const HOLE: char = '\u{f0001}';
/// All names in a directory.
pub const ANY: char = '\u{f0002}';
/// The home directory.
pub const HOME: char = '\u{f0003}';

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Val {
    /// A text, with marks for what is not known.
    Text(String),
    /// A number.
    Num(i64),
    /// A list.
    List(Vec<Val>),
    /// Named values: an object, or options of a call.
    Map(Vec<(String, Val)>),
    /// One of several.
    OneOf(Vec<Val>),
    /// What the program calls so, and does not define: `os.system`.
    Name(String),
    /// A function of the program.
    Function(usize),
    /// Text from the network.
    Net,
    /// An open file.
    File(Box<Val>, bool),
    /// What a file holds.
    Content(Box<Val>),
    /// Nothing is known.
    Unknown,
}

/// The most values that stand for one.
const MOST: usize = 16;
/// The longest text that is put together, in bytes.
const LONGEST: usize = 16 << 10;

impl Val {
    pub fn text(t: impl Into<String>) -> Val {
        Val::Text(t.into())
    }

    /// The text, when the value is one; what is not known is marked.
    pub fn as_text(&self) -> Option<String> {
        match self {
            Val::Text(t) => Some(t.clone()),
            Val::Num(n) => Some(alloc::format!("{}", n)),
            _ => None,
        }
    }

    /// The text of a value, a mark where it has none.
    pub fn or_hole(&self) -> String {
        self.as_text().unwrap_or_else(|| String::from(HOLE))
    }

    /// A text of which everything is known.
    pub fn known(&self) -> Option<String> {
        self.as_text().filter(|t| !t.contains(HOLE) && !t.contains(ANY))
    }

    /// The values that this stands for.
    pub fn each(&self) -> Vec<Val> {
        match self {
            Val::OneOf(all) => all.clone(),
            v => alloc::vec![v.clone()],
        }
    }

    /// The elements, of a list or of lists that this may be.
    pub fn elements(&self) -> Vec<Val> {
        match self {
            Val::List(all) => all.clone(),
            Val::OneOf(all) => all.iter().flat_map(Val::elements).collect(),
            Val::Map(all) => all.iter().map(|(k, _)| Val::text(k.clone())).collect(),
            v => alloc::vec![v.clone()],
        }
    }

    /// One element, whichever.
    pub fn element(&self) -> Val {
        match self {
            Val::Unknown | Val::Name(_) | Val::Function(_) | Val::Num(_) => Val::Unknown,
            Val::Content(_) | Val::File(..) => Val::Unknown,
            v => one_of(v.elements()),
        }
    }

    /// The named value of an object.
    pub fn member(&self, name: &str) -> Option<&Val> {
        match self {
            Val::Map(all) => all.iter().find(|(k, _)| k == name).map(|(_, v)| v),
            _ => None,
        }
    }
}

/// One of the values.
pub fn one_of(values: Vec<Val>) -> Val {
    let mut out: Vec<Val> = Vec::new();
    for v in values.iter().flat_map(Val::each) {
        if !out.contains(&v) {
            out.push(v);
        }
    }
    if out.contains(&Val::Net) {
        return Val::Net;
    }
    match out.len() {
        0 => Val::Unknown,
        1 => out.remove(0),
        n if n > MOST => Val::Unknown,
        _ => Val::OneOf(out),
    }
}

/// Two texts as one.
pub fn concat(a: &Val, b: &Val) -> Val {
    match (a, b) {
        (Val::Net, _) | (_, Val::Net) => Val::Net,
        (Val::Num(x), Val::Num(y)) => Val::Num(x.wrapping_add(*y)),
        (Val::List(x), Val::List(y)) => Val::List(x.iter().chain(y).cloned().collect()),
        (Val::OneOf(_), _) | (_, Val::OneOf(_)) => {
            let mut out = Vec::new();
            for x in a.each() {
                for y in b.each() {
                    if out.len() > MOST {
                        return Val::Unknown;
                    }
                    out.push(concat(&x, &y));
                }
            }
            one_of(out)
        }
        (Val::Unknown, Val::Unknown) => Val::Unknown,
        (Val::List(_), _) | (_, Val::List(_)) | (Val::Function(_), _) | (_, Val::Function(_)) => Val::Unknown,
        _ => {
            let mut t = a.or_hole();
            t.push_str(&b.or_hole());
            if t.len() > LONGEST {
                return Val::Unknown;
            }
            Val::Text(t)
        }
    }
}

/// Two parts of a path as one.
pub fn join_path(a: &Val, b: &Val) -> Val {
    if b.as_text().map_or(false, |t| t.starts_with('/') || t.starts_with(HOME)) {
        return b.clone();
    }
    match a.as_text() {
        Some(t) if t.ends_with('/') || t.is_empty() => concat(a, b),
        _ => concat(&concat(a, &Val::text("/")), b),
    }
}

/// A text as the shell's source of one word.
pub fn quoted(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c == HOLE) {
        return "\"$UNKNOWN\"".into();
    }
    let mut out = String::new();
    let mut open = false;
    let mut rest = text;
    for home in ["~", "\u{f0003}"] {
        if let Some(r) = text.strip_prefix(home).filter(|r| r.is_empty() || r.starts_with('/')) {
            out.push('~');
            rest = r;
        }
    }
    for c in rest.chars() {
        match c {
            ANY | HOME | '\'' => {
                if open {
                    out.push('\'');
                    open = false;
                }
                out.push_str(match c {
                    ANY => "*",
                    HOME => "$HOME",
                    _ => "\\'",
                });
            }
            c => {
                // A name of which a part is not known is like any other name in its place.
                if !open && !(c == '/' || c == '.' || c == '-' || c.is_ascii_alphanumeric()) {
                    out.push('\'');
                    open = true;
                }
                out.push(if c == HOLE { 'x' } else { c });
            }
        }
    }
    if open {
        out.push('\'');
    }
    if out.is_empty() {
        out.push_str("''");
    }
    out
}

/// A path that a program opens: its pattern characters count only where the program expands them.
pub fn pattern(text: &str) -> String {
    let mut t = String::new();
    for c in text.chars() {
        t.push(if c == '*' { ANY } else { c });
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for (text, want) in [
            ("a b", "a' b'"),
            ("/etc", "/etc"),
            ("~/x", "~/x"),
            ("\u{f0003}/x", "~/x"),
            ("\u{f0001}", "\"$UNKNOWN\""),
            ("build/\u{f0001}", "build/'x'"),
            ("/etc/\u{f0002}", "/etc/*"),
            ("it's", "it\\'s"),
            ("*", "'*'"),
            ("", "''"),
        ] {

            assert_eq!(quoted(text), want, "{text}");
        }
    }

    #[test]
    fn together() {
        let all = one_of(alloc::vec![Val::text("a"), Val::text("b")]);
        assert_eq!(concat(&all, &Val::text("c")), Val::OneOf(alloc::vec![Val::text("ac"), Val::text("bc")]));
        assert_eq!(join_path(&Val::text("/a"), &Val::text("b")), Val::text("/a/b"));
        assert_eq!(join_path(&Val::text("/a"), &Val::text("/b")), Val::text("/b"));
    }
}
