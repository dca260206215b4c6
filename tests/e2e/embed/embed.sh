#!/usr/bin/env bash
# The example of a host program with nacre inside does what the program itself would.
# Expects EMBED (that program), HELLO (the tool hello.wasm) and what ../cli/lib.sh does.
source "$(dirname "$0")/../cli/lib.sh"
: "${EMBED:?}" "${HELLO:?}"
export NACRE_PROGRAM=$NACRE
NACRE=$EMBED # for `run`

mkdir project
echo "a note" >project/note.txt

run workspace "$PWD/project" "$HELLO" --read /workspace/note.txt
expect_status 0
expect_out_has "a note"
expect_err "embed: exited"

run workspace "$PWD/project" "$HELLO" --read /workspace/missing
expect_status 1
expect_out_lacks "a note"
expect_err_has "embed: exited"

run deny-all "$PWD/project" "$HELLO" --read /workspace/note.txt
expect_status 126
expect_out ""
expect_err_has "embed: denied: "

run no-such-policy "$PWD/project" "$HELLO"
expect_status 127
expect_out ""
expect_err_has "no-such-policy"

passed
