# Sourced by every script here.  Expects, besides what ../cli/lib.sh does, GUESTS: the
# directory that `fetch` fills.
: "${GUESTS:?where the guests lie}"
source "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"

# need_guest NAME: sets `module`.  What could not be had skips its test: tests/run tells
# it, and in CI that is a failure.
need_guest() {
  module=$GUESTS/$1.wasm
  if [[ ! -r $module ]]; then
    echo "build/deps/guests/$1.wasm is not there; make it with tests/e2e/guests/fetch $1"
    exit 77
  fi
}

# Compiled once, for all the runs of a script: big modules take longer than a run may.
compile_guest() {
  run cache add "$module"
  expect_status 0
}
