#!/usr/bin/env bash
# nacre trace: a run, and every host call of it.
source "$(dirname "$0")/lib.sh"

wat_open note.txt note.wat
policy plain plain.yaml
mkdir work
echo text >work/note.txt

run trace --policy plain.yaml --workspace work note.wat
expect_status 0
expect_err_has "path_open(fd=3"
expect_err_has "path=note.txt"
expect_err_has "= SUCCESS, "
# The same walls: what a run is denied a traced run is denied.
run trace note.wat
expect_err_has "path_open(fd=3"
expect_err_has "= BADF, "

run trace --json --policy plain.yaml --workspace work note.wat
expect_status 0
expect_json
expect_err_has '{"call":"path_open","fd":3,'
expect_err_has '"path":"note.txt"'
expect_err_has '"result":"SUCCESS","ns":'

run trace no-such.wasm
expect_status 127
run trace
expect_status 125
