//! Reads a program's expressions in the order of its text: what it assigns, what it calls, and with what. Both branches
//! of a condition count, a loop's body counts once, and what cannot be told is marked.


use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::lang::Lang;
use super::told::Told;
use super::tokens::{tokens, Seg, Tok, Token};
use super::value::{concat, join_path, one_of, Val, HOLE};

/// What is known of the place where a program runs.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Its arguments.
    pub argv: Vec<String>,
    /// The environment that its command sets.
    pub env: Vec<(String, String)>,
    /// What it reads from its standard input.
    pub stdin: Option<Val>,
    /// Parts of its text are those of a shell: $X.
    pub partial: bool,
}

pub struct Reader<'a> {
    pub lang: Lang,
    pub given: &'a Given,
    pub told: &'a mut Told,
    names: Vec<(String, Val)>,
    functions: Vec<Function>,
    steps: u32,
    depth: u32,
}

#[derive(Clone)]
struct Function {
    params: Vec<String>,
    body: Vec<Token>,
    called: bool,
    running: bool,
}

/// The tokens that are read, and how far.
pub struct Cursor<'t> {
    t: &'t [Token],
    i: usize,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> &'t Tok {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> &'t Tok {
        self.t.get(self.i + n).map_or(&Tok::End, |t| &t.tok)
    }

    fn done(&self) -> bool {
        self.i >= self.t.len()
    }

    fn op(&self, op: &str) -> bool {
        matches!(self.peek(), Tok::Op(o) if *o == op)
    }

    fn name(&self) -> Option<&'t str> {
        match self.peek() {
            Tok::Name(n) => Some(n),
            _ => None,
        }
    }

    fn take(&mut self, op: &str) -> bool {
        let yes = self.op(op);
        self.i += usize::from(yes);
        yes
    }

    fn apart(&self) -> bool {
        self.t.get(self.i).map_or(false, |t| t.apart)
    }

    fn ends(&mut self) {
        while !self.done() && *self.peek() == Tok::End {
            self.i += 1;
        }
    }

    /// The place of the token that closes the bracket at a place.
    fn close(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for (k, t) in self.t.iter().enumerate().skip(open) {
            if let Tok::Op(o) = t.tok {
                match o {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            return k;
                        }
                    }
                    _ => {}
                }
            }
        }
        self.t.len()
    }
}

/// The most tokens that are looked at, calls of functions included.
const STEPS: u32 = 60_000;
/// How deep expressions are read.
const DEPTH: u32 = 22;

/// Words that stand before an expression, and are none.
const SKIPPED: &[&str] = &[
    "return", "if", "elif", "elsif", "else", "while", "unless", "until", "when", "try", "except", "finally", "do", "begin", "end", "then", "my", "our", "local",
    "let", "const", "var", "val", "yield", "await", "async", "raise", "throw", "export", "default", "not", "new", "case", "in", "global", "nonlocal", "assert", "rescue", "ensure",
    "typeof", "void", "public", "static", "final", "echo", "and", "or", "BEGIN", "END", "with", "pass", "void", "int", "String", "repeat", "loop", "ref", "out", "use", "last", "next", "redo", "break", "continue",
];

/// Words behind a statement that it depends on.
const MODIFIERS: &[&str] = &["if", "unless", "for", "foreach", "while", "until", "and", "or", "rescue", "then", "do", "else", "in", "as", "is", "end", "x", "eq", "ne", "lt", "gt", "le", "ge", "cmp", "not", "isnt", "xor"];

impl<'a> Reader<'a> {
    pub fn new(lang: Lang, given: &'a Given, told: &'a mut Told) -> Reader<'a> {
        Reader { lang, given, told, names: Vec::new(), functions: Vec::new(), steps: 0, depth: 0 }
    }

    /// Reads a whole text, and what it defines and does not call as well.
    pub fn program(&mut self, text: &str) {
        self.text(text);
        let mut k = 0;
        while k < self.functions.len() {
            if !self.functions[k].called {
                self.call_function(k, Vec::new());
            }
            k += 1;
        }
    }

    /// Reads a text in the same place as the one that has it.
    pub fn text(&mut self, text: &str) {
        if self.depth > DEPTH {
            self.told.more = true;
            return;
        }
        let t = tokens(text, self.lang);
        self.depth += 3;
        self.statements(&mut Cursor { t: &t, i: 0 });
        self.depth -= 3;
    }

    fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > STEPS {
            self.told.more = true;
        }
        self.steps <= STEPS
    }

    pub fn bind(&mut self, name: &str, v: Val) {
        match self.names.iter_mut().find(|(n, _)| n == name) {
            Some(found) => found.1 = v,
            None => self.names.push((name.into(), v)),
        }
    }

    pub fn lookup(&self, name: &str) -> Option<Val> {
        self.names.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())
    }

    fn statements(&mut self, c: &mut Cursor) {
        while !c.done() && self.step() {
            let before = c.i;
            self.statement(c);
            if c.i == before {
                c.i += 1;
            }
        }
    }

    fn statement(&mut self, c: &mut Cursor) {
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
    fn modifier(&mut self, c: &mut Cursor) {
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
    fn targets(&mut self, c: &mut Cursor) -> bool {
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
    fn expr_list(&mut self, c: &mut Cursor) -> Val {
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

    fn dotted(&self, c: &mut Cursor) -> String {
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

    fn import(&mut self, c: &mut Cursor) {
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

    fn renamed(&self, c: &mut Cursor) -> Option<String> {
        if c.name() != Some("as") {
            return None;
        }
        c.i += 1;
        let to = c.name().map(String::from);
        c.i += 1;
        to
    }

    /// import x, {a as b} from "m"
    fn js_import(&mut self, c: &mut Cursor) {
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
            Some(m) => m.trim_start_matches("node:").to_string(),
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
    fn header(&mut self, c: &mut Cursor) {
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

    fn bind_all(&mut self, names: &[String], v: Val) {
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

    fn definition(&mut self, c: &mut Cursor) {
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

    fn function(&mut self, params: Vec<String>, body: Vec<Token>) -> usize {
        self.functions.push(Function { params, body, called: false, running: false });
        self.functions.len() - 1
    }

    /// The names in a list of parameters: (a, b = 1), |a|, or one name.
    fn params(&mut self, c: &mut Cursor) -> Vec<String> {
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
    fn body(&mut self, c: &mut Cursor, indent: usize) -> Vec<Token> {
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
    fn to_end(&mut self, c: &mut Cursor) -> Vec<Token> {
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

    /// Runs a function with values.
    pub fn call_function(&mut self, k: usize, args: Vec<Val>) -> Val {
        let f = match self.functions.get_mut(k) {
            Some(f) => {
                f.called = true;
                if f.running || self.depth + 3 > DEPTH {
                    return Val::Unknown;
                }
                f.running = true;
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
    fn plain_start(&self, c: &Cursor) -> bool {
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

    fn assignment(&mut self, c: &mut Cursor) -> Val {
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
    fn assigned_value(&mut self, c: &mut Cursor) -> Val {
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
    fn assigned(&self, c: &Cursor) -> Option<(String, &'static str, usize)> {
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

    fn binary(&mut self, c: &mut Cursor, least: u8) -> Val {
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
                    ".." | "..." | "<<" | ">>" => (5, "-"),
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
                    (Val::List(l), Val::Text(s)) if self.lang == Lang::Ruby => super::texts::joined(l, s),
                    _ => Val::Unknown,
                },
                "%" => match (&a, &b) {
                    (Val::Text(t), b) => super::texts::format_percent(t, &b.elements_of_format()),
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

    fn sum(&mut self, a: &Val, b: &Val) -> Val {
        match (a, b) {
            (Val::File(..) | Val::Content(_), _) | (_, Val::File(..) | Val::Content(_)) => Val::Unknown,
            _ => concat(a, b),
        }
    }

    /// Whether an operand begins here.
    fn begins(&self, c: &Cursor) -> bool {
        match c.peek() {
            Tok::Text(_) | Tok::Num(_) | Tok::Var(_) | Tok::Words(_) | Tok::Shell(_) => true,
            Tok::Name(_) => true,
            Tok::Op("(" | "$") => self.lang == Lang::Awk,
            _ => false,
        }
    }

    /// awk: a command that reads what is printed, or whose output is read.
    fn awk_pipe(&mut self, c: &mut Cursor, a: &Val) -> Val {
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

    fn unary(&mut self, c: &mut Cursor) -> Val {
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

    fn unary_inner(&mut self, c: &mut Cursor) -> Val {
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

    fn word_is_operator(&self, word: &str) -> bool {
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
    fn printed(&mut self, c: &mut Cursor) -> Val {
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
        let v = if all.len() == 1 { all.remove(0) } else { super::texts::joined(&all, " ") };
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

    /// The body of a short function: an expression, or braces.
    fn expression_body(&mut self, c: &mut Cursor) -> Vec<Token> {
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
    fn lambda(&mut self, c: &mut Cursor) -> Option<Val> {
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
    fn block(&mut self, c: &mut Cursor) -> Option<Val> {
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

    fn segments(&mut self, segs: &[Seg]) -> Val {
        let mut v = Val::text("");
        for s in segs {
            let part = match s {
                Seg::Plain(t) if self.given.partial && !self.lang.has_sigils() => Val::text(super::holes(t)),
                Seg::Plain(t) => Val::text(t.clone()),
                Seg::Code(code) => {
                    let t = tokens(code, self.lang);
                    self.depth += 2;
                    let v = if self.depth > DEPTH { Val::Unknown } else { self.expr(&mut Cursor { t: &t, i: 0 }) };
                    self.depth -= 2;
                    match v {
                        Val::List(l) => super::texts::joined(&l, " "),
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

    fn primary(&mut self, c: &mut Cursor) -> Val {
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
                    "STDIN" | "" | "<>" => self.given.stdin.clone().unwrap_or(Val::Unknown),
                    a if a.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$') => match self.lookup(a.trim_start_matches('$')) {
                        Some(Val::File(p, _)) => Val::Content(p),
                        Some(v) => v,
                        None => Val::Unknown,
                    },
                    a => {
                        let segs = super::tokens::interpolated(a, self.lang);
                        match self.segments(&segs) {
                            Val::Text(t) => super::texts::globbed(&t),
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

    /// Names behind a mark that a language gives a value.
    fn well_known(&self, name: &str) -> Val {
        match name {
            "ENV" | "_ENV" | "_SERVER" => Val::Name("ENV".into()),
            "ARGV" => Val::List(self.given.argv.iter().map(|a| Val::text(a.clone())).collect()),
            "argv" => Val::List(core::iter::once(Val::Unknown).chain(self.given.argv.iter().map(|a| Val::text(a.clone()))).collect()),
            "_" | "0" => self.given.stdin.clone().unwrap_or(Val::Unknown),
            _ => Val::Unknown,
        }
    }

    /// ( ... ) or [ ... ]: one value or a list; in Python also what is said for each of another list.
    fn bracketed(&mut self, c: &mut Cursor) -> Val {
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
    fn comprehension(&mut self, c: &mut Cursor, end: usize) -> Option<Val> {
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
    fn braced(&mut self, c: &mut Cursor) -> Val {
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
    fn arguments(&mut self, c: &mut Cursor, end: usize) -> (Vec<Val>, Vec<(String, Val)>) {
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

    fn argument(&mut self, c: &mut Cursor, args: &mut Vec<Val>, named: &mut Vec<(String, Val)>) {
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
    fn bare_arguments(&mut self, c: &mut Cursor) -> (Vec<Val>, Vec<(String, Val)>) {
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
    fn bare_call(&self, c: &Cursor, first: bool) -> bool {
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

    fn postfix(&mut self, c: &mut Cursor) -> Val {
        let start = c.i;
        let named = matches!(c.peek(), Tok::Name(_));
        // map { } LIST and its like
        if self.lang == Lang::Perl {
            if let (Tok::Name(n), Tok::Op("{")) = (c.peek(), c.ahead(1)) {
                let n = n.clone();
                let open = c.i + 1;
                let end = c.close(open);
                let body = c.t[(open + 1).min(end)..end.min(c.t.len())].to_vec();
                if matches!(n.as_str(), "map" | "grep" | "sort" | "first" | "any" | "all") {
                    c.i = (end + 1).min(c.t.len());
                    c.take(",");
                    let list = self.expr_list(c);
                    let k = self.function(vec!["_".into()], body);
                    return self.mapped(&n, k, &list);
                }
                if matches!(n.as_str(), "eval" | "do" | "try") {
                    c.i = (end + 1).min(c.t.len());
                    let k = self.function(Vec::new(), body);
                    return self.call_function(k, Vec::new());
                }
            }
        }
        let mut v = self.primary(c);
        let mut first = named;
        loop {
            if !self.step() {
                return v;
            }
            match c.peek() {
                Tok::Op("(") if !(c.apart() && (matches!(self.lang, Lang::Ruby) || !named && self.lang != Lang::Js)) && self.callable(&v, c) => {
                    let end = c.close(c.i);
                    c.i += 1;
                    let (mut args, named) = self.arguments(c, end);
                    c.i = (end + 1).min(c.t.len());
                    args.extend(self.block(c));
                    v = self.call(v, args, named);
                }
                Tok::Op("[") if !(c.apart() && matches!(self.lang, Lang::Ruby | Lang::Perl)) && !(first && c.apart() && self.lang == Lang::Elixir) => {
                    v = self.indexed(c, v);
                }
                Tok::Op("{") if self.lang == Lang::Perl && matches!(c.t[start].tok, Tok::Var(_)) && !c.apart() => {
                    let end = c.close(c.i);
                    let key = match (c.ahead(1), c.ahead(2)) {
                        (Tok::Name(n), Tok::Op("}")) => Val::text(n.clone()),
                        _ => {
                            c.i += 1;
                            self.expr(c)
                        }
                    };
                    c.i = (end + 1).min(c.t.len());
                    v = self.at(&v, &key);
                }
                Tok::Op("." | "?." | "->" | "::") if !(c.op(".") && self.lang.dot_joins()) => {
                    let java = c.op("->") && matches!(self.lang, Lang::Calls | Lang::Julia | Lang::Elixir);
                    if java {
                        return v;
                    }
                    match c.ahead(1) {
                        Tok::Name(n) => {
                            let n = n.clone();
                            c.i += 2;
                            v = self.member(c, v, &n);
                        }
                        Tok::Var(n) => {
                            let n = self.lookup(n).and_then(|v| v.known()).unwrap_or_default();
                            c.i += 2;
                            v = self.member(c, v, &n);
                        }
                        Tok::Op("(" | "[" | "{") => {
                            c.i += 1;
                            if c.op("{") {
                                let end = c.close(c.i);
                                let key = match c.ahead(1) {
                                    Tok::Name(n) => Val::text(n.clone()),
                                    _ => Val::Unknown,
                                };
                                c.i = (end + 1).min(c.t.len());
                                v = self.at(&v, &key);
                            }
                        }
                        Tok::Op("$" | "*") => c.i += 2,
                        _ => {
                            c.i += 1;
                            return v;
                        }
                    }
                }
                Tok::Op(":") if self.lang == Lang::Lua && matches!(c.ahead(1), Tok::Name(_)) => {
                    if let Tok::Name(n) = c.ahead(1) {
                        let n = n.clone();
                        c.i += 2;
                        v = self.member(c, v, &n);
                    }
                }
                Tok::Op("++" | "--") if self.lang != Lang::Calls => c.i += 1,
                Tok::Op("!") if self.lang == Lang::Calls && !matches!(c.ahead(1), Tok::Op("=")) => {
                    c.i += 1; // "ls".! of Scala
                    if let Some(t) = v.as_text() {
                        self.told.line(&Val::Text(t));
                    }
                }
                _ if first && matches!(v, Val::Name(_) | Val::Function(_)) && self.bare_call(c, true) => {
                    let (mut args, named) = self.bare_arguments(c);
                    args.extend(self.block(c));
                    v = self.call(v, args, named);
                }
                Tok::Op("{") | Tok::Name(_) if matches!(v, Val::Name(_)) && first && (matches!(self.lang, Lang::Ruby) || self.lang == Lang::Calls && c.op("{")) && (c.op("{") || c.name() == Some("do")) => {
                    match self.block(c) {
                        Some(f) => v = self.call(v, vec![f], Vec::new()),
                        None => return v,
                    }
                }
                _ => {
                    if first && named && c.i == start + 1 {
                        return self.alone(v);
                    }
                    return v;
                }
            }
            first = first && matches!(v, Val::Name(_));
        }
    }

    fn mapped(&mut self, name: &str, k: usize, list: &Val) -> Val {
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
    fn alone(&mut self, v: Val) -> Val {
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

    fn callable(&self, v: &Val, c: &Cursor) -> bool {
        let keyword = matches!(v, Val::Name(n) if SKIPPED.contains(&n.as_str()));
        !keyword && (!matches!(v, Val::Num(_) | Val::Map(_)) && !(c.apart() && matches!(self.lang, Lang::Python) && !matches!(v, Val::Name(_) | Val::Function(_))))
    }

    fn call(&mut self, f: Val, args: Vec<Val>, named: Vec<(String, Val)>) -> Val {
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

    /// v.name, v.name(...), v.name ...
    fn member(&mut self, c: &mut Cursor, v: Val, name: &str) -> Val {
        let mut args = None;
        if c.op("(") && !c.apart() {
            let end = c.close(c.i);
            c.i += 1;
            let (mut a, named) = self.arguments(c, end);
            c.i = (end + 1).min(c.t.len());
            a.extend(self.block(c));
            args = Some((a, named));
        } else if let Some(f) = if matches!(self.lang, Lang::Ruby) || self.lang == Lang::Calls && c.op("{") { self.block(c) } else { None } {
            args = Some((vec![f], Vec::new()));
        } else if self.bare_call(c, true) && !matches!(self.lang, Lang::Perl) && !(self.lang == Lang::Calls && !matches!(c.peek(), Tok::Text(_))) {
            let (mut a, named) = self.bare_arguments(c);
            a.extend(self.block(c));
            args = Some((a, named));
        }
        if self.lang == Lang::Calls && name == "!" {
            return Val::Unknown;
        }
        match v {
            Val::Name(m) => {
                let sep = '.';
                let full = alloc::format!("{}{}{}", m, sep, name);
                if let Some(bound) = self.lookup(&full) {
                    return match args {
                        Some((a, named)) => self.call(bound, a, named),
                        None => bound,
                    };
                }
                match args {
                    Some((a, named)) => self.invoke(&full, None, a, named),
                    None if self.calls_without_arguments(&m) => self.property(&full),
                    None => self.constant(&full),
                }
            }
            Val::Map(ref all) => match (all.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()), args) {
                (Some(f), Some((a, named))) => self.call(f, a, named),
                (Some(f), None) => f,
                (None, Some((a, named))) => self.invoke(name, Some(v.clone()), a, named),
                (None, None) => Val::Unknown,
            },
            Val::Function(k) if matches!(name, "call" | "apply" | "()" | "bind") => {
                let a = args.map_or(Vec::new(), |(a, _)| a);
                self.call_function(k, a)
            }
            v => match args {
                Some((a, named)) => self.invoke(name, Some(v), a, named),
                None if matches!(self.lang, Lang::Ruby | Lang::Elixir | Lang::Calls | Lang::Perl) => self.invoke(name, Some(v), Vec::new(), Vec::new()),
                None => match v {
                    Val::Net => Val::Net,
                    Val::Text(_) | Val::OneOf(_) if matches!(name, "parent" | "parents") => Val::Unknown,
                    _ => Val::Unknown,
                },
            },
        }
    }

    fn calls_without_arguments(&self, module: &str) -> bool {
        matches!(self.lang, Lang::Ruby | Lang::Elixir | Lang::Perl | Lang::Calls) && !module.is_empty()
    }

    /// A name of a module, in a language where it may be a call.
    fn property(&mut self, full: &str) -> Val {
        let last = full.rsplit('.').next().unwrap_or("");
        if last.starts_with(|c: char| c.is_lowercase()) && self.lang != Lang::Calls {
            return self.invoke(full, None, Vec::new(), Vec::new());
        }
        self.constant(full)
    }

    fn constant(&self, full: &str) -> Val {
        match full {
            "os.sep" | "path.sep" | "File.SEPARATOR" => Val::text("/"),
            "process.env.HOME" | "Deno.env.HOME" => Val::text(super::value::HOME),
            "os.curdir" => Val::text("."),
            "sys.executable" | "process.execPath" => Val::text(self.lang.program()),
            "stat.S_IRWXU" => Val::Num(0o700),
            "stat.S_IRWXG" => Val::Num(0o70),
            "stat.S_IRWXO" => Val::Num(0o7),
            "stat.S_IWOTH" => Val::Num(0o2),
            "stat.S_ISUID" => Val::Num(0o4000),
            "stat.S_ISGID" => Val::Num(0o2000),
            "string.ascii_lowercase" => Val::text("abcdefghijklmnopqrstuvwxyz"),
            _ => match full.strip_prefix("process.env.") {
                Some(name) => self.env(name),
                None => Val::Name(full.into()),
            },
        }
    }

    /// A variable of the environment.
    pub fn env(&self, name: &str) -> Val {
        if let Some((_, v)) = self.given.env.iter().find(|(n, _)| n == name) {
            return Val::text(v.clone());
        }
        match name {
            "HOME" | "USERPROFILE" => Val::text(super::value::HOME),
            "PWD" => Val::text("."),
            "SHELL" => Val::text("/bin/sh"),
            "TMPDIR" | "TEMP" | "TMP" => Val::text("/tmp"),
            _ => Val::Unknown,
        }
    }

    /// v[...]
    fn indexed(&mut self, c: &mut Cursor, v: Val) -> Val {
        let end = c.close(c.i);
        c.i += 1;
        let mut parts: Vec<Option<Val>> = vec![None];
        while c.i < end.min(c.t.len()) && self.step() {
            let before = c.i;
            if c.take(":") {
                parts.push(None);
                continue;
            }
            if c.take("::") {
                parts.push(None);
                parts.push(None);
                continue;
            }
            if c.take("..") || c.take("...") {
                parts.push(None);
                continue;
            }
            let one = self.binary(c, 5);
            let last = parts.len() - 1;
            parts[last] = Some(one);
            if c.take(",") {
                parts.push(None);
            }
            if c.i == before {
                c.i += 1;
            }
        }
        c.i = (end + 1).min(c.t.len());
        if parts.len() > 1 {
            return super::texts::sliced(&v, &parts);
        }
        match parts.pop().flatten() {
            Some(k) => self.at(&v, &k),
            None => v,
        }
    }

    /// The value of a key.
    fn at(&mut self, v: &Val, key: &Val) -> Val {
        match (v, key) {
            (Val::Name(n), k) => {
                let k = match k.known() {
                    Some(k) => k,
                    None => return Val::Unknown,
                };
                match n.as_str() {
                    "ENV" | "os.environ" | "process.env" | "environ" | "ENVIRON" | "os.environb" => self.env(&k),
                    "sys.argv" | "process.argv" | "ARGV" => {
                        let skip = if n == "ARGV" && self.lang != Lang::Awk { 0 } else { 1 };
                        let i = k.parse::<usize>().unwrap_or(0);
                        i.checked_sub(skip).and_then(|i| self.given.argv.get(i)).map_or(Val::Unknown, |a| Val::text(a.clone()))
                    }
                    "Dir" => super::texts::globbed(&k),
                    _ => Val::Name(alloc::format!("{}.{}", n.trim_end_matches(".__dict__"), k)),
                }
            }
            (Val::List(all), Val::Num(n)) => {
                let n = if *n < 0 { all.len() as i64 + *n } else { *n };
                usize::try_from(n).ok().and_then(|n| all.get(n)).cloned().unwrap_or_else(|| v.element())
            }
            (Val::List(_), _) => v.element(),
            (Val::Map(_), k) => k.known().and_then(|k| v.member(&k).cloned()).unwrap_or(Val::Unknown),
            (Val::Net, _) => Val::Net,
            (Val::Text(t), Val::Num(n)) => {
                let len = t.chars().count() as i64;
                let n = if *n < 0 { len + *n } else { *n };
                usize::try_from(n).ok().and_then(|n| t.chars().nth(n)).map_or(Val::Unknown, |c| Val::text(c))
            }
            (Val::OneOf(_), _) => v.clone(),
            _ => Val::Unknown,
        }
    }

    /// Runs a text of the program's own language.
    pub fn eval(&mut self, v: &Val) -> Val {
        match v {
            Val::Text(t) if !t.contains(HOLE) => {
                if self.depth + 3 > DEPTH {
                    self.told.unknown();
                    return Val::Unknown;
                }
                let t = tokens(t, self.lang);
                self.depth += 3;
                let mut c = Cursor { t: &t, i: 0 };
                let single = !t.iter().enumerate().any(|(i, k)| k.tok == Tok::End && i + 1 < t.len());
                let mut out = Val::Unknown;
                if single && self.plain_start(&c) {
                    out = self.expr(&mut c);
                }
                self.statements(&mut c);
                self.depth -= 3;
                out
            }
            Val::OneOf(all) => {
                all.iter().for_each(|v| drop(self.eval(v)));
                Val::Unknown
            }
            Val::Function(k) => self.call_function(*k, Vec::new()),
            v => {
                self.told.run_text(self.lang.program(), v);
                Val::Unknown
            }
        }
    }
}

impl Cursor<'_> {
    /// Passes line ends behind an operator.
    fn ends_within(&mut self) {
        self.ends();
    }
}

impl Val {
    /// The values of a format: those of a list, or the one.
    pub fn elements_of_format(&self) -> Vec<Val> {
        match self {
            Val::List(all) => all.clone(),
            v => vec![v.clone()],
        }
    }
}

