;; An import that is not granted has the module refused.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "belay_v1" "annotate" (func $annotate (param i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "time_now" (func $time_now (result i64)))
  (memory (export "memory") 1 2)
  (func $say (param i32 i32) (drop (call $log (i32.const 1) (local.get 0) (local.get 1))))
  (func $num (param $v i32) (local $at i32) (local $minus i32)
    (local.set $at (i32.const 61440))
    (if (i32.lt_s (local.get $v) (i32.const 0)) (then (local.set $minus (i32.const 1)) (local.set $v (i32.sub (i32.const 0) (local.get $v)))))
    (loop $digit
      (i32.store8 (local.tee $at (i32.sub (local.get $at) (i32.const 1))) (i32.add (i32.const 48) (i32.rem_u (local.get $v) (i32.const 10))))
      (br_if $digit (local.tee $v (i32.div_u (local.get $v) (i32.const 10)))))
    (if (local.get $minus) (then (i32.store8 (local.tee $at (i32.sub (local.get $at) (i32.const 1))) (i32.const 45))))
    (call $say (local.get $at) (i32.sub (i32.const 61440) (local.get $at))))
  (func (export "pre_tool") (result i32) (local $n i32) (local $m i32)
    (i32.const 0)))
