#!/usr/bin/env bash
# What `cmake --install` leaves works by itself, wherever it is moved: the program with
# its policies, and the library by way of pkg-config.
# Expects BUILD (the build directory), CC and HELLO (the tool hello.wasm), and what
# ../cli/lib.sh does.
here=$(realpath "$(dirname "$0")")
source "$here/../cli/lib.sh"
: "${BUILD:?}" "${CC:?}" "${HELLO:?}"
unset NACRE_POLICY_DIR

cmake --install "$BUILD" --prefix "$PWD/first" >"$scratch/out" 2>"$scratch/err" ||
  { last=(cmake --install) status=$?; fail "it can't be installed"; }
mv first moved
built=$NACRE
NACRE=$PWD/moved/bin/nacre
cp "$HELLO" hello.wasm
mkdir project
echo "a note" >project/note.txt

# Its own engine and its own policies; without them nothing runs.
run run --policy workspace --workspace project hello.wasm --read /workspace/note.txt
expect_status 0
expect_out_has "a note"
run explain --policy workspace --json
expect_out_has "$PWD/moved/share/nacre/policies/workspace.yaml"
mv moved/lib/nacre aside
run run --policy workspace hello.wasm
expect_status 125
expect_err_has "wasmtime can't be loaded"
mv aside moved/lib/nacre
if readelf -d "$NACRE" | grep -E 'R(UN)?PATH' | grep -vF '[$ORIGIN/'; then
  fail "the program looks for libraries outside of where it is installed"
fi
# An empty entry is the current directory, which may be anybody's.
for program in "$built" "$NACRE"; do
  checks=$((checks + 1))
  if readelf -d "$program" | grep -E 'R(UN)?PATH' | grep -E '\[:|::|:]'; then
    fail "$program looks for libraries in the current directory"
  fi
done

# The door, which is another program, is found from there and has all that it needs.
checks=$((checks + 1))
moved/libexec/nacre/nacre-door --check || fail "the door is not installed, or does not run"

# An embedder finds all that it needs by one word.
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$PWD/moved" -name nacre.pc)")
read -ra flags < <(pkg-config --cflags --libs nacre)
"$CC" -std=gnu17 "$here/embed.c" "${flags[@]}" -o embedder 2>"$scratch/err" ||
  { last=("$CC" embed.c "${flags[@]}") status=$?; fail "it can't be linked"; }
export NACRE_PROGRAM=$NACRE
NACRE=$PWD/embedder
run workspace "$PWD/project" "$PWD/hello.wasm" --read /workspace/note.txt
expect_status 0
expect_out_has "a note"
expect_err "embed: exited"

for file in bash-completion/completions/nacre zsh/site-functions/_nacre \
  fish/vendor_completions.d/nacre.fish; do
  checks=$((checks + 1))
  grep -q explain "moved/share/$file" || fail "no completion in $file"
done

passed
