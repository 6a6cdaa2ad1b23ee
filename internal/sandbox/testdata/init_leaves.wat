;; start and _initialize log, say why they fail, draw random bytes, read both clocks, sleep, and print half a line;
;; the phase prints the rest of it with what it sees of the clocks and of its own random stream, and logs the bytes
;; that initialisation drew.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "belay_v1" "fail" (func $fail (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "0123456789abcdef")
  (data (i32.const 64) "started")
  (data (i32.const 80) "a line\nand half")
  (data (i32.const 112) "-cause-")
  (func $print (param $fd i32) (param $at i32) (param $n i32)
    (i32.store (i32.const 0) (local.get $at)) (i32.store (i32.const 4) (local.get $n))
    (drop (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  ;; n bytes as hexadecimal digits at 1024
  (func $hex (param $at i32) (param $n i32) (result i32) (local $i i32)
    (loop $l
      (i32.store8 offset=1024 (i32.shl (local.get $i) (i32.const 1))
        (i32.load8_u offset=16 (i32.shr_u (i32.load8_u (i32.add (local.get $at) (local.get $i))) (i32.const 4))))
      (i32.store8 offset=1025 (i32.shl (local.get $i) (i32.const 1))
        (i32.load8_u offset=16 (i32.and (i32.load8_u (i32.add (local.get $at) (local.get $i))) (i32.const 15))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (i32.shl (local.get $n) (i32.const 1)))
  (func $start
    (drop (call $log (i32.const 2) (i32.const 64) (i32.const 7)))
    (drop (call $log (i32.const 9) (i32.const 64) (i32.const 7)))  ;; no such level
    (drop (call $random (i32.const 256) (i32.const 8))))
  (start $start)
  (func (export "_initialize")
    (call $print (i32.const 1) (i32.const 80) (i32.const 15))
    (call $print (i32.const 2) (i32.const 112) (i32.const 3))
    (drop (call $log (i32.const 1) (i32.const 112) (i32.const 7)))
    (drop (call $fail (i32.const 112) (i32.const 7)))
    (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 264)))
    (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 264)))
    (drop (call $clock (i32.const 1) (i64.const 0) (i32.const 272)))
    ;; sleep for a while
    (i32.store (i32.const 528) (i32.const 1)) (i64.store (i32.const 536) (i64.const 12345678))
    (drop (call $poll (i32.const 512) (i32.const 600) (i32.const 1) (i32.const 700)))
    (drop (call $random (i32.const 280) (i32.const 8))))
  (func (export "pre_tool") (result i32)
    (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 288)))
    (drop (call $clock (i32.const 1) (i64.const 0) (i32.const 296)))
    (drop (call $random (i32.const 304) (i32.const 8)))
    (call $print (i32.const 1) (i32.const 1024) (call $hex (i32.const 256) (i32.const 56)))
    (i32.const 0))
  ;; fails, with the text of initialisation
  (func (export "post_tool") (result i32) (i32.const 3))
  (func (export "pre_plan") (result i32) (drop (call $log (i32.const 1) (i32.const 64) (i32.const 7))) unreachable))
