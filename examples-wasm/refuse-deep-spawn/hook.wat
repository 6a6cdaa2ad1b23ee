;; Refuses to start child agents below a depth. Written by hand to show the whole ABI of a hook on one page:
;; four imports, one memory, one export.
;;
;; Configuration: {"max_depth": 1..999999999 (default 2), "unknown": "allow" | "block" (default block)}.
(module
  (import "belay_v1" "input_get" (func $input_get (param i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "config_get" (func $config_get (param i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "block" (func $block (param i32 i32) (result i32)))
  (import "belay_v1" "fail" (func $fail (param i32 i32) (result i32)))
  (memory (export "memory") 1 1)

  (data (i32.const 0) "/depth")
  (data (i32.const 16) "/max_depth")
  (data (i32.const 32) "/unknown")
  (data (i32.const 48) "allow")
  (data (i32.const 64) "child agents may not be started this deep")
  (data (i32.const 128) "the runtime does not tell how deep this child agent is")
  (data (i32.const 192) "configuration: max_depth is not a whole number")
  (global $buf i32 (i32.const 256)) ;; 16 bytes for one value

  ;; Reads $len decimal digits at $buf. -1 when that is no number of 1 to 9 digits: what is not understood must not
  ;; pass for something small.
  (func $number (param $len i32) (result i32)
    (local $i i32) (local $value i32) (local $digit i32)
    (if (i32.or (i32.lt_s (local.get $len) (i32.const 1)) (i32.gt_s (local.get $len) (i32.const 9)))
      (then (return (i32.const -1))))
    (loop $next
      (local.set $digit (i32.sub
        (i32.load8_u (i32.add (global.get $buf) (local.get $i)))
        (i32.const 48)))
      (if (i32.gt_u (local.get $digit) (i32.const 9)) (then (return (i32.const -1))))
      (local.set $value (i32.add (i32.mul (local.get $value) (i32.const 10)) (local.get $digit)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $len))))
    (local.get $value))

  ;; Whether the configuration says "allow" for an unknown depth. The five letters are compared as 4 + 1 bytes.
  (func $unknown_allowed (result i32)
    (if (i32.ne
          (call $config_get (i32.const 32) (i32.const 8) (global.get $buf) (i32.const 16))
          (i32.const 5))
      (then (return (i32.const 0))))
    (i32.and
      (i32.eq (i32.load (global.get $buf)) (i32.load (i32.const 48)))
      (i32.eq (i32.load8_u (i32.add (global.get $buf) (i32.const 4))) (i32.load8_u (i32.const 52)))))

  (func (export "spawn") (result i32)
    (local $len i32) (local $max i32)
    (local.set $max (i32.const 2))
    (local.set $len (call $config_get (i32.const 16) (i32.const 10) (global.get $buf) (i32.const 16)))
    (if (i32.ne (local.get $len) (i32.const -1)) ;; -1: absent
      (then
        (local.set $max (call $number (local.get $len)))
        (if (i32.lt_s (local.get $max) (i32.const 0))
          (then
            (drop (call $fail (i32.const 192) (i32.const 46)))
            (return (i32.const 1))))))
    (local.set $len (call $input_get (i32.const 0) (i32.const 6) (global.get $buf) (i32.const 16)))
    (if (i32.eq (local.get $len) (i32.const -1)) ;; absent: only this is "unknown"
      (then
        (if (i32.eqz (call $unknown_allowed))
          (then (drop (call $block (i32.const 128) (i32.const 54)))))
        (return (i32.const 0))))
    ;; Compared without a sign, so that -1, no number that can be read, is deeper than any: it may have many digits.
    (if (i32.gt_u (call $number (local.get $len)) (local.get $max))
      (then (drop (call $block (i32.const 64) (i32.const 41)))))
    (i32.const 0))
)
