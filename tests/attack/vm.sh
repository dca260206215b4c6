#!/usr/bin/env bash
# Native guests in a machine of their own, with the engine at $NACRE_TEST_DOCKER: is it a
# machine, what is refused where it would be none, and do the walls inside it stand.  A
# machine takes seconds to boot where it is emulated: one serves for as much as it can.
here=$(cd "$(dirname "$0")" && pwd)
source "$here/engine_lib.sh"

if [[ $(engine /images/nacre-vm:bookworm-slim/json) != *'"Id"'* ]]; then
  echo "no image nacre-vm:bookworm-slim in the engine"
  exit 77
fi

# vm WORD...: as native has them, into p.yaml.
vm() { native p.yaml level=vm "$@"; }
in_machine() { # WORD...: in the one of this case's session
  boxed --allow-emulation --session attack -- "$@"
}
expect_nothing_ran() {
  expect_status 126
  [[ ! -e work/ran ]] || fail "it ran"
  until_true 10 no_containers || fail "left: $(containers)"
}

V01_without_kvm_it_is_refused_or_degraded_by_name() {
  own_scene
  vm
  run backends
  if grep -q 'wall      kvm: ' "$scratch/out"; then return 0; fi
  expect_out_has "no wall   kvm: "
  boxed -- touch /workspace/ran
  expect_nothing_ran
  expect_err_has "an emulated one is no security boundary"
  expect_err_has "--allow-emulation"
  boxed --waive memory_mb -- touch /workspace/ran
  expect_nothing_ran
  boxed --json --allow-emulation -- sh -c 'echo SAID'
  expect_status 0
  expect_out_has SAID
  expect_out_has '"degraded":true'
  expect_out_has '"waived":["emulation"]'
  grep -q '"waived":\["emulation"\]' "$HOME/.local/state/nacre/audit.jsonl" ||
    fail "the audit does not say so"
  until_true 10 no_containers || fail "left: $(containers)"
}

# image_away: the engine has none for machines until the case ends, also when it fails.
image_away() {
  engine '/images/nacre-vm:bookworm-slim/tag?repo=nacre-vm-kept&tag=1' -X POST
  engine /images/nacre-vm:bookworm-slim -X DELETE >/dev/null
  trap 'engine "/images/nacre-vm-kept:1/tag?repo=nacre-vm&tag=bookworm-slim" -X POST
        engine /images/nacre-vm-kept:1 -X DELETE >/dev/null' EXIT
}

# other_image FILE...: these programs and a shell stand in for it.
other_image() {
  local socket=${DOCKER_HOST#unix://} root=$PWD/root
  (
    source "$here/../support/host_image.sh"
    make_skeleton
    cp "$@" "$root/usr/bin/"
    touch "$root"/boot/{vmlinux,vmlinuz,modules.cpio}
    add_busybox
    import_root nacre-vm bookworm-slim
  )
}

# Where the device opens and boots nothing: an answer within 10 s is what counts.
V03_kvm_that_opens_and_boots_nothing() {
  own_scene
  [[ -c /dev/kvm ]] || return 0
  vm
  printf '#!/bin/sh\nexec sleep 4242\n' >qemu-system-x86_64
  chmod 755 qemu-system-x86_64
  image_away
  other_image qemu-system-x86_64
  run backends
  expect_out_has "no wall   kvm: /dev/kvm opens, but no machine booted with it within 10 s"
  boxed -- touch /workspace/ran
  expect_nothing_ran
  expect_err_has "KVM boots no machine here"
}

V02_a_machine_that_is_an_alias_of_runc() {
  own_scene
  with_other_runtimes
  vm
  told_runtimes '"kata": {"path": "runc", "runtimeArgs": ["--log-format=json"]}'
  until_true 10 has_runtime log-format || fail "the engine was not told"
  boxed -- touch /workspace/ran
  expect_nothing_ran
  expect_err_has "runtime 'kata' is not a machine's: the kernel inside is this machine's own"
  # By name it is Firecracker or nothing.
  native p.yaml level=$'vm\n  runtime: firecracker'
  boxed --allow-emulation -- touch /workspace/ran
  expect_nothing_ran
  expect_err_has "no kata-fc registered"
}

V02_without_its_image_it_is_told_how_to_make_it() {
  own_scene
  vm
  image_away
  boxed --allow-emulation -- touch /workspace/ran
  expect_nothing_ran
  expect_err_has "nacre image build vm"
  run backends
  expect_out_has "vm         not available: "
}

# slow_qemu: it leaves a program in the workspace, tries to make that set-uid, says when it
# is so far, and goes on when work/go is there.  By then the report of the container around
# it is judged.
slow_qemu() {
  local id
  cat >qemu-system-x86_64 <<'END'
#!/bin/sh
for share in /.nacre-machine/shares/workspace /.nacre-machine/shares/*/workspace; do
  [ ! -d $share ] || break
done
cp /bin/busybox $share/left
chmod 4755 $share/left
touch $share/started
until [ -e $share/go ]; do sleep 0.1; done
exec /usr/bin/qemu-itself "$@"
END
  cp /usr/bin/qemu-system-x86_64 qemu-itself
  chmod 755 qemu-system-x86_64 qemu-itself
  id=$(engine /containers/create -X POST -H 'Content-Type: application/json' \
    -d '{"Image": "nacre-vm:bookworm-slim", "Cmd": ["none"]}' |
    grep -oE '[0-9a-f]{64}' | head -n 1)
  tar -cf - qemu-system-x86_64 qemu-itself |
    engine "/containers/$id/archive?path=/usr/bin" -X PUT -T -
  image_away
  engine "/commit?container=$id&repo=nacre-vm&tag=bookworm-slim" -X POST >/dev/null
  engine "/containers/$id" -X DELETE
}

# As another sandbox of the same workspace could, which has no mount there: between the
# proof of what is bound and QEMU's opening it.
F08_a_place_in_a_share_that_is_swapped_before_qemu_opens_it() {
  own_scene
  mkdir other work/sub
  echo PROVED >other/file
  chown -R 1000:1000 other work
  vm /workspace/sub:ro /workspace/not/there:ro
  slow_qemu
  start run --policy p.yaml --image nacre-test-busybox --workspace work \
    --mount "/workspace/sub=$PWD/other" --mount "/workspace/not/there=$PWD/other" \
    --allow-emulation -- cat sub/file not/there/file
  until_true 60 test -e work/started || fail "QEMU was not started"
  mv work/sub work/away
  mkdir work/sub
  echo SWAPPED >work/sub/file
  chown -R 1000:1000 work/sub
  touch work/go
  finish
  expect_status 0
  expect_out "PROVED
PROVED"
  # What a machine's root asks of QEMU, QEMU can't do.
  is "the mode of what is left" "$(stat -c %a work/left)" 755
}

a_kernel_of_its_own() {
  in_machine sh -c 'cat /proc/sys/kernel/random/boot_id /proc/kcore /dev/mem /dev/kmsg
    head -n 1 /proc/kallsyms; ls /sys/fs/cgroup /sys/kernel/debug /dev; dmesg; cat /proc/version; ps'
  expect_out_has "Linux version"
  expect_out_lacks "$(cat /proc/sys/kernel/random/boot_id)"
  expect_out_lacks "$(uname -r)"
  expect_out_has "0000000000000000 "
  expect_out_lacks vda
  expect_out_lacks vport
}

every_refused_call_is_refused() {
  in_machine /workspace/attack_native_calls
  expect_refused
  in_machine grep -E '^(Seccomp|Cap.*|NoNewPrivs):' /proc/self/status
  [[ $(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):\s+0000000000000000$' "$scratch/out") == 5 ]] ||
    fail "capabilities"
  grep -qE '^Seccomp:\s+2' "$scratch/out" || fail "seccomp"
  grep -qE '^NoNewPrivs:\s+1' "$scratch/out" || fail "no_new_privs"
}

denied_paths_stay_denied() {
  in_machine sh -c 'cat .env way/key; chmod 777 .env; mv way else; mv .env x
    rm -rf .env way; ln .env hard; ln -s .env soft; cat soft; echo x >later; mkdir later
    echo mine >free; cp way/key copy; cat /proc/self/root/workspace/.env
    cat ../workspace/./way/../.env; cat out; ls -a /workspace/out/; cat /etc/group
    cat /etc/hosts'
  expect_out_lacks TOP-SECRET
  expect_out_lacks nogroup
  expect_out_lacks localhost
  # Of the image's own and of private directories, for the command after.
  in_machine sh -c 'umount /etc/group; rm -f /etc/group; mv /etc/group /etc/other
    mv /etc /moved; ln /etc/group /tmp/hard; mv /tmp/x/key /tmp/key; mv /tmp/x /tmp/y
    rm -rf /tmp/x; mkdir /tmp/x; echo mine >/tmp/x/key'
  in_machine sh -c 'cat /etc/group /moved/group /etc/other; ls -ld /tmp/x/key
    cat /tmp/x/key /tmp/key; ls /tmp/y'
  expect_out_lacks nogroup
  expect_out_has "d---------"
  expect_out_lacks mine
  in_machine sh -c 'echo beside >/tmp/x/beside && cat /tmp/x/beside'
  expect_out beside
  is "what was kept" "$(cat work/.env work/way/key)" "TOP-SECRET
TOP-SECRET"
  is "what was allowed" "$(cat work/free)" mine
  [[ ! -s work/later && ! -d work/later ]] || fail "later was made"
}

what_is_read_only_stays_so() {
  in_machine sh -c 'cat /fixed/below/file /fixed/file; echo x >/fixed/mine; touch /etc/x
    touch /x; chmod 777 /fixed/file; rm /fixed/file; mount -o remount,rw /fixed; id'
  expect_out_has "uid=1000"
  expect_out_has FIXED
  expect_out_lacks OTHER-DISK
  [[ ! -e fixed/mine && -e fixed/file ]] || fail "a read-only mount was written to"
  expect_err_has "Read-only"
}

processes_and_memory_end_at_their_limits_and_the_machine_lives() {
  in_machine sh -c 'touch /tmp/same; bomb() { bomb | bomb & }; bomb; sleep 1'
  in_machine sh -c 'i=0; while [ $i -lt 60 ]; do sleep 1 & i=$((i + 1)); done; echo MORE'
  expect_out_lacks MORE
  in_machine sh -c 'x=AAAAAAAAAAAAAAAA; while :; do x=$x$x; done'
  expect_status 137
  expect_err_has "out of memory"
  in_machine sh -c 'ls /tmp/same; echo lives'
  expect_out "/tmp/same
lives"
}

qemu_of() { # CONTAINER: its pid here
  engine "/containers/$1/top?ps_args=-eo%20pid,comm" |
    grep -oE '\["[0-9]+","qemu[^"]*"\]' | grep -oE '[0-9]+' | head -n 1
}

# The machine ends under a command: that is told, and nothing of it stays.
a_machine_that_dies_is_told_and_leaves_nothing() {
  local id
  id=$(containers | cut -c7-70)
  start run --policy p.yaml --image nacre-test-busybox --workspace work \
    --allow-emulation --session attack -- sh -c 'touch up; sleep 50'
  until_true 20 test -e work/up || fail "it did not start"
  kill -9 "$(qemu_of "$id")"
  finish
  expect_status 125
  expect_err_has "the machine has ended: QEMU was killed by signal 9"
  until_true 15 no_containers || fail "left: $(containers)"
}

D01_the_walls_of_one_machine() {
  own_scene
  mkdir -p work/way fixed/below
  echo TOP-SECRET | tee work/.env work/way/key >outside
  ln -s "$PWD/outside" work/out
  echo FIXED >fixed/file
  chmod 777 fixed
  chown -R 1000:1000 work
  if [[ $is_root == yes ]]; then
    mount -t tmpfs none fixed/below
    trap 'umount fixed/below' EXIT
  fi
  echo OTHER-DISK >fixed/below/file
  vm '!/workspace/.env' '!/workspace/way/key' '!/workspace/later' '!/etc/group' \
    '!/etc/hosts' '!/tmp/x/key' /fixed:ro memory_mb=64 max_processes=40 timeout_ms=8000
  boxed() {
    run run --policy p.yaml --image nacre-test-busybox --workspace work \
      --mount "/fixed=$PWD/fixed" "$@"
  }
  a_kernel_of_its_own
  every_refused_call_is_refused
  denied_paths_stay_denied
  if [[ $is_root == yes ]]; then what_is_read_only_stays_so; fi
  processes_and_memory_end_at_their_limits_and_the_machine_lives
  run keeper --quit
  until_true 15 no_containers || fail "left: $(containers)"
}

E05_nothing_is_left_of_a_machine() {
  own_scene
  vm timeout_ms=60000
  in_machine true
  expect_status 0
  a_machine_that_dies_is_told_and_leaves_nothing
  rm work/up
  start run --policy p.yaml --image nacre-test-busybox --workspace work \
    --allow-emulation -- sh -c 'touch up; sleep 50'
  until_true 60 test -e work/up || fail "it did not start"
  kill_nacre
  until_true 15 no_containers || fail "left: $(containers)"
}

cases
