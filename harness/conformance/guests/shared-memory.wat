;; Memory is not shared.
(module (memory (export "memory") 1 2 shared)
  (func (export "pre_tool") (result i32) (i32.const 0)))
