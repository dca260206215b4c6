#!/usr/bin/env bash
# An engine behind TCP with TLS, as DOCKER_HOST or a docker context name it: a real
# dockerd, with authorities of the test's own.  nacre is in the engine's network, so all
# of it is loopback.
source "$(dirname "$0")/lib.sh"

[[ $(id -u) == 0 ]] || exit 77
for program in openssl nsenter ip; do
  command -v $program >/dev/null || exit 77
done
support=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../support" && pwd)
engine=/run/nacre-tls-$$

# ---- authorities, and whom they have signed ----

mkdir tls
authority() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -subj "/CN=$1" -keyout "tls/$1-key.pem" -out "tls/$1.pem" 2>/dev/null
}
signed() { # AUTHORITY NAME SUBJECT-ALTERNATIVE-NAME
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" \
    -keyout "tls/$2-key.pem" -out "tls/$2.csr" 2>/dev/null
  echo "subjectAltName=$3" >"tls/$2.ext"
  openssl x509 -req -in "tls/$2.csr" -CA "tls/$1.pem" -CAkey "tls/$1-key.pem" \
    -CAcreateserial -days 2 -extfile "tls/$2.ext" -out "tls/$2.pem" 2>/dev/null
}
of_client() { # DIRECTORY AUTHORITY CLIENT
  mkdir "$1"
  cp "tls/$2.pem" "$1/ca.pem"
  cp "tls/$3.pem" "$1/cert.pem"
  cp "tls/$3-key.pem" "$1/key.pem"
}
authority ca
authority stranger
signed ca server IP:127.0.0.1
signed ca client DNS:client
signed stranger other DNS:client
of_client good ca client
of_client wrong-ca stranger client
of_client wrong-client ca other

# ---- the engine ----

leave() {
  "$support/docker-engine" stop "$engine" || true
  chmod -R u+w "$scratch" && rm -rf "$scratch"
}
trap leave EXIT
NACRE_ENGINE_TLS=$PWD/tls "$support/docker-engine" start "$engine" >/dev/null || exit $?
pid=$(<"$engine/pid")
printf '#!/bin/sh\nexec nsenter --target %s --net -- "%s" "$@"\n' "$pid" "$NACRE" \
  >"$scratch/nacre"
chmod +x "$scratch/nacre"
NACRE=$scratch/nacre

policy() { # NAME FILESYSTEM
  cat >"$1.yaml" <<EOF
claw: "0.3.0"
kind: Sandbox
metadata: {name: $1}
spec:
  level: container
  capabilities:
    filesystem: {$2}
    shell: {mode: full}
EOF
}
policy plain "mode: deny"
policy mounts "mode: scoped, mount_paths: [{path: /workspace, permissions: rw}]"
image=(--image nacre-test-busybox)
in_box() { run run --policy plain.yaml "${image[@]}" -- "$@"; }
expect_refused() { # WORDS
  expect_status 126
  expect_out ""
  expect_err_has "$1"
  checks=$((checks + 1))
  [[ $(curl -sS --noproxy '*' --unix-socket "$engine/sock" \
    'http://engine/containers/json?all=1') == "[]" ]] || fail "a container was made"
}

# ---- both sides are proven ----

export DOCKER_HOST=tcp://127.0.0.1:2376 DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=$PWD/good
in_box echo here
expect_status 0
expect_out here

export DOCKER_CERT_PATH=$PWD/wrong-ca
in_box echo here
expect_refused "certificate"
export DOCKER_CERT_PATH=$PWD/wrong-client
in_box echo here
expect_refused "asking the engine for its version"
export DOCKER_CERT_PATH=$PWD/good
# Its certificate is for 127.0.0.1, and for no other name of the same machine.
DOCKER_HOST=tcp://localhost:2376 in_box echo here
expect_refused "certificate"
rm good/key.pem
in_box echo here
expect_refused "key.pem can't be read"
cp tls/client-key.pem good/key.pem

# Without TLS: to loopback alone, and this engine does not listen so.
unset DOCKER_TLS_VERIFY DOCKER_CERT_PATH
in_box echo here
expect_refused "asking the engine for its version"
DOCKER_HOST=tcp://192.0.2.1:2375 in_box echo here
expect_refused "use TLS"

# ---- a docker context ----

unset DOCKER_HOST
export DOCKER_CONFIG=$PWD/config
id=$(printf far | sha256sum | cut -d' ' -f1)
mkdir -p "config/contexts/meta/$id" "config/contexts/tls/$id/docker"
echo '{"currentContext":"far"}' >config/config.json
printf '{"Name":"far","Metadata":{},"Endpoints":{"docker":{"Host":"%s",%s}}}' \
  tcp://127.0.0.1:2376 '"SkipTLSVerify":false' >"config/contexts/meta/$id/meta.json"
cp good/*.pem "config/contexts/tls/$id/docker"
in_box echo by context
expect_status 0
expect_out "by context"
cp wrong-ca/ca.pem "config/contexts/tls/$id/docker"
in_box echo by context
expect_refused "certificate"
cp good/ca.pem "config/contexts/tls/$id/docker"

# ---- mounts: only where both see the same directory ----

mkdir -m 0777 space
run run --policy mounts.yaml "${image[@]}" --workspace space -- \
  sh -c 'echo seen >/workspace/file'
expect_status 0
[[ $(<space/file) == seen ]] || fail "the workspace is another one"
# In the engine's own tree another directory has that name, as on another machine.
nsenter --target "$pid" --mount -- mount -t tmpfs -o mode=0777 none "$PWD/space"
run run --policy mounts.yaml "${image[@]}" --workspace space -- \
  sh -c 'echo lost >/workspace/file'
expect_refused "does not see the files that nacre sees"
[[ $(<space/file) == seen ]] || fail "something was written"
nsenter --target "$pid" --mount -- umount "$PWD/space"
in_box echo still here
expect_out "still here"
passed
