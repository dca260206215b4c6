#!/bin/bash
# self_test.sh: each guard goes green on a small clean tree and red, at the right place,
# on one planted violation.  A guard that can't fail guards nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# plant FILE LINE…: a clean tree, and in it this file.
plant() {
    local file=$1 tree=$scratch/tree
    shift
    rm -rf "$tree"
    mkdir -p "$tree"/host/{include/nacre,base,policy,decide,plan,audit,keeper,run,cli} \
        "$tree"/backends/{shared,wasm,process,docker,native,channel,init} \
        "$tree"/wasi-shims/{abi,host}
    echo '#include <stdio.h>' >"$tree/host/base/buf.c"
    echo '#include "nacre/own.h"' >"$tree/host/include/nacre/buf.h"
    touch "$tree"/host/include/nacre/{own,plan,executor,nacre,audit}.h \
        "$tree"/host/{plan,run}/inside.h "$tree"/backends/{shared,process}/wall.h \
        "$tree"/wasi-shims/{abi,host}/shim.h
    mv "$tree/backends/process/wall.h" "$tree/backends/process/jail.h"
    touch "$tree"/backends/native/box.h "$tree"/backends/channel/frame.h
    printf '%s\n' '' "$@" >"$tree/$file"
}

green() { # GUARD: what was planted is fine
    local said
    if ! said=$("$here/$1" "${2:-$scratch/tree}" 2>&1); then
        echo "$1 went red on something clean: $said"
        failures=$((failures + 1))
    fi
}

red() { # GUARD PATTERN [SUBJECT]: it is found, and the message has this in it
    local said
    if said=$("$here/$1" "${3:-$scratch/tree}" 2>&1); then
        echo "$1 stayed green; it should have said: $2"
        failures=$((failures + 1))
    elif [[ $said != *"$2"* ]]; then
        echo "$1 said: $said; it should have said: $2"
        failures=$((failures + 1))
    fi
}

# FILE INCLUDE: red at its line; the rows below are each a border.
while read -r file include; do
    plant "$file" "#include $include"
    red layers.sh "$file:2: "
done <<'ROWS'
host/base/x.c "nacre/plan.h"
host/base/x.c <yaml.h>
host/include/nacre/buf.h "nacre/plan.h"
host/policy/x.c "nacre/executor.h"
host/base/x.c <jansson.h>
host/policy/x.c <nettle/sha2.h>
host/decide/x.c "nacre/nacre.h"
host/plan/x.c "nacre/audit.h"
host/plan/x.c "../run/inside.h"
host/keeper/x.c <curl/curl.h>
host/keeper/x.c "../run/inside.h"
host/plan/x.c <pcre2.h>
host/audit/x.c "nacre/executor.h"
host/run/x.c <wasmtime.h>
host/run/x.c <seccomp.h>
host/run/x.c "host/plan/inside.h"
host/run/x.c <nacre/plan.h>
host/cli/x.c <curl/curl.h>
backends/wasm/x.c "nacre/nacre.h"
backends/wasm/x.c "jail.h"
backends/process/x.c <wasmtime/store.h>
backends/process/x.c "shim.h"
backends/native/x.c "jail.h"
backends/init/x.c "box.h"
backends/channel/x.c "box.h"
backends/wasm/x.c "frame.h"
wasi-shims/host/x.c "wall.h"
wasi-shims/abi/x.h "../host/shim.h"
ROWS
while read -r file include; do
    plant "$file" "#include $include"
    green layers.sh
done <<'ROWS'
host/base/x.c "nacre/buf.h"
host/base/x.c <nettle/sha2.h>
host/policy/x.c <yaml.h>
host/plan/x.c "inside.h"
host/run/x.c "nacre/executor.h"
backends/wasm/x.c <wasmtime.h>
backends/wasm/x.c "shim.h"
backends/process/x.c "wall.h"
backends/process/x.c <seccomp.h>
backends/process/x.c "box.h"
backends/process/x.c "frame.h"
backends/native/x.c "frame.h"
backends/init/x.c "frame.h"
backends/init/x.c "wall.h"
ROWS
mkdir -p "$scratch/empty"/{host,backends/docker,wasi-shims}
red layers.sh "no #include" "$scratch/empty"

plant host/run/x.c 'int f(void) { return system("true"); }'
red banned.sh 'host/run/x.c:2: system() is banned'
plant backends/wasm/x.c '/* one' 'two */ char *s = "strcpy(";' 'strcpy (a, b);'
red banned.sh 'backends/wasm/x.c:4: strcpy() is banned'
plant wasi-shims/host/x.h '#define COPY(a, b) strcat(a, b)'
red banned.sh 'wasi-shims/host/x.h:2: strcat() is banned'
plant host/run/x.c '/* the system (a kernel) */' 'int i = x.system(1); // gets(' \
    'char *s = "\"popen(\""; int my_strcpy(int); snprintf(s, 1, "");'
green banned.sh
red banned.sh 'no C file' "$scratch/empty"

plant backends/docker/x.c '/* /archive */ int i; // "/copy"' \
    'int f(void) { return put("/containers/%s"' '    "/arch" "ive?path=", i); }'
red no_copies.sh 'backends/docker/x.c:3: /archive'
plant backends/docker/x.c 'char *s = "/containers/%s/copy";'
red no_copies.sh 'backends/docker/x.c:2: /copy'
plant backends/docker/x.c '/* /archive */ char *s = "an archive, a /copying";' '// "/copy"'
green no_copies.sh
red no_copies.sh 'no C file' "$scratch/empty"

red links.sh 'does not link libjansson' "$(command -v bash)"
red links.sh 'loads libtinfo at start' "$(command -v bash)"

printf '\0asm outermost innermost' >"$scratch/x.wasm"
red names.sh 'lost the name middle' "$scratch/x.wasm"

# tests/run: a skipped test is a failed test in CI, and told elsewhere.
suite() { # OUTPUT EXIT-STATUS: a build tree with one test
    rm -rf "$scratch/build"
    mkdir "$scratch/build"
    printf 'printf %%s "%s"\nexit %d\n' "$1" "$2" >"$scratch/build/t.sh"
    printf '%s\n' 'add_test(t bash t.sh)' \
        'set_tests_properties(t PROPERTIES SKIP_RETURN_CODE 77)' \
        >"$scratch/build/CTestTestfile.cmake"
}
filler=$(printf '%05000d' 0) # more than ctest shows of a passed test
newline=$'\n'
said='[  SKIPPED ] a_name'
for output in "$said" "$filler$newline$said$newline$filler"; do
    suite "$output" 0
    CI=true red ../run 'a skipped test is a failed test' "$scratch/build"
    CI='' green ../run "$scratch/build"
done
suite 'not on this machine' 77
CI=true red ../run 'a skipped test is a failed test' "$scratch/build"
CI='' green ../run "$scratch/build"
suite '[       OK ] a_name_SKIPPED' 0
CI=true green ../run "$scratch/build"
suite 'broken' 1
CI='' red ../run '0% tests passed' "$scratch/build"
echo >"$scratch/build/CTestTestfile.cmake"
CI='' red ../run 'No tests were found' "$scratch/build"

[[ $failures == 0 ]] || { echo "$failures failed"; exit 1; }
echo "every guard can fail"
