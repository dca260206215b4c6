#!/usr/bin/env bash
# nacre backends, version and completion: the machine, and the shell.
source "$(dirname "$0")/lib.sh"

run backends
expect_status 0
expect_err ""
expect_out_has "wasm       available"
expect_out_has "seccomp"
expect_out_has "none       available"
expect_out_has "process    available"
expect_out_has "vm         not available: "
expect_out_lacks $'\033'
run backends --json
expect_status 0
expect_json
expect_out_has '{"level":"wasm","available":true,"enforces":['
expect_out_has '{"level":"vm","available":false,"why":"'

run version
expect_status 0
grep -qE '^nacre [0-9]+\.[0-9]+\.[0-9]+$' "$scratch/out" || fail "nacre's version"
grep -qE '^wasmtime [0-9]+\.[0-9]+\.[0-9]+$' "$scratch/out" || fail "wasmtime's version"
grep -qE '^landlock ABI [0-9]+' "$scratch/out" || fail "landlock's version"
cp "$scratch/out" "$scratch/version"
run --version
cmp -s "$scratch/out" "$scratch/version" || fail "--version differs from version"
run version --json
expect_json
expect_out_has '"landlock_abi":'
# No home to write to is no reason not to answer.
HOME=/nonexistent run version
expect_status 0

# ---- a machine that lacks something ----

# Where the program looks for it: no library, and one that is something else.  A build
# directory may lie in another one.
mkdir -p {broken,strange}/{build,deps/wasmtime/lib}
echo "not a library" >broken/deps/wasmtime/lib/libwasmtime.so
cp -L "$(ldd "$NACRE" | sed -nE 's/.*libc\.so.* => (.*) \(.*/\1/p')" \
  strange/deps/wasmtime/lib/libwasmtime.so
for place in broken strange; do
  ln -s ../deps "$place/build/deps"
  cp "$NACRE" "$place/build/nacre"
done
wat_say 1 hello hello.wat
run run hello.wat # into the cache: what is told then comes from the guest's own process
expect_status 0
for lacking in "broken/wasmtime can't be loaded: " \
  "strange/this libwasmtime.so is not wasmtime "; do
  NACRE=$PWD/${lacking%%/*}/build/nacre run run hello.wat
  expect_status 125
  expect_out ""
  expect_err_has "${lacking#*/}"
  NACRE=$PWD/${lacking%%/*}/build/nacre run version # needs no engine
  expect_status 0
done

# without_cgroup WORD...: as run does, where no cgroup is to be seen; root in a user
# namespace does where we may not mount.
hide='mount -t tmpfs none /sys/fs/cgroup && exec "$0" "$@"'
way=-m
unshare "$way" sh -c "$hide" true 2>/dev/null || way=-rm
without_cgroup() {
  last=(nacre "$@" "(without a cgroup, unshare $way)")
  status=0
  unshare "$way" sh -c "$hide" "$NACRE" "$@" <"$input" >"$scratch/out" 2>"$scratch/err" ||
    status=$?
}
policy greedy greedy.yaml "cpu_shares: 2000"
policy modest modest.yaml "cpu_shares: 512"
without_cgroup run --policy greedy.yaml hello.wat
expect_status 126
expect_out ""
expect_err_has "nacre: denied: greedy.yaml:17:17: 2000 where 1024 is an ordinary share: "
expect_err_has "nacre: fix: lower it to 1024 or give this user a cgroup"
without_cgroup run --json --policy greedy.yaml hello.wat
expect_status 126
expect_json
expect_out_has '"code":"not-enforceable","rule":"resource_limits.cpu_shares"'
expect_out_has '"file":"greedy.yaml","line":17,"column":17'
without_cgroup explain --policy greedy.yaml
expect_status 0
expect_out_has "plan    refused: 1 line below"
expect_out_lacks "can run"
without_cgroup explain --json --policy greedy.yaml
expect_out_has '"runnable":false'
without_cgroup explain --policy greedy.yaml --tool hello.wat
expect_out_has "hello.wat would not run"
expect_out_has "greedy.yaml:17:17: 2000 where 1024 is an ordinary share: "
without_cgroup check greedy.yaml
expect_status 0
expect_out_has "greedy.yaml:17:17: note: can't run here: 2000 where 1024 is an ordinary share: "
# A lower share needs none.
without_cgroup run --policy modest.yaml hello.wat
expect_status 0
expect_out hello
without_cgroup explain --policy modest.yaml
expect_out_has "plan    can run"
without_cgroup check modest.yaml
expect_out_lacks "note:"

# ---- completion ----

verbs=(run exec check explain inspect backends cache audit version completion)
for shell in bash zsh fish; do
  run completion "$shell"
  expect_status 0
  expect_err ""
  cp "$scratch/out" "script.$shell"
done
# Every option that help knows is known to every shell.
for verb in "${verbs[@]}"; do
  "$NACRE" "$verb" --help | grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+' >options
  while read -r option; do
    grep -qE -- "^ +$verb:-\\*.* $option( |')" script.bash || fail "bash: $verb $option"
    sed -n "/^    $verb)/,/;;/p" script.zsh | grep -qE -- "'\\*?$option\\[" ||
      fail "zsh: $verb $option"
    grep -qE -- "seen_subcommand_from $verb(; and not __nacre_guest)?' -l ${option#--}( |\$)" \
      script.fish ||
      fail "fish: $verb $option"
  done <options
done

bash -n script.bash || fail "bash can't read the script"
# shellcheck disable=SC1091
source ./script.bash
complete_words() {
  COMP_WORDS=("$@")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _nacre || true # that nothing fits is no failure
  printf '%s\n' "${COMPREPLY[@]}" >"$scratch/out"
  last=(complete "$@")
}
complete_words nacre ch
expect_out check
complete_words nacre run --time
expect_out --timeout-ms
complete_words nacre audit v
expect_out verify
mkdir folder && touch file.wasm
complete_words nacre run fi
expect_out file.wasm
complete_words nacre run --workspace fo
expect_out folder
complete_words nacre run --fuel ""
expect_out ""
complete_words nacre run --policy works
expect_out workspace
complete_words nacre exec --policy she
expect_out shell
# What follows the module or -- is the guest's: no option of nacre's is offered.
complete_words nacre run --policy plain file.wasm --time
expect_out ""
complete_words nacre run --policy plain -- ls --time
expect_out ""
complete_words nacre run --policy plain --time
expect_out --timeout-ms

run completion csh
expect_status 125
run completion bsh
expect_status 125
expect_err "nacre: completion does not know 'bsh'; did you mean 'bash'?"
run completion --json bash
expect_json
expect_out_has '{"shell":"bash","script":"_nacre_policies()'

passed
