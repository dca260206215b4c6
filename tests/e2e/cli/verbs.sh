#!/usr/bin/env bash
# What holds for every verb: help, misspelt words, where things are printed.
source "$(dirname "$0")/lib.sh"

run
expect_status 125
expect_out ""
expect_err_has "usage: nacre VERB"

for word in help --help -h "help --help"; do
  # shellcheck disable=SC2086 # one word or two
  run $word
  expect_status 0
  expect_err ""
  expect_out_has "exit status:"
  for number in 124 125 126 127 134 137 152 153; do
    expect_out_has "$number "
  done
done

verbs=(run exec check explain inspect backends cache audit ps stop rm recreate prune
  image keeper input-scan intent parse convert version completion)
run --help
for verb in "${verbs[@]}"; do
  expect_out_has "  $verb "
done
[[ $(grep -c '^  [a-z]* * [a-z]' "$scratch/out") -ge ${#verbs[@]} ]] || fail "verbs listed"

for verb in "${verbs[@]}"; do
  run "$verb" --help
  expect_status 0
  expect_err ""
  expect_out_has "usage: nacre $verb"
  sed -n '/^example:$/,$p' "$scratch/out" | grep -q "nacre $verb" || fail "no example"
  expect_out_has "--json"
  cp "$scratch/out" "$scratch/help"
  run help "$verb"
  expect_status 0
  cmp -s "$scratch/out" "$scratch/help" || fail "help $verb differs from $verb --help"

  run "$verb" --jsn
  expect_status 125
  expect_out ""
  expect_err "nacre: unknown option '--jsn'; did you mean '--json'? see nacre $verb --help"
done

run rnu tool.wasm
expect_status 125
expect_err "nacre: unknown verb 'rnu'; did you mean 'run'? see nacre --help"
run $'\033[31mzap'
expect_status 125
expect_err "nacre: unknown verb '\\x1b[31mzap'; see nacre --help"
run help explian
expect_status 125
expect_err_has "did you mean 'explain'?"

# A failure of nacre itself is JSON too, and still says so on stderr.
run inspect --json no-such.wasm
expect_status 127
expect_json
expect_out_has '{"error":{"status":"not-found"'
expect_err_has "no-such.wasm"

# Nothing readable of a hidden verb in help.
run --help
expect_out_lacks "__"

# A reader that leaves early is no error worth a word; a full disk is.
last=(nacre "help | true")
(set +o pipefail; "$NACRE" --help 2>"$scratch/err" | true)
: >"$scratch/out"
expect_err ""
status=0
"$NACRE" --help >/dev/full 2>"$scratch/err" || status=$?
expect_status 125
expect_err_has "writing to stdout: No space left on device"

passed
