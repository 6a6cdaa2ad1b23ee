//! Reads a program's expressions in the order of its text: what it assigns, what it calls, and with what. Both branches
//! of a condition count, a loop's body counts once, and what cannot be told is marked.


mod cursor;
mod expressions;
mod functions;
mod members;
mod statements;
mod values;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cursor::Cursor;
use functions::Function;
use crate::code::lang::Lang;
use crate::code::told::Told;
use crate::code::tokens::{tokens, Tok};
use crate::code::value::{Val, HOLE};

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
    pub(super) names: Vec<(String, Val)>,
    functions: Vec<Function>,
    steps: u32,
    depth: u32,
}

/// The most tokens that are looked at and copied, calls of functions included.
const STEPS: u32 = 100_000;
/// How deep expressions are read.
const DEPTH: u32 = 22;

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

    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > STEPS {
            self.told.more = true;
        }
        !self.told.more
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

    /// Names behind a mark that a language gives a value.
    pub(super) fn well_known(&self, name: &str) -> Val {
        match name {
            "ENV" | "_ENV" | "_SERVER" => Val::Name("ENV".into()),
            "ARGV" => Val::List(self.given.argv.iter().map(|a| Val::text(a.clone())).collect()),
            "argv" => Val::List(core::iter::once(Val::Unknown).chain(self.given.argv.iter().map(|a| Val::text(a.clone()))).collect()),
            "_" | "0" => self.given.stdin.clone().unwrap_or(Val::Unknown),
            _ => Val::Unknown,
        }
    }

    pub(super) fn constant(&self, full: &str) -> Val {
        match full {
            "os.sep" | "path.sep" | "File.SEPARATOR" => Val::text("/"),
            "process.env.HOME" | "Deno.env.HOME" => Val::text(crate::code::value::HOME),
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
            "HOME" | "USERPROFILE" => Val::text(crate::code::value::HOME),
            "PWD" => Val::text("."),
            "SHELL" => Val::text("/bin/sh"),
            "TMPDIR" | "TEMP" | "TMP" => Val::text("/tmp"),
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

impl Val {
    /// The values of a format: those of a list, or the one.
    pub fn elements_of_format(&self) -> Vec<Val> {
        match self {
            Val::List(all) => all.clone(),
            v => vec![v.clone()],
        }
    }
}
