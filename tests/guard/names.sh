#!/bin/bash
# names.sh TRAP.wasm: the guests' name sections survive the build, so that a backtrace
# can name the functions.
set -euo pipefail
[[ -r $1 ]] || { echo "$1 is not built"; exit 1; }
for name in outermost middle innermost; do
    if ! grep -qaF "$name" "$1"; then
        echo "$1 has lost the name $name: was it linked through wasm-opt, or stripped?"
        exit 1
    fi
done
