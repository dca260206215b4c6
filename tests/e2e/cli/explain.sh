#!/usr/bin/env bash
# nacre explain: the plan, and single questions with the change that flips the verdict.
source "$(dirname "$0")/lib.sh"

wat_open note.txt note.wat
policy plain plain.yaml "memory_mb: 64"
mkdir shared

run explain --policy plain.yaml
expect_status 0
expect_err ""
expect_out_has "plain.yaml:9:13"
expect_out_has "plain.yaml:17:16"
expect_out_has "seccomp"
expect_out_lacks $'\033'
run explain --json --policy plain.yaml
expect_status 0
expect_json
expect_out_has '"runnable":true'
expect_out_has '"limits":{'
expect_out_has '"walls":['

run explain --policy plain.yaml --mount /etc=/etc
expect_status 0
expect_out_has "/etc"
run explain --json --policy plain.yaml --mount /etc=/etc
expect_json
expect_out_has '"runnable":false'

run explain --policy plain.yaml --path /etc/passwd
expect_status 0
expect_out_has "/etc/passwd"
expect_out_has "plain.yaml:"
expect_out_has "mount_paths"
expect_out_has "- {path: /etc, permissions: ro}" # a file can't be a mount
run explain --policy plain.yaml --path /no-such/../etc/passwd
expect_out_has "- {path: /etc, permissions: ro}"
run explain --policy plain.yaml --path /etc
expect_out_has "- {path: /etc, permissions: ro}"
run explain --policy plain.yaml --path /etc/no-such-file
expect_out_has "- {path: /etc/no-such-file, permissions: ro}"
run explain --json --policy plain.yaml --path /etc/passwd
expect_json
expect_out_has '"allowed":false'
expect_out_has '"fix":"'
run explain --json --policy plain.yaml --path /workspace/a
expect_out_has '"allowed":true'
expect_out_has '"read":true,"write":true'
run explain --json --policy plain.yaml --path /workspace/secret/key
expect_out_has '"allowed":false'
expect_out_has '"line":14'

run explain --json --policy plain.yaml --host example.com
expect_status 0
expect_json
expect_out_has '"allowed":false'
run explain --json --policy plain.yaml --command "rm -rf /"
expect_status 0
expect_out_has '"allowed":false'
expect_out_has '"line":15'

run explain --command ls
expect_status 0
expect_out_has "take a policy of level process, with shell mode restricted"

run explain --policy plain.yaml --tool note.wat
expect_status 0
expect_out_has "note.wat would run at level wasm under policy plain"
expect_out_has "filesystem   granted by plain.yaml:9:13: capabilities.filesystem.mode scoped"
run explain --tool note.wat
expect_out_has "note.wat would run"
expect_out_has "filesystem   not granted by default: capabilities.filesystem.mode deny"
sed 's/level: wasm/level: vm/' plain.yaml >vm.yaml
run explain --policy vm.yaml --tool note.wat
expect_status 0
expect_out_has "note.wat would not run at level vm"
expect_out_has "vm.yaml:6:10: "
echo '(module (import "env" "fly" (func)) (func (export "_start")))' >fly.wat
run explain --json --policy plain.yaml --tool fly.wat
expect_json
expect_out_has '"runs":false'
expect_out_has "imports env.fly, which nacre does not serve"

printf '(module (import "\\1b[31m" "fly" (func)) (func (export "_start")))' >rude.wat
run explain --policy plain.yaml --tool rude.wat
expect_status 0
expect_out_has 'imports \x1b[31m.fly'
expect_out_lacks $'\033'

run explain --policy plain.yaml --path /x --host y
expect_status 125
expect_err "nacre: one question at a time: --path or --host, not both"
run explain --policy plain.yaml --path ""
expect_status 125
run explain --policy plain.yaml --tool no-such.wasm
expect_status 127
run explain plain.yaml
expect_status 125
expect_err "nacre: explain does not expect 'plain.yaml'; see nacre explain --help"

[[ ! -e $HOME/.local/state/nacre/audit.jsonl ]] || fail "explain left an audit record"

passed
