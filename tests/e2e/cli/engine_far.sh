#!/usr/bin/env bash
# An engine that does not see nacre's files, as one on another machine or beside a nacre
# that is in a container: a real dockerd, in whose own tree the directories of this test
# are empty.  What runs there is judged as everywhere, and no image has a say in init.
source "$(dirname "$0")/lib.sh"

[[ $(id -u) == 0 ]] || exit 77
support=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../support" && pwd)
engine=/run/nacre-far-$$
export DOCKER_HOST=unix://$engine/sock

leave() {
  "$NACRE" keeper --quit >/dev/null 2>&1 || true
  "$support/docker-engine" stop "$engine" || true
  chmod -R u+w "$scratch" && rm -rf "$scratch"
}
trap leave EXIT
"$support/docker-engine" start "$engine" >/dev/null || exit $?
pid=$(<"$engine/pid")
in_engine() { nsenter --target "$pid" --mount -- "$@"; }
in_engine mount -t tmpfs none "$scratch"

ask() { # PATH CURL-OPTION...
  local path=$1
  shift
  curl -sS --noproxy '*' --max-time 60 --unix-socket "$engine/sock" "$@" \
    "http://engine$path"
}
names() { ask '/containers/json?all=1' | grep -oE '"Names":\["[^"]*"' | cut -d'"' -f4; }
carrier() { names | grep '^/nacre-init-'; }
is() { # WHAT FOUND WANTED
  checks=$((checks + 1))
  [[ $2 == "$3" ]] || fail "$1: '$2', expected '$3'"
}
is_alone() { is "containers" "$(names)" "$(carrier)"; }
drop_carrier() {
  ask "/containers$(carrier)?force=1&v=1" -X DELETE >/dev/null
}

policy() { # NAME FILESYSTEM [MORE-CAPABILITIES]
  cat >"$1.yaml" <<END
claw: "0.3.0"
kind: Sandbox
metadata: {name: $1}
spec:
  level: container
  capabilities:
    filesystem: {$2}
    shell: {mode: full}
    ${3:-}
  resource_limits: {memory_mb: 64, max_processes: 20, timeout_ms: 60000}
END
}
policy plain "mode: deny"
policy mounts "mode: scoped, mount_paths: [{path: /workspace, permissions: rw}]"
image=(--image nacre-test-busybox)
in_box() { run run --policy plain.yaml "${image[@]}" -- "$@"; }

# ---- a command runs, with the policy's limits and nothing of the engine's machine ----

is "containers" "$(names)" ""
in_box sh -c 'echo $$; id -u; cat /proc/1/comm; cat /sys/fs/cgroup/pids/pids.max ||
  cat /sys/fs/cgroup/pids.max; ls /sys/devices /sys/fs/ext4; grep Seccomp: /proc/self/status'
expect_status 0
[[ $(sed -n 2,4p "$scratch/out" | tr '\n' ' ') == "1000 nacre-init 21 " ]] || fail "its limits"
expect_out_has $'Seccomp:\t2'
is_alone
made=$(carrier)
in_box cat /proc/1/environ
expect_status 1
run run --policy plain.yaml "${image[@]}" --timeout-ms 1000 -- sleep 30
expect_status 124
in_box sh -c 'head -c 200000000 /dev/zero | tail -c 150000000 | wc -c'
expect_out_lacks 150000000
is_alone
is "the carrier" "$(carrier)" "$made"

# Private directories, and names that are denied in them.
run run --policy container "${image[@]}" -- sh -c 'echo kept >/workspace/a; cat /workspace/a
  cat /workspace/.env || touch /workspace/.env || mkdir /workspace/.git/hooks ||
  mv /workspace/.git /workspace/git || echo held'
expect_out "kept
held"
# What is a file of the image can't be covered there, and nothing runs.
policy covers "mode: read-only, denied_paths: [/etc/passwd]"
run run --policy covers.yaml "${image[@]}" -- cat /etc/group
expect_status 126
expect_err_has "/etc/passwd is a file, and can't be covered"
policy covers "mode: read-only, denied_paths: [/var]"
run run --policy covers.yaml "${image[@]}" -- ls /var
expect_status 1
expect_err_has "Permission denied"

# ---- warm, with secrets, with a door ----

policy warm "mode: scoped, mount_paths: [{path: /tmp, permissions: rw}]" \
  "network: {mode: allowlist, allowed_hosts: [api.example.com]}
    secrets: {injection: file-mount}"
printf 0123456789abcdef | "$NACRE" secret set far --host api.example.com \
  --grant policy:warm >/dev/null
warm() { run exec --policy warm.yaml "${image[@]}" --session far --secret far "$1"; }
warm 'wc -c </run/secrets/far; echo first >/tmp/kept'
expect_status 0
expect_out 16
warm 'cat /tmp/kept; wget -qO- http://other.example.org/ 2>&1'
expect_out_has first
expect_out_has 403
# The best of a few: a new container would take longer each time.
best=10000
for _ in 1 2 3 4 5; do
  start=$(date +%s%N)
  warm true
  took=$((($(date +%s%N) - start) / 1000000))
  ((took >= best)) || best=$took
done
((best < 100)) || fail "a warm command took $best ms"
run rm --all
is_alone

# ---- mounts are refused with the reason ----

mkdir -m 0777 space
run run --policy mounts.yaml "${image[@]}" --workspace space -- touch /workspace/file
expect_status 126
expect_err_has "does not see the files that nacre sees"
expect_err_has "$PWD/space"
is "the workspace" "$(ls space)" ""
is_alone

# The engine's machine may have a nacre of its own, with the same file at the same place.
its_own=$(find "$HOME" -path '*/boxes/init-*')
in_engine mkdir -p "${its_own%/*}"
in_engine sh -c 'cat >"$1" && chmod 0555 "$1"' sh "$its_own" <"$its_own"
in_box echo here
expect_status 0
expect_out here
in_engine rm "$its_own"

# ---- images that would like to be init ----

# import NAME [QUERY]: what is in root/ as an image.
import() {
  tar -C root --owner=0 --group=0 -cf root.tar .
  ask "/images/create?fromSrc=-&repo=$1&tag=latest${2:-}" -X POST \
    -H 'Content-Type: application/x-tar' --data-binary @root.tar >/dev/null
}
liar_scene() {
  rm -rf root
  mkdir -p root/{bin,dev,etc,evil,proc,sys,tmp}
  cp "$(command -v busybox)" root/bin/busybox
  ln -s busybox root/bin/sh
  ln -s busybox root/bin/echo
  printf '#!/bin/sh\necho a liar ran\n' >root/evil/init
  chmod 0755 root/evil/init
}
# What a container of it would run without a mount: the same path leads to the liar.
liar_runs() {
  local id
  id=$(ask '/containers/create' -X POST -H 'Content-Type: application/json' -d \
    "{\"Image\":\"liar\",\"Entrypoint\":[\"/.nacre-init/init\"]}" |
    grep -oE '[0-9a-f]{64}' | head -n 1)
  ask "/containers/$id/start" -X POST
  ask "/containers/$id/wait" -X POST >/dev/null
  ask "/containers/$id/logs?stdout=1" --output - | grep -aq 'a liar ran' ||
    fail "the liar is none"
  ask "/containers/$id?force=1&v=1" -X DELETE
}
volumes() {
  find "$engine/data/volumes" -type f -path '*/_data/*' -exec sha256sum {} + |
    cut -d' ' -f1
}
ours=$(volumes)
[[ $ours == "$(sha256sum <"$its_own" | cut -d' ' -f1)" ]] ||
  fail "another init is carried"

image=(--image liar)
liar_scene
ln -s evil root/.nacre-init
import liar
liar_runs
in_box echo here
expect_status 126
expect_out ""
expect_err_has "the sandbox is not as planned: "
expect_err_lacks "a liar ran"
is_alone

liar_scene
mv root/evil root/.nacre-init
import liar '&changes=VOLUME%20%2F.nacre-init&changes=ENTRYPOINT%20%2Fevil%2Finit'
liar_runs
in_box echo here
expect_status 0
expect_out here

liar_scene
ln -s / root/.nacre-init
mv root/evil/init root/init
import liar
liar_runs
in_box echo here
expect_status 126
expect_out ""

liar_scene
cp root/evil/init root/.nacre-init
import liar
in_box echo here
expect_status 126
expect_out ""
is_alone
is "what is carried" "$(volumes)" "$ours"
image=(--image nacre-test-busybox)

# ---- who takes its names ----

# An image under its tag that is not nacre's layer is not taken.
tag=${made#/nacre-init-}
drop_carrier
liar_scene
mkdir root/nacre-init root/nacre-cover
mv root/evil/init root/nacre-init/init
import nacre-init
ask "/images/nacre-init:$tag" -X DELETE >/dev/null
ask "/images/nacre-init:latest/tag?repo=nacre-init&tag=$tag" -X POST
in_box echo here
expect_out here
is "what is carried" "$(volumes)" "$ours"

# A carrier that somebody has started, and one of another image.
ask "/containers$made/start" -X POST
ask "/containers$made/kill" -X POST >/dev/null
in_box echo here
expect_status 126
expect_err_has "${made#/}, which should carry nacre's init, is not as nacre makes it: remove it"
drop_carrier
ask "/containers/create?name=${made#/}" -X POST -H 'Content-Type: application/json' -d \
  '{"Image":"nacre-init:latest","Entrypoint":["/nacre-init/init"],
    "Volumes":{"/nacre-init":{},"/nacre-cover":{}}}' >/dev/null
in_box echo here
expect_status 126
expect_err_has "is not as nacre makes it"
drop_carrier

# Several at once: one makes it, all use it.
for i in 1 2 3 4; do
  "$NACRE" run --policy plain.yaml "${image[@]}" -- echo "here $i" >"out.$i" 2>&1 &
done
wait
is "what they said" "$(cat out.*)" $'here 1\nhere 2\nhere 3\nhere 4'
is_alone

# ---- another kernel: nacre's own files may be there by name, and say nothing ----

in_engine umount "$scratch"
echo 00000000-0000-0000-0000-000000000000 >boot_id
printf '#!/bin/sh\nmount --bind "%s" /proc/sys/kernel/random/boot_id\nexec "%s" "$@"\n' \
  "$PWD/boot_id" "$NACRE" >elsewhere
chmod +x elsewhere
NACRE_HERE=$NACRE
printf '#!/bin/sh\nexec unshare -m --propagation private "%s" "$@"\n' "$PWD/elsewhere" \
  >"$scratch/nacre"
chmod +x "$scratch/nacre"
NACRE=$scratch/nacre
in_box echo here
expect_status 0
expect_out here
run run --policy mounts.yaml "${image[@]}" --workspace space -- touch /workspace/file
expect_status 126
expect_err_has "does not see the files that nacre sees"
is "the workspace" "$(ls space)" ""
# And with both on one machine, they are the same.
NACRE=$NACRE_HERE
run run --policy mounts.yaml "${image[@]}" --workspace space -- touch /workspace/file
expect_status 0
is "the workspace" "$(ls space)" file

# ---- an image for another architecture ----

mkdir load
printf '{"architecture":"s390x","os":"linux","config":{},"rootfs":{"type":"layers",%s}}' \
  "\"diff_ids\":[\"sha256:$(sha256sum <root.tar | cut -d' ' -f1)\"]" >load/config.json
cp root.tar load/layer.tar
echo '[{"Config":"config.json","RepoTags":["other:latest"],"Layers":["layer.tar"]}]' \
  >load/manifest.json
tar -C load -cf load.tar .
ask /images/load -X POST -H 'Content-Type: application/x-tar' --data-binary @load.tar \
  >/dev/null
image=(--image other)
in_box echo here
expect_status 126
expect_err_has "image 'other' is for s390x and the engine's machine is"
expect_err_has "its programs can't run there; use an image for"
passed
