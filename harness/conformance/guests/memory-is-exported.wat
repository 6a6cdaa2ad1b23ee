;; A module exports its memory.
(module (memory 1 2) (func (export "pre_tool") (result i32) (i32.const 0)))
