#!/usr/bin/env bash
# F08: what lies on a guest's way is swapped 100,000 times while it walks there, by a
# process outside and by another guest.  Not one of its opens may end at the canary.
source "$(dirname "$0")/lib.sh"

times=100000 # each side; a quarter of it where the way is a variant

# chase_while PID RUN-OPTION... -- PATH: one chase after another as long as PID lives;
# both endings must have been met, or the race was none.  A swapper that goes on until it
# is told is told then.
chase_while() {
  local racer=$1 opened=0 refused=0 rounds=0 found words=()
  shift
  while [[ $1 != -- ]]; do
    words+=("$1")
    shift
  done
  while :; do
    run run "${words[@]}" "$GUESTS/attack_chase.wasm" "$2" 20000
    expect_status 0
    found=$(<"$scratch/out")
    [[ $found =~ ^opened\ ([0-9]+)\ refused\ ([0-9]+)$ ]] || fail "not a count: $found"
    opened=$((opened + BASH_REMATCH[1]))
    refused=$((refused + BASH_REMATCH[2]))
    rounds=$((rounds + 1))
    if is_gone "$racer"; then break; fi
    # It may end between these two lines.
    if [[ $(cat /proc/"$racer"/comm 2>/dev/null) == attack_swap ]] &&
      ((opened > 0 && refused > 0 || rounds > 100)); then
      kill -TERM "$racer" 2>/dev/null || true
    fi
  done
  status=0
  wait "$racer" || status=$?
  expect_status 0
  checks=$((checks + 1))
  ((opened > 0 && refused > 0)) || fail "no race: $opened opened, $refused refused"
}

# Compiled before the first race begins.
run run "$GUESTS/attack_chase.wasm" x 1

tree() {
  mkdir -p work/d/sub work/secret
  echo fine >work/d/file
  echo fine >work/d/sub/file
  echo CANARY >work/secret/file
  ln -s ../canary work/evil
  ln -s secret work/inner
}

F08_a_directory_swapped_for_a_link_by_the_host() {
  tree
  scoped p.yaml /workspace:ro
  "$TOOLS/attack_swap" work/d work/evil $times on >/dev/null &
  chase_while $! --policy p.yaml --workspace work -- d/file
}

F08_a_file_swapped_for_a_link_by_the_host() {
  tree
  ln -s ../../canary/file work/d/evil
  scoped p.yaml /workspace:ro
  "$TOOLS/attack_swap" work/d/file work/d/evil $((times / 4)) on >/dev/null &
  chase_while $! --policy p.yaml --workspace work -- d/file
}

F08_a_directory_moved_away_under_dots_by_the_host() {
  # d/sub moves out of the mount and back: what is above it must not be followed there.
  tree
  mkdir -p canary/sub
  canary_state() { cat canary/file; }
  before=$(canary_state)
  scoped p.yaml /workspace:ro
  ln -s sub/../file work/d/through
  "$TOOLS/attack_swap" work/d/sub canary/sub $((times / 4)) >/dev/null &
  local racer=$! rounds=0
  while ! is_gone "$racer" || ((rounds == 0)); do
    run run --policy p.yaml --workspace work "$GUESTS/attack_chase.wasm" d/through 20000
    expect_status 0
    rounds=$((rounds + 1))
  done
  wait "$racer"
}

F08_a_denied_directory_behind_a_swapped_link() {
  tree
  scoped p.yaml /workspace:ro '!/workspace/secret'
  "$TOOLS/attack_swap" work/d work/inner $((times / 4)) on >/dev/null &
  chase_while $! --policy p.yaml --workspace work -- d/file
}

F08_the_walk_without_openat2() {
  tree
  scoped p.yaml /workspace:ro
  local nacre=$NACRE
  cat >nacre-without <<END
#!/bin/sh
exec "$TOOLS/attack_without" openat2=ENOSYS "$nacre" "\$@"
END
  chmod +x nacre-without
  NACRE=$PWD/nacre-without
  "$TOOLS/attack_swap" work/d work/evil $((times / 4)) on >/dev/null &
  chase_while $! --policy p.yaml --workspace work -- d/file
}

F08_swaps_by_another_guest() {
  tree
  rm work/inner
  mv work/d work/a
  scoped p.yaml /workspace:rw '!/workspace/secret'
  # The other guest makes its links itself, one out of the mount, one to what is denied.
  probe --policy p.yaml --workspace work -- symlink ../canary 3:b , symlink secret 3:c
  answer "symlink ../canary 3:b" ok
  for link in b c; do
    start run --policy p.yaml --workspace work "$GUESTS/attack_chase.wasm" \
      swap d a $link $((times / 2))
    mv "$scratch/out" "$scratch/out-swap"
    chase_while "$pid" --policy p.yaml --workspace work -- d/file
  done
}

cases
