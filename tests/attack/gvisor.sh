#!/usr/bin/env bash
# Native guests in a container with gVisor's kernel, with the engine at
# $NACRE_TEST_DOCKER: is it gVisor, and do the walls stand that it does not put up itself.
source "$(dirname "$0")/engine_lib.sh"

if ! command -v runsc >/dev/null; then
  echo "no runsc (run .ci/setup --engine)"
  exit 77
fi

# gvisor WORD...: as native has them, into p.yaml.
gvisor() { native p.yaml level=$'container\n  runtime: gvisor' "$@"; }
expect_no_nonce() {
  is "nonces left" "$(find work -name '.nacre-nonce-*')" ""
}

V02_a_kernel_of_its_own() {
  own_scene
  gvisor timeout_ms=20000
  boxed -- sh -c 'cat /proc/sentry-meminfo >/dev/null && echo sentry
    cat /proc/sys/kernel/random/boot_id /proc/kcore /proc/kallsyms /dev/mem /dev/kmsg
    ls /sys/fs/cgroup /sys/kernel/debug; dmesg; cat /proc/version'
  expect_out_has sentry
  expect_out_lacks "$(cat /proc/sys/kernel/random/boot_id)"
  expect_out_lacks "$(uname -r)"
  expect_no_nonce
}

V02_runsc_that_is_an_alias_of_runc() {
  own_scene
  with_other_runtimes
  gvisor
  told_runtimes '"runsc": {"path": "runc", "runtimeArgs": ["--log-format=json"]}'
  until_true 10 has_runtime log-format || fail "the engine was not told"
  boxed -- touch /workspace/ran
  expect_status 126
  expect_err_has "runtime 'runsc' is not gVisor: the kernel inside is this machine's own"
  [[ ! -e work/ran ]] || fail "it ran"
  expect_no_nonce
  until_true 10 no_containers || fail "left: $(containers)"
  # One that takes its own walls down is none.
  told_runtimes "\"runsc\": {\"path\": \"$(command -v runsc)\", \
\"runtimeArgs\": [\"--TESTONLY-unsafe-nonroot=true\"]}"
  until_true 10 has_runtime TESTONLY || fail "the engine was not told"
  boxed -- touch /workspace/ran
  expect_status 126
  [[ ! -e work/ran ]] || fail "it ran"
}

# As --platform=kvm does under some hypervisors: the engine waits for it for ever.
V03_runsc_that_never_starts() {
  own_scene
  with_other_runtimes
  gvisor
  mkdir bin
  printf '#!/bin/sh\ncase "$*" in *" create "*) while :; do sleep 0.1; done ;; esac\n' \
    >bin/runsc
  chmod 755 bin/runsc "$scratch"
  told_runtimes "\"runsc\": {\"path\": \"$PWD/bin/runsc\", \"runtimeArgs\": [\"--spin\"]}"
  until_true 10 has_runtime spin || fail "the engine was not told"
  boxed -- touch /workspace/ran
  expect_status 126
  expect_err_has "gVisor does not come up here"
  [[ ! -e work/ran ]] || fail "it ran"
  expect_no_nonce
  until_true 10 no_containers || fail "left: $(containers)"
  until_true 5 lacks_word "$PWD/bin/runsc" || fail "it spins on"
}

V02_no_runsc_at_all() {
  own_scene
  with_other_runtimes
  gvisor
  told_runtimes '"other": {"path": "runc", "runtimeArgs": ["--log-format=text"]}'
  until_true 10 has_runtime log-format=text || fail "the engine was not told"
  boxed -- touch /workspace/ran
  expect_status 126
  expect_err_has "no runsc registered"
  expect_err_has "package runsc"
  [[ ! -e work/ran ]] || fail "it ran"
  run backends
  expect_out_has "no wall   gvisor: the engine has no runsc"
}

# Its filter is init's alone: the one that the engine was given is ignored there.
D17_every_refused_call_is_refused() {
  own_scene
  gvisor timeout_ms=30000
  boxed -- /workspace/attack_native_calls
  expect_refused
  boxed -- grep -E '^(Seccomp|Cap.*):' /proc/self/status
  [[ $(grep -cE '^Cap(Inh|Prm|Eff|Bnd):\s+0000000000000000$' "$scratch/out") == 4 ]] ||
    fail "capabilities"
  grep -qE '^Seccomp:\s+2' "$scratch/out" || fail "seccomp"
}

D01_denied_paths_stay_denied() {
  own_scene
  mkdir -p work/way
  echo TOP-SECRET >work/.env
  echo TOP-SECRET >work/way/key
  chown -R 1000:1000 work
  gvisor '!/workspace/.env' '!/workspace/way/key' '!/workspace/later'
  boxed -- sh -c 'cat .env way/key; chmod 777 .env; mv way else; mv .env x
    rm -rf .env way; ln .env hard; ln -s .env soft; cat soft; echo x >later; mkdir later
    echo mine >free; cp way/key copy; cat /proc/self/root/workspace/.env
    cat ../workspace/./way/../.env'
  expect_out_lacks TOP-SECRET
  is "what was kept" "$(cat work/.env work/way/key)" "TOP-SECRET
TOP-SECRET"
  is "what was allowed" "$(cat work/free)" mine
  [[ ! -s work/later && ! -d work/later ]] || fail "later was made"
  expect_no_nonce
}

D05_a_mount_below_and_a_read_only_one() {
  own_scene
  [[ $is_root == yes ]] || return 0
  mkdir -p work/below
  chown 1000:1000 work/below
  mount -t tmpfs none work/below
  echo OTHER-DISK >work/below/file
  gvisor /workspace:ro
  boxed -- sh -c 'cat below/file; echo x >mine; touch /etc/x; touch /x; ls below'
  umount work/below
  expect_out_lacks OTHER-DISK
  [[ ! -e work/mine ]] || fail "a read-only mount was written to"
  expect_err_has "Read-only"
  expect_no_nonce
}

# A bind that can't be proved is none.
D06_a_directory_that_nacre_can_not_write_to() {
  own_scene
  [[ $is_root == yes ]] || return 0
  mount -t tmpfs -o mode=0777 none work
  mount -o remount,ro work
  gvisor /workspace:ro
  boxed -- echo RAN
  umount work
  expect_status 126
  expect_out_lacks RAN
  expect_err_has "with gVisor a bind is proved by a file"
}

L05_processes_end_at_their_limit_and_the_sandbox_lives() {
  own_scene
  gvisor max_processes=12 timeout_ms=4000
  boxed --session l05 -- sh -c 'touch /tmp/same; bomb() { bomb | bomb & }; bomb; sleep 1'
  boxed --session l05 -- sh -c 'i=0; while [ $i -lt 30 ]; do sleep 1 & i=$((i + 1)); done
    echo MORE'
  expect_out_lacks MORE
  boxed --session l05 -- sh -c 'ls /tmp; echo lives'
  expect_out "same
lives"
  run keeper --quit
}

L01_memory_ends_the_sandbox_and_is_told() {
  own_scene
  gvisor memory_mb=64 timeout_ms=20000
  boxed --session l01 -- sh -c 'touch /tmp/old; x=AAAAAAAAAAAAAAAA
    while :; do x=$x$x; done'
  expect_status 137
  expect_err_has "out of memory"
  boxed --session l01 -- sh -c 'ls /tmp; echo again'
  expect_status 0
  expect_out "again"
  run keeper --quit
  until_true 10 no_containers || fail "left: $(containers)"
}

D24_what_a_guest_does_to_init_is_its_own_end() {
  own_scene
  gvisor timeout_ms=20000
  local how
  for how in 'kill -9 1' 'kill -9 -1' 'kill -9 $PPID' 'kill -9 2; kill -9 1'; do
    boxed --session d24 -- sh -c "$how; sleep 50"
    # The guest's outcome, never "the host failed".
    expect_status 137
    boxed --session d24 -- echo again
    expect_status 0
    expect_out again
  done
  expect_pairs
  run keeper --quit
  until_true 10 no_containers || fail "left: $(containers)"
}

E05_nothing_is_left_when_nacre_is_killed() {
  own_scene
  gvisor timeout_ms=60000
  start run --policy p.yaml --image nacre-test-busybox --workspace work -- \
    sh -c 'touch up; sleep 50'
  until_true 20 test -e work/up || fail "it did not start"
  [[ $(containers) ]] || fail "no container was there"
  kill_nacre
  until_true 15 no_containers || fail "left: $(containers)"
  expect_no_nonce
}

# How long a start may take is no question of memory: the plain build asks it.
if [[ ${NACRE_SANITIZED:-} ]]; then unset -f V03_runsc_that_never_starts; fi

cases
