# shellcheck shell=bash
# Sourced by scripts whose guests try to get out: the network of tests/net/run around
# them, policies that open it, requests that arrive or stay in, a secret to look for.
here=$(cd "$(dirname "$0")" && pwd)
[[ ${NACRE_NET_LOG:-} ]] || exec "$here/../net/run" -- "$here/${0##*/}"

# With AS=user and root's rights, once more by a user who has neither an account nor a
# group, in the same network; what that user runs lies where it may go (WASMTIME is the
# engine's library).
as_user() {
  local stage result=0
  stage=$(mktemp -d "${TMPDIR:-/tmp}/nacre-user.XXXXXX")
  mkdir -p "$stage/tests/e2e" "$stage/tmp"
  cp -r "$here" "$here/../net" "$stage/tests/"
  cp -r "$here/../e2e/cli" "$stage/tests/e2e/"
  cp -r "$POLICIES" "$stage/policies"
  cp "$NACRE" "$(dirname "$NACRE")/nacre-door" "$JSON_CHECK" "$GUESTS"/{fetch,cat}.wasm \
    "$WASMTIME" "$stage/"
  chown -R 61234:61234 "$stage"
  chmod 755 "$stage"
  (cd "$stage" && setpriv --reuid 61234 --regid 61234 --clear-groups \
    env AS= LD_LIBRARY_PATH="$stage" TMPDIR="$stage/tmp" NACRE="$stage/nacre" \
    JSON_CHECK="$stage/json_check" POLICIES="$stage/policies" GUESTS="$stage" \
    TOOLS="$stage" \
    bash "$stage/tests/attack/${0##*/}") || result=$?
  rm -rf "$stage"
  exit "$result"
}
if [[ ${AS:-} == user && $EUID == 0 ]]; then as_user; fi
source "$here/lib.sh"
source "$here/../net/lib.sh"
GUEST=$GUESTS/fetch.wasm

# Two levels are asked, wasm and a native one: process; or with AS=container that alone, in
# one warm container for each policy, with the clients of this machine in its image.  What
# is asked of wasm is asked there too, by curl, but where a case is of the host call.
levels=(wasm native)
native_level=process
native=(--policy native.yaml)
native_once=("${native[@]}") # the door is this run's child
asks_modules() { [[ $native_level == process ]]; }
in_containers() {
  if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
    echo "no engine at NACRE_TEST_DOCKER"
    exit 77
  fi
  export DOCKER_HOST=$NACRE_TEST_DOCKER
  "$here/../support/client-image" "$DOCKER_HOST" nacre-test-clients "$NACRE_NET_CA"
  levels=(native)
  native_level=container
  native+=(--image nacre-test-clients)
  native_once=("${native[@]}")
  native+=(--scope shared)
  trap '"$NACRE" keeper --quit >/dev/null 2>&1 || true
        chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT
}
if [[ ${AS:-} == container ]]; then in_containers; fi
# What is warm goes: by its keeper, which has the surroundings of who started it.
cold() { asks_modules || "$NACRE" keeper --quit >/dev/null 2>&1 || true; }
# warm [OPTION...]: what is timed finds its container made.
warm() { asks_modules || run run "${native[@]}" "$@" -- true; }

# network LEVEL FILE MODE HOST...: `mode`, the hosts when there are any, and below
# ssrf_protection and in secrets whatever `ssrf` and `secrets` say; `denied` are hosts.
network() {
  local level=$1 file=$2 mode=$3 host
  shift 3
  [[ $level != native ]] || level=$native_level
  {
    printf 'claw: "0.3.0"\nkind: Sandbox\nmetadata: {name: egress%s}\nspec:\n' \
      "${denied:+, annotations: {nacre/denied-hosts: \"$denied\"\}}"
    printf '  level: %s\n  capabilities:\n    network:\n      mode: %s\n' "$level" "$mode"
    if (($#)); then
      echo "      allowed_hosts:"
      for host in "$@"; do echo "        - \"$host\""; done
    fi
    if [[ ${ssrf:-} ]]; then echo "      ssrf_protection: {$ssrf}"; fi
    if [[ ${secrets:-} ]]; then echo "    secrets: {$secrets}"; fi
    if [[ $level != wasm ]]; then echo "    shell: {mode: full}"; fi
    echo "  resource_limits: {timeout_ms: ${timeout_ms:-20000}}"
  } >"$file"
}

# both MODE HOST...: wasm.yaml and native.yaml.
both() {
  network wasm wasm.yaml "$@"
  network native native.yaml "$@"
}

# by_module LEVEL: is it asked by fetch.wasm?
by_module() { [[ $1 == wasm ]] && asks_modules; }

# ask LEVEL URL [OPTION...]: one request.  At a native one by curl, which fails for a
# status of 400 and more (-f); `way=direct` has it ignore the proxy, and `options` are
# nacre's.
options=()
ask() {
  local level=$1 url=$2
  shift 2
  net_reset
  if by_module "$level"; then
    run run --policy wasm.yaml "${options[@]}" "$GUEST" "$@" -- "$url"
  else
    run run "${native[@]}" "${options[@]}" -- \
      curl -sSfgm 15 ${way:+--noproxy '*'} "$@" "$url"
  fi
}

is() { # WHAT GOT WANTED
  checks=$((checks + 1))
  [[ $2 == "$3" ]] || fail "$1: $2, expected $3: $(show_events event=connect)"
}

# arrives LEVEL URL [OPTION...]
arrives() {
  ask "$@"
  expect_status 0
  checks=$((checks + 1))
  (($(count_requests) > 0)) || fail "no request arrived"
}

# stays_in LEVEL URL [OPTION...]: nothing is reached, nowhere.
stays_in() {
  ask "$@"
  checks=$((checks + 1))
  [[ $status != 0 ]] || fail "it was let out"
  is "connections for $2" "$(count_connections)" 0
  is "datagrams for $2" "$(count_datagrams)" 0
}

# each_level FUNCTION URL...: each of them at each level.
each_level() {
  local function=$1 url level
  shift
  for url in "$@"; do
    for level in "${levels[@]}"; do "$function" "$level" "$url"; done
  done
}

# ---- a secret ----

# Of this run alone: others may be at it on the same machine, with the same processes to
# look at.
VALUE="hunter2/very+secret=$$x$RANDOM"

# vault [GRANT]: the secret `key`, bound to api.example.com.
vault() {
  cold # what is warm went by the old one
  rm -rf "$HOME/.local/state/nacre" "$HOME/.config/nacre/keys"
  printf '%s' "$VALUE" >value
  input=value run secret set key --host api.example.com --grant "${1:-policy:egress}"
  expect_status 0
  rm value
}

# How often the value arrived: as the header, and in a request at all.
received() { count_events event=request "header:x-key=$VALUE" ${1:+"host=$1"}; }
seen_anywhere() { grep -cF -- "$VALUE" "$NACRE_NET_LOG" || true; }

# Of all that runs but the guest itself: those whose words or environment hold it.
who_shows_it() {
  local file
  for file in /proc/[0-9]*/cmdline /proc/[0-9]*/environ; do
    # This test's own shells know it too.
    [[ ${file%/*} != /proc/$$ && ${file%/*} != "/proc/$BASHPID" ]] || continue
    if grep -qsaF -- "$VALUE" "$file"; then echo "${file%/*}"; fi
  done | sort -u
}
