#!/usr/bin/env bash
# Warm containers and their keeper, with a real engine: nacre keeper, ps, stop, rm,
# recreate, prune.  Needs an engine at $NACRE_TEST_DOCKER with nacre-test-busybox.
source "$(dirname "$0")/lib.sh"

if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
  echo "no engine at NACRE_TEST_DOCKER"
  exit 77
fi
export DOCKER_HOST=$NACRE_TEST_DOCKER
state=$HOME/.local/state/nacre
trap '"$NACRE" keeper --quit >/dev/null 2>&1 || true
      chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT

# ---- what an observer outside sees ----

engine() { # PATH
  curl -sS --noproxy '*' --max-time 20 --unix-socket "${DOCKER_HOST#unix://}" \
    "http://engine$1"
}
# Binds of this test's containers: others may use the same engine.
binds() {
  engine '/containers/json?all=1' | grep -oE '"Source":"[^"]*"' | grep -cF "$scratch"
}
# The keeper's pid, if there is one.
keeper() {
  local process
  for process in /proc/[0-9]*; do
    case $({ tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null) in
    "nacre keeper --state-dir $state "*) echo "${process#/proc/}" ;;
    esac
  done
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
no_keeper() { [[ ! $(keeper) ]]; }
none_left() { [[ $(binds) == 0 ]]; }
nothing_warm() { [[ $("$NACRE" ps) == "nothing is warm" ]]; }
# grows FILE: somebody writes to it.
grows() {
  local size
  size=$(wc -c <"$1")
  sleep 0.3
  [[ $(wc -c <"$1") != "$size" ]]
}
rests() { ! grows "$1"; }

# warm SESSION WORD...: the words of a command line for a warm container.
warm() {
  words=(exec --policy c.yaml --image nacre-test-busybox --session "$1"
    --workspace shared "${@:2}")
}
exec_in() {
  warm "$@"
  run "${words[@]}"
}
# start_in FILE SESSION WORD...: the same in the background, as $client.
start_in() {
  warm "${@:2}"
  "$NACRE" "${words[@]}" <"$input" >"$1" 2>&1 &
  client=$!
}
# What it left with, as $status.
await() {
  last=("${words[@]}")
  status=0
  wait "$1" || status=$?
}

cat >c.yaml <<EOF
claw: "0.3.0"
kind: Sandbox
metadata: { name: c }
spec:
  level: container
  capabilities:
    network: { mode: deny }
    filesystem:
      mode: scoped
      mount_paths:
        - { path: /workspace, permissions: rw }
        - { path: /tmp, permissions: rw }
      denied_paths: [/workspace/secret]
    shell: { mode: full }
  resource_limits: { timeout_ms: 60000, max_output_bytes: 3000000 }
EOF
chmod 755 "$scratch" "$scratch/work"
mkdir shared shared/secret
chmod 777 shared
echo "hidden" >shared/secret/key

# ---- without one ----

run ps
expect_status 0
expect_out "nothing is warm"
run ps --json
expect_json
expect_out '{"sandboxes":[]}'
run keeper --quit
expect_status 0
expect_out "no keeper runs"
run stop --all
expect_status 0
expect_out "ended 0 sandboxes"
run rm session:a
expect_status 127
expect_err "nacre: no sandbox 'session:a' is warm: see nacre ps"
run recreate --all
expect_out "ended 0 sandboxes"
run prune --json
expect_json
expect_out '{"ended":0,"in_use":0,"workspaces":0}'
run backends
expect_status 0
expect_out_has "container"
run explain --policy c.yaml
expect_status 0
no_keeper || fail "looking has started a keeper"

# ---- a run that keeps nothing needs none ----

run exec --policy c.yaml --image nacre-test-busybox --workspace shared 'echo alone; pwd'
expect_status 0
expect_out "alone
/workspace"
no_keeper || fail "a run of its own has started a keeper"
none_left || fail "a run of its own has left a container"

# ---- warm ----

exec_in a 'echo one >/tmp/kept; echo out; echo err >&2; exit 5'
expect_status 5
expect_out out
expect_err err
pid=$(keeper)
[[ $pid ]] || fail "nobody keeps the sandbox"
exec_in a 'cat /tmp/kept'
expect_out one
echo "through" >text
input=text exec_in a 'cat'
expect_out through
exec_in a 'cat /workspace/secret/key'
[[ $status != 0 ]] || fail "a denied path was read"
expect_out ""
exec_in b 'cat /tmp/kept'
[[ $status != 0 ]] || fail "two sessions share a sandbox"
[[ $(keeper) == "$pid" ]] || fail "there is another keeper"
[[ $(binds) != 0 ]] || fail "the observer sees no container"
run ps
expect_status 0
expect_out_has "session:a"
expect_out_has "session:b"
run ps --json
expect_json
expect_out_has '"scope":"session:a","image":"nacre-test-busybox"'
# A registry that is lost hides nothing, and ps says so.
for text in '{' ''; do
  printf '%s' "$text" >"$state/boxes/registry.json"
  run ps
  expect_status 0
  expect_out_has "session:a"
  expect_err_has "registry.json is broken"
  expect_err_has "the engine's labels say what there is"
done
rm "$state/boxes/registry.json"
run ps --json
expect_status 0
expect_json
expect_out_has '"scope":"session:b"'
expect_out_has '"note":"'
exec_in a --json 'echo {}'
expect_status 0
expect_json
expect_out_has '"outcome":"exited"'
exec_in a --timeout-ms 300 'sleep 50'
expect_status 124
exec_in a 'yes | head -c 4000000'
expect_status 153
[[ $(wc -c <"$scratch/out") == 3000000 ]] || fail "cut at another byte than 3000000"
exec_in a $'printf \'%s\' \'\xff\xfe\''
expect_out $'\xff\xfe'

# ---- one keeper, whoever starts it ----

run keeper
expect_status 125
expect_err "nacre: there is a keeper already"
run keeper --quit
expect_out "the keeper has left"
no_keeper || fail "it is still there"
none_left || fail "it left containers"
clients=()
for i in 1 2 3 4; do
  start_in "race.$i" race 'echo raced; sleep 0.3'
  clients+=("$client")
done
wait "${clients[@]}"
for i in 1 2 3 4; do
  [[ $(<"race.$i") == raced ]] || fail "racing to start it: $(<"race.$i")"
done
[[ $(keeper | wc -w) == 1 ]] || fail "more than one keeper: $(keeper)"
run ps --json
[[ $(grep -o '"scope"' "$scratch/out" | wc -l) == 1 ]] || fail "more than one sandbox"

# ---- twenty at once in one sandbox ----

clients=()
for i in {1..20}; do
  echo "in $i" >"in.$i"
  input=in.$i start_in "many.$i" race "cat; echo $i"
  clients+=("$client")
done
wait "${clients[@]}"
for i in {1..20}; do
  [[ $(<"many.$i") == "in $i
$i" ]] || fail "command $i of 20: $(<"many.$i")"
done

# ---- a client that dies ----

start_in out.beats race 'while :; do echo x >>beats; sleep 0.05; done'
eventually test -s shared/beats
grows shared/beats || fail "the positive control does not run"
kill -KILL "$client"
await "$client"
eventually rests shared/beats
[[ $(keeper) ]] || fail "the keeper has gone with its client"
run ps --json
expect_out_has '"commands":0'

# ---- a client that is stopped: its command waits for it, longer than init would for
# an owner that is gone ----

start_in out.slow race \
  'echo >up; until test -e go; do sleep 0.05; done; head -c 2900000 /dev/zero; echo whole'
eventually test -s shared/up
kill -STOP "$client"
touch shared/go
sleep 7
exec_in race 'echo meanwhile'
expect_out meanwhile
kill -CONT "$client"
await "$client"
expect_status 0
[[ $(tail -c 6 out.slow) == whole ]] || fail "the end of its output is missing"

# ---- ending them ----

start_in out.more race 'while :; do echo x >>more; sleep 0.05; done'
eventually test -s shared/more
exec_in a 'true'
run rm session:race
expect_status 126
expect_err "nacre: a command runs in 'session:race': wait for it, or use nacre stop"
run recreate --session race
expect_status 126
run rm --all
expect_status 0
expect_out "ended 1 sandbox; left 1 in which a command runs"
run prune --idle-hours 0 --max-age-days 0
expect_out "ended 0 sandboxes"
grows shared/more || fail "a command in use was ended"
run stop session:race
expect_status 0
expect_out "ended 1 sandbox"
await "$client"
[[ $status != 0 ]] || fail "its command has ended well"
eventually nothing_warm
eventually none_left
exec_in a 'echo again'
expect_out again
run recreate --session a
expect_out "ended 1 sandbox"
exec_in a 'cat /tmp/kept'
[[ $status != 0 ]] || fail "it was not made anew"
run stop
expect_status 125
expect_err "nacre: stop expects WHICH... or --all; see nacre stop --help"
run recreate
expect_status 125
run recreate --all --session a
expect_status 125

# ---- a keeper that dies ----

run audit verify --json
before=$(grep -o '"open_runs":[0-9]*' "$scratch/out")
start_in out.last a 'while :; do echo x >>last; sleep 0.05; done'
eventually test -s shared/last
kill -KILL "$(keeper)"
await "$client"
expect_status 125
grep -q "the keeper is gone" out.last || fail "it said: $(<out.last)"
eventually rests shared/last
eventually none_left
exec_in a 'echo "and on"'
expect_status 0
expect_out "and on"
run audit verify --json
expect_out_has "$before"
run audit tail -n 4 --json
[[ $(grep -c '"type":"begin"' "$scratch/out") == 2 ]] || fail "not one pair for each run"
[[ $(grep -c '"type":"end"' "$scratch/out") == 2 ]] || fail "not one pair for each run"

# ---- interrupted ----

start_in out.term a 'echo >asleep; sleep 50'
eventually test -s shared/asleep
kill -TERM "$client"
await "$client"
expect_status 143

# ---- another engine is another answer ----

DOCKER_HOST=unix:///nowhere exec_in a 'true'
expect_status 126
expect_err_has "DOCKER_HOST"

# ---- gone when it is told to, and when it is idle ----

kill -TERM "$(keeper)"
eventually no_keeper
none_left || fail "a keeper that was told to leave left containers"
"$NACRE" keeper --idle-ms 300 </dev/null >out.idle 2>&1 &
idle=$!
eventually test -S "$state/keeper.sock"
exec_in a 'echo kept'
expect_out kept
sleep 1
kill -0 $idle || fail "it has left while something is warm"
run stop --all
await $idle
expect_status 0
no_keeper || fail "another one was started"
none_left || fail "containers are left"
run audit verify
expect_status 0

# ---- the engine that host.yaml names ----

config=$HOME/.config/nacre
mkdir -p "$config"
run backends
expect_out_has "at $NACRE_TEST_DOCKER (by DOCKER_HOST)"
unset DOCKER_HOST
# Nobody names one: the default's socket is not this test's.
printf 'engine:\n  host: %s\n' "$NACRE_TEST_DOCKER" >"$config/host.yaml"
run backends
expect_out_has "at $NACRE_TEST_DOCKER (by $config/host.yaml:2:9)"
run run --policy c.yaml --image nacre-test-busybox --workspace shared -- echo once
expect_status 0
expect_out once
exec_in a 'echo kept'
expect_status 0
expect_out kept
# DOCKER_HOST comes first, and a keeper that was started with another is not spoken to.
DOCKER_HOST=unix:///nowhere run backends
expect_out_has "/nowhere"
printf 'engine: {host: unix:///nowhere}\n' >"$config/host.yaml"
exec_in a 'echo kept'
expect_status 126
expect_err_has "started with another engine.host in host.yaml"
run keeper --quit
exec_in a 'echo kept'
expect_status 126
expect_err_has "host.yaml:1:16"
printf 'engine: {host: /nowhere}\n' >"$config/host.yaml"
exec_in a 'echo kept'
expect_status 125
expect_err_has "host.yaml:1:16: engine.host: expected unix:///path or tcp://host:port"
run backends
expect_status 0
expect_out_has "host.yaml:1:16: engine.host: expected"

passed
