;; The WASI stub has no environment, no arguments and no files.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0) "none")
  (func (export "pre_tool") (result i32)
    (i32.store (i32.const 64) (i32.const 9)) (i32.store (i32.const 68) (i32.const 9))
    (if (i32.or (call $environ (i32.const 64) (i32.const 68)) (i32.or (i32.load (i32.const 64)) (i32.load (i32.const 68)))) (then (return (i32.const 1))))
    (if (i32.eqz (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 0) (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 80))) (then (return (i32.const 2))))
    (drop (call $log (i32.const 1) (i32.const 0) (i32.const 4)))
    (i32.const 0)))
