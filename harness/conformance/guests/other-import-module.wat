;; A module imports from belay_v1 and the stubs only.
(module (import "env" "launch" (func (param i32 i32) (result i32))) (memory (export "memory") 1 2)
  (func (export "pre_tool") (result i32) (i32.const 0)))
