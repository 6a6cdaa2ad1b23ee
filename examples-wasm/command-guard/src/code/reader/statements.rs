//! Statements: imports, loops, definitions, and what several names are set to at once.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::cursor::Cursor;
use super::Reader;
use crate::code::lang::Lang;
use crate::code::tokens::{Tok, Token};
use crate::code::value::Val;

/// Words that stand before an expression, and are none.
pub(super) const SKIPPED: &[&str] = &[
    "return", "if", "elif", "elsif", "else", "while", "unless", "until", "when", "try", "except", "finally", "do", "begin", "end", "then", "my", "our", "local",
    "let", "const", "var", "val", "yield", "await", "async", "raise", "throw", "export", "default", "not", "new", "case", "in", "global", "nonlocal", "assert", "rescue", "ensure",
    "typeof", "void", "public", "static", "final", "echo", "and", "or", "BEGIN", "END", "with", "pass", "void", "int", "String", "repeat", "loop", "ref", "out", "use", "last", "next", "redo", "break", "continue",
];

/// Words behind a statement that it depends on.
pub(super) const MODIFIERS: &[&str] = &["if", "unless", "for", "foreach", "while", "until", "and", "or", "rescue", "then", "do", "else", "in", "as", "is", "end", "x", "eq", "ne", "lt", "gt", "le", "ge", "cmp", "not", "isnt", "xor"];

impl Reader<'_> {
    pub(super) fn statements(&mut self, c: &mut Cursor) {
        while !c.done() && self.step() {
            let before = c.i;
            self.statement(c);
            if c.i == before {
                c.i += 1;
            }
        }
    }

    pub(super) fn statement(&mut self, c: &mut Cursor) {
        c.ends();
        match c.name() {
            Some("import") | Some("from") if matches!(self.lang, Lang::Python | Lang::Js) && !matches!(c.ahead(1), Tok::Op("(")) => return self.import(c),
            Some("def") | Some("defp") | Some("function") | Some("sub") | Some("func") | Some("fun") if matches!(c.ahead(1), Tok::Name(_)) => return self.definition(c),
            Some("for") | Some("foreach") => return self.header(c),
            Some("with") if self.lang == Lang::Python => {
                c.i += 1;
                let v = self.expr(c);
                if c.name() == Some("as") {
                    if let Tok::Name(n) = c.ahead(1) {
                        self.bind(n, v);
                        c.i += 2;
                    }
                }
                return;
            }
            Some(word @ ("include" | "include_once" | "require" | "require_once")) if self.lang == Lang::Php && !matches!(c.ahead(1), Tok::Op("(")) => {
                c.i += 1;
                let v = self.expr(c);
                self.invoke(word, None, vec![v], Vec::new());
                return;
            }
            Some("rescue") | Some("except") => {
                while !c.done() && !matches!(c.peek(), Tok::End | Tok::Op(":")) {
                    c.i += 1;
                }
                return;
            }
            Some(word) if SKIPPED.contains(&word) && !matches!(c.ahead(1), Tok::Op("." | "=" | "(")) || matches!(c.name(), Some("my" | "our" | "local" | "let" | "const" | "var" | "if" | "while" | "elif" | "until" | "unless")) => {
                c.i += 1;
                return;
            }
            _ => {}
        }
        if self.targets(c) {
            return;
        }
        self.modifier(c);
        self.expr(c);
    }

    /// `unlink $_ for LIST`: the list is read first.
    pub(super) fn modifier(&mut self, c: &mut Cursor) {
        if !matches!(self.lang, Lang::Perl) {
            return;
        }
        let mut k = c.i;
        let mut depth = 0;
        while k < c.t.len() {
            match &c.t[k].tok {
                Tok::End if depth == 0 => return,
                Tok::Op("(" | "[" | "{") => depth += 1,
                Tok::Op(")" | "]" | "}") => {
                    if depth == 0 {
                        return;
                    }
                    depth -= 1;
                }
                Tok::Name(n) if depth == 0 && k > c.i && matches!(n.as_str(), "for" | "foreach") => {
                    let mut list = Cursor { t: c.t, i: k + 1 };
                    let v = self.expr_list(&mut list).element();
                    self.bind("_", v);
                    return;
                }
                _ => {}
            }
            k += 1;
        }
    }

    /// Several names that get a value each: a, b = x, y; const {a: b} = x; my ($a) = @_.
    pub(super) fn targets(&mut self, c: &mut Cursor) -> bool {
        let open = matches!(c.peek(), Tok::Op("{" | "[" | "("));
        let mut names: Vec<(String, String)> = Vec::new();
        let mut k = c.i + usize::from(open);
        loop {
            match c.t.get(k).map(|t| &t.tok) {
                Some(Tok::Name(n) | Tok::Var(n)) => {
                    let mut to = n.clone();
                    if let (Some(Tok::Op(":")), Some(Tok::Name(other))) = (c.t.get(k + 1).map(|t| &t.tok), c.t.get(k + 2).map(|t| &t.tok)) {
                        to = other.clone();
                        k += 2;
                    }
                    names.push((n.clone(), to));
                    k += 1;
                }
                _ => return false,
            }
            match c.t.get(k).map(|t| &t.tok) {
                Some(Tok::Op(",")) => k += 1,
                _ => break,
            }
        }
        if open {
            match c.t.get(k).map(|t| &t.tok) {
                Some(Tok::Op("}" | "]" | ")")) => k += 1,
                _ => return false,
            }
        }
        if !open && names.len() < 2 || c.t.get(k).map(|t| &t.tok) != Some(&Tok::Op("=")) {
            return false;
        }
        let object = open && c.op("{");
        c.i = k + 1;
        let v = self.expr_list(c);
        for (n, (key, to)) in names.iter().enumerate() {
            let one = match &v {
                Val::Name(m) if object => Val::Name(alloc::format!("{}.{}", m, key)),
                v if object => v.member(key).cloned().unwrap_or(Val::Unknown),
                Val::List(all) => all.get(n).cloned().unwrap_or(Val::Unknown),
                Val::Name(m) => Val::Name(m.clone()),
                Val::Net => Val::Net,
                _ => Val::Unknown,
            };
            self.bind(to, one);
        }
        true
    }

    /// Values with commas between: one value, or a list.
    pub(super) fn expr_list(&mut self, c: &mut Cursor) -> Val {
        let first = self.expr(c);
        if !c.op(",") {
            return first;
        }
        let mut all = vec![first];
        while c.take(",") {
            if matches!(c.peek(), Tok::End | Tok::Op(")" | "]" | "}")) {
                break;
            }
            all.push(self.expr(c));
        }
        Val::List(all)
    }

    pub(super) fn dotted(&self, c: &mut Cursor) -> String {
        let mut out = String::new();
        loop {
            match c.peek() {
                Tok::Name(n) => out.push_str(n),
                _ => return out,
            }
            c.i += 1;
            if !c.op(".") {
                return out;
            }
            c.i += 1;
            out.push('.');
        }
    }

    pub(super) fn import(&mut self, c: &mut Cursor) {
        let from = c.name() == Some("from");
        c.i += 1;
        if self.lang == Lang::Js {
            return self.js_import(c);
        }
        let module = self.dotted(c);
        if from {
            c.i += usize::from(c.name() == Some("import"));
            c.take("(");
            loop {
                c.ends();
                let n = match c.name() {
                    Some(n) => n,
                    None => return,
                };
                c.i += 1;
                let to = self.renamed(c).unwrap_or_else(|| n.into());
                self.bind(&to, Val::Name(alloc::format!("{}.{}", module, n)));
                if !c.take(",") {
                    c.take(")");
                    return;
                }
            }
        }
        let mut module = module;
        loop {
            match self.renamed(c) {
                Some(to) => self.bind(&to, Val::Name(module.clone())),
                None => {
                    let top = module.split('.').next().unwrap_or("").to_string();
                    self.bind(&top, Val::Name(top.clone()));
                }
            }
            if !c.take(",") {
                return;
            }
            module = self.dotted(c);
        }
    }

    pub(super) fn renamed(&self, c: &mut Cursor) -> Option<String> {
        if c.name() != Some("as") {
            return None;
        }
        c.i += 1;
        let to = c.name().map(String::from);
        c.i += 1;
        to
    }

    /// import x, {a as b} from "m"
    pub(super) fn js_import(&mut self, c: &mut Cursor) {
        let mut names: Vec<(String, String)> = Vec::new();
        while !c.done() && !matches!(c.peek(), Tok::End | Tok::Text(_)) {
            if let Some(n) = c.name() {
                c.i += 1;
                if n != "from" {
                    let to = self.renamed(c).unwrap_or_else(|| n.into());
                    names.push((n.into(), to));
                }
                continue;
            }
            if c.take("*") {
                if let Some(to) = self.renamed(c) {
                    names.push((String::new(), to));
                }
                continue;
            }
            if c.op("{") {
                names.push(("{".into(), String::new()));
            }
            c.i += 1;
        }
        let module = match self.primary(c).known() {
            Some(m) => m.trim_start_matches("node:").trim_end_matches("/promises").to_string(),
            None => return,
        };
        let mut inside = false;
        for (n, to) in names {
            if n == "{" {
                inside = true;
            } else {
                self.bind(&to, Val::Name(if inside && !n.is_empty() { alloc::format!("{}.{}", module, n) } else { module.clone() }));
            }
        }
    }

    /// for x in LIST, for (const x of LIST), foreach (LIST as $x), for my $x (LIST), for x = 1, 2 do.
    pub(super) fn header(&mut self, c: &mut Cursor) {
        let words = ["my", "our", "const", "let", "var", "local", "val", "auto", "await"];
        c.i += 1;
        let open = c.op("(");
        let end = if open { c.close(c.i) } else { c.t.len() };
        let mut k = c.i + usize::from(open);
        let mut names = Vec::new();
        loop {
            match c.t.get(k).map(|t| &t.tok) {
                Some(Tok::Name(n)) if words.contains(&n.as_str()) => {}
                Some(Tok::Name(n) | Tok::Var(n)) if n != "in" && n != "of" => names.push(n.clone()),
                Some(Tok::Op("," | "(" | "[")) if k != c.i => {}
                Some(Tok::Op(")" | "]")) if k != end => {}
                _ => break,
            }
            k += 1;
        }
        match c.t.get(k).map(|t| &t.tok) {
            Some(Tok::Name(n)) if n == "in" || n == "of" => {
                c.i = k + 1;
                let v = self.expr_list(c);
                self.bind_all(&names, v.element());
            }
            // for my $x (LIST), where no list begins the header
            Some(Tok::Op("(")) if !open => {
                c.i = k;
                let v = self.primary(c).element();
                self.bind_all(&names, v);
            }
            _ if self.lang == Lang::Perl && !open && !names.is_empty() => {
                c.i = c.t[c.i..].iter().position(|t| t.tok == Tok::Op("(")).map_or(c.i, |n| c.i + n);
                let v = self.primary(c).element();
                self.bind_all(&names, v);
            }
            _ if open => {
                c.i += 1;
                let v = self.expr_list(c);
                if c.name() == Some("as") {
                    while !c.done() && c.i < end {
                        if let Tok::Var(n) | Tok::Name(n) = c.peek() {
                            self.bind(n, v.element());
                        }
                        c.i += 1;
                    }
                } else if self.lang == Lang::Perl {
                    self.bind("_", v.element());
                }
            }
            _ => {}
        }
    }

    pub(super) fn bind_all(&mut self, names: &[String], v: Val) {
        let one = match &v {
            Val::List(all) if names.len() > 1 => Some(all.clone()),
            _ => None,
        };
        for (i, n) in names.iter().enumerate() {
            let v = match &one {
                Some(all) => all.get(i).cloned().unwrap_or(Val::Unknown),
                None => v.clone(),
            };
            self.bind(n, v);
        }
        if names.is_empty() {
            self.bind("_", v);
        }
    }

    pub(super) fn definition(&mut self, c: &mut Cursor) {
        let line = c.t.get(c.i).map_or(0, |t| t.indent);
        c.i += 1;
        let mut name = String::new();
        while let Tok::Name(n) = c.peek() {
            name = n.clone();
            c.i += 1;
            if !c.take(".") && !c.take(":") && !c.take("::") {
                break;
            }
        }
        let params = self.params(c);
        let body = self.body(c, line);
        let k = self.function(params, body);
        if self.lang == Lang::Perl {
            self.functions[k].params = vec!["_".into()];
        }
        self.bind(&name, Val::Function(k));
    }

    /// The names in a list of parameters: (a, b = 1), |a|, or one name.
    pub(super) fn params(&mut self, c: &mut Cursor) -> Vec<String> {
        let mut out = Vec::new();
        if c.op("(") {
            let end = c.close(c.i);
            let mut fresh = true;
            let mut depth = 0;
            for t in &c.t[(c.i + 1).min(end)..end] {
                match &t.tok {
                    Tok::Op("(" | "[") => depth += 1,
                    Tok::Op(")" | "]") => depth -= 1,
                    Tok::Op(",") if depth == 0 => fresh = true,
                    Tok::Op("{" | "}" | "*" | "**" | "..." | "&") => {}
                    Tok::Name(n) | Tok::Var(n) if fresh => {
                        out.push(n.clone());
                        fresh = false;
                    }
                    _ => {}
                }
            }
            c.i = end + 1;
        } else if c.take("|") {
            while !c.done() && !c.op("|") {
                if let Tok::Name(n) = c.peek() {
                    out.push(n.clone());
                }
                c.i += 1;
            }
            c.i += 1;
        }
        out
    }

    /// The tokens of a body: in braces, to its end, by its indentation, or to the end of the line.
    pub(super) fn body(&mut self, c: &mut Cursor, indent: usize) -> Vec<Token> {
        if self.lang == Lang::Python {
            while !c.done() && !c.op(":") && *c.peek() != Tok::End {
                c.i += 1;
            }
            c.i += 1;
            let mut own_line = true;
            let from = c.i;
            while !c.done() {
                let t = &c.t[c.i];
                if t.first && t.tok != Tok::End {
                    if own_line && c.i > from && c.t[from..c.i].iter().any(|t| t.tok != Tok::End) && t.indent <= indent || t.indent <= indent {
                        break;
                    }
                    own_line = false;
                }
                c.i += 1;
            }
            return c.t[from..c.i].to_vec();
        }
        if self.lang == Lang::Php || self.lang == Lang::Calls {
            while !c.done() && !matches!(c.peek(), Tok::Op("{" | "=") | Tok::End) {
                c.i += 1; // use (...), : type
            }
        }
        c.take("=");
        while *c.peek() == Tok::End && !c.done() && c.i + 1 < c.t.len() {
            c.i += 1;
        }
        if c.op("{") {
            let end = c.close(c.i);
            let out = c.t[(c.i + 1).min(end)..end].to_vec();
            c.i = (end + 1).min(c.t.len());
            return out;
        }
        if matches!(self.lang, Lang::Ruby | Lang::Lua | Lang::Elixir | Lang::Julia) {
            return self.to_end(c);
        }
        let from = c.i;
        while !c.done() && *c.peek() != Tok::End {
            c.i += 1;
        }
        c.t[from..c.i].to_vec()
    }

    /// The tokens up to the `end` that fits.
    pub(super) fn to_end(&mut self, c: &mut Cursor) -> Vec<Token> {
        let from = c.i;
        let mut depth = 0;
        while !c.done() {
            if let Some(n) = c.name() {
                let begins = c.i == 0 || matches!(c.t[c.i - 1].tok, Tok::End | Tok::Op("=")) || matches!(&c.t[c.i - 1].tok, Tok::Name(p) if p == "do" || p == "then");
                match n {
                    "do" | "function" | "def" | "fn" | "begin" | "case" | "class" | "module" => depth += 1,
                    "if" | "unless" if begins || self.lang == Lang::Lua => depth += 1,
                    "while" | "until" | "for" if begins && self.lang == Lang::Ruby && !c.t[c.i..].iter().take_while(|t| t.tok != Tok::End).any(|t| t.tok == Tok::Name("do".into())) => depth += 1,
                    "end" if depth == 0 => break,
                    "end" => depth -= 1,
                    _ => {}
                }
            }
            c.i += 1;
        }
        let out = c.t[from..c.i].to_vec();
        c.i = (c.i + 1).min(c.t.len());
        out
    }
}
