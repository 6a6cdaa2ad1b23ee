//! Texts, lists, objects, and the arguments of calls.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::cursor::Cursor;
use super::Reader;
use super::statements::MODIFIERS;
use crate::code::lang::Lang;
use crate::code::tokens::Tok;
use crate::code::value::{concat, Val};

impl Reader<'_> {
    pub(super) fn primary(&mut self, c: &mut Cursor) -> Val {
        if let Some(f) = self.lambda(c) {
            return f;
        }
        let tok = c.peek();
        match tok {
            Tok::Text(segs) => {
                c.i += 1;
                let mut v = self.segments(segs);
                while let (Tok::Text(more), true) = (c.peek(), matches!(self.lang, Lang::Python | Lang::Ruby)) {
                    c.i += 1;
                    let b = self.segments(more);
                    v = concat(&v, &b);
                }
                v
            }
            Tok::Shell(segs) => {
                c.i += 1;
                let v = self.segments(segs);
                self.told.line(&v);
                self.told.output(&v)
            }
            Tok::Words(words) => {
                c.i += 1;
                Val::List(words.iter().map(|w| Val::text(w.clone())).collect())
            }
            Tok::Angle(a) => {
                c.i += 1;
                match a.as_str() {
                    "" if self.lookup("ARGV").is_some() => {
                        let files = self.lookup("ARGV").unwrap_or(Val::Unknown).elements();
                        self.told.paths("cat", &files);
                        Val::Unknown
                    }
                    "STDIN" | "" | "<>" => self.given.stdin.clone().unwrap_or(Val::Unknown),
                    a if a.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$') => match self.lookup(a.trim_start_matches('$')) {
                        Some(Val::File(p, _)) => Val::Content(p),
                        Some(v) => v,
                        None => Val::Unknown,
                    },
                    a => {
                        let segs = crate::code::tokens::interpolated(a, self.lang);
                        match self.segments(&segs) {
                            Val::Text(t) => crate::code::texts::globbed(&t),
                            v => v,
                        }
                    }
                }
            }
            Tok::Num(n) => {
                c.i += 1;
                Val::Num(*n)
            }
            Tok::Pattern | Tok::End => {
                c.i += usize::from(*tok == Tok::Pattern);
                Val::Unknown
            }
            Tok::Var(n) => {
                c.i += 1;
                self.lookup(n).unwrap_or_else(|| self.well_known(n))
            }
            Tok::Op("(") | Tok::Op("[") => self.bracketed(c),
            Tok::Op("{") => self.braced(c),
            Tok::Op(_) => {
                c.i += 1;
                Val::Unknown
            }
            Tok::Name(n) if n == "getline" && self.lang == Lang::Awk => {
                c.i += 1;
                if matches!(c.peek(), Tok::Name(_)) {
                    c.i += 1;
                }
                if c.take("<") {
                    let p = self.postfix(c);
                    self.told.paths("cat", &[p]);
                }
                Val::Unknown
            }
            Tok::Name(n) => {
                c.i += 1;
                self.lookup(n).unwrap_or_else(|| Val::Name(n.clone()))
            }
        }
    }

    /// ( ... ) or [ ... ]: one value or a list; in Python also what is said for each of another list.
    pub(super) fn bracketed(&mut self, c: &mut Cursor) -> Val {
        let list = c.op("[");
        let end = c.close(c.i);
        c.i += 1;
        if self.lang == Lang::Python || self.lang == Lang::Julia {
            if let Some(v) = self.comprehension(c, end) {
                return v;
            }
        }
        let mut all = Vec::new();
        let mut comma = false;
        c.ends();
        while c.i < end.min(c.t.len()) && self.step() {
            let before = c.i;
            let v = self.expr(c);
            if c.op("=>") || c.op(":") && self.lang != Lang::Python {
                c.i += 1;
                c.ends();
                let value = self.expr(c);
                all.push(Val::Map(vec![(v.or_hole(), value)]));
            } else {
                all.push(v);
            }
            c.ends();
            if c.take(",") {
                comma = true;
                c.ends();
            }
            if c.i == before {
                c.i += 1;
            }
        }
        c.i = (end + 1).min(c.t.len());
        if list || comma || all.is_empty() {
            return Val::List(all);
        }
        all.pop().unwrap_or(Val::Unknown)
    }

    /// EXPR for x in LIST, before the bracket at end.
    pub(super) fn comprehension(&mut self, c: &mut Cursor, end: usize) -> Option<Val> {
        let mut depth = 0;
        let mut at = None;
        for k in c.i..end.min(c.t.len()) {
            match &c.t[k].tok {
                Tok::Op("(" | "[" | "{") => depth += 1,
                Tok::Op(")" | "]" | "}") => depth -= 1,
                Tok::Name(n) if n == "for" && depth == 0 && k > c.i => {
                    at = Some(k);
                    break;
                }
                Tok::Name(n) if n == "lambda" && depth == 0 => break,
                _ => {}
            }
        }
        let at = at?;
        // Each `for` in turn: a later one may go through what an earlier one names.
        let mut k = at;
        let limit = end.min(c.t.len());
        while k < limit {
            let mut head = Cursor { t: &c.t[..limit], i: k };
            self.header(&mut head);
            k = head.i.max(k + 1);
            while k < limit && c.t[k].tok != Tok::Name("for".into()) {
                k += 1;
            }
        }
        let v;
        let one = c.t[at..limit].iter().filter(|t| t.tok == Tok::Name("for".into())).count() == 1;
        let each = match (one, c.t.get(at + 1).map(|t| &t.tok), c.t.get(at + 2).map(|t| &t.tok)) {
            (true, Some(Tok::Name(n)), Some(Tok::Name(_))) => {
                let mut list = Cursor { t: &c.t[..limit], i: at + 3 };
                let all = self.expr(&mut list).elements();
                let known = all.len() <= 128 && all.iter().all(|v| v.known().is_some());
                if known { Some((n.clone(), all)) } else { None }
            }
            _ => None,
        };
        match each {
            Some((n, all)) => {
                let mut out = Vec::new();
                for x in all {
                    self.bind(&n, x);
                    out.push(self.expr(&mut Cursor { t: &c.t[..at], i: c.i }));
                }
                v = Val::List(out);
            }
            None => {
                v = Val::List(vec![self.expr(&mut Cursor { t: &c.t[..at], i: c.i })]);
            }
        }
        c.i = (end + 1).min(c.t.len());
        Some(v)
    }

    /// { ... } where a value stands: an object, or statements.
    pub(super) fn braced(&mut self, c: &mut Cursor) -> Val {
        let end = c.close(c.i);
        c.i += 1;
        if self.lang == Lang::Python {
            if let Some(v) = self.comprehension(c, end) {
                return v;
            }
        }
        let mut map = Vec::new();
        let mut list = Vec::new();
        let limit = end.min(c.t.len());
        while c.i < limit && self.step() {
            let before = c.i;
            c.ends();
            if c.i >= limit {
                break;
            }
            let key = match (c.peek(), c.ahead(1)) {
                (Tok::Name(n), Tok::Op(":" | "=>" | "=")) => {
                    c.i += 1;
                    Some(n.clone())
                }
                (Tok::Name(n), Tok::Op("(")) if self.lang == Lang::Js && matches!(c.t.get(c.close(c.i + 1) + 1).map(|t| &t.tok), Some(Tok::Op("{"))) => {
                    c.i += 1; // a method
                    let params = self.params(c);
                    let body = self.expression_body(c);
                    map.push((n.clone(), Val::Function(self.function(params, body))));
                    c.take(",");
                    continue;
                }
                _ => None,
            };
            let key = match key {
                Some(k) => Some(k),
                None => {
                    if c.name().map_or(false, |n| !self.plain_start(c) || n == "my") {
                        self.statement(c);
                        None
                    } else if self.targets(c) {
                        None
                    } else {
                        self.modifier(c);
                        let v = self.expr(c);
                        if c.op(":") || c.op("=>") {
                            Some(v.or_hole())
                        } else {
                            if let Some(n) = v.as_text() {
                                list.push(Val::text(n));
                            } else {
                                list.push(v);
                            }
                            None
                        }
                    }
                }
            };
            if let Some(k) = key {
                if c.take(":") || c.take("=>") || c.take("=") {
                    c.ends();
                    let v = self.expr(c);
                    map.push((k, v));
                }
            }
            c.take(",");
            if c.i == before {
                c.i += 1;
            }
        }
        c.i = (end + 1).min(c.t.len());
        if map.is_empty() && self.lang == Lang::Lua {
            return Val::List(list);
        }
        if map.is_empty() {
            return list.pop().unwrap_or(Val::Map(map));
        }
        Val::Map(map)
    }

    /// The arguments in parentheses that begin here, those with names apart.
    pub(super) fn arguments(&mut self, c: &mut Cursor, end: usize) -> (Vec<Val>, Vec<(String, Val)>) {
        let mut args = Vec::new();
        let mut named = Vec::new();
        if self.lang == Lang::Python {
            if let Some(v) = self.comprehension(c, end) {
                return (vec![v], named);
            }
        }
        let limit = end.min(c.t.len());
        while c.i < limit && self.step() {
            let before = c.i;
            c.ends();
            if c.i >= limit {
                break;
            }
            self.argument(c, &mut args, &mut named);
            c.ends();
            c.take(",");
            if c.i == before {
                c.i += 1;
            }
        }
        (args, named)
    }

    pub(super) fn argument(&mut self, c: &mut Cursor, args: &mut Vec<Val>, named: &mut Vec<(String, Val)>) {
        if let (Lang::Perl, Some("my" | "our" | "local"), Tok::Var(n)) = (self.lang, c.name(), c.ahead(1)) {
            args.push(Val::Name(n.clone())); // open my $f, ...
            c.i += 2;
            return;
        }
        let name = match (c.peek(), c.ahead(1)) {
            (Tok::Name(n), Tok::Op("=")) if !matches!(self.lang, Lang::Js | Lang::Perl | Lang::Php | Lang::Ruby) => Some(n),
            (Tok::Name(n), Tok::Op(":")) if matches!(self.lang, Lang::Ruby | Lang::Elixir | Lang::Calls | Lang::Php) => Some(n),
            (Tok::Name(n), Tok::Op("=>")) if matches!(self.lang, Lang::Perl) => Some(n),
            _ => None,
        };
        if let Some(n) = name {
            c.i += 2;
            let v = self.expr(c);
            named.push((n.clone(), v));
            return;
        }
        let v = self.expr(c);
        if c.op("=>") {
            c.i += 1;
            let value = self.expr(c);
            named.push((v.or_hole(), value));
        } else {
            args.push(v);
        }
    }

    /// The arguments of a call without parentheses.
    pub(super) fn bare_arguments(&mut self, c: &mut Cursor) -> (Vec<Val>, Vec<(String, Val)>) {
        let mut args = Vec::new();
        let mut named = Vec::new();
        loop {
            if !self.step() || matches!(c.peek(), Tok::End | Tok::Op(")" | "]" | "}")) || c.name().map_or(false, |n| MODIFIERS.contains(&n)) {
                break;
            }
            let before = c.i;
            self.argument(c, &mut args, &mut named);
            if !c.take(",") || c.i == before {
                break;
            }
            c.ends();
        }
        (args, named)
    }

    /// Whether a call without parentheses begins behind a name.
    pub(super) fn bare_call(&self, c: &Cursor, first: bool) -> bool {
        if !self.lang.bare_calls() || self.lang == Lang::Awk {
            return false;
        }
        if self.lang == Lang::Php {
            return false;
        }
        match c.peek() {
            Tok::Text(_) | Tok::Words(_) | Tok::Shell(_) => true,
            Tok::Angle(_) | Tok::Var(_) => first || c.apart(),
            Tok::Num(_) => c.apart(),
            Tok::Name(n) => c.apart() && !MODIFIERS.contains(&n.as_str()) && self.lang != Lang::Lua,
            Tok::Op("[") => self.lang == Lang::Ruby && c.apart(),
            Tok::Op("{") => self.lang == Lang::Lua,
            Tok::Op("*" | "&" | "-" | "\\" | "@") => c.apart() && self.lang == Lang::Perl && !matches!(c.peek(), Tok::Op("-" | "*" | "&")) ,
            _ => false,
        }
    }
}
