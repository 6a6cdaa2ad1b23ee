;; A module exports a phase.
(module (memory (export "memory") 1 2) (func (export "run") (result i32) (i32.const 0)))
