#!/usr/bin/env bash
# Whoever wants a run that left no trace, or one that can't be ended.
source "$(dirname "$0")/lib.sh"

log=.local/state/nacre/audit.jsonl

# three_runs: a log of six records below the case's own home.
three_runs() {
  export HOME=$PWD
  wat_say 1 ran hello.wat
  for _ in 1 2 3; do
    run run hello.wat
    expect_status 0
  done
  run audit verify
  expect_status 0
  mkdir kept
  cp $log $log.checkpoints kept/
}

# caught WHAT: verify says no.  Then everything is as before.
caught() {
  run audit verify
  [[ $status != 0 ]] || fail "not noticed: $1"
  cp kept/* .local/state/nacre/
  run audit verify
  expect_status 0
}

A02_an_altered_log_shows() {
  three_runs
  sed -i '3s/"exited"/"denied"/; 3s/hello/hallo/' $log
  caught "a record was changed"
  sed -i 3d $log
  caught "a record was removed"
  sed -i '3{h;d};4{G}' $log
  caught "two records changed places"
  head -n 4 kept/audit.jsonl >$log
  caught "the newest records were cut off"
  : >$log
  caught "the log was emptied"
  rm $log
  caught "the log was removed"
  rm $log.checkpoints
  caught "the checkpoints were removed"
  # A log of another's making, whole in itself, under another key.
  mkdir other
  HOME=$PWD/other run run hello.wat
  cp other/$log other/$log.checkpoints .local/state/nacre/
  caught "the log is another's"
  sed -i '$s/}$/,"extra":1}/' $log
  caught "the last record has something added"
}

# What fits together and carries the right HMACs is still not the newest.
A02_log_and_checkpoints_put_back_together_show() {
  three_runs
  head -n 4 kept/audit.jsonl >$log
  head -n 3 kept/audit.jsonl.checkpoints >$log.checkpoints
  caught "both were put back to the second run"
  head -n 1 kept/audit.jsonl.checkpoints >$log.checkpoints
  : >$log
  caught "both were put back to the start"
  head -n 1 kept/audit.jsonl.checkpoints >$log.checkpoints
  sed -i '6s/"exited"/"denied"/' $log
  caught "the last record was changed and the checkpoints cut to the first"
  # A run on what is left says so, and no later one makes it whole.
  rm $log $log.checkpoints
  run run hello.wat
  expect_status 0
  expect_err_has "The last 6 records"
  for _ in 1 2 3 4; do
    run run hello.wat
    expect_status 0
    ! grep -q "audit log" "$scratch/err" || fail "told again"
  done
  run audit verify
  [[ $status != 0 ]] || fail "forgiven"
  expect_err_has "6 records were vouched for"
}

A02_denied_and_failed_runs_leave_two_records() {
  three_runs
  limited p.yaml "timeout_ms: 1000"
  run run --policy p.yaml --mount /etc=/etc hello.wat
  expect_status 126
  echo "no module" >text.wasm
  run run text.wasm
  expect_status 126
  run audit verify
  expect_status 0
  expect_out_has ": 10 records"
  expect_out_has " 0 runs begun and never ended"
}

A02_names_cannot_forge_a_record() {
  three_runs
  local forged=$'x"}\n{"v":1,"seq":1,"type":"end","outcome":"exited"}\n'
  cp hello.wat $'evil"\n{}.wat'
  run run --session "$forged" --agent $'a\033[2J' --caller $'\377\376' $'evil"\n{}.wat' "$forged"
  expect_status 0
  run audit verify
  expect_status 0
  expect_out_has ": 8 records"
  [[ $(wc -l <$log) == 8 ]] || fail "not one line a record"
  run audit show --json
  expect_json -l
  run audit show
  ! grep -q $'\033' "$scratch/out" || fail "an escape sequence came through"
}

A02_many_at_once_leave_one_chain() {
  three_runs
  local i jobs=()
  for i in $(seq 12); do
    "$NACRE" run hello.wat "$i" </dev/null >/dev/null 2>&1 &
    jobs+=($!)
  done
  for i in "${jobs[@]}"; do
    status=0
    wait "$i" || status=$?
    expect_status 0
  done
  run audit verify
  expect_status 0
  expect_out_has ": 30 records"
  expect_out_has " 0 runs begun and never ended"
}

# small_disk DIRECTORY COMMAND...: with a file system of 64 KiB mounted there; without
# the right to mount, a limit on the size of files does.
small_disk() {
  local dir=$1
  shift
  local inside='mount -t tmpfs -o size=64k,mode=0700 none "$0" && exec "$@"'
  local way
  for way in -m -rm; do
    if unshare $way sh -c "$inside" "$dir" true 2>/dev/null; then
      unshare $way sh -c "$inside" "$dir" "$@"
      return
    fi
  done
  (ulimit -f 64 && "$@")
}

A06_without_room_for_the_record_nothing_runs() {
  three_runs
  mkdir disk
  cat >until-full.sh <<EOF
i=0
while [ \$i -lt 400 ]; do
  i=\$((i + 1))
  if ! "$NACRE" run --audit disk/log.jsonl hello.wat >out 2>err; then break; fi
  [ "\$(cat out)" = ran ] || exit 3
done
cat err
[ \$i -gt 2 ] && [ \$i -lt 400 ] || exit 4
# Full at last: it says so, and the next one does not begin at all.
head -c 100000 /dev/zero >disk/rest 2>/dev/null
"$NACRE" run --audit disk/log.jsonl hello.wat >out 2>err </dev/null
[ \$? = 125 ] || exit 5
[ ! -s out ] || exit 6
grep -q "nothing was run" err || exit 7
# What fails before that says why it did, and that there is no record of it.
"$NACRE" run --policy no-such --audit disk/log.jsonl hello.wat >out 2>err </dev/null
[ \$? = 127 ] || exit 8
grep -q "can't be recorded in the audit log either: policy 'no-such'" err || exit 9
exit 0
EOF
  last=(nacre run "until the disk is full")
  status=0
  small_disk "$PWD/disk" sh until-full.sh </dev/null >"$scratch/out" 2>"$scratch/err" ||
    status=$?
  expect_status 0
  # There is room elsewhere.
  run run --audit elsewhere.jsonl hello.wat
  expect_status 0
  expect_out ran
}

A06_a_record_that_cannot_be_written_stops_the_run() {
  three_runs
  local path
  mkdir dir
  ln -s "$PWD/canary/file" link.jsonl
  mkfifo fifo.jsonl
  echo "not a log" >text.jsonl
  for path in dir /dev/full /dev/null /proc/self/mem link.jsonl fifo.jsonl text.jsonl \
    canary/file/log.jsonl; do
    bounded 20 "$NACRE" run --audit "$path" hello.wat
    expect_status 125
    expect_out ""
  done
  [[ $(cat text.jsonl) == "not a log" ]] || fail "a file that was no log changed"
}

A02_killed_outright_leaves_nothing_but_an_open_record() {
  three_runs
  scoped p.yaml /workspace:rw -- "timeout_ms: 60000"
  cat >stay.wat <<EOF
(module $wasi "path_create_directory" (func \$make (param i32 i32 i32) (result i32)))
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1) (data (i32.const 100) "up\n")
  (func (export "_start")
    (drop (call \$make (i32.const 3) (i32.const 100) (i32.const 2)))
    (i32.store (i32.const 0) (i32.const 100))
    (i32.store (i32.const 4) (i32.const 3))
    (drop (call \$write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (loop \$more (br \$more))))
EOF
  start run --policy p.yaml stay.wat
  until_true 15 test -s "$scratch/out" || fail "the guest does not run"
  local all base=/dev/shm root process
  [[ -w $base ]] || base=/tmp
  all=$(below "$pid")
  worker_of "$pid" || fail "no worker was seen"
  root=$(private_root)
  [[ -d $root ]] || fail "no private directory was seen"
  kill -9 "$pid"
  finish
  for process in $all; do
    until_true 10 is_gone "$process" || fail "process $process outlived nacre"
  done
  run audit verify
  expect_status 0
  expect_out_has " 1 run begun and never ended"
  # The next run says so, and one of the next takes away what is older than a moment.
  run run --policy p.yaml hello.wat
  expect_status 0
  expect_err_has "never ended"
  # And writes the record that its owner could not: a pair for each run.
  run audit verify
  expect_status 0
  expect_out_has " 0 runs begun and never ended"
  run audit show --json
  expect_out_has '"outcome":"killed"' && expect_out_has '"status":"lost"'
  until_true 20 swept || fail "left behind: $root"
}

private_root() {
  local dir
  for dir in "$base"/nacre-"$(id -u)"-*; do
    if [[ -d $dir && -n $(find "$dir" -name up 2>/dev/null) ]]; then echo "$dir"; fi
  done
}

swept() {
  probe --policy p.yaml -- ls 3
  [[ ! -e $root ]]
}

A02_signals_end_the_run_with_a_record() {
  three_runs
  wat_loop loop.wat
  local signal
  for signal in INT:130 TERM:143; do
    start run --timeout-ms 60000 loop.wat
    until_true 15 test -s "$scratch/out" || fail "the guest does not run"
    local all
    all=$(below "$pid")
    kill -s "${signal%:*}" "$pid"
    finish
    expect_status "${signal#*:}"
    for process in $all; do
      until_true 10 is_gone "$process" || fail "process $process outlived nacre"
    done
    run audit tail -n 1 --json
    expect_out_has '"type":"end"'
    expect_out_has '"outcome":"killed"'
  done
  run audit verify
  expect_status 0
  expect_out_has " 0 runs begun and never ended"
}

cases
