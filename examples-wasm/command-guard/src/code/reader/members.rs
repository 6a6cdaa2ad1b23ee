//! What stands behind a value: calls, members, keys.

use alloc::vec;
use alloc::vec::Vec;

use super::cursor::Cursor;
use super::Reader;
use crate::code::lang::Lang;
use crate::code::tokens::Tok;
use crate::code::value::Val;

impl Reader<'_> {
    pub(super) fn postfix(&mut self, c: &mut Cursor) -> Val {
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
                        Tok::Op("!") if self.lang == Lang::Calls => {
                            c.i += 2; // "ls".! of Scala
                            self.told.line(&v);
                        }
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

    /// v.name, v.name(...), v.name ...
    pub(super) fn member(&mut self, c: &mut Cursor, v: Val, name: &str) -> Val {
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

    pub(super) fn calls_without_arguments(&self, module: &str) -> bool {
        matches!(self.lang, Lang::Ruby | Lang::Elixir | Lang::Perl | Lang::Calls) && !module.is_empty()
    }

    /// A name of a module, in a language where it may be a call.
    pub(super) fn property(&mut self, full: &str) -> Val {
        let last = full.rsplit('.').next().unwrap_or("");
        if last.starts_with(|c: char| c.is_lowercase()) && self.lang != Lang::Calls {
            return self.invoke(full, None, Vec::new(), Vec::new());
        }
        self.constant(full)
    }

    /// v[...]
    pub(super) fn indexed(&mut self, c: &mut Cursor, v: Val) -> Val {
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
            return crate::code::texts::sliced(&v, &parts);
        }
        match parts.pop().flatten() {
            Some(k) => self.at(&v, &k),
            None => v,
        }
    }

    /// The value of a key.
    pub(super) fn at(&mut self, v: &Val, key: &Val) -> Val {
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
                    "Dir" => crate::code::texts::globbed(&k),
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
}
