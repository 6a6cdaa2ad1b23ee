//! Assignments and operators.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::cursor::Cursor;
use super::{Reader, DEPTH};
use super::statements::MODIFIERS;
use crate::code::lang::Lang;
use crate::code::tokens::{tokens, Seg, Tok};
use crate::code::value::{concat, join_path, one_of, Val, HOLE};

impl Reader<'_> {
    /// An expression, an assignment included.
    pub fn expr(&mut self, c: &mut Cursor) -> Val {
        if self.depth > DEPTH || !self.step() {
            self.told.more = true;
            c.i = c.t.len();
            return Val::Unknown;
        }
        self.depth += 1;
        let v = self.assignment(c);
        self.depth -= 1;
        v
    }

    pub(super) fn assignment(&mut self, c: &mut Cursor) -> Val {
        if let Some((name, op, next)) = self.assigned(c) {
            c.i = next;
            c.ends_within();
            let v = if op == "=" && !matches!(self.lang, Lang::Perl | Lang::Js) { self.assigned_value(c) } else { self.expr(c) };
            let v = match op {
                "+=" | ".=" | "<<" => concat(&self.lookup(&name).unwrap_or(Val::Unknown), &v),
                "||=" | "??=" | "//=" => one_of(vec![self.lookup(&name).unwrap_or(Val::Unknown), v]),
                "=" | ":=" | "<-" => v,
                _ => Val::Unknown,
            };
            self.bind(&name, v.clone());
            return v;
        }
        let v = self.binary(c, 0);
        if c.op("?") && !matches!(self.lang, Lang::Python | Lang::Lua | Lang::R) {
            c.i += 1;
            let a = self.expr(c);
            if c.take(":") {
                let b = self.expr(c);
                return one_of(vec![a, b]);
            }
            return a;
        }
        if self.lang == Lang::Python && c.name() == Some("if") {
            let mut look = Cursor { t: c.t, i: c.i + 1 };
            let condition = self.binary(&mut look, 0);
            drop(condition);
            if look.name() == Some("else") {
                c.i = look.i + 1;
                let other = self.expr(c);
                return one_of(vec![v, other]);
            }
        }
        if c.op("=") || c.op("+=") {
            c.i += 1;
            return self.expr(c);
        }
        v
    }

    /// The value of an assignment may be several with commas between.
    pub(super) fn assigned_value(&mut self, c: &mut Cursor) -> Val {
        if self.lang == Lang::Python {
            let at_top = self.depth <= 8;
            let v = self.expr(c);
            if at_top && c.op(",") && matches!(c.ahead(1), Tok::Text(_)) {
                let mut all = vec![v];
                while c.take(",") {
                    all.push(self.expr(c));
                }
                return Val::List(all);
            }
            return v;
        }
        self.expr(c)
    }

    /// The name that is assigned here, and how.
    pub(super) fn assigned(&self, c: &Cursor) -> Option<(String, &'static str, usize)> {
        let mut k = c.i;
        let mut name = match c.t.get(k).map(|t| &t.tok) {
            Some(Tok::Name(n) | Tok::Var(n)) => n.clone(),
            _ => return None,
        };
        k += 1;
        while let (Some(Tok::Op(".")), Some(Tok::Name(n))) = (c.t.get(k).map(|t| &t.tok), c.t.get(k + 1).map(|t| &t.tok)) {
            if self.lang.dot_joins() {
                return None;
            }
            name.push('.');
            name.push_str(n);
            k += 2;
        }
        if let (Lang::Python, Some(Tok::Op(":")), Some(Tok::Name(_)), Some(Tok::Op("="))) =
            (self.lang, c.t.get(k).map(|t| &t.tok), c.t.get(k + 1).map(|t| &t.tok), c.t.get(k + 2).map(|t| &t.tok))
        {
            k += 2; // a type
        }
        match c.t.get(k).map(|t| &t.tok) {
            Some(Tok::Op(op @ ("=" | ":=" | "+=" | ".=" | "||=" | "??=" | "-=" | "*=" | "/=" | "%=" | "|=" | "//="))) => Some((name, op, k + 1)),
            Some(Tok::Op(op @ "<-")) if self.lang == Lang::R => Some((name, op, k + 1)),
            Some(Tok::Op(op @ "<<")) if self.lang == Lang::Ruby && self.lookup(&name).map_or(false, |v| v.as_text().is_some()) => Some((name, op, k + 1)),
            _ => None,
        }
    }

    pub(super) fn binary(&mut self, c: &mut Cursor, least: u8) -> Val {
        let mut a = self.unary(c);
        loop {
            if !self.step() {
                return a;
            }
            let (level, op): (u8, &str) = match c.peek() {
                Tok::Op(o) => match *o {
                    "||" | "??" => (1, "or"),
                    "//" if self.lang == Lang::Perl => (1, "or"),
                    "&&" => (2, "and"),
                    "==" | "!=" | "===" | "!==" | "<" | ">" | "<=" | ">=" | "<=>" | "=~" | "!~" => (3, o),
                    "|>" | "%>%" => (4, "|>"),
                    "|" if self.lang != Lang::Awk => (4, "|"),
                    "&" | "^" => (4, "&"),
                    "|" => (4, "pipe"),
                    "<>" if matches!(self.lang, Lang::Elixir | Lang::Calls) => (6, "+"),
                    ".." if matches!(self.lang, Lang::Lua) => (6, "+"),
                    "." if self.lang.dot_joins() => (6, "+"),
                    "++" if matches!(self.lang, Lang::Calls) => (6, "+"),
                    "+" => (6, "+"),
                    "^^" => (6, "+"),
                    "-" => (6, "-"),
                    "*" => (7, "*"),
                    "/" => (7, "/"),
                    "%" => (7, "%"),
                    "//" => (7, "-"),
                    ".." | "..." => (5, "-"),
                    "<<" | ">>" if self.lang != Lang::Awk => (5, "-"),
                    "**" => (8, "-"),
                    _ => return a,
                },
                Tok::Name(n) => match n.as_str() {
                    "or" => (1, "or"),
                    "and" => (2, "and"),
                    "in" | "is" | "eq" | "ne" | "lt" | "gt" => (3, "in"),
                    "not" if self.lang == Lang::Python => (3, "in"),
                    "x" if self.lang == Lang::Perl => (7, "*"),
                    "getline" if self.lang == Lang::Awk => (4, "getline"),
                    _ if self.lang == Lang::Awk && self.begins(c) && !MODIFIERS.contains(&n.as_str()) => (6, "beside"),
                    _ => return a,
                },
                _ if self.lang == Lang::Awk && self.begins(c) => (6, "beside"),
                _ => return a,
            };
            if level <= least {
                return a;
            }
            if op != "beside" {
                c.i += 1;
            }
            if op == "in" && c.name() == Some("in") {
                c.i += 1;
            }
            if op == "pipe" {
                return self.awk_pipe(c, &a);
            }
            c.ends_within();
            self.depth += 1;
            if self.depth > DEPTH {
                self.told.more = true;
                c.i = c.t.len();
                self.depth -= 1;
                return Val::Unknown;
            }
            let b = self.binary(c, level);
            self.depth -= 1;
            a = match op {
                "or" => one_of(vec![a, b]),
                "and" => b,
                "+" | "beside" => self.sum(&a, &b),
                "/" if a.as_text().is_some() && b.as_text().is_some() && !matches!((&a, &b), (Val::Num(_), _)) => join_path(&a, &b),
                "/" if matches!(a, Val::OneOf(_)) => join_path(&a, &b),
                "*" => match (&a, &b) {
                    (Val::Text(t), Val::Num(n)) | (Val::Num(n), Val::Text(t)) if (0..200).contains(n) => Val::Text(t.repeat(*n as usize)),
                    (Val::Num(x), Val::Num(y)) => Val::Num(x.wrapping_mul(*y)),
                    (Val::List(l), Val::Text(s)) if self.lang == Lang::Ruby => crate::code::texts::joined(l, s),
                    _ => Val::Unknown,
                },
                "%" => match (&a, &b) {
                    (Val::Text(t), b) => crate::code::texts::format_percent(t, &b.elements_of_format()),
                    _ => Val::Unknown,
                },
                "-" => match (&a, &b) {
                    (Val::Num(x), Val::Num(y)) => Val::Num(x.wrapping_sub(*y)),
                    _ => Val::Unknown,
                },
                "|" => match (&a, &b) {
                    (Val::Num(x), Val::Num(y)) => Val::Num(x | y),
                    _ => Val::Unknown,
                },
                "|>" => match b {
                    Val::Name(n) => self.invoke(&n, None, vec![a], Vec::new()),
                    b => b,
                },
                "=~" => {
                    Val::Unknown
                }
                _ => Val::Unknown,
            };
        }
    }

    pub(super) fn sum(&mut self, a: &Val, b: &Val) -> Val {
        match (a, b) {
            (Val::File(..) | Val::Content(_), _) | (_, Val::File(..) | Val::Content(_)) => Val::Unknown,
            _ => concat(a, b),
        }
    }

    /// Whether an operand begins here.
    pub(super) fn begins(&self, c: &Cursor) -> bool {
        match c.peek() {
            Tok::Text(_) | Tok::Num(_) | Tok::Var(_) | Tok::Words(_) | Tok::Shell(_) => true,
            Tok::Name(_) => true,
            Tok::Op("(" | "$") => self.lang == Lang::Awk,
            _ => false,
        }
    }

    /// awk: a command that reads what is printed, or whose output is read.
    pub(super) fn awk_pipe(&mut self, c: &mut Cursor, a: &Val) -> Val {
        if c.name() == Some("getline") {
            c.i += 1;
            self.told.line(a);
            let v = self.told.output(a);
            if let Some(n) = c.name() {
                if !MODIFIERS.contains(&n) {
                    self.bind(n, v.clone());
                }
            }
            self.bind("0", v);
            return Val::Unknown;
        }
        c.take("&");
        let b = self.binary(c, 4);
        self.told.fed(a, &b);
        Val::Unknown
    }

    pub(super) fn unary(&mut self, c: &mut Cursor) -> Val {
        match c.peek() {
            Tok::Op(o @ ("-" | "!" | "~" | "+" | "\\" | "&" | "*" | "**" | "..." | "++" | "--" | "@" | "#" | "^")) => {
                if *o == "\\" && matches!(self.lang, Lang::R) && matches!(c.ahead(1), Tok::Op("(")) {
                    c.i += 1;
                    let params = self.params(c);
                    let body = self.expression_body(c);
                    return Val::Function(self.function(params, body));
                }
                c.i += 1;
                if *o == "-" && self.lang == Lang::Perl && c.name().map_or(false, |n| n.len() == 1) {
                    c.i += 1;
                    self.unary_inner(c);
                    return Val::Unknown;
                }
                let v = self.unary_inner(c);
                match (*o, v) {
                    ("-", Val::Num(n)) => Val::Num(-n),
                    ("!" | "~" | "-", _) => Val::Unknown,
                    (_, v) => v,
                }
            }
            Tok::Op("$") => {
                c.i += 1;
                let v = self.unary_inner(c);
                match v {
                    Val::Num(n) => self.lookup(&n.to_string()).unwrap_or_else(|| self.given.stdin.clone().unwrap_or(Val::Unknown)),
                    _ => self.given.stdin.clone().unwrap_or(Val::Unknown),
                }
            }
            Tok::Name(n) if matches!(n.as_str(), "not" | "await" | "new" | "typeof" | "void" | "yield" | "defined" | "ref" | "delete" | "async" | "raise" | "throw" | "return" | "print" | "puts" | "say" | "p" | "echo")
                && !matches!(c.ahead(1), Tok::Op("(" | "=" | "." | "->" | "," | ")" | ":" | "=>" | "[")) && !matches!(c.ahead(1), Tok::End) && self.word_is_operator(n) =>
            {
                let not = n == "not" || n == "defined" || n == "typeof";
                let prints = matches!(n.as_str(), "print" | "puts" | "say" | "p" | "echo");
                c.i += 1;
                if prints {
                    return self.printed(c);
                }
                let v = self.unary_inner(c);
                if not {
                    Val::Unknown
                } else {
                    v
                }
            }
            _ => self.postfix(c),
        }
    }

    pub(super) fn unary_inner(&mut self, c: &mut Cursor) -> Val {
        self.depth += 1;
        let v = if self.depth > DEPTH {
            self.told.more = true;
            c.i = c.t.len();
            Val::Unknown
        } else {
            self.unary(c)
        };
        self.depth -= 1;
        v
    }

    pub(super) fn word_is_operator(&self, word: &str) -> bool {
        match word {
            "print" => matches!(self.lang, Lang::Perl | Lang::Awk | Lang::Php | Lang::Ruby),
            "puts" | "p" => self.lang == Lang::Ruby,
            "say" => self.lang == Lang::Perl,
            "echo" => self.lang == Lang::Php,
            "delete" | "ref" | "defined" => self.lang == Lang::Perl || self.lang == Lang::Js,
            _ => true,
        }
    }

    /// What print prints, and where to: in awk a file or a command.
    pub(super) fn printed(&mut self, c: &mut Cursor) -> Val {
        if matches!(c.peek(), Tok::Op("{")) && self.lang == Lang::Perl {
            c.i = c.close(c.i) + 1;
        }
        let handle = match (c.peek(), c.ahead(1)) {
            (Tok::Name(n), Tok::Text(_) | Tok::Var(_)) if self.lang == Lang::Perl => Some(n.clone()),
            (Tok::Var(n), Tok::Text(_)) if self.lang == Lang::Perl => Some(n.clone()),
            _ => None,
        };
        if let Some(h) = handle {
            c.i += 1;
            let v = self.expr_list(c);
            if let Some(f) = self.lookup(&h) {
                self.told.written(&f, &v);
            }
            return Val::Unknown;
        }
        if self.lang != Lang::Awk {
            self.expr_list(c);
            return Val::Unknown;
        }
        let mut all = Vec::new();
        loop {
            if c.op(">") || c.op(">>") || c.op("|") {
                all.push(self.given.stdin.clone().unwrap_or(Val::Unknown));
                break;
            }
            all.push(self.binary(c, 4));
            if !c.take(",") {
                break;
            }
        }
        let v = if all.len() == 1 { all.remove(0) } else { crate::code::texts::joined(&all, " ") };
        if c.take("|") {
            c.take("&");
            let to = self.binary(c, 5);
            self.told.fed(&v, &to);
        } else if c.op(">") || c.op(">>") {
            let append = c.op(">>");
            c.i += 1;
            let to = self.binary(c, 5);
            self.told.write(&to, &v, append);
        }
        Val::Unknown
    }

    pub(super) fn segments(&mut self, segs: &[Seg]) -> Val {
        let mut v = Val::text("");
        for s in segs {
            let part = match s {
                Seg::Plain(t) if self.given.partial && !self.lang.has_sigils() => Val::text(crate::code::holes(t)),
                Seg::Plain(t) => Val::text(t.clone()),
                Seg::Code(code) => {
                    let t = tokens(code, self.lang);
                    self.depth += 2;
                    let v = if self.depth > DEPTH { Val::Unknown } else { self.expr(&mut Cursor { t: &t, i: 0 }) };
                    self.depth -= 2;
                    match v {
                        Val::List(l) => crate::code::texts::joined(&l, " "),
                        v => v,
                    }
                }
            };
            v = match (&v, &part) {
                (Val::Text(t), Val::Unknown | Val::Name(_) | Val::File(..) | Val::Content(_) | Val::Map(_) | Val::Function(_)) => Val::text(alloc::format!("{}{}", t, HOLE)),
                _ => concat(&v, &part),
            };
        }
        v
    }
}
