;; A function that preview 1 has not is refused.
(module
  (import "wasi_snapshot_preview1" "spawn" (func (param i32) (result i32)))
  (memory (export "memory") 1 2)
  (func (export "pre_tool") (result i32) (i32.const 0)))
