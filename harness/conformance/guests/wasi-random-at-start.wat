;; During start random_get gives another stream, of the module and not of the invocation.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0) "another")
  (func (export "_initialize") (drop (call $random_get (i32.const 64) (i32.const 8))))
  (func (export "pre_tool") (result i32)
    (drop (call $random_get (i32.const 72) (i32.const 8)))
    (if (i32.and (i64.ne (i64.load (i32.const 64)) (i64.load (i32.const 72))) (i64.ne (i64.load (i32.const 64)) (i64.const 0)))
      (then (drop (call $log (i32.const 1) (i32.const 0) (i32.const 7)))))
    (i32.const 0)))
