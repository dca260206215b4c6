#!/bin/bash
# levels.sh DOOR_LEVELS PROGRAM [--inside]: native tools and their door, in the test
# network: by the proxy and by name, through a tunnel, upgraded and intercepted, with real
# clients, as root and as an ordinary user; and in containers where an engine is at
# $NACRE_TEST_DOCKER.  Each refusal counts when nothing arrived.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${3:-} == --inside ]] || exec "$here/../net/run" -- "$0" "$1" "$2" --inside
source "$here/../net/lib.sh"
native=$1 program=$2
failures=0
work=$(mktemp -d /tmp/nacre-levels-XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

wrong() {
    echo "$1: got '$2', wanted '$3'"
    failures=$((failures + 1))
}
is() { [[ $2 == "$3" ]] || wrong "$@"; }
has() { [[ $2 == *"$3"* ]] || wrong "$@"; }
lacks() { [[ $2 != *"$3"* ]] || wrong "$1 (must not be there)" "$2" "$3"; }

# policy NAME LEVEL SECRETS-LINES…
policy() {
    local name=$1 level=$2
    shift 2
    {
        printf 'claw: "0.3.0"\nkind: Sandbox\nmetadata:\n  name: native\nspec:\n'
        printf '  level: %s\n  capabilities:\n    network:\n' "$level"
        printf '      mode: allowlist\n      allowed_hosts: [api.example.com, '
        printf '"*.wild.example.com"]\n    shell:\n      mode: full\n'
        (($# == 0)) || printf '    secrets:\n'
        (($# == 0)) || printf '      %s\n' "$@"
    } >"$work/$name.yaml"
}

users=(root nobody)
[[ $(id -u) == 0 ]] || users=(me)
user=root

# as WORD…: as the user of the round.
as() {
    if [[ $user == nobody ]]; then
        setpriv --reuid 65534 --regid 65534 --clear-groups env \
            "NACRE_STATE_DIR=$work/nobody" HOME=/nonexistent "$@"
    else
        env "NACRE_STATE_DIR=$work/own" "$@"
    fi
}
mkdir -m 700 "$work/own" "$work/nobody"
[[ $(id -u) != 0 ]] || chown 65534:65534 "$work/nobody"

# run POLICY WORD… : the last word is the text; what it said is in $said.
run() {
    local name=$1
    shift
    net_reset
    said=$(as "$native" "$program" "$work/$name.yaml" "${@:1:$#-1}" -- "${*: -1}" 2>&1) ||
        true
}

direct="unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy;"
python='python3 -c "import sys,urllib.request as u; print(u.urlopen(sys.argv[1]).status)"'
udp='python3 -c "import socket as s; s.socket(2,2).sendto(bytes(9), (\"8.8.8.8\", 53))"'
node="node -e 'fetch(process.argv[1]).then(r=>console.log(r.status))'"

level_process() {
    policy plain process
    policy scan process 'injection: host-boundary' 'leak_detection: {enabled: true}'
    policy file process 'injection: file-mount'
    policy environment process 'injection: environment'
    local key='KEY=value-of-the-key@api.example.com'

    # A tunnel, by the proxy and by name.
    run plain 'curl -sS -m 9 https://api.example.com/'
    has "$user: curl by the proxy" "$said" "nacre test server"
    has "$user: and it is told" "$said" "sent CONNECT api.example.com:443"
    run plain "$direct curl -sS -m 9 https://api.example.com/"
    has "$user: curl by name" "$said" "nacre test server"
    run plain "$direct curl -sS -m 9 http://a.b.wild.example.com/"
    has "$user: curl by a wildcard's name" "$said" "nacre test server"
    run plain "$python https://api.example.com/"
    has "$user: python by the proxy" "$said" "200"
    run plain "$direct $python https://api.example.com/"
    has "$user: python by name" "$said" "200"
    for text in 'curl -sS -m 9 https://other.example.org/' \
        "$direct curl -sS -m 9 https://other.example.org/" \
        "$direct curl -sS -m 9 https://wild.example.com/" \
        "$direct curl -sS -m 9 --connect-to ::127.0.1.1:443 https://other.example.org/" \
        "$direct curl -sS -m 9 -H 'Host: other.example.org' http://api.example.com/" \
        'curl -sS -m 9 https://93.184.216.34/' "$direct curl -sS -m 5 http://93.184.216.34/" \
        "$direct curl -sS -m 5 http://api.example.com:81/" "$udp; curl -m 1 -s http://::/"; do
        run plain "$text -o /dev/null -w 'code %{http_code}\\n'"
        lacks "$user: $text" "$said" "code 200"
        is "$user: $text: arrived" "$(count_connections)" 0
        is "$user: $text: asked" "$(count_queries)" 0
        is "$user: $text: datagrams" "$(count_datagrams)" 0
    done

    # Upgraded: the tool says http and names the secret, which it never holds.
    run scan --secret "$key" "curl -sS -m 9 -H 'X-Key: {{secret:KEY}}' \
http://api.example.com/echo; env | grep -c value-of; ls /run/secrets 2>&1"
    has "$user: upgraded" "$said" "X-Key"
    lacks "$user: upgraded: the value comes back" "$said" "value-of-the-key"
    is "$user: upgraded: arrived" "$(count_connections '' 443)" 1
    is "$user: upgraded: in clear" "$(count_connections '' 80)" 0
    has "$user: upgraded: the value arrived" "$(show_events event=request)" \
        "value-of-the-key"

    # Intercepted: it says https, and trusts the sandbox's own CA.
    for text in 'curl -sS -m 9 https://api.example.com/' \
        "$direct curl -sS -m 9 https://api.example.com/" \
        "$python https://api.example.com/" "$direct $python https://api.example.com/" \
        "$direct $node https://api.example.com/"; do
        run scan --intercept api.example.com --secret "$key" "$text"
        has "$user: intercepted: $text" "$said" "exit 0"
        is "$user: intercepted: $text: arrived" "$(count_requests api.example.com)" 1
    done
    run scan --intercept api.example.com --secret "$key" \
        "curl -sS -m 9 -H 'X-Key: {{secret:KEY}}' https://api.example.com/echo"
    has "$user: intercepted with a secret" "$said" "exit 0"
    lacks "$user: intercepted: the value comes back" "$said" "value-of-the-key"
    has "$user: intercepted: the value arrived" "$(show_events event=request)" \
        "value-of-the-key"
    run scan --intercept api.example.com --secret "$key" \
        'git ls-remote https://api.example.com/x.git'
    has "$user: git" "$said" "not valid"

    # Handed over.
    run file --secret "$key" 'cat /run/secrets/KEY; stat -c " %a" /run/secrets/KEY'
    has "$user: as a file" "$said" "value-of-the-key 400"
    run environment --secret "$key" 'echo "$KEY"; tr "\0" " " </proc/1/cmdline'
    has "$user: as a variable" "$said" "value-of-the-key"
}

# The image has a busybox alone, which is told where to go by address.
level_container() {
    local image=(--image nacre-test-busybox:latest) kept
    export DOCKER_HOST=$NACRE_TEST_DOCKER
    policy box container
    policy boxed container 'injection: host-boundary' 'leak_detection: {enabled: true}'
    policy boxfile container 'injection: file-mount'
    for kept in "" s1; do
        run box "${image[@]}" ${kept:+--scope "$kept"} 'wget -q -O - http://api.example.com/'
        has "container $kept: by the proxy" "$said" "nacre test server"
        run box "${image[@]}" ${kept:+--scope "$kept"} \
            "printf 'GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n' |
             nc 127.0.1.1 80"
        has "container $kept: by name" "$said" "nacre test server"
        run box "${image[@]}" ${kept:+--scope "$kept"} \
            'wget -q -O - http://other.example.org/'
        has "container $kept: denied" "$said" "host-not-allowed"
        is "container $kept: denied: arrived" "$(count_connections)" 0
        is "container $kept: denied: asked" "$(count_queries)" 0
        run boxed "${image[@]}" ${kept:+--scope "$kept"} \
            --secret 'KEY=value-of-the-key@api.example.com' \
            "wget -q -O - --header 'X-Key: {{secret:KEY}}' http://api.example.com/echo"
        has "container $kept: upgraded" "$said" "exit 0"
        lacks "container $kept: upgraded: the value comes back" "$said" "value-of-the-key"
        has "container $kept: upgraded: the value arrived" \
            "$(show_events event=request)" "value-of-the-key"
        run boxfile "${image[@]}" ${kept:+--scope "$kept"} \
            --secret 'KEY=value-of-the-key@api.example.com' 'cat /run/secrets/KEY'
        has "container $kept: as a file" "$said" "value-of-the-key"
    done
}

for user in "${users[@]}"; do
    level_process
done
user=root
if [[ ${NACRE_TEST_DOCKER:-} && -S ${NACRE_TEST_DOCKER#unix://} && $(id -u) == 0 ]]; then
    level_container
fi
((failures == 0)) || exit 1
echo "native tools find their door, and nothing else"
