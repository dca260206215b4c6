#!/usr/bin/env bash
# sum.sh go|rust|zig: a program of that language's compiler and standard library reads,
# writes, sleeps, fails and is refused as on any other WASI host.
source "$(dirname "$0")/lib.sh"

language=$1
need_guest "$language"
# How the language ends a program on bad input, and how it names a file in the workspace.
case $language in
go) crash=2 directory=/workspace/ ;;
rust) crash=134 directory=/workspace/ ;;
zig) crash=1 directory='' ;;
esac
compile_guest

# sum NUMBERS RESULT OPTION…
sum() {
  run run --workspace project --env WHO=you "${@:3}" "$module" \
    "$directory$1" "$directory$2"
}

mkdir project
seq 10 >project/numbers
seq 10 >project/.env

sum numbers result --policy workspace
expect_status 0
expect_out "hello from $language, you"$'\n'"sum 55"
expect_err ""
[[ $(cat project/result) == 55 ]] || fail "the result is not on the host's disk"

# The same file by a denied name, and the same writing where nothing may be written.
sum .env stolen --policy workspace
expect_status 3
expect_out "hello from $language, you"
expect_err_has "nacre: refused: $POLICIES/workspace.yaml:"
[[ ! -e project/stolen ]] || fail "the sum of a denied file was written"
sum numbers .env --policy workspace
expect_status 4
seq 10 | cmp -s - project/.env || fail "a denied file was changed"
sum numbers new --policy read-only
expect_status 4
expect_out "hello from $language, you"
[[ ! -e project/new ]] || fail "a read-only workspace was written"
sum numbers result --policy read-only
expect_status 4
[[ $(cat project/result) == 55 ]] || fail "a read-only file was changed"

run run --policy deny-all --env WHO=you "$module" "${directory}numbers" "${directory}new"
expect_status 3
expect_out "hello from $language, you"

sum missing new --policy workspace
expect_status 3
sum ../secret new --policy workspace
expect_status 3
[[ ! -e project/new ]] || fail "a sum of nothing was written"

echo "no number" >project/words
sum words new --policy workspace
expect_status "$crash"
expect_out "hello from $language, you"
if [[ $language == rust ]]; then # its panics are traps, and the backtrace names main
  expect_err_has "nacre: trapped: "
  expect_err_has "main"
fi
[[ ! -e project/new ]] || fail "a crashed program wrote its result"

passed
