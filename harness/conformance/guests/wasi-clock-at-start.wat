;; During start the time is a fixed one, 2020-01-01.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0) "fixed")
  (func (export "_initialize")
    (drop (call $clock (i32.const 0) (i64.const 1) (i32.const 64))))
  (func (export "pre_tool") (result i32)
    (if (i64.eq (i64.div_u (i64.load (i32.const 64)) (i64.const 1000000000)) (i64.const 1577836800))
      (then (drop (call $log (i32.const 1) (i32.const 0) (i32.const 5)))))
    (i32.const 0)))
