;; Ranges outside of memory, one page of 65,536 bytes, for each kind of parameter.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "belay_v1" "input_read" (func $input (param i32 i32) (result i32)))
  (import "belay_v1" "input_get" (func $get (param i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "random" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "pre_plan") (result i32) (drop (call $log (i32.const 1) (i32.const -1) (i32.const 1))) (i32.const 0))
  ;; nothing at all, but beyond the end
  (func (export "pre_send") (result i32) (drop (call $log (i32.const 1) (i32.const 65537) (i32.const 0))) (i32.const 0))
  (func (export "post_receive") (result i32) (drop (call $input (i32.const 65535) (i32.const 2))) (i32.const 0))
  (func (export "pre_tool") (result i32) (drop (call $random (i32.const 65530) (i32.const 7))) (i32.const 0))
  ;; the path is fine, the destination is not
  (func (export "post_tool") (result i32) (drop (call $get (i32.const 0) (i32.const 0) (i32.const 8) (i32.const -8))) (i32.const 0))
  (func (export "state_transition") (result i32)
    (i32.store (i32.const 16) (i32.const 65530)) (i32.store (i32.const 20) (i32.const 100))
    (drop (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 32))) (i32.const 0))
  ;; pointer and length add up to zero in 32 bits
  (func (export "spawn") (result i32) (drop (call $log (i32.const 1) (i32.const 16) (i32.const -16))) (i32.const 0))
  ;; fine: empty at the very end, and the whole memory as destination
  (func (export "audit") (result i32)
    (drop (call $log (i32.const 1) (i32.const 65536) (i32.const 0)))
    (drop (call $input (i32.const 0) (i32.const 65536))) (i32.const 0)))
