#!/usr/bin/env bash
# Native guests in a container, with the engine at $NACRE_TEST_DOCKER, that do not want to
# end: what is left of them when nacre has answered, and how long it took.
source "$(dirname "$0")/engine_lib.sh"

# warm WORD...: in the one container of this case.
warm() { boxed --session kept -- "$@"; }
id_of() { containers | head -n 1; }

# ends_by MS WORD...: warm, timed: it took at least MS, and no more than two seconds longer.
ends_by() {
  local from spent limit=$1
  shift
  from=$(milliseconds)
  warm "$@"
  spent=$(($(milliseconds) - from))
  checks=$((checks + 1))
  ((spent >= limit - 50 && spent < limit + 2000)) || fail "it took $spent ms"
}

D22_a_command_that_ignores_every_signal_ends_inside() {
  own_scene
  native p.yaml level=container timeout_ms=1000
  warm true
  local first word
  first=$(id_of)
  word=$(unique)
  ends_by 1000 sh -c "trap '' 1 2 3 15; while :; do sleep 1; done; : $word"
  expect_status 124
  lacks_word "$word" || fail "it is alive"
  is "the container" "$(id_of)" "$first"
}

# Each of them wants the processor, and the container's first process is one among them.
D22_a_bomb_of_thousands_costs_the_container_and_two_seconds() {
  own_scene
  native p.yaml level=container timeout_ms=2000 max_processes=4000 memory_mb=2000
  local word
  word=$(unique)
  # By chance it gets its turn in time all the same; hardly each time.
  for _ in 1 2 3 4; do
    warm echo here
    expect_status 0
    expect_out here
    ends_by 2000 /workspace/attack_native_grow starve "$word"
    expect_status 124
    lacks_word "$word" || fail "alive after the result: $(with_word "$word" | wc -l)"
  done
  expect_pairs
}

# By whoever asks for it, and not at a deadline.
D22_a_bomb_that_is_stopped_is_gone_as_soon() {
  own_scene
  native p.yaml level=container timeout_ms=30000 max_processes=4000 memory_mb=2000
  local word from
  word=$(unique)
  warm true
  start run --policy p.yaml --image nacre-test-busybox --workspace work --session kept -- \
    sh -c "touch up; exec /workspace/attack_native_grow starve $word"
  until_true 10 test -e work/up || fail "it did not start"
  sleep 1
  from=$(milliseconds)
  run stop --all
  expect_status 0
  finish
  expect_status 137
  checks=$((checks + 1))
  (($(milliseconds) - from < 2000)) || fail "it took $(($(milliseconds) - from)) ms"
  lacks_word "$word" || fail "alive after the result: $(with_word "$word" | wc -l)"
  run keeper --quit
  until_true 10 no_containers || fail "left: $(containers)"
}

cases
