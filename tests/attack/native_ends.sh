#!/usr/bin/env bash
# How native sandboxes begin and end: killed, stopped, half made, many after another; and
# machines on which a wall can't be had.
source "$(dirname "$0")/native_lib.sh"

# Cgroups whose owner, who is in the name, is gone.  Those of others come and go.
stray_groups() {
  local name
  find /sys/fs/cgroup -type d -name 'nacre-[0-9]*' -printf '%f\n' 2>/dev/null |
    while IFS=- read -r _ name _; do [[ -e /proc/$name ]] || echo "$name"; done | wc -l
}

# What a killed one has held is given back by whoever comes next, whatever that one needs.
D25_held_names_are_given_back_at_any_next_start() {
  scene
  native p.yaml '!/workspace/.env' '!/workspace/no/such/key' timeout_ms=60000
  native process.yaml mode=deny
  native none.yaml level=none mode=deny
  sed -i '/filesystem:/,/mode: deny/d' none.yaml
  local next
  for next in process.yaml none.yaml; do
    begin sh -c "echo up; sleep 60"
    until_true 20 grep -q up "$scratch/out" || fail "it does not run"
    [[ -e work/.env && -e work/no && -e work/.git ]] || fail "no name is held"
    # One that lives keeps its own.
    run run --policy "$next" $([[ $next == none* ]] && echo --unsandboxed) -- true
    expect_status 0
    [[ -e work/.env && -e work/no && -e work/.git ]] || fail "a held name was taken"
    kill_nacre
    [[ -e work/.env && -e work/no && -e work/.git ]] || fail "nobody was killed"
    run run --policy "$next" $([[ $next == none* ]] && echo --unsandboxed) -- true
    expect_status 0
    [[ ! -e work/.env && ! -e work/no && ! -e work/.git ]] || fail "left behind: $next"
    [[ -z $(find home -path '*placeholders/*') ]] || fail "a record was left behind"
  done
}

D25_a_killed_nacre_leaves_nothing_running() {
  scene
  native p.yaml '!/workspace/.env' '!/workspace/sub/key' timeout_ms=60000
  mkdir work/sub
  chmod 777 work/sub
  local word
  word=$(unique)
  begin sh -c "echo up; setsid sleep $word & trap '' TERM HUP; sleep $word & sleep $word"
  until_true 20 grep -q up "$scratch/out" || fail "it does not run"
  until_true 20 has_word "$word" || fail "its processes were not seen"
  [[ -e work/.env && -e work/sub/key ]] || fail "no name is held"
  kill_nacre
  expect_gone "$word"
  # What was held is given back by whoever comes next, and the log says what happened.
  native q.yaml mode=deny
  run run --policy q.yaml -- true
  expect_status 0
  [[ ! -e work/.env && ! -e work/sub/key ]] || fail "a held name was left behind"
  [[ -z $(find home -path '*placeholders/*') ]] || fail "a record was left behind"
  run audit verify
  expect_status 0
  expect_out_has " 0 runs begun and never ended"
}

D25_nothing_is_left_of_a_limited_one() {
  scene
  native p.yaml memory_mb=64 cpu_shares=128 timeout_ms=60000
  if [[ $(can_group) == no ]]; then
    inside true
    expect_status 126
    expect_err_has "there is no cgroup with this controller to be had here"
    expect_err_has "--waive memory_mb"
    expect_err_has "--waive cpu_shares"
    return
  fi
  local word before
  word=$(unique)
  before=$(stray_groups)
  begin sh -c "echo up; exec sleep $word"
  until_true 20 grep -q up "$scratch/out" || fail "it does not run"
  kill_nacre
  expect_gone "$word"
  inside true
  expect_status 0
  checks=$((checks + 1))
  (($(stray_groups) <= before + 8)) || fail "groups pile up"
}

D25_a_stopped_nacre_keeps_nothing_alive() {
  scene
  native p.yaml timeout_ms=60000
  local word
  word=$(unique)
  begin sh -c "echo up; exec sleep $word"
  until_true 20 has_word "$word" || fail "it does not run"
  kill -STOP "$pid"
  sleep 1
  has_word "$word" || fail "it was killed for a second of silence"
  until_true 20 lacks_word "$word" || fail "it lives without its owner"
  kill -CONT "$pid"
  finish
  expect_status 137
  expect_pairs
}

D25_signals_to_nacre_end_the_command() {
  scene
  native p.yaml timeout_ms=60000
  local word signal
  for signal in INT TERM HUP; do
    word=$(unique)
    begin sh -c "trap '' INT TERM HUP; echo up; sleep $word & sleep $word"
    until_true 20 grep -q up "$scratch/out" || fail "it does not run"
    kill -$signal "$pid"
    until_true 20 is_gone "$pid" || fail "nacre runs on"
    finish
    [[ $status == $((128 + $(kill -l $signal))) ]] || fail "status of SIG$signal"
    expect_gone "$word"
  done
  expect_pairs
}

D25_a_command_that_is_asked_to_end_may_tidy_up() {
  scene
  native p.yaml timeout_ms=60000
  local signal
  for signal in INT TERM HUP QUIT; do
    begin sh -c 'trap "echo tidied; exit 5" INT TERM HUP QUIT; echo up; while :; do sleep 0.1; done'
    until_true 20 grep -q up "$scratch/out" || fail "it does not run"
    kill -$signal "$pid"
    until_true 20 is_gone "$pid" || fail "nacre runs on"
    finish
    expect_status 5
    grep -q tidied "$scratch/out" || fail "SIG$signal was not passed on"
  done
  expect_pairs
}

D25_a_second_signal_kills_at_once() {
  scene
  native p.yaml timeout_ms=60000
  local word
  word=$(unique)
  begin sh -c "trap '' INT TERM; echo up; sleep $word & sleep $word"
  until_true 20 grep -q up "$scratch/out" || fail "it does not run"
  kill -INT "$pid"
  kill -TERM "$pid"
  until_true 20 is_gone "$pid" || fail "nacre runs on"
  finish
  expect_status 137
  expect_gone "$word"
  expect_pairs
}

R14_three_hundred_runs_leave_nothing() {
  scene
  native p.yaml '!/workspace/.env'
  local before after count
  before=$(stray_groups)
  for count in $(seq 300); do
    inside sh -c ':'
    [[ $status == 0 ]] || fail "run $count"
  done
  after=$(stray_groups)
  checks=$((checks + 1))
  # Others on this machine may be killed meanwhile.
  ((after <= before + 20)) || fail "$before groups before, $after after"
  [[ -z $(jobs -p) && -z $(below $$ | grep -vx "$BASHPID" | while read -r p; do
    cat "/proc/$p/comm" 2>/dev/null; done | grep nacre) ]] || fail "processes are left"
  [[ -z $(find home -path '*placeholders/*') && ! -e work/.env ]] || fail "names are left"
  ! grep -q " $PWD" /proc/self/mountinfo || fail "mounts are left"
  expect_pairs
}

# Without what a wall is made of there is no run, and no weaker one.
P01_a_missing_wall_is_a_refusal() {
  scene
  native p.yaml '!/workspace/secret' timeout_ms=5000
  mkdir work/secret
  echo CANARY >work/secret/key
  chmod -R a+rX work/secret
  local call
  inside sh -c 'echo RAN'
  expect_out RAN
  # `RAN` with success only where the call is no wall: then nothing denied was read.  What
  # a sanitizer does at the end needs calls of its own.
  export ASAN_OPTIONS=detect_leaks=0
  for call in clone3=ENOSYS clone3=EPERM clone,clone3,fork,vfork=EAGAIN \
    seccomp=EINVAL prctl=EINVAL prctl=EPERM pivot_root=EPERM umount2=EPERM mount=EPERM \
    open_tree=ENOSYS open_tree=EPERM move_mount=EPERM mount_setattr=EPERM \
    mount_setattr=ENOSYS fsopen=ENOSYS fsopen=EPERM fsmount=EPERM fsconfig=EINVAL \
    openat2=ENOSYS setresuid=EPERM setresgid=EPERM setsid=EPERM sethostname=EPERM \
    unshare=EPERM unshare=EINVAL capset=EPERM setrlimit,prlimit64=EPERM \
    landlock_create_ruleset=EPERM landlock_add_rule=EINVAL landlock_restrict_self=EPERM \
    socketpair=EMFILE pipe2=EMFILE memfd_create=ENOSYS recvmsg=EIO sendmsg=EIO \
    signalfd4=EMFILE eventfd2=EMFILE inotify_init1=EMFILE inotify_add_watch=ENOSPC \
    mkdirat=ENOSPC symlinkat=EIO mknodat=EPERM fchmod=EPERM fchdir=EIO chdir=EACCES \
    close_range=ENOSYS pidfd_open=ENOSYS statx=EIO getrandom=ENOSYS \
    getdents64=EIO readlinkat,readlink=EIO flock=EIO dup2,dup3=EMFILE ppoll=EINVAL; do
    last=(without "$call" nacre run)
    status=0
    timeout -s KILL 30 "$TOOLS/attack_without" "$call" "$NACRE" run --policy p.yaml \
      --workspace work -- /bin/sh -c 'echo RAN; grep -E "^(Seccomp|NoNewPrivs|CapBnd):" \
        /proc/self/status; cat secret/key /etc/shadow; ls /root /home' \
      </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
    checks=$((checks + 1))
    [[ $status != 137 ]] || fail "it hangs"
    expect_out_lacks CANARY
    expect_out_lacks root:
    if grep -q RAN "$scratch/out"; then
      grep -qE '^Seccomp:\s+2' "$scratch/out" && grep -qE '^NoNewPrivs:\s+1' "$scratch/out" &&
        grep -qE '^CapBnd:\s+0+$' "$scratch/out" || fail "it ran without a wall"
    else
      [[ $status != 0 && -s $scratch/err ]] || fail "no refusal, or no word about it"
    fi
  done
  inside sh -c 'echo RAN'
  expect_out RAN
}

P02_landlock_can_be_made_a_condition() {
  scene
  native p.yaml
  inside --require-landlock 1 -- echo ran
  if [[ $status == 0 ]]; then expect_out ran; else expect_status 126; fi
  inside --require-landlock 99 -- echo ran
  [[ $status != 0 ]] || fail "ABI 99 was found"
  expect_out ""
}

A13_too_little_memory_never_allows() {
  scene
  native p.yaml '!/workspace/secret' timeout_ms=5000
  mkdir work/secret
  echo CANARY >work/secret/key
  chmod -R a+rX work/secret
  local kib ran=0
  for kib in 200 400 700 1000 1500 2000 4000 10000 60000 unlimited; do
    last=(nacre run "with $kib KiB of data at most")
    status=0
    (ulimit -d "$kib" && exec timeout -s KILL 20 "$NACRE" run --policy p.yaml \
      --workspace work -- sh -c 'echo RAN; cat secret/key') \
      </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
    [[ $status != 137 ]] || fail "it hangs"
    expect_out_lacks CANARY
    if grep -q RAN "$scratch/out"; then ran=$((ran + 1)); fi
  done
  ((ran > 0)) || fail "it never had enough to run"
}

A13_few_open_files_never_allow() {
  scene
  native p.yaml '!/workspace/secret' timeout_ms=5000
  mkdir work/secret
  echo CANARY >work/secret/key
  chmod -R a+rX work/secret
  local most ran=0
  for most in 4 6 8 10 12 14 16 20 30 300; do
    last=(nacre run "with $most open files at most")
    status=0
    (ulimit -n "$most" && exec timeout -s KILL 20 "$NACRE" run --policy p.yaml \
      --workspace work -- sh -c 'echo RAN; cat secret/key') \
      </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
    [[ $status != 137 ]] || fail "it hangs"
    expect_out_lacks CANARY
    if grep -q RAN "$scratch/out"; then ran=$((ran + 1)); fi
  done
  ((ran > 0)) || fail "it never had enough to run"
}

A01_never_weaker_than_asked_for() {
  scene
  native p.yaml level=vm
  inside echo RAN
  expect_status 126
  expect_out ""
  native p.yaml level=container
  DOCKER_HOST=unix://$PWD/nobody.sock inside echo RAN
  [[ $status != 0 ]] || fail "it ran without an engine"
  expect_out ""
  native p.yaml disk_io_weight=100
  inside echo RAN
  [[ $status != 0 ]] || fail "a limit was ignored"
  expect_out ""
}

cases
