# Images whose programs are this machine's own, for whoever sources it with `root`, a
# directory to make one in, and `socket`, the engine's.

ask() { # PATH CURL-OPTION...
    local path=$1
    shift
    curl -sS --fail-with-body --noproxy '*' --max-time 60 --unix-socket "$socket" "$@" \
        "http://engine$path"
}

# with_libraries FILE...: each at its own place, and what the loader would load for it.
# (/lib and /lib64 are links into /usr, as on the host.)
with_libraries() {
    local file
    for file in "$@" $(ldd "$@" 2>/dev/null | grep -oE '/[^ :)]+' | sort -u); do
        file=$(realpath -s "$file")
        case $file in /lib*) file=/usr$file ;; esac
        [[ -f $file && ! -e $root$file ]] || continue
        mkdir -p "$root${file%/*}"
        cp -L "$file" "$root$file"
    done
}

make_skeleton() {
    local name
    mkdir -p "$root"/{boot,dev,etc/ssl/certs,home,proc,root,sys,tmp,var,workspace} \
        "$root"/usr/{bin,lib,lib64,sbin}
    chmod 1777 "$root/tmp"
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
    printf '%s\n' root:x:0:0:root:/root:/bin/sh user:x:1000:1000:user:/home:/bin/sh \
        nobody:x:65534:65534:nobody:/:/bin/false >"$root/etc/passwd"
    printf '%s\n' root:x:0: user:x:1000: nogroup:x:65534: >"$root/etc/group"
}

# For all that is not there yet.
add_busybox() {
    local name
    cp "$(command -v busybox)" "$root/usr/bin/busybox"
    for name in $(busybox --list); do
        [[ -e $root/usr/bin/$name ]] || ln -s busybox "$root/usr/bin/$name"
    done
}

import_root() { # NAME TAG
    local query="fromSrc=-&repo=$1&tag=$2"
    query+='&changes=ENV%20PATH%3D%2Fusr%2Fbin%3A%2Fbin'
    tar -C "$root" --owner=0 --group=0 -cf - . |
        ask "/images/create?$query" -X POST -H 'Content-Type: application/x-tar' -T - |
        grep -q '"status":"sha256:'
}

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}
