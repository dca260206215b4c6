#!/usr/bin/env bash
# A guest that lies to the host: about pointers, about fds, about what it is.
source "$(dirname "$0")/lib.sh"

W01_pointers_beyond_the_memory_are_an_error() {
  scoped p.yaml /workspace:rw
  mkdir work
  run run --policy p.yaml --workspace work --env A=B "$GUESTS/attack_pointers.wasm"
  expect_status 0
  expect_out "tried 459 wrong 0"
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
EOF
  echo hello >text
  input=text run run grown.wat
  expect_status 0
  expect_out hello
}

W08_wild_numbers_are_an_error() {
  scoped p.yaml /workspace:rw
  mkdir work
  run run --policy p.yaml --workspace work "$GUESTS/attack_numbers.wasm"
  expect_status 0
  expect_out "survived, 0 surprises"
}

W10_nothing_of_anyone_else_is_in_memory() {
  scoped p.yaml /workspace:rw
  for _ in 1 2 3; do
    run run --policy p.yaml "$GUESTS/attack_remains.wasm"
    expect_status 0
    expect_out "dirty 0"
  done
}

# ends OUTCOME STATUS MODULE: what the program, its JSON and the audit log say of it.
ends() {
  run run --timeout-ms 5000 "$3"
  expect_status "$2"
  run run --timeout-ms 5000 --json "$3"
  expect_status "$2"
  expect_json
  expect_out_has "\"outcome\":\"$1\""
  run audit tail -n 1 --json
  expect_out_has "\"outcome\":\"$1\""
}

W12_a_guest_cannot_look_like_a_failed_host() {
  local number
  for number in 124 125 126 127 137 255; do
    wat_exit $number exit.wat
    ends exited $number exit.wat
  done
  # Numbers that no status can hold.
  for number in 256 -1 2147483647 -2147483648; do
    wat_exit $number exit.wat
    run run --json exit.wat
    expect_out_has '"outcome":"exited"'
    [[ $status != 0 ]] || fail "$number looks like success"
  done
  wat_trap trap.wat
  ends trapped 134 trap.wat
  cat >start.wat <<'EOF'
(module (memory (export "memory") 1) (func $s unreachable) (start $s)
  (func (export "_start")))
EOF
  ends trapped 134 start.wat
  cat >segment.wat <<'EOF'
(module (memory (export "memory") 1) (data (i32.const 65535) "too long")
  (func (export "_start")))
EOF
  ends trapped 134 segment.wat
  echo '(module (func $f (export "_start") (call $f) (call $f)))' >recursion.wat
  ends trapped 134 recursion.wat
  cat >raise.wat <<EOF
(module $wasi "proc_raise" (func \$raise (param i32) (result i32)))
  (memory (export "memory") 1) (func (export "_start") (drop (call \$raise (i32.const 9)))))
EOF
  run run --json raise.wat
  expect_out_lacks '"outcome":"killed"'
  # Names that would forge a line of ours, or move the terminal's cursor.
  # shellcheck disable=SC2016
  printf '(module (func $"a\\0anacre: the host failed\\1b[2J" (unreachable)) %s)' \
    '(func (export "_start") (call 0))' >name.wat
  run run name.wat
  expect_one_of 134 126
  ! grep -q '^nacre: the host failed' "$scratch/err" || fail "a forged line"
  ! grep -q $'\033' "$scratch/err" || fail "an escape sequence came through"
}

W13_only_modules_are_run() {
  scoped p.yaml /workspace:rw
  export HOME=$PWD
  local guest=$GUESTS/attack_remains.wasm size i at entry
  run run --policy p.yaml "$guest"
  expect_status 0
  # Compiled code, whole and without its trailer, under a module's name.
  entry=$(echo .cache/nacre/*.code)
  cp "$entry" code.wasm
  head -c -80 "$entry" >bare.wasm
  head -c 100000 "$NACRE" >elf.wasm
  : >empty.wasm
  printf '\0asm\1\0\0\0' >hollow.wasm
  printf '\0asm\15\0\1\0' >component.wasm
  printf '#!/bin/sh\necho pwned\n' >script.wasm
  for i in code bare elf empty hollow component script; do
    run run --policy p.yaml $i.wasm
    expect_status 126
    expect_out ""
  done
  # One byte changed at a time: refused, or another guest that is bound by the same walls.
  size=$(stat -c %s "$guest")
  for ((i = 0; i < 40; i++)); do
    at=$((i * 7919 % size))
    cp "$guest" mutant.wasm
    printf '%b' "\\x$(printf %02x $((i * 37 % 256)))" |
      dd of=mutant.wasm bs=1 seek=$at conv=notrunc status=none
    bounded 30 "$NACRE" run --policy p.yaml --timeout-ms 3000 mutant.wasm
    [[ $status != 125 ]] || fail "byte $at made nacre fail"
    [[ $status != 139 && $status != 159 ]] || fail "byte $at: status $status"
  done
  head -c $((size / 2)) "$guest" >half.wasm
  run run --policy p.yaml half.wasm
  expect_status 126
}

cases
