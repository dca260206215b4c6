;; The smallest plugin for Extism that says something: 25 bytes, as many as hello.wasm.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "Hello from inside Extism\0a")
  (func (export "hello") (result i32)
    (local $at i64)
    (local $i i32)
    (local.set $at (call $alloc (i64.const 25)))
    (loop $next
      (call $store_u8
        (i64.add (local.get $at) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 25))))
    (call $output_set (local.get $at) (i64.const 25))
    (i32.const 0)))
