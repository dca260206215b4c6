#!/usr/bin/env bash
# nacre check: policies and modules judged, none of them run.
source "$(dirname "$0")/lib.sh"

wat_say 1 hello hello.wat
policy plain plain.yaml
run check plain.yaml hello.wat
expect_status 0
expect_out_has "plain.yaml: ok: policy plain, level wasm"
expect_out_has "hello.wat: ok: command, 1 import served"
expect_out_lacks "note:"
expect_err ""

# By name and by address, and every ready policy.
run check workspace claw://local/sandbox/deny-all
expect_status 0
expect_out_has "workspace: ok: policy workspace"
expect_out_has "claw://local/sandbox/deny-all: ok: policy deny-all"
run check "$POLICIES"/*.yaml
expect_status 0

# Valid, and still nothing that this machine can enforce: said by line.
sed 's/level: wasm/level: container\n  runtime: apple-container/' plain.yaml >apple.yaml
run check apple.yaml
expect_status 0
expect_out_has "apple.yaml: ok: policy plain, level container"
expect_out_has "apple.yaml:7:12: note: can't run here: runtime"
expect_out_has "    fix: change 'apple-container' to 'docker'"

policy bad bad.yaml "memroy_mb: 5"
run check plain.yaml bad.yaml hello.wat
expect_status 125
expect_out_has "plain.yaml: ok"
expect_out_has "hello.wat: ok"
expect_out_lacks "bad.yaml: ok"
expect_err_has "bad.yaml:17:5: "
expect_err_has "did you mean 'memory_mb'?"

cat >unknown.wat <<'EOF'
(module
  (import "env" "fly" (func (param i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
  (func (export "_start")))
EOF
run check unknown.wat
expect_status 126
expect_out ""
expect_err_has "imports what nacre does not serve (1): env.fly"

echo '(module (memory i64 1) (func (export "_start")))' >wide.wat
run check wide.wat
expect_status 126
expect_err_has "memory64"

printf 'MZ nothing' >thing.wasm
run check thing.wasm
expect_status 126
expect_err_has "thing.wasm"
run check no-such.wasm
expect_status 127
run check
expect_status 125
expect_err "nacre: check expects PATH...; see nacre check --help"

run check --json plain.yaml bad.yaml unknown.wat
expect_status 125
expect_json
expect_out_has '{"ok":false,"items":[{"path":"plain.yaml","kind":"policy","ok":true,"name":"plain"'
expect_out_has '"path":"bad.yaml","kind":"policy","ok":false,"error":{"status":"parse"'
expect_out_has '"line":17,"column":5'
expect_out_has '"unknown_imports":[{"module":"env","name":"fly"'
expect_err ""

# What is legal and unwise is told with its line.
cat >unwise.yaml <<'EOF'
claw: "0.3.0"
kind: Sandbox
metadata: {name: unwise}
spec:
  level: wasm
  capabilities:
    network: {mode: allow-all, ssrf_protection: {enabled: false}}
    filesystem: {mode: full}
EOF
run check unwise.yaml
expect_status 0
expect_out_has "unwise.yaml:7:59: warning: a name that is allowed may lead to a private address"
expect_out_has "unwise.yaml:8:24: warning: the host's whole tree can be read and written"
sed -i 's/allow-all/deny/; s/mode: full/mode: deny/' unwise.yaml
run check unwise.yaml
expect_status 0
expect_out_lacks warning

# Nothing was run, so nothing was recorded.
[[ ! -e $HOME/.local/state/nacre/audit.jsonl ]] || fail "check left an audit record"

passed
