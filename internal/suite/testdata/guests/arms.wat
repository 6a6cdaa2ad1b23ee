;; Branches on the length of the tool's name; seven regions.
(module
  (import "belay_v1" "input_get" (func $input_get (param i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "log" (func $log (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0) "/tool")
  (func (export "pre_tool") (result i32) (local $n i32)
    ;; 1: the entry
    (local.set $n (call $input_get (i32.const 0) (i32.const 5) (i32.const 64) (i32.const 64)))
    (if (i32.eq (local.get $n) (i32.const 1))
      (then (drop (call $log (i32.const 1) (i32.const 64) (i32.const 1)))) ;; 2: one
      (else (if (i32.eq (local.get $n) (i32.const 2)) ;; 3: not one
        (then (drop (call $log (i32.const 1) (i32.const 64) (i32.const 2)))) ;; 4: two
        (else (if (i32.eq (local.get $n) (i32.const 3)) ;; 5: not two
          (then (drop (call $log (i32.const 1) (i32.const 64) (i32.const 3)))))))) ;; 6: three
    )
    (i32.const 0))) ;; 7: the end
