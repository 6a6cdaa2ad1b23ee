;; Every turn begins with the memory, the table and the globals of the module, after start and _initialize.
(module
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (global $g (mut i32) (i32.const 0))
  (func (export "_initialize")
    (i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (i32.const 49)))
    (global.set $g (i32.add (global.get $g) (i32.const 49))))
  (func (export "pre_tool") (result i32)
    (i32.store8 (i32.const 1) (global.get $g))
    (drop (call $log (i32.const 1) (i32.const 0) (i32.const 2)))
    (i32.const 0)))
