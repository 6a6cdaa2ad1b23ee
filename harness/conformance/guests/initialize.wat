;; Start runs before _initialize, and that before the phase; in both log works.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0) "spi")
  (func $s (drop (call $log (i32.const 1) (i32.const 0) (i32.const 1))))
  (start $s)
  (func (export "_initialize") (drop (call $log (i32.const 1) (i32.const 2) (i32.const 1))))
  (func (export "pre_tool") (result i32) (drop (call $log (i32.const 1) (i32.const 1) (i32.const 1))) (i32.const 0)))
