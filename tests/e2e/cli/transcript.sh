#!/usr/bin/env bash
# A small task, as an agent works on it (tests/suites/transcript): every call by the
# program, and only commands leave level wasm.  Expects TOOLS (the build's tools) and
# TRANSCRIPT (the suite).
source "$(dirname "$0")/lib.sh"
: "${TOOLS:?}" "${TRANSCRIPT:?}"

export NACRE_TOOL_DIR=$TOOLS
export XDG_RUNTIME_DIR=$scratch/run # the keeper is the test's own
mkdir -m 0700 "$XDG_RUNTIME_DIR"
trap '"$NACRE" keeper --quit >/dev/null 2>&1; chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT

# As an agent gets it: a clone, where there is git.
if command -v git >/dev/null; then
  cp -R "$TRANSCRIPT/project" upstream
  git -C upstream init -q
  git -C upstream add .
  git -C upstream -c user.name=a -c user.email=a@example.org commit -q -m "conf 1.0.0"
  git clone -q upstream project
else
  cp -R "$TRANSCRIPT/project" project
fi
chmod -R a+rwX project "$scratch/work" "$scratch" # where root runs this, commands are not root's

id=''
calls=0
steps=" "

# The last answer, with its JSON strings as they were meant.
has_said() {
  checks=$((checks + 1))
  sed 's/\\n/\n/g; s/\\"/"/g; s/\\\\/\\/g' "$scratch/out" | grep -qF -- "$1"
}

play() { # the block's fields are in `tool`, `arguments`, ...
  local tries=0 status_wanted=0
  calls=$((calls + 1))
  while :; do
    run tool call "$tool" --policy shell --workspace project --session task \
      --json --json-args "${arguments//\$id/$id}"
    [[ ! $until_said ]] || has_said "$until_said" || ((++tries > 100)) || continue
    break
  done
  [[ ! $fails ]] || status_wanted=1
  expect_status "$status_wanted"
  expect_json
  expect_out_has "\"level\":\"$level\""
  [[ ! $error ]] || expect_out_has "\"code\":\"$error\""
  for text in "${says[@]}"; do
    has_said "$text" || fail "$tool did not say: $text"
  done
  for text in "${lacks[@]}"; do
    ! has_said "$text" || fail "$tool said: $text"
  done
  [[ ! $keep ]] || id=$(grep -o '"id":"[0-9a-f]*"' "$scratch/out" | cut -d'"' -f4)
  [[ $steps == *" $tool:$level "* ]] || steps+="$tool:$level "
}

begin() {
  tool='' arguments='{}' level='' error='' fails='' keep='' until_said=''
  says=() lacks=()
}

begin
while IFS= read -r line || [[ $line ]]; do
  rest=${line#* }
  case $line in
  '#'*) ;;
  'call '*) tool=$rest ;;
  'args '*) arguments=$rest ;;
  'level '*) level=$rest ;;
  'error '*) error=$rest fails=yes ;;
  fails) fails=yes ;;
  'says '*) says+=("$rest") ;;
  'lacks '*) lacks+=("$rest") ;;
  'keep id') keep=yes ;;
  'until '*) until_said=$rest ;;
  '')
    [[ ! $tool ]] || play
    begin
    ;;
  *) fail "the transcript has the line: $line" ;;
  esac
done < <(cat "$TRANSCRIPT/task.txt" && echo)

# Which tools ran where, all of them.
last=(the whole task)
[[ $(tr ' ' '\n' <<<"$steps" | sort | xargs) == "apply_patch:wasm edit:wasm exec:process \
find:wasm grep:wasm json:wasm ls:wasm process:process read:wasm write:wasm" ]] ||
  fail "tools ran at other levels: $steps"
((calls == $(grep -c '^call ' "$TRANSCRIPT/task.txt"))) || fail "a call was left out"

# What it came to, looked at from outside.
make -C project test >"$scratch/out" 2>&1 || fail "the project's test fails outside"
[[ $(cat project/doc/CHANGES.md) == 1.0.1:* ]] || fail "no CHANGES.md"
[[ ! -e outside.txt ]] || fail "a patch left the workspace"
[[ -z $(find project -name '.nacre-*') ]] || fail "a file was left behind"

# The record agrees: commands are all that ran at level process, 3 by exec and one by
# process.
run audit verify
expect_status 0
records=$HOME/.local/state/nacre/audit.jsonl
[[ $(grep '"type":"begin"' "$records" | grep -c '"level":"process"') == 4 ]] ||
  fail "other runs are recorded at level process: $(cat "$records")"
passed
