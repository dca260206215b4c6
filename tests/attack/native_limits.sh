#!/usr/bin/env bash
# Native guests that want more than they may have, or do not want to end.
source "$(dirname "$0")/native_lib.sh"

# over_by MS WORD...: inside, timed: it took at least MS, and no more than two seconds
# longer, after which the host itself makes an end of it.
over_by() {
  local from spent limit=$1
  shift
  from=$(milliseconds)
  bounded 30 "$NACRE" run --policy p.yaml --workspace work -- "$@"
  spent=$(($(milliseconds) - from))
  checks=$((checks + 1))
  ((spent >= limit - 50 && spent < limit + 4000)) || fail "it took $spent ms"
}

# At its deadline, or before: so many processes may be more than the memory that all of
# them have together, which ends them at once.
ended_by_a_limit() { [[ $status == 124 || $status == 137 ]] || fail "expected 124 or 137"; }

R17_a_fork_bomb_ends_by_its_deadline() {
  scene
  native p.yaml timeout_ms=8000
  local word
  word=$(unique)
  begin /workspace/attack_native_grow bomb "$word"
  until_true 10 has_word "$word" || fail "the bomb was not seen"
  # The host answers meanwhile.
  bounded 5 "$NACRE" version
  expect_status 0
  finish
  ended_by_a_limit
  expect_gone "$word"
  native p.yaml timeout_ms=1500 max_processes=1000
  inside /workspace/attack_native_grow bomb "$word"
  ended_by_a_limit
  expect_gone "$word"
  expect_pairs
}

# So many that the sandbox's own init gets no turn among them: who has made it ends it.
R17_a_bomb_of_thousands_is_gone_with_its_result() {
  scene
  local word most=200 limits=()
  word=$(unique)
  if [[ $is_root == yes ]]; then most=4000 limits=(memory_mb=2000); fi
  native p.yaml timeout_ms=2000 "max_processes=$most" "${limits[@]}"
  over_by 2000 sh -c "echo up; exec /workspace/attack_native_grow bomb $word"
  expect_status 124
  expect_out up
  lacks_word "$word" || fail "alive after the result: $(with_word "$word" | wc -l)"
  expect_pairs
}

# Its owner may be in real time, and no guest is: it would have a processor to itself.
R17_real_time_is_not_handed_on() {
  scene
  native p.yaml
  local first=(chrt -f 1)
  "${first[@]}" true 2>/dev/null || first=()
  bounded 20 "${first[@]}" "$NACRE" run --policy p.yaml --workspace work -- \
    sh -c 's=$(cat /proc/self/stat); set -- ${s##*) }; echo "policy ${39}"'
  expect_status 0
  expect_out "policy 0"
}

R17_processes_are_counted() {
  scene
  native p.yaml max_processes=20 timeout_ms=1000
  over_by 1000 /workspace/attack_native_grow zombies
  expect_status 124
  local count
  count=$(sed -n 's/^zombies \([0-9]*\), then EAGAIN$/\1/p' "$scratch/out")
  [[ $count ]] && ((count >= 17 && count <= 20)) || fail "not 20 processes: $(<"$scratch/out")"
  # The limit is each sandbox's own, not that of the user.
  inside sh -c 'echo fine'
  expect_out fine
}

R17_what_detaches_itself_is_killed() {
  scene
  native p.yaml timeout_ms=20000
  local word how
  word=$(unique)
  inside /workspace/attack_native_grow orphans 20 "$word"
  expect_status 0
  expect_out "left 20"
  expect_gone "$word"
  for how in "setsid sleep $word &" "(sleep $word &) &" "nohup sleep $word >/dev/null 2>&1 &" \
    "trap '' TERM HUP INT; sleep $word & exec true" "exec 1>&- 2>&-; sleep $word &"; do
    bounded 10 "$NACRE" run --policy p.yaml --workspace work -- sh -c "$how"
    expect_status 0
    expect_gone "$word"
  done
  expect_pairs
}

D22_a_command_that_ignores_every_signal_ends() {
  scene
  native p.yaml timeout_ms=1000
  over_by 1000 sh -c 'trap "" TERM INT HUP QUIT USR1 USR2 ALRM; while :; do :; done'
  expect_status 124
  # Stopped: no process of it moves any more, and pid 1 is not stopped with it.
  over_by 1000 sh -c 'kill -STOP 1; kill -STOP $$'
  expect_status 124
  # Waiting for input that never comes.
  mkfifo pipe
  exec 9<>pipe
  input=pipe over_by 1000 cat
  expect_status 124
  exec 9>&-
  expect_pairs
}

D23_memory_of_all_processes_together() {
  scene
  if [[ $is_root == no ]]; then
    # An ordinary user without a group of its own: refused by name, never ignored.
    native p.yaml memory_mb=64
    inside echo ran
    if [[ $status != 0 ]]; then
      expect_status 126
      expect_err_has memory_mb
      expect_out ""
      return
    fi
  fi
  native p.yaml memory_mb=64 timeout_ms=20000
  local kind
  for kind in private shared memfd sysv many; do
    bounded 20 "$NACRE" run --policy p.yaml --workspace work --json -- \
      /workspace/attack_native_grow $kind 256
    [[ $status != 0 ]] || fail "256 MiB of $kind memory under a limit of 64"
    expect_out_lacks "got 256"
    expect_out_lacks "failed 0"
    inside /workspace/attack_native_grow $kind 16
    expect_status 0
  done
  expect_pairs
}

# Where the policy is silent `explain` promises a limit of each process's own data, and of
# the sum where the machine has a memory cgroup for it.
D23_memory_by_default() {
  scene
  native p.yaml timeout_ms=20000
  run explain --policy p.yaml
  expect_out_has "512 MiB together by cgroup, else data of each process"
  inside /workspace/attack_native_grow private 700
  [[ $status != 0 ]] || fail "700 MiB under a limit of 512"
  expect_out "got 0 MiB"
  inside /workspace/attack_native_grow private 300
  expect_out "got 300 MiB"
  run explain --policy p.yaml
  if grep -q "^stands *memory " "$scratch/out"; then
    bounded 20 "$NACRE" run --policy p.yaml --workspace work --json -- \
      /workspace/attack_native_grow many 1024
    [[ $status != 0 ]] || fail "1024 MiB in 16 processes under a limit of 512"
    expect_out_lacks "failed 0"
    expect_out_has '"memory_refused":true'
    inside /workspace/attack_native_grow many 256
    expect_out_has "failed 0"
  else
    expect_out_has "lacking  memory"
  fi
  expect_pairs
}

F20_scratch_has_its_size() {
  scene
  native p.yaml timeout_ms=60000
  local dir free
  free=$(df --output=avail -k . | tail -n 1)
  for dir in /tmp /dev/shm; do
    inside /workspace/attack_native_grow bytes $dir
    expect_status 0
    [[ $(<"$scratch/out") =~ ^bytes\ ([0-9]+),\ then\ ENOSPC$ ]] || fail "no limit in $dir"
    ((BASH_REMATCH[1] <= 256 << 20)) || fail "over 256 MiB in $dir"
    inside /workspace/attack_native_grow files $dir
    [[ $(<"$scratch/out") =~ ^files\ ([0-9]+),\ then\ ENOSPC$ ]] || fail "no end of files"
    ((BASH_REMATCH[1] <= 16384)) || fail "over 16384 files in $dir"
  done
  inside sh -c 'truncate -s 1T /tmp/sparse && ls -s /tmp/sparse; for d in / /usr /etc /proc /dev; do
    (echo x >$d/made) 2>/dev/null && echo "made in $d"; done; true'
  expect_out_lacks made
  # One more sandbox begins with nothing of it.
  inside sh -c 'ls -A /tmp /dev/shm'
  expect_out $'/dev/shm:\n\n/tmp:'
}

R12_output_is_cut_at_the_byte() {
  scene
  native p.yaml max_output_bytes=100001 timeout_ms=20000
  bounded 20 "$TOOLS/attack_measure" rss "$NACRE" run --policy p.yaml --workspace work -- \
    /workspace/attack_native_grow flood
  expect_status 153
  local count
  count=$(sed 's/nacre: .*//' "$scratch/out" "$scratch/err" | tr -cd x | wc -c)
  : >"$scratch/out"
  sed -i 's/^x*//' "$scratch/err"
  [[ $count == 100001 ]] || fail "$count bytes, not 100001"
  within_memory 200
  # Nobody reads: nacre waits, and its guest ends in time all the same.
  local word
  word=$(unique)
  native p.yaml timeout_ms=1500 max_output_bytes=100000000
  mkfifo out
  exec 8<>out
  last=(nacre run flood, unread)
  "$NACRE" run --policy p.yaml --workspace work -- /workspace/attack_native_grow flood "$word" \
    </dev/null >out 2>"$scratch/err" 8>&- &
  pid=$!
  until_true 10 has_word "$word" || fail "the flood was not seen"
  until_true 10 lacks_word "$word" || fail "it runs on because nobody reads"
  cat <&8 >/dev/null &
  local reader=$!
  until_true 10 is_gone "$pid" || fail "nacre does not end"
  kill "$reader"
  exec 8>&-
  finish
  expect_status 124
  expect_pairs
}

R14_open_files_are_counted() {
  scene
  native p.yaml max_open_files=50
  inside /workspace/attack_native_grow fds
  expect_out "fds 47, then EMFILE"
  inside sh -c 'ulimit -n 60 || ulimit -Hn'
  expect_out_has 50
}

# not_used_up KIND: while a guest holds all it can get of what the kernel counts for a
# user or for the machine, a program of the host's still gets some, and another sandbox
# still begins.
not_used_up() {
  scene
  native p.yaml timeout_ms=20000 max_open_files=1000
  native q.yaml '!/workspace/secret'
  begin /workspace/attack_native_grow "$1"
  until_true 10 grep -q "^$1" "$scratch/out" || fail "the guest took nothing"
  mv "$scratch/out" "$scratch/out-guest"
  timeout 1 "$TOOLS/attack_native_grow" "$1" >"$scratch/out-host" || true
  run run --policy q.yaml --workspace work -- echo fine
  local other=$status
  kill -TERM "$pid"
  finish
  last=(attack_native_grow "$1" outside)
  grep -qE "^$1 [1-9]" "$scratch/out-host" ||
    fail "nothing is left for the host: inside $(head -n 1 "$scratch/out-guest")"
  [[ $other == 0 ]] || fail "no other sandbox begins"
}

R14_contexts_of_the_machine_are_not_used_up() {
  not_used_up aio
}

R14_watches_of_the_user_are_not_used_up() {
  not_used_up inotify
}

# Exact everywhere, and told with its line where a cgroup counts: the command itself is one
# of them.
R17_refused_processes_are_told_by_their_line() {
  scene
  local groups
  groups=$(can_group)
  native p.yaml max_processes=5 timeout_ms=20000
  local line
  line=$(grep -n max_processes p.yaml | cut -d: -f1)
  inside --json -- sh -c 'for n in 1 2 3 4; do sleep 1 & done; wait; echo all'
  expect_status 0
  expect_out_has '"limit":null'
  expect_out_has 'all\n'
  inside --json -- sh -c 'for n in 1 2 3 4 5; do sleep 1 & done; wait; echo all'
  expect_out_lacks 'all\n'
  if [[ $groups == no ]]; then
    expect_out_has 'Cannot fork'
    expect_out_has '"limit":null'
    return
  fi
  expect_out_has '"code":"processes-refused"'
  expect_out_has '"rule":"resource_limits.max_processes"'
  expect_out_has "\"line\":$line"
  inside sh -c 'for n in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait'
  expect_err_has "p.yaml:$line:"
  expect_err_has "it may have 5 at once"
  expect_err_has "raise spec.resource_limits.max_processes"
}

cases
