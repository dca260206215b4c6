#!/usr/bin/env bash
# Every image that the engine can start serves: nacre's init is a static program that is
# bound into the container, and needs nothing of the image.  What stands in its place
# there is covered, or the container is refused; no command ever runs without it.
source "$(dirname "$0")/lib.sh"

: "${NACRE_TEST_DOCKER:?}"
[[ -S ${NACRE_TEST_DOCKER#unix://} ]] || exit 77
export DOCKER_HOST=$NACRE_TEST_DOCKER
busybox=$(command -v busybox) || exit 77

mkdir -m 0777 space
install -m 0755 "$busybox" space/busybox
cat >p.yaml <<EOF
claw: "0.3.0"
kind: Sandbox
metadata: {name: p}
spec:
  level: container
  capabilities:
    filesystem: {mode: scoped, mount_paths: [{path: /workspace, permissions: rw}]}
    shell: {mode: full}
EOF

ask() { # PATH CURL-OPTION…
  local path=$1
  shift
  curl -sS --noproxy '*' --max-time 60 --unix-socket "${DOCKER_HOST#unix://}" "$@" \
    "http://engine$path"
}
made=()
leave() {
  local name
  for name in "${made[@]}"; do ask "/images/$name?force=1" -X DELETE >/dev/null; done
  chmod -R u+w "$scratch" && rm -rf "$scratch"
}
trap leave EXIT
# image NAME [CHANGE…]: of what is in the directory root, which is then empty again.
mkdir root
image() {
  local name=nacre-test-$1 query change
  query="fromSrc=-&repo=$name&tag=latest"
  shift
  for change in "$@"; do
    query+="&changes=$(printf %s "$change" | sed 's/ /%20/g; s/\[/%5B/g; s/"/%22/g; s/\]/%5D/g')"
  done
  tar -C root --owner=0 --group=0 -cf root.tar .
  ask "/images/create?$query" -X POST -H 'Content-Type: application/x-tar' \
    --data-binary @root.tar | grep -q '"status":"sha256:' || fail "no image $name"
  made+=("$name")
  rm -rf root
  mkdir root
}
in_image() { # NAME COMMAND…
  local name=nacre-test-$1
  shift
  run run --policy p.yaml --image "$name" --workspace space -- "$@"
}

# ---- an image with nothing in it at all ----

image empty
in_image empty /workspace/busybox echo in nothing
expect_status 0
expect_out "in nothing"
in_image empty sh -c true
expect_status 127
expect_err_has "there is no such program here"

# ---- what an image says about itself ----

image words 'ENTRYPOINT ["/no"]' 'USER 65534' 'WORKDIR /nowhere' \
  'HEALTHCHECK CMD false' 'VOLUME /.nacre-init' 'ENV LD_PRELOAD=/workspace/evil.so'
in_image words /workspace/busybox sh -c '/workspace/busybox id -u; echo "$LD_PRELOAD"'
expect_status 0
expect_out 1000

# ---- what stands in init's place ----

echo junk >root/.nacre-init
image file
in_image file /workspace/busybox echo over a file
expect_status 0
expect_out "over a file"

# A link would have the bind land elsewhere: the kernel's own report says so.
mkdir root/etc
echo theirs >root/etc/passwd
ln -s /etc/passwd root/.nacre-init
image link
in_image link /workspace/busybox touch /workspace/ran
expect_status 126
expect_err_has "the mount at /.nacre-init is 'not mounted'"
mkdir root/.nacre-init
image directory
in_image directory /workspace/busybox touch /workspace/ran
expect_status 126
expect_err_has "/.nacre-init"
[[ ! -e space/ran ]] || fail "a command ran without nacre's init"
checks=$((checks + 1))
[[ $(ask '/containers/json?all=1') == "[]" ]] || fail "a container is left"
passed
