#!/usr/bin/env bash
# F08 at the native levels: names are swapped ten thousand times while a guest walks
# along them, by the host, by another guest and by the guest itself.  What is denied, or
# lies outside, is never read.
source "$(dirname "$0")/$([[ ${AS-} == container ]] && echo engine || echo native)_lib.sh"

times=10000
made=40 # sandboxes, where a race is about their making; a container takes its time
[[ $native_level == process ]] || made=10

race_scene() {
  scene
  mkdir -p work/d work/secret work/a/b/hidden outside
  echo fine >work/d/file
  echo CANARY >work/secret/file
  echo CANARY >work/a/b/hidden/file
  echo CANARY >outside/file
  chmod -R a+rwX work outside
}

# chased: the guest's own count, with something opened and nothing found.
chased() {
  expect_status 0
  [[ $(<"$scratch/out") =~ ^opened\ ([0-9]+)\ refused\ ([0-9]+)\ found\ ([0-9]+)$ ]] ||
    fail "not a count"
  ((BASH_REMATCH[3] == 0)) || fail "the canary was read"
  opened=$((opened + BASH_REMATCH[1]))
  refused=$((refused + BASH_REMATCH[2]))
}

# chase_under PID PATH: one guest after another chases as long as PID swaps.
chase_under() {
  local opened=0 refused=0 rounds=0
  while ((rounds < 3)) || ! is_gone "$1"; do
    inside /workspace/attack_native_race chase "$2" 20000 CANARY
    chased
    rounds=$((rounds + 1))
    if ((opened > 0 && refused > 0 && rounds >= 3)); then kill -TERM "$1" 2>/dev/null || true; fi
  done
  wait "$1" || fail "the swapper failed"
  checks=$((checks + 1))
  ((opened > 0 && refused > 0)) || fail "no race: $opened opened, $refused refused"
}

F08_the_host_swaps_a_directory_for_a_link() {
  race_scene
  native p.yaml timeout_ms=30000
  ln -s ../outside work/evil
  "$TOOLS/attack_swap" work/d work/evil $times on >/dev/null &
  chase_under $! d/file
}

F08_the_host_swaps_a_link_to_what_is_denied() {
  race_scene
  native p.yaml '!/workspace/secret' timeout_ms=30000
  ln -s secret work/evil
  "$TOOLS/attack_swap" work/d work/evil $times on >/dev/null &
  chase_under $! d/file
}

F08_the_guest_swaps_while_it_chases() {
  race_scene
  native p.yaml '!/workspace/secret' '!/workspace/a/b/hidden' timeout_ms=60000
  local opened=0 refused=0
  for link in secret a/b/hidden ../outside /proc/1/root/workspace/secret; do
    inside sh -c "ln -sfn $link evil; ./attack_native_race swap d evil $times >/tmp/swapped &
      ./attack_native_race chase d/file 20000 CANARY; wait; rm evil"
    chased
  done
  ((opened > 0 && refused > 0)) || fail "no race: $opened opened, $refused refused"
}

F08_the_guest_swaps_ancestors_of_what_is_denied() {
  race_scene
  native p.yaml '!/workspace/a/b/hidden' timeout_ms=60000
  mkdir -p work/x/b/hidden
  echo fine >work/x/b/hidden/file
  chmod -R a+rwX work/x
  inside sh -c "./attack_native_race swap a x $times; ./attack_native_race swap a/b x/b $times
    ./attack_native_race swap a/b/hidden x/b/hidden $times"
  expect_out "swapped 0 refused $times
swapped 0 refused $times
swapped 0 refused $times"
  # The same where nothing is denied: the control.
  native p.yaml timeout_ms=60000
  inside ./attack_native_race swap a x $times
  expect_out "swapped $times refused 0"
}

# Whoever may write the directory above swaps the workspace itself while sandboxes are
# made.  Each sandbox has one of the two, whole, with its own denied names; never a third.
F08_the_workspace_is_swapped_while_sandboxes_are_made() {
  race_scene
  native p.yaml '!/workspace/secret' timeout_ms=30000
  mkdir -p other/secret
  cp work/attack_native_race other/
  echo CANARY >other/secret/file
  chmod -R a+rwX other
  "$TOOLS/attack_swap" work other $times on >/dev/null &
  local racer=$! ran=0 rounds=0
  while ((rounds < made)); do
    inside cat secret/file
    expect_out_lacks CANARY
    inside sh -c 'ls -d secret'
    if [[ $status == 0 ]]; then ran=$((ran + 1)); fi
    rounds=$((rounds + 1))
  done
  kill -TERM "$racer"
  wait "$racer" || true
  ((ran > 0)) || fail "no sandbox was ever made"
  [[ $(cat work/secret/file other/secret/file | sort -u) == CANARY ]] || fail "it was changed"
}

F08_the_workspace_is_swapped_for_a_link() {
  race_scene
  native p.yaml timeout_ms=30000
  mkdir inner
  mv work inner/work
  mkdir inner/real
  # To where nacre must not go: its own keys, and a filesystem of the kernel's.
  local target racer rounds in_sandbox=("${in_sandbox[@]/#work/inner/work}")
  for target in /proc/self/fd ../home/.config/nacre/keys; do
    inside true
    expect_status 0
    ln -sfn "$target" inner/evil
    "$TOOLS/attack_swap" inner/work inner/evil $times on >/dev/null &
    racer=$!
    rounds=0
    while ((rounds++ < made)); do
      inside sh -c 'ls; cat audit* 2>/dev/null; echo planted >planted'
      ! grep -qE '^(audit|cache|[0-9]+$)' "$scratch/out" || fail "it was let in to $target"
    done
    kill -TERM "$racer"
    wait "$racer" || true
  done
  [[ ! -e home/.config/nacre/keys/planted ]] || fail "a file among the keys"
}

# The host replaces a denied file by rename, over and over.  A window is not promised;
# but a run that begins reads nothing, or is refused or killed, and says so.
F15_the_host_replaces_a_denied_file_over_and_over() {
  race_scene
  native p.yaml '!/workspace/secret/file' timeout_ms=30000
  echo CANARY >work/secret/.new
  "$TOOLS/attack_swap" work/secret/file work/secret/.new $times on >/dev/null &
  local racer=$! rounds=0
  while ((rounds < made)); do
    inside cat secret/file
    expect_out_lacks CANARY
    [[ $status != 0 ]] || fail "it was read"
    rounds=$((rounds + 1))
  done
  kill -TERM "$racer"
  wait "$racer" || true
  [[ $(<work/secret/file) == CANARY ]] || fail "it was changed"
}

cases
