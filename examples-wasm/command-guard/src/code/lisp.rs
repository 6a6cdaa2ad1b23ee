//! Programs in parentheses: Emacs Lisp, Scheme, Common Lisp, Clojure, Racket.

use alloc::string::String;
use alloc::vec::Vec;

use super::told::Told;
use super::value::{concat, join_path, Val, HOME};

/// How deep lists are read.
const DEPTH: usize = 24;

pub fn told(text: &str, told: &mut Told) {
    let c: Vec<char> = text.chars().collect();
    let mut r = Reader { c, i: 0, told, names: Vec::new(), fetched: false };
    while r.i < r.c.len() {
        r.value(0);
    }
}

struct Reader<'a> {
    c: Vec<char>,
    i: usize,
    told: &'a mut Told,
    names: Vec<(String, Val)>,
    /// Something came from the network.
    fetched: bool,
}

impl Reader<'_> {
    fn at(&self) -> char {
        self.c.get(self.i).copied().unwrap_or('\0')
    }

    /// Reads one value, calls included.
    fn value(&mut self, depth: usize) -> Val {
        while self.i < self.c.len() && (self.at().is_whitespace() || matches!(self.at(), '\'' | '`' | ',' | '@' | '#') || self.at() == ';') {
            if self.at() == ';' {
                while self.i < self.c.len() && self.at() != '\n' {
                    self.i += 1;
                }
                continue;
            }
            self.i += 1;
        }
        match self.at() {
            '(' | '[' | '{' => {
                self.i += 1;
                let mut all = Vec::new();
                while self.i < self.c.len() && !matches!(self.at(), ')' | ']' | '}') {
                    if depth > DEPTH {
                        self.told.more = true;
                        self.i = self.c.len();
                        break;
                    }
                    let before = self.i;
                    all.push(self.value(depth + 1));
                    while self.at().is_whitespace() {
                        self.i += 1;
                    }
                    if self.i == before {
                        self.i += 1;
                    }
                }
                self.i += 1;
                self.call(all)
            }
            '"' => {
                self.i += 1;
                let mut t = String::new();
                while self.i < self.c.len() && self.at() != '"' {
                    if self.at() == '\\' {
                        t.push('\\');
                        self.i += 1;
                    }
                    t.push(self.at());
                    self.i += 1;
                }
                self.i += 1;
                Val::Text(super::escapes::undone(&t, super::lang::Lang::Calls))
            }
            '\0' | ')' | ']' | '}' => {
                self.i += 1;
                Val::Unknown
            }
            _ => {
                let from = self.i;
                while self.i < self.c.len() && !self.at().is_whitespace() && !"()[]{}\"".contains(self.at()) {
                    self.i += 1;
                }
                let t: String = self.c[from..self.i].iter().collect();
                if let Some(oct) = t.strip_prefix('o') {
                    if let Ok(n) = i64::from_str_radix(oct, 8) {
                        return Val::Num(n);
                    }
                }
                if let Ok(n) = t.parse() {
                    return Val::Num(n);
                }
                self.names.iter().find(|(n, _)| *n == t).map_or(Val::Name(t), |(_, v)| v.clone())
            }
        }
    }

    fn call(&mut self, mut all: Vec<Val>) -> Val {
        let name = match all.first() {
            Some(Val::Name(n)) => n.clone(),
            _ => return Val::List(all),
        };
        let args: Vec<Val> = all.drain(1..).collect();
        let first = args.first().cloned().unwrap_or(Val::Unknown);
        let last = name.rsplit(&['/', ':'][..]).next().unwrap_or("");
        let texts: Vec<Val> = args.iter().filter(|a| !matches!(a, Val::Name(_) | Val::Num(_))).cloned().collect();
        match last {
            "shell-command" | "shell-command-to-string" | "async-shell-command" | "system" | "system*" | "shell" | "run-shell-command" | "run-program" | "sh" | "launch-program" | "call-process-shell-command" | "open-input-pipe" | "popen"
            | "process" | "exec" | "shell-out" | "call-process" | "start-process" | "start-file-process" | "make-process" | "process-file" | "process-lines" | "subprocess" | "spawn-process" | "start-process-shell-command" | "shell!" | "open-pipe*" | "open-pipe" => {
                let listed = matches!(last, "call-process" | "process-file" | "process-lines" | "system*" | "subprocess" | "open-pipe*");
                let named = matches!(last, "start-process" | "start-file-process");
                if named {
                    self.told.words(&texts[1.min(texts.len())..]);
                } else if matches!(first, Val::List(_)) || listed || texts.len() > 1 && matches!(last, "sh" | "process" | "shell") {
                    self.told.words(&texts);
                } else {
                    let line = if last.starts_with("start-process") { texts.last().cloned() } else { texts.first().cloned() };
                    self.told.line(&line.unwrap_or(Val::Unknown));
                }
                Val::Unknown
            }
            "delete-directory" | "delete-directory-tree" | "files" if last != "files" || name == "delete-directory/files" => {
                self.told.delete_tree(&first);
                Val::Unknown
            }
            "rmtree" | "delete-tree" | "delete-dir" | "delete-directory/files" => {
                self.told.delete_tree(&first);
                Val::Unknown
            }
            "delete-file" | "delete-file-if-exists" | "move-file-to-trash" => {
                self.told.paths("rm -f", &[first]);
                Val::Unknown
            }
            "rename-file" if args.len() > 1 => {
                self.told.paths("mv", &args[..2]);
                Val::Unknown
            }
            "copy-file" | "copy-directory" | "copy-tree" | "copy" if args.len() > 1 => {
                self.told.paths("cp -r", &args[..2]);
                Val::Unknown
            }
            "make-symbolic-link" | "add-name-to-file" | "make-file-or-directory-link" if args.len() > 1 => {
                self.told.paths("ln -sf", &args[..2]);
                Val::Unknown
            }
            "set-file-modes" | "chmod" | "file-or-directory-permissions" => {
                let mode = args.iter().find_map(|a| if let Val::Num(n) = a { Some(*n) } else { None });
                if let (Some(m), Some(p)) = (mode, args.iter().find(|a| matches!(a, Val::Text(_)))) {
                    self.told.paths(&alloc::format!("chmod {:o}", m), core::slice::from_ref(p));
                }
                Val::Unknown
            }
            "insert-file-contents" | "find-file" | "slurp" | "load-file" | "read-file-into-string" | "file->string" | "file->lines" | "open-input-file" | "with-input-from-file" | "call-with-input-file" | "find-file-noselect"
            | "insert-file-contents-literally" | "read-file-string" | "with-open-file" | "reader" | "line-seq" | "file->bytes" | "display-file" | "get-string-all" => {
                self.told.paths("cat", &texts[..1.min(texts.len())]);
                Val::Content(alloc::boxed::Box::new(first))
            }
            "write-region" | "append-to-file" => {
                if let Some(p) = args.iter().rev().find(|a| matches!(a, Val::Text(_))) {
                    self.told.write(p, &first, last == "append-to-file");
                }
                Val::Unknown
            }
            "spit" | "open-output-file" | "with-output-to-file" | "call-with-output-file" | "write-file" | "display-to-file" | "display-lines-to-file" | "write-to-file" => {
                self.told.write(&first, args.get(1).unwrap_or(&Val::Unknown), false);
                Val::Unknown
            }
            "url-retrieve-synchronously" | "url-insert-file-contents" | "get-url" | "http-request" | "dex" | "url-retrieve" | "get-pure-port" => {
                self.fetched = true;
                Val::Net
            }
            "eval" | "load-string" | "eval-string" | "load" | "read-string" | "eval-buffer" | "eval-region" => {
                let about = args.iter().any(|a| *a == Val::Net) || self.fetched;
                if about {
                    self.told.run_text("sh", &Val::Net);
                } else if let (Val::Text(t), true) = (&first, last != "load") {
                    let t = t.clone();
                    told(&t, self.told);
                }
                Val::Unknown
            }
            "expand-file-name" | "substitute-in-file-name" | "expand-user" => match (&first, args.get(1)) {
                (Val::Text(t), _) if t.starts_with('~') => Val::Text(t.replacen('~', "\u{f0003}", 1)),
                (a, Some(b @ Val::Text(_))) => join_path(b, a),
                (a, _) => a.clone(),
            },
            "getenv" if first.known().as_deref() == Some("HOME") => Val::text(HOME),
            "concat" | "string-append" | "str" | "format" | "concatenate" | "string-concat" => {
                let mut v = Val::text("");
                for a in args.iter().filter(|a| !matches!(a, Val::Name(_))) {
                    v = concat(&v, a);
                }
                v
            }
            "base64-decode-string" => first.known().and_then(|t| super::escapes::base64(&t)).map_or(Val::Unknown, Val::Text),
            "list" | "vector" => Val::List(args),
            "setq" | "define" | "def" | "defvar" | "setf" | "defparameter" => {
                if let (Val::Name(n), Some(v)) = (&first, args.get(1)) {
                    self.names.push((n.clone(), v.clone()));
                }
                Val::Unknown
            }
            "connect" | "listen" | "server" if name.starts_with("net/") => {
                self.told.socket = true;
                Val::Net
            }
            "execute" | "spawn" if name.starts_with("os/") => {
                self.told.words(&texts[..1.min(texts.len())]);
                Val::Unknown
            }
            "ProcessBuilder." | "java.lang.ProcessBuilder." => {
                self.told.words(&texts);
                Val::Unknown
            }
            "make-network-process" | "open-network-stream" | "tcp-connect" | "java.net.Socket." | "Socket." | "java.net.ServerSocket." | "ServerSocket." => {
                self.told.socket = true;
                Val::Net
            }
            _ => {
                if args.iter().any(|a| *a == Val::Net) {
                    return Val::Net;
                }
                if name.chars().all(|c| c.is_alphanumeric()) && args.len() == 1 && matches!(args[0], Val::Text(_)) && last == "x" {
                    return first;
                }
                // (let ((x "...")) ...): the pairs are read as calls.
                if let (1, Some(v)) = (args.len(), args.first()) {
                    self.names.push((name.clone(), v.clone()));
                }
                args.last().cloned().unwrap_or(Val::Unknown)
            }
        }
    }
}
