#!/bin/bash
# layers.sh TREE: which folder may include what.  CMake's include paths keep most of
# this; but a system header is on every path, and so is a neighbour by "../".
#
#   base <- egress <- policy, decide, plan <- audit, run and keeper <- tools <- cli, serve
#   backends and wasi-shims: the contract ("nacre/...") and their own headers
#   channel <- native, init; shared, native, channel <- process, none, docker
#   a third-party header: only in the folders named below
set -euo pipefail
cd "$1"
failures=0

complain() { # FILE:LINE SENTENCE
    echo "$1: $2"
    failures=$((failures + 1))
}

# is_base HEADER: of the contract, what the ground layer implements; own.h is macros only.
is_base() {
    local name=${1#nacre/}
    [[ $name == own.h || -e host/base/${name%.h}.c ]]
}

# within FOLDER ALLOWED…
within() {
    local folder=$1 allowed
    shift
    for allowed in "$@"; do
        [[ $folder == "$allowed" || $folder == "$allowed"/* ]] && return
    done
    return 1
}

judge_system() { # PLACE FOLDER HEADER
    local allowed
    case $3 in
    yaml.h) allowed="host/policy host/decide" ;;
    pcre2.h) allowed="host/policy host/decide host/secrets" ;;
    wasmtime.h | wasmtime/* | wasm.h | wasi.h) allowed="backends/wasm wasi-shims/host" ;;
    curl/*) allowed="host/door backends/docker" ;;
    ares.h | zlib.h) allowed="host/door" ;;
    openssl/*) allowed="host/door host/secrets" ;;
    jansson.h)
        allowed="host/egress host/policy host/plan host/audit host/run host/keeper host/cli"
        allowed+=" host/serve host/approvals host/tools host/author host/browser backends/docker" ;;
    seccomp.h) allowed="backends host/door" ;;
    nettle/*) allowed="host/base" ;;
    idn2.h) allowed="host/egress" ;;
    nacre/*) complain "$1" "<$3> is ours: include it as \"$3\"" && return ;;
    *) return ;;
    esac
    # shellcheck disable=SC2086 # a list of folders
    within "$2" $allowed || complain "$1" "<$3> belongs to $allowed, not to $2"
}

judge_contract() { # PLACE FOLDER HEADER
    case $2 in
    host/base) is_base "$3" || complain "$1" "base may not know of $3" ;;
    host/egress)
        case ${3#nacre/} in address.h | egress.h | leak.h | policy.h | url.h) ;; *)
            is_base "$3" || complain "$1" "egress judges names and addresses; $3 is above" ;;
        esac ;;
    host/policy | host/decide | host/plan)
        case $3 in nacre/nacre.h | nacre/executor.h | nacre/audit.h | nacre/zygote.h)
            complain "$1" "$2 decides and plans; $3 runs" ;;
        esac ;;
    host/audit)
        case $3 in nacre/nacre.h | nacre/executor.h | nacre/zygote.h)
            complain "$1" "$2 records; $3 runs" ;;
        esac ;;
    backends/* | wasi-shims/*)
        [[ $3 != nacre/nacre.h ]] || complain "$1" "$2 is below the embedder's $3" ;;
    esac
}

judge_own() { # PLACE FOLDER HEADER
    local folders=("$2") folder
    [[ $3 != *.inc ]] || return 0 # made by the build, in the folder's own rules
    case $2 in
    host/policy | host/decide) folders+=(host/policy host/decide) ;; # one library
    host/author) folders+=(host/policy host/tools) ;; # and a case as both are
    host/tools) folders+=(host/policy) ;; # a manifest is read as a policy is
    host/browser) folders+=(host/door) ;; # HTTP has one reader
    backends/*) folders+=(backends/shared) ;;&
    backends/native | backends/init) folders+=(backends/channel) ;;
    backends/process | backends/none | backends/docker)
        folders+=(backends/native backends/channel) ;;
    backends/wasm) folders+=(wasi-shims/host wasi-shims/abi) ;;
    wasi-shims/*) folders+=(wasi-shims/abi) ;;
    esac
    for folder in "${folders[@]}"; do
        [[ $3 != *..* && -e $folder/$3 ]] && return
    done
    complain "$1" "\"$3\" is not in ${folders[*]}: only the contract crosses folders"
}

# A header of the contract counts as its layer's: base, or none.
set_folder() { # FILE
    local top middle rest
    case $1 in
    host/include/*) is_base "${1#host/include/}" && folder=host/base || folder=contract ;;
    *) IFS=/ read -r top middle rest <<<"$1" && folder=$top/$middle ;;
    esac
}

include='^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]+'
seen=0
while IFS=: read -r file line text; do
    seen=$((seen + 1))
    set_folder "$file"
    header=${text##*[\"<]}
    case $text in
    *\<*) judge_system "$file:$line" "$folder" "$header" ;;
    *\"nacre/*) judge_contract "$file:$line" "$folder" "$header" ;;
    *) judge_own "$file:$line" "$folder" "$header" ;;
    esac
done < <(grep -rnoE "$include" --include='*.[ch]' host backends wasi-shims)

if [[ $seen == 0 ]]; then
    echo "no #include found below $1: is it the source tree?"
    exit 1
fi
[[ $failures == 0 ]] || { echo "$failures includes cross a border"; exit 1; }
echo "$seen includes, all within their borders"
