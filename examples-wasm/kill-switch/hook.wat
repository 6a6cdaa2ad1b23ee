;; Stops an agent at once, at every point where it can be stopped, while its configuration says {"frozen": true}.
;; The shortest useful hook: no state, no analysis, one question and one answer.
(module
  (import "belay_v1" "config_get" (func $config_get (param i32 i32 i32 i32) (result i32)))
  (import "belay_v1" "block" (func $block (param i32 i32) (result i32)))
  (memory (export "memory") 1 1)
  (data (i32.const 0) "/frozen")
  (data (i32.const 16) "/reason")
  (data (i32.const 64) "frozen by the operator")
  ;; 512..2559 holds what is read

  (func $decide (result i32)
    (local $len i32)
    (local.set $len (call $config_get (i32.const 0) (i32.const 7) (i32.const 512) (i32.const 2048)))
    (if (i32.eq (local.get $len) (i32.const -1)) (then (return (i32.const 0)))) ;; absent: not frozen
    ;; "false" has five letters. Anything that is neither it nor absent freezes.
    (if (i32.eq (local.get $len) (i32.const 5)) (then (return (i32.const 0))))
    (local.set $len (call $config_get (i32.const 16) (i32.const 7) (i32.const 512) (i32.const 2048)))
    ;; Absent, or longer than the buffer (then nothing was written): the text above.
    (if (i32.or (i32.lt_s (local.get $len) (i32.const 1)) (i32.gt_s (local.get $len) (i32.const 2048)))
      (then (drop (call $block (i32.const 64) (i32.const 22))))
      (else (drop (call $block (i32.const 512) (local.get $len)))))
    (i32.const 0))

  (export "pre_plan" (func $decide))
  (export "pre_send" (func $decide))
  (export "pre_tool" (func $decide))
  (export "state_transition" (func $decide))
  (export "spawn" (func $decide))
)
