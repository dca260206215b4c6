# shellcheck shell=bash
# Sourced by container_*.sh, gvisor.sh and vm.sh, and with AS=container by native_*.sh:
# native guests in sandboxes of the engine at $NACRE_TEST_DOCKER, whose runtimes a case
# may change.
source "$(dirname "${BASH_SOURCE[0]}")/native_lib.sh"

if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
  echo "no engine at NACRE_TEST_DOCKER"
  exit 77
fi
export DOCKER_HOST=$NACRE_TEST_DOCKER
engine_dir=$(dirname "${DOCKER_HOST#unix://}")
trap '"$NACRE" keeper --quit >/dev/null 2>&1 || true
      chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT

boxed() { # OPTION... -- WORD...
  run run --policy p.yaml --image nacre-test-busybox --workspace work "$@"
}
engine() { # PATH CURL-OPTION...
  local path=$1
  shift
  curl -sS --noproxy '*' --max-time 20 --unix-socket "${DOCKER_HOST#unix://}" "$@" \
    "http://engine$path"
}
containers() { engine '/containers/json?all=1' | grep -oE '"Id":"[0-9a-f]{64}"'; }
no_containers() { [[ ! $(containers) ]]; }

is() { # WHAT FOUND WANTED
  checks=$((checks + 1))
  [[ $2 == "$3" ]] || fail "$1: '$2', expected '$3'"
}

# The scene of one sandbox: a workspace that its user owns.
own_scene() {
  scene
  [[ $is_root == no ]] || chown -R 1000:1000 work
}

# told_runtimes JSON [NAME]: what the engine has from now on, and which where none is
# asked for.
told_runtimes() {
  printf '{"runtimes": {%s}, "default-runtime": "%s"}\n' "$1" "${2:-runc}" \
    >"$engine_dir/config.json"
  kill -HUP "$(<"$engine_dir/pid")"
}
has_runtime() { [[ $(engine /info) == *"$1"* ]]; }

# Put back also when the case fails: it is a subshell of its own.
with_other_runtimes() {
  cp "$engine_dir/config.json" kept.json
  trap 'cat kept.json >"$engine_dir/config.json"; kill -HUP "$(<"$engine_dir/pid")"
        until_true 10 has_runtime "\"DefaultRuntime\":\"runc\"" || true' EXIT
}

# The cases of native_*.sh in one warm container each, as its own user and as root, who
# has no capability there but owns what is root's.
if [[ ${AS:-} == container ]]; then
  native_level=container
  in_sandbox+=(--image nacre-test-busybox --session attack)
  at_end='"$NACRE" keeper --quit >/dev/null 2>&1 || true'
  each_user() {
    "$@"
    cat >root.json5 <<END
{ agents: { defaults: { workspace: "$PWD/work", sandbox: { mode: "all",
  workspaceAccess: "rw", docker: { image: "nacre-test-busybox", user: "0:0" } } } } }
END
    local in_sandbox=(run --config root.json5 --session agent:main:attack)
    inside id -u
    expect_out 0
    "$@"
  }
fi
