#!/usr/bin/env bash
# A guest that wants more than it may have: time, memory, output, files.
source "$(dirname "$0")/lib.sh"

R01_loops_recursion_and_growth_end() {
  limited p.yaml "timeout_ms: 1000" "memory_mb: 8"
  wat_loop loop.wat
  bounded 20 "$NACRE" run --policy p.yaml loop.wat
  expect_status 124
  expect_out up
  wat_grow grow.wat
  bounded 20 "$NACRE" run --policy p.yaml grow.wat
  expect_status 137
  echo '(module (func $f (export "_start") (call $f) (call $f)))' >deep.wat
  bounded 20 "$NACRE" run --policy p.yaml deep.wat
  expect_status 134
  expect_err_has "stack overflow"
  bounded 20 "$NACRE" run --policy p.yaml --fuel 1000 loop.wat
  expect_status 152
  wat_say 1 fine fine.wat
  run run --policy p.yaml fine.wat
  expect_status 0
  expect_out fine
}

# with_memory PAGES TABLE: a module with so much from the start.
with_memory() {
  echo "(module (memory (export \"memory\") $1) (table $2 funcref) (func (export \"_start\")))"
}

R04_memory_and_tables_count_together() {
  limited p.yaml "memory_mb: 4"
  with_memory 32 1000 >fits.wat
  run run --policy p.yaml --json fits.wat
  expect_status 0
  with_memory 65 0 >memory.wat
  run run --policy p.yaml memory.wat
  expect_status 137
  with_memory 60 100000 >sum.wat
  run run --policy p.yaml sum.wat
  expect_status 137
  cat >growing.wat <<'EOF'
(module (table $t 1 funcref) (memory (export "memory") 1)
  (func (export "_start")
    (loop $more (br_if $more
      (i32.ne (table.grow $t (ref.null func) (i32.const 10000)) (i32.const -1))))
    unreachable))
EOF
  bounded 20 "$TOOLS/attack_measure" rss "$NACRE" run --policy p.yaml --json growing.wat
  expect_one_of 134 137
  within_memory 200
  echo '(module (memory 1) (memory 1) (func (export "_start")))' >multi.wat
  echo '(module (memory i64 1) (func (export "_start")))' >memory64.wat
  echo '(module (memory 1 2 shared) (func (export "_start")))' >threads.wat
  echo '(module (type (struct)) (func (export "_start")))' >gc.wat
  echo '(module (tag) (func (export "_start")))' >exceptions.wat
  for name in multi memory64 threads gc exceptions; do
    run run --policy p.yaml $name.wat
    expect_status 126
    expect_out ""
    expect_err_has "$name.wat"
  done
}

R08_waiting_in_the_host_ends_at_the_deadline() {
  limited p.yaml "timeout_ms: 1000"
  # An hour of poll_oneoff: a relative clock of 3.6e12 ns.
  cat >sleep.wat <<EOF
(module $wasi "poll_oneoff" (func \$poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (i32.store (i32.const 16) (i32.const 1))
    (i64.store (i32.const 24) (i64.const 3600000000000))
    (drop (call \$poll (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200)))
    (drop (call \$poll (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200)))))
EOF
  bounded 20 "$NACRE" run --policy p.yaml sleep.wat
  expect_status 124
  # Input that never comes and never ends.
  wat_cat cat.wat
  mkfifo pipe
  exec 9<>pipe
  input=pipe bounded 20 "$NACRE" run --policy p.yaml cat.wat
  expect_status 124
  exec 9>&-
  # A reader that does not read holds up nacre, as it would any program, but not the end
  # of the guest; what it has written is there when it is asked for at last.
  wat_loop loop.wat
  local again='(drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))'
  sed -i "s/(i32.const 3))\$/(i32.const 60000))/; s/(loop/$again (loop/" loop.wat
  mkfifo out
  exec 8<>out
  last=(nacre "run loop.wat > a full pipe")
  "$NACRE" run --timeout-ms 2000 loop.wat </dev/null >out 2>"$scratch/err" 8>&- &
  pid=$!
  until_true 10 worker_of "$pid" || fail "no worker was seen"
  until_true 10 is_gone "$worker" || fail "its worker is still there"
  head -c 120000 <&8 | wc -c >"$scratch/out"
  exec 8>&-
  finish
  expect_status 124
  expect_out 120000
  # The same wait, short enough, is no timeout.
  sed 's/3600000000000/1000000/' sleep.wat >nap.wat
  run run --policy p.yaml nap.wat
  expect_status 0
}

R10_a_giant_fill_is_killed() {
  limited p.yaml "timeout_ms: 1000" "memory_mb: 4096"
  # In a straight line, where nothing asks for the time; fuel is given for all of it.
  local fill='(memory.fill (i32.const 0) (i32.const 1) (i32.const -1))' lines
  lines=$(for _ in $(seq 400); do echo "$fill"; done)
  echo "(module (memory (export \"memory\") 65536) (func (export \"_start\") $lines))" >fill.wat
  start run --policy p.yaml --fuel 9000000000000000000 --json fill.wat
  until_true 10 worker_of "$pid" || fail "no worker was seen"
  until_true 15 is_gone "$pid" || fail "it goes on filling"
  finish
  expect_status 124
  is_gone "$worker" || fail "its worker is still there"
  limited q.yaml "timeout_ms: 30000" "memory_mb: 16"
  sed 's/65536/256/; s/-1/16777216/' fill.wat >small.wat
  run run --policy q.yaml small.wat
  expect_status 0
}

R10_a_worker_that_does_not_listen_is_killed() {
  wat_loop loop.wat
  start run --timeout-ms 3000 loop.wat
  until_true 15 test -s "$scratch/out" || fail "the guest does not run"
  worker_of "$pid" || fail "no worker was seen"
  # As good as stuck in the kernel: of all signals only SIGKILL reaches it.
  kill -STOP "$worker"
  until_true 30 is_gone "$pid" || fail "nacre waits for a worker that never answers"
  finish
  expect_status 124
  is_gone "$worker" || fail "its worker is still there"
}

R12_output_is_cut_at_the_byte() {
  limited p.yaml "max_output_bytes: 4097" "timeout_ms: 2000"
  wat_flood flood.wat
  run run --policy p.yaml flood.wat
  expect_status 153
  [[ $(wc -c <"$scratch/out") == 4097 ]] || fail "not 4097 bytes"
  : >"$scratch/out"
  # Both streams share it, and what was written before a kill is all there.
  cat >both.wat <<EOF
(module $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (memory.fill (i32.const 1000) (i32.const 120) (i32.const 2000))
    (i32.store (i32.const 0) (i32.const 1000))
    (i32.store (i32.const 4) (i32.const 2000))
    (drop (call \$write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call \$write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
    (loop \$more (br \$more))))
EOF
  run run --policy p.yaml --json both.wat
  expect_status 124
  expect_out_has '"bytes_written":4000'
  expect_out_has '"output_cut":false'
  [[ $(grep -o x "$scratch/out" | wc -l) -ge 4000 ]] || fail "output was lost at the kill"
  limited q.yaml "max_output_bytes: 3000" "timeout_ms: 2000"
  run run --policy q.yaml --json both.wat
  expect_status 153
  expect_out_has '"bytes_written":3000'
  expect_out_has '"output_cut":true'
  # And killed from outside in the middle of it.
  limited r.yaml "max_output_bytes: 1000000" "timeout_ms: 20000"
  start run --policy r.yaml both.wat
  until_true 10 test -s "$scratch/out" || fail "no output"
  until_true 10 worker_of "$pid" || fail "no worker was seen"
  kill -9 "$worker"
  finish
  expect_status 137
  [[ $(wc -c <"$scratch/out") == 2000 ]] || fail "output was lost at the kill"
  # Exactly as much as is allowed is not too much.
  wat_say 1 abcd exact.wat
  limited s.yaml "max_output_bytes: 5"
  run run --policy s.yaml exact.wat
  expect_status 0
  expect_out abcd
}

R14_open_files_are_counted_exactly() {
  mkdir work
  local most
  for most in 1 7 1000; do
    scoped p.yaml /workspace:rw -- "max_open_files: $most"
    run run --policy p.yaml --workspace work "$GUESTS/attack_fill.wasm" fds 3
    expect_status 0
    expect_out "fds $most, then error 33"
  done
  # Closed ones count no more, and stdio's numbers give nothing extra.
  scoped p.yaml /workspace:rw -- "max_open_files: 2"
  probe --policy p.yaml --workspace work -- open 3:file , open 3:file , open 3:file , \
    close 4 , close 0 , open 3:file , open 3:file
  answer "close 4" ok
  [[ $(grep -c 'open 3:file: ok' "$scratch/out") == 3 ]] || fail "not three in all"
  [[ $(grep -c 'open 3:file: MFILE' "$scratch/out") == 2 ]] || fail "not two refused"
}

R24_limits_that_are_none_are_errors() {
  wat_say 1 ran hello.wat
  local key value
  for key in memory_mb timeout_ms max_open_files max_output_bytes max_processes cpu_shares; do
    for value in 0 -1 9223372036854775808 18446744073709551617 1e3 "''" null unlimited .inf; do
      limited p.yaml "$key: $value"
      run run --policy p.yaml hello.wat
      expect_status 125
      expect_out ""
      expect_err_has "p.yaml:"
    done
  done
  for words in "--timeout-ms 0" "--timeout-ms -1" "--timeout-ms 99999999999999999999" \
    "--fuel 0" "--fuel -1" "--fuel 18446744073709551617"; do
    # shellcheck disable=SC2086
    run run $words hello.wat
    expect_status 125
    expect_out ""
  done
  limited p.yaml "memory_mb: 1" "timeout_ms: 10000" "max_open_files: 1" \
    "max_output_bytes: 10" "max_processes: 1"
  run run --policy p.yaml hello.wat
  expect_status 0
  expect_out ran
}

R01_cpu_shares_reach_the_worker() {
  wat_loop loop.wat
  limited p.yaml "cpu_shares: 128" "timeout_ms: 20000"
  local group dir nice=0 shares=none
  start run --policy p.yaml loop.wat
  until_true 15 test -s "$scratch/out" || fail "the guest does not run"
  worker_of "$pid" || fail "no worker was seen"
  nice=$(cut -d' ' -f19 /proc/"$worker"/stat)
  group=$(sed -nE 's/^[0-9]+:(cpu|cpu,cpuacct|)://p' /proc/"$worker"/cgroup | head -n 1)
  for dir in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup; do
    if [[ -r $dir$group/cpu.shares ]]; then shares=$(<"$dir$group/cpu.shares"); break; fi
    if [[ -r $dir$group/cpu.weight ]]; then shares=$(<"$dir$group/cpu.weight"); break; fi
  done
  kill -INT "$pid"
  finish
  expect_status 130
  checks=$((checks + 1))
  # 128 of 1024 is 128 in a v1 group, below 100 in a v2 one, and some nice elsewhere.
  ((nice > 0)) || [[ $shares == 128 ]] || { [[ $shares != none ]] && ((shares < 100)); } ||
    fail "neither a group's share ($shares) nor nice ($nice) is lower"
  [[ ! -d $dir$group || $group == / ]] || fail "its group was left behind: $dir$group"
}

R01_huge_arguments_are_refused_or_arrive() {
  wat_dump args args.wat
  local big many=() environment=()
  big=$(printf 'x%.0s' $(seq 50000))
  run run --json args.wat "$big"
  expect_status 0
  # More than nacre takes, in one call: an answer, not a crash.
  for _ in $(seq 9000); do many+=(a); done
  run run args.wat "${many[@]}"
  [[ $status != 0 && $status -lt 128 ]] || fail "expected a refusal"
  expect_err_has "arguments"
  for i in $(seq 500); do environment+=(--env "K$i=$i"); done
  wat_dump environ environ.wat
  run run "${environment[@]}" environ.wat
  expect_status 0
  [[ $(tr -cd '\0' <"$scratch/out" | wc -c) == 500 ]] || fail "not 500 variables"
}

cases
