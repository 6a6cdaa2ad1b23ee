;; A reference in a global: the phase returns 0 when it is as _initialize left it, and changes it.
(module
  (memory (export "memory") 1)
  (global $r (mut funcref) (ref.null func))
  (func $f) (elem declare func $f)
  (func (export "_initialize") (global.set $r (ref.func $f)))
  (func (export "pre_tool") (result i32) (local $bad i32)
    (local.set $bad (ref.is_null (global.get $r)))
    (global.set $r (ref.null func))
    (local.get $bad)))
