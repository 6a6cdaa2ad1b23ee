//! Write [belay](https://github.com/belay-hooks/belay) hooks in Rust: typed wrappers of guest ABI version 1.
//!
//! A hook is a `cdylib` with one function per phase that it serves:
//!
//! ```
//! use belay_hook as hook;
//!
//! fn guard() -> hook::Result {
//!     if hook::analysis::input_command().as_deref() == Some("reboot") {
//!         hook::block("no reboots");
//!     }
//!     Ok(())
//! }
//!
//! hook::export!(pre_tool => guard);
//! # fn main() {}
//! ```
//!
//! Returning `Ok(())` without an effect means "no opinion". Returning an error, or panicking, fails the hook, and belay
//! then blocks the action. Effects are a transaction: they count only when the function returns `Ok`.
//!
//! **Effects return nothing**, on purpose: an effect that the host refuses (not granted, not legal in the phase, too
//! large) fails the whole turn whatever the hook does next, so there is nothing to handle.
//!
//! Only host functions that a hook really reaches become imports of its module, and imports are what its manifest has to
//! declare as capabilities.
//!
//! On any other target than wasm32 the host functions are stubs behind the `testing` module, so that hooks have
//! ordinary `cargo test` tests.

#![cfg_attr(target_arch = "wasm32", no_std)]
#![warn(missing_docs)]

extern crate alloc;

pub mod analysis;
mod calls;
mod effects;
mod errors;
pub mod json;
pub mod raw;
mod reads;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod turn_allocator;

pub use calls::{
    check_lease, http_request, mint_lease, random, request_lease, request_tool_call, revoke_lease, state_get, state_put,
    time_now,
};
pub use effects::{
    add_context, annotate, annotate_text, block, clamp_scopes, grant, put_artifact, redact, remove, reply,
    request_approval, retry, rewrite, rewrite_text, Artifact, Scopes,
};
pub use errors::{Errno, Fail, Outcome, Refused, Result};
pub use reads::{config, input, log, pointer, Kind, Level};

/// The names of the phases, so that `export!` refuses anything else.
#[doc(hidden)]
#[allow(non_upper_case_globals)]
pub mod phases {
    pub const pre_plan: () = ();
    pub const pre_send: () = ();
    pub const post_receive: () = ();
    pub const pre_tool: () = ();
    pub const post_tool: () = ();
    pub const state_transition: () = ();
    pub const spawn: () = ();
    pub const audit: () = ();
}

/// Exports functions as phases: `export!(pre_tool => guard, post_tool => clean);`.
///
/// A function takes nothing and returns nothing, or a [`Result`].
#[macro_export]
macro_rules! export {
    ($($phase:ident => $f:path),+ $(,)?) => {$(
        const _: () = {
            const _: () = $crate::phases::$phase;
            #[allow(dead_code)]
            #[cfg_attr(target_arch = "wasm32", export_name = stringify!($phase))]
            extern "C" fn exported() -> i32 {
                $crate::Outcome::status($f())
            }
        };
    )+};
}
