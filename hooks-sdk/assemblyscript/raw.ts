// The guest ABI, version 1: one declaration for each host function.
//
// p, n: pointer and length of an argument. d, c: destination and capacity; nothing is written unless all fits, and the
// full length is returned either way. A result below zero is an Errno. A range outside of memory ends the hook. An effect
// that is refused fails the whole turn whatever the phase function returns.
//
// Only functions that a hook reaches become imports of its module, and imports are what its manifest has to declare.

// free: no capability needed
@external("belay_v1", "input_read")
export declare function input_read(d: usize, c: u32): i32;
@external("belay_v1", "input_get")
export declare function input_get(p: usize, n: u32, d: usize, c: u32): i32;
@external("belay_v1", "input_kind")
export declare function input_kind(p: usize, n: u32): i32;
@external("belay_v1", "input_keys")
export declare function input_keys(p: usize, n: u32): i32;
@external("belay_v1", "config_read")
export declare function config_read(d: usize, c: u32): i32;
@external("belay_v1", "config_get")
export declare function config_get(p: usize, n: u32, d: usize, c: u32): i32;
@external("belay_v1", "config_kind")
export declare function config_kind(p: usize, n: u32): i32;
@external("belay_v1", "config_keys")
export declare function config_keys(p: usize, n: u32): i32;
@external("belay_v1", "reply_read")
export declare function reply_read(d: usize, c: u32): i32;
@external("belay_v1", "log")
export declare function log(level: i32, p: usize, n: u32): i32;
@external("belay_v1", "fail")
export declare function fail(p: usize, n: u32): i32;
// effects
@external("belay_v1", "block")
export declare function block(p: usize, n: u32): i32;
@external("belay_v1", "request_approval")
export declare function request_approval(p: usize, n: u32): i32;
@external("belay_v1", "rewrite")
export declare function rewrite(p: usize, n: u32, vp: usize, vn: u32, kind: i32): i32;
@external("belay_v1", "redact")
export declare function redact(p: usize, n: u32, vp: usize, vn: u32): i32;
@external("belay_v1", "clamp_scopes")
export declare function clamp_scopes(p: usize, n: u32): i32;
@external("belay_v1", "annotate")
export declare function annotate(p: usize, n: u32, vp: usize, vn: u32): i32;
@external("belay_v1", "add_context")
export declare function add_context(p: usize, n: u32): i32;
@external("belay_v1", "retry")
export declare function retry(p: usize, n: u32): i32;
@external("belay_v1", "reply")
export declare function reply(p: usize, n: u32): i32;
@external("belay_v1", "put_artifact")
export declare function put_artifact(p: usize, n: u32): i32;
@external("belay_v1", "grant")
export declare function grant(p: usize, n: u32): i32;
// analysis: reply_read fetches the answer
@external("belay_v1", "shell_parse")
export declare function shell_parse(p: usize, n: u32): i32;
@external("belay_v1", "path_resolve")
export declare function path_resolve(p: usize, n: u32): i32;
@external("belay_v1", "pattern_match")
export declare function pattern_match(p: usize, n: u32): i32;
@external("belay_v1", "find_secrets")
export declare function find_secrets(p: usize, n: u32): i32;
// calls: reply_read fetches the answer, but of the last four
@external("belay_v1", "request_tool_call")
export declare function request_tool_call(p: usize, n: u32): i32;
@external("belay_v1", "request_lease")
export declare function request_lease(p: usize, n: u32): i32;
@external("belay_v1", "check_lease")
export declare function check_lease(p: usize, n: u32): i32;
@external("belay_v1", "mint_lease")
export declare function mint_lease(p: usize, n: u32): i32;
@external("belay_v1", "revoke_lease")
export declare function revoke_lease(p: usize, n: u32): i32;
@external("belay_v1", "http_request")
export declare function http_request(p: usize, n: u32): i32;
@external("belay_v1", "state_get")
export declare function state_get(p: usize, n: u32, d: usize, c: u32): i32;
@external("belay_v1", "state_put")
export declare function state_put(p: usize, n: u32, vp: usize, vn: u32): i32;
@external("belay_v1", "time_now")
export declare function time_now(): i64;
@external("belay_v1", "random")
export declare function random(d: usize, n: u32): i32;
