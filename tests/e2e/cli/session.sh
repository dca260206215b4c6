#!/usr/bin/env bash
# Sessions by a configuration, as far as no engine is needed: what runs without a sandbox,
# file tools, turns, what is put into workspaces, their end.
source "$(dirname "$0")/lib.sh"

state=$HOME/.local/state/nacre
boxes=$HOME/.openclaw/sandboxes
work_box=$boxes/work-e274eeff # as OpenClaw would call it

# config [MODE [ACCESS [MORE]]]: c.json5; image and engine are nobody's here.
config() {
  cat >c.json5 <<EOF2
{
  agents: { defaults: {
    workspace: "$scratch/agent",
    sandbox: { mode: "${1:-non-main}", workspaceAccess: "${2:-none}", ${3:-} },
  } },
  ${4:-}
}
EOF2
}
with=(--config c.json5)
records() { find "$state/sessions" -name '*.json' | wc -l; }
last_begin() { grep '"type":"begin"' "$state/audit.jsonl" | tail -n 1; }
recorded() {
  checks=$((checks + 1))
  last_begin | grep -qF -- "$1" || fail "expected in the last begin record: $1 in
$(last_begin)"
}

# ---- the command line ----

config
run exec "${with[@]}" --policy shell true
expect_status 125
expect_err "nacre: --policy has no place beside --config: the file decides"
for option in "--workspace ." "--scope run" "--unsandboxed" "--image x" "--mount /x=/tmp"; do
  # shellcheck disable=SC2086 # two words
  run exec "${with[@]}" $option true
  expect_status 125
  expect_err "nacre: ${option%% *} has no place beside --config: the file decides"
done
run exec --sender x:y --policy shell true
expect_status 125
expect_err "nacre: --sender is for --config"
run exec --out-of-turn --policy shell true
expect_err "nacre: --out-of-turn is for --config"
run exec --elevated true
expect_err "nacre: --elevated is for --config"
wat_say 1 "hello" read.wat
run run "${with[@]}" --elevated read.wat
expect_err "nacre: --elevated is for commands: a module always has a sandbox"
run exec --config missing.json5 true
expect_status 127
run session
expect_status 125
run session ends
expect_status 125
expect_err_has "did you mean 'end'"
run session end
expect_err "nacre: session end expects one of KEY..., --agent ID and --shared"
run session end work --agent bob
expect_err "nacre: session end expects one of KEY..., --agent ID and --shared"
run session put "${with[@]}"
expect_err "nacre: session put expects FILE or --skills"
run session put c.json5
expect_err "nacre: session put needs --config FILE"
run session path "${with[@]}" more
expect_err "nacre: session path expects nothing after it"
run session list --skills .
expect_err "nacre: --skills is for session put"
run session put "${with[@]}" --force c.json5
expect_err "nacre: --force is for session end"
run session list --shared
expect_err "nacre: --shared is for session end"
run session end --session x y
expect_err "nacre: --session is not for session end: it goes by the key"
[[ ! -e $boxes ]] || fail "what was refused has made something"
run session list
expect_out "no session has a sandbox"
run session list --json
expect_json
expect_out '{"sessions":[]}'

# ---- no sandbox, as the file says ----

run exec "${with[@]}" 'pwd; echo made >note'
expect_status 0
expect_out "$scratch/agent"
[[ $(cat "$scratch/agent/note") == made ]] || fail "not in the agent's workspace"
recorded '"level":"none","executor":"none","unsandboxed":true'
recorded '"bare":{"command":"pwd; echo made >note","directory":"'"$scratch"'/agent"'
recorded '"approver":"config c.json5:4:22"'
run exec "${with[@]}" --env TOKEN_NAME=value --env OTHER=x 'echo $OTHER'
expect_out "x"
recorded '"environment":["TOKEN_NAME","OTHER"]'
! last_begin | grep -q value || fail "a variable's value is in the record"
run exec "${with[@]}" 'echo ghp_abcdefghijklmnopqrstuvwxyz0123456789 >/dev/null'
expect_status 0
! last_begin | grep -q ghp_abcdefghijklmnopqrstuvwxyz0123456789 || fail "a key is in the record"
run run "${with[@]}" -- sh -c 'echo "two words"'
expect_out "two words"
recorded '"command":"sh -c '"'echo \\\"two words\\\"'"'"'
run exec --json "${with[@]}" --session main true
expect_json
expect_out_has '"level":"none","unsandboxed":true'
config off
run exec "${with[@]}" --session work 'pwd'
expect_out "$scratch/agent"
[[ ! -e $boxes && $(records) == 0 ]] || fail "no sandbox, and yet one is recorded"

# What wrecks a host is blocked even so; here by the harmless one of that list.
touch "$scratch/agent/open"
before=$(stat -c %a "$scratch/agent/open")
run exec "${with[@]}" 'echo ran >ran; chmod 777 open'
expect_status 126
expect_err_has "built-in blocked_commands"
expect_err_has "it holds the blocked command 'chmod 777'"
[[ ! -e $scratch/agent/ran && $(stat -c %a "$scratch/agent/open") == "$before" ]] ||
  fail "a blocked command has run"
run explain "${with[@]}"
expect_out_has "built-in blocked_commands[0]"
expect_out_has "'rm -rf /' is blocked"
run explain "${with[@]}" --command 'rm -rf /'
expect_out_has "denied  command rm -rf /"
expect_out_has "flip  run it in a sandbox: there any command runs"
run exec "${with[@]}" 'chmod 755 open'
expect_status 0

# ---- which tools ----

config off none "" 'tools: { deny: ["bash"] },'
run exec "${with[@]}" 'echo no >canary'
expect_status 126
expect_err_has "c.json5:6:"
expect_err_has "tool 'exec' is denied by tools.deny"
[[ ! -e $scratch/agent/canary ]] || fail "a tool that is denied has run"
recorded '"level":"none"'
grep -q '"error":{"status":"denied"' "$state/audit.jsonl" || fail "the denial is not recorded"
config off none "" 'tools: { allow: ["read"] },'
run exec "${with[@]}" true
expect_status 126
expect_err_has "tool 'exec' is denied by tools.allow"
run run "${with[@]}" -- true
expect_status 126
run run "${with[@]}" read.wat
expect_status 0
expect_out "hello"
cp read.wat other.wat
run run "${with[@]}" other.wat
expect_status 126
expect_err_has "tool 'other' is denied"

# ---- what the plan refuses makes nothing ----

config all none 'docker: { seccompProfile: "/srv/own.json" }'
run exec "${with[@]}" --session work true
expect_status 126
expect_err_has "c.json5:4:"
[[ ! -e $boxes && $(records) == 0 ]] || fail "what was refused has a sandbox"
run tool call exec "${with[@]}" --session work --json-args '{"command": "true"}'
expect_status 126
config all none 'docker: { binds: ["/:/host"] }'
run run "${with[@]}" --session work read.wat # nor a file tool's run
expect_status 126
[[ ! -e $boxes && $(records) == 0 ]] || fail "what was refused has a sandbox"

# What process would start is a command: who may not exec, may not by way of it.
config off none "" 'tools: { deny: ["bash"] },'
for call in '{"action": "start", "command": "touch started-it"}' \
  '{"action": "write", "id": "0123456789abcdef", "input": "x"}'; do
  run tool call process "${with[@]}" --json-args "$call"
  expect_status 126
  expect_err "'exec' is denied: tools.deny has 'exec'; use another tool"
done
run exec "${with[@]}" --out-of-turn 'touch started-it'
expect_status 126
expect_err_has "tool 'exec' is denied by tools.deny"
run tool call process "${with[@]}" --json-args '{"action": "list"}'
expect_status 0

# ---- elevation ----

config all none
run exec "${with[@]}" --session work --elevated 'echo out'
expect_status 126
expect_err_has "--elevated is denied: shut by tools.elevated.allowFrom"
config all none "" 'tools: { elevated: { enabled: false, allowFrom: { chat: ["me"] } } },'
run exec "${with[@]}" --session work --elevated --sender chat:me 'echo out'
expect_status 126
expect_err_has "tools.elevated.enabled (c.json5:6:33)"
expect_err_lacks "allowFrom"
config all none "" 'tools: { elevated: { allowFrom: { chat: ["me"] } } },'
run exec "${with[@]}" --session work --elevated --sender chat:you 'echo out'
expect_status 126
# Open gates are the file's word; this command's is a person's.
mkdir -p "$HOME/.config/nacre"
printf 'approvals: {wait_ms: 100}\n' >"$HOME/.config/nacre/host.yaml"
run exec "${with[@]}" --session work --elevated --sender chat:me 'echo out >canary'
expect_status 126
expect_err_has "note: exec waits for a person's word: it would run outside its sandbox. See nacre approvals"
expect_err_has "nobody answered request"
[[ ! -e $work_box ]] || fail "what nobody approved has run"
run approvals
expect_out_has '{"command":"echo out >canary"}'
expect_out_has "because    elevated"
expect_out_has "session    work"
first() { "$NACRE" approvals --json | grep -oE '"id":"[0-9a-f]{16}"' | head -n 1 | cut -c7-22; }
run deny "$(first)"
run exec "${with[@]}" --session work --elevated --sender chat:me 'echo out >canary'
expect_status 126
expect_err_has "a person said no"
run exec "${with[@]}" --session work --elevated --sender chat:me 'echo out; pwd'
expect_status 126
run approve "$(first)"
run exec "${with[@]}" --session other --elevated --sender chat:me 'echo out; pwd'
expect_status 126 # of another session
run exec "${with[@]}" --session work --elevated --sender chat:me --env A=b 'echo out; pwd'
expect_status 126 # with another environment
run exec "${with[@]}" --session work --elevated --sender chat:me 'echo out; pwd'
expect_status 0
expect_out "out
$work_box"
recorded '"unsandboxed":true'
recorded '"approver":"person:'
run exec "${with[@]}" --session work --elevated --sender chat:me 'echo out; pwd'
expect_status 126 # once
# A token in advance is for the tool, by whichever door.
to=(--session work --elevated --sender chat:me)
run tool approve exec "${with[@]}" "${to[@]}" --json-args '{"command": "echo by token"}'
expect_status 0
token=$(cat "$scratch/out")
run exec "${with[@]}" "${to[@]}" --approval "$token" 'echo by another'
expect_status 126
expect_err_has "the approval is for another call"
run exec "${with[@]}" "${to[@]}" --approval "$token" 'echo by token'
expect_status 0
expect_out "by token"
recorded '"approver":"token"'
run tool call exec "${with[@]}" "${to[@]}" --approval "$token" --json-args '{"command": "echo by token"}'
expect_status 126
expect_err_has "the approval was used before"
# Nothing but exec is lifted out.
run tool call process "${with[@]}" "${to[@]}" --json-args '{"action": "start", "command": "true"}'
expect_status 126
expect_err "only exec can be lifted out of its sandbox: call process without elevation"
run exec "${with[@]}" "${to[@]}" --out-of-turn true
expect_status 125
expect_err_has "--elevated is for exec alone"
run exec --approval x --policy shell true
expect_err "nacre: --approval is for --config"
# What the operator marked is asked about in a session without a sandbox, too.
config off
printf 'approvals: {wait_ms: 100, require: [Bash]}\n' >"$HOME/.config/nacre/host.yaml"
run exec "${with[@]}" 'echo marked'
expect_status 126
expect_err_has "waits for a person's word"
# As the tool process starts it: in the background it is the same command.
run exec "${with[@]}" --out-of-turn 'echo marked'
expect_status 126
expect_err_has "process waits for a person's word: host.yaml marks it"
printf 'approvals: {wait_ms: 100}\n' >"$HOME/.config/nacre/host.yaml"
echo "{ agents: { defaults: { workspace: '$scratch/agent' } } }" >silent.json5
run exec --config silent.json5 'echo silent'
expect_status 126
expect_err_has "no line of the file says so; a mode that is written down is one"
run explain --config silent.json5
expect_out_has "a person is asked each time: no line says that there is no sandbox"
rm "$HOME/.config/nacre/host.yaml"
config all none "" 'tools: { elevated: { allowFrom: { chat: ["me"] } } },'
run session end work
expect_out "ended 0 sandboxes, removed 1 workspace"

# ---- file tools, with every access ----

wat_open note read.wat
rm -rf "$scratch/agent"
mkdir -m 700 "$scratch/agent"
echo "the agent's" >"$scratch/agent/note"
config off
run run "${with[@]}" --session work read.wat
expect_out "the agent's"
config all rw
run run "${with[@]}" --session work read.wat
expect_out "the agent's"
config all none
run run "${with[@]}" --session work read.wat
expect_status 44
[[ -d $work_box ]] || fail "no workspace of the sandbox's own"
echo "its own" >"$work_box/note"
run run "${with[@]}" --session work read.wat
expect_out "its own"
run run "${with[@]}" --session other read.wat
expect_status 44
run session end work
run session end other
[[ ! -e $work_box ]] || fail "the end has left the workspace"
[[ $(cat "$scratch/agent/note") == "the agent's" ]] || fail "the agent's workspace is not as it was"

# ---- one at a time ----

config off
mkfifo started go
"$NACRE" exec "${with[@]}" --session work "echo >$PWD/started; cat $PWD/go" >first 2>&1 &
first=$!
read -r <started
run exec "${with[@]}" --session work --timeout-ms 300 'echo second'
expect_status 124
expect_err "nacre: session 'work' is at another run's (process $first), and one runs at a time: it was waited for until the deadline"
run exec "${with[@]}" --session other 'echo other'
expect_out "other"
run exec "${with[@]}" --session work --out-of-turn 'echo beside'
expect_out "beside"
"$NACRE" exec "${with[@]}" --session work 'echo waited' >second 2>&1 &
second=$!
echo done >go
wait "$first" "$second"
[[ $(cat first) == done && $(cat second) == waited ]] || fail "the turns went wrong"
"$NACRE" exec "${with[@]}" --session work "echo >$PWD/started; cat $PWD/go" >first 2>&1 &
first=$!
read -r <started
kill -KILL "$first"
wait "$first" || true
run exec "${with[@]}" --session work 'echo after'
expect_out "after"
rm -f go started

# ---- a limit is told by the name that its file has for it ----

cat >limits.yml <<EOF2
sandbox:
  enabled: false
  timeout: 1
  logging: {max_output_size: 4}
EOF2
run exec --config limits.yml 'sleep 60'
expect_status 124
expect_err_has "nacre: timed out after 1000 ms (sandbox.timeout, limits.yml:3:12)"
expect_err_has "nacre: fix: raise sandbox.timeout"
run exec --config limits.yml --timeout-ms 500 'sleep 60'
expect_status 124
expect_err_has "nacre: timed out after 500 ms (--timeout-ms)"
run exec --config limits.yml 'echo 12345'
expect_status 153
expect_err_has "(sandbox.logging.max_output_size, limits.yml:4:30)"
expect_err_has "nacre: fix: raise sandbox.logging.max_output_size"

# ---- the end of one that has no sandbox ----

run session end never-heard-of
expect_status 127
expect_err_has "has neither a sandbox of its own nor anything in the background"
mkfifo started go
run tool call process "${with[@]}" --session work --json-args '{"action": "start", "command": "sleep 60"}'
expect_status 0
"$NACRE" exec "${with[@]}" --session work "echo >$PWD/started; cat $PWD/go" >first 2>&1 &
first=$!
read -r <started
run session end work
expect_status 126
expect_err_has "session 'work' runs: wait for it"
run tool call process "${with[@]}" --session work --json-args '{"action": "list"}'
expect_out_has "running  sleep 60" # nothing of it was ended
run session end --force work
expect_status 126
expect_err "nacre: session 'work' runs without a sandbox of its own: wait for it, or end its process ($first)"
echo done >go
wait "$first"
run session end work
expect_status 0
expect_out "no sandbox or workspace of its own: nothing to remove; ended 1 background command"
run session end work
expect_status 127
rm -f go started

# ---- what is put into it ----

config all none
echo pixels >photo.png
printf x >'-odd
name'
run session put "${with[@]}" --session work photo.png photo.png './-odd
name'
expect_status 0
expect_out "media/inbound/photo.png
media/inbound/photo-2.png
media/inbound/_odd_name"
[[ $(cat "$work_box/media/inbound/photo-2.png") == pixels ]] || fail "not what was put"
ln -s photo.png link.png
# All of them, or none.
before=$(find "$boxes" | sort)
run session put "${with[@]}" --session work photo.png missing.png
expect_status 127
expect_err "nacre: there is no file 'missing.png'"
expect_out ""
run session put "${with[@]}" --session never-put photo.png .
expect_status 125
[[ $(find "$boxes" | sort) == "$before" ]] || fail "one of two was put"
run session put "${with[@]}" --session work link.png
expect_status 126
expect_err "nacre: 'link.png' is a link: name the file itself"
mkdir -p skills/one skills/two
echo "one" >skills/one/SKILL.md
ln -s /etc/passwd skills/one/passwd
run session put "${with[@]}" --session work --skills skills
expect_status 0
expect_out "skills: 1 with 1 files; 1 folders without a SKILL.md; 1 links and other things left out"
[[ -f $work_box/skills/one/SKILL.md && ! -e $work_box/skills/one/passwd ]] || fail "skills"
run session put --json "${with[@]}" --session work --skills skills photo.png
expect_json
expect_out_has '"files":["media/inbound/photo-3.png"]'
run session path "${with[@]}" --session work
expect_out "$work_box"
config all rw
run session put "${with[@]}" --session work --skills skills
expect_status 125
expect_err_has "its skills are the agent's to keep"
run session put "${with[@]}" --session work photo.png
expect_status 0
[[ -f $scratch/agent/media/inbound/photo.png ]] || fail "not in the agent's workspace"

# ---- links that somebody planted ----

config all none
run session path "${with[@]}" --session work
rm -rf "$work_box"
mkdir elsewhere
ln -s "$PWD/elsewhere" "$work_box"
run session put "${with[@]}" --session work photo.png
expect_status 126
expect_err_has "is a link or no directory"
run run "${with[@]}" --session work read.wat
expect_status 126
rm "$work_box"
mv "$boxes" "$boxes.moved"
ln -s "$boxes.moved" "$boxes"
run session path "${with[@]}" --session work
expect_status 126
expect_err_has "is a link or no directory"
[[ ! $(ls elsewhere) ]] || fail "something went by a link"
rm "$boxes"
mv "$boxes.moved" "$boxes"

# ---- binds: what no container may see, a file tool does not see either ----

mkdir "$scratch/data"
ln -s /etc "$scratch/settings"
wat_say 1 hello read.wat
config all none "docker: { binds: [\"$scratch/data:/s:ro\"] }"
run run "${with[@]}" --session work read.wat
expect_status 0
expect_out "hello"
config all none 'docker: { binds: ["/etc:/s:ro"] }'
run run "${with[@]}" --session work read.wat
expect_status 126
expect_err_has "the host's accounts, keys and settings"
config all none "docker: { binds: [\"$scratch/settings:/s:ro\"] }"
run run "${with[@]}" --session work read.wat
expect_status 126
expect_err_has "is really /etc: the host's accounts, keys and settings"
# Nor a home directory as a whole, wherever it lies: its owner's keys are in it.
config all none "docker: { binds: [\"$HOME:/s:ro\"] }"
run run "${with[@]}" --session work read.wat
expect_status 126
expect_err_has "is really a home directory: its owner's keys lie there"
config

# ---- prune ----

run session path "${with[@]}" --session work
age() { touch -d "$1" "$state/sessions/"*.json; }
age '23 hours ago'
run prune
expect_out "ended 0 sandboxes"
age '25 hours ago'
run prune --config c.json5 --idle-hours 0 --max-age-days 0
expect_out "ended 0 sandboxes"
echo '{ agents: { defaults: { sandbox: { mode: "all" } } } }' >d.json5
run prune --config d.json5 # of another file
expect_out "ended 0 sandboxes"
config all none 'prune: { idleHours: 30 }'
run prune --config c.json5 # by what it says now
expect_out "ended 0 sandboxes"
[[ -d $work_box ]] || fail "pruned too early"
run prune --json
expect_json
expect_out '{"ended":0,"in_use":0,"workspaces":1}'
[[ ! -e $work_box && $(records) == 0 ]] || fail "prune has left something"
# Each agent's own limits hold for what is its own.
cat >agents.json5 <<EOF2
{ agents: { defaults: { sandbox: { mode: "all", prune: { idleHours: 48 } } },
    entries: { brief: { sandbox: { prune: { idleHours: 2 } } }, other: {} } } }
EOF2
for agent in brief other; do
  run session path --config agents.json5 --session "agent:$agent:x"
done
sed -i 's/idleHours: 2 /idleHours: 4 /' agents.json5
age '3 hours ago'
run prune --config agents.json5
expect_out "ended 0 sandboxes"
sed -i 's/idleHours: 4 /idleHours: 1 /' agents.json5
run prune --config agents.json5
expect_out "ended 0 sandboxes, removed 1 workspace"
[[ $(ls "$boxes") == agent-other-x-* ]] || fail "pruned by another agent's limit"
run session end agent:other:x
config all none 'prune: { idleHours: 0, maxAgeDays: 0 }'
run session path "${with[@]}" --session work
age '1000 days ago'
run prune
expect_out "ended 0 sandboxes"
[[ -d $work_box ]] || fail "0 does not disable"

# ---- the keys of the engine that host.yaml names are no module's either ----

mkdir -p keys "$HOME/.config/nacre"
echo KEY >keys/key.pem
cat >keys.json5 <<EOF2
{ agents: { defaults: { sandbox: { mode: "all", docker: { binds: ["$PWD/keys:/data:ro"] } } } } }
EOF2
run run --config keys.json5 read.wat
expect_out hello
echo "engine: {host: 'tcp://127.0.0.1:2376', certificates: '$PWD/keys'}" \
  >"$HOME/.config/nacre/host.yaml"
run run --config keys.json5 read.wat
expect_status 126
expect_out ""
rm "$HOME/.config/nacre/host.yaml"

run audit verify
expect_status 0
passed
