;; The same function may be imported more than once.
(module
  (import "belay_v1" "log" (func $a (param i32 i32 i32) (result i32)))
  (import "belay_v1" "log" (func $b (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0) "ab")
  (func (export "pre_tool") (result i32)
    (drop (call $a (i32.const 1) (i32.const 0) (i32.const 1))) (drop (call $b (i32.const 1) (i32.const 1) (i32.const 1)))
    (i32.const 0)))
