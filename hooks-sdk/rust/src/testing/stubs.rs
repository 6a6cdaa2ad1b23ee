//! The host functions on targets without a host: they ask the [`Host`](super::Host) of the running test.

#![allow(missing_docs)]

use super::current;

unsafe fn bytes<'a>(p: *const u8, n: u32) -> &'a [u8] {
    if n == 0 {
        return &[];
    }
    core::slice::from_raw_parts(p, n as usize)
}

unsafe fn give(out: Result<Vec<u8>, i32>, d: *mut u8, c: u32) -> i32 {
    match out {
        Err(code) => code,
        Ok(v) => {
            if v.len() <= c as usize {
                core::ptr::copy_nonoverlapping(v.as_ptr(), d, v.len());
            }
            v.len() as i32
        }
    }
}

pub unsafe fn input_read(d: *mut u8, c: u32) -> i32 {
    give(current(|h| h.read("input_read", &[])), d, c)
}

pub unsafe fn input_get(p: *const u8, n: u32, d: *mut u8, c: u32) -> i32 {
    give(current(|h| h.read("input_get", bytes(p, n))), d, c)
}

pub unsafe fn input_kind(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("input_kind", bytes(p, n), &[]))
}

pub unsafe fn input_keys(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("input_keys", bytes(p, n), &[]))
}

pub unsafe fn config_read(d: *mut u8, c: u32) -> i32 {
    give(current(|h| h.read("config_read", &[])), d, c)
}

pub unsafe fn config_get(p: *const u8, n: u32, d: *mut u8, c: u32) -> i32 {
    give(current(|h| h.read("config_get", bytes(p, n))), d, c)
}

pub unsafe fn config_kind(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("config_kind", bytes(p, n), &[]))
}

pub unsafe fn config_keys(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("config_keys", bytes(p, n), &[]))
}

pub unsafe fn reply_read(d: *mut u8, c: u32) -> i32 {
    give(current(|h| h.read("reply_read", &[])), d, c)
}

pub unsafe fn log(level: i32, p: *const u8, n: u32) -> i32 {
    current(|h| h.log(level, bytes(p, n)))
}

pub unsafe fn fail(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("fail", bytes(p, n), &[]))
}

pub unsafe fn block(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("block", bytes(p, n), &[]))
}

pub unsafe fn request_approval(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("request_approval", bytes(p, n), &[]))
}

pub unsafe fn rewrite(p: *const u8, n: u32, vp: *const u8, vn: u32, kind: i32) -> i32 {
    current(|h| h.rewrite(bytes(p, n), bytes(vp, vn), kind))
}

pub unsafe fn redact(p: *const u8, n: u32, vp: *const u8, vn: u32) -> i32 {
    current(|h| h.call("redact", bytes(p, n), bytes(vp, vn)))
}

pub unsafe fn clamp_scopes(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("clamp_scopes", bytes(p, n), &[]))
}

pub unsafe fn annotate(p: *const u8, n: u32, vp: *const u8, vn: u32) -> i32 {
    current(|h| h.call("annotate", bytes(p, n), bytes(vp, vn)))
}

pub unsafe fn add_context(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("add_context", bytes(p, n), &[]))
}

pub unsafe fn retry(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("retry", bytes(p, n), &[]))
}

pub unsafe fn reply(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("reply", bytes(p, n), &[]))
}

pub unsafe fn put_artifact(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("put_artifact", bytes(p, n), &[]))
}

pub unsafe fn grant(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("grant", bytes(p, n), &[]))
}

pub unsafe fn shell_parse(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("shell_parse", bytes(p, n), &[]))
}

pub unsafe fn path_resolve(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("path_resolve", bytes(p, n), &[]))
}

pub unsafe fn pattern_match(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("pattern_match", bytes(p, n), &[]))
}

pub unsafe fn find_secrets(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("find_secrets", bytes(p, n), &[]))
}

pub unsafe fn request_tool_call(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("request_tool_call", bytes(p, n), &[]))
}

pub unsafe fn request_lease(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("request_lease", bytes(p, n), &[]))
}

pub unsafe fn check_lease(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("check_lease", bytes(p, n), &[]))
}

pub unsafe fn mint_lease(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("mint_lease", bytes(p, n), &[]))
}

pub unsafe fn revoke_lease(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("revoke_lease", bytes(p, n), &[]))
}

pub unsafe fn http_request(p: *const u8, n: u32) -> i32 {
    current(|h| h.call("http_request", bytes(p, n), &[]))
}

pub unsafe fn state_get(p: *const u8, n: u32, d: *mut u8, c: u32) -> i32 {
    give(current(|h| h.read("state_get", bytes(p, n))), d, c)
}

pub unsafe fn state_put(p: *const u8, n: u32, vp: *const u8, vn: u32) -> i32 {
    current(|h| h.call("state_put", bytes(p, n), bytes(vp, vn)))
}

pub unsafe fn time_now() -> i64 {
    current(|h| h.time)
}

pub unsafe fn random(d: *mut u8, c: u32) -> i32 {
    give(Ok(current(|h| h.random(c as usize))), d, c).min(0)
}
