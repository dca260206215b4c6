#!/bin/bash
# pure.sh NM LIBRARY: planning is a function of its arguments.  What could reach a file,
# a clock, a socket, the environment or another process may not be called there.
set -euo pipefail

impure='(f|fd|p)?open(at|at2|dir)?(64)?|f?read|f?write|[lf]?stat(x|at)?(64)?|access|readlink'
impure+='|realpath|unlink|mkdir|getcwd|socket|connect|bind|send|recv|clock_gettime|time'
impure+='|gettimeofday|getrandom|nacre_random|nacre_clock_.*|(secure_)?getenv|fork|v?fork'
impure+='|clone|exec[vlpe]*|posix_spawnp?|syscall|f?printf|puts'

called=$("$1" -u "$2" | awk '$1 == "U" { print $2 }' |
    sed -E 's/@.*//; s/^__(.*)_(chk|2)$/\1/' | sort -u)
if ! grep -qx 'nacre_text_shown' <<<"$called"; then
    echo "$2: its calls can't be read: nothing is proved"
    exit 1
fi
if found=$(grep -xE "$impure" <<<"$called"); then
    echo "$2 calls what planning may not:" $found
    exit 1
fi
