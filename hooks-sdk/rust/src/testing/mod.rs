//! A stand-in for the host, so that a hook can be tested with `cargo test`.
//!
//! ```
//! use belay_hook::{self as hook, testing::{Effect, Host}};
//!
//! fn guard() -> hook::Result {
//!     if hook::input::text("/tool").as_deref() == Some("exec") {
//!         hook::block("no commands");
//!     }
//!     Ok(())
//! }
//!
//! let got = Host::new(r#"{"tool":"exec","args":{}}"#).run(guard);
//! assert_eq!(got.effects, [Effect::Block("no commands".into())]);
//! ```
//!
//! It answers reads and state, keeps effects in a list, and gives analysis calls the replies that the test has set. It
//! does not judge: capabilities, limits and legality are the real host's, and `belay test` runs a hook there.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::errors::Outcome;
use crate::json::Value;

pub(crate) mod stubs;

/// What a hook asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The reason.
    Block(String),
    /// Path and JSON.
    Rewrite(String, String),
    /// Path and text.
    RewriteText(String, String),
    /// Path.
    Remove(String),
    /// Path and label.
    Redact(String, String),
    /// Key and JSON.
    Annotate(String, String),
    /// Any other effect: its name, and its text or JSON.
    Other(&'static str, String),
}

/// A host for one call of a phase function.
#[derive(Debug, Default)]
pub struct Host {
    input: String,
    config: String,
    replies: BTreeMap<String, (i32, String)>,
    state: BTreeMap<String, Vec<u8>>,
    reply: String,
    failed: Option<String>,
    logs: Vec<(i32, String)>,
    effects: Vec<Effect>,
    pub(crate) time: i64,
    random: u64,
}

/// What came of a call.
#[derive(Debug)]
pub struct Outcomes {
    /// What the exported function would return; 0 is success.
    pub status: i32,
    /// The text of the failure.
    pub failed: Option<String>,
    /// The effects, in order.
    pub effects: Vec<Effect>,
    /// Log lines with their levels.
    pub logs: Vec<(i32, String)>,
    /// The hook's state afterwards.
    pub state: BTreeMap<String, Vec<u8>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Host>> = RefCell::new(None);
}

pub(crate) fn current<T>(f: impl FnOnce(&mut Host) -> T) -> T {
    CURRENT.with(|c| f(c.borrow_mut().as_mut().expect("a host function was called outside of testing::Host::run")))
}

impl Host {
    /// A host with an input document: members of the action and of the invocation, side by side.
    pub fn new(input: &str) -> Host {
        assert!(Value::parse(input).is_some(), "the input is not JSON: {}", input);
        Host { input: input.to_string(), config: "{}".to_string(), ..Host::default() }
    }

    /// Sets the configuration.
    #[must_use]
    pub fn config(mut self, json: &str) -> Host {
        assert!(Value::parse(json).is_some(), "the configuration is not JSON: {}", json);
        self.config = json.to_string();
        self
    }

    /// Sets what a call such as "shell_parse" replies. Without it the call answers "unavailable".
    #[must_use]
    pub fn reply(mut self, call: &str, json: &str) -> Host {
        self.replies.insert(call.to_string(), (0, json.to_string()));
        self
    }

    /// Lets a call answer an error code.
    #[must_use]
    pub fn refuse(self, call: &str, code: i32) -> Host {
        self.refuse_with(call, code, "")
    }

    /// Lets a call answer an error code and explain itself in a document, such as `{"reason":"..."}`.
    #[must_use]
    pub fn refuse_with(mut self, call: &str, code: i32, json: &str) -> Host {
        self.replies.insert(call.to_string(), (code, json.to_string()));
        self
    }

    /// Sets the bytes under a state key.
    #[must_use]
    pub fn state(mut self, key: &str, value: &[u8]) -> Host {
        self.state.insert(key.to_string(), value.to_vec());
        self
    }

    /// Sets the invocation's time, in nanoseconds since 1970.
    #[must_use]
    pub fn time(mut self, unix_ns: i64) -> Host {
        self.time = unix_ns;
        self
    }

    /// Calls a phase function. As on the real host, a failure drops all effects.
    pub fn run<O: Outcome>(self, phase: impl FnOnce() -> O) -> Outcomes {
        CURRENT.with(|c| *c.borrow_mut() = Some(self));
        let status = phase().status();
        let h = CURRENT.with(|c| c.borrow_mut().take()).expect("a host is set");
        Outcomes {
            status,
            failed: h.failed,
            effects: if status == 0 { h.effects } else { Vec::new() },
            logs: h.logs,
            state: h.state,
        }
    }

    pub(crate) fn read(&mut self, call: &'static str, arg: &[u8]) -> Result<Vec<u8>, i32> {
        let at = text(arg);
        match call {
            "input_read" => Ok(self.input.clone().into_bytes()),
            "config_read" => Ok(self.config.clone().into_bytes()),
            "reply_read" => Ok(self.reply.clone().into_bytes()),
            "state_get" => self.state.get(&at).cloned().ok_or(-1),
            _ => Ok(match self.find(call, &at)? {
                Value::Text(s) => s,
                other => other.to_json(),
            }
            .into_bytes()),
        }
    }

    pub(crate) fn call(&mut self, name: &'static str, a: &[u8], b: &[u8]) -> i32 {
        let (one, two) = (text(a), text(b));
        match name {
            "input_kind" | "config_kind" => match self.find(name, &one) {
                Err(code) => return code,
                Ok(Value::Null) => return 0,
                Ok(Value::Bool(_)) => return 1,
                Ok(Value::Number(_)) => return 2,
                Ok(Value::Text(_)) => return 3,
                Ok(Value::Array(_)) => return 4,
                Ok(Value::Object(_)) => return 5,
            },
            "input_keys" | "config_keys" => {
                self.reply.clear();
                self.reply = match self.find(name, &one) {
                    Err(code) => return code,
                    Ok(Value::Array(v)) => v.len().to_string(),
                    Ok(Value::Object(v)) => Value::from(v.into_iter().map(|(k, _)| k).collect::<Vec<_>>()).to_json(),
                    Ok(_) => return -1,
                };
                return self.reply.len() as i32;
            }
            "fail" => self.failed = Some(one),
            "state_put" if b.is_empty() => drop(self.state.remove(&one)),
            "state_put" => drop(self.state.insert(one, b.to_vec())),
            "block" => self.effects.push(Effect::Block(one)),
            "redact" => self.effects.push(Effect::Redact(one, two)),
            "annotate" => self.effects.push(Effect::Annotate(one, two)),
            "request_approval" | "clamp_scopes" | "add_context" | "retry" | "reply" | "put_artifact" | "grant" => {
                self.effects.push(Effect::Other(name, one))
            }
            _ => {
                self.reply.clear();
                match self.replies.get(name) {
                    None => return -7,
                    Some((code, json)) => {
                        self.reply = json.clone();
                        if *code < 0 {
                            return *code;
                        }
                    }
                }
                return self.reply.len() as i32;
            }
        }
        0
    }

    pub(crate) fn rewrite(&mut self, path: &[u8], value: &[u8], kind: i32) -> i32 {
        let (path, value) = (text(path), text(value));
        self.effects.push(match kind {
            0 => Effect::Rewrite(path, value),
            1 => Effect::RewriteText(path, value),
            2 if value.is_empty() => Effect::Remove(path),
            _ => return -3,
        });
        0
    }

    pub(crate) fn log(&mut self, level: i32, line: &[u8]) -> i32 {
        self.logs.push((level, text(line)));
        0
    }

    pub(crate) fn random(&mut self, n: usize) -> Vec<u8> {
        (0..n)
            .map(|_| {
                // Any fixed sequence will do: the real one is fixed for each invocation too.
                self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.random >> 56) as u8
            })
            .collect()
    }

    fn find(&self, call: &str, pointer: &str) -> Result<Value, i32> {
        let doc = if call.starts_with("config") { &self.config } else { &self.input };
        let mut v = Value::parse(doc).ok_or(-3)?;
        if pointer.is_empty() {
            return Ok(v);
        }
        for step in pointer.strip_prefix('/').ok_or(-3)?.split('/') {
            let name = step.replace("~1", "/").replace("~0", "~");
            v = match v {
                Value::Object(members) => members.into_iter().find(|(k, _)| *k == name).map(|(_, v)| v).ok_or(-1)?,
                Value::Array(items) => {
                    let i: usize = name.parse().map_err(|_| -3)?;
                    items.into_iter().nth(i).ok_or(-1)?
                }
                _ => return Err(-1),
            };
        }
        Ok(v)
    }
}

fn text(b: &[u8]) -> String {
    String::from_utf8(b.to_vec()).expect("text for the host must be UTF-8")
}
