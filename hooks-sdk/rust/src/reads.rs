use alloc::string::String;
use alloc::vec::Vec;

use crate::errors::Errno;
use crate::raw;

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// Calls `read(destination, capacity)` until all fits.
pub(crate) fn fetch(guess: usize, read: impl Fn(*mut u8, u32) -> i32) -> Result<Vec<u8>, Errno> {
    let mut cap = guess;
    loop {
        let mut v: Vec<u8> = Vec::with_capacity(cap);
        let n = Errno::check(read(v.as_mut_ptr(), cap as u32))?;
        if n <= cap {
            // The host has written n bytes, all or nothing.
            unsafe { v.set_len(n) };
            return Ok(v);
        }
        cap = n;
    }
}

/// What the host hands out as text is UTF-8 by contract.
pub(crate) fn utf8(v: Vec<u8>) -> String {
    String::from_utf8(v).unwrap_or_default()
}

/// The reply of the last call that answered one.
pub(crate) fn last_reply() -> Result<String, Errno> {
    fetch(2048, |d, c| unsafe { raw::reply_read(d, c) }).map(utf8)
}

macro_rules! document {
    ($(#[$doc:meta])* $name:ident, $read:ident, $get:ident, $kind:ident, $keys:ident, $guess:expr) => {
        $(#[$doc])*
        ///
        /// Paths are JSON Pointers (RFC 6901); `""` is the whole document.
        pub mod $name {
            use alloc::string::String;
            use alloc::vec::Vec;

            use super::{fetch, last_reply, utf8, Kind};
            use crate::errors::Errno;
            use crate::json::Value;
            use crate::raw;

            /// The whole document as JSON.
            pub fn read() -> String {
                fetch($guess, |d, c| unsafe { raw::$read(d, c) }).map(utf8).unwrap_or_default()
            }

            /// The value at a path: a string without quotes and escapes, anything else as its source text.
            pub fn get(path: &str) -> Option<String> {
                fetch($guess, |d, c| unsafe { raw::$get(path.as_ptr(), path.len() as u32, d, c) }).map(utf8).ok()
            }

            /// The kind of the value at a path, if there is one.
            pub fn kind(path: &str) -> Option<Kind> {
                match unsafe { raw::$kind(path.as_ptr(), path.len() as u32) } {
                    0 => Some(Kind::Null),
                    1 => Some(Kind::Bool),
                    2 => Some(Kind::Number),
                    3 => Some(Kind::Text),
                    4 => Some(Kind::Array),
                    5 => Some(Kind::Object),
                    _ => None,
                }
            }

            /// Whether there is a value at a path; `null` is one.
            pub fn has(path: &str) -> bool {
                kind(path).is_some()
            }

            /// The string at a path.
            pub fn text(path: &str) -> Option<String> {
                if kind(path) == Some(Kind::Text) {
                    get(path)
                } else {
                    None
                }
            }

            /// The number at a path, if it is an integer in range.
            pub fn int(path: &str) -> Option<i64> {
                if kind(path) == Some(Kind::Number) {
                    get(path)?.parse().ok()
                } else {
                    None
                }
            }

            /// The boolean at a path.
            pub fn bool(path: &str) -> Option<bool> {
                if kind(path) == Some(Kind::Bool) {
                    get(path).map(|s| s == "true")
                } else {
                    None
                }
            }

            /// The value at a path, taken apart.
            pub fn value(path: &str) -> Option<Value> {
                match kind(path)? {
                    Kind::Text => get(path).map(Value::Text),
                    _ => Value::parse(&get(path)?),
                }
            }

            /// The member names of the object at a path; none for anything else.
            pub fn keys(path: &str) -> Vec<String> {
                if kind(path) != Some(Kind::Object) {
                    return Vec::new();
                }
                let names = reply_of(path).ok().and_then(|s| Value::parse(&s));
                match names {
                    Some(Value::Array(v)) => v.into_iter().filter_map(|n| if let Value::Text(s) = n { Some(s) } else { None }).collect(),
                    _ => Vec::new(),
                }
            }

            /// The length of the array at a path; 0 for anything else.
            pub fn len(path: &str) -> usize {
                if kind(path) != Some(Kind::Array) {
                    return 0;
                }
                reply_of(path).ok().and_then(|s| s.parse().ok()).unwrap_or(0)
            }

            fn reply_of(path: &str) -> Result<String, Errno> {
                Errno::check(unsafe { raw::$keys(path.as_ptr(), path.len() as u32) })?;
                last_reply()
            }
        }
    };
}

document! {
    /// What the hook is asked about: the members of the action (`/tool`, `/args/command`, `/text`) beside those of the
    /// invocation (`/phase`, `/cwd`, `/metadata`). The action is shown as the hook received it; its own rewrites do not show.
    input, input_read, input_get, input_kind, input_keys, 256
}

document! {
    /// The configuration that the operator gave this hook. It fits the schema in the manifest.
    config, config_read, config_get, config_kind, config_keys, 128
}

/// How important a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For the author.
    Debug = 0,
    /// For the record.
    Info = 1,
    /// Something is odd.
    Warn = 2,
    /// Something is wrong.
    Error = 3,
}

/// Writes a line for the operator. Lines over the limit are dropped and counted.
pub fn log(level: Level, text: &str) {
    unsafe { raw::log(level as i32, text.as_ptr(), text.len() as u32) };
}

/// Joins names to a JSON Pointer, escaping them: `pointer(&["args", "a/b"])` is `/args/a~1b`.
pub fn pointer(steps: &[&str]) -> String {
    let mut s = String::new();
    for step in steps {
        s.push('/');
        for c in step.chars() {
            match c {
                '~' => s.push_str("~0"),
                '/' => s.push_str("~1"),
                c => s.push(c),
            }
        }
    }
    s
}
