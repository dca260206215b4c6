#!/bin/bash
# wasm.sh NACRE GUESTS [--inside]: what a wasm guest makes of a secret, through the command
# line and a real door, in the test network: named and put in by the host, as a stand-in, in
# a variable, as a file.  The observer is the server, and whoever may look around on this
# machine while a run is under way and after it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${3:-} == --inside ]] || exec "$here/../net/run" -- "$0" "$1" "$2" --inside
source "$here/../net/lib.sh"
nacre=$1 guests=$2
value=w4sm-s3cret-9fKq2Lx
failures=0
work=$(mktemp -d /tmp/nacre-wasm-XXXXXX)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_RUNTIME_DIR=$work
unset XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME
cd "$work"

wrong() {
    echo "$1: got '$2', wanted '$3'"
    failures=$((failures + 1))
}
is() { [[ $2 == "$3" ]] || wrong "$@"; }
has() { [[ $2 == *"$3"* ]] || wrong "$@"; }
lacks() { [[ $2 != *"$3"* ]] || wrong "$1 (must not be there)" "$2" "$3"; }

policy() { # NAME INJECTION [TIMEOUT-MS]
    cat >"$1.yaml" <<END
claw: "0.3.0"
kind: Sandbox
metadata: {name: $1}
spec:
  level: wasm
  capabilities:
    network:
      mode: allowlist
      allowed_hosts: [api.example.com, other.example.org]
    secrets: {injection: $2, leak_detection: {enabled: true, patterns: 22}}
  resource_limits: {timeout_ms: ${3:-20000}}
END
}
policy boundary host-boundary
policy variable environment
policy file file-mount
policy slow environment 300000
policy slow-file file-mount 300000

# run POLICY GUEST WORD…: what it said is in $said, how it ended in $status.
run() {
    local name=$1 options=()
    shift
    while [[ $1 == --* ]]; do options+=("$1" "$2") && shift 2; done
    status=0
    net_reset
    said=$("$nacre" run --policy "$name.yaml" "${options[@]}" "$guests/$1.wasm" "${@:2}" \
        2>&1) || status=$?
}
# How often the value reached the server, in anything.
arrived() { grep -oF -e "$value" "$NACRE_NET_LOG" | wc -l; }

printf %s "$value" | "$nacre" secret set KEY --host api.example.com --grant any >/dev/null

# Named by the guest, put in by the host, for the host that it is bound to alone.
run boundary --secret KEY fetch -H 'Authorization: Bearer {{secret:KEY}}' \
    https://api.example.com/echo
is "named: status" "$status" 0
has "named: the server answers" "$said" '"Authorization": "Bearer [redacted:KEY]"'
lacks "named: the echo is scrubbed" "$said" "$value"
is "named: the server has it" "$(arrived)" 1
run boundary --secret KEY fetch -H 'X-Key: {{secret:KEY}}' https://other.example.org/echo
is "another host: denied" "$status" 1
has "another host: why" "$said" "bound to api.example.com"
is "another host: no request" "$(count_requests)" 0
run boundary fetch -H 'X-Key: {{secret:KEY}}' https://api.example.com/echo
is "not asked for: denied" "$([[ $status != 0 ]] && echo yes)" yes
is "not asked for: nothing arrived" "$(arrived)" 0
run boundary --secret KEY args
lacks "the guest of a named secret never has it" "$said" KEY=

# A stand-in: good at the secret's hosts, and as long as it lives.
run boundary --token KEY fetch -e X-Key=KEY https://api.example.com/echo
is "token: status" "$status" 0
is "token: exchanged" "$(arrived)" 1
lacks "token: not in the echo" "$said" "$value"
run boundary --token KEY fetch -e X-Key=KEY https://other.example.org/echo
is "token elsewhere: denied" "$status" 1
is "token elsewhere: nothing arrived" "$(arrived)" 0
run boundary --token KEY args
has "token: what the guest has" "$said" KEY=nct_

# In a variable and as a file: the guest has it, but it does not get out.
run variable --secret KEY args
has "variable: it is there" "$said" "KEY=[redacted:KEY]"
for host in api.example.com other.example.org; do
    run variable --secret KEY fetch -e X-Key=KEY "https://$host/echo"
    is "variable: kept from leaving for $host" "$status" 11
    is "variable: no request to $host" "$(count_requests)" 0
    run variable --secret KEY fetch "https://$host/echo"
    is "variable: the control to $host" "$status $(count_requests)" "0 1"
done
run file --secret KEY cat /run/secrets/KEY
is "file: status" "$status" 0
has "file: it is there" "$said" "[redacted:KEY]"
lacks "file: not in the clear" "$said" "$value"
run file cat /run/secrets/KEY
is "file: gone in a run without" "$status" 1

# Nobody else finds it: not in what a process shows of itself, not on any disk.
traces() {
    local pid
    for pid in /proc/[0-9]*; do
        ! grep -qsF -e "$value" "$pid/cmdline" "$pid/environ" || echo "$pid"
    done
    # Not the data of the tests' own engines: gigabytes that no run of these touches.
    grep -rlsF --exclude-dir='nacre-engine-*' -e "$value" "$work" /dev/shm /run /var/tmp || true
}
env "SHOWN=$value" sleep 60 &
printf %s "$value" >shown
sleep 0.2
is "the control is found" "$(traces | sort)" "$(printf '%s\n' "/proc/$!" "$work/shown")"
kill $!
wait $! || true
rm shown
for name in slow slow-file; do
    "$nacre" run --policy "$name.yaml" --secret KEY "$guests/fetch.wasm" \
        'https://other.example.org/slow?ms=300000' >/dev/null 2>&1 &
    sleep 1
    is "while $name runs" "$(traces)" ""
    kill -TERM $! 2>/dev/null || wrong "$name: still under way" no yes
    wait $! || true
    is "after $name" "$(traces)" ""
done

((failures == 0)) || { echo "$failures failed"; exit 1; }
echo "a guest's secrets: all as it should be"
