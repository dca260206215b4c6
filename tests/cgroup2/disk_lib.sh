# shellcheck shell=bash
# What the scripts about disks share, in the machine: a spare disk at /spare, and an engine
# of their own unless DOCKER_HOST names one.  The script's name is that of its scratch.
set -euo pipefail
self=$(basename "$0" .sh)
nacre=$NACRE_BUILD/nacre
support=$(cd "$(dirname "$0")/../support" && pwd)
scratch=$(mktemp -d "/tmp/$self.XXXXXX")
engine=
end() {
    "$nacre" keeper --quit >/dev/null 2>&1 || true
    [[ ! $engine ]] || "$support/docker-engine" stop "$engine" || true
}
trap end EXIT
fail() {
    echo "$self: $*"
    exit 1
}

mountpoint -q /spare || {
    mkfs.ext4 -q -F "$NACRE_SPARE"
    mkdir -p /spare
    mount "$NACRE_SPARE" /spare
}
mkdir -p -m 777 /spare/project
disk=/sys/class/block/${NACRE_SPARE##*/}
if [[ ! ${DOCKER_HOST:-} ]]; then
    engine=/tmp/$self-engine
    DOCKER_HOST=$("$support/docker-engine" start "$engine")
fi
export DOCKER_HOST HOME=$scratch
cd "$scratch"
