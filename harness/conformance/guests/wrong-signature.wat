;; A module that imports a function with another signature is refused.
(module (import "belay_v1" "log" (func (param i32 i32) (result i32))) (memory (export "memory") 1 2)
  (func (export "pre_tool") (result i32) (i32.const 0)))
