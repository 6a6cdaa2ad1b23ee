//! What a call is about, as far as a rule can ask: found when the first rule asks, and once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use belay_hook as hook;
use hook::analysis::{self, Command, Shell, Word};
use hook::json::{object, Value};
use hook::{input, raw, Kind};

use crate::arguments;
use crate::bytes;
use crate::few::{self, KEEP};
use crate::hosts::{self, Hosts};
use crate::leaves::Leaves;
use crate::lines;
use crate::paths::{self, Wanted};
use crate::programs;
use crate::scan;
use crate::work::Work;

pub type Read<T> = Result<T, hook::Fail>;

/// Things found, and why there may be others that cannot be told.
pub struct Found<T> {
    pub list: Vec<T>,
    pub doubt: Option<String>,
    /// Patterns of the shell find names that begin with a dot, too.
    pub hidden: bool,
    /// Why files or hosts may be touched that cannot be told, by programs of other languages.
    pub touches: Option<String>,
}

impl<T> Found<T> {
    fn new() -> Found<T> {
        Found { list: Vec::new(), doubt: None, hidden: false, touches: None }
    }

    pub fn doubt(&mut self, why: &str) {
        self.doubt.get_or_insert_with(|| why.to_string());
    }

    /// Notes why more than is found may be touched, as the commands say.
    fn follow(&mut self, commands: &Found<Command>) {
        for why in commands.doubt.iter().chain(&commands.touches) {
            self.doubt(why);
        }
    }
}

/// A path in all the spellings that a rule is compared with, or a pattern of a shell that stands for paths.
pub struct PathFact {
    pub path: String,
    pub keys: Vec<String>,
    pub glob: bool,
}

/// What the arguments of a call name: the paths that are to be resolved, and the hosts.
struct Named {
    paths: RefCell<Wanted>,
    hosts: RefCell<Hosts>,
    doubt: Option<String>, // of both
}

type Once<T> = RefCell<Option<Rc<T>>>;
type ByPointer<T> = RefCell<BTreeMap<String, T>>;

#[derive(Default)]
pub struct Facts {
    pub work: Work,
    shell: Once<Found<Command>>,
    named: Once<Named>,
    paths: Once<Found<PathFact>>,
    hosts: Once<Found<String>>,
    tools: Once<Vec<String>>,
    folders: Once<(String, String)>,
    judged: Once<Option<Value>>,
    metadata: Once<BTreeMap<String, Value>>,
    kinds: ByPointer<Option<Kind>>,
    texts: ByPointer<Option<Rc<str>>>,
    sizes: ByPointer<usize>,
    sources: ByPointer<Rc<str>>,
    leaves: ByPointer<Rc<Leaves>>,
    /// By what the conditions of the rule that is looked at now hold.
    pub met: RefCell<Met>,
}

/// What of a call fulfils conditions: for reasons, and for `belay rules explain`.
#[derive(Default)]
pub struct Met {
    pub command: Option<(String, String)>, // the program, and all of it
    pub path: Option<String>,
    pub host: Option<String>,
}

fn once<T>(slot: &Once<T>, make: impl FnOnce() -> Read<T>) -> Read<Rc<T>> {
    if let Some(v) = &*slot.borrow() {
        return Ok(v.clone());
    }
    let v = Rc::new(make()?);
    *slot.borrow_mut() = Some(v.clone());
    Ok(v)
}

fn kept<T: Clone>(all: &ByPointer<T>, at: &str, make: impl FnOnce() -> T) -> T {
    if let Some(v) = all.borrow().get(at) {
        return v.clone();
    }
    let v = make();
    all.borrow_mut().insert(at.to_string(), v.clone());
    v
}

// Fuel that looking at things takes, about.
const TEXT: usize = 250; // for each text among the arguments
const LINE: usize = 260; // for each line of a patch
const SIZE: usize = 40; // for each byte of a document whose size is taken
const PARSE: usize = 800; // for each byte of a text of a shell, as the host charges it
const REPLY: usize = 300; // for each byte of what the host says about it
const UNTIL: usize = 64; // bytes of a text that cost nothing

impl Facts {
    /// The kind of a value of the input.
    pub fn kind(&self, at: &str) -> Option<Kind> {
        kept(&self.kinds, at, || {
            self.work.look_up();
            input::kind(at)
        })
    }

    /// A text of the input.
    pub fn text(&self, at: &str) -> Option<Rc<str>> {
        kept(&self.texts, at, || {
            if self.kind(at) != Some(Kind::Text) {
                return None;
            }
            self.work.look_up();
            input::get(at).map(Rc::from)
        })
    }

    /// The bytes of a value, however it is spelled.
    pub fn size(&self, at: &str) -> usize {
        kept(&self.sizes, at, || match self.kind(at) {
            None => 0,
            Some(Kind::Array | Kind::Object) => {
                let source = self.source(at);
                self.work.take(SIZE * source.len());
                if source.is_empty() {
                    return usize::MAX; // what cannot be read is not small
                }
                scan::size(&source)
            }
            Some(_) => {
                self.work.look_up();
                input::get(at).map_or(usize::MAX, |value| value.len())
            }
        })
    }

    /// The source of an array or object of the input.
    pub fn source(&self, at: &str) -> Rc<str> {
        kept(&self.sources, at, || {
            self.work.look_up();
            let source = input::get(at).unwrap_or_default();
            self.work.take(8 * source.len());
            Rc::from(source)
        })
    }

    /// What the host says of a call whose tool does not say what it does.
    pub fn judged(&self) -> Rc<Option<Value>> {
        let unread = || object().with("more", true);
        let judged = || self.kind("/judged").map(|_| input::value("/judged").unwrap_or_else(unread));
        once(&self.judged, || Ok(judged())).unwrap_or_default()
    }

    /// A value of the metadata, by its pointer.
    pub fn metadata(&self, at: &str) -> Read<Option<Value>> {
        let all = once(&self.metadata, || {
            if self.kind("/metadata").is_none() {
                return Ok(BTreeMap::new());
            }
            let source = self.source("/metadata");
            self.work.take(100 * source.len());
            let members = match Value::parse(&source) {
                Some(Value::Object(members)) => members,
                _ => return Err("the metadata cannot be read".into()),
            };
            Ok(members.into_iter().map(|(name, value)| (hook::pointer(&["metadata", &name]), value)).collect())
        });
        Ok(all?.get(at).cloned())
    }

    /// The names under which rules see the tool: its own, and those of what the call carries.
    pub fn tools(&self) -> Read<Rc<Vec<String>>> {
        once(&self.tools, || {
            let mut names: Vec<String> = self.text("/tool").map(|t| t.to_string()).into_iter().collect();
            if let Some(judged) = &*self.judged() {
                names.extend(judged.list("as").iter().filter_map(Value::as_text).map(String::from));
            }
            Ok(names)
        })
    }

    /// Every command that would run.
    pub fn commands(&self) -> Read<Rc<Found<Command>>> {
        once(&self.shell, || {
            let mut found = Found::new();
            let lines = match lines::of(self) {
                Some(lines) => lines,
                None => {
                    if self.text("/tool").as_deref() == Some("exec") {
                        found.doubt("the call runs a command, but not in a form that can be read");
                    }
                    return Ok(found);
                }
            };
            if lines.long {
                found.doubt("the command is too long to be read");
            }
            if lines.more {
                found.doubt("the call runs more than can be told");
            }
            if lines.foreign {
                found.doubt("the tool runs code of another language");
            }
            let cost = |line: &String| PARSE * line.len().saturating_sub(UNTIL);
            let mut list = lines.list;
            if !self.work.has(list.iter().map(cost).sum()) {
                // The same ones are read in whatever order they stand.
                list = few::shortest_first(list);
            }
            for line in &list {
                if !self.work.take(cost(line)) {
                    found.doubt(&self.work.why());
                    break;
                }
                match analysis::shell_parse_with_programs(line) {
                    Ok((shell, told)) => {
                        // The reply says of many short words ten times as much as the text has.
                        let reply = unsafe { raw::reply_read(core::ptr::null_mut(), 0) };
                        self.work.take(REPLY * usize::try_from(reply).unwrap_or(0));
                        programs::add(&told, &mut found);
                        add_shell(&mut found, shell);
                    }
                    Err(hook::Errno::TooLarge) => found.doubt("the command is too long to be read"),
                    Err(e) => return Err(e.into()),
                }
            }
            Ok(found)
        })
    }

    /// What the arguments name, in one go through them.
    fn named(&self) -> Rc<Named> {
        let read = || {
            let (mut paths, mut hosts, mut doubt) = (Wanted::default(), Hosts::default(), None);
            if matches!(self.kind("/args"), Some(Kind::Object | Kind::Array)) {
                let source = self.source("/args");
                let mut cost = 0; // of texts that are looked at
                let (complete, rounds) = arguments::texts(&source, |class, text| {
                    cost += TEXT;
                    let host = !class.is_no_call() && !hosts::full(&hosts) && (class.is_host() || text.escapes || bytes::has(text.source, b':'));
                    if class.is_path() || class.is_patch() || host {
                        cost += text.cost() + KEEP;
                        let text = text.plain();
                        if class.is_path() {
                            paths.add(&None, &text);
                        }
                        if class.is_patch() {
                            cost += LINE * paths::of_patch(&text, &mut paths);
                        }
                        if host {
                            hosts::of_text(&text, class.is_host(), &mut hosts);
                        }
                    }
                });
                self.work.scanned(source.len(), rounds);
                self.work.take(cost);
                if !complete {
                    doubt = Some("the arguments cannot be read".to_string());
                }
            }
            Named { paths: paths.into(), hosts: hosts.into(), doubt }
        };
        let mut slot = self.named.borrow_mut();
        slot.get_or_insert_with(|| Rc::new(read())).clone()
    }

    /// Every path that the call names.
    pub fn paths(&self) -> Read<Rc<Found<PathFact>>> {
        once(&self.paths, || {
            let mut found = Found::new();
            let named = self.named();
            let mut wanted = named.paths.take();
            named.doubt.iter().for_each(|why| found.doubt(why));
            if let Some(judged) = &*self.judged() {
                for at in judged.list("paths") {
                    match at.as_text().and_then(|at| self.text(at)) {
                        Some(path) => wanted.add(&None, &path),
                        None => found.doubt("the call names a path that cannot be read"),
                    }
                }
                if judged.is_true("more") {
                    found.doubt(MORE_PATHS);
                }
            }
            let commands = self.commands()?;
            found.follow(&commands);
            found.hidden = commands.list.iter().any(|c| {
                let says = |w: &Word| w.text.contains("dotglob") || w.text.to_ascii_lowercase().replace('_', "").contains("globdots");
                matches!(c.name.as_str(), "shopt" | "setopt" | "set" | "bash" | "zsh") && c.args().iter().any(says)
            });
            for c in &commands.list {
                paths::of_command(c, &mut found, &mut wanted);
            }
            wanted.resolve(&self.work, &mut found)?;
            Ok(found)
        })
    }

    /// The home directory and the working directory, as they stand in keys.
    pub fn folders(&self) -> Read<Rc<(String, String)>> {
        once(&self.folders, || {
            let resolved = analysis::path_resolve(&["~", "."], None)?;
            let key = |i: usize| resolved.get(i).and_then(|p| p.keys.first()).cloned().unwrap_or_default();
            Ok((key(0), key(1)))
        })
    }

    /// Every host that the call names.
    pub fn hosts(&self) -> Read<Rc<Found<String>>> {
        once(&self.hosts, || {
            let named = self.named();
            let mut hosts = named.hosts.take();
            let commands = self.commands()?;
            for c in &commands.list {
                hosts::of_command(c, &mut hosts);
            }
            let mut found = hosts.found();
            named.doubt.iter().for_each(|why| found.doubt(why));
            found.follow(&commands);
            Ok(found)
        })
    }

    /// The texts below a pointer; names of members are none.
    pub fn leaves(&self, at: &str) -> Rc<Leaves> {
        kept(&self.leaves, at, || {
            let source = match self.kind(at) {
                Some(Kind::Array | Kind::Object) => self.source(at),
                Some(Kind::Text) => match self.text(at) {
                    Some(text) => text,
                    None => return Rc::new(Leaves::untold(at, "a text cannot be read".to_string())),
                },
                _ => Rc::from(""),
            };
            if !self.work.left() {
                return Rc::new(Leaves::untold(at, self.work.why()));
            }
            let found = Leaves::of(self.kind(at), &source, at);
            self.work.scanned(source.len(), found.rounds);
            self.work.take(found.cost);
            Rc::new(found)
        })
    }
}

pub const MORE_PATHS: &str = "the call names more paths than can be told";

fn add_shell(found: &mut Found<Command>, shell: Shell) {
    if !shell.ok {
        found.doubt("the command cannot be read to its end");
    }
    if shell.truncated {
        found.doubt("the command runs more than can be told, so it cannot be read to its end");
    }
    if let Some(u) = shell.unknown.first() {
        found.doubt(&format!("what this would run cannot be told beforehand: {}", cut(&u.raw)));
    }
    if let Some(c) = shell.commands.iter().find(|c| c.name.is_empty() && !c.words.is_empty()) {
        found.doubt(&format!("which program this runs cannot be told beforehand: {}", cut(&c.raw)));
    }
    found.list.extend(shell.commands);
}

pub fn cut(s: &str) -> &str {
    let mut end = s.len().min(120);
    while !s.is_char_boundary(end) {
        end -= 1;
    }
    &s[..end]
}
