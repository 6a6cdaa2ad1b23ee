;; An effect during start ends the hook, block too.
(module
  (import "belay_v1" "block" (func $block (param i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (func $s (drop (call $block (i32.const 0) (i32.const 0))))
  (start $s)
  (func (export "pre_tool") (result i32) (i32.const 0)))
