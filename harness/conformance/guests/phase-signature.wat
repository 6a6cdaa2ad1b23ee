;; A phase is a function () -> i32.
(module (memory (export "memory") 1 2) (func (export "pre_tool")))
