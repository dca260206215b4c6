#!/usr/bin/env bash
# What surrounds a run: other people's processes, the cache, a machine where calls fail.
source "$(dirname "$0")/lib.sh"

S01_workers_hold_nothing_of_their_caller() {
  wat_loop loop.wat
  TOKEN=sk-of-the-caller start run --timeout-ms 60000 --env KEY=sk-of-the-guest loop.wat \
    sk-argument
  until_true 15 test -s "$scratch/out" || fail "the guest does not run"
  local process all found="" status_file
  all=$(below "$pid")
  [[ $all ]] || fail "no process was seen"
  for process in $all; do
    # Readable here as root only; an ordinary user finds nothing either.
    found+=$(grep -aoz 'sk-.*' "/proc/$process/environ" 2>/dev/null | tr '\0' ' ') || true
    found+=$(grep -aoz 'sk-.*' "/proc/$process/cmdline" 2>/dev/null | tr '\0' ' ') || true
  done
  worker_of "$pid" || fail "no worker was seen"
  status_file=$(cat /proc/"$worker"/status)
  local core
  core=$(sed -n 's/^Max core file size *\([0-9a-z]*\).*/\1/p' /proc/"$worker"/limits)
  # As the kernel's positive control: nacre itself was given the token.
  [[ $(tr '\0' '\n' <"/proc/$pid/environ" | grep -c sk-of-the-caller) == 1 ]] ||
    fail "the caller's token was not there to be seen"
  kill -TERM "$pid"
  finish
  [[ -z $found ]] || fail "seen in a worker: $found"
  grep -q '^Seccomp:.*2' <<<"$status_file" || fail "the worker has no filter"
  grep -q '^NoNewPrivs:.*1' <<<"$status_file" || fail "the worker may gain privileges"
  [[ $core == 0 ]] || fail "a worker may leave a core of $core bytes"
}

S01_the_guest_sees_no_environment_of_the_host() {
  wat_dump environ environ.wat
  TOKEN=sk-of-the-caller LD_PRELOAD_X=1 run run --env A=1 environ.wat
  expect_status 0
  [[ $(tr '\0' '|' <"$scratch/out") == "A=1|" ]] || fail "more than A=1"
}

X01_the_bytes_that_were_hashed_are_the_bytes_that_run() {
  wat_say 1 one one.wat
  wat_say 1 two two.wat
  cp one.wat tool.wat
  cp two.wat other.wat
  local one two digest
  one=$(sha256sum one.wat | cut -d' ' -f1)
  two=$(sha256sum two.wat | cut -d' ' -f1)
  "$TOOLS/attack_swap" tool.wat other.wat 60000 >/dev/null &
  local racer=$! rounds=0
  while ! is_gone "$racer" || ((rounds < 5)); do
    run run --json tool.wat
    expect_status 0
    digest=$(sed -n 's/.*"tool":{"name":"tool.wat","digest":"\([0-9a-f]*\)".*/\1/p' "$scratch/out")
    if [[ $digest == "$one" ]]; then
      expect_out_has '"stdout":"one\n"'
    else
      [[ $digest == "$two" ]] || fail "a digest of neither"
      expect_out_has '"stdout":"two\n"'
    fi
    rounds=$((rounds + 1))
  done
  wait "$racer"
}

X04_a_poisoned_cache_is_compiled_again() {
  export HOME=$PWD
  wat_say 1 good good.wat
  wat_say 1 evil evil.wat
  run run good.wat
  expect_status 0
  local cache=.cache/nacre good evil size at
  good=$(echo $cache/*.code)
  cp "$good" good.code
  run run --json good.wat
  expect_out_has '"compile_ns":0'
  run run evil.wat
  evil=$(find $cache -name '*.code' ! -path "$good")
  size=$(stat -c %s "$good")
  # Another module's code under this one's name.
  cp "$evil" "$good"
  chmod 600 "$good"
  run run good.wat
  expect_status 0
  expect_out good
  # One bit here and there, the trailer among them; then less, more, none of it.
  for at in 0 64 $((size / 3)) $((size / 2)) $((size - 81)) $((size - 80)) $((size - 60)) \
    $((size - 20)) $((size - 1)); do
    cp good.code "$good"
    printf '%b' "\\x$(printf %02x $((0x$(xxd -s $at -l 1 -p good.code) ^ 1)))" |
      dd of="$good" bs=1 seek=$at conv=notrunc status=none
    run run --json good.wat
    expect_status 0
    expect_out_has '"stdout":"good\n"'
    ! grep -q '"compile_ns":0,' "$scratch/out" || fail "byte $at was not noticed"
  done
  for size in 0 10 80 1000; do
    head -c $size good.code >"$good"
    run run good.wat
    expect_status 0
    expect_out good
  done
  # A key of one's own makes a fine MAC that nobody believes.
  mkdir other
  HOME=$PWD/other run run good.wat
  cp other/$cache/*.code "$good"
  run run --json good.wat
  expect_status 0
  ! grep -q '"compile_ns":0,' "$scratch/out" || fail "another's code was believed"
  # Open to others, or a link: not believed even with the right bytes.
  cp good.code "$good"
  chmod 666 "$good"
  run run --json good.wat
  expect_status 0
  ! grep -q '"compile_ns":0,' "$scratch/out" || fail "code that others may write was believed"
}

X04_code_changed_while_it_runs_is_not_the_code_that_runs() {
  export HOME=$PWD
  wat_loop loop.wat
  run run --timeout-ms 200 loop.wat
  start run --timeout-ms 60000 loop.wat
  until_true 15 test -s "$scratch/out" || fail "the guest does not run"
  local entry
  for entry in .cache/nacre/*.code; do
    tr '\0' '\377' <"$entry" >"$entry.new"
    cat "$entry.new" >"$entry"
    : >"$entry"
  done
  sleep 0.3
  ! is_gone "$pid" || fail "the guest did not survive it"
  worker_of "$pid" || fail "no worker was seen"
  kill -INT "$pid"
  finish
  expect_status 130
}

A13_a_call_that_fails_never_allows() {
  scoped p.yaml /workspace:ro '!/workspace/secret'
  mkdir -p work/secret
  echo SECRET >work/secret/key
  echo fine >work/file
  ln -s ../canary/file work/out
  local call
  run run --policy p.yaml --workspace work "$GUESTS/attack_probe.wasm" read 3:file
  answer "read 3:file" "ok fine"
  for call in openat2=ENOSYS openat2=EPERM openat2=ENOMEM memfd_create=ENOSYS \
    memfd_create=EMFILE socketpair=EMFILE fstatfs=EIO statfs=EIO newfstatat=EIO fstat=EIO \
    readlinkat,readlink=EIO getrandom=ENOSYS flock=EIO fcntl=EPERM \
    prctl=EINVAL seccomp=EINVAL setrlimit,prlimit64=EPERM landlock_create_ruleset=EPERM \
    landlock_restrict_self=EPERM landlock_add_rule=EINVAL clone,clone3,fork,vfork=EAGAIN \
    pidfd_open=ENOSYS pidfd_send_signal=EPERM capset=EPERM sendmsg=EIO recvmsg=EIO \
    sendfile=EIO mkdirat=ENOSPC write=ENOSPC pwrite64=ENOSPC futex=ENOSYS \
    close_range=ENOSYS set_robust_list=ENOSYS sched_setaffinity=EPERM setsid=EPERM \
    dup2,dup3=EMFILE rt_sigaction=EINVAL fsync,fdatasync=EIO renameat,renameat2,rename=EIO; do
    last=(without "$call" nacre run)
    status=0
    timeout -s KILL 20 "$TOOLS/attack_without" "$call" "$NACRE" run --policy p.yaml \
      --workspace work --timeout-ms 5000 "$GUESTS/attack_probe.wasm" read 3:secret/key , \
      read 3:out , write 3:new x , read 3:file \
      </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
    checks=$((checks + 1))
    [[ $status != 137 ]] || fail "it hangs"
    ! grep -qE 'ok (SECRET|CANARY)' "$scratch/out" || fail "what is denied was read"
    [[ ! -e work/new ]] || fail "what is read-only was written"
    [[ $status != 0 ]] || grep -q 'read 3:file: ' "$scratch/out" ||
      [[ $call == write=* ]] || fail "success, but nothing ran"
  done
}

A13_too_little_memory_never_allows() {
  scoped p.yaml /workspace:ro '!/workspace/secret'
  mkdir -p work/secret
  echo SECRET >work/secret/key
  local kib ran=0
  # The last one is the control; a sanitizer takes terabytes.
  for kib in 200 400 700 1000 1500 2000 3000 4000 6000 10000 20000 60000 unlimited; do
    last=(nacre run "with $kib KiB of data at most")
    status=0
    (ulimit -d "$kib" && exec timeout -s KILL 20 "$NACRE" run --policy p.yaml \
      --workspace work --timeout-ms 5000 "$GUESTS/attack_probe.wasm" read 3:secret/key) \
      </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
    expect_out_lacks SECRET
    if grep -q 'read 3:secret/key: ACCES' "$scratch/out"; then ran=$((ran + 1)); fi
  done
  ((ran > 0)) || fail "it never had enough to run"
}

cases
