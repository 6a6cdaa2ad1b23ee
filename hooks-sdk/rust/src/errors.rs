use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt;

use crate::json::Value;
use crate::raw;

/// What a call answers when it does not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// No such value.
    Absent,
    /// Not granted by the operator, or not legal in this phase.
    Denied,
    /// A malformed argument.
    Invalid,
    /// A quota of this turn is spent.
    Budget,
    /// Beyond a size limit.
    TooLarge,
    /// Waits for a person.
    Pending,
    /// The host does not offer it here.
    Unavailable,
    /// A code that this version of the crate does not know.
    Other(i32),
}

impl Errno {
    /// Turns a result of the ABI into the length it stands for, or the error.
    pub fn check(code: i32) -> core::result::Result<usize, Errno> {
        Err(match code {
            0..=i32::MAX => return Ok(code as usize),
            -1 => Errno::Absent,
            -2 => Errno::Denied,
            -3 => Errno::Invalid,
            -4 => Errno::Budget,
            -5 => Errno::TooLarge,
            -6 => Errno::Pending,
            -7 => Errno::Unavailable,
            other => Errno::Other(other),
        })
    }

    /// The error in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Errno::Absent => "no such value",
            Errno::Denied => "not granted, or not legal in this phase",
            Errno::Invalid => "malformed argument",
            Errno::Budget => "a quota of this turn is spent",
            Errno::TooLarge => "beyond a size limit",
            Errno::Pending => "waits for a person",
            Errno::Unavailable => "not offered by this host",
            Errno::Other(_) => "unknown error of the host",
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of the calls that take and reply JSON: what the host answered, and the document in which it explains itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What the call answered.
    pub errno: Errno,
    /// JSON such as `{"reason":"...","approval":{"id":"..."}}`; "" when the host does not explain itself.
    pub document: String,
}

impl Refused {
    /// Why the host refused, in one sentence.
    pub fn reason(&self) -> Option<String> {
        let v = Value::parse(&self.document)?;
        // The lease calls name it "error".
        ["reason", "error"].iter().map(|name| v.text(name)).find(|why| !why.is_empty()).map(ToString::to_string)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.errno.as_str())?;
        match self.reason() {
            Some(why) => write!(f, ": {}", why),
            None => Ok(()),
        }
    }
}

impl PartialEq<Errno> for Refused {
    fn eq(&self, other: &Errno) -> bool {
        self.errno == *other
    }
}

/// Why a hook fails, in one sentence for operators. Made from text, an [`Errno`] or a [`Refused`] by `?` or `into()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fail(pub Cow<'static, str>);

impl From<&'static str> for Fail {
    fn from(s: &'static str) -> Fail {
        Fail(Cow::Borrowed(s))
    }
}

impl From<String> for Fail {
    fn from(s: String) -> Fail {
        Fail(Cow::Owned(s))
    }
}

impl From<Errno> for Fail {
    fn from(e: Errno) -> Fail {
        Fail(Cow::Borrowed(e.as_str()))
    }
}

impl From<Refused> for Fail {
    fn from(r: Refused) -> Fail {
        Fail(Cow::Owned(r.to_string()))
    }
}

/// What a phase function returns. An error fails the hook: its effects are dropped and the action is blocked.
pub type Result = core::result::Result<(), Fail>;

/// What `export!` accepts as the result of a phase function.
pub trait Outcome {
    /// The value that the exported function returns; tells the host why, if it is a failure.
    fn status(self) -> i32;
}

impl Outcome for () {
    fn status(self) -> i32 {
        0
    }
}

impl Outcome for Result {
    fn status(self) -> i32 {
        match self {
            Ok(()) => 0,
            Err(Fail(why)) => {
                unsafe { raw::fail(why.as_ptr(), why.len() as u32) };
                1
            }
        }
    }
}
