#!/usr/bin/env bash
# nacre inspect: what a module is and wants, and nothing of it runs.
source "$(dirname "$0")/lib.sh"

wat_open note.txt note.wat
policy plain plain.yaml

run inspect --policy plain.yaml note.wat
expect_status 0
expect_err ""
expect_out_has "note.wat: WebAssembly command, "
expect_out_has "sha256 $(sha256sum note.wat | cut -d' ' -f1)"
expect_out_has "memory: 64 KiB at start, no maximum of its own"
expect_out_has "filesystem   granted by plain.yaml:9:13: capabilities.filesystem.mode scoped"
expect_out_has "wasi_snapshot_preview1.path_open"
expect_out_has "_start"
run inspect note.wat
expect_out_has "filesystem   not granted by default"

run inspect --json --policy plain.yaml note.wat
expect_status 0
expect_json
expect_out_has '"kind":"command"'
expect_out_has '"memory":{"pages_min":1,"pages_max":null}'
expect_out_has '"name":"filesystem","granted":true'

wat_add add.wat
run inspect add.wat
expect_out_has "WebAssembly reactor"
expect_out_has "memory: none"
expect_out_has "add (i32, i32) -> i32"

# A name that would drive the terminal is shown, not obeyed.
printf '(module (func (export "\\1b[31mred")))' >rude.wat
run inspect rude.wat
expect_status 0
expect_out_has '\x1b[31mred'
expect_out_lacks $'\033'

printf '\0asm\x0d\0\1\0' >component.wasm
run inspect component.wasm
expect_status 126
expect_err_has "component"
run inspect no-such.wasm
expect_status 127
run inspect
expect_status 125
run inspect note.wat add.wat
expect_status 125

passed
