//! Functions of the program: where their bodies end, and what they are called with.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::cursor::Cursor;
use super::{Reader, DEPTH};
use super::statements::SKIPPED;
use crate::code::lang::Lang;
use crate::code::tokens::{Tok, Token};
use crate::code::value::{one_of, Val, HOLE};

/// A function that the program defines.
#[derive(Clone)]
pub(super) struct Function {
    pub(super) params: Vec<String>,
    pub(super) body: Vec<Token>,
    pub(super) called: bool,
    pub(super) running: bool,
}

impl Reader<'_> {
    pub(super) fn function(&mut self, params: Vec<String>, body: Vec<Token>) -> usize {
        self.steps += body.len() as u32;
        let body = if self.step() { body } else { Vec::new() };
        self.functions.push(Function { params, body, called: false, running: false });
        self.functions.len() - 1
    }

    /// Runs a function with values.
    pub fn call_function(&mut self, k: usize, args: Vec<Val>) -> Val {
        let f = match self.functions.get_mut(k) {
            Some(f) => {
                f.called = true;
                if f.running || self.depth + 3 > DEPTH {
                    return Val::Unknown;
                }
                f.running = true;
                self.steps += f.body.len() as u32;
                f.clone()
            }
            None => return Val::Unknown,
        };
        let saved: Vec<(String, Option<Val>)> = f.params.iter().map(|p| (p.clone(), self.lookup(p))).collect();
        for (i, p) in f.params.iter().enumerate() {
            let v = if p == "_" && args.len() > 1 { Val::List(args.clone()) } else { args.get(i).cloned().unwrap_or(Val::Unknown) };
            self.bind(p, v);
        }
        if f.params.is_empty() {
            let v = args.first().cloned().unwrap_or(Val::Unknown);
            for it in ["_", "it", "_1"] {
                self.bind(it, v.clone());
            }
        }
        self.depth += 3;
        let mut c = Cursor { t: &f.body, i: 0 };
        let mut last = Val::Unknown;
        while !c.done() && self.step() {
            let before = c.i;
            c.ends();
            if c.name() == Some("return") {
                c.i += 1;
                last = self.expr(&mut c);
            } else if matches!(c.peek(), Tok::Name(_)) && self.plain_start(&c) || !matches!(c.peek(), Tok::Name(_)) {
                if !self.targets(&mut c) {
                    self.modifier(&mut c);
                    if !c.done() {
                        last = self.expr(&mut c);
                    }
                }
            } else {
                self.statement(&mut c);
            }
            if c.i == before {
                c.i += 1;
            }
        }
        self.depth -= 3;
        for (p, v) in saved {
            self.bind(&p, v.unwrap_or(Val::Unknown));
        }
        self.functions[k].running = false;
        last
    }

    /// Whether a statement begins here that is an expression.
    pub(super) fn plain_start(&self, c: &Cursor) -> bool {
        let word = c.name().unwrap_or("");
        !SKIPPED.contains(&word) && !matches!(word, "import" | "from" | "def" | "function" | "sub" | "func" | "fun" | "for" | "foreach" | "with" | "rescue" | "except")
    }

    /// The functions among the arguments of a call are run, with what the call is about.
    pub fn run_functions(&mut self, about: &Val, args: &[Val]) -> Val {
        let mut out = Val::Unknown;
        for a in args {
            if let Val::Function(k) = a {
                let v = match about {
                    Val::Net => Val::Net,
                    v => v.element(),
                };
                out = self.call_function(*k, vec![v.clone(), v]);
            }
        }
        out
    }

    /// The body of a short function: an expression, or braces.
    pub(super) fn expression_body(&mut self, c: &mut Cursor) -> Vec<Token> {
        if c.op("{") {
            let end = c.close(c.i);
            let out = c.t[(c.i + 1).min(end)..end].to_vec();
            c.i = (end + 1).min(c.t.len());
            return out;
        }
        let from = c.i;
        let mut depth = 0;
        while !c.done() {
            match c.peek() {
                Tok::Op("(" | "[" | "{") => depth += 1,
                Tok::Op(")" | "]" | "}") if depth == 0 => break,
                Tok::Op(")" | "]" | "}") => depth -= 1,
                Tok::Op(",") | Tok::End if depth == 0 => break,
                _ => {}
            }
            c.i += 1;
        }
        c.t[from..c.i].to_vec()
    }

    /// A function without a name that begins here.
    pub(super) fn lambda(&mut self, c: &mut Cursor) -> Option<Val> {
        let (params, body) = match c.peek() {
            Tok::Name(n) if n == "lambda" && self.lang == Lang::Python => {
                c.i += 1;
                let mut params = Vec::new();
                while !c.done() && !c.op(":") {
                    if let Tok::Name(n) = c.peek() {
                        params.push(n.clone());
                    }
                    c.i += 1;
                }
                c.i += 1;
                let body = self.expression_body(c);
                (params, body)
            }
            Tok::Name(n) if matches!(n.as_str(), "function" | "sub" | "fn" | "func" | "proc" | "lambda") && matches!(c.ahead(1), Tok::Op("(" | "{" | "*") | Tok::Name(_)) && self.lang != Lang::Python => {
                let short = n == "fn";
                if self.lang == Lang::Elixir && short {
                    c.i += 1;
                    let mut params = Vec::new();
                    while !c.done() && !c.op("->") {
                        if let Tok::Name(n) = c.peek() {
                            params.push(n.clone());
                        }
                        c.i += 1;
                    }
                    c.i += 1;
                    let body = self.to_end(c);
                    return Some(Val::Function(self.function(params, body)));
                }
                c.i += 1;
                let name = c.name().map(String::from);
                c.i += usize::from(name.is_some());
                c.take("*");
                let mut params = self.params(c);
                if self.lang == Lang::Perl {
                    params = vec!["_".into()];
                }
                c.take("=>");
                let body = if self.lang == Lang::R || short && !c.op("{") { self.expression_body(c) } else { self.body(c, 0) };
                let f = Val::Function(self.function(params, body));
                if let Some(n) = name {
                    self.bind(&n, f.clone());
                }
                return Some(f);
            }
            Tok::Op("->") if matches!(self.lang, Lang::Ruby) => {
                c.i += 1;
                let params = self.params(c);
                let body = self.body(c, 0);
                (params, body)
            }
            Tok::Name(n) if matches!(c.ahead(1), Tok::Op("=>")) && matches!(self.lang, Lang::Js | Lang::Calls) || matches!(c.ahead(1), Tok::Op("->")) && matches!(self.lang, Lang::Julia | Lang::Calls) => {
                c.i += 2;
                let body = self.expression_body(c);
                (vec![n.clone()], body)
            }
            Tok::Op("(") if matches!(self.lang, Lang::Js | Lang::Calls | Lang::Julia) => {
                let end = c.close(c.i);
                let arrow = matches!(c.t.get(end + 1).map(|t| &t.tok), Some(Tok::Op("=>")))
                    || self.lang != Lang::Js && matches!(c.t.get(end + 1).map(|t| &t.tok), Some(Tok::Op("->")));
                if !arrow {
                    return None;
                }
                let params = self.params(c);
                c.i += 1;
                let body = self.expression_body(c);
                (params, body)
            }
            _ => return None,
        };
        Some(Val::Function(self.function(params, body)))
    }

    /// A block behind a call: { |x| ... }, do |x| ... end.
    pub(super) fn block(&mut self, c: &mut Cursor) -> Option<Val> {
        let blocks = matches!(self.lang, Lang::Ruby | Lang::Calls);
        if c.op("{") && blocks {
            let end = c.close(c.i);
            let mut inner = Cursor { t: &c.t[..end.min(c.t.len())], i: c.i + 1 };
            let mut params = self.params(&mut inner);
            if self.lang == Lang::Calls && params.is_empty() {
                if let (Tok::Name(n), Tok::Op("->" | "=>")) = (inner.peek(), inner.ahead(1)) {
                    params.push(n.clone());
                    inner.i += 2;
                } else if let (Tok::Name(n), Tok::Name(i)) = (inner.peek(), inner.ahead(1)) {
                    if i == "in" {
                        params.push(n.clone());
                        inner.i += 2;
                    }
                }
            }
            let body = inner.t[inner.i.min(inner.t.len())..].to_vec();
            c.i = (end + 1).min(c.t.len());
            return Some(Val::Function(self.function(params, body)));
        }
        if c.name() == Some("do") && matches!(self.lang, Lang::Ruby | Lang::Julia) {
            c.i += 1;
            let mut params = self.params(c);
            if self.lang == Lang::Julia {
                while let Tok::Name(n) = c.peek() {
                    params.push(n.clone());
                    c.i += 1;
                    if !c.take(",") {
                        break;
                    }
                }
            }
            let body = self.to_end(c);
            return Some(Val::Function(self.function(params, body)));
        }
        None
    }

    pub(super) fn mapped(&mut self, name: &str, k: usize, list: &Val) -> Val {
        let all = list.elements();
        if name == "map" && all.len() <= 64 && all.iter().all(|v| v.known().is_some()) {
            let mut out = Vec::new();
            for v in all {
                self.bind("_", v.clone());
                out.push(self.call_function(k, vec![v]));
            }
            return Val::List(out);
        }
        let v = self.call_function(k, vec![list.element()]);
        if name == "map" {
            v
        } else {
            list.clone()
        }
    }

    /// A name by itself that is a call in its language.
    pub(super) fn alone(&mut self, v: Val) -> Val {
        match &v {
            Val::Name(n) if matches!(self.lang, Lang::Perl | Lang::Ruby) && matches!(n.as_str(), "unlink" | "fork" | "eval" | "rmdir" | "getline" | "gets" | "shift" | "chr" | "lc" | "uc") => {
                let it = self.lookup("_").unwrap_or(Val::Unknown);
                let n = n.clone();
                if n == "shift" {
                    return match self.lookup("_") {
                        Some(v) => v,
                        None => self.given.argv.first().map_or(Val::Unknown, |a| Val::text(a.clone())),
                    };
                }
                if matches!(n.as_str(), "fork") {
                    return Val::Unknown;
                }
                self.invoke(&n, None, vec![it], Vec::new())
            }
            Val::Function(k) if matches!(self.lang, Lang::Ruby) => self.call_function(*k, Vec::new()),
            _ => v,
        }
    }

    pub(super) fn callable(&self, v: &Val, c: &Cursor) -> bool {
        let keyword = matches!(v, Val::Name(n) if SKIPPED.contains(&n.as_str()));
        !keyword && (!matches!(v, Val::Num(_) | Val::Map(_)) && !(c.apart() && matches!(self.lang, Lang::Python) && !matches!(v, Val::Name(_) | Val::Function(_))))
    }

    pub(super) fn call(&mut self, f: Val, args: Vec<Val>, named: Vec<(String, Val)>) -> Val {
        match f {
            Val::Name(n) => self.invoke(&n, None, args, named),
            Val::Function(k) => self.call_function(k, args),
            Val::OneOf(all) => {
                let values = all.into_iter().map(|f| self.call(f, args.clone(), named.clone())).collect();
                one_of(values)
            }
            Val::Text(t) if matches!(self.lang, Lang::Php | Lang::Perl) && !t.contains(HOLE) => self.invoke(&t, None, args, named),
            Val::Net => {
                self.run_functions(&Val::Net, &args);
                Val::Net
            }
            _ => {
                self.run_functions(&Val::Unknown, &args);
                Val::Unknown
            }
        }
    }
}
