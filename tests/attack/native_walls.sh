#!/usr/bin/env bash
# Native guests at the walls: system calls, other processes, other people's services and
# files, and what they could bring along.
source "$(dirname "$0")/$([[ ${AS-} == container ]] && echo engine || echo native)_lib.sh"

refused_calls() {
  inside /workspace/attack_native_calls
  expect_refused
}

D17_every_refused_call_is_refused() {
  local wrong count
  scene
  native p.yaml timeout_ms=20000
  each_user refused_calls
  # The control: outside, what anybody may do is done.
  status=0
  last=(attack_native_calls outside)
  setpriv ${is_root:+--no-new-privs} "$TOOLS/attack_native_calls" >"$scratch/out" || status=$?
  expect_status 0
  count=$(grep -cE ' open$' "$scratch/out")
  wrong=$(grep -cE ': (EPERM|ENOSYS|killed) open$' "$scratch/out") || true
  ((count - wrong >= 12)) || fail "outside $wrong of $count are refused too"
  expect_pairs
}

D17_programs_that_would_mount_and_unshare() {
  scene
  native p.yaml
  local command
  for command in "mount -t tmpfs none /tmp" "umount /proc" "umount -l /workspace" \
    "unshare -Ur true" "unshare -m true" "nsenter -t 1 -m true" "chroot / true" \
    "mknod /tmp/d c 1 3" "mknod /workspace/d b 7 0" "dmesg" "hostname other" \
    "date -s 2020-01-01" "swapoff -a" "sysctl -w kernel.panic=1" "renice -n -5 1"; do
    inside sh -c "$command && echo DONE"
    expect_out_lacks DONE
    [[ $status != 0 ]] || fail "it worked: $command"
  done
  inside sh -c 'mkfifo /tmp/p && ls -l /tmp/p && echo DONE'
  expect_out_has DONE
}

S01_no_privilege_and_no_way_to_one() {
  scene
  native p.yaml
  inside sh -c 'cat /proc/self/status; cat /proc/self/uid_map; id -u'
  expect_status 0
  [[ $(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):\s+0000000000000000$' "$scratch/out") == 5 ]] ||
    fail "capabilities"
  grep -qE '^NoNewPrivs:\s+1' "$scratch/out" || fail "no_new_privs"
  grep -qE '^Seccomp:\s+2' "$scratch/out" || fail "seccomp"
  grep -qE '^Groups:\s*$' "$scratch/out" || fail "groups"
  ! grep -qE '^ *0 ' "$scratch/out" || fail "root is mapped"
  expect_out_lacks "uid=0"
  [[ $(tail -n 1 "$scratch/out") != 0 ]] || fail "it is root"
  inside sh -c 'for p in su sudo passwd newgrp mount chsh pkexec ping; do
    f=$(command -v $p) && [ -u "$f" ] && $f -c "id -u" </dev/null 2>/dev/null; done; true'
  expect_out ""
  [[ $is_root == yes ]] || return 0
  # So does who is preferred, or has switched off what makes guessing hard.
  [[ $(nice -n -5 nice) == -5 ]] || fail "the control is not preferred"
  [[ $(nice -n -5 setarch -R "$NACRE" run --policy p.yaml --workspace work -- sh -c \
    'nice; cat /proc/self/personality' | tr '\n' ' ') == "0 00000000 " ]] || fail "favours"
  # Who has more groups leaves them outside.
  [[ $(setpriv --groups 4,24 grep ^Groups: /proc/self/status) == *"4 24"* ]] ||
    fail "the control has no groups"
  [[ $(setpriv --groups 4,24 "$NACRE" run --policy p.yaml --workspace work -- \
    grep ^Groups: /proc/self/status) =~ ^Groups:[[:space:]]*$ ]] || fail "further groups"
  # A program of root's with the set-uid bit, brought along; outside it works.
  cp "$(command -v id)" work/become
  chown 0:0 work/become
  chmod 4755 work/become
  inside sh -c '/workspace/become -u; cp /workspace/become /tmp/b; chmod 4755 /tmp/b; /tmp/b -u'
  [[ $(sort -u "$scratch/out") == 1000 ]] || fail "it became another"
  [[ $(setpriv --reuid 61234 --clear-groups work/become -u) == 0 ]] ||
    fail "the control: here the bit means nothing"
}

# Init, and who started the command: in what is warm a process of init's.
out_of_reach() {
  local op whose
  for whose in 1 '$PPID'; do
    for op in ptrace vmread getfd mem; do
      inside sh -c "exec /workspace/attack_native_reach $op $whose"
      expect_status 1
      [[ $(<"$scratch/out") =~ ^(EPERM|EACCES|ENOSYS)$ ]] || fail "$op of $whose"
    done
    inside sh -c "exec /workspace/attack_native_reach forge $whose"
    expect_status 0
    expect_out "forged 0"
  done
}

D24_other_processes_are_out_of_reach() {
  scene
  native p.yaml timeout_ms=5000
  each_user out_of_reach
  inside sh -c "cat /proc/1/environ /proc/1/maps /proc/1/stack; ls /proc/1/fd;
    readlink /proc/1/exe /proc/1/cwd /proc/1/root; ls /proc/1/task/1/fd"
  [[ $status != 0 ]] || fail "pid 1 can be looked into"
  expect_out ""
  # Its own it can look into: the files are there.
  inside sh -c 'cat /proc/self/maps | grep -c stack; ls /proc/self/fd | head -n 1'
  expect_out $'1\n0'
  # Of the processes of the host it sees none.
  inside sh -c 'ls -d /proc/[0-9]* | wc -l'
  (($(<"$scratch/out") < 8)) || fail "there are too many processes"
  expect_pairs
}

D24_what_a_guest_does_to_init_is_its_own_end() {
  scene
  native p.yaml timeout_ms=500 # most of them last as long as they may
  local how
  for how in 'kill -9 1' 'kill -STOP 1' 'kill -TERM 1' 'kill -SEGV 1' 'kill -KILL -1' \
    'kill -9 2' 'kill -STOP 2' '/workspace/attack_native_reach limit 1' \
    '/workspace/attack_native_reach limit 2'; do
    bounded 15 "$NACRE" run --policy p.yaml --workspace work -- sh -c "$how; sleep 20"
    # The guest's outcome, never "the host failed".
    expect_one_of 124 137
  done
  native p.yaml
  inside sh -c 'kill -9 1; kill -STOP 1; kill -TERM 1; echo on'
  expect_status 0
  expect_out on
  expect_pairs
}

P03_nothing_can_be_typed_into_a_terminal() {
  scene
  native p.yaml
  if ! command -v script >/dev/null; then fail "script (bsdutils) is missing"; fi
  last=(script nacre run sti)
  status=0
  script -qec "$NACRE run --policy p.yaml --workspace work -- \
    /workspace/attack_native_reach sti" /dev/null </dev/null >"$scratch/out" 2>&1 || status=$?
  expect_status 0
  expect_out_has "typed 0"
  inside sh -c 'exec 9<>/dev/tty'
  [[ $status != 0 ]] || fail "there is a terminal"
}

# The last of each list is the control.
kernel_is_closed() {
  inside sh -c 'for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname \
    /proc/sys/vm/drop_caches /proc/sys/fs/protected_symlinks /proc/sysrq-trigger \
    /proc/irq/default_smp_affinity /proc/1/attr/current /proc/mtrr /proc/bus/pci \
    /proc/self/comm; do
      if (echo 1 >$f) 2>/dev/null; then echo "written $f"; fi; done'
  expect_out "written /proc/self/comm"
  inside sh -c 'for f in /proc/kcore /proc/kmsg /proc/keys /proc/timer_list \
    /proc/interrupts /proc/1/mem /proc/version; do
      if head -c 1 $f 2>/dev/null | grep -q .; then echo "read $f"; fi; done; true'
  expect_out "read /proc/version"
}

# What is left of /sys is the sandbox's own cgroups; nothing there or in what is read-only
# of /proc opens for writing.
sys_is_closed() {
  inside sh -c 'find /sys -mindepth 2 ! -path "/sys/fs*"
    find /sys/fs -mindepth 2 ! -path "/sys/fs/cgroup*"
    ls -l /dev | grep ^b
    for f in $(find /sys /proc/sys /proc/irq /proc/fs /proc/bus -type f) \
      /proc/self/comm; do
      if true >>$f; then echo "opened $f"; fi
    done 2>/dev/null'
  expect_out "opened /proc/self/comm"
}

F05_nothing_of_the_kernel_can_be_changed() {
  scene
  native p.yaml
  each_user kernel_is_closed
  # Root needs no capability for these.
  inside sh -c 'if echo 1 >/proc/1/oom_score_adj; then echo written; fi 2>/dev/null
    cat /proc/kpagecount /proc/vmallocinfo /proc/slabinfo | head -c 1 | wc -c'
  expect_out 0
  if [[ $native_level == container ]]; then
    each_user sys_is_closed
    return
  fi
  inside ls /sys /run /var /home /root /boot /mnt /srv /opt
  [[ $status != 0 ]] || fail "directories of the host"
  expect_out ""
  # Devices: those of the list and no more.
  inside sh -c 'ls /dev; ls -l /dev | grep -c "^b"'
  expect_out $'fd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n0'
}

D18_services_of_the_host_are_out_of_reach() {
  scene
  native p.yaml
  if ! command -v python3 >/dev/null; then fail "python3 is missing"; fi
  local name
  name=nacre-attack-$(unique)
  python3 - "$name" "$PWD/port" "$PWD/door" <<'END' &
import os, socket, sys, time
one = socket.socket(socket.AF_UNIX); one.bind("\0" + sys.argv[1]); one.listen()
two = socket.socket(); two.bind(("127.0.0.1", 0)); two.listen()
three = socket.socket(socket.AF_UNIX); three.bind(sys.argv[3]); three.listen()
os.chmod(sys.argv[3], 0o777)
with open(sys.argv[2] + ".new", "w") as file: file.write(str(two.getsockname()[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
time.sleep(60)
END
  local server=$!
  until_true 10 test -s port || fail "no server"
  # The control first: from outside all three answer.
  local reach="$TOOLS/attack_native_reach"
  [[ $("$reach" abstract "$name") == ok && $("$reach" tcp "$(<port)") == ok &&
    $("$reach" path "$PWD/door") == ok ]] || fail "the control: no service answers"
  reach=/workspace/attack_native_reach
  inside $reach abstract "$name"
  expect_out ECONNREFUSED
  inside $reach tcp "$(<port)"
  expect_out ECONNREFUSED
  inside $reach path "$PWD/door"
  expect_out ENOENT
  for name in 169.254.169.254 10.0.0.1 172.17.0.1 192.168.0.1 8.8.8.8; do
    inside $reach dial $name 80
    expect_out ENETUNREACH
  done
  for name in /run/docker.sock /var/run/docker.sock /run/containerd/containerd.sock \
    /run/dbus/system_bus_socket /run/systemd/private; do
    inside $reach path $name
    expect_out ENOENT
  done
  inside sh -c 'cat /proc/net/dev | grep -c :; cat /proc/net/unix | wc -l'
  expect_out_has 1
  kill "$server"
  wait "$server" 2>/dev/null || true
}

# listen PATH: a service on a socket there, for a minute; its pid is in `server`.
listen() {
  python3 -c 'import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
os.chmod(sys.argv[1], 0o777); time.sleep(60)' "$1" &
  server=$!
  until_true 10 test -S "$1" || fail "no server"
}

D03_the_engine_is_no_mount_wherever_it_listens() {
  scene
  mkdir eng eng2 keys free
  chmod 755 eng eng2 keys free
  ln -s eng way
  ln -s ../eng/e.sock eng2/alias.sock
  echo KEY >keys/key.pem
  local server reach=/workspace/attack_native_reach where
  listen "$PWD/eng/e.sock"
  [[ $(work/attack_native_reach path "$PWD/eng/e.sock") == ok ]] || fail "no service"
  native p.yaml "$PWD/eng:ro"
  # The control: a socket that is nobody's engine is reached as any file is.
  inside $reach path "$PWD/eng/e.sock"
  expect_out ok
  # By its own name, by a link on the way to it, by a link to the socket itself; and from
  # a directory above.
  for where in eng/e.sock way/e.sock eng2/alias.sock; do
    DOCKER_HOST=unix://$PWD/$where inside $reach path "$PWD/eng/e.sock"
    expect_status 126
    expect_out ""
    expect_err_has "the engine's socket"
  done
  # And the one that the operator's own file names.
  mkdir -p home/.config/nacre
  echo "engine: {host: 'unix://$PWD/eng/e.sock'}" >home/.config/nacre/host.yaml
  inside $reach path "$PWD/eng/e.sock"
  expect_status 126
  expect_err_has "the engine's socket"
  echo "engine: {host: 'tcp://127.0.0.1:2376', certificates: '$PWD/keys'}" \
    >home/.config/nacre/host.yaml
  native p.yaml "$PWD/keys:ro"
  inside cat "$PWD/keys/key.pem"
  expect_status 126
  expect_out ""
  # Where the file can't be read nobody knows, and nothing is mounted; without a mount
  # nobody has to.
  echo "bogus: 1" >>home/.config/nacre/host.yaml
  native p.yaml "$PWD/eng:ro"
  inside ls "$PWD/eng"
  [[ $status != 0 ]] || fail "mounted though host.yaml can't be read"
  expect_out ""
  expect_err_has "bogus"
  native p.yaml
  run run --policy p.yaml -- true
  expect_status 0
  rm home/.config/nacre/host.yaml
  native p.yaml "$PWD:ro"
  sed -i 's|/workspace|/w|' p.yaml
  DOCKER_HOST=unix://$PWD/eng/e.sock run run --policy p.yaml -- true
  expect_status 126
  native p.yaml "$PWD/keys:ro"
  inside cat "$PWD/keys/key.pem"
  expect_out KEY
  DOCKER_CERT_PATH=$PWD/keys inside cat "$PWD/keys/key.pem"
  expect_status 126
  expect_out ""
  native p.yaml "$PWD/free:ro"
  DOCKER_HOST=unix://$PWD/eng/e.sock DOCKER_CERT_PATH=$PWD/keys inside echo ran
  expect_out ran
  kill "$server"
  wait "$server" 2>/dev/null || true
}

S01_a_directory_above_credentials_is_no_mount() {
  scene
  mkdir -p home/.config/gcloud home/.config/app home/.local/share/keyrings
  echo CANARY | tee home/.config/gcloud/creds home/.config/app/settings \
    >home/.local/share/keyrings/login
  chmod -R a+rX home
  local where
  for where in .config .config/gcloud .local .local/share; do
    native p.yaml "$PWD/home/$where:ro"
    inside sh -c "cat $PWD/home/$where/*/* $PWD/home/$where/*"
    expect_status 126
    expect_out ""
  done
  # A link is judged by where it leads.
  ln -s home/.config settings
  native p.yaml "$PWD/settings:ro"
  inside sh -c "cat $PWD/settings/*/*"
  expect_status 126
  expect_out ""
  native p.yaml "$PWD/home/.config/app:ro"
  inside cat "$PWD/home/.config/app/settings"
  expect_out CANARY
}

S01_nothing_of_the_caller_comes_along() {
  scene
  native p.yaml
  echo FDSECRET >held
  local secret
  secret=canary-$(unique)
  last=(nacre run with a secret in the environment)
  status=0
  SECRET=$secret AWS_SECRET_ACCESS_KEY=$secret "$NACRE" run --policy p.yaml \
    --workspace work -- sh -c 'env; cat /proc/[0-9]*/environ; cat /proc/[0-9]*/cmdline
      ls -l /proc/self/fd; cat <&7; cat <&9; true' \
    7<held 9<>held <"$input" >"$scratch/out" 2>"$scratch/err" || status=$?
  expect_status 0
  expect_out_lacks "$secret"
  expect_out_lacks FDSECRET
  expect_out_lacks "$PWD"
  [[ $(grep -cE ' [0-9]+ -> ' "$scratch/out") == 4 ]] || fail "not four open files"
  # What the caller ignores a shell could not trap; and its directory.
  (
    trap '' TERM HUP
    cd /
    exec "$NACRE" run --policy "$OLDPWD/p.yaml" --workspace "$OLDPWD/work" -- \
      sh -c 'trap "echo heard" TERM HUP; kill -TERM $$; kill -HUP $$; pwd'
  ) >"$scratch/out" 2>"$scratch/err" </dev/null
  expect_out $'heard\nheard\n/workspace'
}

H10_variables_that_would_change_what_runs() {
  scene
  native p.yaml
  local variable
  for variable in LD_PRELOAD=/workspace/x.so LD_LIBRARY_PATH=/workspace LD_AUDIT=x \
    BASH_ENV=/workspace/x ENV=/workspace/x PATH=/workspace IFS=x PS4='$(id)' \
    SHELLOPTS=xtrace 'BASH_FUNC_ls%%=() { id; }' PYTHONSTARTUP=/x PYTHONPATH=/workspace \
    PERL5OPT=-Mx RUBYOPT=-rx NODE_OPTIONS=-r=x GCONV_PATH=/workspace GIT_SSH_COMMAND=id \
    GIT_CONFIG_COUNT=1 GIT_EXTERNAL_DIFF=id LESSOPEN='|id' PROMPT_COMMAND=id =x novalue; do
    inside --env "$variable" -- sh -c 'echo RAN'
    expect_out ""
    [[ $status != 0 ]] || fail "passed: $variable"
  done
  inside --env GREETING=hello -- sh -c 'echo $GREETING'
  expect_out hello
}

R24_core_dumps_are_not_made() {
  scene
  native p.yaml
  inside sh -c 'ulimit -c; ulimit -c unlimited; kill -SEGV $$'
  expect_status 139
  [[ $(head -n 1 "$scratch/out") == 0 ]] || fail "a core may be left"
  [[ -z $(find work home -name 'core*') ]] || fail "a core was left"
}

F03_files_of_other_users_stay_closed() {
  scene
  native p.yaml
  if [[ $is_root == no ]]; then # who has no others' files: none that is closed to all
    echo CANARY >work/closed
    chmod 000 work/closed
    inside cat closed
    expect_status 1
    expect_out ""
    expect_err_has "Permission denied"
    return
  fi
  echo CANARY >work/of-root
  chmod 600 work/of-root
  mkdir -m 700 work/dir-of-root
  inside sh -c 'cat of-root; ls dir-of-root; chmod 777 of-root; chown 1000 of-root
    cat /usr/../etc/shadow; rm -f dir-of-root/x; id -G'
  expect_out_lacks CANARY
  expect_out 1000
  inside sh -c 'echo own >mine && cat mine'
  expect_out own
}

A08_no_second_run_without_a_sandbox_from_within() {
  scene
  native p.yaml
  native n.yaml level=none mode=deny
  sed -i '/filesystem:/,/mode: deny/d' n.yaml
  cp "$NACRE" work/nacre
  cp n.yaml work/
  # Outside it runs: the control.
  run run --policy n.yaml --unsandboxed -- echo ran
  expect_status 0
  expect_out ran
  inside env HOME=/tmp /workspace/nacre run --policy /workspace/n.yaml --unsandboxed -- echo ran
  expect_out ""
  [[ $status != 0 ]] || fail "it ran"
  # Nor without the caller's own word, nor in place of something stronger.
  run run --policy n.yaml -- echo ran
  expect_status 126
  expect_out ""
}

if [[ $native_level == container ]]; then cases 'D17_every|D24_other|F05'; else cases; fi
