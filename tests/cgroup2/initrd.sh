#!/bin/sh
# The first process of the machine that run boots: finds its disks, hands on.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
$b mount -t tmpfs tmpfs /run
for name in $($b cat /modules/list); do
    $b insmod "/modules/$name" || echo "initrd: no $name" >/dev/ttyS0
done
. /machine/setting
for disk in /sys/block/vd*; do
    eval "$($b cat "$disk/serial")=/dev/${disk##*/}"
done
$b mount -t ext4 "$root" /root || echo "initrd: no root" >/dev/ttyS0
# The tree lies where it lies on the machine that it comes from, as ctest has paths of it.
$b mkdir -p "/root$source" /run/tree /root/spare
$b mount -t ext4 "$tree" /run/tree
$b mount -o bind "/run/tree$source" "/root$source"
$b umount -l /run/tree
$b mkdir -p /run/machine
$b cp /machine/* /run/machine/
echo "spare=$spare" >>/run/machine/setting
for dir in proc sys dev run; do
    $b mount -o move /$dir /root/$dir
done
if [ "$systemd" ]; then
    $b mkdir -p /root/run/systemd/system
    $b cat >/root/run/systemd/system/machine.service <<END
[Unit]
Requires=basic.target dbus.service systemd-logind.service
After=basic.target dbus.service systemd-logind.service
[Service]
Type=oneshot
ExecStart=/bin/bash /run/machine/boot
TasksMax=infinity
TimeoutStartSec=infinity
END
    exec $b switch_root /root /sbin/init systemd.unit=machine.service \
        --unit=machine.service
fi
exec $b switch_root /root /bin/bash /run/machine/boot
