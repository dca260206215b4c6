#!/usr/bin/env bash
# A session of many calls of the real tools, first in one process that embeds nacre, then
# by the program, and what is left of it, seen from outside; and what a session's end does
# to what runs in its background.  Expects TOOLS (the build's tools), TOOL_SESSION and KEPT
# (where compiled code stays for the next time).
source "$(dirname "$0")/lib.sh"
: "${TOOLS:?}" "${TOOL_SESSION:?}" "${KEPT:?}"

export XDG_CACHE_HOME=$KEPT NACRE_TOOL_DIR=$TOOLS NACRE_PROGRAM=$NACRE
export XDG_RUNTIME_DIR=$scratch/run # the keeper is the test's own
mkdir -m 0700 "$XDG_RUNTIME_DIR"
trap '"$NACRE" keeper --quit >/dev/null 2>&1; chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT
last=(a session of calls)
state=$HOME/.local/state/nacre
: >"$scratch/out"
: >"$scratch/err"

cat >c.json5 <<EOF2
{ agents: { defaults: { workspace: "$scratch/agent",
    sandbox: { mode: "all", scope: "agent", workspaceAccess: "rw" } } },
  tools: { sandbox: { tools: { allow: ["*"] } } } }
EOF2
mkdir "$scratch/agent"

# ---- what a task is made of: refusals and failures among it ----

cat >calls <<'EOF2'
write {"path": "src/a.c", "content": "int a;\nint b;\n"}
read {"path": "src/a.c"}
edit {"path": "src/a.c", "edits": [{"old_text": "int b;", "new_text": "int c;"}]}
edit {"path": "src/a.c", "edits": [{"old_text": "not there", "new_text": "x"}]}
ls {"path": "."}
find {"pattern": "*.c"}
grep {"pattern": "int [a-c]"}
grep {"pattern": "(unclosed"}
apply_patch {"patch": "*** Begin Patch\n*** Add File: b.txt\n+one\n*** Update File: src/a.c\n@@\n-int a;\n+int d;\n*** End Patch"}
apply_patch {"patch": "*** Begin Patch\n*** Update File: src/a.c\n@@\n-int nowhere;\n+int d;\n*** End Patch"}
apply_patch {"patch": "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch"}
write {"path": "c.json", "content": "{\"n\": 1}"}
json {"path": "c.json", "query": "$.n"}
json {"path": "c.json", "query": "]["}
read {"path": "missing"}
read {"path": "../../etc/passwd"}
read {"pth": "a"}
no-such-tool {}
write {"path": "/etc/nacre-test", "content": "x"}
ls {"path": "src"}
EOF2
mapfile -t calls <calls
answers=(ok ok ok "error no-match" ok ok ok "error bad-pattern" ok "error no-match" ok ok
  ok "error bad-query" "error not-found" "error denied" "error invalid-arguments"
  "error unknown-tool" "error denied" ok)

# ---- an observer ----

# Of a process and all below it: its fds, and who they are.
family() {
  local pid=$1 child
  echo "$pid"
  for child in $(cat "/proc/$pid/task/"*/children 2>/dev/null); do
    family "$child"
  done
}
fds_of() {
  local pid count=0
  for pid in "$@"; do
    count=$((count + $(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)))
  done
  echo "$count"
}
# The private directories that a process holds open, wherever they are.
scratch_of() {
  local pid
  for pid in "$@"; do
    find "/proc/$pid/fd" -type l -printf '%l\n' 2>/dev/null
  done | grep -oE '^/(dev/shm|tmp)/nacre-[0-9]+-[0-9a-f]+' | sort -u
}

# ---- a thousand calls in one process ----

coproc SESSION { exec "$TOOL_SESSION" c.json5 task 2>"$scratch/err"; }
pid=$SESSION_PID
asked=0
ask() { # until so many were asked
  local answer
  for (( ; asked < $1; asked++)); do
    echo "${calls[asked % ${#calls[@]}]}" >&"${SESSION[1]}"
    IFS= read -r answer <&"${SESSION[0]}" || fail "it ended after $asked calls"
    [[ $answer == "${answers[asked % ${#answers[@]}]}" ]] ||
      fail "${calls[asked % ${#calls[@]}]}: $answer"
  done
}
ask 40 # all that is made once is made
mapfile -t before < <(family "$pid" | sort)
fds=$(fds_of "${before[@]}")
mapfile -t places < <(scratch_of "${before[@]}")
files=$(find "$scratch/agent" | sort)
((${#before[@]} > 2)) || fail "there is no worker to be seen"
ask 1000
mapfile -t after < <(family "$pid" | sort)
checks=$((checks + 1000))
[[ ${after[*]} == "${before[*]}" ]] ||
  fail "processes came or went: ${before[*]}, then ${after[*]}"
(($(fds_of "${after[@]}") == fds)) || fail "fds: $fds, then $(fds_of "${after[@]}")"
[[ $(scratch_of "${after[@]}" | xargs) == "${places[*]}" ]] ||
  fail "private directories: ${places[*]}, then $(scratch_of "${after[@]}" | xargs)"
[[ $(find "$scratch/agent" | sort) == "$files" ]] ||
  fail "files: $files, then $(find "$scratch/agent" | sort)"

eval "exec ${SESSION[1]}>&-"
wait "$pid" || fail "it did not end well"
for process in "${before[@]}"; do
  [[ ! -e /proc/$process ]] || [[ $(awk '{print $3}' "/proc/$process/stat") == Z ]] ||
    fail "process $process is left"
done
for place in "${places[@]}"; do
  [[ ! -e $place ]] || fail "$place is left"
done

# ---- by the program ----

# Whoever is the program, with this test's home in its environment.
of_ours() {
  local process
  grep -lzxF "HOME=$HOME" /proc/[0-9]*/environ 2>/dev/null | while read -r process; do
    ! [[ $(readlink "${process%/environ}/exe") == */nacre* ]] || echo "$process"
  done
}
for ((i = 0; i < 2 * ${#calls[@]}; i++)); do
  line=${calls[i % ${#calls[@]}]}
  run tool call "${line%% *}" --config c.json5 --session task --json --json-args "${line#* }"
  case ${answers[i % ${#answers[@]}]} in
  ok) expect_status 0 ;;
  *) ((status != 0)) || fail "it was to fail" ;;
  esac
done
[[ -z $(of_ours) ]] || fail "processes are left: $(of_ours)"
[[ $(find "$scratch/agent" | sort) == "$files" ]] || fail "files are left"
run audit verify
expect_status 0

# ---- two agents at once ----

cat >two.json5 <<EOF2
{ agents: { defaults: { sandbox: { mode: "all", scope: "agent", workspaceAccess: "rw" } },
    list: [ { id: "a", workspace: "$scratch/of-a" }, { id: "b", workspace: "$scratch/of-b" } ] },
  tools: { sandbox: { tools: { allow: ["*"] } } } }
EOF2
mkdir "$scratch/of-a" "$scratch/of-b"
# A patch is applied only where its line stands; the other's file is nobody's here.
questions() { # MINE OTHER
  echo "write {\"path\": \"f\", \"content\": \"$1\\n\"}"
  for ((i = 0; i < 100; i++)); do
    echo "apply_patch {\"dry_run\": true, \"patch\": \"*** Begin Patch\\n*** Update File: f\\n@@\\n-$1\\n+x\\n*** End Patch\"}"
    echo "read {\"path\": \"$scratch/$2/f\"}"
    echo "find {\"pattern\": \"$1-only\"}"
    echo "write {\"path\": \"$1-only\", \"content\": \"$i\"}"
  done
}
answers_of() {
  echo ok
  for ((i = 0; i < 100; i++)); do
    printf '%s\n' ok "error denied" ok ok
  done
}
questions of-a of-b >a.calls
questions of-b of-a >b.calls
"$TOOL_SESSION" two.json5 a a <a.calls >a.said 2>"$scratch/err" &
first=$!
"$TOOL_SESSION" two.json5 b b <b.calls >b.said 2>>"$scratch/err" || fail "agent b's calls"
wait "$first" || fail "agent a's calls"
for agent in a b; do
  diff <(answers_of) "$agent.said" >"$scratch/out" || fail "agent $agent was answered otherwise"
  files=$(cd "$scratch/of-$agent" && echo *)
  [[ $files == "f of-$agent-only" ]] || fail "agent $agent has other files: $files"
done
checks=$((checks + 802))

# ---- modes ----

printf '#!/bin/sh\necho one\n' >"$scratch/agent/tool.sh"
chmod 0755 "$scratch/agent/tool.sh"
run tool call apply_patch --config c.json5 --session task --json-args '{"patch": "*** Begin Patch\n*** Update File: tool.sh\n*** Move to: bin/run.sh\n@@\n-echo one\n+echo two\n*** End Patch"}'
expect_status 0
[[ $(stat -c %a "$scratch/agent/bin/run.sh") == 755 && ! -e $scratch/agent/tool.sh ]] ||
  fail "a file that is moved has another mode"
[[ $("$scratch/agent/bin/run.sh") == two ]] || fail "a file that is moved has other bytes"

# ---- the background ends with its session ----

cat >bare.json5 <<EOF2
{ agents: { defaults: { workspace: "$scratch/agent", sandbox: { mode: "off" } } } }
EOF2
sleepers() { # seconds that nobody else sleeps, and that grep itself does not name
  cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -oFf <(echo "sleep $1 ") || true
}
background() { # KEY SECONDS
  run tool call process --config bare.json5 --session "$1" --json \
    --json-args "{\"action\": \"start\", \"command\": \"sleep $2\"}"
  expect_status 0
  for ((i = 0; i < 100; i++)); do
    [[ -z $(sleepers "$2") ]] || return 0
    sleep 0.1
  done
  fail "sleep $2 did not start"
}
background first "71.$$"
background second "72.$$"
run session end first
expect_status 0
expect_out_has "ended 1 background command"
[[ -z $(sleepers "71.$$") ]] || fail "the first session's background is left"
[[ -n $(sleepers "72.$$") ]] || fail "the second session's background is gone"
run tool call process --config bare.json5 --session first --json --json-args '{"action": "list"}'
expect_out_has '"processes":[]'
run keeper --quit
for ((i = 0; i < 100; i++)); do
  [[ -n $(sleepers "72.$$") ]] || break
  sleep 0.1
done
[[ -z $(sleepers "72.$$") ]] || fail "without its keeper a background command is left"
passed
