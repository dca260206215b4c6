#!/bin/bash
# The selection that the test engine.cgroup2 runs in the machine: the executors' contract,
# the cgroups' own units, delegation, and the limit on disk operations.
set -euo pipefail
# What gVisor has to show takes a minute more: that is for a person to ask for.
rm -f "$(command -v runsc)"
# An engine does not see what is mounted after it has started.
mkfs.ext4 -q -F "$NACRE_SPARE"
mkdir -p /spare
mount "$NACRE_SPARE" /spare
# The engine that they start stays for iops.sh, and goes with the machine.
ctest --test-dir "$NACRE_BUILD" -j2 --output-on-failure --fixture-exclude-cleanup docker-engine \
    -R '^(contract\.(process|container)|unit\.(cgroup|box_cgroup|box_pool|dk_lies))$'
tests/cgroup2/delegated.sh
DOCKER_HOST=unix://$(echo /run/nacre-engine-*/sock) tests/cgroup2/iops.sh
