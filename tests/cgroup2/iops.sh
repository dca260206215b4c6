#!/bin/bash
# disk_iops in the machine: how long a container's buffered writes really take, as the
# disk itself counts them outside the sandbox; with the limit, and without as a control.
# Prints what it measured.  Starts an engine unless DOCKER_HOST names one.
# shellcheck source=disk_lib.sh
source "$(dirname "$0")/disk_lib.sh"

config() { # LIMITS [SOURCE]
    cat >c.yml <<END
sandbox:
  default_image: nacre-test-busybox
  tmpfs_size: 8m
  resource_limits: {$1}
  mounts:
    - {source: ${2:-/spare/project}, target: /project, mode: rw}
END
}
# Pages that do not lie beside each other, so that nothing makes one write of them; all in
# the kernel's memory until the end.
pages=120
writes="cd /project && rm -f f && i=0 && while [ \$i -lt $pages ]; do
  dd if=/dev/zero of=f bs=4096 count=1 seek=\$((i * 64)) conv=notrunc 2>/dev/null
  i=\$((i + 1)); done && sync f"
# As the disk has it: writes that it has done, and the time since the container began.
written() { awk '{ print $5 }' "$disk/stat"; }
now_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

# measure SESSION: ms, and writes of the disk in that time
measure() {
    "$nacre" exec --config c.yml --session "$1" true || fail "no sandbox $1"
    sync
    local before=$(written) begun=$(now_ms)
    "$nacre" exec --config c.yml --session "$1" "$writes" || fail "$1: the writes failed"
    took=$(($(now_ms) - begun)) done=$(($(written) - before))
}

config 'memory: 64mb'
measure free
free_ms=$took
echo "iops: without a limit $took ms, $done writes of the disk"
((done >= pages)) || fail "the control wrote only $done times"
config 'memory: 64mb, disk_iops: 20'
measure bounded
echo "iops: with disk_iops 20 $took ms, $done writes of the disk"
((done >= pages)) || fail "with the limit it wrote only $done times"
# The kernel lets what fits into one of its slices begin at once.
((took >= 1000 * (pages - 20) / 20)) || fail "$pages writes took only $took ms"
((took >= 3 * free_ms)) || fail "the limit made no difference"
find /sys/fs/cgroup -name io.max -exec grep -h riops=20 {} + | sed 's|^|iops: io.max |'

# ---- what can't be bounded ----

refused() { # TEXT
    local status=0
    "$nacre" exec --config c.yml --session "$RANDOM" true >out 2>&1 || status=$?
    ((status == 126 || status == 125)) || fail "not refused: $status, $(cat out)"
    grep -q "$1" out || fail "refused otherwise: $(cat out)"
}
mkdir lower upper work merged
mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged
chmod 777 merged
config 'disk_iops: 20' "$scratch/merged"
refused 'denied: c.yml:[0-9]*:[0-9]*: 20 disk operations/s: .* lies on overlay'
umount merged
echo "iops: good"
