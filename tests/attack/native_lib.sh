# shellcheck shell=bash
# Sourced by native_*.sh: guests that are native programs, at level process unless a
# case says otherwise.  With AS=user in the environment and root's rights everything is
# done once more by a user who has neither an account nor a group, but for the one that may
# speak to the engine at $NACRE_TEST_DOCKER; with AS=container (engine_lib.sh) in a warm
# container.
guest_uid=61234

# Whatever that user has to read or run may lie where it can't go: it gets copies.
as_user() {
  local stage here result=0 groups=(--clear-groups) socket=${NACRE_TEST_DOCKER#unix://}
  here=$(cd "$(dirname "$0")" && pwd)
  stage=$(mktemp -d "${TMPDIR:-/tmp}/nacre-user.XXXXXX")
  mkdir -p "$stage/tests/e2e" "$stage/tools" "$stage/tmp"
  cp -r "$here" "$stage/tests/attack"
  cp -r "$here/../e2e/cli" "$stage/tests/e2e/cli"
  cp -r "$POLICIES" "$stage/policies"
  cp "$NACRE" "$JSON_CHECK" "$stage/"
  find "$TOOLS" -maxdepth 1 -type f -name 'attack_*' -exec cp {} "$stage/tools/" \;
  chown -R "$guest_uid:$guest_uid" "$stage"
  chmod 755 "$stage"
  [[ ! -S $socket ]] || groups=(--groups "$(stat -c %g "$socket")")
  (cd "$stage" && setpriv --reuid "$guest_uid" --regid "$guest_uid" "${groups[@]}" \
    env -i PATH="$PATH" ONLY="${ONLY:-}" TMPDIR="$stage/tmp" GUESTS="$stage" \
    NACRE_TEST_DOCKER="${NACRE_TEST_DOCKER:-}" \
    NACRE="$stage/$(basename "$NACRE")" JSON_CHECK="$stage/$(basename "$JSON_CHECK")" \
    POLICIES="$stage/policies" TOOLS="$stage/tools" \
    bash "$stage/tests/attack/$(basename "$0")") || result=$?
  rm -rf "$stage"
  exit "$result"
}
if [[ ${AS:-} == user && $EUID == 0 ]]; then as_user; fi

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
chmod 755 "$scratch"
is_root=$([[ $EUID == 0 ]] && echo yes || echo no)

native_level=process
in_sandbox=(run --policy p.yaml --workspace work)
at_end=: # of a case

# native FILE WORD...: that level with a writable /workspace and /tmp.  A WORD is
# !PATH (denied), PATH:ro or PATH:rw (one more mount), KEY=VALUE (a limit),
# level=, shell= or mode= (those), or -RULE (a blocked command).
native() {
  local file=$1 word level=$native_level shell=full mode=scoped
  local denied=() limits=() blocked=() mounts=("/workspace:rw" "/tmp:rw")
  shift
  for word in "$@"; do
    case $word in
      !*) denied+=("${word#!}") ;;
      -*) blocked+=("${word#-}") ;;
      level=*) level=${word#*=} ;;
      shell=*) shell=${word#*=} ;;
      mode=*) mode=${word#*=} mounts=() ;;
      *=*) limits+=("${word%%=*}: ${word#*=}") ;;
      /workspace:*) mounts[0]=$word ;;
      *) mounts+=("$word") ;;
    esac
  done
  {
    printf 'claw: "0.3.0"\nkind: Sandbox\nmetadata: {name: attack}\nspec:\n'
    printf '  level: %s\n  capabilities:\n    filesystem:\n      mode: %s\n' "$level" "$mode"
    if ((${#mounts[@]})); then echo "      mount_paths:"; fi
    for word in "${mounts[@]}"; do
      echo "        - {path: ${word%:*}, permissions: ${word##*:}}"
    done
    if ((${#denied[@]})); then echo "      denied_paths:"; fi
    for word in "${denied[@]}"; do echo "        - $word"; done
    printf '    shell:\n      mode: %s\n' "$shell"
    if ((${#blocked[@]})); then echo "      blocked_commands:"; fi
    for word in "${blocked[@]}"; do echo "        - '$word'"; done
    if ((${#limits[@]})); then echo "  resource_limits:"; fi
    for word in "${limits[@]}"; do echo "    $word"; done
  } >"$file"
}

# scene: a home without a history, and a workspace with the hostile programs in it.
scene() {
  trap "$at_end" EXIT
  export HOME=$PWD/home
  mkdir home work
  cp "$TOOLS"/attack_native_* work/
  chmod 777 work
}

# inside [OPTION... --] WORD...: the command in the sandbox of p.yaml with that workspace.
inside() {
  local options=() word
  for word in "$@"; do
    if [[ $word == -- ]]; then
      while [[ $1 != -- ]]; do
        options+=("$1")
        shift
      done
      shift
      break
    fi
  done
  run "${in_sandbox[@]}" "${options[@]}" -- "$@"
}

# each_user COMMAND...: as every user whom this level has.
each_user() { "$@"; }

# can_group: "yes" where a sandbox can be given cgroups, as nacre itself tells; else "no".
# Of root nobody asks: where it can't, that is to be seen.
can_group() {
  if [[ $is_root == yes ]] || "$NACRE" backends --json |
    grep -o '"level":"process"[^]]*' | grep -q memory-limit; then echo yes; else echo no; fi
}

# begin WORD...: inside, in the background.
begin() {
  start "${in_sandbox[@]}" -- "$@"
}

# kill_nacre: the program alone and at once, as its user or the kernel would.
kill_nacre() {
  kill -9 "$pid"
  finish 2>/dev/null
  expect_status 137
}

# Every run of this case has begun and ended once, and nobody has touched the log.
expect_pairs() {
  local log=$HOME/.local/state/nacre/audit.jsonl begun ended
  checks=$((checks + 1))
  begun=$(grep -c '"type":"begin"' "$log")
  ended=$(grep -c '"type":"end"' "$log")
  [[ $begun == "$ended" && $begun -gt 0 ]] || fail "$begun runs begun, $ended ended"
  "$NACRE" audit verify >"$scratch/out" 2>"$scratch/err" || fail "the log does not verify"
}

# with_word WORD: processes of anybody, nacre itself apart, that have it among their
# arguments.
with_word() {
  local file
  for file in $(grep -lsxzF -- "$1" /proc/[0-9]*/cmdline); do
    file=${file#/proc/}
    file=${file%/cmdline}
    [[ $(cat /proc/"$file"/comm 2>/dev/null) == nacre ]] || is_gone "$file" || echo "$file"
  done
}

has_word() {
  [[ $(with_word "$1") ]]
}

lacks_word() {
  [[ ! $(with_word "$1") ]]
}

# expect_gone WORD: soon nothing of it runs.
expect_gone() {
  checks=$((checks + 1))
  until_true 4 lacks_word "$1" || fail "still running: $(with_word "$1" | tr '\n' ' ')"
}

# expect_refused: what attack_native_calls says inside.
expect_refused() {
  local wrong count
  expect_status 0
  wrong=$(grep -vE ': (EPERM|ENOSYS|killed)( open)?$' "$scratch/out") || true
  [[ -z $wrong ]] || fail "not refused: $wrong"
  count=$(wc -l <"$scratch/out")
  ((count > 60)) || fail "only $count were tried"
}

# A word that no other process on this machine has.
unique() {
  echo "3$(printf '%05d' $RANDOM)$(printf '%05d' $RANDOM).$$"
}

milliseconds() {
  echo $(($(date +%s%N) / 1000000))
}
