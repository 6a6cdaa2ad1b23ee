;; Loops in its start function, before anyone has called anything.
(module (memory (export "memory") 1)
  (func $s (loop $l (br $l))) (start $s)
  (func (export "pre_tool") (result i32) (i32.const 0)))
