;; A vector in a global: the phase returns 0 when it is as _initialize left it, and changes its upper half.
(module
  (memory (export "memory") 1)
  (global $v (mut v128) (v128.const i64x2 1 2))
  (func (export "_initialize") (global.set $v (v128.const i64x2 3 4)))
  (func (export "pre_tool") (result i32) (local $bad i32)
    (local.set $bad (i32.or (i64.ne (i64x2.extract_lane 0 (global.get $v)) (i64.const 3))
                            (i64.ne (i64x2.extract_lane 1 (global.get $v)) (i64.const 4))))
    (global.set $v (i64x2.replace_lane 1 (global.get $v) (i64.const 5)))
    (local.get $bad)))
