#!/bin/bash
# process.sh DOOR_ASK PROGRAM [--inside]: the door as a process: what it holds, what it can't
# do, that nothing of it stays, and that its memory does not grow.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${3:-} == --inside ]] || exec "$here/../net/run" -- "$0" "$1" "$2" --inside
source "$here/../net/lib.sh"
ask=$1 program=$2
failures=0
secret=value-of-the-key-that-nobody-may-see

is() { # WHAT GOT WANTED
    [[ $2 == "$3" ]] && return
    echo "$1: got '$2', wanted '$3'"
    failures=$((failures + 1))
}
field() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$door/status"; }

# start WORD…: asks in the background; sets `client` and `door`.
start() {
    "$ask" "$program" --allow api.example.com --secret "KEY=$secret@api.example.com" "$@" \
        >"$NACRE_NET_FILES/said" 2>&1 &
    client=$!
    for ((i = 0; i < 100; i++)); do
        # Only then: before it there is one that is merely tried out.
        [[ $(count_requests) == 0 ]] || { door=$(pgrep -P "$client" nacre-door) && return; }
        sleep 0.05
    done
    echo "no door was seen: $(<"$NACRE_NET_FILES/said")"
    exit 1
}
# gone PID: within 2 s.
gone() {
    for ((i = 0; i < 40; i++)); do
        [[ -e /proc/$1 ]] || { echo yes && return; }
        sleep 0.05
    done
    echo no
}

export FROM_THE_CALLER=1
start --most ms=20000 GET 'https://api.example.com/slow?ms=5000' 'X-Key: {{secret:KEY}}'
is "the value arrived" "$(count_events event=request "header:x-key=$secret")" 1
is "its environment" "$(tr '\0' '\n' <"/proc/$door/environ" | wc -c)" 0
is "its words" "$(tr '\0' ' ' <"/proc/$door/cmdline")" "nacre-door "
is "its directory" "$(readlink "/proc/$door/cwd")" /
is no_new_privs "$(field NoNewPrivs)" 1
is "capabilities" "$(field CapEff) $(field CapPrm) $(field CapAmb)" \
    "0000000000000000 0000000000000000 0000000000000000"
is "threads" "$(field Threads)" 1
is "its system calls are filtered" "$(field Seccomp) $(field Seccomp_filters)" "2 1"
is "core" "$(awk '/^Max core file size/ { print $5, $6 }' "/proc/$door/limits")" "0 0"
# The address sanitizer takes mlock() away, and keeps what is freed.
[[ ${NACRE_SANITIZED:-} ]] || is "locked memory" "$(($(sed -n 's/^VmLck:[[:space:]]*\([0-9]*\).*/\1/p' \
    "/proc/$door/status") > 0))" 1
# So is what libraries make of a value, where there is room for it.
room=$(awk '/^Max locked memory/ { print ($4 == "unlimited" || $4 >= 4194304) }' "/proc/$door/limits")
[[ ${NACRE_SANITIZED:-} || $room == 0 ]] || is "locked heap" "$(($(sed -n \
    's/^VmLck:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$door/status") > 2048))" 1
# 0 to 3, epoll, the guest's line and the connection; a name server's may be there yet.
is "few open files" "$(($(ls "/proc/$door/fd" | wc -l) <= 9))" 1
is "no file but the terminal's" \
    "$(find "/proc/$door/fd" -lname '/*' ! -lname /dev/null ! -lname "$NACRE_NET_FILES/said" |
        wc -l)" 0
# Another process of the same user can't read its memory; root without ptrace's capability
# stands for it.
if command -v setpriv >/dev/null && [[ $(id -u) == 0 ]]; then
    is "its memory is closed" "$(setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace \
        cat "/proc/$door/mem" 2>&1 | grep -c 'Permission denied')" 1
fi

# It dies with its host, however that ends.
kill -KILL "$client"
{ wait "$client" || true; } 2>/dev/null
is "gone with its host" "$(gone "$door")" yes

# A door that dies is an error, not a silence.
net_reset
start --most ms=20000 GET 'https://api.example.com/slow?ms=5000'
kill -KILL "$door"
status=0
wait "$client" || status=$?
is "its host sees its end" "$status" 2

# Not a few bytes more for each request, denied or done.
net_reset
start --scan --quiet --most ms=60000 --times 1500 --most requests=100000 \
    --most minute=100000 GET 'https://api.example.com/reflect?header=X-Key' \
    'X-Key: {{secret:KEY}}'
until (($(count_requests) > 200)) || [[ ! -e /proc/$door ]]; do sleep 0.2; done
[[ -e /proc/$door ]] || tail -n3 "$NACRE_NET_FILES/said"
before=$(field VmRSS)
while [[ -e /proc/$door ]] && (($(count_requests) < 1300)); do
    after=$(field VmRSS 2>/dev/null || echo "$after")
    sleep 0.2
done
wait "$client"
[[ ${NACRE_SANITIZED:-} ]] || is "memory grows by $before to $after" "$((${after% kB} - ${before% kB} < 1500))" 1

is "nothing is left" "$(pgrep -c -P $$ nacre-door || true)" 0
is "the value is in no file" "$(grep -rlF "$secret" "$NACRE_NET_FILES" | wc -l)" 0

((failures == 0)) || { echo "$failures failed"; exit 1; }
echo "the door keeps to itself"
