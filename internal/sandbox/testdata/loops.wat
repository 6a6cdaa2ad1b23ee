;; Work without hostcalls, for benchmarks: a sieve, recursion, and a hash.
(module
  (memory (export "memory") 1)
  (func (export "pre_plan") (result i32) (local $round i32) (local $i i32) (local $j i32) (local $n i32)
    (loop $rounds
      (memory.fill (i32.const 0) (i32.const 1) (i32.const 8192))
      (local.set $n (i32.const 0)) (local.set $i (i32.const 2))
      (loop $outer
        (if (i32.load8_u (local.get $i)) (then
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (local.set $j (i32.shl (local.get $i) (i32.const 1)))
          (block $done (loop $inner
            (br_if $done (i32.ge_u (local.get $j) (i32.const 8192)))
            (i32.store8 (local.get $j) (i32.const 0))
            (local.set $j (i32.add (local.get $j) (local.get $i)))
            (br $inner)))))
        (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8192))))
      (br_if $rounds (i32.lt_u (local.tee $round (i32.add (local.get $round) (i32.const 1))) (i32.const 20))))
    (i32.ne (local.get $n) (i32.const 1028)))
  (func $fib (param i32) (result i32)
    (if (result i32) (i32.lt_u (local.get 0) (i32.const 2)) (then (local.get 0))
      (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
  (func (export "pre_send") (result i32) (i32.ne (call $fib (i32.const 22)) (i32.const 17711)))
  (func (export "post_receive") (result i32) (local $i i32) (local $h i32)
    (local.set $h (i32.const 0x811c9dc5))
    (loop $l
      (local.set $h (i32.mul (i32.xor (local.get $h) (i32.and (local.get $i) (i32.const 255))) (i32.const 16777619)))
      (if (i32.and (local.get $h) (i32.const 1)) (then (local.set $h (i32.rotl (local.get $h) (i32.const 5)))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 200000))))
    (i32.eqz (local.get $h))))
