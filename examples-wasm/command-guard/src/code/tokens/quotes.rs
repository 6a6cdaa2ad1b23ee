//! Texts in quotes, and those that stand in the lines below: here-documents.

use alloc::string::String;
use alloc::vec::Vec;

use super::interpolated::braces;
use super::*;

impl Reader {
    /// q(), qq(), qw(), qx(), m//, s///, tr///, y/// of Perl.
    pub(super) fn perl_quote(&mut self, name: &str) -> bool {
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

    pub(super) fn flags(&mut self) -> String {
        let mut out = String::new();
        while self.at(0).is_ascii_alphabetic() {
            out.push(self.at(0));
            self.i += 1;
        }
        out
    }

    /// The text from the delimiter here to its other one, which is left behind.
    pub(super) fn delimited(&mut self) -> String {
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

    pub(super) fn python_text(&mut self, raw: bool, f: bool) -> Vec<Seg> {
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
    pub(super) fn quoted_body(&mut self) -> String {
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

    pub(super) fn text_in_quotes(&mut self) -> Vec<Seg> {
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
    pub(super) fn here_documents(&mut self) {
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

    pub(super) fn here_document(&mut self) -> bool {
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
}
