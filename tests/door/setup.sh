#!/bin/bash
# setup.sh DOOR_LEVELS NACRE [--inside]: a container's setup command, in the test network:
# what it fetches is in the image, what the policy does not let it reach is refused and
# told, no secret comes near it, and neither nacre nor a dead owner leaves anything.  Needs
# an engine at $NACRE_TEST_DOCKER with nacre-test-busybox.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
    echo "no engine at NACRE_TEST_DOCKER"
    exit 77
fi
[[ ${3:-} == --inside ]] || exec "$here/../net/run" -- "$0" "$1" "$2" --inside
source "$here/../net/lib.sh"
levels=$1 nacre=$2
failures=0
mark=setup-$$ # in every command: no image of another run's is taken for this one's
export DOCKER_HOST=$NACRE_TEST_DOCKER
work=$(mktemp -d /tmp/nacre-setup-XXXXXX)
export HOME=$work/home NACRE_STATE_DIR=$work/state
mkdir -m 700 "$HOME" "$NACRE_STATE_DIR"
unset XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME

wrong() {
    echo "$1: got '$2', wanted '$3'"
    failures=$((failures + 1))
}
is() { [[ $2 == "$3" ]] || wrong "$@"; }
has() { [[ $2 == *"$3"* ]] || wrong "$@"; }
lacks() { [[ $2 != *"$3"* ]] || wrong "$1 (must not be there)" "$2" "$3"; }

engine() { # PATH [CURL-OPTION…]
    curl -sS --noproxy '*' --max-time 60 --unix-socket "${DOCKER_HOST#unix://}" \
        "http://engine$1" "${@:2}"
}
# pick EXPRESSION: of the JSON on stdin, as "it".
pick() { python3 -c 'import json, sys; it = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
# all_made: every image that a setup command left; made: those of this test.
all_made() {
    engine '/images/json' | pick '"\n".join(sorted(i["Id"] for i in it
        if any(t.startswith("nacre-setup:") for t in i["RepoTags"] or [])))'
}
before=$(all_made)
made() { all_made | grep -vxF "${before:-none}" || true; }
# containers WORDS: how many have them in their configuration.
containers() {
    local id count=0
    for id in $(engine '/containers/json?all=1' | pick '" ".join(c["Id"] for c in it)'); do
        [[ $(engine "/containers/$id/json") != *"$1"* ]] || count=$((count + 1))
    done
    echo "$count"
}
# files IMAGE: all of its root, with what each is, whose and how large, as an engine
# exports it; when it was made is another matter.
files() {
    local id
    id=$(engine /containers/create -H 'Content-Type: application/json' \
        -d "{\"Image\": \"$1\", \"Cmd\": [\"/bin/sh\"]}" | pick 'it["Id"]')
    engine "/containers/$id/export" | tar --numeric-owner -tvf - |
        sed -E 's/ [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} / /' | sort
    engine "/containers/$id" -X DELETE
}
remove_images() {
    local id
    for id in $(made); do
        engine "/images/$id?force=1" -X DELETE >/dev/null
    done
}
trap '"$nacre" keeper --quit >/dev/null 2>&1 || true; remove_images || true
      rm -rf "$work"' EXIT

# policy NAME NETWORK SECRETS-LINES…
policy() {
    local name=$1 network=$2
    shift 2
    {
        printf 'claw: "0.3.0"\nkind: Sandbox\nmetadata:\n  name: setup\nspec:\n'
        printf '  level: container\n  capabilities:\n    network: %s\n' "$network"
        printf '    shell:\n      mode: full\n'
        (($# == 0)) || printf '    secrets:\n'
        (($# == 0)) || printf '      %s\n' "$@"
    } >"$work/$name.yaml"
}
list='{mode: allowlist, allowed_hosts: [api.example.com]}'
policy plain "$list"
policy none '{mode: deny}'
policy other '{mode: allowlist, allowed_hosts: [other.example.org]}'
policy scan "$list" 'injection: host-boundary' 'leak_detection: {enabled: true}'
policy file "$list" 'injection: file-mount'
policy environment "$list" 'injection: environment'

# run POLICY SETUP WORD… : the last word is the text; what was said is in $said.
run() {
    local name=$1 setup=$2
    shift 2
    net_reset
    said=$("$levels" "$nacre" "$work/$name.yaml" --image nacre-test-busybox:latest \
        --setup ": $mark; $setup" "${@:1:$#-1}" -- "${*: -1}" 2>&1) || true
}

# ---- what is allowed ----
fetch='wget -q -O /etc/fetched https://api.example.com/'
run plain "$fetch" 'cat /etc/fetched'
has "allowed" "$said" "nacre test server"
has "allowed: it is told" "$said" "sent GET api.example.com:443"
is "allowed: arrived" "$(count_events event=request host=api.example.com tls=true)" 1
image=$(made)
run plain "$fetch" 'cat /etc/fetched'
has "again" "$said" "nacre test server"
is "again: arrived" "$(count_requests)" 0
lacks "again: it is told" "$said" "sent"
# What others let in is not for who lets nobody, or somebody else.
for name in none other; do
    run "$name" "$fetch" 'cat /etc/fetched'
    has "$name's image" "$said" "it ended with status 1"
    lacks "$name's image" "$said" "nacre test server"
done
run plain 'wget -q -O /etc/fetched http://api.example.com/clear' 'cat /etc/fetched'
is "in clear: arrived" "$(count_requests api.example.com /clear)" 1
has "in clear: it is told" "$said" "sent GET api.example.com:80"
run plain "printf 'GET /by-name HTTP/1.0\r\nHost: api.example.com\r\n\r\n' |
    nc api.example.com 80 >/etc/fetched" 'cat /etc/fetched'
is "by name: arrived" "$(count_requests api.example.com /by-name)" 1
has "by name" "$said" "200 OK"

# ---- nothing of nacre's is in the image ----
is "files" "$(diff <(files nacre-test-busybox:latest) <(files "$image") |
    sed -nE 's/^[<>].* (\S+)$/\1/p')" etc/fetched
is "entry" "$(engine "/images/$image/json" |
    pick '(it["Config"]["Entrypoint"], it["Config"]["Cmd"])')" "([], ['/bin/sh'])"
is "labels" "$(engine "/images/$image/json" | pick '[k for k, v in
    it["Config"]["Labels"].items() if v]')" "['nacre.setup']"

# ---- what is not ----
run plain 'wget -q -O /etc/fetched http://other.example.org/; exit 9' 'echo it ran'
has "off the list" "$said" "denial host-not-allowed"
has "off the list: the end" "$said" "it ended with status 9"
has "off the list: its words" "$said" "403"
lacks "off the list: the command" "$said" "it ran"
is "off the list: arrived" "$(count_connections)" 0
is "off the list: asked" "$(count_queries)" 0
is "off the list: left" "$(containers "$mark")" 0
for text in 'nc -w 3 93.184.216.34 80 </dev/null' 'nslookup other.example.org' \
    'ping -c 1 -W 1 93.184.216.34' 'echo x | nc -u -w 1 8.8.8.8 53'; do
    run plain "$text && exit 8; exit 9" true
    lacks "$text" "$said" "status 8"
    is "$text: arrived" "$(count_connections)$(count_queries)$(count_datagrams)" 000
done
run none "$fetch; ls /etc/resolv.conf; env; tail -n +3 /proc/net/dev; exit 7" true
has "no network: the end" "$said" "it ended with status 7"
lacks "no network: the way to a door" "$said" "127.0"
lacks "no network: an interface" "$said" "eth"
is "no network: arrived" "$(count_connections)$(count_queries)" 00

# ---- secrets ----
key=(--secret 'KEY=value-of-the-key@api.example.com')
look="env >/etc/seen; ls -R /run /workspace >>/etc/seen 2>&1
wget -q -O - --header 'X-Key: {{secret:KEY}}' http://api.example.com/echo >>/etc/seen 2>&1
wget -q -O - http://api.example.com/plain >>/etc/seen; true"
for name in plain scan file environment; do
    run "$name" "$look; : $name" "${key[@]}" 'cat /etc/seen'
    has "secrets, $name: it ran" "$said" "HOME=/root"
    has "secrets, $name: it had a door" "$said" "nacre test server"
    lacks "secrets, $name: the value" "$said" "value-of-the-key"
    lacks "secrets, $name: a file" "$said" "/run/secrets"
    lacks "secrets, $name: it arrived" "$(show_events event=request)" "value-of-the-key"
    is "secrets, $name: what arrived" "$(count_requests api.example.com /plain)" 1
done
# A run's own CA is not for what is kept.
run scan "env | grep -c ca.pem; ls /run/nacre; exit 6" "${key[@]}" \
    --intercept api.example.com true
has "no CA" "$said" 'status 6, saying: 0\x0a'

# ---- an owner that dies ----
"$levels" "$nacre" "$work/plain.yaml" --image nacre-test-busybox:latest \
    --setup ": $mark; sleep 4321.0$$" -- true >/dev/null 2>&1 &
owner=$!
images=$(made)
for ((left = 600; left > 0; left--)); do
    ! pgrep -f "^sleep 4321.0$$" >/dev/null || break
    sleep 0.1
done
((left > 0)) || wrong "an owner's command" "nothing" "asleep"
kill -KILL "$owner"
wait "$owner" 2>/dev/null || true
for ((left = 600; left > 0; left--)); do
    pgrep -f "^sleep 4321.0$$" >/dev/null || [[ $(containers "$work") != 0 ]] || break
    sleep 0.1
done
((left > 0)) || wrong "a dead owner" "$(pgrep -af "4321.0$$")" "nothing left"
is "a dead owner: images" "$(made)" "$images"

# ---- as OpenClaw has it ----
# config IMAGE NETWORK SETUP
config() {
    cat >"$work/openclaw.json5" <<EOF
{ agents: { defaults: { workspace: "$work/agent", sandbox: {
  mode: "all", scope: "session", workspaceAccess: "none", workspaceRoot: "$work/boxes",
  docker: { image: "$1", containerPrefix: "$mark-", network: "$2",
            setupCommand: ": $mark; $3" },
} } } }
EOF
}
session() { # KEY TEXT
    net_reset
    status=0
    said=$("$nacre" exec --config "$work/openclaw.json5" --session "$1" "$2" 2>&1) ||
        status=$?
}
"$here/../support/client-image" "$DOCKER_HOST" nacre-test-clients "$NACRE_NET_CA"
config nacre-test-clients bridge 'curl -sSf https://api.example.com/made -o /etc/made'
session agent:main:one 'cat /etc/made'
is "bridge" "$status" 0
has "bridge: what it fetched" "$said" "nacre test server"
is "bridge: arrived" "$(count_requests api.example.com /made)" 1
has "bridge: recorded" "$("$nacre" audit show --json)" \
    '"method":"CONNECT","host":"api.example.com","port":443,"sent":true'
session agent:main:two 'cat /etc/made'
has "another session" "$said" "nacre test server"
is "another session: arrived" "$(count_requests)" 0
has "explain" "$("$nacre" explain --config "$work/openclaw.json5" --session agent:main:one)" \
    "without workspace and secrets, with the commands' network"
config nacre-test-busybox bridge 'wget -q -O /etc/made http://169.254.169.254/latest; exit 4'
session agent:main:three true
is "metadata" "$status" 126
has "metadata: why" "$said" "169.254.169.254"
has "metadata: the end" "$said" "it ended with status 4"
is "metadata: arrived" "$(count_connections)" 0
has "metadata: recorded" "$("$nacre" audit show --json | tail -n 2)" '"sent":false'
config nacre-test-busybox none 'wget -q -O /etc/none http://api.example.com/made'
session agent:main:four true
is "none" "$status" 126
has "none: the end" "$said" "it ended with status 1"
is "none: arrived" "$(count_connections)$(count_queries)" 00

((failures == 0)) || exit 1
echo "a setup command has its policy's network, and leaves what it made alone"
