# shellcheck shell=bash
# Sourced by every script here.  A case is a function whose name begins with the id of
# its attack; all functions that do are run, each in a subshell with a directory of its
# own, and a failed one does not keep the others from running.
#
# Expects what ../e2e/cli/lib.sh expects, GUESTS (compiled guests) and TOOLS (swap,
# without, measure, bomb).
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/cli/lib.sh"
: "${GUESTS:?}" "${TOOLS:?}"
last=(none yet)

# A canary lies beside what a guest may touch.  Its content, inode and time are taken
# before, and compared after every case.
canary_state() {
  stat -c '%n %i %s %Y %Z %a' canary canary/* 2>&1
  cat canary/file
  ls -a canary
}

# scoped FILE MOUNT-LINE... [-- LIMIT...]: level wasm, scoped; a MOUNT-LINE is
# PATH:ro, PATH:rw or !PATH (denied).
scoped() {
  local file=$1 word denied=() mounts=() limits=()
  shift
  while (($# > 0)) && [[ $1 != -- ]]; do
    case $1 in
      !*) denied+=("${1#!}") ;;
      *) mounts+=("{path: ${1%:*}, permissions: ${1##*:}}") ;;
    esac
    shift
  done
  if (($# > 0)); then shift; fi
  limits=("$@")
  {
    printf 'claw: "0.3.0"\nkind: Sandbox\nmetadata: {name: attack}\nspec:\n  level: wasm\n'
    printf '  capabilities:\n    filesystem:\n      mode: %s\n' "${mode:-scoped}"
    if ((${#mounts[@]})); then
      echo "      mount_paths:"
      for word in "${mounts[@]}"; do echo "        - $word"; done
    fi
    if ((${#denied[@]})); then
      echo "      denied_paths:"
      for word in "${denied[@]}"; do echo "        - $word"; done
    fi
    if ((${#limits[@]})); then
      echo "  resource_limits:"
      for word in "${limits[@]}"; do echo "    $word"; done
    fi
  } >"$file"
}

# limited FILE LIMIT...: level wasm, nothing granted.
limited() {
  local file=$1
  shift
  mode=deny scoped "$file" -- "$@"
}

# within_memory MIB: of what attack_measure wrote to ./rss.
within_memory() {
  checks=$((checks + 1))
  (($(<rss) <= $1 * 1024)) || fail "$(<rss) KiB, expected $1 MiB at most"
}

# probe RUN-OPTION... -- OP ARG... [, OP ARG...]: the answers are in $scratch/out.
probe() {
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  run run "${options[@]}" "$GUESTS/attack_probe.wasm" "$@"
}

# answer OP-AND-ARGS ERROR...: one of the errors was the answer.
answer() {
  local line want
  checks=$((checks + 1))
  line=$(grep -F -- "$1: " "$scratch/out" | head -n 1) || fail "no answer to: $1"
  for want in "${@:2}"; do
    [[ $line == "$1: $want" || $line == "$1: $want "* ]] && return
  done
  fail "expected ${*:2}, got: $line"
}

# bounded SECONDS COMMAND...: as run does, but it must end by then.
bounded() {
  local seconds=$1 end=$((SECONDS + $1))
  shift
  last=("$@")
  status=0
  timeout -s KILL "$seconds" "$@" <"$input" >"$scratch/out" 2>"$scratch/err" || status=$?
  [[ $status != 137 ]] || ((SECONDS < end)) || fail "not over after $seconds s"
}

expect_one_of() {
  local want
  checks=$((checks + 1))
  for want in "$@"; do [[ $status == "$want" ]] && return; done
  fail "expected status ${*}"
}

# until_true SECONDS COMMAND...: waits for it, no longer than that.
until_true() {
  local turns=$(($1 * 20))
  shift
  while ! "$@"; do
    ((turns-- > 0)) || return 1
    sleep 0.05
  done
}

# The processes below a pid, it not among them.
below() {
  local child children
  children=$(cat /proc/"$1"/task/*/children 2>/dev/null) || return 0
  for child in $children; do
    echo "$child"
    below "$child"
  done
}

# worker_of PID: sets `worker` once a guest runs in one.
worker_of() {
  local pid
  worker=
  for pid in $(below "$1"); do
    if [[ $(cat /proc/"$pid"/comm 2>/dev/null) == nacre-worker ]]; then worker=$pid; fi
  done
  [[ $worker ]]
}

# is_gone PID: a zombie that nobody collects counts as gone.
is_gone() {
  local state
  state=$(sed -n 's/^State:\t\(.\).*/\1/p' /proc/"$1"/status 2>/dev/null) || return 0
  [[ -z $state || $state == Z || $state == X ]]
}

# start WORD...: nacre in the background; its pid is in `pid`.
start() {
  last=(nacre "$@" '&')
  : >"$scratch/out"
  env --default-signal=INT,QUIT "$NACRE" "$@" <"$input" >"$scratch/out" 2>"$scratch/err" &
  pid=$!
}

finish() {
  status=0
  wait "$pid" || status=$?
}

one_case() (
  set -e
  mkdir "$scratch/case"
  cd "$scratch/case"
  mkdir canary
  echo "CANARY $RANDOM" >canary/file
  before=$(canary_state)
  "$1"
  last=("$1" "and the canary afterwards")
  [[ $(canary_state) == "$before" ]] || fail "the canary changed: $(canary_state)"
)

# cases [PATTERN]: run those whose names begin so, else all; the script's last command.
cases() {
  local name failed=() count=0
  for name in $(compgen -A function | grep -E "^(${1:-[A-Z][0-9]{2\}_})"); do
    [[ ${ONLY:-} && $name != *$ONLY* ]] && continue
    count=$((count + 1))
    # Not in a condition: there a failing command would not end the case.
    set +e
    one_case "$name"
    status=$?
    set -e
    if ((status == 0)); then
      echo "ok      ${name//_/ }"
    else
      echo "FAILED  ${name//_/ }"
      failed+=("$name")
    fi
    chmod -R u+rwX "$scratch/case"
    rm -rf "$scratch/case"
  done
  ((count > 0)) || { echo "no case was run"; exit 1; }
  if ((${#failed[@]})); then
    printf '%d of %d cases failed:\n' "${#failed[@]}" "$count"
    printf '  %s\n' "${failed[@]}"
    exit 1
  fi
  echo "ok: $count cases"
}
