# In the machine that run boots, by bash: the first process, or a service of systemd's.
# Makes it what the tests expect of a machine, runs the command, tells how it left.
. /run/machine/setting
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

alone() { # without systemd
    mount -t securityfs securityfs /sys/kernel/security
    mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 /sys/fs/cgroup
    mkdir -p /dev/pts /dev/shm
    mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    mkdir -p /run/lock
    ip link set lo up
    hostname machine
    echo '+cpu +cpuset +io +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
    mkdir /sys/fs/cgroup/command
    echo 0 >/sys/fs/cgroup/command/cgroup.procs
    ln -sf /proc/self/fd /dev/fd
}

[[ $systemd ]] || alone
cd "$source" || exit 1
export NACRE_BUILD=$build NACRE_SPARE=$spare
exec 9>"$(echo /dev/vport*p*)"
bash /run/machine/command >&9 2>&1 </dev/null
echo "machine: leaves with $?" >&9
sleep 0.5 # for the port to be read
if [[ $systemd ]]; then
    systemctl --force --force reboot
else
    echo b >/proc/sysrq-trigger
    sleep 60 # until it does
fi
