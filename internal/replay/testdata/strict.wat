;; Blocks everything.
(module
  (import "belay_v1" "block" (func $block (param i32 i32) (result i32)))
  (memory (export "memory") 1 1)
  (data (i32.const 0) "nothing is allowed <today>")
  (func (export "pre_tool") (result i32)
    (drop (call $block (i32.const 0) (i32.const 26)))
    (i32.const 0)))
