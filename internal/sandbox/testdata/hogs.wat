;; Guests that take too much of something.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "belay_v1" "add_context" (func $context (param i32 i32) (result i32)))
  (import "belay_v1" "input_read" (func $input (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $n (mut i32) (i32.const 0))
  ;; an endless loop
  (func (export "pre_plan") (result i32) (loop $l (br $l)) (i32.const 0))
  ;; a call tree without loops
  (func $f0 (call $f1) (call $f1)) (func $f1 (call $f2) (call $f2)) (func $f2 (call $f3) (call $f3))
  (func $f3 (call $f4) (call $f4)) (func $f4 (call $f5) (call $f5)) (func $f5 (call $f6) (call $f6))
  (func $f6 (call $f7) (call $f7)) (func $f7 (call $f8) (call $f8)) (func $f8 (call $f9) (call $f9))
  (func $f9 (call $f10) (call $f10)) (func $f10 (call $f11) (call $f11)) (func $f11 (call $f12) (call $f12))
  (func $f12 (call $f13) (call $f13)) (func $f13 (call $f14) (call $f14)) (func $f14 (call $f15) (call $f15))
  (func $f15 (call $f16) (call $f16)) (func $f16 (call $f17) (call $f17)) (func $f17 (call $f18) (call $f18))
  (func $f18 (call $f19) (call $f19)) (func $f19 (call $f20) (call $f20)) (func $f20 (call $f21) (call $f21))
  (func $f21 (call $f22) (call $f22)) (func $f22 (call $f23) (call $f23)) (func $f23 (call $f24) (call $f24))
  (func $f24 (call $f25) (call $f25)) (func $f25 (call $f26) (call $f26)) (func $f26 (call $f27) (call $f27))
  (func $f27 (call $f28) (call $f28)) (func $f28)
  (func (export "pre_send") (result i32) (call $f0) (i32.const 0))
  ;; endless recursion
  (func $deep (param i32) (result i32) (i32.add (i32.const 1) (call $deep (i32.add (local.get 0) (i32.const 1)))))
  (func (export "post_receive") (result i32) (call $deep (i32.const 0)))
  ;; bulk operations
  (func (export "pre_tool") (result i32)
    (drop (memory.grow (i32.const 200)))
    (loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 13000000)) (br $l)) (i32.const 0))
  ;; grows until it may not, then traps
  (func (export "post_tool") (result i32)
    (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable)
  ;; grows until it may not, touches all of it, and is content
  (func (export "state_transition") (result i32)
    (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (memory.fill (i32.const 0) (i32.const 7) (i32.shl (memory.size) (i32.const 16))) (i32.const 0))
  ;; hostcalls without end, cheap ones
  (func (export "spawn") (result i32) (loop $l (drop (call $log (i32.const 1) (i32.const 0) (i32.const 8))) (br $l)) (i32.const 0))
  ;; 1,000 log lines, input reads and effects, then content
  (func (export "audit") (result i32) (local i32)
    (loop $l (drop (call $log (i32.const 1) (i32.const 0) (i32.const 8)))
      (drop (call $input (i32.const 1024) (i32.const 4096)))
      (br_if $l (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 1000)))) (i32.const 0))
  (data (i32.const 0) "flooding"))
