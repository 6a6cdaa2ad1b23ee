;; start, then _initialize, then the phase; log works in all three, and a second run
;; finds nothing of the first.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $step (mut i32) (i32.const 0))
  (func $next (param i32)
    (if (i32.ne (global.get $step) (local.get 0)) (then unreachable))
    (global.set $step (i32.add (global.get $step) (i32.const 1)))
    (i32.store8 (i32.const 0) (i32.add (i32.const 48) (local.get 0)))
    (i32.store8 (i32.const 1) (i32.add (i32.load8_u (i32.const 1)) (i32.const 1)))
    (drop (call $log (i32.const 1) (i32.const 0) (i32.const 2))))
  (func $s (call $next (i32.const 0))) (start $s)
  (func (export "_initialize") (call $next (i32.const 1)))
  (func (export "pre_tool") (result i32) (call $next (i32.const 2)) (i32.const 0))
  (data (i32.const 1) "a"))
