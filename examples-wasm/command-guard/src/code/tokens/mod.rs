//! A program's text in tokens: names, texts with what they escape, numbers, operators.

mod interpolated;
mod marks;
mod quotes;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::escapes;
use super::lang::Lang;
pub use interpolated::interpolated;
use protected_files::search::Case;

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Seg {
    Plain(String),
    /// An expression that is put in.
    Code(String),
}

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub enum Tok {
    Name(String),
    /// A name behind a mark: $x is x, @ARGV is ARGV.
    Var(String),
    Text(Vec<Seg>),
    /// A text that a shell runs.
    Shell(Vec<Seg>),
    /// A list of words.
    Words(Vec<String>),
    /// A pattern that the program expands to names of files, or a stream: <*.c>, <STDIN>.
    Angle(String),
    Num(i64),
    /// A regular expression, a translation or a substitution.
    Pattern,
    Op(&'static str),
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub tok: Tok,
    /// Blanks at the beginning of its line.
    pub indent: usize,
    /// A blank stands before it.
    pub apart: bool,
    /// It is the first of its line.
    pub first: bool,
}

const OPS: &[&str] = &[
    "<=>", "===", "!==", "**=", "...", "||=", "&&=", "??=", "<<=", ">>=", "%>%", "//=", "|>", "=>", "->", "::", "?.", "==", "!=", "<=", ">=", "&&", "||",
    "??", "++", "--", "+=", "-=", "*=", "/=", ".=", "%=", "|=", "..", "<-", "<<", ">>", "=~", "!~", "**", "//", ":=", "<>", "(", ")", "[", "]", "{", "}", ",", ".", ":",
    "=", "+", "-", "*", "/", "%", "<", ">", "!", "?", "&", "|", "^", "~", "@", "#", "\\", "$",
];

/// Reads a text. It never fails: what is no token is left out.
pub fn tokens(text: &str, lang: Lang) -> Vec<Token> {
    let mut r = Reader { c: text.chars().collect(), i: 0, lang, out: Vec::new(), indent: 0, first: true, apart: false, bodies: Vec::new() };
    r.all();
    r.out
}

struct Reader {
    c: Vec<char>,
    i: usize,
    lang: Lang,
    out: Vec<Token>,
    indent: usize,
    first: bool,
    apart: bool,
    /// Here-documents whose text begins at the next line: where their token is, their end, whether they hold expressions.
    bodies: Vec<(usize, String, bool)>,
}

impl Reader {
    fn at(&self, n: usize) -> char {
        self.c.get(self.i + n).copied().unwrap_or('\0')
    }

    fn starts(&self, s: &str) -> bool {
        s.chars().enumerate().all(|(n, c)| self.at(n) == c)
    }

    fn push(&mut self, tok: Tok) {
        let token = Token { tok, indent: self.indent, apart: self.apart, first: self.first };
        self.out.push(token);
        self.first = false;
        self.apart = false;
    }

    fn all(&mut self) {
        while self.i < self.c.len() {
            let c = self.at(0);
            match c {
                '\n' => {
                    self.push(Tok::End);
                    self.i += 1;
                    self.here_documents();
                    self.first = true;
                    let from = self.i;
                    while matches!(self.at(0), ' ' | '\t') {
                        self.i += 1;
                    }
                    self.indent = self.i - from;
                }
                ';' => {
                    self.push(Tok::End);
                    self.i += 1;
                }
                '\\' if self.at(1) == '\n' => self.i += 2,
                c if c.is_whitespace() => {
                    self.apart = true;
                    self.i += 1;
                }
                '#' if self.lang.hash_comment() && !(self.lang == Lang::Perl && self.previous_is("$")) => self.line_comment(),
                '/' if self.lang.slash_comment() && self.at(1) == '/' => self.line_comment(),
                '/' if self.lang.slash_comment() && self.at(1) == '*' => {
                    self.i += 2;
                    while self.i < self.c.len() && !self.starts("*/") {
                        self.i += 1;
                    }
                    self.i += 2;
                }
                '-' if self.lang == Lang::Lua && self.at(1) == '-' => self.line_comment(),
                '<' if self.lang == Lang::Php && self.starts("<?php") => self.i += 5,
                '?' if self.lang == Lang::Php && self.at(1) == '>' => self.i += 2,
                c if c.is_ascii_digit() => self.number(),
                c if c.is_alphabetic() || c == '_' => self.name(),
                _ => self.mark(c),
            }
        }
        self.push(Tok::End);
    }


    fn line_comment(&mut self) {
        if self.lang == Lang::Lua && self.starts("--[[") {
            while self.i < self.c.len() && !self.starts("]]") {
                self.i += 1;
            }
            self.i += 2;
            return;
        }
        while self.i < self.c.len() && self.at(0) != '\n' {
            self.i += 1;
        }
    }

    fn previous_is(&self, op: &str) -> bool {
        matches!(self.out.last(), Some(Token { tok: Tok::Op(o), .. }) if *o == op)
    }

    /// Whether the token before ends an operand, so that a slash divides.
    fn after_operand(&self) -> bool {
        match self.out.last().map(|t| &t.tok) {
            Some(Tok::Name(n)) => !matches!(
                n.as_str(),
                "if" | "unless" | "and" | "or" | "not" | "return" | "split" | "grep" | "when" | "while" | "until" | "puts" | "print" | "typeof" | "in" | "of"
            ),
            Some(Tok::Var(_) | Tok::Text(_) | Tok::Num(_) | Tok::Words(_) | Tok::Shell(_) | Tok::Angle(_) | Tok::Pattern) => true,
            Some(Tok::Op(o)) => matches!(*o, ")" | "]" | "}"),
            _ => false,
        }
    }

    fn number(&mut self) {
        let from = self.i;
        while self.at(0).is_ascii_alphanumeric() || self.at(0) == '_' {
            self.i += 1;
        }
        let t: String = self.c[from..self.i].iter().filter(|c| **c != '_').collect();
        let low = t.lowered();
        let radix = |p: &str, r: u32| low.strip_prefix(p).and_then(|d| i64::from_str_radix(d.trim_end_matches('l'), r).ok());
        let octal = low.len() > 1 && low.starts_with('0') && low.bytes().all(|b| (b'0'..=b'7').contains(&b));
        let n = radix("0x", 16)
            .or_else(|| radix("0o", 8))
            .or_else(|| radix("0b", 2))
            .or_else(|| if octal { i64::from_str_radix(&low, 8).ok() } else { None })
            .or_else(|| low.trim_end_matches('l').trim_end_matches('n').parse().ok())
            .unwrap_or(0);
        if self.at(0) == '.' && self.at(1).is_ascii_digit() {
            self.i += 1;
            while self.at(0).is_ascii_alphanumeric() {
                self.i += 1;
            }
        }
        self.push(Tok::Num(n));
    }

    fn name(&mut self) {
        let from = self.i;
        while self.at(0).is_alphanumeric() || self.at(0) == '_' {
            self.i += 1;
        }
        if self.lang == Lang::Ruby && matches!(self.at(0), '!' | '?') && self.at(1) != '=' {
            self.i += 1;
        }
        if self.lang == Lang::Elixir && self.at(0) == '!' && self.at(1) == '(' {
            self.i += 1;
        }
        if self.lang == Lang::R {
            while self.at(0) == '.' || self.at(0).is_alphanumeric() || self.at(0) == '_' {
                self.i += 1;
            }
        }
        let name: String = self.c[from..self.i].iter().collect();
        let quote = matches!(self.at(0), '\'' | '"');
        let member = self.previous_is(".") || self.previous_is("->") || self.previous_is("::");
        if self.lang == Lang::Python && quote && name.len() <= 2 && name.chars().all(|c| "rRbBfFuU".contains(c)) {
            let low = name.lowered();
            let segs = self.python_text(low.contains('r'), low.contains('f'));
            self.push(Tok::Text(segs));
            return;
        }
        if self.lang == Lang::Perl && !member && self.perl_quote(&name) {
            return;
        }
        if self.lang == Lang::Calls && quote && matches!(name.as_str(), "s" | "f" | "r" | "raw") {
            let segs = self.text_in_quotes();
            self.push(Tok::Text(segs));
            return;
        }
        self.push(Tok::Name(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, lang: Lang) -> String {
        tokens(text, lang)
            .iter()
            .map(|t| match &t.tok {
                Tok::Name(n) => n.clone(),
                Tok::Var(n) => alloc::format!("${}", n),
                Tok::Text(s) => alloc::format!("{:?}", s.iter().map(|s| match s { Seg::Plain(t) => t.clone(), Seg::Code(c) => alloc::format!("<{}>", c) }).collect::<String>()),
                Tok::Shell(_) => "SHELL".into(),
                Tok::Words(w) => alloc::format!("{:?}", w),
                Tok::Angle(a) => alloc::format!("<{}>", a),
                Tok::Num(n) => n.to_string(),
                Tok::Pattern => "RE".into(),
                Tok::Op(o) => o.to_string(),
                Tok::End => ";".into(),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn of_languages() {
        for (lang, text, want) in [
            (Lang::Python, "f('a\\x2f', rb'\\x', f'{x!r}y') # c", "f ( \"a/\" , \"\\\\x\" , \"<x>y\" ) ;"),
            (Lang::Js, "/a(b)/.exec('ab')[1] // x", "RE . exec ( \"ab\" ) [ 1 ] ;"),
            (Lang::Js, "a / b; `x${y}`", "a / b ; \"x<y>\" ;"),
            (Lang::Perl, "s/a/b/; unlink <*.o>; system qw(rm -rf)", "RE ; unlink <*.o> ; system [\"rm\", \"-rf\"] ;"),
            (Lang::Perl, "\"$ENV{HOME}/x\"", "\"<$ENV{HOME}>/x\" ;"),
            (Lang::Ruby, "puts %x(ls); a.map(&:chr); \"#{x}\"", "puts SHELL ; a . map ( & \"chr\" ) ; \"<x>\" ;"),
            (Lang::Awk, "/chmod 777/ {n++}", "RE { n ++ } ;"),
            (Lang::Lua, "os.execute[[rm]] -- x", "os . execute \"rm\" ;"),
            (Lang::Python, "0o777 0x10", "511 16 ;"),
            (Lang::Perl, "chmod 0777, '/etc'", "chmod 511 , \"/etc\" ;"),
        ] {
            assert_eq!(kinds(text, lang), want, "{text}");
        }
    }
}
