#!/usr/bin/env bash
# A policy that was made to be misread, and a machine that can't do what it says.
source "$(dirname "$0")/lib.sh"

wat_say 1 ran "$scratch/hello.wat"

# refused FILE: nothing runs, the place is named, and it does not take long.
refused() {
  bounded 20 "$TOOLS/attack_measure" rss "$NACRE" run --policy "$1" "$scratch/hello.wat"
  expect_status 125
  expect_out ""
  expect_err_has "$1:"
  within_memory 100
}

C01_bombs_are_refused() {
  {
    echo 'a0: &a0 [x, x, x, x, x, x, x, x, x]'
    for i in 1 2 3 4 5 6 7 8 9; do
      echo "a$i: &a$i [*a$((i - 1)), *a$((i - 1)), *a$((i - 1)), *a$((i - 1)), *a$((i - 1))]"
    done
  } >laughs.yaml
  refused laughs.yaml
  { echo 'claw: "0.3.0"' && printf 'kind: '; printf '[%.0s' $(seq 20000); } >deep.yaml
  refused deep.yaml
  { printf 'claw: '; printf '{a: %.0s' $(seq 20000); } >maps.yaml
  refused maps.yaml
  { echo 'claw: "0.3.0"'; head -c 3000000 /dev/zero | tr '\0' 'x'; } >long.yaml
  refused long.yaml
  { echo 'claw: "0.3.0"' && for i in $(seq 60000); do echo "k$i: 1"; done; } >wide.yaml
  refused wide.yaml
  printf 'claw: "0.3.0"\n<<: *nothing\n' >alias.yaml
  refused alias.yaml
  scoped fine.yaml
  bounded 20 "$NACRE" run --policy fine.yaml "$scratch/hello.wat"
  expect_status 0
  expect_out ran
}

# broken SED-SCRIPT: a good policy, changed; never accepted.
broken() {
  sed "$1" good.yaml >bad.yaml
  ! cmp -s good.yaml bad.yaml || fail "nothing was changed by $1"
  refused bad.yaml
}

good() {
  scoped good.yaml /workspace:ro '!/workspace/secret' -- "timeout_ms: 5000"
  run run --policy good.yaml "$scratch/hello.wat"
  expect_status 0
  expect_out ran
}

C02_repeated_and_unknown_keys_are_errors() {
  good
  broken 's/^  level: wasm/  level: wasm\n  level: none/'
  broken 's/^  level: wasm/  level: wasm\n  "level": none/'
  broken 's/mode: scoped/mode: scoped\n      mode: full/'
  broken 's/denied_paths/denied_path/'
  broken 's/denied_paths/Denied_Paths/'
  broken 's/denied_paths/denied_paths /; s/denied_paths :/"denied_paths ":/'
  broken 's/timeout_ms/timeout/'
  broken 's/filesystem:/file_system:/'
  broken 's/^spec:/spec:\n  extra: 1/'
  broken 's/^kind:/extra: 1\nkind:/'
  broken 's/permissions: ro/permissions: ro, extra: rw/'
  broken 's/permissions: ro/permissions: ro, permissions: rw/'
  broken '$s/$/\n---\nclaw: "0.3.0"/'
}

C04_other_types_and_overflows_are_errors() {
  good
  for value in 5000.0 0x1388 '"5000"' 5_000 +5000 05000 true '[5000]' '{a: 1}' '~' \
    99999999999999999999999 -9223372036854775809 4294972296000; do
    broken "s/timeout_ms: 5000/timeout_ms: $value/"
  done
  broken 's/mode: scoped/mode: [scoped]/'
  broken 's/mode: scoped/mode: yes/'
  broken 's/permissions: ro/permissions: 7/'
  broken 's/permissions: ro/permissions: [ro]/'
  broken 's/level: wasm/level: [wasm]/'
  broken 's/level: wasm/level: !!str wasm/'
  broken 's/kind: Sandbox/kind: [Sandbox]/'
}

C08_a_level_is_said_once_and_kept() {
  good
  broken '/level: wasm/d'
  broken 's/level: wasm/level: ""/'
  broken 's/level: wasm/level:/'
  broken 's/level: wasm/level: WASM/'
  broken 's/level: wasm/level: wasm\n  runtime: docker/'
  broken 's/level: wasm/level: wasm\n  runtime: native/'
  broken 's/level: wasm/level: container\n  runtime: wasmtime/'
}

C13_what_lies_in_the_workspace_is_not_configuration() {
  good
  mkdir work
  # Everything that a program might look for, each granting the world.
  mode=full scoped work/nacre.yaml
  for name in .nacre.yaml nacre.yml .nacre/policy.yaml .config/nacre/policies/good.yaml \
    policies/good.yaml policy.yaml .env; do
    mkdir -p "work/$(dirname "$name")"
    cp work/nacre.yaml "work/$name"
  done
  cd work
  unset NACRE_POLICY_DIR
  probe --policy ../good.yaml --workspace . -- write 3:new x , read 3:nacre.yaml , \
    read 3:../canary/file
  cd ..
  answer "write 3:new x" PERM
  answer "read 3:nacre.yaml" 'ok claw: "0.3.0"'
  answer "read 3:../canary/file" PERM
  # By name: not from here, and without a policy nothing is granted.
  cd work
  run run --policy good "$scratch/hello.wat"
  expect_status 127
  run run --workspace . "$scratch/hello.wat"
  expect_status 126
  cd ..
}

A01_a_level_that_is_not_here_is_never_replaced() {
  good
  local level
  for level in none process container vm; do
    sed "s/level: wasm/level: $level/" good.yaml >$level.yaml
    run run --policy $level.yaml "$scratch/hello.wat"
    expect_status 126
    expect_out ""
    expect_err_has "$level"
  done
  # What can't be enforced here is refused, not left out.
  sed 's/^  capabilities:/  capabilities:\n    network: {mode: allowlist, allowed_hosts: [example.com], ssrf_protection: {dns_pinning: false}}/' good.yaml >net.yaml
  run run --policy net.yaml "$scratch/hello.wat"
  expect_status 126
  expect_out ""
  sed 's/^  capabilities:/  capabilities:\n    shell: {mode: full}/' good.yaml >shell.yaml
  run run --policy shell.yaml "$scratch/hello.wat"
  expect_status 126
  expect_out ""
  # Where filters can't be had, nothing runs.
  local bad
  for bad in seccomp=EINVAL seccomp=ENOSYS; do
    last=(without "$bad" nacre run)
    status=0
    "$TOOLS/attack_without" $bad "$NACRE" run --policy good.yaml "$scratch/hello.wat" \
      </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
    [[ $status != 0 ]] || fail "it ran without a filter"
    expect_out ""
    expect_err_has "seccomp"
  done
}

P02_landlock_that_is_missing_is_told() {
  good
  local without=("$TOOLS/attack_without" landlock_create_ruleset=ENOSYS "$NACRE")
  bounded 20 "${without[@]}" explain --policy good.yaml
  expect_out_has landlock
  bounded 20 "${without[@]}" run --json --policy good.yaml "$scratch/hello.wat"
  expect_status 0
  expect_json
  expect_out_has '"name":"landlock","present":false'
  bounded 20 "${without[@]}" run --require-landlock 1 --policy good.yaml "$scratch/hello.wat"
  expect_status 126
  expect_out ""
  expect_err_has "Landlock"
  # The first wall stands without it.
  mkdir -p work
  bounded 20 "${without[@]}" run --policy good.yaml --workspace work \
    "$GUESTS/attack_probe.wasm" read 3:../canary/file , write 3:new x
  answer "read 3:../canary/file" PERM
  answer "write 3:new x" PERM
}

cases
