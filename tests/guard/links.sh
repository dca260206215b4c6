#!/bin/bash
# links.sh PROGRAM [bundled]: what is loaded before main().  Start-up is a budget: libcurl and
# libcrypto alone take several times what all of these do, and libwasmtime as much, so
# they may only be loaded when first used.
set -euo pipefail
program=$1

expected="libc libjansson libnettle libpcre2-8 libyaml-0"
[[ ${2:-} != bundled ]] || expected=libc
# What the C library brings along.
tolerated="libpthread libdl librt linux-vdso ld-linux-x86-64 ld-linux-aarch64"

needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' | sort -u)
loaded=$(ldd "$program" | sed -nE 's#^\s*([^ ]*/)?([^ /]*)\.so.*#\2#p' | sort -u)
status=0
if readelf -d "$program" | grep -E 'R(UN)?PATH'; then
    echo "$program has a path for libraries, which is searched for each of them at start"
    status=1
fi
for name in $expected; do
    if ! grep -qxF -e "$name" <<<"$needed"; then
        echo "$program does not link $name: is it the right program, or is this list old?"
        status=1
    fi
done
# libm only where a library of this system asks for it: nacre itself does without.
for name in $needed $(grep -vxF libm <<<"$loaded"); do
    if [[ " $expected $tolerated " != *" $name "* ]]; then
        echo "$program loads $name at start, which is not in its budget"
        status=1
    fi
done
[[ $status != 0 ]] || echo "$program loads exactly what it may"
exit $status
