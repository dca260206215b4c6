#!/usr/bin/env bash
# nacre run -- and nacre exec: native commands at levels process and none.
source "$(dirname "$0")/lib.sh"

# native LEVEL FILE MODE EXTRA...: a writable /workspace, shell mode at 16:13; each EXTRA
# is a line below resource_limits, the first one's key at 22.
native() {
  local level=$1 file=$2 mode=$3
  shift 3
  cat >"$file" <<EOF
claw: "0.3.0"
kind: Sandbox
metadata:
  name: ${file%.yaml}
spec:
  level: $level
  capabilities:
    filesystem:
      mode: scoped
      mount_paths:
        - path: /workspace
          permissions: rw
      denied_paths:
        - /workspace/secret
    shell:
      mode: $mode
      blocked_commands:
        - "rm -rf /"
        - "curl * | bash"
EOF
  if (($# > 0)); then
    echo "  resource_limits:" >>"$file"
    printf '    %s\n' "$@" >>"$file"
  fi
}
# bare FILE EXTRA...: level none, silent about files and network.
bare() {
  local file=$1
  shift
  cat >"$file" <<EOF
claw: "0.3.0"
kind: Sandbox
metadata:
  name: ${file%.yaml}
spec:
  level: none
  capabilities:
    shell:
      mode: restricted
      blocked_commands: [shutdown]
EOF
  if (($# > 0)); then
    echo "  resource_limits:" >>"$file"
    printf '    %s\n' "$@" >>"$file"
  fi
}

native process p.yaml restricted
native process deny.yaml deny
native process full.yaml full
chmod 755 "$scratch"
mkdir shared shared/secret
chmod 777 shared
echo "a note" >shared/note.txt
echo "hidden" >shared/secret/key

# ---- a command and a text, inside ----

run run --policy p.yaml -- echo "a  b" '$HOME'
expect_status 0
expect_out 'a  b $HOME'
expect_err ""
run exec --policy p.yaml 'echo one; echo two >&2; exit 7'
expect_status 7
expect_out one
expect_err two
run exec --policy p.yaml --workspace shared 'pwd; cat note.txt; echo new >made'
expect_status 0
expect_out "/workspace
a note"
[[ $(<shared/made) == new ]] || fail "what the command wrote is not there"
# It has the processors that its caller has, whatever its sandbox was made on.
allowed() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; }
run exec --policy p.yaml 'grep Cpus_allowed_list /proc/self/status'
expect_out_has "$(allowed)"
first=$(allowed)
first=${first%%[-,]*}
last=(nacre exec, on one processor)
taskset -c "$first" "$NACRE" exec --policy p.yaml 'grep Cpus_allowed_list /proc/self/status' \
  >"$scratch/out" 2>"$scratch/err" </dev/null
checks=$((checks + 1))
[[ $(sed 's/.*[[:space:]]//' "$scratch/out") == "$first" ]] || fail "not processor $first alone"
run exec --policy p.yaml --directory /usr 'pwd'
expect_out /usr
echo "through" >text
input=text run run --policy p.yaml -- cat
expect_out through
run exec --policy p.yaml --env A=1 'echo $A'
expect_out 1
SECRET=yes run exec --policy p.yaml 'echo "[$SECRET]"'
expect_out "[]"
run run --policy p.yaml -- sh -c 'kill -TERM $$'
expect_status 143
# What follows -- is the command's, whatever it looks like.
run run --policy p.yaml -- printf '%s|' --policy --json --
expect_out "--policy|--json|--|"

# ---- what is not there ----

run exec --policy p.yaml --workspace shared 'cat secret/key'
[[ $status != 0 ]] || fail "a denied path was read"
expect_out ""
run exec --policy p.yaml "cat $PWD/text"
[[ $status != 0 ]] || fail "a file of the host was read"
expect_out ""
run exec --policy p.yaml 'cat /proc/net/dev | grep -c :'
expect_out 1
# The host's tree, less what is denied; nacre's own directories are, wherever they lie.
cat >tree.yaml <<EOF
claw: "0.3.0"
kind: Sandbox
metadata:
  name: tree
spec:
  level: process
  capabilities:
    filesystem:
      mode: full
      denied_paths: [$PWD/shared/secret, /proc, /sys/kernel]
    shell:
      mode: full
EOF
run exec --policy tree.yaml "cat $PWD/shared/note.txt"
expect_status 0
expect_out "a note"
run exec --policy tree.yaml "cat $PWD/shared/secret/key $scratch/home/.config/nacre/*"
[[ $status != 0 ]] || fail "a denied path was read"
expect_out ""
run run --policy p.yaml -- no-such-command
expect_status 127
expect_err_has "no-such-command"

# ---- what only the host's files show: the mount's line, or the option that brought it ----

# mounts LEVEL FILE HOST [HOST]: read-write, in place of /workspace, at 11:17 and 13:17.
mounts() {
  native "$1" "$2" full
  sed -i -e "11s|/workspace|$3|" -e '13,14d' "$2"
  [[ ! ${4:-} ]] || sed -i "12a\\        - path: $4\n          permissions: rw" "$2"
}
mkdir above above/engine fine others keys
chmod 777 fine
chmod 755 others
ln -s engine above/there
touch plain
mkdir keys/.ssh
ln -s "$PWD/keys/.ssh" mine
# refused_by FILE PLACE TEXT FIX WORD...
refused_by() {
  local file=$1 place=$2 text=$3 fix=$4
  shift 4
  DOCKER_HOST=unix://$PWD/above/engine/sock run exec --policy "$file" "$@" true
  expect_status 126
  expect_out ""
  expect_err_has "nacre: denied: $place: mount '"
  expect_err_has "$text"
  expect_err_has "nacre: fix: $fix"
  DOCKER_HOST=unix://$PWD/above/engine/sock run exec --json --policy "$file" "$@" true
  expect_status 126
  expect_json
  expect_out_has '"outcome":"denied"'
  expect_out_has '"code":"bad-mount"'
}
mounts process m.yaml "$PWD/fine" "$PWD/above"
refused_by m.yaml m.yaml:13:17 "is really above $PWD/above/engine" \
  "mount a directory that holds only what the tool needs"
expect_out_has '"rule":"capabilities.filesystem.mount_paths[1]"'
expect_out_has '"line":13,"column":17'
mounts process m.yaml "$PWD/mine"
refused_by m.yaml m.yaml:11:17 "is really .ssh" "mount a directory that holds only"
mounts process m.yaml "$PWD/none"
refused_by m.yaml m.yaml:11:17 "does not exist" "make it, or map another directory"
mounts process m.yaml "$PWD/plain"
refused_by m.yaml m.yaml:11:17 "is a file" "grant the directory that it lies in"
if ((EUID == 0)); then
  mounts process m.yaml "$PWD/others"
  refused_by m.yaml m.yaml:11:17 "which can't write" "give it the directory (chown 1000:1000)"
fi
mounts process m.yaml "$PWD/fine"
run exec --policy m.yaml "touch $PWD/fine/made"
expect_status 0
[[ -e fine/made ]] || fail "the control wrote nothing"
# A directory that the request brought has no line.
refused_by p.yaml --workspace "is really above" "mount a directory that holds only" \
  --workspace "$PWD/above"
expect_out_has '"rule":"request.workspace"'
refused_by m.yaml --mount "is really above" "mount a directory that holds only" \
  --mount "$PWD/fine=$PWD/above"
expect_out_has '"rule":"request.mounts"'
run audit show --json
expect_out_has '"outcome":"denied"'
mounts wasm w.yaml "$PWD/none"
sed -i '/shell:/,$d' w.yaml
wat_exit 0 exit.wat
run run --policy w.yaml exit.wat
expect_status 126
expect_err_has "nacre: denied: w.yaml:11:17: mount '$PWD/none': "

# ---- judged before anything starts: rule, line and the way out ----

run exec --policy p.yaml --workspace shared 'echo x >canary; r\m -rf /'
expect_status 126
expect_out ""
expect_err_has "nacre: denied: p.yaml:18:11: "
expect_err_has "nacre: fix: remove 'rm -rf /' from blocked_commands (line 18)"
run run --policy p.yaml --workspace shared -- env rm -rf /
expect_status 126
expect_err_has "nacre: denied: p.yaml:18:11: "
[[ ! -e shared/canary ]] || fail "a denied command has run"
run exec --policy full.yaml --workspace shared 'echo x >canary; echo rm -rf / >&2'
expect_status 0
[[ -e shared/canary ]] || fail "the positive control did not run"
rm shared/canary
run exec --policy deny.yaml 'true'
expect_status 126
expect_err_has "nacre: denied: deny.yaml:16:13: "
expect_err_has "change 'deny' to 'restricted'"
run exec --json --policy p.yaml 'curl -s x | bash'
expect_status 126
expect_json
expect_out_has '"outcome":"denied","exit_status":126'
expect_out_has '"code":"denied-command","rule":"capabilities.shell.blocked_commands[1]","file":"p.yaml","line":19,"column":11'
expect_out_has '"fix":"p.yaml:16:13: change '
for name in LD_PRELOAD=x BASH_ENV=x PATH=/workspace; do
  run exec --policy p.yaml --env "$name" 'true'
  expect_status 126
  expect_err_has "nacre: denied: request.environment: ${name%=*} is not passed"
done

# ---- the wrong tool for the level ----

wat_say 1 hello hello.wat
policy plain plain.yaml
run run --policy p.yaml hello.wat
expect_status 126
expect_err_has "nacre: denied: p.yaml:6:10: level process runs native commands"
run run --policy p.yaml ls
expect_status 125
expect_err "nacre: policy p is of level process, which runs commands: write nacre run --policy p.yaml -- ls"
run run --policy plain.yaml -- ls
expect_status 126
expect_err_has "nacre: denied: plain.yaml:6:10: level wasm runs WebAssembly modules"
run exec 'ls'
expect_status 126
expect_err_has "nacre: denied: level: no native command runs without a policy"
expect_err_has "nacre: fix: give one of level process, as --policy shell"
run run --policy p.yaml --fuel 5 -- ls
expect_status 126
expect_err_has "fuel is counted at level wasm alone"
run run --policy p.yaml --invoke add -- ls
expect_status 126
run exec --policy p.yaml --image debian 'ls'
expect_status 126
expect_err_has "there are images at levels container and vm alone"
run exec --policy p.yaml --directory src 'ls'
expect_status 126

# ---- limits, by key and line ----

native process brief.yaml full "timeout_ms: 300"
run exec --policy brief.yaml 'echo up; sleep 20'
expect_status 124
expect_out up
expect_err_has "nacre: timed out after 300 ms (resource_limits.timeout_ms, brief.yaml:21:17)"
native process quiet.yaml full "max_output_bytes: 5000"
run exec --policy quiet.yaml 'yes'
expect_status 153
[[ $(wc -c <"$scratch/out") == 5000 ]] || fail "cut at another byte than 5000"
: >"$scratch/out"
expect_err_has "(resource_limits.max_output_bytes, quiet.yaml:21:23)"
run exec --json --policy quiet.yaml 'yes'
expect_status 153
expect_out_has '"limit":{"code":"output-limit","rule":"resource_limits.max_output_bytes","file":"quiet.yaml","line":21'
# What a command met and went on is told as well.
native process little.yaml full "memory_mb: 48"
if [[ $(id -u) == 0 ]]; then
  run exec --policy little.yaml 'head -c 200m /dev/zero | tail -c 190m >/dev/null; true'
  expect_status 0
  expect_err_has "the kernel killed processes of it for memory: they took more than 48 MiB (resource_limits.memory_mb, little.yaml:21:16)"
  expect_err_has "nacre: fix: raise spec.resource_limits.memory_mb"
  run exec --json --policy little.yaml 'head -c 200m /dev/zero | tail -c 190m >/dev/null; true'
  expect_out_has '"limit":{"code":"memory-refused","rule":"resource_limits.memory_mb"'
fi
run exec --json --policy little.yaml true
expect_out_has '"limit":null'
# A name that depends on where the command starts.
run run --policy little.yaml --directory /tmp -- ./prog
expect_status 127
expect_err_has "the command starts in /tmp: --workspace or --directory says where"

# ---- what this machine can't enforce, and waivers ----

native process shares.yaml full "cpu_shares: 512"
hide='mount -t tmpfs none /sys/fs/cgroup && exec "$0" "$@"'
way=-m
unshare "$way" sh -c "$hide" true 2>/dev/null || way=-rm
without_cgroup() {
  last=(nacre "$@" "(without a cgroup, unshare $way)")
  status=0
  unshare "$way" sh -c "$hide" "$NACRE" "$@" <"$input" >"$scratch/out" 2>"$scratch/err" ||
    status=$?
}
without_cgroup exec --policy shares.yaml 'echo ran'
expect_status 126
expect_out ""
expect_err_has "nacre: denied: shares.yaml:21:17: 512 where 1024 is an ordinary share: "
expect_err_has "give --waive cpu_shares"
without_cgroup exec --policy shares.yaml --waive cpu_shares 'echo ran'
expect_status 0
expect_out ran
expect_err "nacre: degraded: not enforced here, as --waive allows: cpu_shares"
without_cgroup exec --json --policy shares.yaml --waive cpu_shares,memory_mb 'echo ran'
expect_json
expect_out_has '"level":"process","unsandboxed":false,"degraded":true,"waived":["cpu_shares"]'
run audit tail -n 1 --json
expect_out_has '"degraded":true,"waived":["cpu_shares"]'
without_cgroup explain --policy shares.yaml --waive cpu_shares
expect_out_has "plan    can run degraded"
expect_out_has "  waive   resource_limits.cpu_shares"
without_cgroup explain --policy shares.yaml
expect_out_has "plan    refused: 1 line below"
for name in network filesystem shell timeout_ms zzz; do
  run exec --policy p.yaml --waive "$name" 'echo ran'
  expect_status 126
  expect_out ""
  expect_err_has "'$name' is not a line that can be waived"
  expect_err_has "nacre: fix: known are memory_mb, cpu_shares"
done
run exec --policy p.yaml --waive "cpu_shares,," 'true'
expect_status 125

# ---- level none: two agree, or nothing runs ----

bare bare.yaml
run exec --policy bare.yaml "echo x >$PWD/canary"
expect_status 126
expect_err_has "nacre: denied: bare.yaml:6:10: level none runs on the host without a sandbox"
expect_err_has "nacre: fix: give --unsandboxed"
[[ ! -e canary ]] || fail "level none has run without consent"
run exec --policy p.yaml --unsandboxed "echo x >$PWD/canary"
[[ ! -e canary ]] || fail "--unsandboxed has taken the sandbox away"
run exec --policy bare.yaml --unsandboxed "echo x >$PWD/canary; echo done"
expect_status 0
expect_out "done"
[[ -e canary ]] || fail "level none did not run"
run exec --json --policy bare.yaml --unsandboxed 'exit 3'
expect_status 3
expect_json
expect_out_has '"level":"none","unsandboxed":true,"degraded":false,"waived":[]'
run audit tail -n 1 --json
expect_out_has '"level":"none","executor":"none","unsandboxed":true'
expect_out_has '"tool":{"name":"sh","digest":null,"kind":"shell"}'
run exec --policy bare.yaml --unsandboxed 'shutdown now'
expect_status 126
expect_err_has "nacre: denied: bare.yaml:10:26: "
bare greedy.yaml "memory_mb: 64"
run exec --policy greedy.yaml --unsandboxed 'true'
expect_status 126
expect_err_has "nacre: denied: greedy.yaml:12:16: 64 MiB of memory: nothing enforces it at level none"
native none scoped.yaml full
run exec --policy scoped.yaml --unsandboxed 'true'
expect_status 126
expect_err_has "nacre: denied: scoped.yaml:9:13: scoped can't be enforced at level none"

# ---- the others ----

run explain --policy p.yaml
expect_status 0
expect_out_has "plan    can run"
expect_out_has "(built in)"
expect_out_has "walls of the executor process"
run explain --policy p.yaml --command 'rm -rf /'
expect_out_has "denied  command rm -rf /"
run explain --policy p.yaml --tool hello.wat
expect_out_has "hello.wat would not run at level process"
run check "$POLICIES/shell.yaml"
expect_status 0
expect_out_lacks "note:"
run exec --policy shell --workspace shared 'cat note.txt'
expect_out "a note"
run exec
expect_status 125
expect_err "nacre: exec expects 'SHELL COMMAND'; see nacre exec --help"
run exec --policy p.yaml echo two words
expect_status 125
run exec --policy p.yaml --scope nobody 'true'
expect_status 125
expect_err "nacre: --scope expects run, session, agent or shared, not 'nobody'"
run exec --policy p.yaml --scope session 'true'
expect_status 126
expect_err_has "scope session, and no session is named"
run audit verify
expect_status 0

# ---- a log that can't be opened: nothing runs, though its sandbox may have been begun ----

native process logged.yaml full
touch log-file
mkdir -p -m 0777 space
run run --policy logged.yaml --workspace space --audit log-file/audit.jsonl -- \
  touch /workspace/ran
[[ $status != 0 ]] || fail "it ran without a record"
expect_out ""
expect_err_has "audit"
[[ ! -e space/ran ]] || fail "something ran without a record"
run run --policy missing.yaml --audit log-file/audit.jsonl -- true
[[ $status != 0 ]] || fail "a policy that is not there"
expect_err_has "this can't be recorded in the audit log either"
run run --policy logged.yaml --workspace space -- touch /workspace/ran
expect_status 0
[[ -e space/ran ]] || fail "the control did not run"

passed
