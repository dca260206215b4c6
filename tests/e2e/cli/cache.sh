#!/usr/bin/env bash
# nacre cache: what is kept, kept on purpose, and cleared.
source "$(dirname "$0")/lib.sh"

wat_say 1 hello hello.wat
entries() {
  run cache --json
  expect_status 0
  expect_json
  grep -oE '"entries":[0-9]+' "$scratch/out" | cut -d: -f2
}

run cache
expect_status 0
expect_out_has "kept: 0 compiled modules, 0 bytes, in $HOME/.cache/nacre"
run cache add hello.wat
expect_status 0
expect_out_has "added, now kept: 1 compiled module, "
[[ $(entries) == 1 ]] || fail "expected one entry"
digest=$(sha256sum hello.wat | cut -d' ' -f1)
expect_out_has "\"modules\":[{\"name\":\"hello.wat\",\"digest\":\"$digest\",\"bytes\":"
run cache list
expect_status 0
expect_out_has "kept: 1 compiled module, "
expect_out_has "  hello.wat                sha256 ${digest:0:16} "

# What was added is used: nothing is compiled in the run.
run run --json hello.wat
expect_status 0
expect_out_has '"compile_ns":0,'
[[ $(entries) == 1 ]] || fail "expected the same entry"

# A changed byte is refused, and the module compiled again.
file=$(find "$HOME/.cache/nacre" -type f -size +1k | head -n 1)
printf '\xff' | dd of="$file" bs=1 seek=512 conv=notrunc status=none
run run --json hello.wat
expect_status 0
expect_out_has '"stdout":"hello\n"'
expect_out_lacks '"compile_ns":0,'

# What can't be an entry is listed as such, and a name can't speak to the terminal.
wat_say 1 other $'\e[31m.wat'
run cache add $'\e[31m.wat'
expect_status 0
run cache
expect_out_has '  \x1b[31m.wat'
expect_out_lacks $'\e'
truncate -s 100 "$file"
run cache
expect_out_has "kept: 2 compiled modules, "
expect_out_has "  damaged, or of another version: never used  100 bytes"
expect_out_lacks hello.wat
run cache --json
expect_json
expect_out_has '{"name":null,"digest":null,"bytes":100,'
run run --json hello.wat
expect_out_lacks '"compile_ns":0,'
run cache
expect_out_has hello.wat

run cache clear
expect_status 0
expect_out_has "removed: 2 compiled modules, "
[[ $(entries) == 0 ]] || fail "expected an empty cache"

run cache add
expect_status 125
expect_err "nacre: cache add expects MODULE"
run cache clear hello.wat
expect_status 125
run cache ad hello.wat
expect_status 125
expect_err "nacre: cache does not know 'ad'; did you mean 'add'?"
run cache add no-such.wasm
expect_status 127
echo "no module" >text.wasm
run cache add text.wasm
expect_status 126

passed
