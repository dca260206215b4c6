#!/usr/bin/env bash
# nacre run: what goes in, what comes out, and the exit status of every ending.
source "$(dirname "$0")/lib.sh"

wat_say 1 hello hello.wat
wat_say 2 trouble trouble.wat
wat_exit 42 exit42.wat
wat_dump args args.wat
wat_dump environ environ.wat
wat_cat cat.wat
wat_trap trap.wat
wat_add add.wat
wat_open note.txt note.wat
policy plain plain.yaml

# ---- the guest's own business ----

run run hello.wat
expect_status 0
expect_out hello
expect_err ""

run run trouble.wat
expect_status 0
expect_out ""
expect_err trouble

run run exit42.wat
expect_status 42
expect_out ""
expect_err ""

# Options end at the module: the rest is the guest's, whatever it looks like.
run run --policy plain.yaml args.wat --policy "" --help -- "a b"
expect_status 0
tr '\0' '|' <"$scratch/out" >"$scratch/flat" && mv "$scratch/flat" "$scratch/out"
expect_out "args.wat|--policy||--help|--|a b|"

SECRET=yes run run --env A=1 --env B=x=y environ.wat
expect_status 0
tr '\0' '|' <"$scratch/out" >"$scratch/flat" && mv "$scratch/flat" "$scratch/out"
expect_out "A=1|B=x=y|"

echo "through and through" >text
input=text run run cat.wat
expect_out "through and through"
run run --stdin text cat.wat
expect_out "through and through"
run run cat.wat
expect_status 0
expect_out ""

run run --invoke add add.wat 40 2
expect_status 0
expect_out 42
run run --invoke half add.wat 0.2
expect_out 0.1
run run --invoke frob add.wat 1 2
expect_status 126
expect_err "nacre: add.wat: no exported function 'frob'; nacre inspect add.wat lists its exports"
run run --json --invoke add add.wat -- -1 -1
expect_status 126
run run --json --invoke add add.wat -1 -1
expect_status 0
expect_json
expect_out_has '"values":[-2]'

# ---- mounts ----

mkdir shared
echo "a note" >shared/note.txt
run run --policy plain.yaml --workspace shared note.wat
expect_status 0
expect_out "a note"
run run --policy plain.yaml --mount /workspace=shared:ro note.wat
expect_status 0
expect_out "a note"
# The same guest without the grant, and a private workspace instead of ours.
run run --workspace shared note.wat
expect_status 126
expect_out ""
expect_err_has "nacre: denied: "
expect_err_has "nacre: fix: give a policy that grants it (--policy); in one of your own, add under"
run run --policy plain.yaml note.wat
expect_status 44
expect_out ""

# A refusal while the guest runs is its errno, and is told when the guest gives up.
mkdir shared/secret
wat_open secret refused.wat
run run --policy plain.yaml --workspace shared refused.wat
[[ $status != 0 ]] || fail "a denied path was opened"
expect_out ""
expect_err_has "nacre: refused: plain.yaml:"
expect_err_has "secret"

run run --policy plain.yaml --mount /etc=/etc:ro hello.wat
expect_status 126
expect_out ""
expect_err_has "nacre: denied: plain.yaml:"
expect_err_has "nacre: fix: add under spec.capabilities.filesystem.mount_paths"
run run --json --policy plain.yaml --mount /etc=/etc hello.wat
expect_status 126
expect_json
expect_out_has '"outcome":"denied","exit_status":126'
expect_out_has '"code":"mount-not-covered"'
expect_out_has '"text":"mount request /etc: no line of mount_paths is at or above it","fix":"add under spec.'
expect_out_has '"file":"plain.yaml","line":'
expect_out_has '"usage":{"fuel":0,'

# The root and a relative name can be mount points too, where a policy says so.
sed 's|path: /workspace|path: /|; s|- /workspace/secret|- /secret|' plain.yaml >root.yaml
run run --policy root.yaml --mount /=shared note.wat
expect_status 0
expect_out "a note"
run run --policy root.yaml --mount /=shared refused.wat
[[ $status != 0 ]] || fail "a denied path was opened"
expect_err_has "nacre: refused: root.yaml:14:"
run run --policy plain.yaml --mount /=shared note.wat
expect_status 126
expect_out ""
sed "s|path: /workspace|path: data|; s|- /workspace/secret|- $PWD/shared/secret|" \
  plain.yaml >data.yaml
run run --policy data.yaml --mount data=shared note.wat
expect_status 0
expect_out "a note"
run run --policy data.yaml --mount data=shared refused.wat
[[ $status != 0 ]] || fail "a denied path was opened"
expect_err_has "nacre: refused: data.yaml:14:"
run run --policy plain.yaml --mount data=shared note.wat
expect_status 126
expect_out ""

# ---- the other endings ----

run run trap.wat
expect_status 134
expect_err_has "nacre: trapped: "
expect_err_has "innermost"
expect_err_has "outer"

wat_loop loop.wat
run run --timeout-ms 300 loop.wat
expect_status 124
expect_out up
expect_err_has "nacre: timed out after 300 ms (--timeout-ms)"
run run --json --timeout-ms 300 loop.wat
expect_status 124
expect_json
expect_out_has '"outcome":"timed-out"'
expect_out_has '"limit":{"code":"timed-out","rule":"request.timeout_ms"'
expect_out_has '"fix":"give a higher --timeout-ms'
expect_out_has '"usage":{"fuel_at_least":'
policy brief brief.yaml "timeout_ms: 300"
run run --policy brief.yaml loop.wat
expect_status 124
expect_err_has "nacre: timed out after 300 ms (resource_limits.timeout_ms, brief.yaml:17:17)"
expect_err_has "nacre: fix: raise spec.resource_limits.timeout_ms"
run run --policy brief.yaml --timeout-ms 301 loop.wat
expect_status 126
expect_err_has "nacre: denied: brief.yaml:17:17: "

run run --fuel 100000 loop.wat
expect_status 152
expect_err_has "nacre: out of fuel after 100000 units (--fuel)"
run run --json --fuel 100000 loop.wat
expect_status 152
expect_out_has '"outcome":"out-of-fuel"'
expect_out_has '"usage":{"fuel":'

wat_grow grow.wat
policy small small.yaml "memory_mb: 8"
run run --policy small.yaml grow.wat
expect_status 137
expect_err_has "nacre: out of memory: the guest asked for more than 8 MiB"
expect_err_has "(resource_limits.memory_mb, small.yaml:17:16)"

wat_flood flood.wat
policy quiet quiet.yaml "max_output_bytes: 5000"
run run --policy quiet.yaml flood.wat
expect_status 153
[[ $(wc -c <"$scratch/out") == 5000 ]] || fail "cut at another byte than 5000"
: >"$scratch/out"
expect_err_has "nacre: output cut at 5000 bytes"
expect_err_has "(resource_limits.max_output_bytes, quiet.yaml:17:23)"

run run no-such.wasm
expect_status 127
expect_err_has "no-such.wasm"
run run --policy no-such-policy hello.wat
expect_status 127
expect_err_has "no-such-policy"
echo "just text" >text.wasm
run run text.wasm
expect_status 126
expect_err_has "text.wasm"
# Proposals that are off are refused by name, before anything of them runs.
refused_proposals=(
  memory64 '(memory i64 1)'
  multi-memory '(memory 1) (memory 1)'
  threads '(memory 1 2 shared)'
  GC '(type (struct (field i32)))'
  exceptions '(tag)'
)
for ((i = 0; i < ${#refused_proposals[@]}; i += 2)); do
  echo "(module ${refused_proposals[i + 1]} (func (export \"_start\")))" >proposal.wat
  run run proposal.wat
  expect_status 126
  expect_out ""
  expect_err_has "needs ${refused_proposals[i]}, off in nacre"
done
echo '(module (memory 1) (func (export "_start")))' >proposal.wat
run run proposal.wat
expect_status 0
policy broken broken.yaml "timeout_ms: 0"
run run --policy broken.yaml hello.wat
expect_status 125
expect_out ""
expect_err_has "nacre: broken.yaml:17:17: "

# ---- --json ----

run run --json --policy plain.yaml hello.wat
expect_status 0
expect_err ""
expect_json
expect_out_has '"outcome":"exited","exit_status":0,"signal":0,"stdout":"hello\n","stderr":""'
expect_out_has '"output_cut":false'
expect_out_has '"policy":{"name":"plain","source":"plain.yaml","digest":"'"$(sha256sum plain.yaml | cut -d' ' -f1)"'"}'
expect_out_has '"tool":{"name":"hello.wat","digest":"'"$(sha256sum hello.wat | cut -d' ' -f1)"'","kind":"module"}'
for key in memory_bytes_peak memory_refused wall_ns compile_ns cpu_ns bytes_read \
  bytes_written files_opened; do
  expect_out_has "\"$key\":"
done
expect_out_has '"name":"seccomp","present":true'
printf '\377\376' >bytes
run run --json --stdin bytes cat.wat
expect_json
expect_out_has '"stdout_base64":"//4="'
run run --json --policy quiet.yaml flood.wat
expect_status 153
expect_json
expect_out_has '"output_cut":true'

# ---- mistakes on the command line ----

for words in "--fuel 0" "--timeout-ms 0" "--timeout-ms -1" "--mount /x" "--env X" \
  "--require-landlock none" "--fuel 1 --fuel 2"; do
  # shellcheck disable=SC2086
  run run $words hello.wat
  expect_status 125
  expect_out ""
done
HOME=/proc/nowhere run run hello.wat
expect_status 125
expect_err_has "set HOME, or XDG_STATE_HOME"
run run --stdin no-such-file hello.wat
expect_status 127
run run --require-landlock 99 hello.wat
expect_status 126
expect_out ""

# ---- the world around it ----

# A reader that left ends the guest, as SIGPIPE would; else this one would time out.
last=(nacre "run cat.wat | head -n 1")
feed() { while echo line && sleep 0.05; do :; done; }
set +o pipefail
feed 2>/dev/null | "$NACRE" run --timeout-ms 20000 cat.wat 2>"$scratch/err" |
  head -n 1 >"$scratch/out"
status=${PIPESTATUS[1]}
set -o pipefail
expect_status 141
expect_out line
expect_err ""
run audit tail -n 1 --json
expect_out_has '"outcome":"killed"'
last=(nacre "run hello.wat > /dev/full")
status=0
"$NACRE" run hello.wat </dev/null >/dev/full 2>"$scratch/err" || status=$?
expect_status 125
expect_err_has "No space left on device"

# ^C and a polite kill end the guest, and the record is still whole.
for signal in INT:130 TERM:143; do
  last=(nacre "run loop.wat, then SIG${signal%:*}")
  # Emptied here and not only by the job, which may come later than the first look.
  : >"$scratch/out"
  # A shell makes its background jobs ignore SIGINT.
  env --default-signal=INT "$NACRE" run --timeout-ms 20000 loop.wat \
    </dev/null >"$scratch/out" 2>"$scratch/err" &
  pid=$!
  for _ in $(seq 200); do
    [[ -s $scratch/out ]] && break
    sleep 0.05
  done
  expect_out up
  kill -s "${signal%:*}" "$pid"
  status=0
  wait "$pid" || status=$?
  expect_status "${signal#*:}"
done
run audit verify
expect_status 0
expect_out_has " 0 runs begun and never ended"

# With stdin, stdout and stderr closed nothing of the guest's lands in our files.
status=0
"$NACRE" run --audit "$PWD/closed.jsonl" hello.wat <&- >&- 2>&- || status=$?
expect_status 0
! grep -q '^hello' closed.jsonl || fail "output in the audit log"
run audit verify --file closed.jsonl
expect_status 0

passed
