;; Gives every call a time limit of 7, at some more expense than needed.
(module
  (import "belay_v1" "rewrite" (func $rewrite (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0) "/args/timeout")
  (data (i32.const 16) "7")
  (func (export "pre_tool") (result i32)
    (local $n i32)
    (drop (memory.grow (i32.const 1)))
    (loop $again
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $n) (i32.const 1000))))
    (drop (call $rewrite (i32.const 0) (i32.const 13) (i32.const 16) (i32.const 1) (i32.const 0)))
    (i32.const 0)))
