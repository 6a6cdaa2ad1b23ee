//! A program's text in tokens: names, texts with what they escape, numbers, operators.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::escapes;
use super::lang::Lang;
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

    /// q(), qq(), qw(), qx(), m//, s///, tr///, y/// of Perl.
    fn perl_quote(&mut self, name: &str) -> bool {
        if !matches!(name, "q" | "qq" | "qw" | "qx" | "qr" | "m" | "s" | "tr" | "y") {
            return false;
        }
        let mut k = 0;
        while self.at(k) == ' ' {
            k += 1;
        }
        let d = self.at(k);
        let bracket = "({[<".contains(d);
        let ok = if k == 0 { d.is_ascii_punctuation() && !",;)=_".contains(d) } else { bracket || d == '/' || d == '|' };
        if !ok || d == '=' || (d == '-' && self.at(k + 1) == '>') || self.previous_is("{") && self.at(k) == '}' {
            return false;
        }
        self.i += k;
        let body = self.delimited();
        match name {
            "q" => self.push(Tok::Text([Seg::Plain(body)].into())),
            "qq" => {
                let segs = interpolated(&body, self.lang);
                self.push(Tok::Text(segs));
            }
            "qx" => {
                let segs = interpolated(&body, self.lang);
                self.push(Tok::Shell(segs));
            }
            "qw" => self.push(Tok::Words(body.split_whitespace().map(String::from).collect())),
            "m" | "qr" => {
                self.flags();
                self.push(Tok::Pattern);
            }
            _ => {
                if bracket {
                    while self.at(0).is_whitespace() {
                        self.i += 1;
                    }
                } else {
                    self.i -= 1;
                }
                let to = self.delimited();
                let flags = self.flags();
                self.push(Tok::Pattern);
                if name == "s" && flags.contains('e') {
                    self.push(Tok::Text([Seg::Code(to)].into()));
                }
            }
        }
        true
    }

    fn flags(&mut self) -> String {
        let mut out = String::new();
        while self.at(0).is_ascii_alphabetic() {
            out.push(self.at(0));
            self.i += 1;
        }
        out
    }

    /// The text from the delimiter here to its other one, which is left behind.
    fn delimited(&mut self) -> String {
        let open = self.at(0);
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            c => c,
        };
        self.i += 1;
        let mut depth = 0;
        let mut out = String::new();
        while self.i < self.c.len() {
            let c = self.at(0);
            if c == '\\' {
                if self.at(1) != open && self.at(1) != close {
                    out.push(c);
                }
                out.push(self.at(1));
                self.i += 2;
                continue;
            }
            self.i += 1;
            if c == close {
                if depth == 0 {
                    return out;
                }
                depth -= 1;
            } else if c == open {
                depth += 1;
            }
            out.push(c);
        }
        out
    }

    fn python_text(&mut self, raw: bool, f: bool) -> Vec<Seg> {
        let q = self.at(0);
        let long = self.at(1) == q && self.at(2) == q;
        self.i += if long { 3 } else { 1 };
        let mut body = String::new();
        while self.i < self.c.len() {
            if self.at(0) == '\\' {
                body.push('\\');
                body.push(self.at(1));
                self.i += 2;
                continue;
            }
            if self.at(0) == q && (!long || self.at(1) == q && self.at(2) == q) {
                self.i += if long { 3 } else { 1 };
                break;
            }
            body.push(self.at(0));
            self.i += 1;
        }
        if f {
            return braces(&body, raw, Lang::Python);
        }
        [Seg::Plain(if raw { body } else { escapes::undone(&body, Lang::Python) })].into()
    }

    /// The body of a text in quotes as it is written, the position behind it.
    fn quoted_body(&mut self) -> String {
        let q = self.at(0);
        self.i += 1;
        let mut body = String::new();
        while self.i < self.c.len() && self.at(0) != q {
            if self.at(0) == '\\' {
                body.push('\\');
                self.i += 1;
            }
            body.push(self.at(0));
            self.i += 1;
        }
        self.i += 1;
        body
    }

    fn text_in_quotes(&mut self) -> Vec<Seg> {
        let q = self.at(0);
        if self.lang == Lang::Python || self.lang == Lang::Calls && self.at(1) == q && self.at(2) == q {
            return self.python_text(false, false);
        }
        let body = self.quoted_body();
        let literal = q == '\'' && matches!(self.lang, Lang::Perl | Lang::Ruby | Lang::Php | Lang::Elixir);
        if literal {
            return [Seg::Plain(body.replace("\\'", "'").replace("\\\\", "\\"))].into();
        }
        if q == '"' && self.lang.interpolates() || q == '`' {
            return interpolated(&body, self.lang);
        }
        [Seg::Plain(escapes::undone(&body, self.lang))].into()
    }

    /// Takes the here-documents that this line began.
    fn here_documents(&mut self) {
        for (at, end, holds) in core::mem::take(&mut self.bodies) {
            let mut body = String::new();
            while self.i < self.c.len() {
                let mut line = String::new();
                while self.i < self.c.len() && self.at(0) != '\n' {
                    line.push(self.at(0));
                    self.i += 1;
                }
                self.i += 1;
                if line.trim() == end {
                    break;
                }
                body.push_str(line.trim_start());
                body.push('\n');
            }
            let segs = if holds { interpolated(&body, self.lang) } else { [Seg::Plain(body)].into() };
            if let Some(t) = self.out.get_mut(at) {
                t.tok = Tok::Text(segs);
            }
        }
    }

    fn here_document(&mut self) -> bool {
        if !matches!(self.lang, Lang::Perl | Lang::Ruby | Lang::Php) || !self.starts("<<") {
            return false;
        }
        let mut k = 2;
        while matches!(self.at(k), '<' | '~' | '-') {
            k += 1;
        }
        let q = self.at(k);
        let quoted = matches!(q, '\'' | '"');
        k += usize::from(quoted);
        let from = self.i + k;
        if !(self.at(k).is_ascii_uppercase() || self.at(k) == '_' || quoted) {
            return false;
        }
        while self.at(k).is_alphanumeric() || self.at(k) == '_' {
            k += 1;
        }
        let end: String = self.c[from..self.i + k].iter().collect();
        self.i += k + usize::from(quoted);
        self.bodies.push((self.out.len(), end, q != '\''));
        self.push(Tok::Text(Vec::new()));
        true
    }

    fn mark(&mut self, c: char) {
        match c {
            '"' | '\'' => {
                let segs = self.text_in_quotes();
                self.push(Tok::Text(segs));
                return;
            }
            '`' => {
                let segs = self.text_in_quotes();
                let text = matches!(self.lang, Lang::Js | Lang::Lua | Lang::R | Lang::Python | Lang::Calls | Lang::Elixir);
                self.push(if text { Tok::Text(segs) } else { Tok::Shell(segs) });
                return;
            }
            '[' if self.lang == Lang::Lua && matches!(self.at(1), '[' | '=') => {
                let mut k = 1;
                while self.at(k) == '=' {
                    k += 1;
                }
                if self.at(k) == '[' {
                    let end: String = core::iter::once(']').chain(core::iter::repeat('=').take(k - 1)).chain(core::iter::once(']')).collect();
                    self.i += k + 1;
                    let mut body = String::new();
                    while self.i < self.c.len() && !self.starts(&end) {
                        body.push(self.at(0));
                        self.i += 1;
                    }
                    self.i += end.len();
                    self.push(Tok::Text([Seg::Plain(body)].into()));
                    return;
                }
            }
            '$' | '@' | '%' if self.lang.has_sigils() || c != '%' && matches!(self.lang, Lang::Ruby | Lang::Calls) => {
                let mut k = 1;
                while matches!(self.at(k), '$' | '#') && self.lang.has_sigils() {
                    k += 1;
                }
                let named = self.at(k).is_alphabetic() || self.at(k) == '_';
                let special = c == '$' && !named && (self.at(k).is_ascii_digit() || "&!@0/\\,;.".contains(self.at(k))) && self.lang != Lang::Php;
                if named && !(c == '%' && self.after_operand()) {
                    self.i += k;
                    let from = self.i;
                    while self.at(0).is_alphanumeric() || self.at(0) == '_' || self.lang == Lang::Perl && self.starts("::") && self.at(2).is_alphabetic() {
                        self.i += if self.at(0) == ':' { 2 } else { 1 };
                    }
                    let name = self.c[from..self.i].iter().collect();
                    self.push(Tok::Var(name));
                    return;
                }
                if special {
                    self.i += k + 1;
                    self.push(Tok::Var(String::from("!")));
                    return;
                }
                if self.at(1) == '{' && c != '%' && self.lang.has_sigils() {
                    self.i += 1; // ${x}, @{...}: the braces hold it
                    return;
                }
            }
            '%' if self.lang == Lang::Ruby && !self.after_operand() || c == '%' && self.lang == Lang::Ruby && self.apart && self.at(1).is_ascii_alphabetic() && !self.at(2).is_ascii_alphanumeric() => {
                let kind = self.at(1);
                if "xwWiIqQ".contains(kind) && self.at(2).is_ascii_punctuation() {
                    self.i += 2;
                } else if "({[<|".contains(kind) {
                    self.i += 1;
                } else {
                    self.i += 1;
                    self.push(Tok::Op("%"));
                    return;
                }
                let body = self.delimited();
                let tok = match kind {
                    'x' => Tok::Shell(interpolated(&body, self.lang)),
                    'w' | 'W' | 'i' | 'I' => Tok::Words(body.split_whitespace().map(String::from).collect()),
                    'q' => Tok::Text([Seg::Plain(body)].into()),
                    _ => Tok::Text(interpolated(&body, self.lang)),
                };
                self.push(tok);
                return;
            }
            ':' if matches!(self.lang, Lang::Ruby | Lang::Elixir | Lang::Julia) && (self.at(1).is_alphabetic() || self.at(1) == '"') && !self.previous_is(":") && !self.after_colon() => {
                self.i += 1;
                if self.at(0) == '"' {
                    let segs = self.text_in_quotes();
                    self.push(Tok::Text(segs));
                    return;
                }
                let from = self.i;
                while self.at(0).is_alphanumeric() || matches!(self.at(0), '_' | '!') {
                    self.i += 1;
                }
                let name = self.c[from..self.i].iter().collect();
                self.push(Tok::Text([Seg::Plain(name)].into()));
                return;
            }
            '/' if self.lang.has_patterns() && (!self.after_operand() || self.bare_pattern()) => {
                if self.pattern() {
                    return;
                }
            }
            '<' if self.lang == Lang::Perl && !self.after_operand() || c == '<' && self.lang == Lang::Perl && self.after_function() => {
                let mut k = 1;
                while self.at(k) != '>' && self.at(k) != '\n' && self.at(k) != ';' && self.at(k) != '\0' && k < 200 {
                    k += 1;
                }
                if self.at(k) == '>' && self.at(1) != '<' && self.at(1) != '=' {
                    let body = self.c[self.i + 1..self.i + k].iter().collect();
                    self.i += k + 1;
                    self.push(Tok::Angle(body));
                    return;
                }
            }
            _ => {}
        }
        if c == '<' && self.here_document() {
            return;
        }
        match OPS.iter().find(|o| self.starts(o)) {
            Some(op) => {
                self.i += op.len();
                self.push(Tok::Op(op));
            }
            None => self.i += 1,
        }
    }

    /// Whether a colon here is that of a ternary or a member's: it follows an operand at once.
    fn after_colon(&self) -> bool {
        !self.apart && self.after_operand()
    }

    /// Behind a function's name in a language of calls without parentheses, a slash with a blank only before it begins a
    /// pattern.
    fn bare_pattern(&self) -> bool {
        let named = matches!(self.out.last().map(|t| &t.tok), Some(Tok::Name(_)));
        named && self.lang.bare_calls() && self.apart && !self.at(1).is_whitespace() && self.lang != Lang::Awk
    }

    fn after_function(&self) -> bool {
        match self.out.last().map(|t| &t.tok) {
            Some(Tok::Name(n)) => matches!(n.as_str(), "unlink" | "for" | "foreach" | "map" | "grep" | "print" | "join" | "rmtree" | "sort" | "chmod" | "eval" | "chomp" | "system"),
            _ => false,
        }
    }

    fn pattern(&mut self) -> bool {
        let mut k = 1;
        let mut class = false;
        loop {
            match self.at(k) {
                '\0' | '\n' => return false,
                '\\' => k += 1,
                '[' => class = true,
                ']' => class = false,
                '/' if !class => break,
                _ => {}
            }
            k += 1;
        }
        self.i += k + 1;
        self.flags();
        self.push(Tok::Pattern);
        true
    }
}

/// A text with expressions in it: "#{x}", "${x}", "$x", "{$x}".
pub fn interpolated(body: &str, lang: Lang) -> Vec<Seg> {
    let c: Vec<char> = body.chars().collect();
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut i = 0;
    let dollar = matches!(lang, Lang::Perl | Lang::Php | Lang::Julia | Lang::Calls);
    while i < c.len() {
        let next = c.get(i + 1).copied().unwrap_or('\0');
        if c[i] == '\\' {
            plain.push(c[i]);
            plain.push(next);
            i += 2;
            continue;
        }
        let opens = c[i] == '#' && next == '{' && matches!(lang, Lang::Ruby | Lang::Elixir)
            || matches!(c[i], '$' | '@') && next == '{' && lang != Lang::Ruby
            || c[i] == '{' && next == '$' && lang == Lang::Php
            || c[i] == '$' && next == '(' && lang == Lang::Julia;
        if opens {
            let from = if c[i] == '{' { i + 1 } else { i + 2 };
            let mut depth = 1;
            let mut k = from;
            while k < c.len() && depth > 0 {
                match c[k] {
                    '{' | '(' => depth += 1,
                    '}' | ')' => depth -= 1,
                    _ => {}
                }
                k += 1;
            }
            flush(&mut plain, &mut out, lang);
            let code: String = c[from..k.saturating_sub(1).max(from)].iter().collect();
            let named = code.chars().all(|c| c.is_alphanumeric() || c == '_');
            out.push(Seg::Code(if named && lang.has_sigils() { alloc::format!("${}", code) } else { code }));
            i = k;
            continue;
        }
        if (c[i] == '$' || c[i] == '@' && lang == Lang::Perl) && dollar && (next.is_alphabetic() || next == '_') {
            let mut k = i + 1;
            while k < c.len() && (c[k].is_alphanumeric() || c[k] == '_') {
                k += 1;
            }
            if k < c.len() && matches!(c[k], '[' | '{') && lang.has_sigils() {
                let close = if c[k] == '[' { ']' } else { '}' };
                if let Some(n) = c[k..].iter().position(|x| *x == close) {
                    k += n + 1;
                }
            }
            flush(&mut plain, &mut out, lang);
            let skip = usize::from(!lang.has_sigils());
            out.push(Seg::Code(c[i + skip..k].iter().collect()));
            i = k;
            continue;
        }
        plain.push(c[i]);
        i += 1;
    }
    flush(&mut plain, &mut out, lang);
    out
}

fn flush(plain: &mut String, out: &mut Vec<Seg>, lang: Lang) {
    if !plain.is_empty() {
        out.push(Seg::Plain(escapes::undone(plain, lang)));
        plain.clear();
    }
}

/// A text with expressions in braces, as f"{x}" has.
fn braces(body: &str, raw: bool, lang: Lang) -> Vec<Seg> {
    let c: Vec<char> = body.chars().collect();
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut i = 0;
    let undone = |t: &str| if raw { t.to_string() } else { escapes::undone(t, lang) };
    while i < c.len() {
        let next = c.get(i + 1).copied().unwrap_or('\0');
        if matches!(c[i], '{' | '}') && next == c[i] {
            plain.push(c[i]);
            i += 2;
        } else if c[i] == '{' {
            let mut depth = 0;
            let mut k = i;
            let mut end = 0; // of the expression: a format follows
            while k < c.len() {
                match c[k] {
                    '{' | '(' | '[' => depth += 1,
                    '}' | ')' | ']' => depth -= 1,
                    ':' | '!' if depth == 1 && end == 0 && c.get(k + 1) != Some(&'=') => end = k,
                    _ => {}
                }
                k += 1;
                if depth == 0 {
                    break;
                }
            }
            if !plain.is_empty() {
                out.push(Seg::Plain(undone(&plain)));
                plain.clear();
            }
            let end = if end == 0 { k.saturating_sub(1).max(i + 1) } else { end };
            out.push(Seg::Code(c[i + 1..end].iter().collect()));
            i = k;
        } else {
            plain.push(c[i]);
            i += 1;
        }
    }
    if !plain.is_empty() {
        out.push(Seg::Plain(undone(&plain)));
    }
    out
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
