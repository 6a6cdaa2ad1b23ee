;; Each phase looks at all slots of the table, and changes one in its own way. It returns 0 when they are as
;; _initialize left them: functions that answer 10, 11, 12, 13 and a slot that is empty.
(module
  (memory (export "memory") 1)
  (type $n (func (result i32)))
  (table $t 5 9 funcref)
  (elem (i32.const 0) func $f0 $f0 $f2 $f3)
  (elem $passive func $f3 $f3)
  (elem declare func $f1)
  (func $f0 (result i32) (i32.const 10)) (func $f1 (result i32) (i32.const 11))
  (func $f2 (result i32) (i32.const 12)) (func $f3 (result i32) (i32.const 13))
  (func (export "_initialize") (table.set $t (i32.const 1) (ref.func $f1)))
  (func $check (result i32) (local $i i32)
    (if (i32.ne (table.size $t) (i32.const 5)) (then (return (i32.const 1))))
    (loop $l
      (if (i32.ne (call_indirect (type $n) (local.get $i)) (i32.add (i32.const 10) (local.get $i)))
        (then (return (i32.const 2))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4))))
    (i32.shl (i32.eqz (ref.is_null (table.get $t (i32.const 4)))) (i32.const 2)))
  (func (export "pre_tool") (result i32) (call $check) (table.set $t (i32.const 4) (ref.func $f1)))
  (func (export "post_tool") (result i32) (call $check) (drop (table.grow $t (ref.func $f1) (i32.const 1))))
  (func (export "pre_plan") (result i32) (call $check) (table.fill $t (i32.const 2) (ref.func $f0) (i32.const 1)))
  (func (export "pre_send") (result i32) (call $check) (table.init $t $passive (i32.const 0) (i32.const 1) (i32.const 1)))
  (func (export "post_receive") (result i32) (call $check) (table.copy $t $t (i32.const 3) (i32.const 0) (i32.const 1))))
