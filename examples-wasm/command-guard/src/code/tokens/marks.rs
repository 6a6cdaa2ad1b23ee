//! Marks: operators, sigils, quotes that begin a text, and patterns between slashes.

use alloc::string::String;

use super::*;

impl Reader {
    pub(super) fn mark(&mut self, c: char) {
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
    pub(super) fn after_colon(&self) -> bool {
        !self.apart && self.after_operand()
    }

    /// Behind a function's name in a language of calls without parentheses, a slash with a blank only before it begins a
    /// pattern.
    pub(super) fn bare_pattern(&self) -> bool {
        let named = matches!(self.out.last().map(|t| &t.tok), Some(Tok::Name(_)));
        named && self.lang.bare_calls() && self.apart && !self.at(1).is_whitespace() && self.lang != Lang::Awk
    }

    pub(super) fn after_function(&self) -> bool {
        match self.out.last().map(|t| &t.tok) {
            Some(Tok::Name(n)) => matches!(n.as_str(), "unlink" | "for" | "foreach" | "map" | "grep" | "print" | "join" | "rmtree" | "sort" | "chmod" | "eval" | "chomp" | "system"),
            _ => false,
        }
    }

    pub(super) fn pattern(&mut self) -> bool {
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
