#!/usr/bin/env bash
# Tools in other languages, as their authors build them: those of guest-tools/samples and
# what `nacre new` makes.  Where a toolchain is missing, nacre has to say so with the
# package that brings it, and the test is skipped in the end; but Rust may be missing, see
# toolchains.  Expects SAMPLES, and TOOLCHAINS: a directory of programs.
source "$(dirname "$0")/../cli/lib.sh"
: "${SAMPLES:?}" "${TOOLCHAINS:?}"
PATH=$TOOLCHAINS:$PATH

real_home=$(getent passwd "$(id -u)" | cut -d: -f6)
# Toolchains keep what they made, and rustup what it runs, in a person's home.
# Compiling Go's library takes most of the time: it is kept in the build directory.
export GOCACHE=${KEPT:-$scratch}/go-cache GOPATH=$scratch/go GOTOOLCHAIN=local GOFLAGS=-mod=mod
export RUSTUP_HOME=${RUSTUP_HOME:-$real_home/.rustup} CARGO_HOME=$scratch/cargo
export ZIG_GLOBAL_CACHE_DIR=$scratch/zig

missing=()

# build_and_test DIRECTORY LANGUAGE
build_and_test() {
  run build "$1"
  if [[ $status == 126 ]]; then
    grep -qE "is not in PATH; |has no target .*; " "$scratch/err" || fail "what is missing is not said"
    missing+=("$1: $(sed 's/^nacre: //' "$scratch/err")")
    return
  fi
  expect_status 0
  run test "$1"
  expect_status 0
  expect_out_has " 0 failed"
  expect_out_lacks " 0 passed"
  tested+=("$1")
}

tested=()
cp -R "$SAMPLES" samples
for tool in samples/*/*/; do
  run check "$tool" # the module is not there yet: its manifest is all that is asked
  expect_status 127
  build_and_test "${tool%/}"
done
for language in c go rust zig assemblyscript; do
  run new "$language" "in_$language"
  expect_status 0
  build_and_test "in_$language"
done
printf 'built and tested: %s\n' "${tested[@]}"
((${#missing[@]} == 0)) || printf 'not here: %s\n' "${missing[@]}"
for language in c go zig assemblyscript; do
  [[ " ${tested[*]} " == *" in_$language "* ]] && continue
  # C is what nacre's own tools are made of: its toolchain is here.
  [[ $language != c ]] || fail "not even C is built"
  exit 77
done
passed
