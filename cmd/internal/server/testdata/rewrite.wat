;; For tests: whatever command was asked for, another one runs.
(module
  (import "belay_v1" "rewrite" (func $rewrite (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1 1)
  (data (i32.const 0) "/args/command")
  (data (i32.const 32) "echo rewritten > rewritten.txt")
  (func (export "pre_tool") (result i32)
    (drop (call $rewrite (i32.const 0) (i32.const 13) (i32.const 32) (i32.const 30) (i32.const 1)))
    (i32.const 0)))
