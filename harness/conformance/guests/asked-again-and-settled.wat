;; A mutator that is asked again may rewrite what stands there already.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (import "belay_v1" "rewrite" (func $rewrite (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 16384) "/args/a")
  (data (i32.const 16391) "1")
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
    (call $num (call $rewrite (i32.const 16384) (i32.const 7) (i32.const 16391) (i32.const 1) (i32.const 0))) (i32.const 0)))
