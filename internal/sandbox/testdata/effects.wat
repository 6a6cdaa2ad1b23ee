;; Effects, refusals and ways to fail.
(module
  (import "belay_v1" "fail" (func $fail (param i32 i32) (result i32)))
  (import "belay_v1" "block" (func $block (param i32 i32) (result i32)))
  (import "belay_v1" "add_context" (func $context (param i32 i32) (result i32)))
  (import "belay_v1" "rewrite" (func $rewrite (param i32 i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "grant" (func $grant (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  ;; fails by its own word
  (func (export "pre_plan") (result i32) (drop (call $fail (i32.const 0) (i32.const 17))) (i32.const 7))
  ;; blocks with invalid UTF-8, and returns 0
  (func (export "pre_send") (result i32) (drop (call $block (i32.const 32) (i32.const 8))) (i32.const 0))
  ;; proc_exit(0)
  (func (export "post_receive") (result i32) (call $exit (i32.const 0)) (i32.const 0))
  ;; an effect that is not granted, and returns 0 all the same
  (func (export "pre_tool") (result i32) (drop (call $grant (i32.const 0) (i32.const 3))) (i32.const 0))
  ;; adds a thousand contexts and looks at no answer
  (func (export "post_tool") (result i32) (local i32)
    (loop $l (drop (call $context (i32.const 0) (i32.const 4)))
      (br_if $l (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 1000)))) (i32.const 0))
  ;; rewrites a path of invalid UTF-8
  (func (export "state_transition") (result i32)
    (drop (call $rewrite (i32.const 32) (i32.const 8) (i32.const 0) (i32.const 2) (i32.const 1))) (i32.const 0))
  ;; context of invalid UTF-8
  (func (export "spawn") (result i32) (drop (call $context (i32.const 32) (i32.const 8))) (i32.const 0))
  (func (export "audit") (result i32) (i32.const 0))
  (data (i32.const 0) "sorry\1b[31m, I cant")
  (data (i32.const 32) "/a\ff\fe\80\c3\28b"))
