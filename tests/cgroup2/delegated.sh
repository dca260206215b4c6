#!/bin/bash
# In the machine, without systemd: an ordinary user in a cgroup that was handed over, seen
# by root outside; and in those that were not.
set -euo pipefail
scratch=$(mktemp -d /tmp/delegated.XXXXXX)
chmod 755 "$scratch"
cp "$NACRE_BUILD/nacre" "$scratch/"
cd "$scratch"
groups=/sys/fs/cgroup
fail() {
    echo "delegated: $*"
    exit 1
}
is() { # WHAT IS WANTED
    [[ $2 == "$3" ]] || fail "$1: expected '$3', not '$2'"
}

# in GROUP COMMAND…: as user 1000 and in that cgroup.
in_group() {
    # shellcheck disable=SC2016
    bash -c 'echo $$ >"$0/cgroup.procs" && exec setpriv --reuid 1000 --regid 1000 \
        --clear-groups env -i PATH="$PATH" HOME=/home/person "$@"' "$groups/$1" "${@:2}"
}
policy() { # LIMITS
    cat >p.yaml <<END
claw: "0.3.0"
kind: Sandbox
metadata: {name: delegated}
spec:
  level: process
  capabilities: {shell: {mode: full}}
  resource_limits: {$1}
END
}

mkdir "$groups"/{theirs,mine,crowded}
for name in mine crowded; do
    chown 1000 "$groups/$name"{,/cgroup.procs,/cgroup.subtree_control,/cgroup.threads}
done

# ---- not handed over: refused by name ----

policy 'memory_mb: 64, cpu_shares: 512'
status=0
in_group theirs ./nacre run --policy p.yaml -- true 2>err || status=$?
is "status without delegation" "$status" 126
grep -q 'p.yaml:7:32: 64 MiB of memory' err || fail "$(cat err)"
grep -q 'p.yaml:7:48: 512 where 1024 is an ordinary share' err || fail "$(cat err)"
in_group theirs ./nacre backends >out || fail "no backends"
grep -q 'no wall.*memory: .*not delegated to user 1000' out || fail "$(grep memory: out)"

in_group crowded sleep 600 &
for ((left = 100; left > 0; left--)); do
    other=$(cat "$groups/crowded/cgroup.procs")
    [[ $other && $(cat "/proc/$other/comm") == sleep ]] && break
    sleep 0.05
done
in_group crowded ./nacre backends >out || fail "no backends"
grep -q 'memory: no cgroup .* delegated, but other processes are in it' out ||
    fail "$(grep memory: out)"
is "what it left in a cgroup with others" "$(find "$groups/crowded" -name 'nacre-*')" ""
is "who is there" "$(cat "$groups/crowded/cgroup.procs")" "$other"
kill "$other"

# ---- handed over: bounded, as root sees it from outside ----

in_group mine ./nacre run --policy p.yaml -- sleep 3 &
run=$!
for ((left = 200; left > 0; left--)); do
    group=$(grep -l 67108864 "$groups"/mine/nacre-*/memory.max 2>/dev/null || true)
    [[ ! $group || ! $(cat "${group%/*}/cgroup.procs") ]] || break
    sleep 0.05
done
[[ $group ]] || fail "no cgroup has the limit"
group=${group%/*}
is memory.swap.max "$(cat "$group/memory.swap.max" 2>/dev/null || echo 0)" 0
is cpu.weight "$(cat "$group/cpu.weight")" 59
[[ $(cat "$group/pids.max") != max ]] || fail "pids.max is max"
is "who hands down" "$(cat "$groups/mine/cgroup.subtree_control")" "cpu memory pids"
wait "$run" || fail "the command failed"
[[ ! -e $group ]] || fail "$group is left"
status=0
policy 'memory_mb: 32'
# Who comes later can't be in it, but in one below it that hands nothing down.
mkdir "$groups/mine/shell"
chown 1000 "$groups/mine/shell"{,/cgroup.procs}
in_group mine/shell ./nacre run --json --policy p.yaml -- \
    sh -c 'x=$(head -c 90000000 /dev/zero | tr "\0" x); echo ${#x}' >out 2>err ||
    status=$?
grep -q '"outcome": *"out-of-memory"' out || fail "not out of memory: $(cat out err)"
is "what is left" "$(find "$groups/mine" -name 'nacre-*')" ""
echo "delegated: good"
