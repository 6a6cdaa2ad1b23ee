;; The phase drops a segment of elements, which the next run must find.
(module
  (memory (export "memory") 1)
  (table 1 funcref)
  (func $f) (elem $e func $f)
  (func (export "pre_tool") (result i32)
    (table.init $e (i32.const 0) (i32.const 0) (i32.const 1))
    (elem.drop $e) (i32.const 0)))
