;; What is newer than WebAssembly 2.0, such as tail calls, is refused.
(module (memory (export "memory") 1 2)
  (func $f (result i32) (i32.const 0))
  (func (export "pre_tool") (result i32) (return_call $f)))
