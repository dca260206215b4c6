#!/bin/bash
# disk_io_weight in the machine, with bfq: how much two containers that write at the same
# time get of a slow disk, as their cgroups count it outside; with the same weight as a
# control.  Prints what it measured.  Starts an engine unless DOCKER_HOST names one.
# shellcheck source=disk_lib.sh
source "$(dirname "$0")/disk_lib.sh"
number=$(cat "$disk/dev")

config() { # WEIGHT
    cat >"$1.yml" <<END
sandbox:
  default_image: nacre-test-busybox
  tmpfs_size: 8m
  resource_limits: {disk_io_weight: $1}
  mounts:
    - {source: /spare/project, target: /project, mode: rw}
END
}
status=0
config 100
"$nacre" exec --config 100.yml --session early true 2>err || status=$?
((status == 126)) && grep -q "disks of ext4 with the scheduler bfq" err ||
    fail "not refused without bfq: $status, $(cat err)"
for disk in /sys/block/vd*; do
    echo bfq >"$disk/queue/scheduler"
done
"$nacre" keeper --quit >/dev/null 2>&1 || true # it has asked before

# Four that write small things and wait for the disk each time, for eight seconds.
writers='cd /project && end=$(($(date +%s) + 8)); for i in 1 2 3 4; do
  while [ $(date +%s) -lt $end ]; do
    dd if=/dev/zero of=$0.$i bs=4096 count=50 oflag=direct conv=notrunc 2>/dev/null ||
      exit 1
  done & done; wait'
group_of() { # WEIGHT: of the container that has it, not to be counted twice
    grep -lx "default $1" $(find /sys/fs/cgroup -name io.bfq.weight) | sed 's|/[^/]*$||' |
        while read -r group; do [[ ! $(cat "$group/cgroup.procs") ]] || echo "$group"; done
}
wrote() { sed -n "s/^$number .* wios=\([0-9]*\).*/\1/p" "$1/io.stat"; }

# compete WEIGHT WEIGHT: writes of each
compete() {
    local name weight
    config "$1"
    config "$2"
    for name in "a$1$2" "b$1$2"; do
        weight=$1
        [[ $name == a* ]] || weight=$2
        "$nacre" exec --config "$weight.yml" --session "$name" true || fail "no sandbox"
    done
    mapfile -t groups < <(group_of "$1"; [[ $1 == "$2" ]] || group_of "$2")
    ((${#groups[@]} == 2)) || fail "cgroups with $1 and $2: ${groups[*]}"
    "$nacre" exec --config "$1.yml" --session "a$1$2" "set -- ; ${writers//\$0/a}" &
    "$nacre" exec --config "$2.yml" --session "b$1$2" "set -- ; ${writers//\$0/b}" &
    wait
    one=$(wrote "${groups[0]}") other=$(wrote "${groups[1]}")
    echo "weight: $1 to $2: ${one:-0} and ${other:-0} writes"
    for name in "a$1$2" "b$1$2"; do
        "$nacre" session end "$name" >/dev/null
    done
}

compete 300 300
((one > 0 && other > 0 && one * 2 > other && other * 2 > one)) ||
    fail "the same weight, and so different"
compete 110 880
((2 * other >= 3 * one)) || fail "eight times the weight made too little difference"
echo "weight: good"
