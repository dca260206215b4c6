#!/usr/bin/env bash
# Sessions by a configuration in real containers, judged from outside: mode × session ×
# scope × access; fifty at once; two that race; names; kill -9; end; prune.  Needs an
# engine at $NACRE_TEST_DOCKER with nacre-test-busybox.
source "$(dirname "$0")/lib.sh"

if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
  echo "no engine at NACRE_TEST_DOCKER"
  exit 77
fi
export DOCKER_HOST=$NACRE_TEST_DOCKER
trap '"$NACRE" keeper --quit >/dev/null 2>&1 || true
      remove_foreign >/dev/null 2>&1 || true
      chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT
state=$HOME/.local/state/nacre
root=$scratch/boxes
prefix=nt$$- # others may use the same engine
chmod 755 "$scratch" "$scratch/work"

# config MODE SCOPE ACCESS [MORE]
config() {
  cat >c.json5 <<EOF2
{ agents: { defaults: { workspace: "$scratch/agent", sandbox: {
  mode: "$1", scope: "$2", workspaceAccess: "$3", workspaceRoot: "$root",
  docker: { image: "nacre-test-busybox", containerPrefix: "$prefix" }, ${4:-}
} } } }
EOF2
}
session() { run exec --config c.json5 --session "$@"; } # KEY TEXT

# ---- what an observer outside sees ----

engine() { # PATH [CURL-OPTION...]
  curl -sS --noproxy '*' --max-time 20 --unix-socket "${DOCKER_HOST#unix://}" \
    "http://engine$1" "${@:2}"
}
names() { # of this test's containers
  engine '/containers/json?all=1' | grep -oE "\"Names\":\\[\"/$prefix[^\"]*" |
    sed 's/.*\///' | sort
}
count() { names | wc -l; }
# mounts NAME: "GUEST HOST rw|ro" lines, of the two that a session has.
mounts() {
  engine "/containers/$1/json" | python3 -c '
import json, sys
for mount in sorted(json.load(sys.stdin)["Mounts"], key=lambda m: m["Destination"]):
    if mount["Destination"] in ("/workspace", "/agent"):
        print(mount["Destination"], mount["Source"], "rw" if mount["RW"] else "ro")'
}
# slug KEY: by the tools of others.
slug() {
  local letters
  letters=$(tr 'A-Z' 'a-z' <<<"$1" | sed -E 's/[^a-z0-9._-]+/-/g; s/^-+|-+$//g' | cut -c1-32)
  printf '%s-%.8s' "$letters" "$(printf %s "$1" | sha1sum)"
}
is() { # WHAT IS WANTED
  checks=$((checks + 1))
  [[ $2 == "$3" ]] || fail "$1: expected '$3', not '$2'"
}
# eventually COMMAND...: within 15 seconds.
eventually() {
  local left
  checks=$((checks + 1))
  for ((left = 300; left > 0; left--)); do
    if "$@"; then return; fi
    sleep 0.05
  done
  fail "not so after 15 s: $*"
}
counts() { [[ $(count) == "$1" ]]; }
remove_foreign() { engine "/containers/${prefix}work-e274eeff?force=1" -X DELETE; }

# told KEY: the same, as explain foretells it; "host" alone for no sandbox.
told() {
  "$NACRE" explain --config c.json5 --session "$1" --json | python3 -c '
import json, sys
box = json.load(sys.stdin)["sandbox"]
if not box["sessionIsSandboxed"]:
    sys.exit(print("host"))
print(box["containerName"])
for mount in sorted(box["mounts"], key=lambda m: m["guest"]):
    print(mount["guest"], mount["host"], "rw" if mount["writable"] else "ro")'
}

# judge KEY: explain's word for `write`, and what a call of it then does.
judge() {
  local word
  word=$("$NACRE" explain --config c.json5 --session "$1" --tool write --json | python3 -c '
import json, sys
tool = json.load(sys.stdin)["tool"]
print("runs" if tool["runs"] else "denied by " + tool["rule"])')
  run tool call write --config c.json5 --session "$1" \
    --json-args '{"path": "written", "content": "by a file tool"}'
  case $status in
  0) is "what explain tells of write in $1" "$word" runs ;;
  *) is "what explain tells of write in $1" "$word" \
    "denied by agents.defaults.sandbox.workspaceAccess" ;;
  esac
}

# ---- what is refused makes nothing ----

config all session none
session work --env LD_PRELOAD=/x.so true
expect_status 126
expect_err_has "LD_PRELOAD is not passed to a native command"
run tool call exec --config c.json5 --session work \
  --json-args '{"command": "true", "environment": {"LD_PRELOAD": "/x.so"}}'
expect_status 126
run tool call process --config c.json5 --session work \
  --json-args '{"action": "list"}'
is "records of what was refused" "$(compgen -G "$state/sessions/*.json" || true)" ""
[[ ! -e $root ]] || fail "what was refused has a workspace"

# ---- mode × session × scope × access ----

# cell MODE KEY SCOPE ACCESS
cell() {
  local key=$2 scope_key box sandboxed=no workspace
  case $3 in
  session) scope_key=$key ;;
  agent) scope_key=agent:main ;;
  shared) scope_key=shared ;;
  esac
  [[ $1 == off || ($1 == non-main && $key == main) ]] || sandboxed=yes
  rm -rf "$scratch/agent" "$root"
  config "$1" "$3" "$4"
  session "$key" 'echo mark >mark; pwd; echo x 2>/dev/null >/agent/mark; true'
  expect_status 0
  if [[ $sandboxed == no ]]; then
    expect_out "$scratch/agent"
    is "what explain tells of $*" "$(told "$key")" host
    is "containers of $*" "$(names)" ""
    is "the mark of $*" "$(cat "$scratch/agent/mark")" mark
    is "the root of $*" "$(ls -A "$root" 2>/dev/null)" ""
    judge "$key"
    is "what write wrote in $*" "$(cat "$scratch/agent/written")" "by a file tool"
    return
  fi
  expect_out /workspace
  box=$root/$(slug "$scope_key")
  is "containers of $*" "$(names)" "$prefix$(slug "$scope_key")"
  workspace=$box
  [[ $4 != rw ]] || workspace=$scratch/agent
  is "mounts of $*" "$(mounts "$(names)")" "$(
    [[ $4 != ro ]] || echo "/agent $scratch/agent ro"
    echo "/workspace $workspace rw"
  )"
  is "what explain tells of $*" "$(told "$key")" "$(names; mounts "$(names)")"
  is "the mark of $*" "$(cat "$workspace/mark")" mark
  judge "$key"
  is "what write wrote in $*" "$(cat "$workspace/written" 2>/dev/null)" \
    "$([[ $4 == ro ]] || echo "by a file tool")"
  if [[ $4 != rw ]]; then
    is "what $* wrote to the agent's" "$(ls -A "$scratch/agent" 2>/dev/null | grep mark)" ""
  else
    is "the root of $*" "$(ls -A "$root" 2>/dev/null)" ""
  fi
  run session end "$scope_key" # of the session's own
  if [[ $3 == session ]]; then
    expect_status 0
    is "containers after the end of $*" "$(names)" ""
    is "workspaces after the end of $*" "$(ls -A "$root" 2>/dev/null)" ""
  else
    is "containers after the end of $*" "$(count)" 1
    run rm --all
  fi
}
for mode in off non-main all; do
  for key in main work; do
    for scope in session agent shared; do
      for access in none ro rw; do
        cell "$mode" "$key" "$scope" "$access" || true
      done
    done
  done
done
rm -rf "$scratch/agent" "$root"

# ---- names ----

config all session none
engine "/containers/create?name=${prefix}work-e274eeff" -X POST \
  -H 'Content-Type: application/json' -d '{"Image":"nacre-test-busybox"}' >/dev/null
session work 'echo in'
expect_status 126
expect_err_has "a container '${prefix}work-e274eeff' is there that nacre did not make"
is "the foreign one" "$(names)" "${prefix}work-e274eeff"
remove_foreign
session work 'echo in'
expect_out "in"
run ps --json
expect_out_has '"scope":"session:work","image"'
expect_out_has '"session":"work"'
expect_out_has "\"name\":\"${prefix}work-e274eeff\""
for which in session:work work "${prefix}work-e274eeff"; do
  session work true
  run rm "$which"
  expect_out "ended 1 sandbox"
done
session work true
run recreate "${prefix}work-e274eeff"
expect_out "ended 1 sandbox"
is "containers" "$(count)" 0

# ---- what can't be enforced stops it, all of it at once, and goes by its own name ----

config all session none
sed -i 's|image: "nacre-test-busybox",|& seccompProfile: "/srv/own.json", gpus_: 0,|' c.json5
session work true
expect_status 125 # an unknown key
expect_err_has "did you mean 'gpus'"
sed -i 's|gpus_: 0,|ulimits: { nofile: { soft: 64, hard: 128 } },|' c.json5
session work true
expect_status 126
expect_err_has "c.json5:3:"
expect_err_has "/srv/own.json: filters of other people's are not installed, nacre's own is"
expect_err_has "fix: remove it, or give --waive seccompProfile"
for name in seccompProfile seccomp_profile; do
  run exec --config c.json5 --session work --waive "$name" 'ulimit -Sn; ulimit -Hn'
  expect_status 0
  expect_out "64
64"
  expect_err_has "degraded: not enforced here, as --waive allows: seccomp_profile"
done
run check c.json5
expect_out_has "docker.ulimits.nofile: 64 holds, soft and hard: inside nothing raises it to 128"
run rm --all
# One that killed is told by its line.
config all session none
sed -i 's|image: "nacre-test-busybox",|&\n ulimits: { cpu: 1,\n fsize: { soft: 4096, hard: 8192 } },|' c.json5
session work 'while :; do :; done'
expect_status 137
expect_err_has "c.json5:4:"
expect_err_has "1 s of processor time (cpu)"
expect_err_has "raise it, soft and hard"
session work 'exec dd if=/dev/zero of=/tmp/big bs=1024 count=100'
expect_status 153
expect_err_has "c.json5:5:"
expect_err_has "4096 bytes in one file (fsize)"
session work 'kill -9 $$'
expect_status 137
expect_err_lacks "processor time"
run rm --all
mkdir -m 777 "$scratch/project"
cat >config.yml <<EOF2
sandbox:
  default_image: nacre-test-busybox
  mounts:
    - {source: $scratch/project, target: /workspace, mode: rw}
  resource_limits: {disk: 10gb}
EOF2
run exec --config config.yml --session yml 'echo here >mark'
expect_status 126
expect_err_has "config.yml:5:27: 10737418240 bytes on disk: directories of the host that a guest writes to have no bound"
expect_err_has "or give --waive disk"
run exec --config config.yml --session yml --waive disk 'echo here >mark'
expect_status 0
expect_err_has "degraded: not enforced here, as --waive allows: disk"
is "the mark in the mount" "$(cat "$scratch/project/mark")" here
run rm --all
config all session none

# ---- an owner that was killed leaves a name, not a hindrance ----

keeper() { # its pid
  local process
  for process in /proc/[0-9]*; do
    case $({ tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null) in
    "nacre keeper --state-dir $state "*) echo "${process#/proc/}" ;;
    esac
  done
}
session work 'echo kept >/workspace/note'
# shellcheck disable=SC2046 # one pid
kill -KILL $(keeper)
session work 'cat /workspace/note'
expect_out "kept"
is "containers" "$(names)" "${prefix}work-e274eeff"
"$NACRE" exec --config c.json5 --session dies 'sleep 30' >/dev/null 2>&1 &
dies=$!
eventually counts 2
kill -KILL "$dies"
wait "$dies" || true
session dies 'echo again' # its turn is free at once
expect_out "again"
is "containers" "$(count)" 2
# A record that was changed to name another's sandbox ends its own session's alone.
sed -i "s/\"box_name\": \"[^\"]*\"/\"box_name\": \"${prefix}work-e274eeff\"/" \
  "$(grep -l '"scope_key": "dies"' "$state/sessions/"*.json)"
run session end dies
expect_out_has "ended 1 sandbox, removed 1 workspace"
is "containers" "$(names)" "${prefix}work-e274eeff"

# ---- two that race for one scope ----

config all agent none
run rm --all
mkdir race
for i in 1 2; do
  "$NACRE" exec --config c.json5 --session "racer-$i" \
    "hostname; echo $i >/workspace/racer-$i" >"race/$i" 2>&1 &
done
wait
is "hosts" "$(sort -u race/1 race/2 | wc -l)" 1
is "containers" "$(names)" "$prefix$(slug agent:main)"
is "what they wrote" "$(cd "$root/$(slug agent:main)" && echo racer-*)" "racer-1 racer-2"
run session end racer-1
expect_status 0
expect_out "no sandbox or workspace of its own: nothing to remove
1 of its agent's own stays"
is "containers" "$(count)" 1
run rm --all

# ---- fifty at once ----

config all session none
rm -rf "$root"
mkdir fifty
for i in {1..50}; do
  "$NACRE" exec --config c.json5 --session "s$i" \
    "echo $i; echo $i >/workspace/number" >"fifty/$i" 2>&1 &
done
wait
for i in {1..50}; do
  is "session s$i" "$(cat "fifty/$i")" "$i"
  is "workspace of s$i" "$(cat "$root/$(slug "s$i")/number")" "$i"
done
is "containers" "$(names | uniq | wc -l)" 50
is "workspaces" "$(find "$root" -mindepth 1 -maxdepth 1 | wc -l)" 50

# ---- prune ----

touch -d '25 hours ago' "$state/sessions/"*.json
"$NACRE" exec --config c.json5 --session s1 'echo up >/workspace/up; sleep 30' \
  >/dev/null 2>ended &
live=$!
eventually test -e "$root/$(slug s1)/up"
touch -d '25 hours ago' "$state/sessions/"*.json
run prune
expect_out "ended 49 sandboxes, removed 49 workspaces; left 1 in which a command runs"
is "containers" "$(names)" "$prefix$(slug s1)"
is "workspaces" "$(ls "$root")" "$(slug s1)"
run session end s1
expect_status 126
expect_err "nacre: session 's1' runs: wait for it, or end it with --force"
run session end --force s1
expect_status 0
status=0
wait "$live" || status=$?
is "what was ended" "$status" 137
grep -q "its sandbox was ended" ended || fail "it is not told why: $(cat ended)"
eventually counts 0
is "workspaces" "$(ls -A "$root")" ""

# ---- what its user can't write is told by the line that grants it ----

mkdir -m 755 "$scratch/shut"
cat >shut.json5 <<EOF2
{ agents: { defaults: { workspace: "$scratch/shut", sandbox: {
  mode: "all", workspaceAccess: "none", workspaceRoot: "$root",
  docker: { image: "nacre-test-busybox", containerPrefix: "$prefix",
    binds: ["$scratch/shut:/data:rw"] },
} } } }
EOF2
run exec --config shut.json5 --session shut true
expect_status 126
expect_err_has "nacre: denied: shut.json5:4:13: mount '/data': the sandbox runs as uid 1000"
run exec --json --config shut.json5 --session shut true
expect_out_has '"rule":"agents.defaults.sandbox.docker.binds"'
sed -i 's/"none"/"rw"/; s/binds:.*/},/' shut.json5
run exec --config shut.json5 --session shut true
expect_status 126
expect_err_has "nacre: denied: shut.json5:2:33: mount '/workspace': the sandbox runs as uid 1000"
is "containers" "$(names)" ""
passed
