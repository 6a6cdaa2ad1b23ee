//! The ABI itself, one function per host function. `p, n` are pointer and length of an argument, `d, c` destination and
//! capacity: nothing is written unless all fits, and the full length is returned either way. Negative results are the
//! codes of [`Errno`](crate::Errno).
//!
//! # Safety
//!
//! Ranges must lie in memory that the caller owns; the host reads or writes nothing else. A range outside of the
//! memory ends the hook.

#![allow(clippy::missing_safety_doc)]

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "belay_v1")]
extern "C" {
    /// The whole input document.
    pub fn input_read(d: *mut u8, c: u32) -> i32;
    /// The value at a JSON Pointer.
    pub fn input_get(p: *const u8, n: u32, d: *mut u8, c: u32) -> i32;
    /// Its kind, 0 to 5.
    pub fn input_kind(p: *const u8, n: u32) -> i32;
    /// Replies member names, or a length.
    pub fn input_keys(p: *const u8, n: u32) -> i32;
    /// The binding's configuration.
    pub fn config_read(d: *mut u8, c: u32) -> i32;
    /// As input_get.
    pub fn config_get(p: *const u8, n: u32, d: *mut u8, c: u32) -> i32;
    /// As input_kind.
    pub fn config_kind(p: *const u8, n: u32) -> i32;
    /// As input_keys.
    pub fn config_keys(p: *const u8, n: u32) -> i32;
    /// The last reply.
    pub fn reply_read(d: *mut u8, c: u32) -> i32;
    /// A line for the operator.
    pub fn log(level: i32, p: *const u8, n: u32) -> i32;
    /// Why the hook is about to fail.
    pub fn fail(p: *const u8, n: u32) -> i32;
    /// Stops the action.
    pub fn block(p: *const u8, n: u32) -> i32;
    /// Asks a person (JSON).
    pub fn request_approval(p: *const u8, n: u32) -> i32;
    /// Changes the value at a JSON Pointer; kind 0 JSON, 1 text, 2 remove.
    pub fn rewrite(p: *const u8, n: u32, vp: *const u8, vn: u32, kind: i32) -> i32;
    /// Masks the value at a JSON Pointer.
    pub fn redact(p: *const u8, n: u32, vp: *const u8, vn: u32) -> i32;
    /// Narrows scopes (JSON).
    pub fn clamp_scopes(p: *const u8, n: u32) -> i32;
    /// Run metadata (JSON value).
    pub fn annotate(p: *const u8, n: u32, vp: *const u8, vn: u32) -> i32;
    /// Text for the agent.
    pub fn add_context(p: *const u8, n: u32) -> i32;
    /// Sends the agent on (JSON).
    pub fn retry(p: *const u8, n: u32) -> i32;
    /// Answers instead of the model (JSON).
    pub fn reply(p: *const u8, n: u32) -> i32;
    /// Leaves a document (JSON).
    pub fn put_artifact(p: *const u8, n: u32) -> i32;
    /// Spares the permission prompt.
    pub fn grant(p: *const u8, n: u32) -> i32;
    /// Replies the commands of a shell text.
    pub fn shell_parse(p: *const u8, n: u32) -> i32;
    /// Replies resolved paths (JSON).
    pub fn path_resolve(p: *const u8, n: u32) -> i32;
    /// Replies matches (JSON).
    pub fn pattern_match(p: *const u8, n: u32) -> i32;
    /// Replies secrets in a text.
    pub fn find_secrets(p: *const u8, n: u32) -> i32;
    /// Runs another tool (JSON).
    pub fn request_tool_call(p: *const u8, n: u32) -> i32;
    /// Asks for a lease (JSON).
    pub fn request_lease(p: *const u8, n: u32) -> i32;
    /// Checks a lease (JSON).
    pub fn check_lease(p: *const u8, n: u32) -> i32;
    /// Makes a lease (JSON).
    pub fn mint_lease(p: *const u8, n: u32) -> i32;
    /// Revokes leases (JSON).
    pub fn revoke_lease(p: *const u8, n: u32) -> i32;
    /// Sends a request (JSON).
    pub fn http_request(p: *const u8, n: u32) -> i32;
    /// The bytes under a key.
    pub fn state_get(p: *const u8, n: u32, d: *mut u8, c: u32) -> i32;
    /// Keeps bytes under a key.
    pub fn state_put(p: *const u8, n: u32, vp: *const u8, vn: u32) -> i32;
    /// The invocation's time, unix nanoseconds.
    pub fn time_now() -> i64;
    /// Bytes of the invocation's recorded stream.
    pub fn random(d: *mut u8, c: u32) -> i32;
}

#[cfg(not(target_arch = "wasm32"))]
pub use crate::testing::stubs::*;
