;; A module brings its own memory.
(module (import "belay_v1" "memory" (memory 1)) (export "memory" (memory 0))
  (func (export "pre_tool") (result i32) (i32.const 0)))
