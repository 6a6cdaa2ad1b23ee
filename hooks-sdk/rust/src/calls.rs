use alloc::string::String;
use alloc::vec::Vec;

use crate::errors::{Errno, Refused};
use crate::reads::{fetch, last_reply};
use crate::raw;

macro_rules! json_calls {
    ($($(#[$doc:meta])* $f:ident),+ $(,)?) => {$(
        $(#[$doc])*
        pub fn $f(request: &str) -> Result<String, Refused> {
            replied(unsafe { raw::$f(request.as_ptr(), request.len() as u32) })
        }
    )+};
}

/// The reply of a call, or what explains why there is none.
fn replied(code: i32) -> Result<String, Refused> {
    let document = last_reply();
    match Errno::check(code) {
        Ok(_) => document.map_err(|errno| Refused { errno, document: String::new() }),
        Err(errno) => Err(Refused { errno, document: document.unwrap_or_default() }),
    }
}

json_calls! {
    /// Runs another tool through its own chain of hooks. Takes and replies JSON.
    request_tool_call,
    /// Asks for a lease on behalf of the agent. Takes and replies JSON.
    request_lease,
    /// Asks whether a lease covers a use. Takes and replies JSON.
    check_lease,
    /// Makes a lease; trusted hooks only. Takes and replies JSON.
    mint_lease,
    /// Revokes leases; trusted hooks only. Takes and replies JSON.
    revoke_lease,
    /// Sends a request to an allowed host; trusted hooks only. Takes and replies JSON.
    http_request,
}

/// The bytes that this hook keeps under a key, its own writes of this turn included.
pub fn state_get(key: &str) -> Result<Vec<u8>, Errno> {
    fetch(128, |d, c| unsafe { raw::state_get(key.as_ptr(), key.len() as u32, d, c) })
}

/// Keeps bytes under a key, for this hook only, once the verdict is on record. Empty bytes remove the key.
pub fn state_put(key: &str, value: &[u8]) -> Result<(), Errno> {
    Errno::check(unsafe { raw::state_put(key.as_ptr(), key.len() as u32, value.as_ptr(), value.len() as u32) })?;
    Ok(())
}

/// The invocation's time in nanoseconds since 1970. It does not move during the call.
pub fn time_now() -> i64 {
    unsafe { raw::time_now() }
}

/// Fills a buffer (at most 4,096 bytes) from the invocation's recorded random stream.
pub fn random(buf: &mut [u8]) -> Result<(), Errno> {
    Errno::check(unsafe { raw::random(buf.as_mut_ptr(), buf.len() as u32) })?;
    Ok(())
}
