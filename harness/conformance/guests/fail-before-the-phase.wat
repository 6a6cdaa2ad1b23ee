;; fail works during start and _initialize, and its text goes with a failure there.
(module
  (import "belay_v1" "fail" (func $fail (param i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0) "early")
  (func (export "_initialize") (drop (call $fail (i32.const 0) (i32.const 5))) (unreachable))
  (func (export "pre_tool") (result i32) (i32.const 0)))
