#!/usr/bin/env bash
# A guest that lies to the host: about pointers, about fds, about what it is.
source "$(dirname "$0")/lib.sh"

W01_pointers_beyond_the_memory_are_an_error() {
  scoped p.yaml /workspace:rw
  mkdir work
  run run --policy p.yaml --workspace work --env A=B "$GUESTS/attack_pointers.wasm"
  expect_status 0
  expect_out "tried 360 wrong 0"
  [[ $(cd work && echo *) == "file link" ]] || fail "a refused call made something"
}

W03_memory_that_has_grown_is_memory() {
  # The page did not exist when the instance was made: read into it, write out of it.
  cat >grown.wat <<EOF
(module
  $wasi "fd_read" (func \$read (param i32 i32 i32 i32) (result i32)))
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  $wasi "proc_exit" (func \$exit (param i32)))
  (memory (export "memory") 1)
  (func \$io (result i32)
    (i32.or
      (call \$read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8))
      (call \$write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 6553600))
    (i32.store (i32.const 4) (i32.const 6))
    (if (i32.ne (call \$io) (i32.const 21)) (then (call \$exit (i32.const 1))))
    (drop (memory.grow (i32.const 200)))
    (if (call \$io) (then (call \$exit (i32.const 2))))))
