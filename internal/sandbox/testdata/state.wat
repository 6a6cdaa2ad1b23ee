;; Every phase looks whether memory and globals are as start and _initialize left them, and changes some of them. It
;; returns 0, or the sum of: 1 a page, 2 the size, 4 a grown page, 8 i32, 16 i64, 32 f32, 64 f64, 128 an exported
;; global, 256 one that initialisation left alone, 512 the counter in memory.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (memory (export "memory") 2 9)
  (global $i32 (mut i32) (i32.const 7))
  (global $i64 (mut i64) (i64.const 7))
  (global $f32 (mut f32) (f32.const 7))
  (global $f64 (mut f64) (f64.const 7))
  (global $out (export "out") (mut i32) (i32.const 7))
  (global $left (mut i32) (i32.const 7))
  ;; Words at both ends of each page of 4 KiB hold its address, but for every third page, which is left as zeros.
  (func $want (param $at i32) (result i32)
    (select (i32.const 0) (local.get $at) (i32.eqz (i32.rem_u (i32.shr_u (local.get $at) (i32.const 12)) (i32.const 3)))))
  (func $start
    (global.set $i64 (i64.const 0x1122334455667788))
    (global.set $f32 (f32.reinterpret_i32 (i32.const 0x7fc00000))))
  (start $start)
  (func (export "_initialize") (local $at i32)
    (drop (memory.grow (i32.const 1)))
    (loop $l
      (i32.store (local.get $at) (call $want (local.get $at)))
      (i32.store offset=4092 (local.get $at) (call $want (local.get $at)))
      (br_if $l (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4096))) (i32.const 0x30000))))
    (global.set $i32 (i32.const 0x12345678))
    (global.set $f64 (f64.const -0.0))
    (global.set $out (i32.const 9))
    (i32.store (i32.const 8) (i32.const 40)))
  (func $check (result i32) (local $at i32) (local $bad i32)
    (if (i32.ne (memory.size) (i32.const 3)) (then (return (i32.const 2))))
    (loop $l
      (if (i32.or (i32.ne (i32.load (local.get $at)) (call $want (local.get $at)))
                  (i32.ne (i32.load offset=4092 (local.get $at)) (call $want (local.get $at))))
        (then (local.set $bad (i32.const 1))))
      (br_if $l (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4096))) (i32.const 0x30000))))
    (if (i32.ne (global.get $i32) (i32.const 0x12345678)) (then (local.set $bad (i32.or (local.get $bad) (i32.const 8)))))
    (if (i64.ne (global.get $i64) (i64.const 0x1122334455667788)) (then (local.set $bad (i32.or (local.get $bad) (i32.const 16)))))
    (if (i32.ne (i32.reinterpret_f32 (global.get $f32)) (i32.const 0x7fc00000)) (then (local.set $bad (i32.or (local.get $bad) (i32.const 32)))))
    (if (i64.ne (i64.reinterpret_f64 (global.get $f64)) (i64.const 0x8000000000000000)) (then (local.set $bad (i32.or (local.get $bad) (i32.const 64)))))
    (if (i32.ne (global.get $out) (i32.const 9)) (then (local.set $bad (i32.or (local.get $bad) (i32.const 128)))))
    (if (i32.ne (global.get $left) (i32.const 7)) (then (local.set $bad (i32.or (local.get $bad) (i32.const 256)))))
    (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1)))
    (if (i32.ne (i32.load (i32.const 8)) (i32.const 41)) (then (local.set $bad (i32.or (local.get $bad) (i32.const 512)))))
    (local.get $bad))
  (func $globals
    (global.set $i32 (i32.const 1)) (global.set $i64 (i64.const 1)) (global.set $f32 (f32.const 1))
    (global.set $f64 (f64.const 1)) (global.set $out (i32.const 1)) (global.set $left (i32.const 1)))
  ;; Grown pages are zero; then they are not.
  (func $grow (param $pages i32) (result i32) (local $at i32) (local $end i32)
    (local.set $at (i32.shl (memory.grow (local.get $pages)) (i32.const 16)))
    (local.set $end (i32.shl (memory.size) (i32.const 16)))
    (loop $l
      (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then (return (i32.const 4))))
      (if (i64.ne (i64.load offset=4088 (local.get $at)) (i64.const 0)) (then (return (i32.const 4))))
      (i64.store (local.get $at) (i64.const -1))
      (i64.store offset=4088 (local.get $at) (i64.const -1))
      (br_if $l (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4096))) (local.get $end))))
    (i32.const 0))
  ;; all of the memory and all globals
  (func (export "pre_tool") (result i32) (local $bad i32)
    (local.set $bad (call $check))
    (memory.fill (i32.const 0) (i32.const 0xa5) (i32.const 0x30000))
    (call $globals)
    (local.get $bad))
  ;; both ends of the memory, and one global after the other
  (func (export "post_tool") (result i32) (local $bad i32)
    (local.set $bad (call $check))
    (i32.store8 (i32.const 0) (i32.const 1))
    (i32.store8 (i32.const 0x2ffff) (i32.const 1))
    (global.set $left (i32.const 8))
    (local.get $bad))
  ;; every other page
  (func (export "pre_plan") (result i32) (local $bad i32) (local $at i32)
    (local.set $bad (call $check))
    (loop $l
      (i32.store offset=2048 (local.get $at) (i32.const 5))
      (i32.store offset=4092 (local.get $at) (i32.const 5))
      (br_if $l (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8192))) (i32.const 0x30000))))
    (local.get $bad))
  ;; grows by less than it may
  (func (export "pre_send") (result i32)
    (i32.or (call $check) (call $grow (i32.const 2))))
  ;; grows to its maximum
  (func (export "post_receive") (result i32)
    (i32.or (call $check) (call $grow (i32.const 6))))
  ;; is refused more memory, and content
  (func (export "state_transition") (result i32) (local $bad i32)
    (local.set $bad (call $check))
    (drop (memory.grow (i32.const 1000)))
    (local.get $bad))
  ;; changes everything and traps
  (func (export "spawn") (result i32)
    (if (call $check) (then (return (i32.const 1))))
    (memory.fill (i32.const 0) (i32.const 0x5a) (i32.const 0x30000))
    (call $globals)
    unreachable)
  ;; changes everything and never ends
  (func (export "audit") (result i32)
    (if (call $check) (then (return (i32.const 1))))
    (memory.fill (i32.const 0) (i32.const 0x5b) (i32.const 0x30000))
    (call $globals)
    (loop $l (br $l)) (i32.const 0)))
