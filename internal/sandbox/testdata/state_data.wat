;; The phase copies a data segment into memory and drops it; the next run must find the segment, and not the copy.
(module
  (memory (export "memory") 1)
  (data $d "data")
  (func (export "pre_tool") (result i32) (local $bad i32)
    (local.set $bad (i32.ne (i32.load (i32.const 64)) (i32.const 0)))
    (memory.init $d (i32.const 64) (i32.const 0) (i32.const 4))
    (data.drop $d)
    (local.get $bad)))
