#!/bin/bash
# fetch_test.sh: backends/wasm/fetch-wasmtime, with pip and cargo played by stubs, on a
# copy whose pins are the sums of small made-up files.  Nothing is downloaded.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
machine=$(uname -m)
# Itself, not a wrapper that needs more tools than the script is given below.
python=$(python3 -c 'import sys; print(sys.executable)')

fail() { echo "$*"; failures=$((failures + 1)); }
sum_of() { sha256sum "$1" | cut -d' ' -f1; }

# What the registries would send; `make_wheel TEXT` and `make_crate TEXT`.
make_wheel() {
    rm -rf "$scratch/wheel"
    mkdir -p "$scratch/wheel/wasmtime/linux-$machine"
    echo "$1" >"$scratch/wheel/wasmtime/linux-$machine/_libwasmtime.so"
    (cd "$scratch/wheel" && "$python" -m zipfile -c ../wasmtime-50.0.1-x.whl wasmtime)
}
make_crate() {
    local top=wasmtime-c-api-impl-50.0.1
    rm -rf "${scratch:?}/$top"
    mkdir -p "$scratch/$top/include/wasmtime"
    echo "#define WASMTIME_VERSION \"50.0.1\" // $1" >"$scratch/$top/include/wasmtime.h"
    printf '#cmakedefine WASMTIME_FEATURE_%s\n' WAT DISABLE_LOGGING \
        >"$scratch/$top/include/wasmtime/conf.h.in"
    touch "$scratch/$top/include"/{wasm,wasi}.h
    tar -C "$scratch" --sort=name --mtime=@0 --owner=0 --group=0 -cf - "$top" |
        gzip -n >"$scratch/$top.crate"
}

# The tools that the script calls, and no others: a machine with pip and cargo.
mkdir -p "$scratch/bin" "$scratch/prefix"
for tool in bash cat cp dirname grep gzip head mkdir mktemp mv rm sed sha256sum tar \
    uname; do
    ln -s "$(command -v "$tool")" "$scratch/bin/$tool"
done
cat >"$scratch/bin/python3" <<STUB
#!/bin/bash
case "\$*" in
*"pip --version") ;;
*"pip download"*)
    mkdir -p "\${@: -2:1}" && cp "$scratch/wasmtime-50.0.1-x.whl" "\${@: -2:1}" ;;
*) exec "$python" "\$@" ;;
esac
STUB
cat >"$scratch/bin/cargo" <<STUB
#!/bin/bash
mkdir -p "\$CARGO_HOME/registry/cache/registry"
cp "$scratch/wasmtime-c-api-impl-50.0.1.crate" "\$CARGO_HOME/registry/cache/registry/"
echo "error: there is nothing to install" >&2
exit 101
STUB
chmod +x "$scratch/bin"/{python3,cargo}

make_wheel good
make_crate good
mkdir -p "$scratch/tree/backends/wasm"
script=$scratch/tree/backends/wasm/fetch-wasmtime
library_sum=$(sum_of "$scratch/wheel/wasmtime/linux-$machine/_libwasmtime.so")
crate_sum=$(sum_of "$scratch/wasmtime-c-api-impl-50.0.1.crate")
sed -e "s#^$machine) library_sum=.*#$machine) library_sum=$library_sum ;;#" \
    -e "s#^crate_sum=.*#crate_sum=$crate_sum#" \
    -e "s#in /usr/local /usr;#in $scratch/prefix;#" \
    "$here/../../backends/wasm/fetch-wasmtime" >"$script"
chmod +x "$script"
deps=$scratch/tree/build/deps

fetch() { # [VARIABLE=VALUE…]: what it says goes to $said
    said=$(env -i PATH="$scratch/bin" HOME="$scratch" CARGO_HOME="$scratch/cargo" "$@" \
        "$script" 2>&1)
}
anew() { rm -rf "$deps" "$scratch/cargo"; }
refused() { # NAME PATTERN [VARIABLE=VALUE…]: non-zero, says so, leaves nothing behind
    local name=$1 pattern=$2
    shift 2
    if fetch "$@"; then fail "$name: accepted"; fi
    [[ $said == *"$pattern"* ]] || fail "$name: said: $said"
    [[ -z $(find "$deps" -mindepth 1 2>/dev/null) ]] || fail "$name: left $(find "$deps")"
}

# From the registries.
anew
fetch || fail "good downloads: refused: $said"
[[ $(<"$deps/wasmtime/lib/libwasmtime.so") == good ]] || fail "good downloads: no library"
[[ $(<"$deps/wasmtime/include/wasmtime/conf.h") == "#define WASMTIME_FEATURE_WAT" ]] ||
    fail "good downloads: conf.h is $(<"$deps/wasmtime/include/wasmtime/conf.h")"
[[ $(ls -A "$deps") == wasmtime ]] || fail "good downloads: left $(ls -A "$deps")"
mkdir "$scratch/away"
mv "$scratch/bin/cargo" "$scratch/bin/python3" "$scratch/away"
fetch || fail "present: asked for a tool: $said"
[[ -z $said ]] || fail "present: said: $said"
mv "$scratch/away/python3" "$scratch/bin/"
anew
refused "no cargo" "apt-get install cargo"
mv "$scratch/away/cargo" "$scratch/bin/"
anew
make_wheel tampered
refused "tampered library" "is pinned: it is not used"
make_wheel good
anew
make_crate tampered
refused "tampered crate" "is pinned: it is not used"
make_crate good

# From a directory, by name or installed.
copy=$scratch/copy
mkdir -p "$copy/lib" "$copy/include/wasmtime"
touch "$copy"/include/{wasm.h,wasi.h,wasmtime/conf.h}
echo given >"$copy/lib/libwasmtime.so"
echo '#define WASMTIME_VERSION "50.0.0"' >"$copy/include/wasmtime.h"
anew
refused "another version by name" "holds no wasmtime 50.0.1" NACRE_WASMTIME="$copy"
refused "no such directory" "holds no wasmtime 50.0.1" NACRE_WASMTIME="$scratch/nowhere"
echo '#define WASMTIME_VERSION "50.0.1"' >"$copy/include/wasmtime.h"
fetch || fail "before a name: refused: $said"
fetch NACRE_WASMTIME="$copy" || fail "by name: refused: $said"
[[ $(<"$deps/wasmtime/lib/libwasmtime.so") == given ]] ||
    fail "by name: a copy that was there before was kept"
anew
cp -R "$copy/." "$scratch/prefix"
echo installed >"$scratch/prefix/lib/libwasmtime.so"
fetch || fail "installed: refused: $said"
[[ $(<"$deps/wasmtime/lib/libwasmtime.so") == installed ]] || fail "installed: not used"

[[ $failures == 0 ]] || { echo "$failures failed"; exit 1; }
echo "fetch-wasmtime takes what is pinned, and nothing else"
