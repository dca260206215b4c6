#!/usr/bin/env bash
# resource_limits.disk, disk_iops and disk_io_weight of a configuration, in real containers:
# what is bounded is bounded at every level and leaves nothing behind, what can't be is
# refused by name.  Needs root and an engine at $NACRE_TEST_DOCKER with nacre-test-busybox.
#
# The engine is in a mount namespace of its own, and an ordinary one is not: so that it
# sees nacre's mounts, all but the last part runs in that namespace.
source "$(dirname "$0")/lib.sh"

if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} || $(id -u) != 0 ]]; then
  echo "no engine at NACRE_TEST_DOCKER, or not root"
  exit 77
fi
export DOCKER_HOST=$NACRE_TEST_DOCKER
engine_pid=$(cat "$(dirname "${DOCKER_HOST#unix://}")/pid")
# shellcheck disable=SC2016
trap 'run keeper --quit || true
      inside sh -c '\''umount "$0"/*'\'' "$boxes" 2>/dev/null || true
      chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT
state=$HOME/.local/state/nacre
boxes=$HOME/.openclaw/sandboxes
chmod 755 "$scratch" "$scratch/work"

inside() { nsenter -m -t "$engine_pid" --wd="$PWD" "$@"; }
run() {
  last=(nacre "$@")
  status=0
  inside "$NACRE" "$@" <"$input" >"$scratch/out" 2>"$scratch/err" || status=$?
}
is() { # WHAT IS WANTED
  checks=$((checks + 1))
  [[ $2 == "$3" ]] || fail "$1: expected '$3', not '$2'"
}
config() { # LIMITS [MORE]
  cat >c.yml <<EOF2
sandbox:
  default_image: nacre-test-busybox
  tmpfs_size: 8m
  resource_limits: {$1}
${2:-}
EOF2
}
session() { run exec --config c.yml --session "$@"; } # KEY TEXT
mounts() { inside grep -c "$boxes" /proc/self/mountinfo || true; }
loops() { grep -l "^$state" /sys/block/loop*/loop/backing_file 2>/dev/null | wc -l; }
# A loop device goes a moment after its last mount.
gone() {
  local left
  for ((left = 100; left > 0; left--)); do
    [[ $(loops) != 0 ]] || return 0
    sleep 0.05
  done
  fail "a loop device stays"
}
used_kb() { du -ks "$state/sessions" | cut -f1; }

# ---- a session's own workspace ----

config 'disk: 32mb'
run explain --config c.yml --session a
expect_out_has "33554432 bytes on disk"
expect_out_has "an ext4 of that size in a file, for the workspace"
expect_out_has "stands   disk of a session"
is "mounts after explain" "$(mounts)" 0
session a 'dd if=/dev/zero of=big bs=1M count=100'
expect_status 1
expect_err_has "No space left on device"
[[ $(used_kb) -lt $((34 << 10)) ]] || fail "the host's disk: $(used_kb) KiB"
is "mounts" "$(mounts)" 1
is "loop devices" "$(loops)" 1
session a 'rm big; echo here >note; ls'
expect_out "note"
# The same directory at level wasm, with the same bound.
run tool call read --config c.yml --session a --json-args '{"path": "note"}'
expect_out "here"
run tool call write --config c.yml --session a \
  --json-args "{\"path\": \"from-wasm\", \"content\": \"$(printf 'x%.0s' {1..1000})\"}"
expect_status 0
session a 'wc -c <from-wasm'
expect_out "1000"
is "as seen from outside" "$(inside sh -c 'cat "$0"/a-*/note' "$boxes")" here
session a 'mkdir -p sub/dir && cd sub/dir && dd if=/dev/zero of=x bs=1M count=100'
expect_status 1
expect_err_has "No space left on device"
# Denied names are covered in it as anywhere.
session a 'mkdir .git/hooks'
expect_status 1
# The keeper is killed, and its containers go with it: the workspace stays.
keeper() {
  local process
  for process in /proc/[0-9]*; do
    case $({ tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null) in
    "nacre keeper --state-dir $state "*) echo "${process#/proc/}" ;;
    esac
  done
}
# shellcheck disable=SC2046 # one pid
kill -KILL $(keeper)
session a 'cat note'
expect_out "here"
is "loop devices" "$(loops)" 1
# What was made with more than is allowed now has another bound.
config 'disk: 16mb'
session a true
expect_status 126
expect_err_has "denied: c.yml:$(grep -n disk: c.yml | cut -d: -f1):"
expect_err_has "16777216 bytes on disk: the workspace was made with a larger one"
expect_err_has "nacre: fix: end the session (nacre session end)"
run session end a
expect_out "ended 1 sandbox, removed 1 workspace"
is "mounts" "$(mounts)" 0
is "workspaces" "$(inside ls -A "$boxes")" ""
is "disks" "$(compgen -G "$state/sessions/*.disk" || true)" ""
gone

# ---- a run that is refused undoes what it made for itself ----

config 'disk: 32mb'
sed -i 's/nacre-test-busybox/nacre-no-such-image/' c.yml
session r true
[[ $status != 0 ]] || fail "it ran without an image"
is "mounts of a refused run" "$(mounts)" 0
is "disks of a refused run" "$(compgen -G "$state/sessions/*.disk" || true)" ""
gone
sed -i 's/nacre-no-such-image/nacre-test-busybox/' c.yml
session r 'echo kept >note'
expect_status 0
is "mounts" "$(mounts)" 1
# One that was there stays, whatever becomes of a later run.
sed -i 's/nacre-test-busybox/nacre-no-such-image/' c.yml
session r true
[[ $status != 0 ]] || fail "it ran without an image"
is "mounts" "$(mounts)" 1
run session end r
expect_status 0
gone

# ---- one that has files already, made when nobody asked for a bound ----

config 'memory: 64mb'
session b 'echo old >note'
expect_status 0
config 'memory: 64mb, disk: 16mb'
session b true
expect_status 126
expect_err_has "the workspace has no bound, it was made before the configuration said so"
run session end b
session b 'dd if=/dev/zero of=big bs=1M count=40'
expect_status 1
expect_err_has "No space left on device"

# ---- prune ----

touch -d '8 days ago' "$state/sessions/"*.json
run prune
expect_out "ended 1 sandbox, removed 1 workspace"
is "mounts" "$(mounts)" 0
gone

# ---- what has no bound ----

mkdir -m 777 "$scratch/project"
config 'disk: 32mb' "  mounts:
    - {source: $scratch/project, target: /project, mode: rw}"
session c true
expect_status 126
expect_err_has "c.yml:4:27: 33554432 bytes on disk: directories of the host that a guest writes to have no bound"
expect_err_has "mount them read-only, remove it, or give --waive disk"
config 'disk: 32mb' "  readonly_root: false"
session d true
expect_status 126
expect_err_has "c.yml:4:27: 33554432 bytes on disk: the root is writable, and workspace, private directories and tmpfs (line 3) take all of it"
expect_err_has "make the root read-only, remove it, or give --waive disk"
run exec --config c.yml --session d --waive disk 'echo x >/root-file 2>/dev/null; echo done'
expect_out "done"
expect_err_has "degraded: not enforced here, as --waive allows: disk"
config 'disk_iops: 100, disk_io_weight: 500'
# What this machine's kernel and disks lack.
run backends
waived=()
grep -qE '^ +wall +disk_iops: ' "$scratch/out" || waived+=(disk_iops)
grep -qE '^ +wall +disk_io_weight: ' "$scratch/out" || waived+=(disk_io_weight)
for name in "${waived[@]}"; do
  session e true
  expect_status 126
  expect_err_has "--waive $name"
  case $name in
    disk_iops) expect_err_has "c.yml:4:32: 100 disk operations/s: it takes cgroup v2" ;;
    *) expect_err_has "c.yml:4:53: 500 of disk weight: it takes cgroup v2" ;;
  esac
done
list=${waived[*]}
run exec --config c.yml --session e ${list:+--waive "${list// /,}"} 'echo done'
expect_out "done"
[[ ! $list ]] ||
  expect_err_has "degraded: not enforced here, as --waive allows: ${list// /, }"
for key in d e; do
  run session end "$key"
  expect_status 0
done
run session end c # what the plan refused has made nothing
expect_status 127
run keeper --quit

# ---- an engine that does not see nacre's mounts ----

inside() { "$@"; }
config 'disk: 32mb'
session f true
expect_status 126
expect_err_has "what is bound at /workspace"
run session end f
is "mounts" "$(mounts)" 0
gone
passed
