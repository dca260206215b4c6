#!/usr/bin/env bash
# nacre audit: every run is there, denied ones too, and tampering shows.
source "$(dirname "$0")/lib.sh"

wat_say 1 hello hello.wat
policy plain plain.yaml
log=$HOME/.local/state/nacre/audit.jsonl

run run --policy plain.yaml --session s1 --agent a1 --caller c1 hello.wat first
expect_status 0
run run --policy plain.yaml --mount /etc=/etc hello.wat
expect_status 126
[[ $(wc -l <"$log") == 4 ]] || fail "two runs are four records"

run audit show
expect_status 0
expect_out_has "exited"
expect_out_has "denied"
expect_out_has 'tool hello.wat policy plain session s1 agent a1 caller c1'
run audit show --json
expect_json -l
cmp -s "$scratch/out" "$log" || fail "show --json is not the log"
expect_out_has '"session":"s1"'
expect_out_has '"agent":"a1"'
expect_out_has '"caller":"c1"'
expect_out_lacks "first"
run audit tail -n 1 --json
expect_json -l
[[ $(wc -l <"$scratch/out") == 1 ]] || fail "tail -n 1 is one record"
expect_out_has '"outcome":"denied"'

run audit verify
expect_status 0
expect_out_has "$log: whole: 4 records"
run audit verify --json
expect_json
expect_out_has '"ok":true'
expect_out_has '"records":4'
expect_out_has '"open_runs":0'

# The end of a run tells the line that refused a path, and the walls that stood.
mkdir -p shared/secret
wat_open secret refused.wat
run run --policy plain.yaml --workspace shared --audit paths.jsonl refused.wat
expect_status 2
run audit tail -n 1 --json --file paths.jsonl
expect_out_has '"rule":"capabilities.filesystem.denied_paths[0]"'
grep -qE '"mechanisms":\["wasm",[^]]*"seccomp"' "$scratch/out" || fail "no walls in the record"

# What could not even be read was asked for all the same: who, what, and why it failed.
pair() { # pair FILE: its last two records are one run's
  run audit verify --file "$1"
  expect_status 0
  expect_out_has "0 runs begun and never ended"
  run audit tail -n 2 --json --file "$1"
  expect_json -l
  checks=$((checks + 1))
  [[ $(grep -oE '"type":"(begin|end)"' "$scratch/out" | tr -d '\n') == \
    '"type":"begin""type":"end"' ]] || fail "expected a begin and an end record"
  [[ $(grep -oE '"run":"[^"]*"' "$scratch/out" | sort -u | wc -l) == 1 ]] ||
    fail "expected the records of one run"
}
printf 'level: wasm\n' >bad.yaml
run run --policy bad.yaml --agent a2 --audit failed.jsonl dir/hello.wat sk-SECRETSECRET
expect_status 125
expect_err_has "nacre: bad.yaml:1:1: unknown key 'level'"
pair failed.jsonl
expect_out_has '"agent":"a2"'
expect_out_has '"tool":{"name":"hello.wat","digest":null,'
expect_out_has '"policy":{"name":null,'
expect_out_has '"outcome":null'
expect_out_has '"error":{"status":"parse","text":"bad.yaml:1:1: unknown key'
expect_out_lacks "sk-SECRET"
run audit tail -n 1 --file failed.jsonl
expect_out_has "end       failed "
expect_out_has "    failed: bad.yaml:1:1: unknown key 'level'"
run run --policy no-such --audit failed.jsonl hello.wat
expect_status 127
pair failed.jsonl
expect_out_has '"error":{"status":"not-found",'
run run --policy plain.yaml --audit failed.jsonl no-such.wasm
expect_status 127
pair failed.jsonl
expect_out_has '"tool":{"name":"no-such.wasm",'
expect_out_has '"policy":{"name":"plain",'
[[ $(wc -l <failed.jsonl) == 6 ]] || fail "three failed runs are six records"
run run --policy plain.yaml --audit failed.jsonl hello.wat
expect_status 0
[[ $(wc -l <failed.jsonl) == 8 ]] || fail "a run that succeeds is two more"

# An argument that is no number is told to the caller and to no log.
wat_add add.wat
run run --audit values.jsonl --invoke add add.wat sk-SECRETSECRET 3
expect_status 126
run audit show --json --file values.jsonl
expect_json -l
[[ $(wc -l <"$scratch/out") == 2 ]] || fail "a run that can't be is two records as well"
expect_out_lacks "sk-SECRET"

# Following shows what comes later, until it is ended.
wait_lines() {
  for _ in $(seq 200); do
    [[ $(wc -l <follow) == "$1" ]] && return
    sleep 0.05
  done
  fail "tail --follow: expected $1 records, got $(wc -l <follow)"
}
: >follow
"$NACRE" audit tail -n 1 --follow --json >follow 2>"$scratch/err" &
pid=$!
wait_lines 1
run run hello.wat
expect_status 0
wait_lines 3
kill "$pid"
wait "$pid" || true

# A log of one's own, and one changed letter in it.
run run --audit mine.jsonl hello.wat
expect_status 0
run audit verify --file mine.jsonl
expect_status 0
sed -i '1s/hello/hallo/' mine.jsonl
run audit verify --file mine.jsonl
expect_status 125
expect_out ""
expect_err_has "mine.jsonl:2"
run audit verify --json --file mine.jsonl
expect_status 125
expect_json
expect_out_has '{"error":{"status":"parse"'

# Where the record can't be written nothing runs; the same command runs where it can.
mkdir taken
run run --audit taken hello.wat
expect_status 125
expect_out ""
run run --audit taken/log.jsonl hello.wat
expect_status 0
expect_out hello

run audit show --file no-such.jsonl
expect_status 127
run audit
expect_status 125
run audit shwo
expect_status 125
expect_err "nacre: audit does not know 'shwo'; did you mean 'show'?"
run audit tail -n 0
expect_status 125

passed
