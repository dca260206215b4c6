#!/usr/bin/env bash
# R11: modules made to be compiled, not run.  The host stays alive, answers others
# meanwhile, keeps its memory, and the run ends at its deadline.
source "$(dirname "$0")/lib.sh"

wat_say 1 fine "$scratch/fine.wat"

# A compiler may take what its own limit gives it; 4 GiB is that limit.
memory_mib=4300

# bomb KIND [TIMEOUT-MS]
bomb() {
  "$TOOLS/attack_bomb" "$1" >bomb.wasm
  timeout -s KILL 60 "$TOOLS/attack_measure" rss "$NACRE" run --timeout-ms "${2:-2000}" bomb.wasm \
    </dev/null >"$scratch/bomb-out" 2>"$scratch/bomb-err" &
  local bomb=$!
  # Others are served meanwhile.
  bounded 30 "$NACRE" run "$scratch/fine.wat"
  expect_status 0
  expect_out fine
  last=(nacre run "the bomb $1")
  status=0
  wait $bomb || status=$?
  mv "$scratch/bomb-out" "$scratch/out"
  mv "$scratch/bomb-err" "$scratch/err"
  within_memory $memory_mib
  ! pgrep -f "bomb.wasm" >/dev/null || fail "a process of it is still there"
}

R11_many_locals() {
  bomb locals 500
  expect_one_of 124 126
}

R11_jump_tables() {
  bomb tables
  expect_one_of 124 126 0
}

R11_one_endless_function() {
  bomb length
  expect_one_of 124 126 0
}

R11_a_million_functions() {
  bomb functions
  expect_one_of 124 126 0
}

R11_a_million_blocks_in_one_another() {
  bomb nesting
  expect_one_of 124 126 0
}

R11_a_promise_of_four_billion_types() {
  bomb promise
  expect_status 126
}

R11_text_without_an_end() {
  bomb text-depth
  expect_status 126
  bomb text-comments
  expect_status 126
  bomb text-blocks
  expect_one_of 124 126 0
  head -c 2000000 /dev/zero | tr '\0' '(' >big.wat
  run run big.wat
  expect_status 126
}

R11_a_compilation_that_was_too_slow_is_not_tried_again() {
  export HOME=$PWD # where nothing is known to be slow
  "$TOOLS/attack_bomb" locals >slow.wasm
  bounded 30 "$NACRE" run --timeout-ms 300 slow.wasm
  expect_status 124
  expect_err_has "nacre cache add"
  bounded 30 "$NACRE" run --timeout-ms 300 slow.wasm
  expect_status 126
  expect_err_has "nacre cache add"
}

R11_interrupting_a_compilation_ends_it() {
  export HOME=$PWD # where nothing is known to be slow
  "$TOOLS/attack_bomb" locals >slow.wasm
  start run --timeout-ms 50000 slow.wasm
  until_true 20 compiles "$pid" || fail "nothing compiles"
  kill -INT "$pid"
  until_true 20 is_gone "$pid" || fail "it goes on compiling"
  finish
  expect_status 130
  run audit tail -n 1 --json
  expect_out_has '"type":"end"'
  expect_out_has '"outcome":"killed"'
  # It was the caller's doing: the module is not called slow for it.
  bounded 30 "$NACRE" run --timeout-ms 300 slow.wasm
  expect_status 124
}

R11_a_compiler_that_is_stuck_is_killed() {
  export HOME=$PWD
  "$TOOLS/attack_bomb" locals >slow.wasm
  start run --timeout-ms 3000 slow.wasm
  until_true 20 compiles "$pid" || fail "nothing compiles"
  kill -STOP "$compiler"
  until_true 30 is_gone "$pid" || fail "nacre waits for a compiler that never ends"
  finish
  expect_status 124
  is_gone "$compiler" || fail "the compiler is still there"
}

# A process of it has used a tenth of a second of CPU: the compiler, at this point.
compiles() {
  local process ticks
  for process in $(below "$1"); do
    ticks=$(cut -d' ' -f14 /proc/"$process"/stat 2>/dev/null) || continue
    if ((ticks >= 10)); then
      compiler=$process
      return 0
    fi
  done
  return 1
}

cases
